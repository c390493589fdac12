"""The machine: GPUs, memory, storage, and what a launcher has set."""
