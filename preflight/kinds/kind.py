"""One kind of thing that can be looked at: all that anybody has to know of it, in one row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from preflight.kinds.same import Same
from preflight.settings.job import Job

Seconds: TypeAlias = Callable[[Mapping[str, Any], str, str], float]
"""`(plain, root, depth) -> seconds` that a process is likely to look at one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """One row. A new kind of look is one more of these, in a room, and nothing else."""

    name: str
    """Tells it from others, also in the ledger: `shard`."""

    noun: str
    """What one is, for people: `cache file`."""

    word: str = ""
    """What a report calls it: `data`, `cache`, `loader`; before `=` on the command line."""

    part: str = ""
    """The part of a job that it stands for: `data`, `cache`, `loader`, `model`, `script`."""

    target: type | None = None
    """The type of its targets; None: it has none, and another kind's targets lead to it."""

    suffixes: tuple[str, ...] = ()
    """Names of files by which a folder is told to hold some, in small letters."""

    each_file: bool = False
    """Whether each of these files is a target, and not the folder that holds them."""

    facts: Mapping[type, str] = field(default_factory=dict)
    """The types of facts that checks are asked about, each with what it is about, for people."""

    may_give: tuple[type, ...] = ()
    """Types of facts, declared by other rows, that its reader may give as well."""

    made_of: tuple[type, ...] = ()
    """Types of targets, declared by other rows, whose facts its own facts are made of."""

    led_to_by: tuple[type, ...] = ()
    """Types of targets, declared by other rows, in which targets of this kind may be found."""

    of_job: bool = True
    """Whether its facts tell of the job itself. A GO needs some that do."""

    machine: bool = False
    """Whether its facts are what a report says of the machine."""

    answers: tuple[type, ...] = ()
    """What the reader gives, where that is not the facts themselves."""

    reader: str = ""
    """`preflight.shards.read:look`, which is imported in the process that runs it."""

    gather: str = "preflight.kinds.gather:Gather"
    """What asks about all targets of the kind and puts the answers together, in the parent."""

    live: str = ""
    """What looks at an object of this kind in the caller's own process (`preflight.inspect`)."""

    seconds: Seconds = lambda _plain, _root, _depth: 0.0
    """How long one look is likely to take."""

    loads_torch: bool = False
    """Whether the reader imports torch, which takes longer than most of what it is asked."""

    is_kept: bool = False
    """Whether the ledger keeps what was seen of its files."""

    runs_code: bool = False
    """Whether the user's code is run for it."""

    may_be_left: bool = False
    """Whether some of its targets may be left out when `--budget` is used up."""

    about: str | None = None
    """The first word of the ids of the checks that miss it where it is left out; None: of all."""

    always: bool = False
    """Whether its targets are looked at whatever checks are selected."""

    asked_for: Callable[[Job], bool] | None = None
    """Whether the settings ask for its facts, so that a check that cannot tell is no GO."""

    offers: str = ""
    """What finds targets of the user's code to name: `(folder, paths) -> {"loader": …}`,
    each the command and what it names."""

    counts: Callable[[Any], Mapping[str, int]] | None = None
    """What a page counts of its facts: `{"sample": 12}`."""

    lacks: Callable[[Any], Sequence[str]] | None = None
    """Names what was not seen of a target, by its facts (`save`): it was looked at in part only."""

    sums_up: Mapping[type, Callable[[list[Any]], str | None]] = field(default_factory=dict)
    """What a page says of all facts of a type that came of one word, beside what it counts."""

    alike: Mapping[type, Callable[[Any, str], Iterable[Same]]] = field(default_factory=dict)
    """What all ranks of a job should see alike: `(facts, root)`, asked where there are several."""

    depths: Mapping[str, str] = field(default_factory=dict)
    """What a page says where files were looked at no deeper than this."""

    def made(self, path: str) -> Any:
        """Make a target of a path."""
        assert self.target is not None  # noqa: S101  for the type checker
        return self.target(path=path)

    def gives(self) -> tuple[type, ...]:
        """Give the types of facts that are to be had of one."""
        return (*self.facts, *self.may_give)
