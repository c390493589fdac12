"""What in a source stops or misleads a run when it is come to, told of each file by itself."""
