"""One cached file: its bytes, its format, and whether all of it is there."""
