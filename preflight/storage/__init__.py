"""The place that a cache is written to: what it does with several writers, and how much room it has."""
