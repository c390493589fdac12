"""Tar archives, header by header."""
