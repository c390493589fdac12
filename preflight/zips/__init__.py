"""Zip archives of images, such as trainers read without unpacking them."""
