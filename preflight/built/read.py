"""Makes a loader or a model with the user's own code, as rank 0 of the job, and looks at it."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from preflight.batches.facts import Drawn
from preflight.built.by_rank import ByRank
from preflight.built.drawn import Drawing, without_disproved, wrapped
from preflight.built.making import holders
from preflight.built.making.blame import (
    RaisedError,
    blaming,
    group_stood_in,
    made_on_cpu,
    unbuilt,
    unimportable,
)
from preflight.built.making.generators import is_batch
from preflight.built.making.job_code import NamedObject, attribute, imported, made, named
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked, CannotLookError
from preflight.kinds.at_work import shown_at_work
from preflight.loaders import sent as loader
from preflight.loaders.facts import Sent
from preflight.loaders.travel import travel
from preflight.loaders.workers.fresh import Surroundings
from preflight.loaders.wrappers import BatchSource
from preflight.models import read as model
from preflight.objects import eval_code
from preflight.objects.copying.refusing import is_module
from preflight.objects.paths import type_name
from preflight.objects.stand_in import StoodIn
from preflight.ranks.made.facts import RankBatches, RankOrder
from preflight.users_code.facts import GivesBatches
from preflight.users_code.frames import own_sources
from preflight.users_code.importing import (
    files_of_workers,
    import_torch,
)
from preflight.users_code.shadowing import shadowed
from preflight.values.code_name import Spec, command_for

# Facts that are made of what is sent: how many samples there are to divide stands there, too.
_OF_SENT = {"Sent", "WorldFacts"}


def look(asked: Asked) -> list[Facts]:
    """Make what was named; give `Sent` and `Loaded` of each loader, `Copied` of each model in it.

    What the user's code raises becomes `Unbuilt`.

    Raises:
        CannotLookError: torch is missing, the import would start the training, or what was made is
            neither a loader nor a model.
        MistypedError: the module or the name does not exist.
    """
    its = named(asked.wire, asked.options, asked.step)
    by_rank = ByRank(asked, its, os.getcwd())
    drawing = Drawing(asked, its, os.getcwd())
    try:
        return _look(asked, drawing, by_rank)
    finally:
        drawing.close()
        by_rank.close()


def _look(asked: Asked, drawing: Drawing, by_rank: ByRank) -> list[Facts]:
    options, step, its = asked.options, asked.step, drawing.its
    built, spec, root = its.built, its.spec, options["root"]
    factory: object = None
    with step("import torch"), shown_at_work(asked.alive):
        import_torch()
    shadow = shadowed(spec, root, options["timeout"])
    if shadow is not None:
        return [unimportable(built, shadow, root)]
    by_rank.begin()
    eval_code.listen()
    stood_in = StoodIn()
    try:
        path = list(sys.path)
        drawing.watch_for_threads()
        module = imported(its, stood_in)
        factory = attribute(module, spec)
        drawing.begin(factory, stood_in)
        thing = made(its, factory, stood_in)
        around = Surroundings(
            timeout=options["timeout"],
            alive=asked.alive,
            step=step,
            path=list(sys.path),
            files=files_of_workers(spec),
            modules=[module.__name__],
        )
        # We import late, also what the user's code has taken off the path.
        sys.path += [folder for folder in path if folder not in sys.path]
        with step(f"look at {spec.name}"), blaming("look", options["root"]):
            look_at = functools.partial(_look_at_one, its, factory, around, drawing)
            found = holders.walk(built.spec, thing, look_at)
    except RaisedError as raised:
        return [unbuilt(built, raised, root, factory, stood_in)]
    if found is None:
        raise _neither(spec, module, thing)
    del thing
    found = without_disproved([*found, *drawing.draw(found)])
    drawing.close()
    ends = [not one.endless for one in found if isinstance(one, Sent)]
    late = _late(found, drawing.streams)
    if by_rank.is_wanted:
        found += _unranked(late, options)
    names = [one for one in drawing.names if one not in (*drawing.around, *late)]
    found += by_rank.facts(names, have_ends=any(ends) or not ends)
    found += group_stood_in(built.spec, root)
    if stood_in.frames is None:
        return found
    return [*map(_with_cuda, found), made_on_cpu(built.spec, stood_in, root)]


def _late(found: Iterable[Facts], streams: Collection[str]) -> list[str]:
    """Name the streams that gave no batch in time: a rank that runs one would wait as long."""
    drawn = [one.first for one in found if isinstance(one, Drawn) and one.first.name in streams]
    return [one.name for one in drawn if one.ended == "stuck" and not one.batches]


def _unranked(names: Iterable[str], options: Mapping[str, Any]) -> Iterator[Facts]:
    """Say of these that no rank runs them, and why."""
    for name in names:
        reason = f"{name} gave no batch in {options['timeout']:g} s, and was not run by ranks"
        if "RankBatches" in options["wants"]:
            yield RankBatches(name=name, reason=reason)
        if "RankOrder" in options["wants"]:
            yield RankOrder(name=name, reason=reason)


def _with_cuda(facts: Facts) -> Facts:
    """Have a worker inherit CUDA, as in the job, which would have started it."""
    if not isinstance(facts, Sent) or facts.inherited is None:
        return facts
    return replace(facts, inherited=facts.inherited._replace(cuda=True))


def _neither(spec: Spec, module: ModuleType, made: object) -> CannotLookError:
    """Say what was made in place of a loader or a model, and what to name."""
    gave = "None" if made is None else f"an object of type {type_name(type(made))}"
    better = _better_name(spec, module)
    if isinstance(made, Iterator):
        reason = f"it gave an iterator, {gave}, and not the loader that it takes its batches from"
        fix = "Name what gives the DataLoader itself"
        return CannotLookError(reason, fix=f"{fix}, maybe:  {better}" if better else f"{fix}.")
    if is_batch(made) and not spec.pick:
        return CannotLookError(
            f"it gave {gave} of samples: one batch, or all the data that there is",
            fix="Where it gives one batch each time it is called, say so:  "
            + command_for(f"loader={spec.home}:{spec.name}"),
        )
    fix = "Name what gives a DataLoader, a Dataset or an nn.Module"
    fix += f", maybe:  {better}" if better else ", or the part of it that is one."
    return CannotLookError(f"it gave {gave}, which is neither a loader nor a model", fix=fix)


def _better_name(spec: Spec, module: ModuleType) -> str | None:
    """Give a command that names a loader of the same module; by its name where it is a function."""
    for name, thing in vars(module).items():
        if loader.is_loader(thing) or (
            inspect.isfunction(thing)
            and thing.__module__ == module.__name__
            and "loader" in name.lower()
            and name != spec.name
            and not inspect.isgeneratorfunction(thing)
            and all(one.default is not one.empty for one in _parameters(thing))
        ):
            return f"preflight run {spec.home}:{name}"
    return None


def _parameters(function: Callable[..., object]) -> list[inspect.Parameter]:
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        one for one in inspect.signature(function).parameters.values() if one.kind not in starred
    ]


def _look_at_one(
    its: NamedObject,
    factory: object,
    around: Surroundings,
    drawing: Drawing,
    name: str,
    thing: object,
) -> list[Facts] | None:
    """Give the facts of a model or a loader, of which the name is noted; None of anything else."""
    built, options = its.built, its.options
    wants, root = options["wants"], options["root"]
    if is_module(thing) and built.kind != "loader":
        if "Copied" not in wants:
            return []
        sources = own_sources(root)
        return [model.copy_model(thing, name=name, root=root, factory=factory, sources=sources)]
    if built.kind == "model":
        return None
    if loader.is_dataset(thing):
        thing = wrapped(thing, options)
    if not loader.is_loader(thing):
        return None
    drawing.note(name, thing)
    if isinstance(thing, BatchSource):
        if thing.taken_from:
            drawing.around.add(name)
            return []
        return [GivesBatches(name=name, what=thing.what)]
    known = loader.Known(name, root, factory, options["num_workers"], options["start_method"])
    told = loader.reads_of(thing, known)
    if "Loaded" in wants:
        sent, loaded = travel(thing, known, around)
        return [*told, sent, loaded] if _OF_SENT & {*wants} else [*told, loaded]
    return [*told, *([loader.walk_loader(thing, known)] if _OF_SENT & {*wants} else [])]
