"""The place that a cache is written to: what several writers meet there, and how much room it has."""
