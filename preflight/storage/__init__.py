"""Where a cache is written: what several writers meet there, and how much room there is."""
