"""The files in which trainers keep what they train on: reads them as entries of settings."""
