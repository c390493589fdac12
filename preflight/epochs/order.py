"""Runs in a process of its own: says whether a sampler shuffles alike in each epoch.

Only what is written to shuffle: an order by length, or of an evaluation, is the same on purpose.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from preflight.epochs.facts import SameOrder
from preflight.objects.attributes import own_attributes
from preflight.objects.paths import type_name
from preflight.objects.random_state import kept_random_state
from preflight.objects.source_trees import names_used
from preflight.objects.where import defined
from preflight.users_code.frames import is_users

# Fewer come in the same order by chance; of more, the first are held against each other.
_FEWEST, _MOST = 8, 200_000

_SECONDS = 2.0

# A sampler that gives so many times as much as it says has no end.
_ENDLESS = 2
_DEEPEST = 3

# How many epochs later an order is drawn: a prime, so that no turn of a few epochs hides it.
_LATER = 7_919

# Names in code that draws an order, or has what draws one begin anew.
_SHUFFLES = frozenset(
    {
        *("shuffle", "randperm", "permutation", "permuted", "sample", "choice", "choices"),
        *("multinomial", "manual_seed", "seed", "default_rng", "RandomState"),
    }
)


def same_order(own: Mapping[str, Any], root: str) -> SameOrder | None:
    """Draw the indices of two epochs; None: they differ, or nobody has said to shuffle.

    Args:
        own: the attributes of a DataLoader over a data set that is asked by index.
        root: the job's folder.
    """
    first = "batch_sampler" if own.get("batch_sampler") is not None else "sampler"
    chain = samplers_of(own)
    told = {way: one for way, one in chain.items() if hasattr(type(one), "set_epoch")}
    shuffling = [one for one in chain.values() if _shuffles(type(one), root)]
    if not (told or shuffling) or any(map(is_told_not_to, chain.values())):
        return None
    until, is_batches = time.monotonic() + _SECONDS, first == "batch_sampler"

    def draw() -> list[Any] | None:
        return order_of(own[first], until, is_batches=is_batches)

    with kept_random_state():
        orders = [draw() for _ in range(2)]
        if orders[0] is None or orders[0] != orders[1] or _is_in_turn(orders[0]):
            return None
        for way, one in told.items():
            one.set_epoch(getattr(one, "epoch", 0) + 1)
            other = draw()
            if other is None:
                return None
            if other != orders[0]:
                known = "sampler" if own.get("sampler") is one else way
                return _said(one, len(orders[0]), root, known)
        if not shuffling or _heeds_epoch(chain.values(), orders[0], draw):
            return None
    return _said(shuffling[0], len(orders[0]), root)


def _said(sampler: object, samples: int, root: str, way: str = "") -> SameOrder:
    at = defined(type(sampler), root, if_own=True).at
    return SameOrder(sampler=type_name(type(sampler)), at=at, samples=samples, waits_at=way)


def samplers_of(own: Mapping[str, Any]) -> dict[str, Any]:
    """Give what draws for a DataLoader, by its attributes, each with the way to it."""
    first = "batch_sampler" if own.get("batch_sampler") is not None else "sampler"
    return dict(_chain(first, own.get(first), 0))


def _chain(way: str, sampler: object, depth: int) -> Iterator[tuple[str, Any]]:
    """Give a sampler, and those that it draws from, each with the way to it."""
    if sampler is None or depth > _DEEPEST or isinstance(sampler, (list, tuple, range)):
        return
    yield way, sampler
    own = own_attributes(sampler)
    for name in ("sampler", "batch_sampler", "base_sampler"):
        yield from _chain(f"{way}.{name}", own.get(name), depth + 1)


def order_of(sampler: Any, until: float, *, is_batches: bool) -> list[Any] | None:
    """Give the indices of an epoch, which may be names; None where that takes too long.

    Or where it has no end: it gives far more than it says.
    """
    found: list[Any] = []
    length = None
    with contextlib.suppress(Exception):  # the user's code
        length = len(sampler)
    for number, one in enumerate(itertools.islice(sampler, _MOST)):
        if length is not None and number > _ENDLESS * (length + 1):
            return None
        each = one if is_batches else (one,)
        if time.monotonic() > until:
            return None
        found += (int(index) if hasattr(index, "__index__") else index for index in each)
    return found


def _is_in_turn(order: list[Any]) -> bool:
    """Whether they come one behind the other, or are too few to tell."""
    return len({*order}) < _FEWEST or all(a <= b for a, b in itertools.pairwise(order))


# --- what is written of it ------------------------------------------------------------------------


def is_told_not_to(sampler: object) -> bool:
    """Whether an attribute says that nothing is shuffled, or that it is no training."""
    return any(
        value is False and any(word in str(name) for word in ("shuffle", "train", "random"))
        for name, value in own_attributes(sampler).items()
    )


def tells_its_sampler(kind: type) -> bool:
    """Whether the job's own class of a loader tells its sampler the epoch when one begins."""
    return any(
        isinstance(one, FunctionType) and "set_epoch" in names_used(one.__code__)
        for base in kind.__mro__
        for one in vars(base).values()
    )


def _heeds_epoch(
    samplers: Iterable[object], order: list[Any], draw: Callable[[], list[Any] | None]
) -> bool:
    """Whether an epoch that is set by hand gives another order, or nobody can tell.

    A sampler that counts its epochs and draws by one seed all the same has had two of them here.
    """
    for one in samplers:
        kept = {name: value for name, value in own_attributes(one).items() if "epoch" in str(name)}
        if _begins_epochs(type(one)) or any(type(value) is not int for value in kept.values()):
            return True
        try:
            for name, value in kept.items():
                setattr(one, name, value + _LATER)
            if kept and draw() != order:
                return True
        except Exception:  # noqa: BLE001  a class of the user's, which may refuse that number
            return True
        finally:
            for name, value in kept.items():
                with contextlib.suppress(Exception):
                    setattr(one, name, value)
    return False


def _begins_epochs(kind: type) -> bool:
    """Whether it may be told the epoch by a method or a property that nobody here calls."""
    return any(
        isinstance(value, (FunctionType, property)) and "epoch" in name and name != "set_epoch"
        for base in kind.__mro__
        for name, value in vars(base).items()
    )


def _shuffles(kind: type, root: str) -> bool:
    """Whether what it begins an epoch with is code of the user's that shuffles."""
    begins = getattr(kind, "__iter__", None)
    if not isinstance(begins, FunctionType) or not is_users(begins.__code__.co_filename, root):
        return False
    return not _SHUFFLES.isdisjoint(_names(begins, kind, 0))


def _names(function: FunctionType, kind: type, depth: int) -> Iterator[str]:
    """Give the names that a function uses, and those that it calls of its class or file."""
    for name in names_used(function.__code__):
        yield name
        called = getattr(kind, name, None) or function.__globals__.get(name)
        if depth >= _DEEPEST or not isinstance(called, FunctionType) or called is function:
            continue
        if called.__code__.co_filename == function.__code__.co_filename:
            yield from _names(called, kind, depth + 1)
