"""Runs in a process of its own: runs a loader past its end, and into a second epoch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from preflight.batches.child import repeated_draws
from preflight.batches.child.about_loader import about_loader
from preflight.batches.child.between_workers import (
    Noted,
    are_all_alike,
    compare,
    of_shards,
    repeated_so_far,
)
from preflight.batches.child.drawing import Drawable, raised, structure_or_type
from preflight.batches.child.epoch_cut import always_first
from preflight.batches.child.epoch_draws import of_stream
from preflight.batches.child.without_workers import Alone, is_own_stream, run_alone
from preflight.batches.facts import Form
from preflight.batches.pass_facts import Among, Epoch
from preflight.batches.structure import form_of, rows_agree
from preflight.epochs import sample_numbers
from preflight.epochs.archives_read import archives_read, by_index, noting
from preflight.epochs.dropped import dropped
from preflight.epochs.facts import Dropped
from preflight.flow.fitted import Fitted, fit
from preflight.loaders.epoch import gives_none, length_of, never_asked_for
from preflight.loaders.wrappers import as_it_comes, real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.where import defined
from preflight.values.own_files import is_our_line, theirs
from preflight.values.wire import to_wire

# Seconds after which it is judged whether an epoch will end in time.
_JUDGED_AFTER = 1.0

# How often it says how far it has come, in seconds; each of the first batches is told.
_EACH = 0.05
_TOLD = 100


# Seconds in which it is looked for samples that a collate function drops.
_DROPS = 5.0

_NOTHING: Mapping[str, set[str]] = {}

# Ways in which batches of an epoch are made that are told: of more, each batch is made in its own.
_MOST_FORMS = 8


class Bounds(NamedTuple):
    """How far a loader is run."""

    seconds: float
    length: int | None
    num_workers: int
    batch_size: int | None = None
    """Samples of a full batch, where it comes as the loader makes it."""

    def far_beyond(self) -> float:
        """Give the number of batches at which a loader is left that goes on behind its end."""
        return float("inf") if self.length is None else 2 * self.length + self.num_workers + 8


def go_on(
    order: Mapping[str, Any],
    found: list[Drawable],
    again: Callable[[Sequence[str]], list[Drawable]],
    tell: Callable[..., None],
    where: tuple[str, Sequence[str]],
) -> None:
    """Do what is ordered beyond first batches.

    Args:
        order: the loaders to run past their end, and those of which one sample is drawn often.
        found: those that were drawn from. They are let go before others are made.
        again: makes loaders anew.
        tell: says what came.
        where: the job's folder, and those with modules of its own.
    """
    whole = [*order["whole"]]
    for one in [each for each in found if each.name in order["draws"]]:
        tell(loader=one.name)
        workers, seconds = one.about["num_workers"], order["seconds"]
        said = repeated_draws.run(one.loader, workers, seconds, tell, where[0])
        is_stream = said.get("is_stream") or said.get("why_not") == repeated_draws.ITERABLE
        if is_stream and one.name not in whole:
            whole += [one.name] if one.name in order["streams"] else []
        del one
    found.clear()
    with noting() as made:
        those = again(whole) if whole else []
    for one in those:
        tell(loader=one.name)
        seconds = order["blindly" if length_of(one.loader) is None else "seconds"]
        fitted = fit(one.loader, one.about["defined"], where[0]) if order["counts"] else None
        kept = made if len(those) == 1 else {}
        run(one.loader, one.about["num_workers"], seconds, tell, where, fitted, kept)


def run(
    loader: Any,
    workers: int,
    seconds: float,
    tell: Callable[..., None],
    where: tuple[str, Sequence[str]],
    fitted: Fitted | None = None,
    made: Mapping[str, set[str]] = _NOTHING,
) -> None:
    """Run a loader for two epochs, if time allows, and tell how each ended.

    What its stages count is that of the first. `made` is what was read of archives while it was
    made.
    """
    about = about_loader(loader)
    size = None if as_it_comes(loader) is None else about["batch_size"]
    bounds = Bounds(seconds, about["length"], workers, size)
    begun = time.monotonic()
    tell(whole=about)
    if fitted is not None:
        tell(flow=fitted.about)
    given, again = (
        Noted(max(workers, 1), about["batch_size"]) if about["is_iterable"] else None
        for _ in range(2)
    )
    try:
        first = _epoch(loader, bounds, tell, given, forms=set())
        if fitted is not None:
            tell(counts=fitted.counts())
        tell(epoch=to_wire(first))
        if first.ended == "cut" and given is not None and not about["resampled"]:
            tell(more={"among": to_wire(repeated_so_far(given))})
        if first.ended != "over" or own_attributes(loader).get("once") is True:
            return
        left = seconds - (time.monotonic() - begun)
        second = bounds._replace(seconds=left if given is None else left / 2)
        other = _epoch(loader, second, tell, again)
        tell(epoch=to_wire(other))
        tell(more=_lacking(loader, first, about, where[0]))
        if given is None and about["takes"] is not None:
            left = min(_DROPS, seconds - (time.monotonic() - begun))
            tell(more={"dropped": to_wire(_dropped(loader, where[0], left, tell))})
            left = min(_DROPS, seconds - (time.monotonic() - begun))
            dataset = own_attributes(real_loader(loader))["dataset"]
            tell(more={"archives": to_wire(by_index(dataset, made, left, where[0], tell))})
        if given is not None and again is not None:
            seen = (given, again if other.ended == "over" else None)
            _of_stream(loader, about, seen, (begun + seconds, where[0]), tell, made)
    except BaseException as error:  # noqa: BLE001  the user's code, sys.exit too
        tell(**raised(error, *where))
    finally:
        if fitted is not None:
            fitted.undo()


def _of_stream(
    loader: Any,
    about: Mapping[str, Any],
    seen: tuple[Noted, Noted | None],
    within: tuple[float, str],
    tell: Callable[..., None],
    made: Mapping[str, set[str]],
) -> None:
    """Hold epochs of a stream against each other, and against one without workers."""
    given, again = seen
    until, root = within
    judges = given.workers > 1 and not about["resampled"]
    alone = None
    if judges or (not about["resampled"] and is_own_stream(loader, root)):
        with noting() as read:
            alone = run_alone(loader, given, until - time.monotonic(), tell, root)
    if alone is not None:
        dataset, left = vars(real_loader(loader))["dataset"], min(_DROPS, until - time.monotonic())
        over = archives_read(read, made, dataset, left, root)
        lost = {"left_behind": alone.left_behind, "dropped": alone.dropped, "archives": over}
        tell(more={name: to_wire(one) for name, one in lost.items()})
    noted = alone.noted if alone is not None and judges else None
    among = of_shards(own_attributes(real_loader(loader)).get("dataset"), given)
    if noted is not None:
        among = compare(loader, given, noted, until - time.monotonic()) or among
        if alone is not None and among is not None and not _is_sure(among, given, alone):
            among = None
    tell(more={"among": to_wire(among)})
    if again is not None and not about["resampled"]:
        tell(more={"always_first": _always_first(loader, (given, again), until)})
    if again is not None and not (judges and noted is None):
        left = until - time.monotonic()
        how = {"is_divided": among is None}
        tell(drawn=of_stream(loader, (given, again), noted, (left, root), **how))


def _always_first(loader: Any, epochs: tuple[Noted, Noted], until: float) -> int:
    with contextlib.suppress(Exception):  # the user's code, which is not asked for this by the job
        return always_first(loader, epochs, until - time.monotonic())
    return 0


def _is_sure(among: Among, given: Noted, alone: Alone) -> bool:
    """Whether it is no wonder of a stream that ends early, without workers and in each of them."""
    if alone.is_bounded:  # each has as much as there is without workers
        return are_all_alike(given)
    return not alone.ends_early or among.is_repeated or bool(among.again)


def _lacking(loader: Any, first: Epoch, about: Mapping[str, Any], root: str) -> dict[str, Any]:
    """Say which samples no batch has, of those that are asked for and of all others."""
    own = own_attributes(real_loader(loader))
    try:
        if first.rows is not None and first.rows < (about["takes"] or 0):
            return {"gives_none": gives_none(own)}
        never, sampler = never_asked_for(own, root)
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return {}
    at = to_wire(defined(type(sampler), root).at) if never else {}
    return {"never": never, "samples": len(own["dataset"]), "sampler": at} if never else {}


def _dropped(loader: Any, root: str, seconds: float, tell: Callable[..., None]) -> Dropped | None:
    try:
        return dropped(own_attributes(real_loader(loader)), root, seconds, tell)
    except Exception as error:  # the user's code, which is not asked for this by the job
        if is_our_line(error):
            raise
        return None


def _epoch(
    loader: Any,
    bounds: Bounds,
    tell: Callable[..., None],
    given: Noted | None,
    forms: set[object] | None = None,
) -> Any:
    """Run one epoch, as far as it is bounded; tell each batch that is made as none before it."""
    begun = came = told = time.monotonic()
    number, total, most = 0, 0, 0
    ended, is_counted, kind, columns = "over", True, None, None
    tell(at=0)
    for batch in theirs(iter)(loader):
        number += 1
        size = bounds.batch_size
        columns = _asked(sample_numbers.columns_of, batch, size) if number == 1 else columns
        held = _asked(sample_numbers.count, batch, size, columns)
        kind = kind or type(batch)
        is_counted = is_counted and held is not None and type(batch) is kind
        total, most = total + (held or 0), max(most, held or 0)
        if given is not None:
            given.take(batch)
        if forms is not None and len(forms) < _MOST_FORMS:
            made = structure_or_type(batch)
            form = (form_of(made), rows_agree(made))
            if form not in forms:
                forms.add(form)
                tell(form=to_wire(Form(number=number, batch=made)))
        del batch
        now = time.monotonic()
        came = now if number == 1 else came
        if number <= _TOLD or now - told > _EACH:
            tell(at=number)
            told = now
        if _is_too_long(now - begun, now - came, number, bounds):
            ended = "cut"
            break
        if number >= bounds.far_beyond():
            ended = "beyond"
            break
    return Epoch(batches=number, rows=total if is_counted else None, most_rows=most, ended=ended)


def _asked(count: Callable[..., int | None], batch: Any, *known: int | None) -> int | None:
    try:
        return count(batch, *known)
    except Exception:  # noqa: BLE001  a class of the user's may refuse to be asked
        return None


def _is_too_long(spent: float, behind: float, number: int, bounds: Bounds) -> bool:
    """Say whether the time is used up, or will not do.

    Of how long an epoch takes, only the time behind its first batch tells: before that, workers
    start. One of which nobody knows whether it ends is run for as long behind that.
    """
    if bounds.length is None:
        return behind > bounds.seconds
    likely = spent
    if behind > _JUDGED_AFTER:
        likely += behind / (number - 1) * (bounds.length - number)
    return max(spent, likely) > bounds.seconds
