"""Writes the generated parts of README.md, CONTRIBUTING.md and docs/*.md anew: `make pages`.

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`; `PARTS` says what makes it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

import preflight
from preflight.command import catalogue, cli
from preflight.findings import registry
from preflight.kinds.rooms import ROOMS
from preflight.render.schema import docstrings, schema
from preflight.settings.ages import format_age
from preflight.settings.job import UNREAD, Job
from preflight.settings.options import AGE, OPTIONS, SIZE

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))

PART = re.compile(r"(<!-- generated: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

DEMO = "preflight demo"

# Groups of a page that are shown; what follows is said with a mark.
_SHOWN = 3


class CannotMakeError(Exception):
    """The part cannot be made here; the text says why."""


def made(name: str) -> str:
    """Make one part.

    Raises:
        KeyError: nothing is known of a part of this name.
        CannotMakeError: it cannot be made here.
    """
    for begin, make in PARTS.items():
        if name.startswith(begin):
            return make(name.removeprefix(begin))
    raise KeyError(name)


# --- pages of the command -------------------------------------------------------------------------


def _demo(_: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "preflight", "demo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return shown_of_demo(done.stdout)


def shown_of_demo(page: str) -> str:
    """Give what is shown of what `preflight demo` has printed."""
    if "this machine has none" not in page:
        raise CannotMakeError("this machine has a GPU, and the page is of one without")
    return _console(DEMO, page)


def _case(fixture: str) -> str:
    """Look at a case of fixtures/, as `preflight run` would."""
    case = runpy.run_path(str(ROOT / "fixtures" / fixture / "make.py"))
    with tempfile.TemporaryDirectory() as folder:
        words = case["make"](Path(folder), mended=False)
        report = preflight.run(*words, folder=folder)
    return _console(shlex.join(["preflight", "run", *words]), str(report))


def _console(command: str, page: str) -> str:
    return f"```console\n$ {command}\n\n{shortened(page)}```\n"


def shortened(page: str) -> str:
    """Keep the list on top, the first groups, and the last line."""
    lines = page.rstrip().splitlines()
    groups = [number for number, line in enumerate(lines) if re.match(r" ?\d+  \S", line)]
    foot = next(number for number, line in enumerate(lines) if line.startswith("Looked at"))
    end = groups[_SHOWN] if len(groups) > _SHOWN else foot
    return "\n".join([*lines[:end], "…", "", lines[-1], ""])


# --- the checks -----------------------------------------------------------------------------------


def _explanations(_: str) -> str:
    return "\n".join(
        f"## {one.id}\n\n"
        f"At most: {one.severity.word}. To mend: the {one.scope.value}.\n\n"
        f"{_prose(one.explanation)}\n"
        for one in registry.built_in().values()
    )


def _prose(explanation: str) -> str:
    """Make Markdown of a docstring, whose sections are indented below their titles."""
    said = []
    for paragraph in explanation.split("\n\n"):
        lines = paragraph.splitlines()
        if len(lines) > 1 and lines[1].startswith(" ") and not lines[0].startswith(" "):
            said.append(f"**{lines.pop(0)}**")
        said.append(_plain(" ".join(line.strip() for line in lines)))
    return "\n\n".join(said)


def _plain(text: str) -> str:
    """Escape what Markdown would take for its own, outside of code."""
    return re.sub(r"(`[^`]*`)|([_*<[])", lambda found: found[1] or f"\\{found[2]}", text)


# --- settings and options -------------------------------------------------------------------------


def _options(_: str) -> str:
    rows = []
    for row in OPTIONS:
        key = variable = ""
        if row.key is not None:
            key = f"`{row.key if '.' in row.key else f'job.{row.key}'}`"
            variable = f"`{row.variable}`"
        values = row.type.choices or row.type.metavar.split("|")
        rows.append((_option(f"--{row.name}", values), _plain(row.help), key, variable))
    of_the_page = [one for one in cli.run.params if isinstance(one, click.Option)][len(OPTIONS) :]
    for one in of_the_page:
        choices = one.type.choices if isinstance(one.type, click.Choice) else ()
        rows.append(
            (_option(one.opts[0], choices or [one.metavar]), _plain(one.help or ""), "", "")
        )
    return _table(("option", "meaning", "key", "variable"), rows)


def _option(name: str, values: Iterable[str | None]) -> str:
    # No `|` is left: tables of GitHub and of the site do not agree on how to write one in code.
    return f"`{name}` {', '.join(f'`{word}`' for word in values if word)}".strip()


def _keys(table: str) -> str:
    """Describe the keys of a table of preflight.toml, `[launch]` or `[[data]]`."""
    name = table.strip("[]")
    kind: Any = Job if name == "job" else _inner(typing.get_type_hints(Job)[name])
    said = docstrings(kind)
    hints = typing.get_type_hints(kind)
    rows = []
    for field in dataclasses.fields(kind):
        if kind is Job and field.name not in ("name", "root", "python"):
            continue
        key = field.name if kind is Job else f"{name}.{field.name}"
        unit = {row.key: row.type for row in OPTIONS}.get(key)
        meaning = _plain(" ".join(said[field.name].split()))
        if key in UNREAD:
            meaning += " *Valid, and not used by this version.*"
        value = _UNITS.get(unit) or _type(hints[field.name])
        rows.append((f"`{field.name}`", value, _default(field, unit), meaning))
    return _table(("key", "value", "default", "meaning"), rows)


_UNITS: Mapping[Any, str] = {SIZE: "size: `80GB`", AGE: "age: `12h`"}


def _inner(kind: Any) -> Any:
    """Give what a tuple is made of."""
    return typing.get_args(kind)[0] if typing.get_origin(kind) is tuple else kind


def _type(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_type(one) for one in arguments if one is not type(None))
    if origin is typing.Literal:
        return ", ".join(f"`{one}`" for one in arguments)
    if origin is tuple:
        return f"list of {_type(arguments[0])}" if arguments[0] is not Any else "list"
    if origin is not None:
        return "table"
    return {str: "text", int: "number", float: "number", bool: "true or false"}[kind]


def _default(field: dataclasses.Field[Any], unit: object) -> str:
    if field.default is field.default_factory is dataclasses.MISSING:
        return "required"
    if field.default in (None, (), dataclasses.MISSING):
        return ""
    if unit is AGE:
        return format_age(field.default)
    default = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
    return f"`{default.lower()}`"


# --- the report -----------------------------------------------------------------------------------


def _schema(_: str) -> str:
    whole = schema()
    tables = [_fields_of("report", whole)]
    tables += [_fields_of(name, one) for name, one in whole["$defs"].items()]
    return "\n".join(tables)


def _fields_of(name: str, one: Mapping[str, Any]) -> str:
    rows = [
        (
            f"`{key}`",
            _json_type(value),
            "yes" if key in one["required"] else "",
            _plain(" ".join(value.get("description", "").split())),
        )
        for key, value in one["properties"].items()
    ]
    about = _plain(one["description"].split("\n\n")[0])
    return f"### {name}\n\n{about}\n\n{_table(('field', 'type', 'always', 'meaning'), rows)}"


def _json_type(one: Mapping[str, Any]) -> str:
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in one:
        return ", ".join(f"`{word}`" for word in one["enum"])
    if "anyOf" in one:
        return " or ".join(dict.fromkeys(map(_json_type, one["anyOf"])))
    if one.get("type") == "array":
        return f"list of {_json_type(one['items'])}"
    if "additionalProperties" in one:
        return f"object of {_json_type(one['additionalProperties'])}"
    if "type" not in one:
        return "anything"
    # A number that JSON cannot hold is written as text.
    return one["type"][0] if isinstance(one["type"], list) else str(one["type"])


# --- the code -------------------------------------------------------------------------------------


def _rooms(_: str) -> str:
    """Say of each folder what lives there, from the highest floor down; of inner ones, nothing."""
    layers = ast.parse((ROOT / "tests" / "test_layers.py").read_text(encoding="utf-8"))
    (floors,) = (
        ast.literal_eval(one.value)
        for one in layers.body
        if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "FLOORS"
    )
    rows = []
    for room in sorted(floors, key=lambda room: (-floors[room], room)):
        if not room or "." in room:
            continue
        said = str(importlib.import_module(f"preflight.{room}").__doc__).splitlines()[0]
        kinds = importlib.import_module(f"preflight.{room}.kind").KINDS if room in ROOMS else ()
        folder = room if room == "checks" else f"preflight/{room}"
        names = ", ".join(f"`{one.name}`" for one in kinds)
        rows.append((str(floors[room]), f"`{folder}/`", _plain(said), names))
    return _table(("floor", "folder", "what lives there", "kinds"), rows)


def _file(path: str) -> str:
    if not (ROOT / path).is_file():
        raise CannotMakeError(f"there is no {path}")
    return f"```python\n{(ROOT / path).read_text(encoding='utf-8')}```\n"


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


PARTS: Mapping[str, Callable[[str], str]] = {
    DEMO: _demo,
    "preflight run on fixtures/": _case,
    "docs/examples/": lambda path: _file(f"docs/examples/{path}"),
    "fixtures/": lambda path: _file(f"fixtures/{path}"),
    "folders": _rooms,
    "preflight checks --format markdown": lambda _: catalogue.listing("markdown") + "\n",
    "preflight explain": _explanations,
    "preflight report --schema": _schema,
    "options of preflight run": _options,
    "keys of ": _keys,
}
"""What makes each part, by its name or the beginning of it."""


def main() -> None:
    """Write all parts anew."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for head, name, old, end in PART.findall(text):
            try:
                text = text.replace(f"{head}{old}{end}", f"{head}{made(name)}{end}")
            except CannotMakeError as error:
                print(f"{page.name}: {name} is left as it is: {error}")  # noqa: T201
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
