"""Processes that a script starts itself to train in: each is watched as the script is."""
