"""Watches over a process while it runs loaders past their end, and says what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple

from preflight.batches.facts import LOST, FirstBatches
from preflight.batches.pass_facts import Further, RandomDraws, WholePass
from preflight.batches.read import Watching, traceback_of
from preflight.batches.stacks import stacks
from preflight.batches.tracebacks import in_epoch, printed
from preflight.epochs.facts import SameOrder
from preflight.flow.facts import Flow
from preflight.flow.told import counts_of, flow_of
from preflight.users_code.fresh.anew import Anew
from preflight.users_code.fresh.silence import Silence
from preflight.values.exit_status import ending
from preflight.values.names import first_of
from preflight.values.wire import from_wire

# Of a pass, by default, and what part of its budget is spent on it.
_SECONDS, PART = 60.0, 0.25

# Of a pass over a stream without a length, which may have no end, where no budget is given.
BLINDLY = 3.0

_TOO_LONG = "to run it past its end is likely to take more than {:g} s, a quarter of the budget"


class WantedPasses(NamedTuple):
    """What somebody wants to know of loaders, and how long it may take."""

    whole: bool
    draws: bool
    counts: bool
    """Whether what goes through the stages of a pipeline is counted."""

    budget: float | None
    watching: Watching
    step: Callable[[str], AbstractContextManager[None]]
    """Says that a step begins."""

    @property
    def seconds(self) -> float:
        """How long a loader may be run."""
        seconds = (self.budget or _SECONDS) * PART
        until = self.watching.until
        left = seconds if until is None else until - time.monotonic()
        return max(0.0, min(seconds, left))

    @property
    def blindly(self) -> float:
        """How long one may be run of which nobody knows whether it ends."""
        return self.seconds if self.budget is not None else min(BLINDLY, self.seconds)


def further(anew: Anew, first: Mapping[str, FirstBatches], wanted: WantedPasses) -> list[Further]:
    """Have a process go on with the loaders of which a batch came."""
    came = [name for name, one in first.items() if one.batches and one.ended in ("enough", "over")]
    if not came or not (wanted.whole or wanted.draws) or anew.poll() is not None:
        return []
    seconds = wanted.seconds
    reasons = {name: _too_long(first[name], seconds) for name in came}
    short = [name for name in came if not reasons[name]]
    run = short if wanted.whole else []
    orders = {
        "whole": run,
        "draws": came if wanted.draws else [],
        "streams": short,
        "seconds": seconds,
        "blindly": wanted.blindly,
        "counts": wanted.counts,
    }
    watch = _Watch(anew, first, wanted)
    if run or orders["draws"]:
        what = f"run {first_of(run, len(run), 1)} past its end" if run else "draw one sample often"
        with wanted.step(what):
            anew.send(orders)
            watch.run()
    return [
        Further(
            whole=_whole(first[name], reasons[name], watch) if wanted.whole else None,
            draws=_draws(first[name], watch) if wanted.draws else None,
            flow=_flow(first[name], watch),
        )
        for name in came
    ]


def _too_long(first: FirstBatches, seconds: float) -> str:
    """Say why a loader is not run past its end, as far as its first batches tell."""
    assert first.seconds_to_first is not None  # noqa: S101  for the type checker
    each = min(first.seconds_each, default=first.seconds_to_first / max(first.num_workers, 1))
    behind = (first.length or 0) - 1 - len(first.seconds_each)
    likely = first.seconds_to_first + sum(first.seconds_each) + max(behind, 0) * each
    return _TOO_LONG.format(round(seconds, 1)) if likely > seconds else ""


def _whole(first: FirstBatches, reason: str, watch: _Watch) -> WholePass:
    told = watch.whole.get(first.name) or {"reason": reason or watch.futile or LOST}
    told = {name: one for name, one in told.items() if name not in ("flow", "counts")}
    seen = from_wire(
        WholePass, {**told, "name": first.name, "num_workers": first.num_workers, "standing": []}
    )
    epochs = seen.epochs
    text = watch.anew.text()
    said = [printed(in_epoch(text, mark)) for mark in watch.marks.get(first.name, ())]
    died = tuple(traceback_of(one, watch.watching.root) for each in said for one in each)
    before = {(one.error, one.frames) for one in first.printed if one.is_of_thread}
    if seen.goes_on:
        number = len(first.batches) + epochs[0].batches
        epochs = (replace(epochs[0], batches=number, rows=None), *epochs[1:])
    return replace(
        seen,
        epochs=epochs,
        defined=first.defined,
        start_method=first.start_method,
        printed=died,
        printed_before=any((one.error, one.frames) in before for one in died),
        standing=told.get("standing", ()),
    )


def _flow(first: FirstBatches, watch: _Watch) -> Flow | None:
    """Say what went through its pipeline in its first epoch."""
    seen = watch.whole.get(first.name, {})
    about, counts, epochs = seen.get("flow"), seen.get("counts"), seen.get("epochs")
    if about is None or not epochs:
        return None
    how = {"ended": epochs[0]["ended"], "waited": seen.get("waited") if len(epochs) == 1 else None}
    how |= {"batches": epochs[0]["batches"], "num_workers": first.num_workers}
    return flow_of(first.name, first.defined, about, counts, watch.watching.root, **how)


def _draws(first: FirstBatches, watch: _Watch) -> RandomDraws:
    told = watch.draws.get(first.name) or {"reason": watch.futile or LOST}
    seen = from_wire(RandomDraws, {**told, "name": first.name, "num_workers": first.num_workers})
    return replace(seen, defined=first.defined)


class _Watch:
    """What has come of the process."""

    def __init__(self, anew: Anew, first: Mapping[str, FirstBatches], wanted: WantedPasses) -> None:
        self.anew = anew
        self.watching = wanted.watching
        self.whole: dict[str, dict[str, Any]] = {}
        self.draws: dict[str, dict[str, Any]] = {}
        self.marks: dict[str, list[int]] = {}
        """Those that stand in what is printed while epochs of a loader are run."""

        self.futile = ""
        self._first = first
        self._name = ""
        self._seen: dict[str, Any] | None = None
        """What is told of the loader that is run; None: none is."""

        self._at = 0
        self._silence = Silence(anew, wanted.watching.timeout)

    def run(self) -> None:
        """Listen until all is said, or nothing more is to be had."""
        for said in self.anew.listen(self.watching.alive):
            if said is not None and "further" not in said:
                self._silence.broken()
                self._take(said)
            elif said is not None or self._is_late():
                return
        status = self.anew.status or 0
        self._end("died", exit_status=status, error=ending(status))

    def _take(self, said: Mapping[str, Any]) -> None:
        match said:
            case {"loader": str(name)}:
                self._name, self._seen = name, None
            case {"whole": about}:
                self._seen = self.whole[self._name] = {**about, "epochs": [], "forms": []}
            case {"flow": _} | {"counts": _}:
                assert self._seen is not None  # noqa: S101  for the type checker
                self._seen.update(said)
            case {"at": int(number)}:
                self._at = number
                self.marks.setdefault(self._name, []).extend(said.get("marks", ()))
            case {"epoch": one} | {"form": one}:
                assert self._seen is not None  # noqa: S101  for the type checker
                self._seen["epochs" if "epoch" in said else "forms"].append(one)
            case {"more": more}:
                assert self._seen is not None  # noqa: S101  for the type checker
                self._seen.update({**more, "among": None} if self._draws_shards() else more)
            case {"ended": str(ended)}:
                self._end(ended, **{key: one for key, one in said.items() if key != "ended"})
            case {"drawn": _} | {"alike": _}:
                self._take_draws(said.get("drawn"), said.get("alike"))
            case {"unmade": str(reason)}:
                self.futile = reason

    def _take_draws(self, drawn: dict[str, Any] | None, order: Any | None) -> None:
        """Keep what was drawn, and what whole epochs tell that nothing else says already."""
        if drawn is not None and not self._draws_shards():
            self.draws[self._name] = drawn
        known = self.draws.get(self._name)
        if order is None or known is None or known.get("order") is not None:
            return
        alike = known.get("workers_alike") or known.get("epochs_alike")
        if not (known.get("varies") and alike and from_wire(SameOrder, order).of_samples):
            known["order"] = order

    def _draws_shards(self) -> bool:
        """Whether its workers are known to draw the same shards, which says why they repeat."""
        return bool(self.draws.get(self._name, {}).get("of_shards"))

    def _end(self, ended: str, **how: Any) -> None:
        """Say how the epoch ended that was run; where none was, nothing more is to be had."""
        if self._seen is None or len(self._seen["epochs"]) > 1:
            self.futile = LOST
            return
        if "flow" in self._seen and "counts" not in self._seen:
            self._seen["counts"] = counts_of(self._seen["flow"])
        self._seen["epochs"].append({"batches": self._at, "ended": ended})
        self._seen.update(how)
        self._seen = None

    def _is_late(self) -> bool:
        if self.watching.is_over:
            self._end("cut")
        elif self._silence.is_too_long():
            waited = self._silence.seconds
            where = stacks(self.anew, self.watching.root, self.watching.alive)
            self._end("stuck", waited=round(waited, 1), standing=where)
        else:
            return False
        return True
