"""Loaders that several ranks really make: what each tells of its epoch, held against the others."""
