"""Makes a loader or a model with the user's own code, as rank 0 of the job, and looks at it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from preflight.built import holders
from preflight.built.blame import (
    RaisedError,
    blaming,
    blaming_users,
    is_users,
    made_on_cpu,
    said_by,
    unbuilt,
)
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.loaders import sent as loader
from preflight.loaders.facts import Sent
from preflight.loaders.travel import travel
from preflight.loaders.workers import Surroundings
from preflight.models import read as model
from preflight.objects import evaluated, where
from preflight.objects.paths import type_name
from preflight.objects.stand_in import StoodIn, in_place_of_cuda
from preflight.pipelines.lines import Lines
from preflight.pipelines.live import reads
from preflight.targets.targets import BUILT, Built
from preflight.users_code.importing import (
    files_of_workers,
    import_named,
    import_torch,
    join_world,
    refuse_unguarded,
)
from preflight.users_code.lacking import sees_gpu
from preflight.values.code_name import Spec, Step, parse_pick, parse_spec, write_pick
from preflight.values.wire import from_exact, from_wire

# What holds loaders may be held itself; more is nobody's code.
_DEEPEST = 3

# As Python says it of a function, or of the class whose `__init__` it is.
_LACKS = re.compile(
    r"(?:[\w.<>]*\.)?(?!__)(\w+?)(?:\.__(?:init|new|call)__)?\(\) "
    r"(missing \d+ required (?:positional|keyword-only) arguments?: .+)"
)


def look(asked: Asked) -> list[Facts]:
    """Make what was named; give `Sent` and `Loaded` of each loader, `Copied` of each model in it.

    What the user's code raises becomes `Unbuilt`.

    Raises:
        CannotLookError: torch is missing, the import would start the training, or what was made is
            neither a loader nor a model.
        MistypedError: the module or the name does not exist.
    """
    plain = dict(asked.wire)
    kind, args, kwargs = plain.pop("kind"), plain.pop("args"), plain.pop("kwargs")
    bare = from_wire(BUILT[kind], plain)
    built = replace(bare, args=tuple(from_exact(args)), kwargs=from_exact(kwargs))
    options, step = asked.options, asked.step
    spec = parse_spec(built.spec)
    if spec is None:
        raise MistypedError(f"{built.spec} is no module:name and no file.py:name")
    root = options["root"]
    factory: object = None
    with step("import torch"):
        import_torch()
    evaluated.listen()
    stood_in = StoodIn()
    try:
        if options["ranks"] > 1:
            with step("make the process group"):
                join_world(options["ranks"], options["nodes"])
        if not options["import_anyway"]:
            refuse_unguarded(spec, root)
        path = list(sys.path)
        with _on_what_is_here(stood_in, options):
            with step(f"import {spec.home}"), blaming("import"):
                module = import_named(spec)
            factory = _attribute(module, spec)
            with step(f"call {spec.name}"), blaming("call"):
                made = _call(factory, built)
            made = _pick(made, spec.pick + (parse_pick(built.pick or "") or ()), built)
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
        with step(f"look at {spec.name}"), blaming_users(options["root"]):
            look_at = functools.partial(_look_at_one, built, factory, options, around)
            found = _look_at_parts(built.spec, made, look_at)
    except RaisedError as raised:
        return [unbuilt(built, raised, root, factory, stood_in)]
    if found is None:
        raise _neither(spec, module, made)
    if stood_in.frames is None:
        return found
    return [*map(_with_cuda, found), made_on_cpu(built.spec, stood_in, root)]


def _on_what_is_here(
    stood_in: StoodIn, options: Mapping[str, Any]
) -> contextlib.AbstractContextManager[None]:
    """Have the CPU stand in for a GPU, where the job runs on another machine and none is here."""
    alone = options["elsewhere"] and not sees_gpu()
    return in_place_of_cuda(stood_in) if alone else contextlib.nullcontext()


def _with_cuda(facts: Facts) -> Facts:
    """Have a worker inherit CUDA, as in the job, which would have started it."""
    if not isinstance(facts, Sent) or facts.inherited is None:
        return facts
    return replace(facts, inherited=replace(facts.inherited, cuda=True))


def _attribute(module: ModuleType, spec: Spec) -> object:
    with blaming("import"):
        try:
            return getattr(module, spec.name)
        except AttributeError as error:
            raise MistypedError(_no_such_name(module, spec)) from error


def _no_such_name(module: ModuleType, spec: Spec) -> str:
    import difflib

    near = difflib.get_close_matches(spec.name, vars(module), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{spec.home} has no {spec.name}{hint}"


def _call(thing: object, built: Built) -> object:
    """Call functions, partials and classes; take everything else as it is."""
    if not (isinstance(thing, (type, functools.partial)) or inspect.isroutine(thing)):
        return thing
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):  # some things made in C have none
        return thing(*built.args, **built.kwargs)
    try:
        signature.bind(*built.args, **built.kwargs)
    except TypeError as error:
        raise _lacks_arguments(thing, built, str(error)) from error
    try:
        return thing(*built.args, **built.kwargs)
    except TypeError as error:
        lacks = _LACKS.fullmatch(str(error))  # behind a wrapper that takes `*args, **kwargs`
        if lacks is not None and lacks[1] in (getattr(thing, "__name__", ""), _last_of(built)):
            raise _lacks_arguments(thing, built, lacks[2]) from error
        raise


def _lacks_arguments(thing: object, built: Built, said: str) -> CannotLookError:
    named = "model" in _last_of(built).lower()
    is_module = any(base.__name__ == "Module" for base in getattr(thing, "__mro__", ()))
    table = built.kind or ("model" if named or is_module else "loader")
    return CannotLookError(
        f"{built.spec} cannot be called with what is known: {said}",
        fix=f"Give its arguments in preflight.toml:  {table} = [{{ call = "
        f'"{built.spec}", kwargs = {{ … }} }}]',
    )


def _last_of(built: Built) -> str:
    return built.spec.rpartition(":")[2]


def _pick(made: Any, steps: tuple[Step, ...], built: Built) -> object:
    for kind, key in steps:
        holders.ready(made)
        with blaming("pick"):
            try:
                if isinstance(made, types.GeneratorType):
                    made = holders.variables_of(made)[str(key)]
                else:
                    made = getattr(made, str(key)) if kind == "attr" else made[key]
            except (AttributeError, LookupError, TypeError) as error:
                part = write_pick(((kind, key),))
                raise MistypedError(
                    f"{built.spec}: what it gives has no part {part}: {said_by(error)}"
                ) from error
        made = holders.called(made)
    return made


def _look_at_parts(
    name: str, made: object, look_at: Callable[[str, object], list[Facts] | None], depth: int = 0
) -> list[Facts] | None:
    """Look at what was made, or at the loaders and models that it holds; None: there are none."""
    found = look_at(name, made)
    if found is not None or depth > _DEEPEST:
        return found
    looks = [
        _look_at_parts(name + write_pick(steps), part, look_at, depth + 1)
        for steps, part in holders.parts_of(made)
    ]
    known = [one for one in looks if one is not None]
    return [facts for one in known for facts in one] if known else None


def _neither(spec: Spec, module: ModuleType, made: object) -> CannotLookError:
    """Say what was made in place of a loader or a model, and what to name."""
    gave = "None" if made is None else f"an object of type {type_name(type(made))}"
    better = _better_name(spec, module)
    if isinstance(made, Iterator):
        begun = "a generator" if isinstance(made, types.GeneratorType) else f"an iterator, {gave},"
        reason = f"it gave {begun} that gives batches, and not the loader that it takes them from"
        fix = "Name what gives the DataLoader itself"
        return CannotLookError(reason, fix=f"{fix}, maybe:  {better}" if better else f"{fix}.")
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
    built: Built,
    factory: object,
    options: Mapping[str, Any],
    around: Surroundings,
    name: str,
    thing: object,
) -> list[Facts] | None:
    """Give the facts of a model or a loader; None of anything else."""
    wants, root = options["wants"], options["root"]
    if model.is_model(thing) and built.kind != "loader":
        if "Copied" not in wants:
            return []
        sources = _own_sources(root)
        return [model.copy_model(thing, name=name, root=root, factory=factory, sources=sources)]
    if built.kind == "model":
        return None
    if loader.is_dataset(thing):
        thing = _wrapped(thing, options)
    if not loader.is_loader(thing):
        return None
    known = loader.Known(name, root, factory, options["num_workers"], options["start_method"])
    told = reads_of(thing, known)
    if "Loaded" in wants:
        sent, loaded = travel(thing, known, around)
        return [*told, sent, loaded] if "Sent" in wants else [*told, loaded]
    return [*told, *([loader.walk_loader(thing, known)] if "Sent" in wants else [])]


def reads_of(thing: object, known: loader.Known) -> list[Facts]:
    """Say what a loader reads, where it says so itself."""
    made = where.defined(known.factory, known.root).at
    found = reads(thing, known.name, made, Lines(made, known.root, _own_sources(known.root)))
    return [] if found is None else [found]


def _wrapped(dataset: Any, options: Mapping[str, Any]) -> object:
    """Wrap a bare data set as the job would: its batch size, its workers (by default one)."""
    from torch.utils.data import DataLoader

    workers = options["num_workers"]
    return DataLoader(
        dataset,
        batch_size=options["batch_size"] or 1,
        num_workers=1 if workers is None else workers,
    )


def _own_sources(root: str) -> list[str]:
    """Files of the job's own modules that are imported by now."""
    base = os.path.abspath(root) + os.sep
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    known = {os.path.abspath(file) for file in files if isinstance(file, str)}
    return sorted(file for file in known if is_users(file, base))
