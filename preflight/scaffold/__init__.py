"""What `preflight init` writes: what lies around, in the words of preflight.toml."""
