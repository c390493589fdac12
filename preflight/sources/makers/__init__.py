"""What the sources have that makes loaders and models, as words to type."""
