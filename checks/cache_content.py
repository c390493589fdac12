"""A cached file whose numbers are not what a training run can use; asked with --deep.

What it finds
    With --deep, torch loads every cached file (weights_only) and looks at its numbers: NaN and
    infinity (but -inf in masks, and single numbers such as the best loss so far), tensors that hold
    nothing but zeros, and views that were saved with the whole storage behind them. Where five
    files or more lie beside each other, it also finds the few that are unlike all others: a key
    that is missing, another number of dimensions, another type, another number of channels or
    features. Sizes that vary by nature (height and width, tokens) are left free, and so is what
    many files have in common. A file is told once, for the gravest of what stands out. In a folder
    of checkpoints, those that have a newer one beside them are warnings: no job that goes on takes
    them. Zeros are left alone in all of them: weights begin so.

Why it matters
    One NaN in one cached latent turns every weight of the model into NaN at the step that meets it,
    which may be hours into the run; the loss says nan, and not which file. An embedding of zeros
    trains the model on nothing. A file that was left by other settings stops the run when it first
    comes into a batch with the others.

What to do
    Move the file aside and have it made again by the settings that made the others; where NaN comes
    back, encode in bfloat16 or float32. Save a clone() of a view.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from preflight.check import check
from preflight.facts import CacheContents, OddContent
from preflight.finding import Aside, Finding, Location, Scalar, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import counted

from ._aside import PART

AGAIN = "Move it aside, and have it made again by the settings that made the others."

# A state of a run, which no settings can make again.
_STATE = r"(?:^|/)(?:checkpoint-|global_step)\d+/"
_DIVERGED = "Most likely its run had diverged; what goes on from it computes NaN at once."
_BEFORE = "Go on from a checkpoint that was written before the loss became NaN."

# Types of two of which torch.stack makes one batch, wherever it puts it.
_STACKED = frozenset({"float16", "bfloat16", "float32", "float64"})


class _Words(NamedTuple):
    severity: Severity
    message: Callable[[OddContent], str]
    why: str
    fix: str


def _nothing_loaded(contents: CacheContents, _: Job) -> str | None:
    """Say why no file was loaded, where none was: the reason of most."""
    if contents.files or not contents.skipped:
        return None
    reason = max(contents.skipped, key=lambda one: contents.skipped[one])
    return f"no cached file was loaded: {reason}"


@check(
    over=CacheContents,
    title="cached file whose numbers a run cannot use",
    many="places where cached files hold what a run cannot use",
    severity=Severity.ERROR,
    skip=_nothing_loaded,
)
def cache_content(contents: CacheContents, _: Job) -> Iterator[Finding]:
    """Tell what stands out: of a file the gravest, of a folder all."""
    for odd, others in _gravest(contents.odd):
        words = _WORDS[odd.kind]
        if odd.kind in ("nan", "infinite") and _is_state(odd):
            words = words._replace(why=_DIVERGED, fix=_BEFORE)
        mild = odd.kind == "dtype" and {odd.seen, odd.usual} <= _STACKED
        severity = Severity.WARNING if mild or odd.is_older else words.severity
        stays = PART if odd.is_older or _is_state(odd) else None
        is_useless = severity is Severity.ERROR and odd.kind not in _OF_FOLDERS
        yield cache_content.found(
            words.message(odd),
            severity=severity,
            at=Location(file=odd.file, name=odd.path or None),
            why=_MILD if mild else words.why,
            fix=words.fix,
            aside=(Aside(file=odd.file, stays=stays),) if is_useless else (),
            evidence=_evidence(odd, others),
            about=odd.kind,
        )


def _gravest(all_odd: Iterable[OddContent]) -> Iterator[tuple[OddContent, list[str]]]:
    """Give the gravest oddity of each file, with the kinds of its others."""
    by_file: dict[str, list[OddContent]] = {}
    for odd in all_odd:
        if odd.kind in _OF_FOLDERS:
            yield odd, []
        elif not (odd.kind == "zero" and _is_state(odd)):  # where a bias or an adapter starts
            by_file.setdefault(odd.file, []).append(odd)
    for those in by_file.values():
        first, *others = sorted(those, key=lambda odd: _ORDER[odd.kind])
        yield first, sorted({odd.kind for odd in others})


def _is_state(odd: OddContent) -> bool:
    return odd.is_state or re.search(_STATE, odd.file) is not None


def _too(odd: OddContent) -> str:
    return f" and in {counted(odd.more, 'more tensor')} of the file" if odd.more else ""


def _nan(odd: OddContent) -> str:
    return f"holds {odd.count:,} NaN among {counted(odd.of, 'number')} ({odd.seen}){_too(odd)}"


def _infinite(odd: OddContent) -> str:
    numbers = counted(odd.count, "infinite number")
    return f"holds {numbers} among {odd.of:,} ({odd.seen}){_too(odd)}"


def _zero(odd: OddContent) -> str:
    return f"holds nothing but zeros ({odd.seen}){_too(odd)}"


def _storage(odd: OddContent) -> str:
    saved, used = format_size(odd.count), format_size(odd.of)
    return f"takes {saved} on disk for a view of {used} ({odd.seen}){_too(odd)}"


def _neighbours(odd: OddContent) -> str:
    return f"{counted(odd.count, 'file')} beside it"


_MILD = "torch.stack makes one batch of both, in the wider type: it takes more memory than planned."
_STACK = "A batch of both cannot be stacked: the run stops when the two first meet."

_WORDS: Mapping[str, _Words] = {
    "nan": _Words(
        Severity.ERROR,
        _nan,
        "The step that meets it turns every weight into NaN; the loss does not say which file.",
        "Move it aside and have it made again, in bfloat16 or float32 where float16 overflows.",
    ),
    "infinite": _Words(
        Severity.ERROR,
        _infinite,
        "The step that meets it turns the loss into inf or NaN, and then every weight.",
        "Move it aside and have it made again, in bfloat16 or float32 where float16 overflows.",
    ),
    "zero": _Words(
        Severity.WARNING,
        _zero,
        "The model learns nothing from it, or that its sample looks like nothing.",
        "Look at the sample that it was made of, and have it made again. The embedding of an "
        "empty prompt may be zero.",
    ),
    "all-zero": _Words(
        Severity.WARNING,
        lambda odd: f"holds nothing but zeros in all of {counted(odd.count, 'file')}",
        "The model learns nothing from it.",
        "Look at what writes the cache: nothing was encoded.",
    ),
    "storage": _Words(
        Severity.WARNING,
        _storage,
        "torch.save writes the whole storage of a view, and each read fetches all of it.",
        "Save tensor.clone() in place of the view.",
    ),
    "missing-key": _Words(
        Severity.ERROR,
        lambda odd: f"is not in this file, where {_neighbours(odd)} have it",
        "The code that reads it stops with a KeyError when it comes to this file.",
        AGAIN,
    ),
    "extra-key": _Words(
        Severity.WARNING,
        lambda odd: f"is in this file, and not in {_neighbours(odd)}",
        "It was made by other settings than they, and its numbers may differ from theirs.",
        AGAIN,
    ),
    "kind": _Words(
        Severity.ERROR,
        lambda odd: f"holds a {odd.seen}, where {_neighbours(odd)} hold a {odd.usual}",
        "The code that reads the others cannot read it.",
        AGAIN,
    ),
    "rank": _Words(
        Severity.ERROR,
        lambda odd: f"has {odd.seen}, where {_neighbours(odd)} have {odd.usual}",
        _STACK,
        AGAIN,
    ),
    "dtype": _Words(
        Severity.ERROR,
        lambda odd: f"is {odd.seen}, where {_neighbours(odd)} have {odd.usual}",
        _STACK,
        AGAIN,
    ),
    "mixed-dtype": _Words(
        Severity.WARNING,
        lambda odd: f"is {odd.usual} in {odd.count:,} files, and {odd.seen}",
        "It was made twice, by different settings; what one batch holds depends on chance.",
        "Have the files of one of the two made again.",
    ),
    "shape": _Words(
        Severity.WARNING,
        lambda odd: f"is {odd.seen}, where {_neighbours(odd)} have {odd.usual}",
        "It looks like the work of another model; the run stops when it meets the others.",
        AGAIN,
    ),
}


_OF_FOLDERS = frozenset({"all-zero", "mixed-dtype"})

# Of what a file is told for, where it is odd in several ways: errors first.
_ORDER = {kind: (-words.severity, number) for number, (kind, words) in enumerate(_WORDS.items())}


def _evidence(odd: OddContent, others: Sequence[str]) -> dict[str, Scalar]:
    evidence: dict[str, Scalar] = {"kind": odd.kind, "others": ", ".join(others)}
    evidence |= {"count": odd.count, "of": odd.of, "seen": odd.seen, "usual": odd.usual}
    return {name: value for name, value in evidence.items() if value}
