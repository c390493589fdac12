"""Finds in the job's own texts what lets ranks go on that have more batches than others.

Such as torch's `Join`, and `join_uneven_inputs` of accelerate, which is made of it. Where it is
known by which script the job is started, or which script imports what is looked at, it stands in
what that leads to, and in no other script of the folder.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence

from preflight.syntax.imports.needed_modules import on_the_way
from preflight.targets.targets import Script, Source
from preflight.values.code_name import module_file
from preflight.values.names import name_of

_JOINS = re.compile(
    r"^(?![^\n]*\benable\s*=\s*False)[^#\n]*(\bJoin\(\s*\[|\bjoin_uneven_inputs\("
    r"|\bwith\s+(?:[\w.]+\.)?Join\("
    r"|(?:\bwith\s+(?:[^#\n]*\),\s*)?|\benter_context\()[\w.]+\.join\((?:\)|divide_by|enable|throw_on))",
    re.MULTILINE,
)

_OTHER_NAME = re.compile(
    r"\bdistributed\.algorithms(?:\.join)?\s+import\s[^#\n]*\bJoin\s+as\s+(\w+)"
)

_TRAINS = re.compile(r"\.(backward|fit)\(|\bTrainer\(")

# Files of the job's folder that are read beside those imported, of so many that lie there.
_SUFFIXES = (".py", ".yaml", ".yml", ".toml", ".json", ".ipynb", ".sh")
_MOST, _MOST_THERE, _LARGEST = 500, 20_000, 1 << 20


def scripts_of(targets: Iterable[object], root: str) -> list[str]:
    """Give the scripts and sources that the user has named."""
    found = []
    for one in targets:
        if isinstance(one, Script) and one.module is not None:
            found.append(module_file(one.folder or root, one.module.split(".")))
        elif isinstance(one, Script):
            found.append(os.path.join(one.folder or root, one.path or ""))
        elif isinstance(one, Source) and not one.implied:
            found.append(os.path.join(root, one.path))
    return [*filter(None, found)]


def joined(files: Iterable[str], root: str, scripts: Sequence[str] = ()) -> str:
    """Say where ranks are joined, as `train.py:12`; empty: nowhere that is known.

    `files` are those of the job that were imported, `scripts` those that the user has named.
    """
    files = [*map(os.path.abspath, files)]
    found = dict[str, str]()
    for path, text in texts((*files, *scripts), root):
        match = _JOINS.search(_by_its_name(text)) if path.endswith(".py") else None
        if match is not None:
            line = text.count("\n", 0, match.start(1)) + 1
            found.setdefault(os.path.abspath(path), f"{name_of(path, root)}:{line}")
    leading = found and _leading(files, root, scripts)
    return next((at for path, at in found.items() if not leading or path in leading), "")


def _by_its_name(text: str) -> str:
    """Call torch's `Join` so, where a text imports it under another name; lines stay."""
    other = _OTHER_NAME.search(text)
    return text if other is None else re.sub(rf"\b{other[1]}\(", "Join(", text)


def _leading(files: Sequence[str], root: str, scripts: Sequence[str]) -> set[str]:
    """Give all that the scripts lead to, or those that import one of the files; or nothing."""
    if scripts:
        every = (_below(one) if os.path.isdir(one) else _led_to(one, root) for one in scripts)
        return {*files, *itertools.chain(*every)}
    own = {*files}
    if any(_TRAINS.search(text) for path, text in texts(files, root) if path in own):
        return own
    others = (one for one in _beside(root) if one.endswith(".py") and one not in own)
    ways = [_led_to(one, root) for one in others] if own else []
    return {*itertools.chain(*(one for one in ways if not own.isdisjoint(one)))}


def _led_to(script: str, root: str) -> set[str]:
    """Give a script, and what it imports of the job's."""
    modules = on_the_way(script, root).modules
    return {os.path.abspath(script), *(os.path.abspath(one.path) for one in modules)}


def _below(folder: str) -> list[str]:
    return [os.path.abspath(one) for one in itertools.islice(_beside(folder), _MOST)]


def texts(files: Iterable[str], root: str) -> Iterator[tuple[str, str]]:
    """Give files and those beside them in the job's folder, each with its text."""
    for path in dict.fromkeys((*files, *itertools.islice(_beside(root), _MOST))):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield path, file.read(_LARGEST)
        except OSError:
            continue


def _beside(root: str) -> Iterator[str]:
    there = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        there += len(names)
        if there > _MOST_THERE:  # its data lie here, too
            return
        yield from (os.path.join(folder, one) for one in names if one.endswith(_SUFFIXES))
