"""A layer above the file system: what code of the user's writes goes there, and nowhere else."""
