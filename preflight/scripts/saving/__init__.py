"""What a script saves, watched while it runs, and the second run that goes on from there."""
