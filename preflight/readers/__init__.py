"""A reader looks at a target once and gives facts."""
