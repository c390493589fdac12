"""Loops that take batches apart: what they take, and which loader gives it to them."""
