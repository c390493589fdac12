"""Makes a loader or a model with the user's own code, as rank 0 of the job, and looks at it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import ModuleType, TracebackType
from typing import Any

from preflight.findings.check import Facts
from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.loaders import sent as loader
from preflight.loaders.travel import travel
from preflight.loaders.workers import Surroundings
from preflight.models import read as model
from preflight.objects.paths import type_name
from preflight.targets.targets import BUILT, Built
from preflight.users_code.facts import Frame, Unbuilt
from preflight.users_code.importing import (
    files_of_workers,
    import_named,
    import_torch,
    join_world,
    refuse_unguarded,
)
from preflight.values.code_name import Spec, Step, parse_pick, parse_spec, write_pick
from preflight.values.names import name_of
from preflight.values.wire import from_exact, from_wire

# Characters of an exception's text that are kept.
_LONGEST = 2_000

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class _RaisedError(Exception):
    """The user's code raised while a target was made."""

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(step)
        self.step = step
        self.error = error


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
    with step("import torch"):
        import_torch()
    try:
        if options["ranks"] > 1:
            with step("make the process group"):
                join_world(options["ranks"])
        if not options["import_anyway"]:
            refuse_unguarded(spec, root)
        path = list(sys.path)
        with step(f"import {spec.home}"), _blaming("import"):
            module = import_named(spec)
        factory = _attribute(module, spec)
        with step(f"call {spec.name}"), _blaming("call"):
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
        with step(f"look at {spec.name}"), _blaming_users(options["root"]):
            look_at = functools.partial(_look_at_one, built, factory, options, around)
            return _look_at_parts(built, made, look_at)
    except _RaisedError as raised:
        return [_unbuilt(built, raised, root)]


@contextlib.contextmanager
def _blaming(step: str) -> Iterator[None]:
    """Whatever the user's code raises, `sys.exit` too, is the user's."""
    try:
        yield
    except (CannotLookError, MistypedError):
        raise
    except BaseException as error:
        raise _RaisedError(step, error) from error


@contextlib.contextmanager
def _blaming_users(root: str) -> Iterator[None]:
    """Put down to the user what raises in the user's own lines while we look."""
    try:
        yield
    except (CannotLookError, MistypedError):
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        base = os.path.abspath(root) + os.sep
        if frames and _is_users(os.path.abspath(frames[-1].filename), base):
            raise _RaisedError("look", error) from error
        raise


def _attribute(module: ModuleType, spec: Spec) -> object:
    with _blaming("import"):
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
            fix=f"Give its arguments in preflight.toml:  [[{table}]] call = "
            f'"{built.spec}", kwargs = {{ … }}',
        ) from error
    return thing(*built.args, **built.kwargs)


def _pick(made: Any, steps: tuple[Step, ...], built: Built) -> object:
    for kind, key in steps:
        with _blaming("pick"):
            try:
                made = getattr(made, str(key)) if kind == "attr" else made[key]
            except (AttributeError, LookupError, TypeError) as error:
                part = write_pick(((kind, key),))
                raise MistypedError(
                    f"{built.spec}: what it gives has no part {part}: {_said_by(error)}"
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
    return sorted(file for file in known if _is_users(file, base))


def _is_users(path: str, base: str) -> bool:
    mine = path.startswith(base) and not path.startswith(_OURS)
    installed = "site-packages" in path.split(os.sep)
    return mine and not installed and not os.path.basename(path).startswith("<")


def _unbuilt(built: Built, raised: _RaisedError, root: str) -> Unbuilt:
    error = raised.error
    return Unbuilt(
        name=built.name or built.spec,
        step=raised.step,
        error=_said_by(error),
        frames=(*_user_frames(error.__traceback__, root), *_unparsed(error, root)),
    )


def _said_by(error: BaseException) -> str:
    """Give an exception's type and text; its `__str__` is the user's code too, and may raise."""
    kind = type(error)
    home = "" if kind.__module__ in {"builtins", "__main__"} else f"{kind.__module__}."
    try:
        text = str(error.msg if isinstance(error, SyntaxError) else error)
    except Exception:  # noqa: BLE001  whatever the user's __str__ raises
        text = "(its text cannot be had)"
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"{home}{kind.__qualname__}" + (f": {text}" if text else "")


def _unparsed(error: BaseException, root: str) -> tuple[Frame, ...]:
    """Give the line that is no Python, which is no frame of the traceback."""
    if not isinstance(error, SyntaxError) or not error.filename or not error.lineno:
        return ()
    if not os.path.isfile(error.filename):
        return ()
    file = name_of(error.filename, root)
    text = (error.text or "").strip()
    return (Frame(file=file, line=error.lineno, function="<module>", text=text),)


def _user_frames(trace: TracebackType | None, root: str) -> tuple[Frame, ...]:
    """Keep the user's own lines of a traceback: those under the job's folder or the current one."""
    base = os.path.abspath(root) + os.sep
    here = os.path.abspath(os.getcwd()) + os.sep
    return tuple(
        Frame(
            file=name_of(frame.filename, root),
            line=frame.lineno or 0,
            function=frame.name,
            text=frame.line or "",
        )
        for frame in traceback.extract_tb(trace)
        if _is_users(os.path.abspath(frame.filename), base)
        or _is_users(os.path.abspath(frame.filename), here)
    )
