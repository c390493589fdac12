"""Works out the checksums of many stretches of one file by two threads, ahead of who asks for them.

A checkpoint is an archive of hundreds of tensors: to divide each of them between two threads, and
to wait for both at its end, takes longer than to let each thread take the next piece of all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TypeAlias

from preflight.file_access.divided import divided
from preflight.formats.bytes.crc import combined

Share: TypeAlias = tuple[int, int]
"""Where a piece of a file begins and ends."""

WorkOut: TypeAlias = Callable[[memoryview, int, int, Callable[[], None]], int]
"""Gives the checksum of a piece: by a buffer, where it begins and ends; calls a function often."""


class Checksums:
    """Two threads while the body of `with` runs: one of its own, and whoever asks."""

    def __init__(self, stretches: Iterator[Share], work_out: WorkOut, *, block: int) -> None:
        """Begin with nothing known.

        Args:
            stretches: where those that will be asked for begin and end, in their order.
            work_out: reads a piece; by two threads at once.
            block: bytes of the buffer of each.
        """
        self._shares = (share for begin, end in stretches for share in divided(begin, end))
        self._work_out = work_out
        self._buffer = memoryview(bytearray(block))
        self._found: dict[Share, int | None] = {}
        self._begun = 0
        self._is_over = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._go_ahead, args=(block,), daemon=True)

    def __enter__(self) -> None:
        """Have the other thread begin."""
        self._thread.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the piece that it is at."""
        self._is_over = True
        self._thread.join()

    def of(self, begin: int, end: int, tell: Callable[[], None]) -> int | None:
        """Give the checksum of a stretch; None where it was not expected, or could not be read.

        Args:
            begin: where it begins.
            end: where it ends.
            tell: called again and again.
        """
        found = 0
        for share in divided(begin, end):
            one = self._one(share, tell)
            if one is None:
                return None
            found = combined(found, one, share[1] - share[0]) if share[0] > begin else one
        return found

    def _one(self, share: Share, tell: Callable[[], None]) -> int | None:
        """Work out whatever is next, until this one is there."""
        while share not in self._found:
            if not self._step(self._buffer, tell):
                with self._changed:
                    self._changed.wait_for(lambda: share in self._found or not self._begun)
                break
        return self._found.pop(share, None)

    def _go_ahead(self, block: int) -> None:
        buffer = memoryview(bytearray(block))
        while self._step(buffer, lambda: None):
            pass

    def _step(self, buffer: memoryview, tell: Callable[[], None]) -> bool:
        """Work out the next piece, if there is one."""
        with self._changed:
            share = None if self._is_over else self._next()
            if share is None:
                return False
            self._begun += 1
        try:
            one = self._work_out(buffer, *share, tell)
        except (OSError, MemoryError):
            one = None  # whoever asks for it reads it again, and meets that himself
        with self._changed:
            self._begun -= 1
            self._found[share] = one
            self._changed.notify()
        return True

    def _next(self) -> Share | None:
        try:
            return next(self._shares, None)
        except OSError:
            return None
