"""Training scripts, run as they are: shortened, watched, and stopped when enough was seen."""
