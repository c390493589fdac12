"""What goes through the stages of a pipeline while it runs, and which errors are swallowed."""
