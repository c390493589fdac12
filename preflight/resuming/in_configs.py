"""Finds the key by which a configuration of the script's says from where it goes on, and sets it.

It is set as somebody would by hand: in its one line, all else stays as it is.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from preflight.objects.source_trees import parsed
from preflight.resuming.moments import ResumeWay
from preflight.resuming.ways import names_resume
from preflight.syntax.running import text_of

_JSON = re.compile(
    r'(?P<head>"(?P<key>[\w.-]+)"\s*:\s*)(?P<value>null|true|false|"[^"\n]*")(?P<tail>)'
)
_TOML = re.compile(
    r"""^(?P<head>\s*"?(?P<key>[\w-]+)"?\s*=\s*)(?P<value>true|false|"[^"\n]*"|'[^'\n]*')"""
    r"(?P<tail>\s*(?:#.*)?)$",
    re.MULTILINE,
)
_YAML = re.compile(
    r"""^(?P<head>[ ]*["']?(?P<key>[\w-]+)["']?[ ]*:)(?P<value>[ ]+[^\s#][^#\n]*?|)"""
    r"(?P<tail>[ ]*(?:[ ]#.*)?)$",
    re.MULTILINE,
)
_RULES = {".json": _JSON, ".toml": _TOML, ".yaml": _YAML, ".yml": _YAML}

_UNSET = frozenset({"", "null", "~", "none", '""', "''"})
_SWITCHED_OFF = frozenset({"false", "no", "off"})

# A configuration that is larger is none.
_MOST_BYTES = 1 << 20


def configs_of(texts: Iterable[str], given: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Name the configurations that a script is given, or names in its sources, by whole paths."""
    names = [one.partition("=")[2] or one for one in given]
    nodes = (one for tree in map(parsed, texts) if tree is not None for one in ast.walk(tree))
    names += (text for text in map(text_of, nodes) if text is not None)
    found: dict[str, None] = {}
    for name in filter(lambda one: os.path.splitext(one)[1] in _RULES, names):
        paths = (os.path.abspath(os.path.join(folder, name)) for folder in folders)
        path = next(filter(os.path.isfile, paths), None)
        if path is not None and os.path.getsize(path) <= _MOST_BYTES:
            found.setdefault(path)
    return list(found)


def ways_by_config(path: str, texts: Iterable[str]) -> Iterator[ResumeWay]:
    """Give the keys of a configuration that the script's own files name, too."""
    sources = "\n".join(texts)
    for found in _lines(_read(path), path):
        key, value = found["key"], found["value"].strip().lower()
        if not names_resume(key) or not re.search(rf"\b{re.escape(key)}\b", sources):
            continue
        is_given = "/" in value or os.path.splitext(value.strip("'\""))[1] != ""
        if is_given or value in _UNSET | _SWITCHED_OFF:  # no `allow`, as wandb is told
            yield ResumeWay(
                option=key,
                takes_path=value not in _SWITCHED_OFF,
                is_given=is_given,
                is_guess=True,
                file=path,
            )


def with_key(text: str, path: str, key: str, value: str | None) -> str | None:
    """Give the text of a configuration with a key set: to a path, or None: to true."""
    for found in _lines(text, path):
        if found["key"] == key:
            gap = " " if _RULES[os.path.splitext(path)[1]] is _YAML else ""
            said = "true" if value is None else json.dumps(value)
            return f"{text[: found.end('head')]}{gap}{said}{text[found.start('tail') :]}"
    return None


def _lines(text: str, path: str) -> Iterator[re.Match[str]]:
    for found in _RULES[os.path.splitext(path)[1]].finditer(text):
        behind = text[found.end() :].lstrip("\n")
        inner = re.match(" *", found["head"])
        begins = len(behind) - len(behind.lstrip(" "))
        opens = not found["value"] and inner is not None and begins > inner.end()
        if not opens and found["value"].strip() not in {"|", ">"}:  # which hold more below
            yield found


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
