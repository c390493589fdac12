"""Images and their captions: which belong together, and which stand alone."""
