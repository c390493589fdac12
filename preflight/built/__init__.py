"""Loaders and models as the code of the job makes them."""
