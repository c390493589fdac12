"""What in a source is work: code that trains, or that starts as soon as it is come to."""
