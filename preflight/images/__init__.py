"""Folders of images: each image by itself, and what they are together."""
