"""Has loaders made a second time, in a process of their own, and batches drawn from them there."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from preflight.batches.child.drawing import Drawable, draw
from preflight.batches.child.passing import go_on
from preflight.batches.facts import Combined, Drawn, FirstBatches
from preflight.batches.pass_facts import Further
from preflight.batches.past_the_end import WantedPasses, further
from preflight.batches.read import Watching, first_batches
from preflight.batches.stacks import saying_where
from preflight.built.making import holders
from preflight.built.making.blame import RaisedError
from preflight.built.making.combined import combined, in_it, is_in
from preflight.built.making.job_code import NamedObject, attribute, imported, made, named, unsaid
from preflight.findings.check import Facts
from preflight.flow.fitted import while_made
from preflight.host.start_method import SPAWNING
from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.loaders import sent as loaders
from preflight.loaders.facts import Loaded, Sent, Trip
from preflight.loaders.workers.starting import configured, parts_of, start_method_of
from preflight.loaders.wrappers import BatchSource, real_loader, with_real
from preflight.objects import where
from preflight.objects.attributes import classes, own_attributes
from preflight.objects.stand_in import StoodIn
from preflight.users_code.frames import said_by
from preflight.users_code.fresh import anew
from preflight.users_code.fresh.orders import Ask, Tell
from preflight.users_code.importing import files_of_workers, import_torch
from preflight.values.own_files import is_our_line
from preflight.values.this_process import working_folder

WHOLE, DRAWS, FLOW = "WholePass", "RandomDraws", "Flow"
WANTED = ("FirstBatches", WHOLE, DRAWS, FLOW)
"""The facts for whose sake batches are drawn."""


class Drawing:
    """What draws from the loaders of one target, beside the process that looks at them."""

    def __init__(self, asked: Asked, its: NamedObject, folder: str) -> None:
        self._asked = asked
        self.its = its
        self._folder = folder
        self._crowd: anew.Crowd | None = None
        self._begun = time.monotonic()
        self._process: anew.Anew | None = None
        self.names: list[str] = []
        """The loaders that there are."""

        self.streams: set[str] = set()
        """Those of them of which only running them tells what they give."""

        self.around: set[str] = set()
        """Those of them that are generators around another one of them."""

    @property
    def is_wanted(self) -> bool:
        """Whether the job has batches drawn."""
        options = self._asked.options
        if options["depth"] == "index" or self.its.built.kind == "model":
            return False
        wants = not {*WANTED}.isdisjoint(options["wants"])
        return wants or options.get("show_batch") is not None

    def note(self, name: str, loader: object) -> None:
        """Note a loader from which batches are drawn."""
        self.names.append(name)
        data = own_attributes(real_loader(loader)).get("dataset")
        if isinstance(data, classes("torch.utils.data", "IterableDataset")):
            self.streams.add(name)

    def watch_for_threads(self) -> None:
        """Note how many threads there are before the user's code runs."""
        self._crowd = anew.Crowd()

    def begin(self, factory: object, stood_in: StoodIn) -> None:
        """Copy this process before a loader is made in it, where a copy will do."""
        if self.is_wanted and self._crowd is not None and self._crowd.may_fork():
            silent = self.its._replace(step=unsaid)
            self._process = anew.copy(functools.partial(_serve, silent, factory, stood_in))

    def draw(self, found: Iterable[Facts]) -> list[Drawn | Further]:
        """Draw from the loaders, but from those of which it is known that no worker starts."""
        if not (self.is_wanted and self.names):
            return []
        told = _told_already(found)
        known = files_of_workers(self.its.spec)
        spawned = {one.name for one in found if isinstance(one, Sent) and _spawns(one)}
        reasons = {
            name: told.get(name) or (_ONLY_AS_MAIN if known and name in spawned else "")
            for name in self.names
        }
        options = self._asked.options
        budget = options.get("budget")
        watching = Watching(
            root=options["root"],
            timeout=options["timeout"],
            until=None if budget is None else self._begun + budget,
            alive=self._asked.alive,
        )
        if all(reasons.values()):
            return [*first_batches(None, self._fresh, reasons, watching)]
        with self._asked.step(f"draw batches of {self.its.built.spec}"):
            beyond = _Beyond(self._asked, watching)
            first = first_batches(self._process, self._fresh, reasons, watching, beyond.then)
            return [*first, *beyond.found]

    def _fresh(self) -> anew.Anew:
        told = {"wire": self._asked.wire, "options": self._asked.options}
        return anew.fresh(serve_afresh, told, folder=self._folder)

    def close(self) -> None:
        """End what was started."""
        if self._process is not None:
            self._process.end(self._asked.alive)


class _Beyond:
    """Has a process that has drawn go on, and keeps what came."""

    def __init__(self, asked: Asked, watching: Watching) -> None:
        self.found: list[Further] = []
        self._asked = asked
        self._watching = watching

    def then(self, process: anew.Anew, first: Mapping[str, FirstBatches]) -> None:
        """Have its loaders run further."""
        wants = self._asked.options["wants"]
        wanted = WantedPasses(
            whole=WHOLE in wants or FLOW in wants,
            draws=DRAWS in wants,
            counts=FLOW in wants,
            budget=self._asked.options.get("budget"),
            watching=self._watching,
            step=self._asked.step,
        )
        self.found += further(process, first, wanted)


_ONLY_AS_MAIN = "a worker that is not forked finds its file only where that is the main module"


def _spawns(sent: Sent) -> bool:
    return bool(sent.num_workers) and sent.start_method in SPAWNING


def _told_already(found: Iterable[Facts]) -> dict[str, str]:
    """Name the loaders of which no worker comes to its first batch, and the check that says why."""
    reasons = {}
    for one in found:
        if isinstance(one, Sent) and _spawns(one) and one.objects:
            reasons[one.name] = "none of its workers starts, which loader-unpicklable tells"
        elif isinstance(one, Loaded) and one.num_workers and one.start_method in SPAWNING:
            if one.started_work is not None:
                reasons[one.name] = "its workers would train, which loader-unguarded-main tells"
            elif any(one.start_method in each.methods and each.is_sure for each in one.objects):
                reasons[one.name] = "none of its workers starts, which loader-unloadable tells"
    return reasons


def without_disproved(found: Iterable[Facts]) -> list[Facts]:
    """Leave out what workers may not load, by a guess or for want of time, where batches came."""
    found = list(found)
    came = {one.first.name for one in found if isinstance(one, Drawn) and one.first.batches}
    return [_loaded_after_all(one) if _is_of(one, came) else one for one in found]


def _is_of(one: Facts, names: Container[str]) -> TypeGuard[Loaded]:
    return isinstance(one, Loaded) and one.name in names and one.start_method in SPAWNING


def _loaded_after_all(loaded: Loaded) -> Loaded:
    own = loaded.start_method
    kept = tuple(one for one in loaded.objects if one.is_sure or own not in one.methods)
    gone = {method for one in loaded.objects if one not in kept for method in one.methods}
    loads = gone - {method for one in kept for method in one.methods}
    trips = (
        Trip(method=one.method, outcome="loaded") if one.method in loads else one
        for one in loaded.trips
    )
    return replace(loaded, objects=kept, trips=tuple(trips))


# --- in the process that draws --------------------------------------------------------------------


def serve_afresh(told: Mapping[str, Any], ask: Ask, tell: Tell) -> None:
    """Run in a fresh process: import what is named, and draw when that is ordered."""
    its, stood_in = named(told["wire"], told["options"]), StoodIn()
    try:
        import_torch()
        factory = attribute(imported(its, stood_in), its.spec)
    except BaseException as error:  # noqa: BLE001  the user's code, sys.exit too
        tell(unmade=_unmade(error))
    else:
        _serve(its, factory, stood_in, ask, saying_where(tell, its.options["timeout"]))


def _serve(its: NamedObject, factory: object, stood_in: StoodIn, ask: Ask, tell: Tell) -> None:
    """Wait for an order, draw, and wait to be ended: what is started here is found below it."""
    root, wants = its.options["root"], its.options["wants"]

    @while_made(where.defined(factory, root).at, root, counts=FLOW in wants)
    def again(names: Sequence[str]) -> list[Drawable]:
        one_of_them = functools.partial(collect, its, factory, names, {})
        return holders.walk(its.built.spec, made(its, factory, stood_in), one_of_them) or []

    try:
        found = again(ask()["draw"])
    except BaseException as error:  # noqa: BLE001  the user's code, sys.exit too
        tell(unmade=_unmade(error))
    else:
        folders = (root, working_folder(), sys.path[0] if sys.path else root)
        sheet = its.options.get("show_batch")
        draw(found, tell, root=root, folders=folders, counts=FLOW in wants, sheet=sheet)
        tell(done=True)
        order = ask()
        try:
            go_on(order, found, again, tell, (root, folders))
        except BaseException as error:  # noqa: BLE001  as above
            tell(unmade=_unmade(error))
        tell(further="done")
    ask()


def _unmade(error: BaseException) -> str:
    if is_our_line(error):
        raise error
    if isinstance(error, (CannotLookError, MistypedError)):
        return str(error)
    inner = error.error if isinstance(error, RaisedError) else error
    return f"it could not be made a second time: {said_by(inner)}"


def collect(
    its: NamedObject,
    factory: object,
    wanted: Sequence[str],
    holding: dict[str, Combined],
    name: str,
    thing: object,
) -> list[Drawable] | None:
    """Give a loader that is to be drawn from, as the job has it; None of anything else.

    What holds loaders, and makes batches of theirs, is noted.
    """
    options = its.options
    holder = combined(name, thing)
    if holder is not None:
        holding[name] = holder
        return None
    if loaders.is_dataset(thing):
        thing = wrapped(thing, options, collate_fn=list)
    if not loaders.is_loader(thing):
        return None
    if name not in wanted:
        return []
    workers, start = options["num_workers"], options["start_method"]
    if isinstance(thing, BatchSource):
        workers, start = 0, None
    real = real_loader(thing)
    method, method_from = start_method_of(own_attributes(real), start, options["root"])
    own = configured(real, workers, start)
    number = parts_of(own).get("num_workers", 0) if workers is None else workers
    about = {
        "num_workers": int(number),
        "start_method": method,
        "start_method_from": method_from,
        "defined": where.defined(factory, options["root"]).at,
        "combined": next((in_it(one, name) for one in holding.values() if is_in(one, name)), None),
    }
    return [Drawable(name, thing if own is real else with_real(thing, own), about)]


# --- for both processes ---------------------------------------------------------------------------


def wrapped(dataset: Any, options: Mapping[str, Any], **given: Any) -> object:
    """Wrap a bare data set as the job would: its batch size, its workers (by default one)."""
    from torch.utils.data import DataLoader

    workers = options["num_workers"]
    return DataLoader(
        dataset,
        batch_size=options["batch_size"] or 1,
        num_workers=1 if workers is None else workers,
        **given,
    )
