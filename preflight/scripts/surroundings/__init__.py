"""What a script sees of Python as if it were run plainly: its main module, its standard input."""
