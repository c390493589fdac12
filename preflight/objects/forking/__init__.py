"""What a forked worker would share with its parent."""
