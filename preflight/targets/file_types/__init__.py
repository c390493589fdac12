"""What a file is, by its suffix and by its first bytes."""
