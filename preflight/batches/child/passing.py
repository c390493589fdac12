"""Runs in a process of its own: runs a loader past its end, and into a second epoch."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from preflight.batches.child import repeated_draws
from preflight.batches.child.about_loader import about_loader
from preflight.batches.child.batching import batching_of
from preflight.batches.child.between_workers import (
    Noted,
    are_all_alike,
    compare,
    of_shards,
    repeated_so_far,
)
from preflight.batches.child.drawing import Drawable, raised
from preflight.batches.child.epoch_cut import always_first
from preflight.batches.child.epoch_draws import of_stream
from preflight.batches.child.one_epoch import Batching, Bounds, run_epoch
from preflight.batches.child.parcels import Heaviest
from preflight.batches.child.second_loop import used_up
from preflight.batches.child.without_workers import Alone, is_own_stream, run_alone
from preflight.batches.pass_facts import Among, Epoch
from preflight.batches.tracebacks import in_worker
from preflight.epochs.archives_read import archives_read, by_index, noting
from preflight.epochs.dropped import dropped
from preflight.epochs.facts import Dropped, LostBatches, SameOrder
from preflight.epochs.never_taken import never_taken
from preflight.epochs.reseeded import MarkedEpoch, reseeded
from preflight.epochs.taken_batches import TakenBatches
from preflight.flow.fitted import Fitted, fit
from preflight.loaders.epoch import gives_none, length_of
from preflight.loaders.wrappers import BatchSource, layers_of, makes_its_own, real_loader
from preflight.objects.attributes import own_attributes
from preflight.objects.facts import Definition
from preflight.objects.where import defined
from preflight.secrets.exception_text import hidden_of
from preflight.users_code.frames import said_by, user_frames
from preflight.values.own_files import is_our_line
from preflight.values.wire import to_wire

# Seconds in which it is looked for samples that a collate function drops.
_DROPS = 5.0

_NOTHING: Mapping[str, set[str]] = {}


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
        batching = batching_of(one.loader)  # before anything in it counts
        fitted = fit(one.loader, one.about["defined"], where[0]) if order["counts"] else None
        kept = made if len(those) == 1 else {}
        run(one.loader, one.about["num_workers"], seconds, tell, where, batching, fitted, kept)


def run(
    loader: Any,
    workers: int,
    seconds: float,
    tell: Callable[..., None],
    where: tuple[str, Sequence[str]],
    batching: Batching,
    fitted: Fitted | None = None,
    made: Mapping[str, set[str]] = _NOTHING,
) -> None:
    """Run a loader for two epochs, if time allows, and tell how each ended.

    What its stages count is that of the first. `made` is what was read of archives while it was
    made.
    """
    about = about_loader(loader)
    bounds = Bounds(seconds, about["length"], workers, batching)
    begun = time.monotonic()
    tell(whole=about)
    if fitted is not None:
        tell(flow=fitted.about)
    given, again = (
        Noted(max(workers, 1), about["batch_size"]) if about["is_iterable"] else None
        for _ in range(2)
    )
    marked, marked_again = MarkedEpoch(), MarkedEpoch()
    try:
        first = _first_epoch(loader, bounds, tell, marked if given is None else given, where[0])
        if fitted is not None:
            tell(counts=fitted.counts())
        tell(epoch=to_wire(first))
        if first.ended == "cut":
            tell(more=_so_far(loader, first, about, given, where[0]))
        if first.ended != "over" or _is_used_up(loader, tell):
            return
        left = seconds - (time.monotonic() - begun)
        second = bounds._replace(seconds=left if given is None else left / 2)
        other = run_epoch(loader, second, tell, [(again or marked_again).take])
        tell(epoch=to_wire(other))
        is_same = other.ended == "over" and marked.begins_as(marked_again)
        tell(more=_lacking(loader, first, about, where[0], is_same=is_same))
        if given is None and other.ended == "over" and not about["resumes"]:
            tell(alike=to_wire(_reseeded(loader, marked, marked_again, where[0])))
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


def _is_used_up(loader: Any, tell: Callable[..., None]) -> bool:
    """Tell whether its iterator is used up, and say whether there is no other one."""
    tell(more=used_up(loader))
    return own_attributes(loader).get("once") is True


def _first_epoch(
    loader: Any,
    bounds: Bounds,
    tell: Callable[..., None],
    noted: Noted | MarkedEpoch,
    root: str,
) -> Epoch:
    """Run the first epoch, and say which batches are lost on the way."""
    inner = [real_loader(loader)] if makes_its_own(loader) else []
    inner = inner or own_attributes(loader).get("taken_from", [])
    if not inner:
        return _weighed(loader, bounds, tell, noted)
    taken = TakenBatches(loader, inner[0])
    with taken.noting():
        noting = [noted.take, taken.give]
        first = run_epoch(loader, bounds, tell, noting, set(), taken.goes_round)
    if first.ended == "over":
        is_ours = isinstance(loader, BatchSource)
        at = Definition() if is_ours else defined(type(loader), root, if_own=True).at
        lost = _swallowed(taken, length_of(inner[0]), root) or taken.lost(at)
        tell(more={"lost": to_wire(lost)})
    return first


def _weighed(
    loader: Any, bounds: Bounds, tell: Callable[..., None], noted: Noted | MarkedEpoch
) -> Epoch:
    """Run the first epoch, and say how much its batches take on their way from workers."""
    if not bounds.num_workers:
        return run_epoch(loader, bounds, tell, [noted.take], forms=set())
    heaviest = Heaviest(loader, bounds.num_workers)
    try:
        return run_epoch(loader, bounds, tell, [noted.take, heaviest.take], forms=set())
    finally:
        tell(more=heaviest.told())


def _swallowed(taken: TakenBatches, length: int | None, root: str) -> LostBatches | None:
    """Say that a DataLoader raised before its end, and the loop over what is around it did not."""
    error, came = taken.error, taken.number
    if error is None or came is None or length is None or came >= length:
        return None
    inner = in_worker(error)
    trace = traceback.extract_tb(error.__traceback__) if inner is None else inner.calls
    frames = user_frames(trace, root)
    at = Definition(frames[-1].file, frames[-1].line) if frames else Definition()
    said = hidden_of(said_by(error) if inner is None else inner.error, error)
    return LostBatches(number=length - came, taken=length, first=came + 1, at=at, error=said)


def _so_far(
    loader: Any, first: Epoch, about: Mapping[str, Any], given: Noted | None, root: str
) -> dict[str, Any]:
    """Say what is known of an epoch that was cut off."""
    if given is None:
        return _lacking(loader, first, about, root, is_same=False)
    return {} if about["resampled"] else {"among": to_wire(repeated_so_far(loader, given))}


def _reseeded(loader: Any, one: MarkedEpoch, other: MarkedEpoch, root: str) -> SameOrder | None:
    with contextlib.suppress(Exception):  # the user's code, which is not asked for this by the job
        return reseeded([*layers_of(loader)], one, other, root)
    return None


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


def _lacking(
    loader: Any, first: Epoch, about: Mapping[str, Any], root: str, *, is_same: bool
) -> dict[str, Any]:
    """Say which samples no batch has, of those that are asked for and of all others.

    What is cut leaves out what lies behind the cut only if the next epoch begins as it did.
    """
    own = own_attributes(real_loader(loader))
    try:
        is_over = first.ended == "over"
        if is_over and first.rows is not None and first.rows < (about["takes"] or 0):
            return {"gives_none": gives_none(own)}
        rows = first.rows if is_same else None
        never = never_taken(own, length_of(own.get("dataset")) or 0, root, rows)
    except Exception:  # noqa: BLE001  the user's code, which is not asked for this by the job
        return {}
    if never is None:
        return {}
    at = to_wire(defined(type(never.sampler), root).at)
    how = {"is_rest": never.is_rest, "cut_at": never.cut_at}
    told = {"never": never.number, **how, "sampler": at}
    return {**told, "samples": len(own["dataset"])}


def _dropped(loader: Any, root: str, seconds: float, tell: Callable[..., None]) -> Dropped | None:
    try:
        return dropped(own_attributes(real_loader(loader)), root, seconds, tell)
    except Exception as error:  # the user's code, which is not asked for this by the job
        if is_our_line(error):
            raise
        return None
