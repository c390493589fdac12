"""Reads preflight.toml, or [tool.preflight] of pyproject.toml, with the line of each key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from preflight.settings.config_values import toml_reader
from preflight.settings.options import AGE, FROM_1, OPTIONS, SIZE
from preflight.values.names import name_of
from preflight.values.small_files import OddFileError, read_small

FILE = "preflight.toml"

_JOB_KEYS = ("name", "root", "python")

Tell: TypeAlias = Callable[[str, str], None]
"""Takes the key and what is wrong with it."""


class SettingsError(ValueError):
    """Settings that are not valid; all mistakes at once."""

    def __init__(self, mistakes: Iterable[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(self.mistakes))


def has_table(project: str) -> bool:
    """Whether a pyproject.toml has the table [tool.preflight]."""
    toml = toml_reader()
    try:
        tools = toml.loads(read_small(project).decode("utf-8")).get("tool")
        return isinstance(tools, dict) and isinstance(tools.get("preflight"), dict)
    except (OSError, OddFileError, UnicodeDecodeError, RecursionError, toml.TOMLDecodeError):
        return False  # somebody else's file, and theirs to mend


def read_file(
    path: str, plugins: tuple[str, ...], mistakes: list[str]
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Give the job's folder, the settings as a tree like Job's, and where each stands.

    What is wrong and does not keep the rest from being read is added to the mistakes.

    Raises:
        SettingsError: the file cannot be read at all.
    """
    folder = os.path.dirname(os.path.abspath(path))
    text, tree, within = _parse(path)
    lines = line_numbers(text, within)
    shown = name_of(path, folder)

    def tell(key: str, mistake: str) -> None:
        mistakes.append(f"{shown}:{lines.get(key, 1)}: {key}: {mistake}")

    _hold_shapes(tree, tell)
    tree = _take_tables(tree, plugins, tell)
    _take_numbers(tree, tell)
    _take_days(tree)
    if "\0" in text or "\\u0000" in text:
        raise SettingsError([*mistakes, f"{shown}: a path cannot hold a null character"])
    root = os.path.abspath(os.path.join(folder, str(tree.pop("root", "."))))
    if not os.path.isdir(root):
        tell("job.root", f"there is no folder {root}")
    return root, tree, {key: f"{shown}:{line}" for key, line in lines.items()}


def _parse(path: str) -> tuple[str, dict[str, Any], str]:
    """Give the text, the settings in it, and the prefix under which their tables stand."""
    toml = toml_reader()
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
_SINGLE = ("job", "launch", "look", "gate")
_ROWS = ("data", "cache", "loader", "model", "source", "script", "ignore")


def _hold_shapes(tree: dict[str, Any], tell: Tell) -> None:
    """Tell a table with too few or too many brackets as such."""
    for key in _SINGLE:
        if not isinstance(tree.get(key, {}), dict):
            tell(key, f"write [{key}], a table")
            del tree[key]
    for key in _ROWS:
        if isinstance(tree.get(key), dict):
            tell(key, f"write [[{key}]], with two brackets")
            del tree[key]


def _take_tables(tree: Mapping[str, Any], plugins: tuple[str, ...], tell: Tell) -> dict[str, Any]:
    """Lift `[job]` to the top, where Job has its keys, and set plug-ins' tables apart."""
    known: dict[str, Any] = {}
    of_job: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in tree.items():
        if key == "job":
            of_job = {inner: value[inner] for inner in _JOB_KEYS if inner in value}
            for inner in value.keys() - of_job.keys():
                tell(f"job.{inner}", unknown_key(inner, _JOB_KEYS))
        elif key in (*_SINGLE, *_ROWS, *_JOB_KEYS):
            known[key] = value
        elif key in plugins and isinstance(value, dict):
            own[key] = value
        else:
            tell(key, unknown_key(key, (*_SINGLE, *_ROWS, *plugins)))
    return {**known, **of_job, "plugins": own}


def _take_numbers(tree: Mapping[str, Any], tell: Tell) -> None:
    """Make numbers of sizes and ages, and refuse those that can mean nothing: -1 workers."""
    for whole, kind in (*((row.key or "", row.type) for row in OPTIONS), ("launch.nodes", FROM_1)):
        table, _, key = whole.partition(".")
        value = tree.get(table, {}).get(key) if key else None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        with_unit = kind in (SIZE, AGE) and value is not None
        if with_unit or (is_number and kind.bounds):
            try:
                read = kind.read(str(value).removesuffix(".0"))
            except ValueError as error:
                tell(whole, str(error))
                del tree[table][key]
            else:
                tree[table][key] = read


def _take_days(tree: Mapping[str, Any]) -> None:
    """Make texts of days that are written without quotes: `until = 2027-01-31`.

    So of what is no day, to be told as such.
    """
    import datetime

    for row in tree.get("ignore", ()):
        day = row.get("until") if isinstance(row, dict) else None
        if isinstance(day, datetime.date):  # which a time of a day is, too
            row["until"] = day.strftime("%Y-%m-%d")
        elif day is not None:
            row["until"] = str(day)


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
            table = re.sub(r"[\s\"']", "", header[2]).removeprefix(within)
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
