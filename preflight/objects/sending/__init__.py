"""What pickle would send to a spawned worker, and what the worker makes of it."""
