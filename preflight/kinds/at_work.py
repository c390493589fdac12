"""Says that a process is at work where a reader cannot say so itself, as in a decoder of images.

Whoever waits for a disk that never answers takes no processor time, and is silent. What goes round
for ever takes it, and is left to its silence after a while.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_APART = 0.5
"""Seconds from one look to the next."""

_LEAST = 0.002
"""Processor seconds that are work: more than the look itself takes, and a small share."""

LONGEST = 60.0
"""Processor seconds of work that are shown at least, where the reader itself shows no life."""


@contextlib.contextmanager
def shown_at_work(
    tell: Callable[[], None], shown: Callable[[], int] = lambda: 0, most: float = LONGEST
) -> Iterator[None]:
    """Tell of work, by a thread, until the body of `with` is over.

    `shown` gives how often the reader itself has shown life; after so many processor seconds
    without that, nothing is told.
    """
    over = threading.Event()

    def look() -> None:
        known = shown()
        since = before = time.process_time()
        while not over.wait(_APART):
            used, now = time.process_time(), shown()
            if now != known:
                known, since = now, used
            if used - before > _LEAST and used - since < most:
                tell()
            before = used

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
