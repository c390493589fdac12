"""Has the ranks of a script go on or stop together: one that stops alone fails the others."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

from preflight.processes.rank import ranks_in_group

# How long rank 0 may be behind another, in seconds.
_BEHIND = timedelta(seconds=30)


class Together:
    """Rank 0 decides, and tells the others by the store of their process group."""

    def __init__(self) -> None:
        self._is_alone = False
        """Whether rank 0 has once not come to where another one was."""

    def decided(self, what: str, mine: bool) -> bool:  # noqa: FBT001  the decision itself
        """Give what rank 0 has decided; of a script by one process, its own."""
        if self._is_alone or ranks_in_group() == 1:
            return mine
        dist: Any = sys.modules["torch.distributed"]
        store = dist.distributed_c10d._get_default_store()  # noqa: SLF001  there is no other way
        key = f"preflight/{what}"
        try:
            if dist.get_rank() == 0:
                store.set(key, b"yes" if mine else b"no")
                return mine
            store.wait([key], _BEHIND)
            told: bytes = store.get(key)
        except RuntimeError:  # of torch.distributed: whoever keeps the store may have died
            self._is_alone = True
            return mine
        return told == b"yes"
