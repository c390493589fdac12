"""What is seen of a state of training: its weights, optimizers and schedules, and its counts."""
