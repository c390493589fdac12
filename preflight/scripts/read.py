"""Has a script run as itself in a process of its own, and makes facts of what it tells."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from preflight.batches.facts import CountedInScript
from preflight.findings.check import Facts
from preflight.findings.our_failures import ElsewhereError, of_death
from preflight.flow.defer import STARVED, starves
from preflight.flow.told import Flows
from preflight.kinds.asked import Asked
from preflight.kinds.rooms import facts_of
from preflight.scripts.elsewhere import folder_of
from preflight.scripts.facts import Ended, Met, Raised, RankLength, Rehearsal, StartedRanks
from preflight.scripts.process import ScriptProcess, start
from preflight.scripts.thread_stacks import below, stacks_of
from preflight.scripts.watch import MOMENTS, OF_PROCESS
from preflight.users_code.facts import Frame
from preflight.users_code.own import OwnFiles
from preflight.values.names import name_of
from preflight.values.wire import from_wire

# How often the script is asked for news, in seconds.
_POLL = 0.05

# How long it is given for what it does at its end, in seconds.
_LAST_WORDS = 20.0

# What is known of a loader or a copy once it is met, however long the script goes on.
_EARLY = ("Sent", "Loaded", "Copied")

# What each process that trains tells of itself alone.
_OF_EACH = ("met", "gave", "steps", "ended", "counts", "counted", "counting", "lengths")

# How long, where a thread in the background was stopped, for which the others may wait for ever.
_LAST_WORDS_OF_OTHERS = 3.0


@dataclass(slots=True, kw_only=True)
class Heard:
    """What a script has told so far."""

    met: dict[int, Met] = field(default_factory=dict)
    given: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    early: list[Mapping[str, Any]] | None = None
    """Of that, what is told at once; None: nothing is."""

    threads: list[Raised] = field(default_factory=list)
    shortened: dict[str, None] = field(default_factory=dict)
    ended: Ended | None = None
    on_cpu: Frame | None = None
    steps: int = 0
    lengths: list[RankLength] = field(default_factory=list)
    flows: Flows = field(default_factory=Flows)
    patience: float = _LAST_WORDS
    left: bool = False
    """Whether it has gone on behind a loop that we have left early."""

    begun: bool = False
    """Whether it has come to the script's own code."""

    crashed: tuple[str, str] | None = None
    """How our own code has failed there, in words, and the traceback."""

    ending: float | None = None
    """Since when it is at its end, by the monotonic clock."""

    when: float = math.inf
    """When it has ended or was stopped, by the clock of all processes."""

    ranks: dict[int, Heard] = field(default_factory=dict)
    """Of processes that it has started to train in, by their number."""

    def hear(self, line: Mapping[str, Any]) -> None:
        """Take in a line."""
        self.begun = True
        self.when = min(self.when, line.get("when", math.inf))
        number = line.get("process")
        if number is not None:
            self._hear_rank(number, line)
            if not line.keys().isdisjoint(_OF_EACH):
                return
        if "met" in line:
            self.met[line["met"]] = from_wire(Met, line["facts"])
        elif "gave" in line:
            self._hear_facts(line["gave"], line["facts"])
        elif "thread" in line:
            self.threads.append(from_wire(Raised, line["thread"]))
        elif "shortened" in line:
            self.shortened[line["shortened"]] = None
            self.left = line["left"]
        elif "steps" in line:
            self.steps = line["steps"]
        elif not line.keys().isdisjoint(("counts", "counted", "counting")):
            self.flows.hear(line)
            self.ending = self.ending and time.monotonic()  # what is still counted is not its end
        elif "on_cpu" in line:
            self.on_cpu = from_wire(Frame, line["on_cpu"])
        else:
            self.lengths += [from_wire(RankLength, one) for one in line.get("lengths", ())]
            self._hear_end(line)

    def _hear_facts(self, key: str, facts: Mapping[str, Any]) -> None:
        if self.early is not None and not key and facts["type"] in _EARLY:
            self.early.append(facts)
        else:
            self.given[key or f"#{len(self.given)}", facts["type"]] = facts

    def _hear_rank(self, number: int, line: Mapping[str, Any]) -> None:
        rank = self.ranks.setdefault(number, Heard())
        rank.hear({name: one for name, one in line.items() if name != "process"})
        if self.failed_rank is not None:
            self.ending = self.ending or time.monotonic()

    def _hear_end(self, line: Mapping[str, Any]) -> None:
        if "crashed" in line:
            self.crashed = line["crashed"], line["trace"]
        elif "ended" in line:
            self.ended = from_wire(Ended, line["ended"])
        if line.get("in_background") and self.ending is None:
            self.patience = _LAST_WORDS_OF_OTHERS
        if not line.keys().isdisjoint(("ended", "stopping", "crashed")):
            self.ending = self.ending or time.monotonic()

    # --- the processes that it has started

    @property
    def trains(self) -> bool:
        """Whether it has come to a batch or a step itself."""
        return bool(self.steps or any(one.what == "loader" for one in self.met.values()))

    @property
    def has_left_ranks(self) -> bool:
        """Whether some of them have trained, and have not come to their end."""
        return any(one.trains and not one.how for one in self.ranks.values())

    @property
    def failed_rank(self) -> Heard | None:
        """Give the one that has raised first; others lose it then, or are stopped, or wait."""
        every = [*self.ranks.values()]
        trained = self.trains or any(one.trains for one in every)
        over = [one for one in every if one.how not in ("", "returned")]
        over = [one for one in over if one.trains or not trained]
        first = min(over, key=lambda one: one.when, default=None)
        return first if first is not None and first.how == "raised" else None

    @property
    def how(self) -> str:
        """Say how it has ended; nothing: it has not."""
        return "" if self.ended is None else self.ended.how

    @property
    def is_counting(self) -> bool:
        """Whether a loader is drawn from for the sake of what it counts."""
        return any(one.flows.is_counting for one in (self, *self.ranks.values()))

    def starve(self, seconds: float, root: str) -> bool:
        """Whether a loader has swallowed errors for so long, and no batch came of it."""
        return any(one.flows.starve(seconds, root) for one in (self, *self.ranks.values()))

    def take_in_rank(self, scratch: str) -> None:
        """Take for its own what the first process has told that trains, unless it trains itself."""
        every = sorted(self.ranks.items())
        by_steps = next((one for one in every if one[1].steps), None)
        first = by_steps or next((one for one in every if one[1].trains), None)
        if first is None or self.steps:
            return
        number, rank = first
        self.met |= {len(self.met) + place: one for place, one in rank.met.items()}
        self.given |= rank.given
        self.steps, self.flows = rank.steps, rank.flows
        with contextlib.suppress(FileNotFoundError):
            told = os.path.join(scratch, f"{OF_PROCESS}{number}", MOMENTS)
            with open(told, "rb") as its, open(os.path.join(scratch, MOMENTS), "ab") as own:
                shutil.copyfileobj(its, own)

    def ended_by_rank(self, ended: Ended) -> Ended:
        """Say how it ended where that comes of a process that it has started."""
        rank = self.failed_rank
        raised = None if rank is None or rank.ended is None else rank.ended.raised
        is_well = ended.how == "returned" or (ended.how == "exited" and not ended.code)
        if raised is not None and is_well:
            self.threads.append(replace(raised, is_process=True))
        elif raised is not None:
            return Ended(how="raised", code=1, raised=raised)
        if is_well and self.steps and ended.raised is not None:  # it has not done nothing
            return replace(ended, raised=None)
        if not is_well and any(one.how == "stopped" for one in self.ranks.values()):
            return Ended(how="stopped")
        return ended


def look(asked: Asked) -> list[Facts]:
    """Run the script in short; give its `Rehearsal`, and the facts of what it met on its way."""
    begun = time.monotonic()
    heard = Heard(early=[])
    with asked.step(f"run {_name(asked.wire)}"):
        running = start(asked.wire, asked.options)
        ended = follow(running, heard, asked)
    seconds = round(time.monotonic() - begun, 3)
    flows = [*heard.flows.of_all(ended.how, asked.root)]
    counted = (CountedInScript(flow=one) for one in flows)
    given = map(facts_of, heard.given.values())
    rehearsal = _rehearsal(asked, heard, ended, seconds)
    if any(map(starves, flows)):  # which tells why its loaders give nothing
        met = tuple(one for one in rehearsal.met if one.what != "goes round")
        rehearsal = replace(rehearsal, met=met)
    return [rehearsal, *_ranks(rehearsal, heard), *given, *counted]


def _ranks(rehearsal: Rehearsal, heard: Heard) -> Iterator[StartedRanks]:
    """Give those of a group, where there are several."""
    lengths = tuple(one for each in (heard, *heard.ranks.values()) for one in each.lengths)
    if len({one.rank for one in lengths}) > 1:
        yield StartedRanks(
            name=rehearsal.name,
            lengths=lengths,
            evaluates=tuple(one.at for one in rehearsal.met if one.what == "evaluation" and one.at),
            evened=rehearsal.times("join") > 0,
        )


def _name(wire: Mapping[str, Any]) -> str:
    started = [wire["path"]] if wire["path"] else ["-m", wire["module"]]
    return wire["name"] or shlex.join([*started, *wire["args"]])


def follow(running: ScriptProcess, heard: Heard, asked: Asked) -> Ended:
    """Hear it until it has ended, or until nothing more is to be expected of it.

    Raises:
        ElsewhereError: not the script has failed there, but our own code.
    """
    ended = heard.ended_by_rank(_ending(running, heard, asked))
    heard.take_in_rank(running.scratch)
    if heard.crashed is None and not heard.begun and (died := of_death(running.popen.returncode)):
        heard.crashed = died, ""
    if heard.crashed is not None:
        raise ElsewhereError(*heard.crashed)
    return ended


def _hear(running: ScriptProcess, heard: Heard, asked: Asked) -> None:
    for line in running.lines():
        heard.hear(line)
    while heard.early:
        asked.some(facts_of(heard.early.pop(0)), 1)


def _ending(running: ScriptProcess, heard: Heard, asked: Asked) -> Ended:
    try:
        while running.popen.poll() is None:
            _hear(running, heard, asked)
            asked.alive()
            timeout = min(asked.options["timeout"], _LAST_WORDS if heard.left else math.inf)
            silent = running.silent(timeout)
            if silent is None and heard.starve(timeout, asked.root):
                silent = "late"  # what it prints is of errors alone
            if silent is not None and heard.left and heard.ending is None:
                heard.shortened[f"what stands behind that, silent for {timeout:g} s"] = None
                return Ended(how="stopped")
            if silent is not None and heard.ending is None:
                starved = heard.starve(0.0, asked.root)
                how, told_by = ("stuck", STARVED) if starved else (silent, "")
                return replace(_waiting(how, running, heard, asked), told_by=told_by)
            if heard.ending is not None and time.monotonic() - heard.ending > heard.patience:
                over = heard.ended or Ended(how="stopped")
                return replace(over, unfinished=not heard.is_counting)
            time.sleep(_POLL)
        _hear_the_last(running, heard, asked)
    finally:
        running.end()
    return _ended(heard, running.popen.returncode)


def _hear_the_last(running: ScriptProcess, heard: Heard, asked: Asked) -> None:
    """Hear what is left to say, also of ranks that the script has left at work."""
    until = time.monotonic() + _LAST_WORDS_OF_OTHERS
    _hear(running, heard, asked)
    while heard.has_left_ranks and time.monotonic() < until:
        asked.alive()
        time.sleep(_POLL)
        _hear(running, heard, asked)


def _waiting(how: str, running: ScriptProcess, heard: Heard, asked: Asked) -> Ended:
    """Say where it stands that has given no sign for long."""
    pid, wire = running.popen.pid, asked.wire
    own = OwnFiles(asked.root, folder_of(wire))
    silent = round(time.monotonic() - running.heard, 1)
    waiting = stacks_of(pid, below(pid), wire["scratch"], own)
    if heard.ranks:  # for which the script waits
        waiting.sort(key=lambda one: one.process == "script")
    return Ended(how=how, waiting=tuple(waiting), silent=silent)


def _ended(heard: Heard, status: int) -> Ended:
    if heard.ended is None:
        return Ended(how="died" if status < 0 else "exited", code=status)
    return heard.ended


def _rehearsal(asked: Asked, heard: Heard, ended: Ended, seconds: float) -> Rehearsal:
    path = asked.wire["path"]
    return Rehearsal(
        name=_name(asked.wire),
        file=name_of(os.path.abspath(path), asked.root) if path else asked.wire["module"],
        ended=ended,
        seconds=seconds,
        met=tuple(one for _, one in sorted(heard.met.items()) if one.count or one.epochs),
        steps=heard.steps,
        threads=tuple(heard.threads),
        shortened=tuple(heard.shortened),
        on_cpu=heard.on_cpu,
    )
