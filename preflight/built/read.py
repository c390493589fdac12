"""Makes a loader or a model with the user's own code, as rank 0 of the job, and looks at it."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from preflight.built.blame import RaisedError, blaming, blaming_users, is_users, said_by, unbuilt
from preflight.findings.check import Facts
from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.loaders import sent as loader
from preflight.loaders.travel import travel
from preflight.loaders.workers import Surroundings
from preflight.models import read as model
from preflight.objects.paths import type_name
from preflight.targets.targets import BUILT, Built
from preflight.users_code.importing import (
    files_of_workers,
    import_named,
    import_torch,
    join_world,
    refuse_unguarded,
)
from preflight.values.code_name import Spec, Step, parse_pick, parse_spec, write_pick
from preflight.values.wire import from_exact, from_wire


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
    try:
        if options["ranks"] > 1:
            with step("make the process group"):
                join_world(options["ranks"], options["nodes"])
        if not options["import_anyway"]:
            refuse_unguarded(spec, root)
        path = list(sys.path)
        with step(f"import {spec.home}"), blaming("import"):
            module = import_named(spec)
        factory = _attribute(module, spec)
        with step(f"call {spec.name}"), blaming("call"):
            made = _call(factory, built)
        made = _pick(made, spec.pick + (parse_pick(built.pick or "") or ()), built)
        around = Surroundings(
            timeout=options["timeout"],
            alive=asked.alive,
            path=list(sys.path),
            files=files_of_workers(spec),
            modules=[module.__name__],
        )
        # We import late, also what the user's code has taken off the path.
        sys.path += [folder for folder in path if folder not in sys.path]
        with step(f"look at {spec.name}"), blaming_users(options["root"]):
            look_at = functools.partial(_look_at_one, built, factory, options, around)
            return _look_at_parts(built, made, look_at)
    except RaisedError as raised:
        return [unbuilt(built, raised, root, factory)]


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
        table = built.kind or "loader"
        raise CannotLookError(
            f"{built.spec} cannot be called with what is known: {error}",
            fix=f"Give its arguments in preflight.toml:  {table} = [{{ call = "
            f'"{built.spec}", kwargs = {{ … }} }}]',
        ) from error
    return thing(*built.args, **built.kwargs)


def _pick(made: Any, steps: tuple[Step, ...], built: Built) -> object:
    for kind, key in steps:
        with blaming("pick"):
            try:
                made = getattr(made, str(key)) if kind == "attr" else made[key]
            except (AttributeError, LookupError, TypeError) as error:
                part = write_pick(((kind, key),))
                raise MistypedError(
                    f"{built.spec}: what it gives has no part {part}: {said_by(error)}"
                ) from error
    return made


def _look_at_parts(
    built: Built, made: object, look_at: Callable[[str, object], list[Facts] | None]
) -> list[Facts]:
    """Look at what was made; a tuple, list, dict or dataclass is taken apart one level."""
    found = look_at(built.spec, made)
    if found is not None:
        return found
    parts = _parts(made)
    looks = [look_at(built.spec + write_pick((step,)), part) for step, part in parts]
    known = [one for one in looks if one is not None]
    if not known:
        raise _neither(built, made)
    return [facts for one in known for facts in one]


def _neither(built: Built, made: object) -> CannotLookError:
    gave = "None" if made is None else f"an object of type {type_name(type(made))}"
    if type(made).__qualname__ == "CombinedLoader":
        return CannotLookError(
            f"it gave {gave}, which this version does not look into",
            fix="Name what gives the DataLoaders that it combines, in a tuple, list or dict.",
        )
    return CannotLookError(
        f"it gave {gave}, which is neither a loader nor a model",
        fix="Name what gives a DataLoader, a Dataset or an nn.Module, or the part of it that is "
        f"one, such as  {built.spec}[0]",
    )


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
    if "Loaded" in wants:
        sent, loaded = travel(thing, known, around)
        return [sent, loaded] if "Sent" in wants else [loaded]
    return [loader.walk_loader(thing, known)] if "Sent" in wants else []


def _wrapped(dataset: Any, options: Mapping[str, Any]) -> object:
    """Wrap a bare data set as the job would: its batch size, its workers (by default one)."""
    from torch.utils.data import DataLoader

    workers = options["num_workers"]
    return DataLoader(
        dataset,
        batch_size=options["batch_size"] or 1,
        num_workers=1 if workers is None else workers,
    )


def _parts(made: object) -> Iterator[tuple[Step, object]]:
    if isinstance(made, (tuple, list)):
        names = getattr(type(made), "_fields", None)
        for index, part in enumerate(made):
            yield (("attr", names[index]) if names else ("item", index)), part
    elif isinstance(made, dict):
        for key, part in made.items():
            yield ("item", key if isinstance(key, int) else str(key)), part
    elif dataclasses.is_dataclass(made) and not isinstance(made, type):
        for field in dataclasses.fields(made):
            yield ("attr", field.name), getattr(made, field.name, None)


def _own_sources(root: str) -> list[str]:
    """Files of the job's own modules that are imported by now."""
    base = os.path.abspath(root) + os.sep
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    known = {os.path.abspath(file) for file in files if isinstance(file, str)}
    return sorted(file for file in known if is_users(file, base))
