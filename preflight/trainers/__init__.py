"""The files in which trainers keep what they train on: their data sets and caches, as settings."""
