"""Zip archives, record by record."""
