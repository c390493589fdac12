"""The lines of a script that is at work, read by its source, and what comes once in many steps."""
