"""Sends what a loader sends to fresh workers of both kinds, and names what they cannot load.

All is sent to both at once, by one pass of Python's own pickler. Only where a worker refuses, or
dies, is it sent again, slowly: then each object at fault is named, left out, and the rest is sent
once more, until it is loaded. What is named after something was left out is sent alone as well,
since it may only miss what is not there.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from preflight.facts import Trip
from preflight.objects.parcel import LeftOut, find, makers_of_fleeting, pickled, pickled_slowly
from preflight.objects.pickle_trial import Enough, Refusal, Roots, spawning
from preflight.objects.random_state import kept_random_state
from preflight.objects.stand_ins import LARGE, StandIns
from preflight.readers.workers import (
    METHODS,
    Outlet,
    Surroundings,
    Worker,
    nothing_left_over,
    start,
)

Line: TypeAlias = tuple[str, int, str, str]
"""A line of a traceback: file, number, function, text."""

_MOST_CULPRITS = 20

_GONE = "it makes a tensor while it is sent, whose memory is gone before a worker can open it"

# Bytes up to which data is sent as it is, once something was refused with zeros in its place.
_SENT_IN_EARNEST = 256 << 20

# How long a worker that was late is given the second time, in seconds.
_SECOND_CHANCE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Culprit:
    """An object that a worker could not load. It holds the object, and does not outlive a look."""

    thing: object
    kind: type | None
    """The class that could not be found, where any instance of it is at fault."""

    root: str
    steps: str
    holders: tuple[tuple[object, str], ...]
    error: str
    frames: tuple[Line, ...]
    missing: str | None
    fleeting: bool = False


@dataclass(slots=True, kw_only=True)
class Journey:
    """A round trip as it goes on."""

    roots: Roots
    surroundings: Surroundings
    most: int
    """Bytes of a stream that are sent at most, without large data."""

    workers: dict[str, Worker] = field(default_factory=dict)
    trips: dict[str, Trip] = field(default_factory=dict)
    culprits: list[Culprit] = field(default_factory=list)
    answers: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    bytes: int = 0
    """What pickle wrote, with the data of arrays."""

    tensors: int = 0
    stood_in: int = 0
    stands_in: bool = False
    """Whether zeros stood in for data when a culprit was found."""

    started_work: tuple[str, int] | None = None
    fleeting: bool = False
    """Whether a tensor was made while it was sent, and was gone afterwards."""

    cut: bool = False

    # --- the first time: everything, at once

    def depart(self) -> None:
        """Start a worker of each kind."""
        for method in METHODS:
            if method not in multiprocessing.get_all_start_methods():
                reason = f"{sys.platform} has no {method}"
                self.trips[method] = Trip(method=method, outcome="unavailable", error=reason)
                continue
            try:
                self.workers[method] = start(method, self.surroundings)
            except OSError as error:
                reason = f"no worker could be started: {error.strerror or error}"
                self.trips[method] = Trip(method=method, outcome="unavailable", error=reason)

    def send(self, left_out: LeftOut) -> Refusal | None:
        """Send everything to all workers; give what pickle refused."""
        stand_ins = StandIns()
        workers = list(self.workers.values())
        outlet = Outlet(workers, large=stand_ins.large, most=self.most)
        for worker in workers:
            worker.order(roots=len(self.roots), slowly=False)
        refused: Refusal | None = None
        self.cut = False
        try:
            with spawning(), kept_random_state():
                refused = pickled(self.roots, outlet, stand_ins, left_out)
        except Enough:
            self.cut = True
        outlet.close()
        self.bytes = outlet.written + stand_ins.stood_in
        self.tensors, self.stood_in = stand_ins.tensors, stand_ins.stood_in
        self.fleeting = refused is None and stand_ins.fleeting
        since = time.monotonic()
        for method, worker in self.workers.items():
            self.answers[method] = _answer(worker, since)
        return refused

    def turn_back(self, outcome: str) -> None:
        """Say that nothing was loaded that would tell anything."""
        for method, worker in self.workers.items():
            seconds = _rounded(worker.seconds_to_start)
            self.trips[method] = Trip(method=method, outcome=outcome, seconds_to_start=seconds)

    # --- the second: what was it?

    def arrive(self, left_out: LeftOut) -> None:
        """Say how each worker fared, and name what it could not load."""
        if self.fleeting:
            self._name_fleeting(left_out)
        for method, worker in list(self.workers.items()):
            answer, lost, said = self.answers[method], worker.lost, worker.said
            outcome, error = "loaded", None
            if answer is None:
                outcome, error = lost or "died", said
            elif "refused" in answer:
                outcome, error = "refused", str(answer["refused"]["error"])
                self._see_work(answer["refused"])
            if outcome == "loaded" and self.fleeting:
                outcome, error = "refused", _GONE
            elif outcome == "refused" and self.started_work is not None:
                pass  # the worker never came to what it was sent
            elif outcome != "loaded" and (self.fleeting or not self.culprits):
                self._name(method, answer, left_out, error or "")
                if not self.culprits:
                    outcome, error = "loaded", None
            memory = answer.get("memory") if answer and outcome == "loaded" else None
            self.trips[method] = Trip(
                method=method,
                outcome=outcome,
                error=error,
                seconds_to_start=_rounded(worker.seconds_to_start),
                seconds_to_load=_rounded(answer.get("seconds")) if answer else None,
                memory=None if memory is None else int(memory) + self.stood_in,
            )

    def _name(
        self, method: str, answer: Mapping[str, Any] | None, left_out: LeftOut, error: str
    ) -> None:
        """Send everything again, slowly, as long as there is something new to name."""
        data = self.stood_in + self.tensors
        large = sys.maxsize if data <= _SENT_IN_EARNEST else LARGE
        for number in range(_MOST_CULPRITS):
            reply, worker = self._slowly(method, self.roots, left_out, large)
            if reply is not None and "loaded" in reply:
                if number == 0 and data > _SENT_IN_EARNEST:
                    self._blame_root(answer, error)  # it is not always the same
                return
            if reply is not None and "unsent" in reply:
                if number == 0:
                    self._blame_root(answer, error)
                return
            culprit = self._culprit(reply, worker, left_out, large)
            if culprit is None:
                if number == 0:
                    self._blame_root(reply, worker.said or error)
                return
            if left_out and not self._fails_alone(method, culprit):
                return
            self.culprits.append(culprit)
            self.stands_in = self.stands_in or (large == LARGE and data > 0)
            left_out = LeftOut(
                things={**left_out.things, id(culprit.thing): culprit.thing},
                kinds=left_out.kinds | ({culprit.kind} if culprit.kind else set()),
            )

    def _name_fleeting(self, left_out: LeftOut) -> None:
        """Name what makes tensors only to send them."""
        with spawning(), kept_random_state():
            makers = makers_of_fleeting(self.roots, left_out)
        self.fleeting = bool(makers)
        for one in makers:
            self.culprits.append(
                Culprit(
                    thing=one.thing,
                    kind=None,
                    root=one.root,
                    steps=one.steps,
                    holders=one.holders,
                    error=_GONE,
                    frames=(),
                    missing=None,
                    fleeting=True,
                )
            )

    def _slowly(
        self, method: str, roots: Roots, left_out: LeftOut, large: int
    ) -> tuple[Mapping[str, Any] | None, Worker]:
        """Send by the pickler in Python, to a worker that still lives or to a new one."""
        worker = self._living(method)
        outlet = Outlet([worker], large=large, most=max(self.most, _SENT_IN_EARNEST))
        worker.place[:] = [-1, -1]
        worker.order(roots=len(roots), slowly=True)
        raised: BaseException | None = None
        with contextlib.suppress(Enough), spawning(), kept_random_state():
            raised = pickled_slowly(roots, outlet, StandIns(large=large), left_out)
        outlet.close()
        reply = _answer(worker, time.monotonic())
        return ({"unsent": True} if raised is not None else reply), worker

    def _living(self, method: str) -> Worker:
        worker = self.workers[method]
        if worker.lost is None:
            return worker
        worker.end()
        surroundings = self.surroundings
        if worker.lost == "late":
            limit = min(surroundings.timeout, _SECOND_CHANCE)
            surroundings = replace(surroundings, timeout=limit)
        self.workers[method] = start(method, surroundings)
        return self.workers[method]

    def _culprit(
        self, reply: Mapping[str, Any] | None, worker: Worker, left_out: LeftOut, large: int
    ) -> Culprit | None:
        """Find the object that a worker was at, by what it said or by what it left behind."""
        said: Mapping[str, Any] = reply["refused"] if reply else {}
        if reply and "root" not in said:
            return None
        number, offset = (said["root"], said["at"]) if reply else tuple(worker.place)
        if number < 0:
            return None
        with spawning(), kept_random_state():
            found = find(self.roots, number, offset, StandIns(large=large), left_out)
        if found is None:
            return None
        self._see_work(said)
        is_class = issubclass(type(found.thing), type)
        return Culprit(
            thing=found.thing,
            kind=cast("type", found.thing) if is_class else None,
            root=found.root,
            steps=found.steps,
            holders=found.holders,
            error=str(said.get("error") or f"the worker {worker.said}"),
            frames=_frames(said),
            missing=_missing(said),
        )

    def _blame_root(self, reply: Mapping[str, Any] | None, error: str) -> None:
        """Say that it could not be loaded, where no object in it can be named."""
        said: Mapping[str, Any] = (reply or {}).get("refused") or {}
        name, thing = self.roots[min(max(int(said.get("root", 0)), 0), len(self.roots) - 1)]
        self._see_work(said)
        self.culprits.append(
            Culprit(
                thing=thing,
                kind=None,
                root=name,
                steps="",
                holders=(),
                error=str(said.get("error") or error),
                frames=_frames(said),
                missing=_missing(said),
            )
        )

    def _fails_alone(self, method: str, culprit: Culprit) -> bool:
        """Whether it cannot be loaded by itself, with everything that it holds."""
        roots = [("", culprit.kind or culprit.thing)]
        reply, _ = self._slowly(method, roots, LeftOut(), sys.maxsize)
        return reply is None or "refused" in reply

    def _see_work(self, said: Mapping[str, Any]) -> None:
        """Note where a worker began the job itself, as multiprocessing says by raising."""
        frames = _frames(said)
        if frames and frames[-1][2] == "_check_not_importing_main":
            own = [one for one in frames if os.sep + "multiprocessing" + os.sep not in one[0]]
            top = next((one for one in own if one[2] == "<module>"), None)
            if top is not None:
                self.started_work = top[0], top[1]


@contextlib.contextmanager
def journey(roots: Roots, surroundings: Surroundings, *, most: int) -> Iterator[Journey]:
    """Start workers of both kinds, for a round trip of what these roots hold, and end them."""
    going = Journey(roots=roots, surroundings=surroundings, most=most)
    with nothing_left_over():
        try:
            going.depart()
            yield going
        finally:
            for worker in going.workers.values():
                worker.end()


def _answer(worker: Worker, since: float) -> Mapping[str, Any] | None:
    """Wait for what a worker says of a stream; of its start, too, the first time."""
    reply = worker.reply(since)
    if reply is not None and reply.get("ready"):
        worker.seconds_to_start = max(0.0, reply["at"] - worker.began)
        reply = worker.reply(since)
    return reply


def _frames(said: Mapping[str, Any]) -> tuple[tuple[str, int, str, str], ...]:
    return tuple(
        (str(f), int(n), str(name), str(text)) for f, n, name, text in said.get("frames", ())
    )


def _missing(said: Mapping[str, Any]) -> str | None:
    """Name what the worker looked for in vain: a module, or a name in one."""
    if not said.get("looked_for"):
        return None
    module, name = said["looked_for"]
    absent = said.get("no_module")
    if absent is not None:
        return str(absent)
    inside = any(frame[2] != "find_class" for frame in _frames(said))
    return None if inside else f"{module}.{name}"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
