"""Works out the checksums of many stretches of one file by two threads, ahead of who asks for them.

A checkpoint is an archive of hundreds of tensors: to divide each of them between two threads, and
to wait for both at its end, takes longer than to let each thread take the next piece of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeAlias

from preflight.formats.bytes.crc import combined

Share: TypeAlias = tuple[int, int]
"""Where a piece of a file begins and ends."""

# Pieces that are given to the threads before anybody asks for them.
_AHEAD = 64

# Bytes that one thread does at a time. Shorter stretches are not divided. Towards the end of a
# stretch they become fewer, so that no thread has to wait long for the other.
SHARE = 1 << 23
_LEAST = 1 << 21

# How long they are waited for at a time, in seconds.
_MOMENT = 0.2


class Checksums:
    """Two threads while the body of `with` runs."""

    def __init__(self, stretches: Iterator[Share], work_out: Callable[[int, int], int]) -> None:
        """Take where the stretches lie that will be asked for, and what reads a piece of one."""
        self._shares = (share for begin, end in stretches for share in divided(begin, end))
        self._work_out = work_out
        self._begun: dict[Share, Future[int]] = {}
        self._pool = ThreadPoolExecutor(2, "checksums")

    def __enter__(self) -> None:
        self._go_on_to(None)

    def __exit__(self, *_: object) -> None:
        """Wait for the pieces that the threads are at."""
        self._pool.shutdown(cancel_futures=True)

    def of(self, begin: int, end: int, tell: Callable[[], None]) -> int | None:
        """Give the checksum of a stretch; None where it was not expected.

        `tell` is called again and again. What goes wrong in a thread is raised here.
        """
        found = 0
        for share in divided(begin, end):
            tell()
            self._go_on_to(share)
            one = self._begun.pop(share, None)
            if one is None:
                return None
            while not wait([one], _MOMENT).done:
                tell()
            found = combined(found, one.result(), share[1] - share[0])
        return found

    def _go_on_to(self, wanted: Share | None) -> None:
        try:
            while len(self._begun) < _AHEAD or (wanted and wanted not in self._begun):
                share = next(self._shares)
                self._begun[share] = self._pool.submit(self._work_out, *share)
        except (StopIteration, OSError):
            pass  # whoever asks for more reads it himself, and meets that


def divided(begin: int, end: int) -> Iterator[Share]:
    """Divide a stretch between two threads: of what is left, a quarter at most at a time."""
    share, least = SHARE, _LEAST if end - begin > SHARE else SHARE
    while begin < end:
        while share > least and 4 * share > end - begin:
            share //= 2
        yield begin, min(begin + share, end)
        begin += share
