"""How long an epoch of a loader is; for who asks nothing else of loaders."""

from __future__ import annotations

from typing import NamedTuple


class EpochLength(NamedTuple):
    """How much one epoch is, by the lengths that torch itself goes by."""

    samples: int
    """Of the data set."""

    drawn: int
    """Of those that the sampler draws."""

    batches: int
    batch_size: int | None
    drop_last: bool
