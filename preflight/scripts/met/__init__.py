"""What of a script is looked at where it meets it: loaders, copies, modes, steps, trainers."""
