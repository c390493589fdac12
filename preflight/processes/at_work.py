"""Says that a reader of files is at work where it cannot say so itself, as in a decoder of images.

Whoever waits for a disk that never answers takes no processor time, and is silent. What goes round
for ever takes it, and is left to its silence after a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

_APART = 0.5
"""Seconds from one look to the next."""

_LEAST = 0.002
"""Processor seconds that are work: more than the look itself takes, and a small share."""

LONGEST = 60.0
"""Processor seconds of work that are shown at least, where the reader itself shows no life."""


def show_work(shown: Callable[[], int], tell: Callable[[], None], most: float = LONGEST) -> None:
    """Tell of work from now on, in a thread.

    `shown` gives how often the reader itself has shown life; after so many processor seconds
    without that, nothing is told.
    """

    def look() -> None:
        known = shown()
        since = before = time.process_time()
        while True:
            time.sleep(_APART)
            used, now = time.process_time(), shown()
            if now != known:
                known, since = now, used
            if used - before > _LEAST and used - since < most:
                tell()
            before = used

    threading.Thread(target=look, daemon=True).start()
