"""What is different in the structure of two batches of one loader, and should not be.

Not what differs in any sound loader: how many samples there are, how long texts and sequences are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from preflight.facts import Structure
from preflight.values.names import first_of

from ._taken_apart import described

_NUMBERS = frozenset({"int", "float", "bool"})
# Parts of which a batch is made at most, where they are not its samples.
_MOST_FIELDS = 8

_HOLDING = frozenset({"tuple", "list", "dict"})


class Change(NamedTuple):
    """One thing that is different."""

    at: str
    """The part of the batch: `[1]['boxes']`; empty: the batch itself."""

    what: str
    """As a predicate of the later batch's part."""

    stops: bool
    """Whether no code that takes the one takes the other."""

    keys: tuple[str, ...] = ()
    """The parts that one of them lacks."""


def changes(one: Structure, other: Structure, at: str = "") -> Iterator[Change]:
    """Give what is different in a later batch."""
    if _kind(one) != _kind(other):
        if not at or "none" not in (one.kind, other.kind):
            yield Change(at, f"is {described(other)}, and not {described(one)}", stops=not at)
    elif one.kind in ("tensor", "array"):
        yield from _of_tensor(one, other, at)
    elif one.kind == "dict":
        yield from _of_dict(one, other, at)
    elif one.kind in _HOLDING:
        yield from _of_row(one, other, at)
    elif one.keys == other.keys:
        for name, mine, others in zip(one.keys, one.parts, other.parts, strict=True):
            yield from changes(mine, others, f"{at}.{name}")


def _kind(what: Structure) -> str:
    if what.kind in _NUMBERS:
        return "number"
    return what.type if what.kind == "other" else what.kind


def _of_tensor(one: Structure, other: Structure, at: str) -> Iterator[Change]:
    if len(one.shape) != len(other.shape):
        what = f"has {len(other.shape)} dimensions and not {len(one.shape)}: {described(other)}"
        yield Change(at, what, stops=False)
    elif one.dtype != other.dtype:
        yield Change(at, f"is of {other.dtype} and not of {one.dtype}", stops=False)


def _of_dict(one: Structure, other: Structure, at: str) -> Iterator[Change]:
    if any(each.length != len(each.keys) for each in (one, other)):
        return
    both = [key for key in one.keys if key in other.keys]
    if not both:
        return  # its keys are names of samples, or nothing is known of them
    less = [key for key in one.keys if key not in other.keys]
    more = [key for key in other.keys if key not in one.keys]
    said = [f"lacks {first_of(less, len(less))}"] if less else []
    said += [f"has {first_of(more, len(more))} beside them"] if more else []
    if said:
        keys = tuple(f"{at}[{key!r}]" for key in (*less, *more))
        yield Change(at, " and ".join(said), stops=False, keys=keys)
    for key in both:
        mine, others = (each.parts[each.keys.index(key)] for each in (one, other))
        yield from changes(mine, others, f"{at}[{key!r}]")


def _of_row(one: Structure, other: Structure, at: str) -> Iterator[Change]:
    if is_samples(one) and is_samples(other):
        mine, others = _sample(one), _sample(other)
        if mine is not None and others is not None:
            yield from changes(mine, others, f"{at}[0]")
    elif one.length != other.length:
        yield Change(at, f"has {other.length} parts and not {one.length}", stops=not at)
    else:
        for place, (mine, others) in enumerate(zip(one.parts, other.parts, strict=False)):
            yield from changes(mine, others, f"{at}[{place}]")


def is_samples(what: Structure) -> bool:
    """Whether its parts may be samples, of which there are more and less: they are all alike."""
    if len(what.parts) > _MOST_FIELDS:
        return True
    kinds = {_kind(one) for one in what.parts if one.kind != "none"}
    if kinds <= {"tensor"} or kinds <= {"array"}:
        return len({(len(one.shape), one.dtype) for one in what.parts}) <= 1
    return len(kinds) <= 1


def _sample(what: Structure) -> Structure | None:
    """Give what stands for all samples; None: they differ, or there is none."""
    marks = {_mark(one) for one in what.parts}
    return what.parts[0] if len(marks) == 1 else None


def _mark(what: Structure) -> tuple[object, ...]:
    parts = () if what.kind not in _HOLDING else tuple(map(_mark, what.parts))
    return (_kind(what), what.dtype, len(what.shape), what.keys, parts)
