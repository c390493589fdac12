"""Whether a model can be copied."""
