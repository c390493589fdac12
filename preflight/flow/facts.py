"""What went through the stages of a loader's pipeline while it ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import Definition
from preflight.values.names import counted, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Swallowed:
    """Errors of one sort that ended in one stage, so that nobody was told."""

    by: str
    """`handler`: the exception handler that the stage was given; `own`: the user's own code."""

    error: str
    """The first of them, with its type."""

    varies: bool = False
    """Whether others of them said something else."""

    file: str = ""
    """The user's line at which they came up, where it is one."""

    line: int = 0
    function: str = ""
    caught: str = ""
    """The function that caught them: `_map`, `url_opener`."""

    goes_on: bool = True
    """Whether the stage went on with the next one; else its stream ended there."""

    instead: str = ""
    """Of a data set that is asked for samples, what it gave: `another` sample, `none`, or the
    `same` thing each time."""

    times: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One stage, and what went through it."""

    call: str
    """As the user would write it: `.map(decode_caption)`."""

    kind: str = "other"
    """As of `preflight.facts.Stage`; `around`: a data set
    of the user's own that stands around a pipeline; `stream`: one that is read by itself; `asked`:
    one that is asked for samples by their index."""

    handler_name: str = ""
    at: Definition = Definition()
    """The user's line that makes it, or else that of its function."""

    unit: str = "sample"
    """What it gives: `shard`, `file`, `sample`, `batch`."""

    pipeline: int = 0
    """Which pipeline it stands in, counted from 1 as they are found, the innermost first."""

    gave: int = 0
    swallowed: tuple[Swallowed, ...] = ()
    told_by: str = ""
    """The check that tells of what it loses, by the files."""

    @property
    def is_own(self) -> bool:
        """Whether it is a function of the job's that is given all samples: `.compose(mine)`."""
        return self.kind == "other" and self.call.isidentifier()


class Lost(NamedTuple):
    """Samples, or shards, that were lost by errors of one sort."""

    stage: Passed
    by: Swallowed
    unit: str
    number: int
    in_batches: bool
    """Whether whole batches were lost."""


class Chosen(NamedTuple):
    """Samples that a stage takes out which chooses among them, or gives None for some."""

    call: str
    out: int
    came: int

    def in_words(self) -> str:
        """Say so for people; a function of the job's own may also put samples together."""
        came = counted(self.came, "sample")
        if not self.call.startswith("."):
            return f"{shown(self.call)} gives {self.came - self.out:,} for {came}"
        return f"{shown(self.call)} takes out {self.out:,} of {came}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What went through a loader's pipeline, as far as it was run."""

    name: str
    """What the user called the loader: `train:make_loader`."""

    defined: Definition = Definition()
    """Where the factory is."""

    stages: tuple[Passed, ...] = ()
    """In their order; those of a pipeline within one before those around it."""

    ended: str = "cut"
    """`over`: an epoch was run to its end; else how that ended, or that it was cut."""

    why: str = ""
    """Of one that a script runs: why its epoch was not drawn to its end, where it was to be."""

    waited: float | None = None
    """Seconds without a batch, at the end of which it was given up."""

    batches: int = 0
    """Batches that came out of the loader."""

    num_workers: int = 0
    resampled: bool = False
    """Whether it draws shards with replacement."""

    @property
    def entered(self) -> int:
        """How many samples the readers of shards gave, or else the first stage."""
        readers = [one.gave for one in self.stages if one.kind == "group"]
        return sum(readers) if readers else self.stages[0].gave + _dropped(self.stages[0])

    @property
    def shards(self) -> int:
        """How many shards came to what opens them."""
        return sum(
            _before(self.stages, number)
            for number, one in enumerate(self.stages)
            if one.kind == "open" or one.call.startswith(READERS)
        )

    @property
    def came_out(self) -> int:
        """How many samples came out of the last stage that gives samples one by one."""
        last = self.stages[-1].pipeline
        own = {one.pipeline for one in self.stages if one.kind == "group"}
        ends = [last] if last not in own else sorted(own)
        through = 0
        for number in ends:
            mine = [one for one in self.stages if one.pipeline == number and one.unit == "sample"]
            through += mine[-1].gave if mine else 0
        if not through and last not in own and own:
            singles = [one for one in self.stages if one.unit == "sample"]
            through = singles[-1].gave if singles else 0
        behind = sum(one.number for one in self.losses if one.in_batches)
        return max(0, through - behind)

    @property
    def chosen(self) -> Iterator[Chosen]:
        """What stages take out that choose among samples, also the job's own, but for errors."""
        for before, one in zip(self.stages, self.stages[1:], strict=False):
            alike = before.pipeline == one.pipeline and before.unit == one.unit == "sample"
            if alike and (one.call.startswith(_CHOOSE) or one.is_own):
                out = before.gave - one.gave - sum(each.times for each in one.swallowed)
                if out > 0:
                    yield Chosen(one.call, out, before.gave)

    def takes_out_before(self, stage: str, line: int | None) -> bool:
        """Whether an epoch shows that what a stage would lose does not come to it.

        Args:
            stage: As the user writes it: `to_tuple("jpg")`.
            line: Where that stands.
        """
        kind = stage.partition("(")[0]
        mine = [one for one in self.stages if one.kind == kind and line in (None, one.at.line)]
        is_sound = mine and not any(one.swallowed for one in mine)
        return bool(is_sound and self.ended == "over" and any(self.chosen))

    @property
    def reads_all(self) -> bool:
        """Whether an epoch was run to its end, and nothing was lost where contents are read."""
        readers = (one for one in self.stages if one.kind in ("decode", "map_dict"))
        return self.ended == "over" and not any(one.swallowed for one in readers)

    @property
    def losses(self) -> tuple[Lost, ...]:
        """What was lost by errors that were swallowed, the most first."""
        found = [one for number in range(len(self.stages)) for one in _lost(self.stages, number)]
        return tuple(sorted(found, key=lambda one: -one.number))

    def share(self, losses: tuple[Lost, ...]) -> float:
        """Say what part of all is lost so, as far as it was run."""
        samples = sum(one.number for one in losses if one.unit == "sample")
        shards = sum(one.number for one in losses if one.unit == "shard")
        left = 1.0 - (samples / self.entered if self.entered else 0.0)
        return 1.0 - max(0.0, left) * (1.0 - (shards / self.shards if self.shards else 0.0))


READERS = (".tarfile_samples", ".tarfile_to_samples")
"""Stages that open shards, expand them and group what is in them."""

# webdataset passes over what `map` gives None for.
_CHOOSE = (".select(", ".rsample(", ".map(")

# Nothing stands before these.
_ALONE = ("stream", "asked")

# The functions of webdataset that catch an error by which no sample is lost, but a shard or a file.
_OF_SHARDS = frozenset({"url_opener", "__call__", "tar_file_expander"})
_OF_FILES = frozenset({"tar_file_iterator", "group_by_keys"})


def _before(stages: tuple[Passed, ...], number: int) -> int:
    """Say how much came to a stage; what stands alone tells of what it dropped itself."""
    if stages[number].kind not in _ALONE:
        return stages[number - 1].gave if number else 0
    dropped = _dropped(stages[number])
    return dropped and stages[number].gave + dropped


def _dropped(stage: Passed) -> int:
    """Say how much is lost of what stands alone: of it is that known."""
    return sum(one.times for one in stage.swallowed) if stage.kind in _ALONE else 0


def _lost(stages: tuple[Passed, ...], number: int) -> Iterator[Lost]:
    stage = stages[number]
    came = _before(stages, number)
    unit = stages[number - 1].unit if number else stage.unit
    handled = sum(one.times for one in stage.swallowed if one.by == "handler")
    left = max(0, came - stage.gave - handled)
    for one in stage.swallowed:
        lost, what = one.times, unit
        if one.by == "own":
            lost = min(lost, left)
            left -= lost
        elif stage.unit in ("shard", "file") or stage.kind == "group":
            if one.caught in _OF_FILES:
                continue
            what = "shard" if one.caught in _OF_SHARDS else unit
            lost = min(lost, came) if what == "shard" else lost
        if not lost:
            continue
        each = _size(stages, number) if what == "batch" else 1.0
        yield Lost(
            stage=stage,
            by=one,
            unit="sample" if what == "batch" else what,
            number=round(lost * each),
            in_batches=what == "batch",
        )


def _size(stages: tuple[Passed, ...], number: int) -> float:
    """Say how many samples a batch holds that comes to a stage."""
    for at in range(number - 1, 0, -1):
        if stages[at - 1].unit == "sample":
            return stages[at - 1].gave / stages[at].gave if stages[at].gave else 1.0
    return 1.0
