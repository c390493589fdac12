"""Names what a worker could not load: sends it slowly, to fresh workers, one object less each time.

The first time, all is sent as it is, so that what is refused is refused in truth. What is named
later, after something was left out or with zeros in place of large data, is sent alone as well, as
it is: it may only miss what is not there.
"""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from preflight.loaders.workers.fresh import PLACE, Outlet, Surroundings, Worker, start
from preflight.objects.random_state import kept_random_state
from preflight.objects.sending.parcel import ObjectAtByte, find, pickled_slowly
from preflight.objects.sending.pickle_trial import Roots, spawning
from preflight.objects.sending.stand_ins import LARGE, LeftOut, StandIns
from preflight.users_code.written_stacks import threads_of

Line: TypeAlias = tuple[str, int, str, str]
"""A line of a traceback: file, number, function, text."""

_MOST = 20
_MOST_TRIES = 60

# Bytes up to which data is sent as it is.
_IN_EARNEST = 256 << 20

# How long a worker that was late is given the second time, in seconds.
_SECOND_CHANCE = 20.0

# Of the time that a worker has, after which it writes down where it stands.
_PATIENCE = 0.75


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Culprit:
    """An object that a worker could not load. It holds the object, and does not outlive a look."""

    at: ObjectAtByte
    methods: list[str] = field(default_factory=list)
    """With which ways of starting workers."""

    kind: type | None = None
    """The class that could not be found, where any instance of it is at fault."""

    how: str = "refused"
    """`refused`, `died`, `late`, or `gone`: a tensor that it makes has no memory any more."""

    error: str = ""
    frames: tuple[Line, ...] = ()
    missing: str | None = None
    guess: bool = False
    """Whether zeros stood in for its own data when it was refused."""


@dataclass(slots=True, kw_only=True)
class Search:
    """A search for what workers of one kind cannot load."""

    method: str
    roots: Roots
    surroundings: Surroundings
    most: int
    """Bytes of a stream that are sent at most, without large data."""

    data: int
    """Bytes of large data in all that is sent."""

    error: str
    """What the first worker said, or what became of it."""

    worker: Worker | None = None
    found: list[Culprit] = field(default_factory=list)

    def run(self, left_out: LeftOut) -> list[Culprit]:
        """Name one object after the other, until the rest is loaded."""
        try:
            self._run(left_out)
        finally:
            if self.worker is not None:
                self.worker.end()
        return self.found

    def _run(self, left_out: LeftOut) -> None:
        large = _IN_EARNEST if self.data <= _IN_EARNEST else LARGE
        for number in range(_MOST_TRIES):
            reply, _ = self._send(self.roots, left_out, large)
            if (reply is not None and "loaded" in reply) or len(self.found) == _MOST:
                return
            culprit = self._culprit(reply, left_out, large)
            if culprit is None:
                if number == 0:
                    self.found.append(self._whole(reply or {}))
                return
            doubtful = bool(left_out) or large == LARGE
            fails, lacking = self._fails_alone(culprit) if doubtful else (True, False)
            if fails:
                self.found.append(replace(culprit, guess=lacking))
            left_out = left_out.and_also(culprit.at.thing, culprit.kind)

    def _send(
        self, roots: Roots, left_out: LeftOut, large: int
    ) -> tuple[Mapping[str, Any] | None, bool]:
        """Send by the pickler in Python; give the answer, and whether zeros stood in for data."""
        worker = self.worker = self._living()
        stand_ins = StandIns(large=large, left_out=left_out)
        outlet = Outlet([worker], large=large, most=self.most + _IN_EARNEST)
        worker.forget_place()
        until = time.time() + worker.surroundings.timeout * _PATIENCE
        worker.order(roots=len(roots), slowly=True, until=until)
        with spawning(), kept_random_state():
            raised = pickled_slowly(roots, outlet, stand_ins)
        outlet.close()
        reply = worker.answer()
        if raised is not None and (reply is None or "root" in reply.get("refused", {})):
            return {"unsent": True}, True
        return reply, outlet.skipped or stand_ins.lacking > 0

    def _living(self) -> Worker:
        """Give a worker that takes orders: the last one, or a new one."""
        if self.worker is not None and self.worker.lost is None:
            return self.worker
        surroundings = self.surroundings
        if self.worker is not None:
            self.worker.end()
            if self.worker.lost == "late":
                limit = min(surroundings.timeout, _SECOND_CHANCE)
                surroundings = replace(surroundings, timeout=limit)
        return start(self.method, surroundings)

    def _culprit(
        self, reply: Mapping[str, Any] | None, left_out: LeftOut, large: int
    ) -> Culprit | None:
        """Find the object that a worker was at, by what it said or by what it left behind."""
        assert self.worker is not None  # noqa: S101  something was sent to it
        said: Mapping[str, Any] = (reply or {}).get("refused", {})
        if reply is not None and "root" not in said:
            return None
        place = (said["root"], said["at"]) if reply is not None else self.worker.left_at()
        if place is None:
            return None
        with spawning(), kept_random_state():
            found = find(self.roots, place, StandIns(large=large, left_out=left_out))
        if found is None:
            return None
        is_class = issubclass(type(found.thing), type)
        kind = cast("type", found.thing) if is_class else None
        return Culprit(at=found, kind=kind, **_described(self.worker, said))

    def _whole(self, reply: Mapping[str, Any]) -> Culprit:
        """Blame a root, where no object in it can be named."""
        assert self.worker is not None  # noqa: S101  something was sent to it
        said: Mapping[str, Any] = reply.get("refused", {})
        name, thing = self.roots[said.get("root", 0)]
        at = ObjectAtByte(thing=thing, root=name)
        if "unsent" in reply:  # it was refused when it was sent the fast way
            return Culprit(at=at, error=self.error)
        return Culprit(at=at, **_described(self.worker, said))

    def _fails_alone(self, culprit: Culprit) -> tuple[bool, bool]:
        """Whether it cannot be loaded by itself, and whether its own data was lacking then."""
        roots = [("", culprit.kind or culprit.at.thing)]
        reply, lacking = self._send(roots, LeftOut(), _IN_EARNEST)
        if reply is not None and "unsent" in reply:
            return False, False
        return reply is None or "refused" in reply, lacking


def _described(worker: Worker, said: Mapping[str, Any]) -> dict[str, Any]:
    """Say what became of an object, by the worker's words or by its end."""
    ended = "stuck" if worker.stands else worker.lost or "died"
    return {
        "how": "refused" if said else ended,
        "error": str(said.get("error") or f"the worker {worker.said}"),
        "frames": _stack_of(worker) if worker.lost == "late" else _frames_of(said),
        "missing": _missing(said),
    }


def _stack_of(worker: Worker) -> tuple[Line, ...]:
    """Give the lines that a worker stood at when it was late, the innermost last."""
    with open(worker.place, "rb") as file:
        (*_, main) = [[], *threads_of(os.fsdecode(file.read()[PLACE:]))]
    return tuple((*one, linecache.getline(*one[:2]).strip()) for one in reversed(main))


def _frames_of(said: Mapping[str, Any]) -> tuple[Line, ...]:
    """Give the lines that a worker was at, the innermost last."""
    lines = said.get("frames", ())
    return tuple((str(file), int(line), str(name), str(text)) for file, line, name, text in lines)


def work_begun(said: Mapping[str, Any]) -> tuple[str, int] | None:
    """Give the line by which a worker began the job itself, as multiprocessing says by raising."""
    frames = _frames_of(said)
    if not frames or frames[-1][2] != "_check_not_importing_main":
        return None
    inside = f"{os.sep}multiprocessing{os.sep}"
    own = (one for one in frames if inside not in one[0] and one[2] == "<module>")
    top = next(own, None)
    return None if top is None else top[:2]


def _missing(said: Mapping[str, Any]) -> str | None:
    """Name what the worker looked for in vain: a module, or a name in one."""
    if not said.get("looked_for"):
        return None
    module, name = said["looked_for"]
    absent = said.get("no_module")
    if absent is not None:
        return str(absent)
    inside = any(frame[2] != "find_class" for frame in _frames_of(said))
    return None if inside else f"{module}.{name}"
