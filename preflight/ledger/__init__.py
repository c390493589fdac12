"""What earlier runs saw in files that have not changed."""
