"""Has a loader made by several ranks, and in processes that differ as those of a job may differ.

Each is a process of its own, since a module may ask for its rank while it is imported. One process
starts them, and compares what they tell. On Linux it is a copy of the one that looks at the loader,
from before the user's code was run, as they are of it: torch is imported once more only.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, get_args

from preflight.built.making.job_code import NamedObject, named
from preflight.built.rank_process import serve, throttled
from preflight.built.ranks_to_make import (
    CAUSES,
    FURTHER,
    OTHERWISE,
    WHOLE,
    Making,
    all_together,
    plan_of,
    world_of,
)
from preflight.built.rounds import OfOneProcess, Rounds, passed_over
from preflight.built.told_by_sources import by_sources
from preflight.kinds.asked import Asked
from preflight.objects.facts import Definition
from preflight.ranks.hash_seeds import HASH_SEED
from preflight.ranks.made.by_bytes import by_bytes
from preflight.ranks.made.facts import (
    NO_TIME,
    OtherItems,
    RankBatches,
    RankLost,
    RankOrder,
    RanksPassed,
)
from preflight.ranks.made.rank_differences import (
    Told,
    batches_of,
    draw_alike,
    order_of,
    raised_by,
)
from preflight.ranks.made.together import may_lack, may_leave, nobodys
from preflight.users_code.facts import Unbuilt
from preflight.users_code.frames import own_sources
from preflight.users_code.fresh import anew
from preflight.users_code.fresh.orders import Ask, Tell
from preflight.users_code.importing import import_torch
from preflight.values.exit_status import ending
from preflight.values.wire import from_wire, to_wire

WANTED = ("RankBatches", "RankOrder")
"""The facts for whose sake loaders are made by ranks."""

Facts: TypeAlias = RankBatches | RankLost | RankOrder | RanksPassed | Unbuilt

_KINDS: Mapping[str, Any] = {one.__name__: one for one in get_args(Facts)}

CAN_COPY = sys.platform == "linux"
"""Whether processes are copies of one that has imported torch; else each is a fresh one."""

# Of processes as they are, and of the one that has another.
_SEEDS = ("2", "1")


class ByRank:
    """What makes the loaders of one target by ranks, beside the process that looks at them."""

    def __init__(self, asked: Asked, its: NamedObject, folder: str) -> None:
        self._asked = asked
        self._its = its
        self._folder = folder
        self._process: anew.Anew | None = None
        self._begun = 0.0
        budget = asked.options.get("budget")
        self._until = None if budget is None else time.monotonic() + budget

    @property
    def is_wanted(self) -> bool:
        """Whether several ranks make it, and somebody asks what they have."""
        options = self._asked.options
        wants = not {*WANTED}.isdisjoint(options["wants"])
        several = options["ranks"] > 1 and options["depth"] != "index"
        return wants and several and self._its.built.kind != "model"

    def begin(self) -> None:
        """Start the process that starts the others, before any of the user's code is run."""
        if not self.is_wanted:
            return
        self._begun = time.monotonic()
        told = {
            "wire": self._asked.wire,
            "options": self._asked.options,
            "home": self._folder,
            "copies": CAN_COPY,
        }
        # Where code of the job was run before, as for another word, it may have kept its rank.
        if CAN_COPY and not own_sources(self._asked.options["root"]):
            self._process = anew.copy(functools.partial(conduct, told))
        else:
            self._process = anew.fresh(conduct, told, folder=self._folder)

    def facts(self, names: Sequence[str], *, have_ends: bool) -> Iterator[Facts]:
        """Have these loaders made, and give what came of it.

        Where none of them has an end, nobody knows all items of a rank, and they are made again
        only to know what they draw.
        """
        process, wants = self._process, self._asked.options["wants"]
        if process is None or not names:
            return
        with self._asked.step(f"make {self._its.built.spec} by ranks"):
            wanted = [one for one in WANTED if one in wants]
            likely = self._asked.options["timeout"]
            if CAN_COPY:  # it takes as long as it took us; a fresh one imports torch, too
                likely = time.monotonic() - self._begun
            asked = {"names": list(names), "wants": wanted, "again": have_ends, "likely": likely}
            process.go(asked)
            said = self._heard(process)
        for one in said.get("facts", ()):
            facts = from_wire(_KINDS[one["kind"]], one["facts"])
            root, scripts = self._asked.options["root"], self._asked.wire.get("scripts", ())
            yield by_sources(facts, self._its.spec.name, root, scripts)
        if "lost" in said:
            batches, order = (one in wants for one in WANTED)
            yield RankLost(error=said["lost"], batches=batches, order=order)
        for name in names if "reason" in said else ():
            yield from (kind(name=name, reason=said["reason"]) for kind in (RankBatches, RankOrder))

    def close(self) -> None:
        """End what was started."""
        if self._process is not None:
            self._process.end(self._asked.alive)

    def _heard(self, process: anew.Anew) -> Mapping[str, Any]:
        """Wait for the last word of a process, or say why there is none."""
        for said in process.listen(self._asked.alive):
            if said is not None and "alive" not in said:
                return said
            if self._until is not None and time.monotonic() > self._until:
                return {"reason": NO_TIME}
        return {"lost": f"the process that has ranks make it {ending(process.status or 0)}"}


# --- in the process that starts the others --------------------------------------------------------


def conduct(told: Mapping[str, Any], ask: Ask, tell: Tell) -> None:
    """Start others as fresh as this one, or copies of it, when ordered; compare what they tell."""
    if told["copies"]:
        import_torch()
    its, copies = named(told["wire"], told["options"]), told["copies"]
    order = ask()
    batches, in_order = (one in order["wants"] for one in WANTED)
    again = in_order and order["again"]
    plan = plan_of(its.options["ranks"], batches=batches, order=again)
    start = functools.partial(_started, told)
    others = all_together(its.options["ranks"]) if again else [OTHERWISE]
    at_once = [*plan, *others, FURTHER] if copies else plan  # copies before threads
    started = {one: start(one) for one in reversed(at_once)}
    alive = throttled(tell)
    with contextlib.ExitStack() as stack:
        for process in started.values():
            stack.enter_context(process.ending(alive))

        def run(names: Sequence[str], makings: Sequence[Making]) -> list[OfOneProcess]:
            for one in makings:
                if one not in started:
                    started[one] = start(one)
                    stack.enter_context(started[one].ending(alive))
            return Rounds(its, names, started, alive, order["likely"]).run(makings)

        found = run(order["names"], plan)
        parted = _parted(its, order["names"], found) if again else []
        if in_order and not again:
            parted = [one for one in order["names"] if draw_alike(_usual(found, one))]
        ranks = its.options["ranks"]
        if again and not any(may_leave(_usual(found, name), ranks) for name in parted):
            others = [WHOLE]
        whole = run(parted, others) if parted else []
        orders = [*_orders(its, order["names"], found, whole)] if in_order else []
        early = [one.name for one in orders if any(each.cause == "before" for each in one.found)]
        if early:
            whole += run(early, [FURTHER])
            orders = [*_orders(its, order["names"], found, whole)]
    facts: list[Facts] = []
    facts += _batches(its, order["names"], found) if batches else ()
    facts += orders
    facts = _with_lost(facts, found, order["names"])
    facts += passed_over(plan, found, order["names"])
    facts += raised_by([_counted(found, name) for name in _looped_over(found, order["names"])])
    tell(facts=[{"kind": type(one).__name__, "facts": to_wire(one)} for one in facts])
    ask()


def _started(told: Mapping[str, Any], making: Making) -> anew.Anew:
    """Start a process that makes the loader as planned; those of no use any more are ended."""
    if told["copies"] and making.cause != "hash":
        return anew.copy(functools.partial(serve, told))
    variables = {} if HASH_SEED in os.environ else {HASH_SEED: _SEEDS[making.cause == "hash"]}
    return anew.fresh(serve, told, folder=told["home"], variables=variables)


def _with_lost(
    facts: list[Facts],
    found: Sequence[OfOneProcess],
    names: Sequence[str],
) -> list[Facts]:
    """Say of ranks that gave no answer that nobody knows, in place of facts that nobody has.

    Where ranks ask each other for something, it is no wonder that one alone does not go on.
    """
    told = [(one.making, one.of(name)) for one in found for name in names]
    lost = [(making, one["reason"]) for making, one in told if one.get("lost")]
    if not lost or any(one.talks for one in found):
        return facts
    reasons = [*dict.fromkeys(reason for _, reason in lost)]
    others = f" (and {len(reasons) - 2:,} more gave no answer)" if len(reasons) > 2 else ""
    return [
        *(one for one in facts if getattr(one, "reason", "") not in reasons),
        RankLost(
            error="; ".join(reasons[:2]) + others,
            batches=any(not making.cause for making, _ in lost),
            order=any(making.compared for making, _ in lost),
        ),
    ]


def _usual(found: Sequence[OfOneProcess], name: str) -> dict[int, Told]:
    """Give what ranks told of a loader, of processes in which nothing was otherwise."""
    return {one.making.rank: one.of(name) for one in found if not one.making.cause}


def _looped_over(found: Sequence[OfOneProcess], names: Sequence[str]) -> list[str]:
    """Give these loaders, and what stands around some of them, in place of which it is counted."""
    first = next(one.given for one in found if one.making == Making(0, compared=True))
    around = [name for name, one in first.items() if not one.get("reason")]
    parts = tuple(f"{name}{sign}" for name in around for sign in ".[")
    return [one for one in dict.fromkeys((*around, *names)) if not one.startswith(parts)]


def _counted(found: Sequence[OfOneProcess], name: str) -> dict[int, Told]:
    """Give what ranks told of the batches under a name; where the first cannot, of the loader's."""
    usual = {one.making.rank: one for one in found if not one.making.cause}
    if usual[0].counted(name).get("reason"):
        return _usual(found, name)
    return {rank: one.counted(name) for rank, one in usual.items()}


def _defined(found: Sequence[OfOneProcess]) -> Definition:
    return next(one.defined for one in found if one.making == Making(0, compared=True))


def _batches(
    its: NamedObject, names: Sequence[str], found: Sequence[OfOneProcess]
) -> Iterator[RankBatches]:
    ranks = its.options["ranks"]
    for name in _looped_over(found, names):
        told = _counted(found, name)
        kept = {r: one for r, one in told.items() if r in (0, ranks - 1) or not one.get("reason")}
        yield batches_of(name, _defined(found), ranks, kept)


def _parted(its: NamedObject, names: Sequence[str], found: Sequence[OfOneProcess]) -> list[str]:
    """Give loaders of which it is to be known whether the parts of all ranks are the whole."""
    ranks = its.options["ranks"]
    return [name for name in names if may_lack(_usual(found, name), ranks)]


def _orders(
    its: NamedObject,
    names: Sequence[str],
    found: Sequence[OfOneProcess],
    whole: Sequence[OfOneProcess],
) -> Iterator[RankOrder]:
    ranks, nodes = its.options["ranks"], its.options["nodes"]
    again = {one.making.cause: one for one in (*found, *whole) if one.making.cause}
    parted = _parted(its, names, found) if WHOLE.cause in again else []
    fewer, _ = world_of(WHOLE.cause, ranks, nodes)
    for name in names:
        usual = _usual(found, name)
        both = usual[0], usual[ranks - 1]
        other = {cause: again[cause].of(name) for cause in CAUSES if cause in again}
        left: OtherItems | str | None = ""
        if name in parted:
            others = {one.making.cause: one.of(name) for one in whole}
            whole_one = others[WHOLE.cause]
            left = nobodys(usual, whole_one, ranks, fewer, others)
            if left is None:
                known = by_bytes(usual, whole_one, other.get("random"), others)
                left = known and nobodys(known.tellings, known.whole, ranks, fewer, known.others)
        yield order_of(name, _defined(found), (ranks, nodes), both, other, left)
