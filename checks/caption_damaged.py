"""A caption that is no plain text in UTF-8.

What it finds
    Texts with captions, in shards and beside the images of folders: bytes that are no UTF-8
    (Latin-1, Windows-1252, Shift-JIS, …), UTF-16, null characters, a byte-order mark before the
    text, pointers of Git LFS in place of it, HTML pages where most captions are none. UTF-8 of any
    language is whole, and so is a text that ends with line feeds. With `--depth index` no caption
    is read; tables (metadata.jsonl, metadata.csv) are sample-unpaired's.

Why it matters
    webdataset's `decode()` and trainers that read folders (sd-scripts, SimpleTuner, OneTrainer)
    decode captions as UTF-8: UnicodeDecodeError, or a sample that a handler drops without a word.
    Null characters and a byte-order mark decode, and become a part of the text: the tokenizer gives
    tokens for them, and a first word that is meant as a trigger is another one.

What to do
    Save the captions as UTF-8 without a byte-order mark (`iconv -f LATIN1 -t UTF-8`, once it is
    known what they are). Write those anew that hold null characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from preflight.check import Foreign, check
from preflight.facts import CaptionFlaw, FolderFacts, ShardFacts
from preflight.finding import Finding, Severity
from preflight.job import Job

from ._captions import aside, examples, not_read, of_many, place_of
from ._handler_words import dropped


class _Words(NamedTuple):
    """What is said of one kind of flaw."""

    one: str
    """Of a single caption, as a predicate."""

    many: str
    """Of several, behind `that`."""

    fix: str


_RAISES = "Captions are decoded as UTF-8: "
_IN_SHARD = "webdataset's decode() raises, or a handler drops the sample without a word."
_IN_FOLDER = "sd-scripts, SimpleTuner and others raise UnicodeDecodeError at it."
_KEPT = "It decodes as UTF-8, and becomes part of the text, with tokens of its own."

_PLAIN = "Save {} as UTF-8 without a byte-order mark."
_ANEW = "Write {} anew: a text of which a part is lost is no caption."

_WORDS = {
    "encoding": _Words("is no UTF-8", "are no UTF-8", _PLAIN),
    "utf-16": _Words("is UTF-16, and no UTF-8", "are UTF-16, and no UTF-8", _PLAIN),
    "zeros": _Words("is nothing but null characters", "are nothing but null characters", _ANEW),
    "nul": _Words("has null characters in its text", "have null characters in their text", _ANEW),
    "padding": _Words(
        "has null characters behind its text",
        "have null characters behind their text",
        "Cut the null characters off {}.",
    ),
    "mark": _Words("begins with a byte-order mark", "begin with a byte-order mark", _PLAIN),
    "not-fetched": _Words(
        "is a Git LFS pointer, and no text",
        "are Git LFS pointers, and no text",
        "Fetch {}:  git lfs pull",
    ),
    "page": _Words(
        "is an HTML page, and no text",
        "are HTML pages, and no text",
        "Fetch {} anew: it is what a server says where there is no caption (a guess).",
    ),
}

_BY_THE_JOB = (
    "The job takes its bytes, and no decode() of webdataset's reads them: it raises where the job "
    "decodes them as UTF-8 (a guess)."
)

_AS_BYTES = frozenset({"read", "raw"})

_MILDER = frozenset({"padding", "mark", "page"})
_UNDECODABLE = frozenset({"encoding", "utf-16"})
_USABLE = frozenset({"padding", "mark", "not-fetched"})  # or to be had by a command


def _is_nothing_to_ask(facts: ShardFacts | FolderFacts, job: Job) -> str | None:
    if isinstance(facts, ShardFacts) and facts.texts == "left":
        return Foreign(f"{facts.taken_by} takes no captions")
    return not_read(facts, job)


@check(
    over=(ShardFacts, FolderFacts),
    title="caption that is no plain text in UTF-8",
    many="places hold captions that are no plain text in UTF-8",
    severity=Severity.ERROR,
    skip=_is_nothing_to_ask,
)
def caption_damaged(facts: ShardFacts | FolderFacts, _job: Job) -> Iterator[Finding]:
    """Tell all captions of one place that are wrong in one way as one."""
    for flaw in facts.captions.flaws:
        words, use = _WORDS.get(flaw.kind), _use_of(flaw, facts)
        if words is None or use == "left" or (use == "decoded" and flaw.kind not in _UNDECODABLE):
            continue  # caption-empty's, or of a text that goes no further
        if _is_read_by_the_job(flaw, facts, use) or _is_what_all_are(flaw, facts):
            continue
        coped = _coped_with(flaw, facts, use)
        alone = flaw.captions == 1
        message = f"has {of_many(flaw, facts)} that {words.many}: {examples(flaw, facts)}"
        yield caption_damaged.found(
            words.one if alone else message,
            at=place_of(flaw, facts),
            severity=Severity.WARNING if flaw.kind in _MILDER or coped else Severity.ERROR,
            why=coped or _why(flaw, use, in_shard=isinstance(facts, ShardFacts)),
            fix=words.fix.format("it" if alone else "them"),
            aside=() if flaw.kind in _USABLE else aside(flaw, facts),
            evidence={"kind": flaw.kind, "captions": flaw.captions, "of": facts.captions.captions},
            about=flaw.kind,
        )


def _use_of(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> str:
    if not isinstance(facts, ShardFacts):
        return "taken"
    uses = [facts.use_of(one, facts.texts) for one in flaw.names]
    return uses[0] if len(set(uses)) == 1 else facts.texts


def _is_read_by_the_job(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts, use: str) -> bool:
    """Whether a function of the job's reads its bytes in its own way, and did so in an epoch."""
    is_run_through = isinstance(facts, ShardFacts) and facts.is_run_through
    return use == "read" and is_run_through and flaw.kind in _UNDECODABLE


def _is_what_all_are(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts) -> bool:
    """Whether a data set is of pages of HTML, which a model is to write."""
    return flaw.kind == "page" and 2 * flaw.captions >= facts.captions.captions


def _coped_with(flaw: CaptionFlaw, facts: ShardFacts | FolderFacts, use: str) -> str:
    """Say how a job may come past a text that is no UTF-8; empty: it stops, as far as is known."""
    if flaw.kind not in _UNDECODABLE or not isinstance(facts, ShardFacts):
        return ""
    handlers = [facts.drops(one) for one in flaw.names]
    if all(handlers) and (why := dropped("".join(handlers[:1]), flaw.captions, facts.samples)):
        return why
    if not facts.is_run_through:
        return ""
    if use in _AS_BYTES:
        return _BY_THE_JOB
    if facts.chosen_by:
        return f"{facts.chosen_by} takes it out (a guess): an epoch was run to its end."
    return ""


def _why(flaw: CaptionFlaw, use: str, *, in_shard: bool) -> str:
    if use in _AS_BYTES and flaw.kind in _UNDECODABLE:
        return _BY_THE_JOB
    if flaw.kind == "encoding":
        return f"{_RAISES}{_IN_SHARD if in_shard else _IN_FOLDER}"
    if flaw.kind == "utf-16":
        return f"{_RAISES}it raises, or gives a null character beside each letter."
    if flaw.kind == "not-fetched":
        return "The job trains on the words of the pointer."
    if flaw.kind == "page":
        return "The job trains on the words of the page; most captions beside it are no pages."
    if flaw.kind == "zeros":
        return "The image is trained with no text, or with tokens that mean nothing."
    if flaw.kind == "mark":
        return f"{_KEPT} A trigger word behind it is another word."
    return _KEPT
