"""Ranks that a launcher has started together: what each of them sees, gathered by rank 0."""
