"""Watches over a process that draws from loaders: how long it takes, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from preflight.batches.facts import LOST, NO_TIME, Drawn, FirstBatches, OnTheWay, Parcel, Traceback
from preflight.batches.stacks import stacks
from preflight.batches.tracebacks import Printed, our_failure, printed
from preflight.flow.facts import Flow
from preflight.flow.told import counts_of, flow_of
from preflight.sheets.facts import Sheet
from preflight.users_code.frames import user_frames
from preflight.users_code.fresh.anew import Anew
from preflight.users_code.fresh.silence import Silence
from preflight.values.exit_status import ending
from preflight.values.wire import from_wire, to_wire

# How long an exception of a worker that died may take to be printed, in seconds.
_SETTLES = 0.1

# Loaders of one target are drawn by one process; where it is lost, by another one, so often.
_MOST_STARTS = 5

_LOST_AT = "the process that drew from it was lost at {}"


class Watching(NamedTuple):
    """How it is watched over."""

    root: str
    timeout: float
    """Seconds of silence."""

    until: float | None
    """When the budget ends, by the monotonic clock."""

    alive: Callable[[], None]

    @property
    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self.until is not None and time.monotonic() > self.until


def first_batches(
    anew: Anew | None,
    again: Callable[[], Anew],
    names: Mapping[str, str],
    watching: Watching,
    then: Callable[[Anew, Mapping[str, FirstBatches]], None] = lambda _anew, _found: None,
) -> list[Drawn]:
    """Have each loader drawn from, and say what came.

    Args:
        anew: the process that draws; None: there is none as yet.
        again: starts another one, where that one is lost.
        names: the loaders, each with the reason why none of its batches is drawn; empty: they are.
        watching: the deadline.
        then: told of each process that has drawn, while it waits for more to do.
    """
    found: dict[str, FirstBatches] = {}
    flows: dict[str, Flow | None] = {}
    futile = ""
    for _ in range(_MOST_STARTS):
        left = [name for name, reason in names.items() if not reason and name not in found]
        if futile or not left:
            break
        if anew is None or anew.is_over:
            anew = again()
        with anew.ending(watching.alive):
            anew.go({"draw": left})
            watch = _Watch(anew, watching)
            seen = watch.run(left)
            if not (watch.futile or watch.spent):
                then(anew, seen)
        found |= {name: watch.with_reason(one) for name, one in seen.items()}
        flows |= watch.flows
        futile = watch.futile
    return [
        Drawn(
            first=found.get(name) or _undrawn(name, reason, futile or LOST),
            flow=flows.get(name),
        )
        for name, reason in names.items()
    ]


def _undrawn(name: str, left_out: str, failed: str) -> FirstBatches:
    """Say of a loader why none of its batches was drawn: it was left out, or that failed."""
    meant = left_out or (failed if failed == NO_TIME else "")
    return FirstBatches(
        name=name, ended="not-drawn" if meant else "not-made", reason=meant or failed
    )


class _Watch:
    """What has come of one process."""

    def __init__(self, anew: Anew, watching: Watching) -> None:
        self.anew = anew
        self.watching = watching
        self.futile = ""
        """Why another process would not do better."""

        self.flows: dict[str, Flow | None] = {}
        self.spent = ""
        """Why the process does nothing more."""

        self._found: dict[str, FirstBatches] = {}
        self._flow: Mapping[str, Any] | None = None
        self._name: str | None = None
        self._seen: dict[str, Any] = {}
        self._seconds: list[float] = []
        self._shows = False
        """Whether its first batch is being shown on a sheet."""

        self._parcels: list[Parcel] = []
        self._way: Mapping[str, Any] | None = None
        self._since = 0
        self._silence = Silence(anew, watching.timeout)

    def run(self, wanted: list[str]) -> dict[str, FirstBatches]:
        """Listen until all is said, or nothing more is to be had."""
        for said in self.anew.listen(self.watching.alive):
            if said is None:
                if self._is_late():
                    return self._found
                continue
            if "done" in said:
                break
            self._silence.broken()
            self._take(said)
            if self.futile or self._found.keys() >= {*wanted}:
                break
        else:
            self._died()
            return self._found
        if not self._found.keys() >= {*wanted}:
            self.futile = self.futile or "the code did not give it a second time"
        return self._found

    def _take(self, said: Mapping[str, Any]) -> None:
        match said:
            case {"loader": str(name), "about": about}:
                self._name, self._seconds = name, []
                self._seen = {**about, "name": name, "batches": []}
                self._parcels, self._flow, self._shows = [], None, False
            case {"flow": flow}:
                self._flow = flow
            case {"workers": [*pids]}:
                self.anew.workers.update(pids)
            case {"way": way}:
                self._way = way
            case {"batch": batch, "seconds": float(seconds)}:
                self._seen["batches"].append(batch)
                self._seconds.append(round(seconds, 4))
                self._parcels.append(from_wire(Parcel, said["parcel"]))
            case {"shows": True}:
                self._shows = True
            case {"sheet": sheet}:
                self._seen["sheet"], self._shows = sheet, False
            case {"ended": str(ended)}:
                self._close(**{**said, "ended": ended})
            case {"unmade": str(reason)}:
                self.futile = reason

    def _close(self, **how: Any) -> None:
        """Say what came of the loader that was drawn from."""
        if how["ended"] != "enough":
            time.sleep(_SETTLES)
        first = self._seconds[0] if self._seconds else None
        text = self.anew.text(self._since)
        every = printed(text)
        if how["ended"] == "died" and every and (ours := our_failure(every[-1], text)):
            raise ours
        self._found[self._seen["name"]] = FirstBatches(
            **{
                **_facts_of(self._seen),
                "seconds_to_first": first,
                "seconds_each": tuple(self._seconds[1:]),
                **_facts_of(how),
                "on_the_way": self._on_the_way(),
                "printed": tuple(traceback_of(one, self.watching.root) for one in every),
            }
        )
        if self._flow is not None:
            self._keep_flow(self._found[self._seen["name"]], self._flow)
        self._name, self._since = None, self.anew.printed

    def _keep_flow(self, first: FirstBatches, about: Mapping[str, Any]) -> None:
        """Read what its stages have counted."""
        counts, root = counts_of(about), self.watching.root
        how = {
            "ended": "cut" if first.ended == "enough" else first.ended,
            "waited": first.waited,
            "batches": len(first.batches),
            "num_workers": first.num_workers,
        }
        self.flows[first.name] = flow_of(first.name, first.defined, about, counts, root, **how)

    def _on_the_way(self) -> OnTheWay | None:
        """Give what is known of the batches on their way, with the largest one that was drawn."""
        if self._way is None:
            return None
        most = max(self._parcels, key=lambda one: (one.bytes, one.descriptors), default=Parcel())
        return from_wire(OnTheWay, self._way)._replace(parcel=most)

    def _died(self) -> None:
        """Say that the process itself has ended, at a loader or before it came to one."""
        status = self.anew.status or 0
        if self._name is None:
            self.futile = f"the process that makes it a second time {ending(status)}"
        elif self._shows:
            self._unshown(f"the process that draws it {ending(status)}")
        else:
            self.spent = _LOST_AT.format(self._name)
            self._close(ended="died", exit_status=status, error=ending(status))

    def with_reason(self, first: FirstBatches) -> FirstBatches:
        """Say of loaders of which batches came why they were not run further."""
        came = first.batches and first.ended in ("enough", "over")
        return replace(first, left=self.spent) if came and self.spent else first

    def _unshown(self, reason: str) -> None:
        """Say that batches come, though one could not be shown."""
        self.spent = "the process that drew from it was given up at the picture of a batch"
        self._seen["sheet"] = to_wire(Sheet(reason=reason))
        self._close(ended="enough")

    def _is_late(self) -> bool:
        """Say so where nothing came for too long, and why."""
        if self.watching.is_over:
            self.futile = NO_TIME
            self.spent = "the budget was used up"
            if self._seconds:
                self._close(ended="enough")
        elif not self._silence.is_too_long():
            return False
        elif self._name is None:
            self.futile = f"the code took more than {self.watching.timeout:g} s to give it again"
        elif self._shows:
            self._unshown(f"to draw it takes more than {self.watching.timeout:g} s")
        else:
            waited = self._silence.seconds
            where = stacks(self.anew, self.watching.root, self.watching.alive)
            self.spent = _LOST_AT.format(self._name)
            self._close(ended="stuck", waited=round(waited, 1), standing=where)
        return True


def _facts_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Build values of facts of what was told."""
    bare = {"name": "", "ended": "", **plain}
    built = from_wire(FirstBatches, {k: v for k, v in bare.items() if k != "standing"})
    more = {"standing": plain["standing"]} if "standing" in plain else {}
    return {**{name: getattr(built, name) for name in plain if name != "standing"}, **more}


def traceback_of(one: Printed, root: str) -> Traceback:
    """Give a printed exception as facts."""
    return Traceback(
        title=one.title,
        error=one.error,
        frames=user_frames(one.calls, root),
        unsent=any(
            call.name == "_feed" and call.filename.endswith("queues.py") for call in one.calls
        ),
    )
