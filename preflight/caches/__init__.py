"""A folder of cached files as a whole."""
