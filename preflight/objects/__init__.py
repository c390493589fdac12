"""Walks over live objects: what can be sent, what can be copied, where it was defined."""
