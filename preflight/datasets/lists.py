"""Has lists of images read that lie in the folders of a data set, or above them."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.datasets.facts import FileList, NamedColumn, NamesSeen
from preflight.datasets.first_folders import first_folders
from preflight.datasets.kind import LIST_NAMES
from preflight.datasets.named_in_lists import MOST_BYTES, SUFFIXES
from preflight.findings.looks import Look, Looked
from preflight.formats.suffixes.images import is_image
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.targets.file_types.suffixes import TABLES
from preflight.targets.targets import Folder, Source
from preflight.values.listing import list_names
from preflight.values.names import first_of

_MOST = 32
"""Lists of one folder: where there are more, each belongs to one image."""

_HOLDING = re.compile(r"annotations?|annos?|labels?|lists?|splits?|meta(?:data)?|imagesets|main")

_NONE = NamedColumn(name="", names=0)

# Lists of what is left out, or of what was found.
_ASIDE = re.compile(
    r"miss|skip|exclu|ignor|corrupt|invalid|remov|delet|fail|bad|broken|duplic|reject|error|black|"
    r"cache|output|result|predict|submi|log",
    re.IGNORECASE,
)


class Lists(Gather):
    """All lists of a run, those that no other reader reads."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._seen: list[tuple[Target, NamesSeen]] = []
        self._named: dict[str, str] = {}
        """By a list's name, the first line of a source that names it."""

        self._goes_on: dict[str, str] = {}
        """By source, the first line that goes on where a file is not there."""

        self._skips = ""
        """The first such line that is not about captions."""

    def needs(self, target: Target) -> bool:
        """Whether it is a folder of images, or a source that may name a list."""
        return isinstance(target, (Folder, Source))

    def questions(self) -> Iterator[Question]:
        """Ask about the lists of all folders of images at once."""
        root = os.path.abspath(self.run.job.root)
        folders = [one for one in self.run.targets if isinstance(one, Folder)]
        tops = [self.run.full(one.path) for one in folders]
        paths = list(dict.fromkeys(path for top in tops for path in lists_around(top, root)))
        if paths:
            yield Question(
                kind=LIST_NAMES,
                wire={"paths": paths, "folders": tops, "others": not self.run.job.launch.elsewhere},
                target=folders[0],
                at=folders[0].place(self.run.job.root),
                gives=(FileList,),
                gather=self,
                seconds=0.1,
            )

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what lists name."""
        self._seen += ((question.target, facts_of(plain)) for plain in told)
        yield from ()

    def hear(self, target: Target, facts: object) -> None:
        """Take in which lists sources name."""
        # Types of what sources tell stand above some rooms, and are asked for by their fields here.
        for one in getattr(facts, "uses", ()) if isinstance(target, Source) else ():
            line = f"{one.at.file}:{one.at.line}"
            if one.how in ("asks", "skips"):
                self._goes_on.setdefault(one.at.file or "", line)
                self._skips = self._skips or (line if one.how == "skips" else "")
            for name in one.names if one.how == "table" else ():
                self._named.setdefault(name, line)

    def finish(self) -> Iterator[Look]:
        """Give each column that names images of these folders."""
        for target, seen in self._seen:
            read_by = self._named.get(_base(seen.file), "")
            asked_by = self._goes_on.get(read_by.rpartition(":")[0], self._skips)
            facts = FileList(file=seen.file, column=_NONE, read_by=read_by, asked_by=asked_by)
            if seen.damage:
                yield Looked(facts=replace(facts, damage=seen.damage), target=target)
            own = [one for one in seen.columns if not one.others]
            for column in own or _elsewhere(seen, read_by):
                yield Looked(facts=replace(facts, column=column), target=target)

    def remarks(self) -> Iterator[str]:
        """Say what alone was looked at in lists that the page calls unread."""
        held, others, damaged = list[str](), list[str](), list[str]()
        for _, seen in self._seen:
            if seen.damage:
                damaged.append(seen.file)
            elif any(not one.others for one in seen.columns):
                held.append(seen.file)
            elif seen.columns and not _elsewhere(seen, self._named.get(_base(seen.file), "")):
                others.append(seen.file)
        if held:
            said = (
                f"Of {first_of(held, len(held))}, which no reader reads, the names of images alone"
            )
            yield f"{said} were held against those that are there."
        if damaged:
            said = first_of(damaged, len(damaged))
            yield f"Of {said}, which no reader reads, the beginning and end alone were looked at."
        if others:
            name, it = ("names", "it") if len(others) == 1 else ("name", "they")
            said = f"{first_of(others, len(others))} {name} images that were not found"
            yield f"{said}: what {it} is for was not judged."


def _base(file: str) -> str:
    return os.path.basename(file)


def _elsewhere(seen: NamesSeen, read_by: str) -> tuple[NamedColumn, ...]:
    """Give the column of which hardly any is here, where something says that it should be."""
    return tuple(one for one in seen.columns[:1] if read_by or one.empty)


def lists_around(top: str, root: str) -> tuple[str, ...]:
    """Give the lists in a folder, above it in the job's, in folders named for them, and below."""
    return tuple(dict.fromkeys((*_above(top, root), *_below(top))))


def _above(top: str, root: str) -> Iterator[str]:
    places = [top] if os.path.isdir(top) else []
    while places and places[-1] != root and places[-1].startswith(os.path.join(root, "")):
        places.append(os.path.dirname(places[-1]))
    for place in places:
        yield from _lists_in(place, deeper=2)


def _below(top: str) -> Iterator[str]:
    left = MOST_BYTES
    for place, entries in first_folders(top):
        if place != top and any(_is_list(one.name) for one in entries):
            for path in _lists_in(place, deeper=0):
                with contextlib.suppress(OSError):  # it went away meanwhile
                    left -= min(os.path.getsize(path), MOST_BYTES)
                if left < 0:
                    return
                yield path


def _lists_in(place: str, *, deeper: int) -> Iterator[str]:
    try:
        listed = list_names(place)
    except OSError:
        return  # the look at the folder itself says so
    names = list(filter(_is_list, listed.files))
    if names:  # a caption belongs to one image
        pictured = {one.rpartition(".")[0] for one in filter(is_image, listed.files)}
        names = [one for one in names if one.rpartition(".")[0] not in pictured]
    paths = [os.path.join(place, one) for one in sorted(names)]
    yield from _not_too_large(paths if len(paths) <= _MOST else ())
    for one in sorted(listed.folders, key=lambda one: one.name):
        if deeper and _HOLDING.fullmatch(one.name.lower()):
            yield from _lists_in(one.path, deeper=deeper - 1)


def _is_list(name: str) -> bool:
    is_one = name.endswith(SUFFIXES) and name[0] != "." and name not in TABLES
    return is_one and _ASIDE.search(name.rpartition(".")[0]) is None


def _not_too_large(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        try:
            size = os.path.getsize(path)
        except OSError:
            continue
        if size <= MOST_BYTES or path.endswith((".json", ".jsonl")):
            yield path
