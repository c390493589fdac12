"""Makes a Job of the defaults, preflight.toml, PREFLIGHT_* and flags, each over the one before."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from preflight.settings.job import Job
from preflight.settings.meaningless import mistaken, short
from preflight.settings.nearest import nearest
from preflight.settings.options import OPTIONS, Option
from preflight.settings.toml_file import SettingsError, read_file, unknown_key
from preflight.values.names import name_of

if TYPE_CHECKING:
    from pydantic import TypeAdapter


def make_job(
    *,
    folder: str,
    file: str | None = None,
    search: bool = True,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str],
    plugins: Iterable[str] = (),
) -> Job:
    """Put the settings together; those of the nearest file upward, where none is named.

    Where nothing is to be `search`ed for, there are none.

    Flags are options by their names, as text or as values; None and empty lists say nothing. Tables
    of plug-ins are theirs.

    Raises:
        SettingsError: whatever is wrong, all of it at once.
    """
    file = file or (nearest(folder).file if search else None)
    tree: dict[str, Any] = {}
    origins: dict[str, str] = {}
    mistakes: list[str] = []
    root = folder
    if file is not None:
        root, tree, origins = read_file(file, tuple(plugins), mistakes)
    for row, origin, given in (*_variables(environ), *_flags(flags or {}, mistakes)):
        table, _, key = str(row.key).rpartition(".")
        try:
            value = row.type.read(given) if isinstance(given, str) else given
        except ValueError as error:
            mistakes.append(f"{origin}: {error}")
            continue
        (tree.setdefault(table, {}) if table else tree)[key] = value
        origins[str(row.key)] = origin
    job = (
        _build(tree, root, origins)
        if file is None
        else _validate(tree, root, origins, name_of(file, folder), mistakes)
    )
    if mistakes or job is None:
        raise SettingsError(mistakes)
    return job


def _variables(environ: Mapping[str, str]) -> Iterator[tuple[Option, str, str]]:
    for row in OPTIONS:
        if row.key is not None and row.variable in environ:
            yield row, row.variable, environ[row.variable]


def _flags(flags: Mapping[str, Any], mistakes: list[str]) -> Iterator[tuple[Option, str, Any]]:
    rows = {row.name: row for row in OPTIONS if row.key is not None}
    for name, value in flags.items():
        if value is None or value in ([], ()):
            continue
        row = rows.get(name.replace("_", "-"))
        if row is None:
            mistakes.append(f"there is no option {name}")
        else:
            yield row, f"--{row.name}", value


def _build(tree: Mapping[str, Any], root: str, origins: Mapping[str, str]) -> Job:
    """Make a job of flags and variables alone, whose values were read one by one already."""
    job = Job(root=root, origins=dict(origins))
    for key, value in tree.items():
        part = getattr(job, key)
        new = dataclasses.replace(part, **value) if isinstance(value, Mapping) else value
        job = dataclasses.replace(job, **{key: new})
    return job


def _validate(
    tree: dict[str, Any], root: str, origins: dict[str, str], shown: str, mistakes: list[str]
) -> Job | None:
    """Hold the tree against Job's types; costs an import of pydantic."""
    from pydantic import ValidationError

    tree["root"], tree["origins"] = root, origins
    try:
        job = _types().validate_python(tree)
    except ValidationError as error:
        mistakes += [_mistake(one, origins, shown) for one in error.errors(include_url=False)]
        return None
    mistakes += (f"{origins.get(key, shown)}: {key}: {text}" for key, text in mistaken(job))
    return job


@functools.cache
def _types() -> TypeAdapter[Job]:
    from pydantic import TypeAdapter

    return TypeAdapter(Job)


def _mistake(detail: Mapping[str, Any], origins: Mapping[str, str], shown: str) -> str:
    path = [str(part) for part in detail["loc"]]
    key = ".".join(path)
    place = origins.get(key) or origins.get(".".join(path[:-1])) or shown
    if detail["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        return f"{place}: {key}: {unknown_key(path[-1], _keys_of(path[0]))}"
    if detail["type"] in {"missing", "missing_argument"}:
        return f"{place}: {key}: is required"
    given = f", not {short(detail['input'])}" if "input" in detail else ""
    text = str(detail["msg"]).removeprefix("Input ").removeprefix("Value error, ")
    example = short(detail["input"]) if isinstance(detail.get("input"), str) else '"jpg"'
    text = text.replace("a valid tuple", f"a list, such as [{example}]")
    return f"{place}: {key}: {text}{given}"


def _keys_of(table: str) -> tuple[str, ...]:
    import typing

    kind = typing.get_type_hints(Job).get(table)
    inner = typing.get_args(kind)
    kind = inner[0] if inner else kind
    return tuple(field.name for field in dataclasses.fields(kind)) if kind is not None else ()
