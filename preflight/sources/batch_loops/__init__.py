"""Loops that take batches apart, and what makes the loaders that they go over."""
