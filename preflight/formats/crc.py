"""The CRC-32 of zip, gzip and PNG, in one place, so that a faster one can take it."""

from __future__ import annotations

from zlib import crc32

__all__ = ["crc32"]
