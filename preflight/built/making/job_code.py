"""Has the user's own code make what was named, as rank 0 of the job."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from types import ModuleType
from typing import Any, NamedTuple

from preflight.built.making import generators, holders
from preflight.built.making.blame import blaming
from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.objects.stand_in import StoodIn, in_place_of_cuda
from preflight.targets.targets import BUILT, Built
from preflight.users_code.frames import said_by
from preflight.users_code.gpu_here import sees_gpu
from preflight.users_code.importing import (
    import_named,
    join_world,
    refuse_unguarded,
)
from preflight.values.code_name import Spec, Step, parse_pick, parse_spec, write_pick
from preflight.values.names import nearest
from preflight.values.own_files import passes_on
from preflight.values.wire import from_exact, from_wire

# As Python says it of a function, or of the class whose `__init__` it is.
_LACKS = re.compile(
    r"(?:[\w.<>]*\.)?(?!__)(\w+?)(?:\.__(?:init|new|call)__)?\(\) "
    r"(missing \d+ required (?:positional|keyword-only) arguments?: .+)"
)


class NamedObject(NamedTuple):
    """What was named, and how the job wants it."""

    built: Built
    spec: Spec
    options: Mapping[str, Any]
    step: Callable[[str], AbstractContextManager[None]]


def unsaid(_: str) -> AbstractContextManager[None]:
    """Say nothing of a step."""
    return contextlib.nullcontext()


def named(
    wire: Mapping[str, Any],
    options: Mapping[str, Any],
    step: Callable[[str], AbstractContextManager[None]] = unsaid,
) -> NamedObject:
    """Understand what was asked.

    Raises:
        MistypedError: it is no name.
    """
    plain = dict(wire)
    kind, args, kwargs = plain.pop("kind"), plain.pop("args"), plain.pop("kwargs")
    plain.pop("scripts", None)
    bare = from_wire(BUILT[kind], plain)
    built = replace(bare, args=tuple(from_exact(args)), kwargs=from_exact(kwargs))
    spec = parse_spec(built.spec)
    if spec is None:
        raise MistypedError(f"{built.spec} is no module:name and no file.py:name")
    return NamedObject(built, spec, options, step)


def imported(asked: NamedObject, stood_in: StoodIn) -> ModuleType:
    """Import the module, where that does not start the training."""
    options, spec, step = asked.options, asked.spec, asked.step
    if options["ranks"] > 1:
        with step("make the process group"):
            join_world(options["ranks"], options["nodes"])
    if not options["import_anyway"]:
        refuse_unguarded(spec, options["root"])
    with _on_what_is_here(stood_in, options), step(f"import {spec.home}"), blaming("import"):
        return import_named(spec)


def made(asked: NamedObject, factory: object, stood_in: StoodIn) -> object:
    """Call the factory, and give what was picked of what it gave; of batches, their source."""
    built, spec = asked.built, asked.spec
    pick = spec.pick + (parse_pick(built.pick or "") or ())
    with _on_what_is_here(stood_in, asked.options):
        with asked.step(f"call {spec.name}"):
            with blaming("call"):
                given = _call(factory, built)
            first = generators.begun(given)
        with blaming("look", asked.options["root"]):
            if pick or built.kind == "model":
                picked = _pick(given, pick, built)
                return picked if built.kind == "model" else generators.as_loader(picked, [])
            if given is not factory and _gives_one_batch(asked, given):
                return generators.calls(given, functools.partial(_call, factory, built))
            return generators.as_loader(given, first)


def _gives_one_batch(asked: NamedObject, given: object) -> bool:
    """Whether it gave one batch, and not all data there is: by its name, or by who named it."""
    says_so = asked.built.kind == "loader" or "batch" in asked.spec.name.lower()
    return says_so and generators.is_batch(given)


def _on_what_is_here(
    stood_in: StoodIn, options: Mapping[str, Any]
) -> contextlib.AbstractContextManager[None]:
    """Have the CPU stand in for a GPU, where the job runs on another machine and none is here."""
    alone = options["elsewhere"] and not sees_gpu()
    return in_place_of_cuda(stood_in) if alone else contextlib.nullcontext()


def attribute(module: ModuleType, spec: Spec) -> object:
    """Give what is named of a module.

    Raises:
        MistypedError: it has no such name.
    """
    with blaming("import"):
        try:
            return getattr(module, spec.name)
        except AttributeError as error:
            raise MistypedError(_no_such_name(module, spec)) from error


def _no_such_name(module: ModuleType, spec: Spec) -> str:
    near = nearest(spec.name, vars(module))
    hint = f"; did you mean {near}?" if near else ""
    return f"{spec.home} has no {spec.name}{hint}"


@passes_on
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
    unnamed = [*_unnamed(thing, built)] or re.findall(r"'(\w+)'", said)
    lacking = ", ".join(f"{one} = …" for one in unnamed) or "…"
    is_module = any(base.__name__ == "Module" for base in getattr(thing, "__mro__", ()))
    table = built.kind or ("model" if named or is_module else "loader")
    return CannotLookError(
        f"{built.spec} cannot be called with what is known: {said}",
        fix=f"Give its arguments in preflight.toml:  {table} = [{{ call = "
        f'"{built.spec}", kwargs = {{ {lacking} }} }}]',
    )


def _unnamed(thing: Any, built: Built) -> Iterator[str]:
    """Give the parameters that nothing is known of."""
    try:
        bound = inspect.signature(thing).bind_partial(*built.args, **built.kwargs)
    except (TypeError, ValueError):
        return
    for name, one in bound.signature.parameters.items():
        starred = one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        if name not in bound.arguments and one.default is one.empty and not starred:
            yield name


def _last_of(built: Built) -> str:
    return built.spec.rpartition(":")[2]


@passes_on
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
