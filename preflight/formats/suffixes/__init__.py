"""Names by which files are told: images, sounds, videos, parts of checkpoints."""
