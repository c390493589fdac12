"""Our processes: how they start, what they are asked, how they end."""
