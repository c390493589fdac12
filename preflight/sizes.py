"""Sizes in bytes, read and written; public, for plug-ins too."""

from preflight.values.byte_sizes import format_size, parse_size

__all__ = ["format_size", "parse_size"]
