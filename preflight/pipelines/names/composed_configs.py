"""Puts together the settings of several files, and of words, as far as that is plain."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from preflight.settings.config_values import read_config

# What stands at its top may have a file's keys lie elsewhere.
_PACKAGE = re.compile(r"^\s*#\s*@package\b", re.MULTILINE)
_DEEPEST = 4

# YAML can have a key lie in itself.
_DEEPEST_KEY = 8

# What is a text as it stands, and no number and no list.
_PLAIN = re.compile(r"[A-Za-z./~][\w./:{}*?-]*[./][\w./:{}*?-]*")


def composed(path: str, read: dict[str, Any], depth: int = 0) -> dict[str, Any] | None:
    """Give the keys that one file alone says, of this one and those in its `defaults`.

    Which of two has the last word depends on their order, and on the version, so that neither is
    taken. None: something of it is not plain. Each file that is read is added to those that were.
    """
    said = read[path] = read_config(path) if os.path.isfile(path) else None
    if not isinstance(said, dict) or depth > _DEEPEST:
        return None
    own = {key: value for key, value in said.items() if key != "defaults"}
    each = said.get("defaults") or []
    if not isinstance(each, list):
        return None
    for one in each:
        there = _taken_in(one, os.path.dirname(path), read, depth + 1)
        if there is None:
            return None
        own = _both(own, there)
    return own


def _taken_in(one: Any, folder: str, read: dict[str, Any], depth: int) -> dict[str, Any] | None:
    """Give what one entry of `defaults` stands for: `_self_`, `other`, `group: option`."""
    if isinstance(one, str):
        return {} if one == "_self_" else _of_file(folder, one, read, depth)
    if not isinstance(one, dict) or len(one) != 1:
        return None
    ((group, option),) = one.items()
    if option is None or re.match(r"(?:override )?/?hydra/", str(group)):
        return {}
    is_optional, group = str(group).startswith("optional "), str(group).removeprefix("optional ")
    if not (isinstance(option, str) and re.fullmatch(r"[\w/-]+", group)):
        return None
    if is_optional and not os.path.exists(os.path.join(folder, group, f"{option}.yaml")):
        return {}
    said = _of_file(folder, os.path.join(group, option), read, depth)
    for name in reversed(group.split("/")) if said is not None else ():
        said = {name: said}
    return said


def _of_file(folder: str, name: str, read: dict[str, Any], depth: int) -> dict[str, Any] | None:
    stem = name.removesuffix(".yaml")
    path = os.path.join(folder, f"{stem}.yaml")
    if not os.path.isfile(path):
        return None
    try:
        with open(path, encoding="utf-8") as file:
            if _PACKAGE.search(file.read()):
                return None
    except (OSError, UnicodeDecodeError):
        return None
    return composed(path, read, depth)


def _both(one: dict[str, Any], other: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Put two together; what both say is nobody's, nor what lies deeper than anybody asks."""
    found = {**one, **other}
    for key in one.keys() & other.keys():
        its, others = one[key], other[key]
        is_both = isinstance(its, dict) and isinstance(others, dict) and depth < _DEEPEST_KEY
        found[key] = _both(its, others, depth + 1) if is_both else None
    return found


# --- what overrules what --------------------------------------------------------------------------


def of_words(words: Iterable[str]) -> dict[str, Any]:
    """Give what `OmegaConf.from_cli` makes of `data.shards=a.tar`; None for what is not plain."""
    found: dict[str, Any] = {}
    for word in words:
        path, _, value = word.partition("=")
        *above, last = path.split(".")
        inner = found
        for name in above:
            if not isinstance(inner.get(name), dict):
                inner[name] = {}
            inner = inner[name]
        inner[last] = value if _PLAIN.fullmatch(value) else None
    return found


def overruled(one: Mapping[str, Any], by: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Put the one over the other, as `OmegaConf.merge` does; a list is replaced as a whole."""
    found = {**one, **by}
    for key in one.keys() & by.keys():
        if isinstance(one[key], dict) and isinstance(by[key], dict):
            is_near = depth < _DEEPEST_KEY
            found[key] = overruled(one[key], by[key], depth + 1) if is_near else None
    return found
