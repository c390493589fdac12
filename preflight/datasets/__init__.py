"""Shards, or a folder of images, as the one set of samples that a job reads."""
