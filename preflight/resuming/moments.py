"""What training stood at when it saved and when it stepped, as one process tells the next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from preflight.users_code.facts import Frame
from preflight.values.wire import from_wire, to_brief

SAVE, STEP, BEGIN = "save", "step", "begin"
"""BEGIN: before the first step of an optimizer that was made behind that of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One optimizer, and the weights that it owns."""

    kind: str
    """`AdamW`."""

    at: Frame | None = None
    """The script's line that made it."""

    rates: tuple[float, ...] = ()
    """The learning rate of each group."""

    scheduled: int = 0
    """How often its schedule has moved them, as far as torch counts it."""

    schedules: Mapping[str, int] = field(default_factory=dict)
    """So of each whose numbers are plain, by its class and what tells these from others."""

    has_state: bool = False
    """Whether it keeps something of the steps before."""

    state: tuple[float, ...] = ()
    """Some numbers of that."""

    weights: int = 0
    """How many numbers it owns."""

    sample: tuple[float, ...] = ()
    """Some of them, from the same places each time."""

    is_loaded: bool = False
    """Behind a resume: whether a state was loaded into some of them."""

    has_loaded_state: bool = False
    """So of the optimizer itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """Tensors of the shapes that optimizers train, which lie beside them: maybe an average."""

    kind: str
    """What holds them: `AveragedModel`, `dict`."""

    weights: int = 0
    """How many numbers there are."""

    sample: tuple[float, ...] = ()
    """Some of them, from the same places each time."""

    is_raw: bool = False
    """Whether they are just what is trained."""

    follows: bool = False
    """Whether they were so before, and a step has moved them to something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A save, or the point before a step."""

    what: str
    """`save`, `step` or `begin`."""

    steps: int = 0
    """Optimizer steps that were taken before."""

    batch: int | None = None
    """What tells the last batch that was given from others; None: nothing does."""

    owners: tuple[Owner, ...] = ()
    averages: tuple[Average, ...] = ()
    path: str = ""
    """Of a save: the file or folder."""

    copies: tuple[str, ...] = ()
    """Of a save: files that are links to it or the same, as `latest.pt` often is."""

    at: Frame | None = None
    """Of a save: the script's line."""

    holds_state: bool = False
    """Of a save: whether the state of an optimizer was handed to it."""

    is_folder: bool = False
    in_epoch: bool = True
    """Of a save: whether the loop over a loader of training goes on behind it."""

    passes: int = 0
    """Of a save: how often a loop over a loader of training had begun."""

    counts: Mapping[str, int] = field(default_factory=dict)
    """Of a save: what it says of how far training is, `{"epoch": 3}`."""

    loops: Mapping[str, int] = field(default_factory=dict)
    """Of a save: how many passes are over of loops that begin anew in each run."""

    is_sample: bool = False
    """Of a save: whether it holds what a model makes, such as pictures, and no weights."""

    unread_counts: Mapping[str, int] = field(default_factory=dict)
    """Of a step behind a resume: what the checkpoint says of how far training is, as in `counts`,
    where nothing of it was asked for."""

    unread_schedules: Mapping[str, int] = field(default_factory=dict)
    """So of the states of schedules that it holds: how often each had moved."""

    @property
    def tells(self) -> bool:
        """Whether more is saved than weights."""
        return self.holds_state or self.is_folder or bool(self.counts)


_NUMBERS = re.compile(r"(\d+)")


def is_next_to_none(first: Moment, later: Moment) -> bool:
    """Whether one is number 0, saved behind a single step, and the other the next of its row.

    That comes of `step % save_every == 0` alone. Scripts take number 0 for no resume at all
    (`if resume_step:`), and nobody goes on from there where there is another.
    """
    if not first.steps == 1 < later.steps:
        return False
    names, others = _NUMBERS.split(first.path), _NUMBERS.split(later.path)
    if len(names) != len(others) or names[::2] != others[::2]:
        return False
    counted = {int(one) for one, other in zip(names, others, strict=True) if one != other}
    return counted == {0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was saved, and has another name since; or has that, too."""

    source: str
    target: str
    is_copy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWay:
    """An option of the script's own by which it goes on from a checkpoint."""

    option: str
    takes_path: bool
    is_given: bool = False
    """Whether the script was given it already."""

    is_guess: bool = False
    """Whether it is one only if something is read of what was saved."""

    is_variable: bool = False
    """Whether it is set in the environment, `RESUME=`, and not among the arguments."""

    file: str = ""
    """The configuration that is to say it, by its whole path, where neither is told."""

    says_so: bool = True
    """Whether its name says that it resumes; else it may be meant for a start with weights."""

    place: int = 0
    """Of an argument that is known by its place, and is given as none: that place."""


def as_begun(moments: Iterable[Moment]) -> tuple[Owner, ...]:
    """Give each optimizer as it was before its first step, or before the first one of all."""
    found: tuple[Owner, ...] = ()
    for one in moments:
        if one.what in (STEP, BEGIN):
            found += one.owners[len(found) :]
    return found


Line: TypeAlias = Moment | Moved | ResumeWay

_KINDS: Mapping[str, type[Line]] = {one.__name__: one for one in (Moment, Moved, ResumeWay)}


def line_of(one: Line) -> str:
    """Write one down."""
    return json.dumps({"type": type(one).__name__, **to_brief(one)}) + "\n"


class WrittenDown(NamedTuple):
    """What a process has written down."""

    moments: tuple[Moment, ...]
    """With the names that files have at the end."""

    ways: tuple[ResumeWay, ...] = ()
    """The likeliest first."""

    @property
    def way(self) -> ResumeWay | None:
        """The one that was given already, or the likeliest."""
        return next((one for one in self.ways if one.is_given), next(iter(self.ways), None))


def read_lines(path: str) -> WrittenDown:
    """Read it, up to where the process was ended."""
    moments: list[Moment] = []
    ways: list[ResumeWay] = []
    for one in _lines(path):
        if isinstance(one, ResumeWay):
            ways.append(one)
        elif isinstance(one, Moved):
            moments = [_moved(each, one) if each.path == one.source else each for each in moments]
        else:
            moments.append(one)
    return WrittenDown(tuple(moments), tuple(dict.fromkeys(ways)))


def _moved(moment: Moment, one: Moved) -> Moment:
    if one.is_copy:
        return replace(moment, copies=(*moment.copies, one.target))
    return replace(moment, path=one.target)


def _lines(path: str) -> Iterator[Line]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.readlines()
    except FileNotFoundError:
        return
    for line in lines:
        if line.endswith("\n"):
            told = json.loads(line)
            made: Line = from_wire(_KINDS[told.pop("type")], told)
            yield made
