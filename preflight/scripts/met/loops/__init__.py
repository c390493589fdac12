"""The loops over batches of a script: which are counted and left, and where it goes on then."""
