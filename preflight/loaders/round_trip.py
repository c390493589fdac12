"""Sends what a loader sends to fresh workers of both kinds, and names what they cannot load.

All is sent to both at once, by one pass of Python's own pickler. Only where a worker refuses, or
dies, is it searched for what that was.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from preflight.loaders.facts import Trip
from preflight.loaders.workers.culprits import Culprit, Search, work_begun
from preflight.loaders.workers.fresh import (
    METHODS,
    Outlet,
    Surroundings,
    Worker,
    start,
)
from preflight.loaders.workers.left_alone import nothing_left_over
from preflight.objects.random_state import kept_random_state
from preflight.objects.sending.parcel import ObjectAtByte, makers_of_fleeting
from preflight.objects.sending.pickle_trial import Enough, Refusal, Roots, pickled, spawning
from preflight.objects.sending.stand_ins import LeftOut, StandIns

_GONE = "it makes a tensor while it is sent, whose memory is gone before a worker can open it"


@dataclass(slots=True, kw_only=True)
class Journey:
    """A round trip as it goes on."""

    roots: Roots
    surroundings: Surroundings
    most: int
    """Bytes of a stream that are sent at most, without large data."""

    workers: dict[str, Worker] = field(default_factory=dict)
    trips: dict[str, Trip] = field(default_factory=dict)
    answers: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    culprits: dict[int, Culprit] = field(default_factory=dict)
    """By id of the object."""

    bytes: int = 0
    """What pickle wrote, with the data of arrays."""

    tensors: int = 0
    stood_in: int = 0
    started_work: tuple[str, int] | None = None
    fleeting: bool = False
    """Whether a tensor was made while it was sent, and was gone afterwards."""

    cut: bool = False

    # --- the first time: everything, at once

    def depart(self) -> None:
        """Start a worker of each kind."""
        for method in METHODS:
            reason = f"{sys.platform} has no {method}"
            if method in multiprocessing.get_all_start_methods():
                try:
                    self.workers[method] = start(method, self.surroundings)
                    continue
                except OSError as error:
                    reason = f"no worker could be started: {error.strerror or error}"
            self.trips[method] = Trip(method=method, outcome="unavailable", error=reason)

    def send(self, left_out: LeftOut) -> Refusal | None:
        """Send everything to all workers; give what pickle refused."""
        stand_ins = StandIns(left_out=left_out)
        workers = list(self.workers.values())
        outlet = Outlet(workers, large=stand_ins.large, most=self.most)
        for worker in workers:
            worker.order(roots=len(self.roots), slowly=False)
        refused: Refusal | None = None
        self.cut = False
        sent = [(name, None if left_out.has(thing) else thing) for name, thing in self.roots]
        try:
            with spawning(), kept_random_state():
                refused = pickled(sent, outlet, stand_ins.reduction)
        except Enough:
            self.cut = True
        outlet.close()
        self.bytes = outlet.written + stand_ins.stood_in
        self.tensors, self.stood_in = stand_ins.tensors, stand_ins.stood_in
        self.fleeting = refused is None and stand_ins.fleeting
        since = time.monotonic()
        self.answers = {method: worker.answer(since) for method, worker in self.workers.items()}
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
        self.end()  # two workers at the same time may be in each other's way
        for method, worker in self.workers.items():
            answer = self.answers[method] or {}
            outcome, error = _outcome(worker, self.answers[method])
            self.started_work = self.started_work or work_begun(answer.get("refused", {}))
            if outcome == "loaded" and self.fleeting:
                outcome, error = "refused", _GONE
            elif outcome != "loaded" and self.started_work is None:
                found = self._is_known(method) or self._search(method, left_out, error or "")
                outcome, error = (outcome, error) if found else ("loaded", None)
            memory = answer.get("memory") if outcome == "loaded" else None
            self.trips[method] = Trip(
                method=method,
                outcome=outcome,
                error=error,
                seconds_to_start=_rounded(worker.seconds_to_start),
                seconds_to_load=_rounded(answer.get("seconds")),
                memory=None if memory is None else int(memory) + self.stood_in,
            )

    def end(self) -> None:
        """End the workers."""
        for worker in self.workers.values():
            worker.end()

    def _is_known(self, method: str) -> bool:
        """Whether another way refused the same at the same byte, so that its culprits are these."""
        mine = _place(self.answers[method])
        refused = [other for other, trip in self.trips.items() if trip.outcome == "refused"]
        others = [_place(self.answers[other]) for other in refused if other != method]
        return mine is not None and mine in others and self._blame_known(method)

    def _blame_known(self, method: str) -> bool:
        """Put down to all that is known that this way failed, too; False where nothing is."""
        for one in self.culprits.values():
            if method not in one.methods:
                one.methods.append(method)
        return bool(self.culprits)

    def _search(self, method: str, left_out: LeftOut, error: str) -> bool:
        """Name what workers of this kind cannot load; False where they can, after all."""
        known = left_out
        for one in self.culprits.values():
            known = known.and_also(one.at.thing, one.kind)
        search = Search(
            method=method,
            roots=self.roots,
            surroundings=self.surroundings,
            most=self.most,
            data=self.stood_in + self.tensors,
            error=error,
        )
        try:
            found = search.run(known)
        except OSError as refusal:
            name, thing = self.roots[0]
            reason = f"no second worker could be started: {refusal.strerror or refusal}"
            at = ObjectAtByte(thing=thing, root=name)
            found = [Culprit(at=at, error=reason, guess=True)]
        for one in found:
            self._blame(one, [method])
        return bool(found) or self._blame_known(method)

    def _name_fleeting(self, left_out: LeftOut) -> None:
        with spawning(), kept_random_state():
            makers = makers_of_fleeting(self.roots, left_out)
        self.fleeting = bool(makers)
        for one in makers:
            self._blame(Culprit(at=one, how="gone", error=_GONE), list(self.workers))

    def _blame(self, culprit: Culprit, methods: list[str]) -> None:
        self.culprits.setdefault(id(culprit.at.thing), culprit).methods.extend(methods)


def _place(answer: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
    """Give where in the stream a worker refused what, where it came that far."""
    said = (answer or {}).get("refused", {})
    return (said["root"], said["at"], said["error"]) if "root" in said else None


def _outcome(worker: Worker, answer: Mapping[str, Any] | None) -> tuple[str, str | None]:
    if answer is None:
        return worker.lost or "died", worker.said
    if "refused" in answer:
        return "refused", str(answer["refused"]["error"])
    return "loaded", None


@contextlib.contextmanager
def journey(roots: Roots, surroundings: Surroundings, *, most: int) -> Iterator[Journey]:
    """Start workers of both kinds, for a round trip of what these roots hold, and end them."""
    going = Journey(roots=roots, surroundings=surroundings, most=most)
    with nothing_left_over():
        try:
            going.depart()
            yield going
        finally:
            going.end()


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
