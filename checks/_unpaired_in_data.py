"""Tells samples that lack what a live loader takes, or what most of their data set have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from preflight.facts import DatasetCaptions, FolderFacts, Lacking, ShardFacts, Uncaptioned
from preflight.finding import Finding, Location, Severity
from preflight.pairing.rules import NO_CHANCE, PLAIN
from preflight.values.names import counted, first_of

from ._handler_words import told_by

SHARE = 0.1
"""The part of all samples that is an error where it lacks something, and no reader stops at it."""


def to_tell(facts: ShardFacts) -> ShardFacts:
    """Leave out the few that the job copes with by itself; half of them may not be meant."""
    coped = [one for one in facts.lacking if one.how in ("chosen", "filled-in")]
    few = [one for one in coped if 2 * one.samples < _all(facts)]
    return replace(facts, lacking=tuple(one for one in facts.lacking if one not in few))


def by_loader(found: Callable[..., Finding], facts: ShardFacts) -> Iterator[Finding]:
    """Tell, of each field that the loader asks for, the samples of a shard that lack it."""
    for one in facts.lacking:
        asked = " or ".join(f".{name}" for name in one.field)
        keys = first_of(one.keys, one.samples)
        yield found(
            f"{one.samples:,} of {counted(_all(facts), 'sample')} {_have(one.samples)} no {asked}: "
            f"{keys}",
            at=Location(file=facts.file),
            severity=_severity(one, facts),
            why=_why(one, facts),
            fix=_fix(one, asked, facts),
            evidence={"lacks": asked, "samples": one.samples, "of": _all(facts)},
            about=asked,
        )


def _fix(one: Lacking, asked: str, facts: ShardFacts) -> str:
    split = {key for odd in facts.oddities if odd.kind == "split" for key in odd.names}
    if not split.isdisjoint(one.keys):
        return "Pack it again with the files of a sample side by side (tar --sort=name)."
    if one.samples < _all(facts):
        return f"Add the {asked}, or have the loader ask for what is there."
    fields = dict.fromkeys(f".{name}" for each in facts.arrived for name in each.fields)
    if fields and all("." in name[1:] for name in fields):
        return (
            "Pack it again without dots in its names, at the first of which a key ends; or have "
            f"the loader ask for what is there ({first_of([*fields], len(fields))})."
        )
    there = first_of([*fields], len(fields))
    return f"Have the loader ask for what is there ({there}), or add the {asked}."


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def of_taken(findings: Iterator[Finding], facts: ShardFacts) -> Iterator[Finding]:
    """Judge what a guess tells, too, by what the loader does that asks for it."""
    worst = max(facts.lacking, key=lambda one: _severity(one, facts))
    for one in findings:
        yield replace(one, severity=_severity(worst, facts), why=_why(worst, facts))


def _why(one: Lacking, facts: ShardFacts) -> str:
    line = f" ({one.at.file}:{one.at.line})" if one.at.line else ""
    if one.how == "chosen":
        return f"{one.chosen} of {facts.taken_by} takes them out, before {one.stage}{line} asks."
    if one.how == "filled-in":
        return f"{one.stage}{line} of {facts.taken_by} gives None in its place, and no error."
    return f"{facts.taken_by} asks for it: {one.stage}{line} {_does(one)}."


def _all(facts: ShardFacts) -> int:
    return sum(one.samples for one in facts.arrived)


def _severity(one: Lacking, facts: ShardFacts) -> Severity:
    """Let a few that a handler drops leave the job alive, and texts under another name."""
    bare = sum(arrived.samples for arrived in facts.arrived if _is_bare(one, arrived.fields))
    few = 2 * one.samples < _all(facts) and bare < SHARE * _all(facts)
    if one.how in ("chosen", "filled-in") or _may_be_chosen(one):
        return Severity.WARNING
    return Severity.WARNING if few and one.how == "goes-on" else Severity.ERROR


def _may_be_chosen(one: Lacking) -> bool:
    return one.how == "unknown" and bool(one.chosen)


def _is_bare(one: Lacking, fields: tuple[str, ...]) -> bool:
    """Whether a sample has neither the field nor, where that is a text, another text."""
    instead = PLAIN if PLAIN.intersection(one.field) else frozenset()
    return instead.union(one.field).isdisjoint(fields)


def _does(one: Lacking) -> str:
    if one.how == "goes-on":
        return f"drops them {told_by([one.handler_name])}"
    if one.how == "stops":
        return "ends the stream at the first of them"
    if _may_be_chosen(one):
        return f"raises, unless {one.chosen} takes them out before (a guess)"
    return "raises at the first of them" if one.how == "raises" else "raises, or drops them"


def by_data_set(found: Callable[..., Finding], facts: DatasetCaptions) -> Iterator[Finding]:
    """Tell the images of a shard that lack the caption which most of the data set have."""
    for one in facts.uncaptioned:
        yield found(
            f"{one.samples:,} of {counted(one.images, 'image')} {_have(one.samples)} no "
            f".{one.caption}: "
            f"{first_of(one.keys, one.samples)}",
            at=Location(file=one.file),
            severity=_severity_of(one),
            why=f"{facts.captioned:,} images of the data set have one: {_harm(one)}.",
            fix='Write the captions, or say captions = "none" where none are meant to be.',
            evidence={"lacks": "caption", "samples": one.samples, "of": one.images},
            about="caption",
        )
    if facts.dotted:
        yield _of_dots(found, facts)
    for shard in facts.unlike:
        yield found(
            f"has no .{shard.field} in {counted(shard.samples, 'sample')}",
            at=Location(file=shard.file),
            severity=Severity.WARNING,
            why=f"{shard.having:,} samples of the data set have one: what asks for it raises on "
            "those without, or a handler drops them (a guess: nobody says what reads them).",
            fix="Pack the shard again with it, or make sure that nothing asks for it.",
            evidence={"lacks": shard.field, "samples": shard.samples},
            about=f"no {shard.field}",
        )


def _of_dots(found: Callable[..., Finding], facts: DatasetCaptions) -> Finding:
    """Tell samples of which every field has the end of a name for its beginning."""
    first, last = facts.dotted[0], facts.dotted[0].rpartition(".")[2]
    return found(
        f"has no .{last} in {counted(facts.samples, 'sample')}, and "
        f"{first_of([f'.{one}' for one in facts.dotted], len(facts.dotted))} in its place: "
        "webdataset ends the key of a sample at the first dot of a name",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why=f'A loader that asks for "{last}" raises at the first sample, or drops all of them '
        "without a word (a guess: nobody says what is asked for).",
        fix="Pack them again without dots in their names, or ask for the fields that are there.",
        evidence={"samples": facts.samples, "field": first},
        about="dots",
    )


def _harm(one: Uncaptioned) -> str:
    if one.decided_by:
        return f"nobody knows before it runs what {one.decided_by} does with those without"
    if one.asked is not None:
        line = f" ({one.asked.at.file}:{one.asked.at.line})" if one.asked.at.line else ""
        return f"{one.asked.stage}{line}, as the source is written, {_does(one.asked)}"
    if one.given_whole_by:
        return f"{one.given_whole_by} asks for no field, and what takes those without may raise"
    return (
        "what asks for it raises on those without, or a handler drops them (a guess: nobody says "
        "what reads them)"
    )


def _severity_of(one: Uncaptioned) -> Severity:
    """Leave it open whether a shard without any caption is meant so: class images, say."""
    is_dropped = one.asked is not None and one.asked.how == "goes-on"
    few = 2 * one.samples < one.images
    is_chosen = one.asked is not None and _may_be_chosen(one.asked)
    is_open = one.samples == one.images or one.decided_by or is_chosen or (is_dropped and few)
    return Severity.WARNING if is_open else Severity.ERROR


def is_open(facts: ShardFacts) -> bool:
    """Whether code of the user's takes the samples, and what they lack is judged by a guess."""
    return bool(facts.decided_by) and facts.pairing is not None and facts.pairing.rule == "auto"


def of_own_stage(findings: Iterator[Finding], facts: ShardFacts) -> Iterator[Finding]:
    """Tell as a warning what a stage of the user's own may fill in, or raise at."""
    why = (
        f"Most of the others have one (a guess: {facts.decided_by} takes what it will, and nobody "
        "knows before it runs whether it fills this in, drops the sample or raises)."
    )
    if facts.all_came:
        why = f"All samples come through {facts.decided_by}, with what it puts in its place."
    for one in findings:
        yield replace(one, severity=min(one.severity, Severity.WARNING), why=why)


def of_whole_samples(findings: Iterator[Finding], facts: ShardFacts) -> Iterator[Finding]:
    """Say of samples of which a loader asks for no field that they come as they are."""
    why = f"{facts.given_whole_by} asks for no field: such a sample comes without it, "
    if facts.pairing is not None and facts.pairing.rule == "auto":
        why = f"Most of the others have one (a guess), and {why}"
    why += "or a filter takes it out." if facts.chosen_by else "and what takes it may raise."
    for one in findings:
        yield replace(one, why=why) if "to_tuple" in (one.why or "") else one


def of_asking(findings: Iterator[Finding], facts: FolderFacts) -> Iterator[Finding]:
    """Tell as a warning what a source asks for before it reads it."""
    why = f"{facts.asked_by} asks whether it is there, and goes on without: the image is left out, "
    for one in findings:
        yield replace(
            one,
            severity=min(one.severity, Severity.WARNING),
            why=f"{why}or trained with an empty caption (a guess, by the source alone).",
        )


def of_a_few(
    found: Callable[..., Finding], file: str, few: int, images: int, *, has_json: bool
) -> Finding:
    """Tell that only some images have a text: they may be captions, and the others lack theirs."""
    share, lacking = few / max(1, images), images - few
    severity = Severity.ERROR if share >= NO_CHANCE and not has_json else Severity.WARNING
    told = f"has a caption for {few:,} of {counted(images, 'image')}, and "
    meant = '"json", where JSON holds them,' if has_json else '"none"'
    return found(
        told + (f"only JSON for {lacking:,}" if has_json else f"none for {lacking:,}"),
        at=Location(file=file),
        severity=severity if share >= SHARE else Severity.NOTE,
        why="Where the texts are captions (a guess, as no rule is named), a captioner stopped on "
        "its way: the other images are left out, or trained with an empty caption.",
        fix=f"Write the other captions; or say captions = {meant} in preflight.toml.",
        evidence={"lacks": "caption", "samples": lacking},
        about="few",
    )
