"""Says what a job takes the batches of a loader for: by its settings, or by loops in sources."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

from preflight.batches.facts import FirstBatches, TakenFor
from preflight.batches.pass_facts import AgainIn, RandomDraws, WholePass
from preflight.findings.finding import Location
from preflight.kinds.target import Target
from preflight.settings.job import Job
from preflight.sources.flaws.facts import BatchLoop
from preflight.targets.targets import Built
from preflight.values.code_name import Spec, parse_pick, parse_spec, write_pick

# A loop that takes nothing apart.
_WHOLE = "batch"


def taken_for(
    first: FirstBatches, target: Target, loops: Iterable[BatchLoop], job: Job
) -> tuple[TakenFor, ...]:
    """Give what is said of one loader.

    The settings overrule what was read of how it is taken apart; what loops do with its parts is
    known from them alone.
    """
    if not isinstance(target, Built):
        return ()
    said = tuple(_said(target, job))
    spec = parse_spec(first.name)
    if spec is None:
        return said
    found = [_of_loop(one) for one in loops if _is_over(one, first, spec, target)]
    whole = parse_spec(first.combined.name) if first.combined is not None else None
    if whole is not None:
        over = (one for one in loops if _is_over(one, first, whole, target))
        found += [_of_loop(one)._replace(is_combined=True) for one in over]
    if said:
        found = [*said, *(one._replace(takes=_WHOLE) for one in found if one.uses or one.again)]
    return tuple(dict.fromkeys(found))


def untold_epochs(draws: RandomDraws | None, taken: Iterable[TakenFor]) -> RandomDraws | None:
    """Leave it to a loop to tell a sampler the epoch, unless one is known that does not."""
    order = None if draws is None else draws.order
    if draws is None or order is None or not order.waits_at or order.is_unheard:
        return draws
    loop = next((one for one in taken if one.is_in_epochs), None)
    if loop is None:
        return replace(draws, order=None)
    return replace(draws, loop=Location(file=loop.file, line=loop.line, name=draws.name))


def gone_over_again(whole: WholePass | None, taken: Iterable[TakenFor]) -> WholePass | None:
    """Say where a job goes over an iterator again that was used up by then."""
    if whole is None or not whole.is_past_the_end or not whole.epochs[0].batches:
        return whole
    for one in taken:
        is_it = whole.is_one or (whole.gives_iterators and one.is_iterator)
        if one.again and is_it and not one.is_combined:
            file, _, line = one.again.rpartition(":")
            batches = Location(file=one.file, line=one.line)
            rounds = Location(file=file, line=int(line))
            return replace(whole, again=AgainIn(batches, rounds, one.is_sure))
    return whole


def _of_loop(loop: BatchLoop) -> TakenFor:
    return TakenFor(
        takes=loop.takes,
        file=loop.file,
        line=loop.line,
        is_sure=loop.is_sure,
        asks=loop.asks,
        uses=loop.uses,
        is_in_epochs=loop.is_in_epochs,
        again=loop.again,
        is_iterator=loop.is_iterator,
    )


def _said(target: Built, job: Job) -> Iterator[TakenFor]:
    for index, factory in enumerate(job.loader):
        is_it = (factory.call, factory.name, factory.pick) == (
            target.spec,
            target.name,
            target.pick,
        )
        same = factory.args == target.args and dict(factory.kwargs) == dict(target.kwargs)
        if is_it and same and factory.unpack is not None:
            file, line = job.origin(f"loader.{index}.unpack")
            yield TakenFor(takes=factory.unpack, file=file, line=line, by="settings")


def _is_over(loop: BatchLoop, first: FirstBatches, spec: Spec, target: Built) -> bool:
    """Whether a loop is over this loader, and not over one that is made in another way."""
    named, picked = parse_spec(target.spec), parse_pick(target.pick or "")
    before = len(named.pick) if named is not None else 0
    pick = (*spec.pick[:before], *(picked or ()), *spec.pick[before:])
    if loop.maker != spec.name or loop.pick != write_pick(pick):
        return False
    return _same_home(loop, first, spec) and _same_words(loop.given, target)


def _same_home(loop: BatchLoop, first: FirstBatches, spec: Spec) -> bool:
    home = spec.file or f"{(spec.module or '').replace('.', '/')}.py"
    files = {
        one.replace(os.sep, "/").removeprefix("./") for one in (home, first.defined.file) if one
    }
    if not loop.module:
        return any(_ends(loop.file, one) or _ends(one, loop.file) for one in files)
    end = loop.module.removeprefix("./")
    return any(_ends(one, f"{end}.py") or _ends(one, f"{end}/__init__.py") for one in files)


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith(f"/{end}")


def _same_words(given: str | None, target: Built) -> bool:
    """Whether a call may be the one that was looked at: nothing that is written out differs."""
    if given is None or not (given or target.args or target.kwargs):
        return True
    try:
        call = ast.parse(f"f({given})", mode="eval").body
    except SyntaxError:
        return False
    assert isinstance(call, ast.Call)  # noqa: S101  for the type checker
    words = {one.arg: one.value for one in call.keywords if one.arg is not None}
    by_place = zip(call.args, target.args, strict=False)
    by_name = [
        (value, target.kwargs[name]) for name, value in words.items() if name in target.kwargs
    ]
    if any(_differs(one, other) for one, other in (*by_place, *by_name)):
        return False
    more = [
        *call.args[len(target.args) :],
        *(v for k, v in words.items() if k not in target.kwargs),
    ]
    return not any(isinstance(one, ast.Constant) for one in more)


def _differs(node: ast.expr, value: object) -> bool:
    try:
        return bool(ast.literal_eval(node) != value)
    except (ValueError, TypeError):
        return False
