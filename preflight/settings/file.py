"""Reads preflight.toml, or [tool.preflight] of pyproject.toml, with the line of each key."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from preflight.settings.job import Job
from preflight.values.ages import parse_age
from preflight.values.byte_sizes import parse_size
from preflight.values.names import name_of
from preflight.values.small_files import OddFileError, read_small

FILE = "preflight.toml"

_TABLES = tuple(
    field.name
    for field in dataclasses.fields(Job)
    if field.name not in {"name", "root", "python", "plugins", "origins"}
)
_JOB_KEYS = ("name", "root", "python")


class SettingsError(ValueError):
    """Settings that are not valid; all mistakes at once."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


def find_file(folder: str) -> str | None:
    """Find the nearest settings file, here or above: preflight.toml, or [tool.preflight]."""
    while True:
        own = os.path.join(folder, FILE)
        if os.path.isfile(own):
            return own
        project = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(project) and _has_table(project):
            return project
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _toml() -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib


def _has_table(project: str) -> bool:
    toml = _toml()
    try:
        tools = toml.loads(read_small(project).decode("utf-8")).get("tool")
        return isinstance(tools, dict) and isinstance(tools.get("preflight"), dict)
    except (OSError, OddFileError, UnicodeDecodeError, RecursionError, toml.TOMLDecodeError):
        return False  # somebody else's file, and theirs to mend


def read_file(
    path: str, plugins: tuple[str, ...], mistakes: list[str]
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Give the job's folder, the settings as a tree like Job's, and where each stands.

    Args:
        path: preflight.toml, or a pyproject.toml.
        plugins: names of the plug-ins, whose tables are theirs.
        mistakes: takes what is wrong and does not keep the rest from being read.

    Raises:
        SettingsError: the file cannot be read at all.
    """
    folder = os.path.dirname(os.path.abspath(path))
    text, tree, within = _parse(path)
    lines = line_numbers(text, within)
    shown = name_of(path, folder)
    tree = _take_job_table(tree, lines, shown, mistakes)
    _take_plugins(tree, plugins, lines, shown, mistakes)
    _hold_shapes(tree, lines, shown, mistakes)
    _take_sizes(tree, lines, shown, mistakes)
    _hold_numbers(tree, lines, shown, mistakes)
    if "\0" in text or "\\u0000" in text:
        raise SettingsError([*mistakes, f"{shown}: a path cannot hold a null character"])
    root = os.path.abspath(os.path.join(folder, str(tree.pop("root", "."))))
    if not os.path.isdir(root):
        mistakes.append(f"{shown}:{lines.get('job.root', 1)}: job.root: there is no folder {root}")
    return root, tree, {key: f"{shown}:{line}" for key, line in lines.items()}


def _parse(path: str) -> tuple[str, dict[str, Any], str]:
    """Give the text, the settings in it, and the prefix under which their tables stand."""
    toml = _toml()
    try:
        text = read_small(path).decode("utf-8-sig")
        tree = toml.loads(text)
    except OSError as error:
        raise SettingsError([f"{path}: cannot be read: {error.strerror}"]) from error
    except OddFileError as error:
        raise SettingsError([str(error)]) from error
    except RecursionError as error:
        raise SettingsError([f"{path}: is nested too deeply"]) from error
    except (UnicodeDecodeError, toml.TOMLDecodeError) as error:
        raise SettingsError([f"{path}: is no valid TOML: {error}"]) from error
    if os.path.basename(path) != "pyproject.toml":
        return text, tree, ""
    tools = tree.get("tool")
    own = tools.get("preflight") if isinstance(tools, dict) else None
    if not isinstance(own, dict):
        raise SettingsError([f"{path}: has no table [tool.preflight]"])
    return text, own, "tool.preflight."


# Tables of which there is one, and tables of which there may be several.
_SINGLE = ("launch", "look", "gate")
_ROWS = ("data", "cache", "loader", "model", "ignore")


def _hold_shapes(
    tree: dict[str, Any], lines: Mapping[str, int], shown: str, mistakes: list[str]
) -> None:
    """Tell a table with too few or too many brackets as such."""
    for key in _SINGLE:
        if not isinstance(tree.get(key, {}), dict):
            mistakes.append(f"{shown}:{lines.get(key, 1)}: {key}: write [{key}], a table")
            del tree[key]
    for key in _ROWS:
        if isinstance(tree.get(key), dict):
            line = lines.get(key, 1)
            mistakes.append(f"{shown}:{line}: {key}: write [[{key}]], with two brackets")
            del tree[key]


def _take_job_table(
    tree: dict[str, Any], lines: Mapping[str, int], shown: str, mistakes: list[str]
) -> dict[str, Any]:
    """Lift `[job]` to the top, where Job has its keys."""
    table = tree.pop("job", {})
    if not isinstance(table, dict):
        mistakes.append(f"{shown}:{lines.get('job', 1)}: job is a table: [job]")
        return tree
    for key in table:
        if key not in _JOB_KEYS:
            line = lines.get(f"job.{key}", 1)
            mistakes.append(f"{shown}:{line}: job.{key}: {unknown_key(key, _JOB_KEYS)}")
    return {**tree, **{key: table[key] for key in _JOB_KEYS if key in table}}


def _take_plugins(
    tree: dict[str, Any],
    plugins: tuple[str, ...],
    lines: Mapping[str, int],
    shown: str,
    mistakes: list[str],
) -> None:
    """Set plug-ins' tables apart; any other unknown table is a mistake."""
    own = {}
    for key in list(tree):
        if key in _TABLES or key in _JOB_KEYS:
            continue
        value = tree.pop(key)
        if key in plugins and isinstance(value, dict):
            own[key] = value
        else:
            known = ("job", *_TABLES, *plugins)
            mistakes.append(f"{shown}:{lines.get(key, 1)}: {key}: {unknown_key(key, known)}")
    tree["plugins"] = own


def _take_sizes(
    tree: Mapping[str, Any], lines: Mapping[str, int], shown: str, mistakes: list[str]
) -> None:
    """Make numbers of sizes and ages, which are written as text with their units."""
    for name, key, read in (("launch", "vram", parse_size), ("look", "reread", parse_age)):
        table = tree.get(name)
        if not isinstance(table, dict) or key not in table:
            continue
        try:
            table[key] = read(str(table[key]))
        except ValueError as error:
            place = f"{name}.{key}"
            mistakes.append(f"{shown}:{lines.get(place, 1)}: {place}: {error}")
            del table[key]


# What a number must at least be, where 0 means something; all others must be at least 1.
_AT_LEAST = {"launch.gpus": 0, "launch.num_workers": 0, "look.timeout": 0.001, "look.reread": 0}


def _hold_numbers(
    tree: Mapping[str, Any], lines: Mapping[str, int], shown: str, mistakes: list[str]
) -> None:
    """Refuse numbers that can mean nothing, such as -1 workers."""
    for table in ("launch", "look"):
        values = tree.get(table)
        for key, value in list(values.items()) if isinstance(values, dict) else ():
            name = f"{table}.{key}"
            least = _AT_LEAST.get(name, 1)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if number and not value >= least:
                place = f"{shown}:{lines.get(name, 1)}: {name}"
                mistakes.append(f"{place}: {value} is less than {least}")


def unknown_key(word: str, known: Iterable[str]) -> str:
    """Say that a key is not known, and which is nearest."""
    import difflib

    known = tuple(known)
    begun = [key for key in known if len(word) > 1 and key.startswith(word)]
    near = begun or difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"unknown key; {hint}"


_HEADER = r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(#.*)?$"
_KEY = r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[\w-]+)*)\s*="""


def line_numbers(text: str, within: str = "") -> dict[str, int]:
    """Find the line of each key of a TOML file: `launch.gpus` -> 4, `data.0.path` -> 9.

    Only to name a place for people; tomllib, which gives the values, keeps no lines. A key inside
    a string of several lines is not told apart.
    """
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(_HEADER, line)
        if header is not None:
            table = re.sub(r"[\s\"']", "", header[2])
            table = table.removeprefix(within) if within else table
            if header[1] == "[[":
                index = counts.get(table, -1) + 1
                counts[table] = index
                lines.setdefault(table, number)
                table = f"{table}.{index}"
            lines.setdefault(table, number)
            continue
        key = re.match(_KEY, line)
        if key is not None:
            name = re.sub(r"[\s\"']", "", key[1])
            lines.setdefault(f"{table}.{name}" if table else name, number)
    return lines
