"""What the names in a source stand for, where a pipeline is read off it."""
