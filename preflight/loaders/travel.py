"""Looks at what a DataLoader sends to its workers, and whether they can load it."""

from __future__ import annotations

import multiprocessing
import types
from collections.abc import Sequence
from dataclasses import replace

from preflight.host.limits import memory_limits
from preflight.loaders import sent as loaders
from preflight.loaders.facts import Loaded, Sent, Trip, Unloadable
from preflight.loaders.round_trip import Journey, journey
from preflight.loaders.workers.culprits import Culprit
from preflight.loaders.workers.fresh import METHODS, Surroundings
from preflight.objects import where
from preflight.objects.facts import Definition, Weight
from preflight.objects.paths import last_step, type_name, written
from preflight.objects.sending import pickling
from preflight.objects.sending.pickle_trial import Roots
from preflight.objects.sending.stand_ins import LeftOut
from preflight.objects.sending.weights import heaviest, weigh
from preflight.users_code.frames import is_users
from preflight.values.names import counted, name_of, shown
from preflight.values.this_process import full_path

_LEAST, _MOST = 64 << 20, 2 << 30
"""Bytes of a stream, without large data, that are loaded for a look on any machine, and at most."""


def travel(loader: object, known: loaders.Known, surroundings: Surroundings) -> tuple[Sent, Loaded]:
    """Name what cannot be sent, and what can be sent and not be loaded by a fresh worker.

    Everything is pickled once for both. No process is started where there are no workers.
    """
    limit, limited_by, available = memory_limits()
    most = min(max((available or 0) // 16, _LEAST), _MOST)
    going: Journey | None = None

    def walked(roots: Roots) -> pickling.PickleWalk:
        nonlocal going
        started = counted(len({*METHODS} & {*multiprocessing.get_all_start_methods()}), "worker")
        with (
            surroundings.step(f"start {started}"),
            journey(roots, surroundings, most=most) as going,
        ):
            return _there_and_back(going)

    sent = loaders.walk_loader(loader, known, walked)
    loaded = Loaded(
        name=known.name,
        defined=sent.defined,
        num_workers=sent.num_workers,
        start_method=sent.start_method,
        start_method_from=sent.start_method_from,
        unsendable=len(sent.objects),
        memory_limit=limit,
        memory_limited_by=limited_by,
        memory_available=available,
    )
    if going is None:
        return sent, loaded
    weight = _weight(going)
    return replace(sent, weight=weight), replace(
        loaded,
        trips=tuple(_trip(one, sent) for one in going.trips.values()),
        objects=_unloadables(going, known.root, sent.defined),
        weight=weight,
        started_work=None
        if going.started_work is None
        else f"{name_of(going.started_work[0], known.root)}:{going.started_work[1]}",
    )


def _there_and_back(going: Journey) -> pickling.PickleWalk:
    """Send everything; then, where something was refused, the rest of it."""
    refused = going.send(LeftOut())
    if going.cut:
        going.turn_back("cut")
        return pickling.walk(going.roots)
    walk = pickling.walk(going.roots, sent=refused)
    left_out = LeftOut()
    if walk.refused:
        left_out = LeftOut(things={id(one.thing): one.thing for one in walk.refused})
        if going.send(left_out) is not None:
            going.turn_back("unsent")
            return walk
    going.arrive(left_out)
    return walk


def _weight(going: Journey) -> Weight:
    """Name the heaviest parts where there is much; it was weighed on the way."""
    if going.cut:
        return weigh(going.roots)
    parts = heaviest(going.roots, going.bytes)
    return Weight(bytes=going.bytes, shared_bytes=going.tensors, parts=parts)


def _trip(trip: Trip, sent: Sent) -> Trip:
    """Say that nothing was loaded in earnest where pickle refuses a part of it."""
    if trip.outcome == "loaded" and sent.objects:
        return trip._replace(outcome="unsent", memory=None)
    return trip


# --- what could not be loaded ---------------------------------------------------------------------


def _unloadables(going: Journey, root: str, made: Definition) -> tuple[Unloadable, ...]:
    things = [one.at.thing for one in going.culprits.values()]
    paths = pickling.paths_to(going.roots, things)
    alike: dict[object, Unloadable] = {}
    for key, culprit in going.culprits.items():
        found = _unloadable(culprit, paths.get(key, ()), root, made)
        error = "" if found.raised.file else found.error  # it may name the object
        line = found._replace(paths=(), error=error), last_step(found.paths[0])
        known = alike.get(line)
        alike[line] = found if known is None else _both(known, found)
    return tuple(alike.values())


def _both(known: Unloadable, other: Unloadable) -> Unloadable:
    return known._replace(paths=(*known.paths, *other.paths), alike=known.alike + 1)


def _unloadable(culprit: Culprit, paths: Sequence[str], root: str, made: Definition) -> Unloadable:
    at = culprit.at
    first = written(at.root, at.steps)
    known = [path.removesuffix(".__class__") for path in (paths or [first])]
    named = at.thing if culprit.kind is None else culprit.kind
    return Unloadable(
        type=type_name(type(at.thing) if culprit.kind is None else culprit.kind),
        text=_said(culprit),
        error=culprit.error,
        paths=tuple(dict.fromkeys(known)),
        defined=where.first_to_look_at(named, at.holders, root) or made,
        raised=_raised(culprit, root),
        missing=culprit.missing,
        how=culprit.how,
        methods=tuple(culprit.methods),
        guess=culprit.guess,
    )


def _said(culprit: Culprit) -> str:
    thing = culprit.at.thing
    if culprit.kind is not None:
        return f"object of class {shown(type_name(culprit.kind))}"
    if type(thing) is types.FunctionType:
        return f"function {shown(thing.__module__)}.{shown(thing.__qualname__)}"
    return f"object of type {shown(type_name(type(thing)))}"


def _raised(culprit: Culprit, root: str) -> Definition:
    """Give the user's own line that raised in the worker, the innermost one."""
    for file, line, function, text in reversed(culprit.frames):
        if is_users(file, root):
            name = name_of(full_path(file), root)
            return Definition(file=name, line=line, line_text=text, qualname=function)
    return Definition()
