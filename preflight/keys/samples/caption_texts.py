"""Reads captions as trainers do, for keys that are made of them."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from preflight.pairing.lengths import LONGEST
from preflight.pairing.table_rows import LONGEST_LINE, MOST
from preflight.pairing.tables import CAPTIONS

Captions: TypeAlias = Mapping[str, tuple[str, ...]]
"""The captions of one sample in each way to read them. In each, every one of them has an entry."""

# Lines of a table after which it is said again that work goes on.
_OFTEN = 512

_MARK = "\ufeff"


def ways_to_read(text: str) -> Captions:
    """Read a file of captions in the ways in which trainers do.

    As it is; with its ends of lines as Python reads them; stripped; each line for itself, as
    SimpleTuner does; the first line alone, as kohya's scripts do. The mark that Notepad puts at the
    beginning is part of a caption to some, and to others not.
    """
    if text.startswith(_MARK):
        without = ways_to_read(text.removeprefix(_MARK))
        marked = {"marked": (text,), "marked, stripped": (text.strip(),)}
        return {**marked, **{f"unmarked {name}": those for name, those in without.items()}}
    if text == text.strip() and "\n" not in text and "\r" not in text:
        return {"": (text,)}
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    stripped = tuple(line for line in map(str.strip, plain.split("\n")) if line)
    ways: dict[str, tuple[str, ...]] = {
        "whole": (text,),
        "plain": (plain,),
        "stripped": (text.strip(),),
        "plain, stripped": (plain.strip(),),
        "lines": tuple(line for line in text.split("\n") if line),
        "stripped lines": stripped,
        "first line": stripped[:1],
    }
    return {name: those for name, those in ways.items() if those}


def is_blank(captions: Captions) -> bool:
    """Whether nothing is said in them, as where a caption was left empty on purpose."""
    return not any(text.strip().strip(_MARK) for texts in captions.values() for text in texts)


def of_name(stem: str) -> Captions:
    """Take a file's name for its caption: as it is, and as SimpleTuner does."""
    return {"name": (stem,), "words of a name": (stem.replace("_", " "),)}


def of_bytes(content: bytes, *, is_json: bool) -> Captions:
    """Read the content of a caption file; nothing where it is no caption."""
    if len(content) > LONGEST:
        return {}
    try:
        if is_json:
            return of_json(json.loads(content))
        return ways_to_read(content.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}


def of_json(value: Any) -> Captions:
    """Find the caption in what a JSON file or a line of a table holds."""
    if isinstance(value, dict):
        value = next((value[key] for key in CAPTIONS if value.get(key) is not None), None)
    if isinstance(value, str):
        return ways_to_read(value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return {"all of a list": tuple(value), "first of a list": (value[0],)}
    return {}


def read_file(path: str, *, is_json: bool) -> Captions:
    """Read a caption file; nothing where it is gone, or is no caption."""
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.read(LONGEST + 1) or b""
    except OSError:
        return {}
    return of_bytes(content, is_json=is_json)


class Readings:
    """What each way to read captions led to."""

    def __init__(self) -> None:
        self._led: defaultdict[str, set[int]] = defaultdict(set)
        self._lacked: Counter[str] = Counter()
        self._whole: Counter[str] = Counter()
        self._seen: dict[str, None] = {}
        self._found: set[tuple[tuple[str, ...], frozenset[str]]] = set()

    def note(self, found: Mapping[str, Sequence[Iterable[int]]]) -> None:
        """Take in the entries of each caption of a sample, in each way to read them."""
        whole = frozenset(name for name, those in found.items() if all(those))
        begun = any(any(those) for those in found.values())  # else nothing speaks for a way
        for name, those in found.items():
            self._led[name].update(number for numbers in those for number in numbers)
            self._lacked[name] += sum(not numbers for numbers in those) if begun else 0
            self._seen[name] = None
        self._whole.update(whole)
        self._found.add((tuple(found), whole))

    def settled(self) -> tuple[str, ...]:
        """Give the ways, the one first that the entries contradict least; none where all agree.

        Both count, captions without an entry and entries without a caption: of several lines, the
        first is there in most caches, whether the others are needed or not, and one of the others
        may be there by chance.
        """
        order = sorted(self._seen, key=self._rank)
        agree = all(first_of(names, order) in whole for names, whole in self._found if whole)
        return () if agree else tuple(order)

    def _rank(self, name: str) -> tuple[int, ...]:
        led = len(self._led[name])
        return self._lacked[name] - led, -led, -self._whole[name]


def first_of(names: Iterable[str], order: Sequence[str]) -> str:
    """Choose the way that is settled, of those in which a caption can be read."""
    ranks = {name: rank for rank, name in enumerate(order)}
    return min(names, key=lambda name: ranks.get(name, len(ranks)))


def in_order(captions: Captions, order: Sequence[str]) -> Iterable[str]:
    """Give the ways that are open: all, or the one that is settled."""
    return [first_of(captions, order)] if order and captions else captions


class CaptionTable:
    """A metadata.jsonl: where in it the line of each file begins, and nothing else of it."""

    def __init__(self, path: str, place: str, tell: Callable[[str], object]) -> None:
        """Read it through; names in it are below its folder, the place."""
        self._path = path
        self._offsets: dict[str, int] = {}
        with open(path, "rb") as file:
            for number in range(MOST):
                if not number % _OFTEN:
                    tell(place)
                offset = file.tell()
                line = file.readline(LONGEST_LINE)
                if not line:
                    return
                name = _row(line).get("file_name")
                if isinstance(name, str):
                    self._offsets.setdefault(_below(place, name), offset)

    def find(self, name: str) -> Captions | None:
        """Give the captions of a file, by its name below the data set's folder; None: no line."""
        offset = self._offsets.get(name)
        if offset is None:
            return None
        try:
            with open(self._path, "rb") as file:
                file.seek(offset)
                return of_json(_row(file.readline(LONGEST_LINE)))
        except OSError:
            return {}


def _row(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}  # sample-unpaired tells what is wrong with the table
    return row if isinstance(row, dict) else {}


def _below(place: str, name: str) -> str:
    name = os.path.normpath(name.replace("\\", "/")).replace(os.sep, "/")
    return f"{place}/{name}" if place else name
