"""Runs in a process of its own: goes through an epoch of a loader without workers, and looks in."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from preflight.batches.child.between_workers import Noted
from preflight.batches.child.epoch_cut import is_bounded
from preflight.epochs.dropped import WatchedCollate, is_of_the_job
from preflight.epochs.facts import Dropped, LeftBehind
from preflight.epochs.left_behind import Watched
from preflight.epochs.own_collates import has_any, watching
from preflight.loaders.workers.starting import configured
from preflight.loaders.wrappers import as_it_comes, real_loader, with_real
from preflight.objects.attributes import classes, own_attributes
from preflight.users_code.frames import is_users

# An epoch without workers is left that is so many times as long as one with them.
_LONGER = 4

# Seconds in which it is looked for samples that a collate function drops.
_DROPS = 2.0


class Alone(NamedTuple):
    """An epoch without workers."""

    noted: Noted
    left_behind: LeftBehind | None
    """What its stream has read, and does not give."""

    dropped: Dropped | None = None
    """What its collate function is given, and does not give."""

    ends_early: bool = False
    """Whether its stream ends before what it reads from does, as a mix does with its first one."""

    is_bounded: bool = False
    """Whether `with_epoch` of webdataset ends it, as in each worker, wherever it is."""


def run_alone(
    loader: Any, given: Noted, seconds: float, tell: Callable[..., None], root: str
) -> Alone | None:
    """Note an epoch without workers; None where it does not come to its end in time.

    Last of all: what a data set keeps of itself is used up by that.
    """
    kinds = classes("torch.utils.data", "DataLoader")
    if not given.parts or not issubclass(type(real_loader(loader)), kinds):
        return None
    until, most = time.monotonic() + seconds, _LONGER * given.batches + given.workers
    noted = Noted(1, given.batch_size)
    try:
        other: Any = configured(real_loader(loader), 0, None)
        vars(other).update(timeout=0, persistent_workers=False, drop_last=False)
        is_bare = as_it_comes(loader) is not None
        with watching(other.dataset, root, min(_DROPS, seconds)) as collating:
            if given.batch_size is not None and is_of_the_job(other.collate_fn, root):
                collating.append(WatchedCollate(other.collate_fn, min(_DROPS, seconds)))
                other.collate_fn = collating[-1]
            batches = iter(other if is_bare else cast("Any", with_real(loader, other)))
            watched = _watch(batches, other.dataset, root) if is_bare else None
            for batch in batches:
                noted.take(batch)
                tell(beside=noted.batches)
                if time.monotonic() > until or noted.batches > most:
                    return None
        left = watched.left_behind() if watched is not None else None
        early = watched is not None and watched.ends_early()
        # As the mixes of webdataset end with the first of their streams, unless they are told so.
        early = early or own_attributes(other.dataset).get("longest") is False
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return None
    lost = next(filter(None, (one.dropped(root) for one in collating)), None)
    return Alone(noted, left, lost, early, is_bounded(other.dataset))


def is_own_stream(loader: Any, root: str) -> bool:
    """Whether the stream of a loader, or what makes batches of it, was written for this job."""
    own = own_attributes(real_loader(loader))
    dataset = own.get("dataset")
    code = getattr(getattr(type(dataset), "__iter__", None), "__code__", None)
    collates = own.get("batch_size") is not None and is_of_the_job(own.get("collate_fn"), root)
    is_own = code is not None and is_users(code.co_filename, root)
    return is_own or collates or has_any(dataset, root)


def _watch(batches: Any, dataset: Any, root: str) -> Watched | None:
    """Have torch's iterator go through what looks into the data set's generators."""
    fetcher = getattr(batches, "_dataset_fetcher", None)
    items = getattr(fetcher, "dataset_iter", None)
    if items is None:
        return None
    watched = Watched(dataset, items, root)
    fetcher.dataset_iter = watched  # type: ignore[union-attr]
    return watched
