"""What a loader reads and what its stages do with samples, and how many samples come through."""
