"""Which part of a batch a loop cannot do with what it does with it: one that is None, or lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from preflight.facts import Structure, TakenFor
from preflight.settings.taking import Taking
from preflight.sources.flaws.facts import EACH, Use

from ._taken_apart import described, is_plain_dict, misfit, without_attribute

_NONE = Structure(kind="none")


class Misuse(NamedTuple):
    """What Python raises, and of what."""

    use: Use
    error: str
    what: str


def first_misuse(uses: Iterable[Use], batch: Structure) -> Misuse | None:
    """Say at which line the body of a loop stops; None: at none, as far as anybody knows."""
    for use in uses:
        for part in _parts(batch, use.at) if use.raises else ():
            wrong = misfit(Taking("", ways=((use.key,),)), part) if use.key is not None else None
            error = wrong.error if wrong else without_attribute(use.attribute, part)
            error = use.raises if part.kind == "none" else error
            if error:
                return Misuse(use, error, described(part))
    return None


def may_lack(several: Iterable[TakenFor]) -> set[str]:
    """Give the parts for which loops ask by `get`."""
    return {written(use.at) for one in several for use in one.uses if not use.raises}


def written(way: tuple[str | int, ...]) -> str:
    """Write the way to a part as code."""
    return "".join("[…]" if step == EACH else f"[{step!r}]" for step in way)


def _parts(what: Structure, way: tuple[str | int, ...]) -> Iterator[Structure]:
    """Give the parts to which a way leads; a key that a plain dict lacks gives None (`get`)."""
    if not way:
        yield what
        return
    step, *rest = way
    if step == EACH:
        for one in what.parts:
            yield from _parts(one, tuple(rest))
    elif str(step) in what.keys:
        yield from _parts(what.parts[what.keys.index(str(step))], tuple(rest))
    elif what.kind in ("tuple", "list") and isinstance(step, int):
        if len(what.parts) == what.length and -len(what.parts) <= step < len(what.parts):
            yield from _parts(what.parts[step], tuple(rest))
    elif step in what.nothing:
        yield from _parts(_NONE, tuple(rest))
    elif is_plain_dict(what):
        yield _NONE
