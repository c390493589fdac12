"""Imports the code of the job, or says why that would start the training."""
