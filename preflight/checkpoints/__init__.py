"""Checkpoints among cached files: which is the newest, and which are whole."""
