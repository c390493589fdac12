"""Has processes that stand for ranks go, a few at a time, and takes what they tell of loaders."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from preflight.built.making.job_code import NamedObject
from preflight.built.ranks_to_make import Making
from preflight.objects.facts import Definition
from preflight.ranks.made.facts import RanksPassed
from preflight.ranks.made.rank_differences import Told
from preflight.users_code.fresh import anew
from preflight.values.exit_status import ending
from preflight.values.names import counted
from preflight.values.wire import from_wire

# Seconds after which no further rank is tried than the first and the last.
_ENOUGH = 10.0

# Processes at a time.
_AT_ONCE = 4

# How much longer one may take than another, and how many seconds at least.
_SLOWER, _PATIENCE = 5, 30.0

_POLL = 0.01


class OfOneProcess(NamedTuple):
    """What came of one process."""

    making: Making
    loaders: Mapping[str, Told]
    defined: Definition = Definition()
    reason: str = ""
    lost: bool = False
    """Whether it gave no answer, for no fault of the job that anybody knows."""

    given: Mapping[str, Told] = {}
    """What a loop is given by what stands around loaders."""

    talks: Sequence[str] = ()
    raised: Mapping[str, Any] | None = None

    def of(self, name: str) -> Told:
        """Give what was told of a loader."""
        missing = f"rank {self.making.rank} was not given it"
        unmade = {"reason": self.reason or missing, "raised": self.raised, "lost": self.lost}
        return {**self.loaders.get(name, unmade), "talks": self.talks}

    def counted(self, name: str) -> Told:
        """Give what was told of the batches that a loop is given under this name."""
        return {**self.given.get(name, self.of(name)), "talks": self.talks}


class Rounds:
    """Has processes go, and takes what they tell."""

    def __init__(
        self,
        its: NamedObject,
        names: Sequence[str],
        started: Mapping[Making, anew.Anew],
        alive: Callable[[], None],
        likely: float = math.inf,
    ) -> None:
        self._names = names
        self._started = started
        self._alive = alive
        self._timeout: float = its.options["timeout"]
        self._quick: float = self._timeout
        """Seconds of silence that do, where the loader was made sooner before."""

        self._knows(likely)
        self._hangs = False
        """Whether one has said nothing for too long."""

        self._begun: dict[Making, float] = {}
        self._running: dict[Making, float] = {}
        """Each with the time of its last word."""

        self._found: list[OfOneProcess] = []

    def run(self, plan: Sequence[Making]) -> list[OfOneProcess]:
        """Give what each told."""
        begun, left = time.monotonic(), deque(plan)
        while left or self._running:
            if left and not left[0].compared and time.monotonic() - begun > _ENOUGH:
                left.clear()
            while left and len(self._running) < _AT_ONCE:
                self._go(left.popleft())
            for making in list(self._running):
                self._hear(making)
            self._alive()
            time.sleep(_POLL)
        return self._found

    def _go(self, making: Making) -> None:
        self._started[making].go({**making._asdict(), "names": list(self._names)})
        self._begun[making] = self._running[making] = time.monotonic()

    def _hear(self, making: Making) -> None:
        process = self._started[making]
        said = process.hear()
        now = time.monotonic()
        if said is None and process.poll() is not None:
            process.drain()
            said = process.hear() or {
                "unmade": f"the process of rank {making.rank} {ending(process.status or 0)}",
                "lost": True,
            }
        elif said is None and now - self._running[making] > self._patience(making):
            silent = f"rank {making.rank} said nothing for {self._patience(making):.3g} s"
            said = {"unmade": silent, "lost": True}
            self._hangs = True
        elif said is None:
            return
        self._running[making] = now
        if "alive" not in said:
            del self._running[making]
            self._found.append(_found(making, said))
            if "made" in said:
                self._knows(now - self._begun[making])

    def _knows(self, likely: float) -> None:
        """Wait no longer than it may take, given how long it took once."""
        self._quick = min(self._quick, max(_SLOWER * likely, _PATIENCE))

    def _patience(self, making: Making) -> float:
        """Say how many seconds of silence are too many; one that imports torch may take longer."""
        if self._hangs:  # no GO any more; what hangs in one may do so in each
            return self._quick / 2
        return self._timeout if making.cause == "hash" else self._quick


def passed_over(
    plan: Sequence[Making], found: Sequence[OfOneProcess], names: Sequence[str]
) -> Iterator[RanksPassed]:
    """Say which ranks did not make loaders since others took long to; no others could be judged."""
    made = {one.making for one in found}
    passed = tuple(sorted(one.rank for one in plan if one not in made))
    if passed and any("reason" not in one.of(name) for one in found for name in names):
        others = counted(len({one.rank for one in made}), "other")
        reason = f"making it on {others} took more than {_ENOUGH:g} s, after which no more begin"
        yield RanksPassed(reason=reason, ranks=passed)


def _found(making: Making, said: Mapping[str, Any]) -> OfOneProcess:
    if "unmade" in said:
        talks, raised = said.get("talks", ()), said.get("raised")
        lost = bool(said.get("lost"))
        return OfOneProcess(
            making, {}, reason=said["unmade"], lost=lost, talks=talks, raised=raised
        )
    defined = from_wire(Definition, said["defined"])
    return OfOneProcess(
        making, said["made"], defined=defined, given=said["given"], talks=said["talks"]
    )
