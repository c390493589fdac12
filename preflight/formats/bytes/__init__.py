"""Blocks, windows, checksums, and what is said of bytes that are not whole."""
