"""Divides a long stretch of a file into pieces that one thread does at a time."""

from __future__ import annotations

from collections.abc import Iterator

# Bytes that one thread does at a time. Shorter stretches are not divided. Towards the end of a
# stretch they become fewer, so that no thread has to wait long for the other.
SHARE = 1 << 23
_LEAST = 1 << 21


def divided(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Divide a stretch between two threads: of what is left, a quarter at most at a time."""
    share, least = SHARE, _LEAST if end - begin > SHARE else SHARE
    while begin < end:
        while share > least and 4 * share > end - begin:
            share //= 2
        yield begin, min(begin + share, end)
        begin += share
