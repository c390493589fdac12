"""What draws batches, in a process of its own: the first few, past the end, and often."""
