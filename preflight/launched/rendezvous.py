"""The store of a job, which its launcher or its rank 0 keeps: where our ranks meet.

The script uses the same one, so that ours stands under names of its own. Where its rank 0 keeps it,
it is gone with that script, and our own rank 0 opens another one at the same place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

_PREFIX = "preflight/ranks"

# How long one attempt to reach the store takes, in seconds.
_ATTEMPT = 2.0

_POLL = 0.1

# How long rank 0 keeps a store of its own open, until the others have seen that all was taken.
_BYE = 30.0


class Meeting:
    """One rank's way to the others."""

    def __init__(self, host: str, port: int, *, hosts: bool, alive: Callable[[], None]) -> None:
        self._place = (host, port)
        self._hosts = hosts
        self._alive = alive
        self._store: Any = None
        self.waited = 0.0

    def gather(self, ranks: Iterable[int], patience: float) -> dict[int, bytes]:
        """Take what the ranks tell, and tell each that it was taken; those that are late lack."""
        waiting, taken = set(ranks), dict[int, bytes]()

        def take(store: Any) -> bool:
            for rank in sorted(waiting):
                if _is_said(store, f"told/{rank}"):
                    taken[rank] = store.get(f"seen/{rank}")
                    store.add(f"taken/{rank}", 1)
                    waiting.discard(rank)
            return not waiting

        self._until(take, patience)
        if self._hosts and taken:
            waited = self.waited
            self._until(lambda store: all(_is_said(store, f"bye/{rank}") for rank in taken), _BYE)
            self.waited = waited
        return taken

    def hand_over(self, rank: int, told: bytes, patience: float) -> bool:
        """Tell rank 0, and say whether it has taken it."""

        def tell(store: Any) -> bool:
            store.set(f"seen/{rank}", told)
            store.add(f"told/{rank}", 1)
            while not _is_said(store, f"taken/{rank}"):
                if time.monotonic() > until:
                    return False
                self._rest()
            store.add(f"bye/{rank}", 1)
            return True

        until = time.monotonic() + patience
        return self._until(tell, patience)

    def _until(self, attempt: Callable[[Any], bool], patience: float) -> bool:
        """Try again until it succeeds, also where the store has gone and comes back."""
        begun = time.monotonic()
        while True:
            try:
                done = attempt(self._opened())
            except (RuntimeError, ValueError):  # as torch tells that it is gone, or not there yet
                done, self._store = False, None
            self.waited = time.monotonic() - begun
            if done or self.waited > patience:
                return done
            self._rest()

    def _rest(self) -> None:
        self._alive()
        time.sleep(_POLL)

    def _opened(self) -> Any:
        if self._store is None:
            import torch.distributed

            dist: Any = torch.distributed
            store = dist.TCPStore(
                *self._place,
                is_master=self._hosts,
                timeout=timedelta(seconds=_ATTEMPT),
                wait_for_workers=False,
            )
            self._store = dist.PrefixStore(_PREFIX, store)
        return self._store


def _is_said(store: Any, what: str) -> bool:
    """Whether a rank has counted it up: only newer versions of torch can be asked for a key."""
    return bool(store.add(what, 0))
