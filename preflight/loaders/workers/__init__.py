"""Workers: how a loader starts them, and fresh ones that what it sends is tried on."""
