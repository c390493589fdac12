"""Runs in a process that stands for a rank: makes a loader as that one would, and tells of it."""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight.batches.child.drawing import Drawable
from preflight.batches.tracebacks import in_worker
from preflight.built.conditions import WAITING, list_otherwise, stand_for
from preflight.built.divided_again import by_trainer
from preflight.built.drawn import collect
from preflight.built.making import generators, holders
from preflight.built.making.blame import RaisedError, blaming, unbuilt
from preflight.built.making.job_code import NamedObject, attribute, imported, made, named
from preflight.built.ranks_to_make import MOST_RANKS, WHOLE, world_of
from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.objects import where
from preflight.objects.random_state import seed
from preflight.objects.stand_in import StoodIn
from preflight.ranks.made.epoch_items import told_of_epoch
from preflight.ranks.made.given_batches import NOTHING_ELSE, count_given, decode_few, is_around
from preflight.users_code.frames import own_sources, said_by, user_frames
from preflight.users_code.fresh.orders import Ask, Tell
from preflight.users_code.importing import import_torch
from preflight.values.own_files import is_our_line
from preflight.values.wire import to_wire

_HEARTBEAT = 0.5

_FULL = {errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT}
"""What several at once may run into here, and not where the job runs."""


_LOST_WORKER = re.compile(r"DataLoader worker \(pid")
"""What torch says of a worker that was killed, or has ended itself."""


def throttled(tell: Tell) -> Callable[[], None]:
    """Give what says, now and then, that work goes on."""
    said = time.monotonic()

    def alive() -> None:
        nonlocal said
        if time.monotonic() - said > _HEARTBEAT:
            said = time.monotonic()
            tell(alive=True)

    return alive


def serve(asked: Mapping[str, Any], ask: Ask, tell: Tell) -> None:
    """Wait for an order, stand for a rank, tell of its loaders, and end."""
    import_torch()
    its = named(asked["wire"], asked["options"])
    order = ask()
    said: list[str] = []
    try:
        world = world_of(order["cause"], its.options["ranks"], its.options["nodes"])
        said = stand_for(order["rank"], *world)
        told = _told_by_rank(its, order, throttled(tell), said)
    except BaseException as error:
        if is_our_line(error):
            raise
        told = {"unmade": _unmade(order["rank"], error), **_cause(its, error, said)}
    tell(**told, talks=[one for one in said if one not in WAITING])
    os._exit(0)  # at once, since it may hold much


def _told_by_rank(
    its: NamedObject, order: Mapping[str, Any], alive: Callable[[], None], said: Sequence[str]
) -> dict[str, Any]:
    method = "fork" if sys.platform == "linux" else its.options["start_method"]
    its = its._replace(options={**its.options, "start_method": method})
    seed(2 if order["cause"] == "random" else 1)
    if order["cause"] == "folder":
        list_otherwise()
    stood_in = StoodIn()
    factory = attribute(imported(its, stood_in), its.spec)
    around: dict[str, Any] = {}

    def one_of_them(name: str, thing: object) -> list[Drawable] | None:
        found = collect(its, factory, order["names"], {}, name, thing)
        is_own = is_around(thing) if found is not None else bool(generators.what_gives(thing))
        if is_own:  # a generator comes again, without what it gave first
            around.setdefault(name, found[0].loader if found else thing)
        return found

    decode_few()
    thing, root = made(its, factory, stood_in), its.options["root"]
    found = holders.walk(its.built.spec, thing, one_of_them) or []
    again = by_trainer(thing, own_sources(root), root) if order["compared"] else None
    told, are_all = {}, its.options["ranks"] <= MOST_RANKS
    for one in found:
        try:
            with blaming("epoch"):
                own = told_of_epoch(
                    one.loader,
                    alive,
                    draws=order["compared"],
                    nameless=are_all,
                    once_each=order["cause"] == WHOLE.cause,
                )
            told[one.name] = {**own, "by_trainer": again}
        except RaisedError as error:
            reason = _unmade(order["rank"], error)
            told[one.name] = {"reason": reason, **_cause(its, error, said)}
    given = {} if order["cause"] else _given(order["rank"], its, around, told, alive, said)
    defined = to_wire(where.defined(factory, root).at)
    return {"made": told, "given": given, "defined": defined}


def _given(
    rank: int,
    its: NamedObject,
    around: Mapping[str, Any],
    told: Mapping[str, Any],
    alive: Callable[[], None],
    said: Sequence[str],
) -> dict[str, Any]:
    """Count the batches that are given by what stands around loaders."""
    given = {}
    for name, thing in around.items():
        own = {of: one for of, one in told.items() if of.startswith(name)}
        inner = [one.get("batches", 0) for one in own.values()]
        try:
            with blaming("epoch"):
                counted = count_given(thing, alive, sum(inner))
        except RaisedError as error:
            counted = {"reason": _unmade(rank, error), **_cause(its, error, said)}
        if counted is not None:
            given[name] = {**NOTHING_ELSE, **own.get(name, {}), **counted, "inner": inner}
    return given


def _cause(its: NamedObject, error: BaseException, said: Sequence[str]) -> dict[str, Any]:
    """Say whose fault it is: what the user's code `raised`, or what is not here (`lost`).

    Neither, where other ranks may be the cause.
    """
    if said or not isinstance(error, RaisedError):
        return {}
    found = unbuilt(its.built, error, its.options["root"], None, StoodIn())
    if found.lacks is not None and found.lacks.kind == "file":
        found = replace(found, lacks=None)  # the first rank has found all of its own
    if found.lacks is not None or _is_full(error.error) or _LOST_WORKER.match(str(error.error)):
        return {"lost": True}
    inner = in_worker(error.error)
    if inner is not None:
        frames = user_frames(inner.calls, its.options["root"])
        found = replace(found, error=inner.error, frames=frames)
    # Where a library finds too little for this rank, it is dataset-small that tells.
    return {"raised": to_wire(found)} if found.step != "epoch" or found.frames else {}


def _is_full(error: BaseException) -> bool:
    return isinstance(error, MemoryError) or getattr(error, "errno", None) in _FULL


def _unmade(rank: int, error: BaseException) -> str:
    if isinstance(error, (CannotLookError, MistypedError)):
        return str(error)
    inner = error.error if isinstance(error, RaisedError) else error
    worker = in_worker(inner)
    said = said_by(inner) if worker is None else worker.error
    return f"rank {rank} could not make it, or go through it: {said}"
