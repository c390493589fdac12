"""Batches as they come out of a loader, drawn with the job's workers, and what keeps them away."""
