"""Which of the job's own modules a script imports, and which of their lines a run comes to."""
