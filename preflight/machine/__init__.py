"""What this machine is: its GPUs, limits, storage and environment."""
