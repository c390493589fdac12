"""Whether the entries of a cache lead back to the samples that they were made of."""
