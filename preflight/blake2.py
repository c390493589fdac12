"""BLAKE2b of the standard library, without the rest of hashlib.

hashlib brings OpenSSL in with it, which takes longer than to find a folder's row in the ledger. Its
own blake2b is this one (Lib/hashlib.py of CPython).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b
    except ImportError:  # another Python than CPython
        from hashlib import blake2b

__all__ = ["blake2b"]
