"""What a kind of thing is, what is asked about one, and what comes back. Rooms have the rows."""
