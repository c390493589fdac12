"""What a script saved, and whether it goes on from there: what is told of it, and comparisons."""
