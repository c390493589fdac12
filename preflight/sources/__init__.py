"""The job's sources, read and never run."""
