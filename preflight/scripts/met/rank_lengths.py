"""How long an epoch is on each of the ranks that work together, as each begins a loader."""

from __future__ import annotations

import sys
from typing import Any

from preflight.loaders.epoch import epoch_of
from preflight.scripts.facts import RankLength
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame
from preflight.values.wire import to_brief

# So many are told of one rank: a loader may be made anew in each epoch.
_MOST = 32


class RankLengths:
    """The lengths of loaders that one rank tells."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._left = _MOST

    def tell(self, loader: Any, at: Frame | None) -> None:
        """Tell that of a loader, where the process is one of a group."""
        dist: Any = sys.modules.get("torch.distributed")
        is_rank = dist is not None and dist.is_available() and dist.is_initialized()
        if not self._left or not is_rank or dist.get_world_size() < 2:
            return
        epoch = epoch_of(loader)
        if epoch is not None:
            self._left -= 1
            length = RankLength(dist.get_rank(), epoch.batches, epoch.samples, at)
            self._watch.tell(lengths=[to_brief(length)])
