"""What must not be told: which names and shapes say so, and how it is taken out of texts."""
