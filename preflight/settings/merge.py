"""Makes a Job of the defaults, preflight.toml, PREFLIGHT_* and flags, each over the one before."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from preflight.settings.file import SettingsError, find_file, read_file, unknown_key
from preflight.settings.job import Job
from preflight.settings.meaning import mistaken
from preflight.values.ages import parse_age
from preflight.values.byte_sizes import parse_size
from preflight.values.names import name_of
from preflight.values.sampling import parse_sample

PREFIX = "PREFLIGHT_"

# Characters of a wrong value that are told.
_LONGEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A setting that can be had from the command line and from the environment."""

    key: str
    """`launch.gpus`."""

    read: Callable[[str], Any]
    """Makes a value of text, or raises ValueError."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _yes(text: str) -> bool:
    if text.lower() in {"1", "true", "yes", "on"}:
        return True
    if text.lower() in {"0", "false", "no", "off", ""}:
        return False
    raise ValueError(f"{text!r} is neither yes nor no")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(f"{text!r} is less than 0")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(f"{text!r} is no number of seconds")
    return number


def _sample(text: str) -> str:
    return parse_sample(text).text


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return read


FLAGS: Mapping[str, Flag] = {
    "gpus": Flag(key="launch.gpus", read=_count),
    "vram": Flag(key="launch.vram", read=parse_size),
    "world-size": Flag(key="launch.world_size", read=_count),
    "num-workers": Flag(key="launch.num_workers", read=_count),
    "batch-size": Flag(key="launch.batch_size", read=_count),
    "grad-accum": Flag(key="launch.grad_accum", read=_count),
    "start-method": Flag(key="launch.start_method", read=_one_of("fork", "spawn", "forkserver")),
    "elsewhere": Flag(key="launch.elsewhere", read=_yes),
    "python": Flag(key="python", read=str),
    "depth": Flag(key="look.depth", read=_one_of("index", "bytes", "decode")),
    "timeout": Flag(key="look.timeout", read=_seconds),
    "budget": Flag(key="look.budget", read=_seconds),
    "sample": Flag(key="look.sample", read=_sample),
    "jobs": Flag(key="look.jobs", read=_count),
    "state": Flag(key="look.state", read=str),
    "no-ledger": Flag(key="look.no_ledger", read=_yes),
    "reread": Flag(key="look.reread", read=parse_age),
    "max-findings": Flag(key="look.max_findings", read=_count),
    "deep": Flag(key="look.deep", read=_yes),
    "trust-caches": Flag(key="look.trust_caches", read=_yes),
    "import-anyway": Flag(key="look.import_anyway", read=_yes),
    "fail-on": Flag(key="gate.fail_on", read=_one_of("error", "warning", "note", "never")),
    "baseline": Flag(key="gate.baseline", read=str),
    "require": Flag(key="gate.require", read=_words),
    "may-skip": Flag(key="gate.may_skip", read=_words),
}
"""By the name of the option; the variable is PREFLIGHT_ and the name in capitals."""


def make_job(
    *,
    folder: str,
    file: str | None = None,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str],
    plugins: Iterable[str] = (),
) -> Job:
    """Put the settings together.

    Args:
        folder: the current folder, absolute; the job's, where no settings file says otherwise.
        file: the settings file; None: the nearest upward, if there is one.
        flags: values by the option's name; those that are None were not given.
        environ: PREFLIGHT_* variables among others.
        plugins: names of the plug-ins, whose tables are theirs.

    Raises:
        SettingsError: whatever is wrong, all of it at once.
    """
    file = file or find_file(folder)
    tree: dict[str, Any] = {}
    origins: dict[str, str] = {}
    mistakes: list[str] = []
    root = folder
    if file is not None:
        root, tree, origins = read_file(file, tuple(plugins), mistakes)
    _overlay(tree, origins, _from_environment(environ, mistakes))
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    _overlay(tree, origins, {FLAGS[name].key: (f"--{name}", given[name]) for name in given})
    job = (
        _build(tree, root, origins)
        if file is None
        else _validate(tree, root, origins, name_of(file, folder), mistakes)
    )
    if mistakes or job is None:
        raise SettingsError(mistakes)
    return job


def _overlay(
    tree: dict[str, Any], origins: dict[str, str], values: Mapping[str, tuple[str, Any]]
) -> None:
    for key, (origin, value) in values.items():
        table, _, name = key.rpartition(".")
        (tree.setdefault(table, {}) if table else tree)[name] = value
        origins[key] = origin


def _from_environment(
    environ: Mapping[str, str], mistakes: list[str]
) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for name, flag in FLAGS.items():
        variable = PREFIX + name.replace("-", "_").upper()
        if variable in environ:
            try:
                found[flag.key] = (variable, flag.read(environ[variable]))
            except ValueError as error:
                mistakes.append(f"{variable}: {error}")
    return found


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
    from pydantic import TypeAdapter, ValidationError

    tree["root"], tree["origins"] = root, origins
    try:
        job = TypeAdapter(Job).validate_python(tree)
    except ValidationError as error:
        mistakes += [_mistake(one, origins, shown) for one in error.errors(include_url=False)]
        return None
    mistakes += (f"{origins.get(key, shown)}: {key}: {text}" for key, text in mistaken(job))
    return job


def _mistake(detail: Mapping[str, Any], origins: Mapping[str, str], shown: str) -> str:
    """Say one of pydantic's errors as we say ours."""
    path = [str(part) for part in detail["loc"]]
    key = ".".join(path)
    place = origins.get(key) or origins.get(".".join(path[:-1])) or shown
    if detail["type"] in {"unexpected_keyword_argument", "extra_forbidden"}:
        return f"{place}: {key}: {unknown_key(path[-1], _keys_of(path[0]))}"
    if detail["type"] in {"missing", "missing_argument"}:
        return f"{place}: {key}: is required"
    given = f", not {_short(detail['input'])}" if "input" in detail else ""
    text = str(detail["msg"]).removeprefix("Input ").removeprefix("Value error, ")
    text = text.replace("a valid tuple", 'a list, such as ["jpg"]')
    return f"{place}: {key}: {text}{given}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _keys_of(table: str) -> tuple[str, ...]:
    """All keys that a table of the settings may hold."""
    import typing

    kind = typing.get_type_hints(Job).get(table)
    inner = typing.get_args(kind)
    kind = inner[0] if inner else kind
    return tuple(field.name for field in dataclasses.fields(kind)) if kind is not None else ()
