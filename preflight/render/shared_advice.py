"""Advice that several findings have in common: each piece of it once, under all that share it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from preflight.findings.finding import Finding
from preflight.render.groups import is_command

# How much of a place it is about, before the reason that may be the same for others.
_SHARE = re.compile(r"(?P<share>[\d,]+ of [\d,]+ [^:.]+): (?P<reason>.+)", re.DOTALL)

# Between two sentences; behind a colon stands what an exception says, which is told as a whole.
_BETWEEN = re.compile(r"(?<=[.?!]) (?=[A-Z`])")
_QUOTES = re.compile(r": \S")

# A word or a name, without the full stop behind it.
_NAME = re.compile(r"[\w.-]*\w")

Advice: TypeAlias = tuple[str | None, ...]
"""Why it matters, what to do, and what runs today."""

_Part: TypeAlias = tuple[int, str]
"""A share, a sentence of a reason, an advice without names: which of them it is, and its text."""

_SHARES, _SENTENCES, _FIXES, _WORKAROUNDS = range(4)


class Sharing(NamedTuple):
    """Findings, and what stands once under them."""

    findings: tuple[Finding, ...]
    """Of all sorts, those of one sort side by side."""

    advice: Advice
    sorts: tuple[Sharing, ...] = ()
    """Where not all is the same for all: those that share more, each with what is left to say."""


class _Said(NamedTuple):
    """A finding with the parts of its advice that nobody has told so far, in its own words."""

    one: Finding
    parts: Mapping[_Part, str]


def advice(found: Iterable[Finding]) -> Sharing:
    """Tell each sentence of a reason, and each advice, under all findings that share it.

    It is the same, too, where only names differ that each finding tells itself. Of a reason that
    concerns another share of each place, the share is left to the place.
    """
    forms: dict[str, str] = {}
    return _told([_Said(one, dict(_parts(one, forms))) for one in found])


def _parts(one: Finding, forms: dict[str, str]) -> Iterator[tuple[_Part, str]]:
    share, reason = _share_and_reason(one.why)
    if share:
        yield (_SHARES, share), share
    for said in _sentences(reason or ""):
        yield (_SENTENCES, said.replace(one.at.file or "\0", "")), said
    for which, text in ((_FIXES, one.fix), (_WORKAROUNDS, one.workaround)):
        if text:
            yield (which, forms.setdefault(text, _without_names(text, one))), text


def _sentences(text: str) -> Iterator[str]:
    every = iter(_BETWEEN.split(text))
    for one in every:
        yield from filter(None, [" ".join([one, *every]) if _QUOTES.search(one) else one])


def _told(those: Sequence[_Said]) -> Sharing:
    first, *others = those
    shared = [part for part in first.parts if all(part in said.parts for said in others)]
    told = _in_words(those, shared)
    left = [
        _Said(one, {part: text for part, text in parts.items() if part not in shared})
        for one, parts in those
    ]
    if not any(said.parts for said in left):
        return Sharing(tuple(said.one for said in those), told)
    sorts = tuple(_sorts(left))
    return Sharing(tuple(one for each in sorts for one in each.findings), told, sorts)


def _sorts(those: Sequence[_Said]) -> Iterator[Sharing]:
    """Put each finding to those with which it shares the most common of what is left to say."""
    counts = Counter(part for said in those for part in said.parts)
    sorts: dict[_Part | None, list[_Said]] = {}
    for said in those:
        most = max(said.parts, key=lambda part: counts[part], default=None)
        sorts.setdefault(most, []).append(said)
    yield from map(_told, sorts.values())


def _in_words(those: Sequence[_Said], parts: Sequence[_Part]) -> Advice:
    """Put together what is told of all of these."""
    words: tuple[list[str], ...] = ([], [], [], [])
    for part in parts:
        words[part[0]].append(_of_first([said.parts[part] for said in those]))
    share, why, fix, workaround = (" ".join(said) or None for said in words)
    if share:
        why = f"{share}: {why}" if why else f"{share}."
    elif why and _SHARE.fullmatch(those[0].one.why or "") and why.partition(" ")[0].isalpha():
        why = why[0].upper() + why[1:]  # and no name of code
    return why, fix, workaround


def _share_and_reason(why: str | None) -> tuple[str | None, str | None]:
    match = _SHARE.fullmatch(why or "")
    return (match["share"], match["reason"]) if match else (None, why)


def _without_names(text: str, one: Finding) -> str:
    """Take out of an advice what its finding names; of what is to be copied, nothing."""
    own = set(_NAME.findall(f"{one.at} {one.message}"))
    return (
        text if is_command(text) else _NAME.sub(lambda name: name[0] * (name[0] not in own), text)
    )


def _of_first(texts: Sequence[str]) -> str:
    if len(set(texts)) == 1:
        return texts[0]
    return f"{texts[0].removesuffix('.')}, and the others alike."
