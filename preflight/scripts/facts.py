"""What is seen of a script while it runs as itself, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from preflight.users_code.facts import Frame, Lack, Unfound
from preflight.values.names import counted, first_of, shown

SETUP, TRAINING, EVALUATION = "setup", "training", "evaluation"
"""What a script was at."""

LEFT = "left in eval"
"""Of a model that was trained on as an evaluation had left it."""


# What Pillow says of an image that is cut, or is none.
_OF_IMAGE = re.compile(
    r"(\w+\.)*UnidentifiedImageError|SyntaxError: broken PNG"
    r"|OSError: (image file is truncated|(broken|unrecognized) data stream)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Met:
    """Something that the script did while it ran, with its own line for it."""

    what: str
    """`loader`, `evaluation`, `loss` (of an evaluation), `step`, `copy`, `save`, `sample` (saved,
    and nothing to go on from), `wrap`, `runs out`
    (a schedule of `name` steps, moved `count` times in whole epochs), `left in eval` (of a model
    that was trained on for `count` steps, what of it evaluates by `name`), `goes round` (over a
    loader that was begun `count` times in a row, and gave nothing), …"""

    at: Frame | None = None
    """The script's own innermost line that did it; None: no line of its own."""

    name: str = ""
    """What tells two of one line apart: a file that was written, the class of an optimizer, the
    backend of a process group, what wraps a model."""

    count: int = 1
    """How often; of a loader, the batches that it gave."""

    epochs: int = 0
    """Of a loader: how often it was begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """An exception that nothing in the script caught."""

    error: str
    """Its type and text."""

    frames: tuple[Frame, ...] = ()
    """The script's own lines, the innermost last."""

    while_at: str = SETUP
    """`setup`, `training` or `evaluation`."""

    thread: str = ""
    """Of a thread in the background: its name."""

    is_process: bool = False
    """Whether a process that the script has started raised it, and the script itself went on."""

    lacks: Lack | None = None
    """What is not here, where it was raised for want of it."""

    unfound: Unfound | None = None
    """What an import of the job's own code did not find."""

    told_by: str = ""
    """The check that tells the same of an object that was met: `model-uncopyable`."""

    behind: bool = False
    """Whether a loop was left early by us before it: the job may come there otherwise."""

    not_passed: Frame | None = None
    """The test of a score which a training in short may not have passed, where that may be why."""

    @property
    def is_of_image(self) -> bool:
        """Whether Pillow says it of an image; the line that opens it is not at fault."""
        return _OF_IMAGE.match(self.error) is not None


class RankLength(NamedTuple):
    """How long an epoch of a loader is, as one rank of a process group has it."""

    rank: int
    batches: int
    samples: int
    at: Frame | None = None
    """The line that begins it."""


class Waiting(NamedTuple):
    """Where one thread stood when nothing went on any more."""

    process: str
    """`script`, or `process 4711` for what it has started."""

    thread: int
    """Counted from 1; the main thread is 1."""

    frames: tuple[Frame, ...]
    """The script's own lines, the innermost last."""

    within: str = ""
    """The innermost line of all, also where it is not the script's own: `queue.py:180 in get`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a script came to its end."""

    how: str
    """`returned`; `exited`: with a code of its own; `raised`; `stuck`: nothing went on any more;
    `stopped`: by us, since enough was seen; `late`: by us, still at work; `died`: by a signal."""

    code: int | None = None
    """Its exit code, where it had one."""

    said: str = ""
    """The text with which it has exited: `sys.exit("unknown option --lrr")`."""

    raised: Raised | None = None
    waiting: tuple[Waiting, ...] = ()
    """Of a script that was stuck or late: where each thread stood."""

    silent: float = 0.0
    """Of a script that was stuck or late: seconds without a sign of it."""

    told_by: str = ""
    """Of a script that was stuck: the check that tells why no batch came."""

    unfinished: bool = False
    """Whether what it does at its end took longer than it was given."""


class RunMore(NamedTuple):
    """How a script was run once more, since it may have lacked batches alone."""

    batches: int
    """Of an epoch."""

    epochs: int
    before: Raised
    """What it raised with fewer of them."""

    is_whole: bool = False
    """Whether nothing was left out then."""

    as_written: bool = False
    """Whether its arguments were as the script has them, which were made less before."""

    @property
    def given(self) -> str:
        """Say how much it was given."""
        epochs = counted(self.epochs, "epoch")
        also = ", and its arguments as they are" if self.as_written else ""
        return f"{counted(self.batches, 'batch', 'batches')} of an epoch and {epochs}{also}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """A script that was run as itself, in short."""

    name: str
    """As it was typed, with its arguments."""

    file: str
    """The script."""

    ended: Ended
    seconds: float = 0.0
    met: tuple[Met, ...] = ()
    """What it did, in order; one for each line that did it."""

    steps: int = 0
    """How often it computed gradients."""

    threads: tuple[Raised, ...] = ()
    """What threads and processes in the background raised, which ends them and not the script."""

    shortened: tuple[str, ...] = ()
    """What was shortened, in words: `50,000 batches of an epoch to 2 (train.py:40)`."""

    on_cpu: Frame | None = None
    """The line that asked for a GPU first, for which the CPU stood in."""

    more: RunMore | None = None
    """Where it was run once more: what is told here is what came of that, unless it stopped at the
    same line again."""

    def times(self, what: str) -> int:
        """Say how often something was met."""
        return sum(one.count for one in self.met if one.what == what)

    @property
    def batches(self) -> int:
        """Batches that its loaders gave."""
        return self.times("loader")

    @property
    def is_idle(self) -> bool:
        """Whether it ended as if all were well, and had not trained."""
        ended = self.ended
        return ended.how in {"returned", "exited"} and not (
            ended.code or self.batches or self.steps
        )

    @property
    def stops_again(self) -> bool:
        """Whether it was run once more, and stopped at the same line."""
        now = self.ended.raised
        return self.more is not None and now is not None and self.more.before.frames == now.frames

    @property
    def is_certain(self) -> bool:
        """Whether it stopped at the same line when nothing was left out."""
        return self.more is not None and self.more.is_whole and self.stops_again

    @property
    def not_reached(self) -> tuple[str, ...]:
        """Name what no such script is without and was not seen: it was not rehearsed."""
        wanted = {"evaluation": "evaluation", "save": "save"}
        return tuple(word for what, word in wanted.items() if not self.times(what))


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRanks:
    """The ranks of a process group that a script has started itself."""

    name: str
    """Of the script, as it was typed."""

    lengths: tuple[RankLength, ...]
    """Of their loaders, as each rank begins them."""

    evaluates: tuple[Frame, ...] = ()
    """The lines that evaluate."""

    evened: bool = False
    """Whether a rank with fewer batches is not waited for (`Join`)."""


def in_words(found: Sequence[Rehearsal]) -> str | None:
    """Say what was seen, what was shortened, and what was not rehearsed."""
    return "; ".join(_one(each) for each in found) or None


def _seldom(seen: Rehearsal) -> str:
    """Say by which option it would come to what comes seldom."""
    found = [(one.at, one.name) for one in seen.met if one.what == "seldom" and one.at]
    said = [f"; --batches {name} comes to {at.file}:{at.line}" for at, name in found if name]
    others = [f"{at.file}:{at.line} ({at.text.rstrip(':')})" for at, name in found if not name]
    if others:
        tests = first_of(others, len(others))
        said.append(f"; may stand behind {tests}, to which a smaller number there comes")
    return "".join(said)


def _once_more(seen: Rehearsal) -> str:
    """Say why it was given more than was asked for."""
    if seen.more is None:
        return ""
    before = seen.more.before
    if seen.stops_again:
        return f"; with {seen.more.given} it stopped at the same line"
    inner = f" at {before.frames[-1].file}:{before.frames[-1].line}" if before.frames else ""
    kind = shown(before.error.partition(":")[0])
    return f"; this was its second run, with {seen.more.given}: with less it raised {kind}{inner}"


def _started(seen: Rehearsal) -> str:
    """Say which lines start programs or processes of which nothing more is seen."""
    lines = [f"{one.at.file}:{one.at.line}" for one in seen.met if one.what == "process" and one.at]
    return f"; not watched: what is started at {first_of(lines, len(lines))}" if lines else ""


def _wrote(seen: Rehearsal) -> str:
    said = ""
    for what, words in (
        ("apart", "also wrote, apart from the job:"),
        ("for real", "wrote for real:"),
    ):
        names = [one.name for one in seen.met if one.what == what]
        said += f"; {words} {first_of(names, len(names))}" if names else ""
    return said


def _one(seen: Rehearsal) -> str:
    loops = sum(one.what == "loader" for one in seen.met)
    nouns = (("evaluation", "evaluation"), ("save", "save"))
    counts = [counted(seen.times(what), noun) for what, noun in nouns if seen.times(what)]
    said = [f"{counted(seen.batches, 'batch', 'batches')} in {counted(loops, 'loop')}", *counts]
    ranks = seen.times("rank")
    said += [f"in one of {ranks} processes that it starts"] if ranks > 1 else []
    beside = seen.times("beside")
    said += [f"beside {counted(beside, 'more of itself', 'more of itself')}"] if beside else []
    line = f"run for {seen.seconds:.0f} s: {', '.join(said)}"
    for what, words in (("group", "process group:"), ("wrap", "wrapped:")):
        kinds = list(dict.fromkeys(one.name for one in seen.met if one.what == what))
        if kinds:
            line += f"; {words} {first_of(kinds, len(kinds))}"
    if seen.shortened:
        line += f"; shortened: {', '.join(map(shown, seen.shortened))}"
    missing = [*seen.not_reached]
    if seen.times("evaluation") and not seen.times("loss"):
        missing.append("loss of an evaluation")
    if missing:
        line += f"; not rehearsed: {', '.join(f'no {one}' for one in missing)} seen"
        line += _seldom(seen) if seen.not_reached else ""
    line += _once_more(seen)
    line += _started(seen)
    if seen.ended.unfinished and seen.ended.how != "stopped":
        line += "; ended by us, since what it did at its end took longer than 20 s"
    line += _wrote(seen)
    if seen.on_cpu is not None:
        line += f"; on the CPU in place of CUDA ({seen.on_cpu.file}:{seen.on_cpu.line})"
        line += ", so that a tensor on the wrong device is not seen"
    return line
