"""Holds files of a folder against each other: most of a name say what the rest should be.

Raw arrays (numpy.memmap) are often called .npy, too, and may hold any bytes; texts in Portuguese
are called .pt. So by itself such a file is nothing odd; beside many that numpy or torch wrote, one
that it did not write is damaged.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from preflight.cached_files.facts import LETTERS
from preflight.caches.table import DTYPES, WHOLE, CacheTable
from preflight.file_access.facts import Damage
from preflight.formats.by_name import TORCH
from preflight.values.names import counted

# What differs in the names of files that were made by one program: numbers, hashes, UUIDs.
_VARYING = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}|\d+", re.ASCII | re.IGNORECASE
)

# A folder that is called after the hashes of what lies in it.
_OF_HASHES = re.compile(r"[0-9a-f]{2}", re.IGNORECASE)

_FEWEST = 3
"""Files of one sort of name that say what such a file is."""

_REAL = 2
"""Arrays among them: a program that numbers its files writes no raw ones among them."""

_HEADER = 128
"""Bytes of an array's header, as numpy pads it."""

_FEWEST_IN_FOLDERS = 4
"""Files of one name, each in a folder of its own."""

_MORE_THAN_COLUMNS = 24
"""Files that are named after something: fewer may be the columns of a table, each of its type."""

_FEWEST_OF_ANY = 8
_SHARE_OF_ANY = 8
"""Where files are named after something, one of so many may be odd, and is no kind of its own."""

_FEWEST_OF_TYPE = 4


UNKNOWN = LETTERS["unknown", False]
"""The letter of a file that is of no known format."""

_WRITTEN_BY = {"npy": "a numpy array", "torch": "a file of torch.save"}
"""What most files of a name may be."""

# An archive without arrays, as numpy.savez(file) writes it, is a zip archive of no further sort.
_ARCHIVES = dict.fromkeys(("npz", "zip"), "an archive of numpy.savez")

_NAMED = {
    **_WRITTEN_BY,
    "npz": _ARCHIVES["npz"],
    "pickle": "a pickle",
    "safetensors": "a safetensors file",
}


class WholeFile(NamedTuple):
    """A file that is whole by itself."""

    place: int
    name: str
    format: str
    dtype: str = ""
    """Of an array, as its header has it; empty where it is no plain one."""

    behind: int = 0
    """Bytes behind the end of the array."""

    is_read_in_part: bool = False
    """Whether it is of objects, or for another reason not looked at whole."""

    is_of_objects: bool = False
    bytes: int = 0


def compared(table: CacheTable) -> tuple[tuple[int, ...], dict[int, Damage]]:
    """Give the places of the files that are held against each other, and what is wrong with some.

    Of those that are whole by themselves.
    """
    seen = []
    for place, name in enumerate(table.names):
        if is_compared(name) and table.is_whole(place):
            letter, facts = chr(table.seen[place]), table.odd.get(place)
            if facts is None:
                one = WholeFile(place, name, WHOLE[letter][0], DTYPES.get(letter, ""))
                seen.append(one._replace(bytes=table.size(place)))
            else:
                in_part, objects = not facts.behind, bool(facts.globals) and not facts.unread
                seen.append(
                    WholeFile(place, name, facts.format, "", facts.behind, in_part, objects)
                )
    return tuple(one.place for one in seen), dict(unlike_others(seen))


def strangers(table: CacheTable) -> tuple[tuple[int, ...], dict[int, Damage]]:
    """Give the places of files that are for torch by their names alone, and what some should be."""
    unknown = [one for one in table.places(UNKNOWN) if is_for_torch(table.names[one])]
    if not unknown:
        return (), {}
    those = frozenset(unknown)
    seen = (
        WholeFile(place, name, "unknown" if place in those else "torch", bytes=table.size(place))
        for place, name in enumerate(table.names)
        if is_for_torch(name) and table.is_whole(place)
    )
    return tuple(unknown), dict(unlike_others(seen))


def is_compared(name: str) -> bool:
    """Whether a file of this name is held against those beside it."""
    return is_array(name) or is_archive(name)


def is_array(name: str) -> bool:
    """Whether numpy.load gives one array."""
    return name[-4:].lower() == ".npy"


def is_archive(name: str) -> bool:
    """Whether numpy.load gives its arrays by their names."""
    return name[-4:].lower() == ".npz"


def is_for_torch(name: str) -> bool:
    """Whether torch.load is what reads a file of this name."""
    return posixpath.splitext(name)[1].lower() in TORCH


def unlike_others(files: Iterable[WholeFile]) -> Iterator[tuple[int, Damage]]:
    """Give the places of those that are not like the others beside them, with what is wrong."""
    groups: defaultdict[tuple[str, str], list[WholeFile]] = defaultdict(list)
    for one in files:
        folder, base = posixpath.split(one.name)
        groups[folder, _VARYING.sub("#", base)].append(one)
    others: defaultdict[tuple[str, bool], list[WholeFile]] = defaultdict(list)
    usual: defaultdict[str, list[WholeFile]] = defaultdict(list)
    for (folder, base), group in groups.items():
        if len(group) >= _FEWEST:
            yield from _unlike(group, fewest=_REAL, share=0)
            yield from _of_other_types(group)
            yield from _of_objects(group)
            usual[folder] += group if is_array(base) else []
        else:
            yield from _of_two(group)
            others[folder, is_array(base)] += group
    apart: defaultdict[tuple[str, str], list[WholeFile]] = defaultdict(list)
    for (folder, are_arrays), group in others.items():
        known = usual[folder] if are_arrays else []
        is_many = len(group) + len(known) >= _FEWEST_OF_ANY
        told = dict(_unlike_any(group, known) if is_many else ())
        yield from (_of_another_format(group, known) | told).items()
        for one in () if is_many else group:
            apart[_place_and_sort(one.name)].append(one)
    for group in apart.values():
        if len(group) >= _FEWEST_IN_FOLDERS:
            yield from _unlike(group, fewest=_FEWEST, share=1)
        if len(group) >= _FEWEST_OF_ANY:
            yield from _of_other_types(group)


def _unlike_any(group: list[WholeFile], beside: list[WholeFile]) -> Iterator[tuple[int, Damage]]:
    """Hold files that are named after something against all of their folder.

    Of what type of number they are, others beside them that are called otherwise say nothing.
    """
    places = {one.place for one in group}
    unlike = _unlike(group + beside, fewest=_FEWEST_OF_ANY, share=_SHARE_OF_ANY)
    yield from (one for one in unlike if one[0] in places)
    if len(group) >= _MORE_THAN_COLUMNS:
        yield from _of_other_types(group)


def _of_another_format(group: list[WholeFile], beside: list[WholeFile]) -> dict[int, Damage]:
    """Tell the few that are a picture, say, where there are some real ones.

    One of no format may be a raw array, unless it is as long as arrays with their headers are.
    """
    places = {one.place for one in group}
    known = [one for one in group + beside if one.format != "unknown"]
    lengths = {one.bytes for one in known}
    as_long = [one for one in group + beside if lengths == {one.bytes}]
    unlike = [it for files in (known, as_long) if files for it in _of_most(files)]
    return {at: damage for at, damage in unlike if at in places and damage.kind == "foreign"}


def _of_most(files: list[WholeFile]) -> Iterator[tuple[int, Damage]]:
    return _unlike(files, fewest=_FEWEST, share=_REAL)


def _place_and_sort(name: str) -> tuple[str, str]:
    """Give what a file has in common with those of the same sort in folders beside its own."""
    folder, base = posixpath.split(name)
    above = posixpath.dirname(folder).split("/")
    parts = ["#" if _OF_HASHES.fullmatch(one) else _VARYING.sub("#", one) for one in above]
    return "/".join(parts), _VARYING.sub("#", base)


def _unlike(group: list[WholeFile], *, fewest: int, share: int) -> Iterator[tuple[int, Damage]]:
    """Hold the files of a group against what most of them are, by so many times as many."""
    written_by = _ARCHIVES if is_archive(group[0].name) else _WRITTEN_BY
    arrays = [one for one in group if one.format in written_by]
    rest = [one for one in group if one.format not in written_by]
    if len(arrays) >= fewest and len(arrays) > share * len(rest):
        for one in rest:
            usual, what = written_by[arrays[0].format], f"of the format {one.format}"
            if one.format == "unknown":
                text = f"is no {usual.removeprefix('a ')}, and {_beside(arrays, 'is')} one"
            else:
                text = f"is {_NAMED.get(one.format, what)}, and {_beside(arrays, 'is')} {usual}"
            yield one.place, Damage(kind="foreign", text=text, offset=0)
    exact = _exact(group)
    longer = [one for one in arrays if one.behind]
    if len(exact) >= fewest and len(exact) > max(share, 1) * len(longer):
        for one in longer:
            text = f"goes on for {counted(one.behind, 'byte')} behind its array"
            yield (
                one.place,
                Damage(kind="trailing", text=f"{text}, and {_beside(exact, 'has')} none"),
            )


def _of_two(group: list[WholeFile]) -> Iterator[tuple[int, Damage]]:
    """Tell one of two that are numbered, of which the other one is an array.

    A raw one is of no format, and of another length.
    """
    if len(group) != _REAL:
        return
    alike = len({one.bytes for one in group}) == 1
    places = {one.place for one in group if alike or not _may_be_raw(one)}
    yield from (one for one in _unlike(group, fewest=1, share=0) if one[0] in places)


def _may_be_raw(one: WholeFile) -> bool:
    return one.format == "unknown" and one.bytes >= _HEADER


def _exact(group: list[WholeFile]) -> list[WholeFile]:
    """Keep the arrays with nothing behind them."""
    written_by = _ARCHIVES if is_archive(group[0].name) else _WRITTEN_BY
    arrays = (one for one in group if one.format in written_by)
    return [one for one in arrays if not one.behind and not one.is_read_in_part]


def _of_other_types(group: list[WholeFile]) -> Iterator[tuple[int, Damage]]:
    """Tell arrays of an unknown type, and of numbers as long that are of another kind."""
    group = _exact(group)
    counts = Counter(one.dtype for one in group)
    usual, count = counts.most_common(1)[0] if counts else ("", 0)
    if not usual or count < _FEWEST_OF_TYPE or count * 4 < len(group) * 3:
        return
    alike = [one for one in group if one.dtype == usual]
    for one in group:
        if _is_other(one.dtype, usual):
            holds = one.dtype or "another type"
            text = f"says that it holds {holds}, and {_beside(alike, 'holds')} {usual}"
            yield one.place, Damage(kind="structure", text=text, offset=0)


def _of_objects(group: list[WholeFile]) -> Iterator[tuple[int, Damage]]:
    """Tell one of objects, where many of the same sort of name are plain."""
    plain = [one for one in group if one.dtype]
    odd = [one for one in group if one.is_of_objects]
    if len(plain) >= _FEWEST_OF_TYPE * max(1, len(odd)):
        for one in odd:
            text = f"holds pickled objects, and {_beside(plain, 'holds')} plain numbers"
            yield one.place, Damage(kind="structure", text=text, offset=0)


def _is_other(dtype: str, usual: str) -> bool:
    if not dtype:
        return True
    are_whole = {dtype[1], usual[1]} <= set("biu") and dtype[0] == usual[0]
    return dtype != usual and dtype[2:] == usual[2:] and not are_whole


def _beside(files: list[WholeFile], verb: str) -> str:
    those = f"each of {len(files):,} files" if len(files) > 1 else "the file"
    return f"{those} beside it {verb}"
