"""Moves damaged files out of the job's way, and back; nothing is ever deleted."""
