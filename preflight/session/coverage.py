"""Says which parts of the job a run looked at, how far, and what keeps that from being a GO."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from preflight.findings.check import Check
from preflight.findings.judge import Judged
from preflight.findings.parts import NOT_NAMED, OF_JOB, PART, PARTS, UNREAD, WHOLE, Covered
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kinds, kinds_of, load
from preflight.kinds.target import Target
from preflight.session.counts import Counts, by_row, may_come_of, share
from preflight.settings.job import Job
from preflight.targets.few_pictures import CODE
from preflight.targets.file_types.if_named import NamedAs
from preflight.targets.folders import holds_some
from preflight.targets.targets import Missing
from preflight.targets.words.discover import Discovered
from preflight.values.code_name import command_for
from preflight.values.names import counted, name_of


def covered(found: Discovered, counts: Counts, folder: str) -> tuple[Covered, ...]:
    """Say of each part of the job how far it was looked at, and what looks at the rest."""
    by_part: dict[str, list[Target]] = {part: [] for part in PARTS}
    for target in found.targets:
        for part in parts_of(target, counts):
            by_part[part].append(target)
    named = frozenset(target for _, target in found.pairs)
    every = [
        _covered(part, targets, _left_of(found, part, folder), counts, named)
        for part, targets in by_part.items()
    ]
    if number := len(counts.divided(found.datasets)):
        split = f"the split of {counted(number, 'data set')}"
        every = [
            replace(one, state=PART, seen=split) if one.part == "data" and not one.seen else one
            for one in every
        ]
    if found.is_part:
        every = [
            replace(one, state=PART) if (one.part, one.state) == ("data", WHOLE) else one
            for one in every
        ]
    return tuple(_with_hints(every, found, folder))


def _left_of(found: Discovered, part: str, folder: str) -> Covered:
    """Say which files of a part are not read as they lie there, those of most first."""
    unread, if_named = Counter[str](), Counter[str]()
    size, words = 0, dict[str, str]()
    for one in (files for place in found.unread for files in place.files if files.part == part):
        if one.named_as is None:
            unread[one.suffix] += one.files
            size += one.bytes
        else:
            if_named[one.suffix] += one.files
            words.setdefault(one.named_as.kind, _word(one.named_as, folder))
    return Covered(
        part=part,
        state=NOT_NAMED,
        unread=_most_first(unread),
        unread_bytes=size,
        if_named=_most_first(if_named),
        if_named_by=command_for(*(words[kind] for kind in PARTS if kind in words))
        if words
        else None,
    )


def _word(one: NamedAs, folder: str) -> str:
    return f"{one.kind}={name_of(one.path, folder)}"


def _most_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def parts_of(target: Target, counts: Counts) -> set[str]:
    """Give the parts of a job that a target stands for; what code makes is known once it is."""
    if target.part is not None:
        return {target.part} & set(PARTS)
    own = kinds_of(type(target))
    for rows in ({*counts.gave[target], *(one for one in own if one.part)}, may_come_of(target)):
        if words := {row.word for row in rows} & set(PARTS):
            return words
    return set()


def _covered(
    part: str,
    targets: Sequence[Target],
    dark: Covered,
    counts: Counts,
    named: frozenset[Target],
) -> Covered:
    every = {row for one in targets for row in (*kinds_of(type(one)), *counts.gave[one])}
    # What a script did not come to is said of the script, and not of the loaders that it has.
    words = frozenset(row.word for row in every if row.lacks is None or row.part == part)
    looked_at = {one for one in targets if any(one in counts.looked_at[word] for word in words)}
    own = {row.word for row in every if row.lacks is not None and row.part == part} or words
    left = {noun: number for (word, noun), number in counts.left.items() if word in own}
    each = {one: counts.number_of(one, part) for one in targets}
    number = sum(1 + one.more if isinstance(one, Missing) else each[one] for one in targets)
    seen_of = sum(each[one] for one in looked_at)
    beside, most, rest = _beside(part, counts)
    rows = by_row(one for one in targets if one in named)
    said = (_seen_of(part, row, those, looked_at, left, counts) for row, those in rows)
    seen = " and ".join(filter(None, (*said, beside)))
    files = bool(dark.unread or dark.if_named)
    if not targets and not files and not beside:
        state = NOT_NAMED
    elif not (looked_at or beside) or (files and not seen):
        state = UNREAD
    else:
        state = PART if seen_of < number or left or files or rest else WHOLE
    return replace(dark, state=state, looked_at=seen_of + most, of=number + most, seen=seen)


def _beside(part: str, counts: Counts) -> tuple[str, int, int]:
    """Say what was looked at for another part's sake, how many of what comes first, and the rest.

    The rest are things that were left out.
    """
    every = [(noun, number) for noun, number in counts.beside[part].items() if number]
    if not every:
        return "", 0, 0
    words = {row.word for row in kinds() if row.part == part and row.target is None}
    left = sum(number for (word, _), number in counts.left.items() if word in words)
    (noun, most), *others = every
    more = ", ".join(counted(number, one) for one, number in others)
    return counted(most, noun) + (f" ({more})" if more else ""), most, left


def _seen_of(
    part: str,
    row: Kind,
    every: Sequence[Target],
    looked_at: Collection[Target],
    left: Mapping[str, int],
    counts: Counts,
) -> str:
    """Say what was looked at of a part: `6 of 24 shards (3,000 samples)`; empty: nothing."""
    targets = [one for one in every if one in looked_at]
    numbers: Counter[str] = counts.of(targets)
    if not targets or (row.suffixes and not numbers.total()):
        return ""
    if part == "source":
        read, unread = numbers.total(), left.get("source file", 0)
        return share(read, read + unread, "source file")
    if part != "data":
        noun = "folder of checkpoints" if part == "checkpoint" else part
        many = "folders of checkpoints" if part == "checkpoint" else None
        ends = tuple(f" {noun}" for noun in numbers)
        files = sum(numbers[noun.split()[-1]] for noun in left if f" {noun}".endswith(ends))
        some = f" ({share(files, files + sum(left.values()), 'file')})" if left else ""
        if part == "script":
            some = f" ({' and '.join(f'no {noun}' for noun in left)} seen)" if left else ""
        if part in ("loader", "model"):
            told = [counts.summed_up(targets, part)]
            without = " and ".join(counted(n, what) for what, n in left.items())
            told += [f"but for {without}"] if without else []
            some = f" ({'; '.join(filter(None, told))})" if any(told) else ""
        number = sum(counts.number_of(one, part) for one in targets)
        return counted(number, noun, many) + some
    first, *others = counts.shares(row, every)
    return first + (f" ({', '.join(others)})" if others else "")


def _with_hints(every: Iterable[Covered], found: Discovered, folder: str) -> Iterator[Covered]:
    """Add what to type for parts nobody looked at; sources are read only where that may help."""
    every = tuple(every)
    dark = {one.part for one in every if one.state in (NOT_NAMED, UNREAD)}
    offered: dict[str, tuple[str, str | None]] = {}
    for row in kinds():
        if row.offers and not dark.isdisjoint(OF_JOB):
            places = (getattr(one, "path", "") for one in found.targets if type(one) is row.target)
            offered |= load(row.offers)(folder, tuple(places))
    if is_doubtful(every, found):
        data = (one for one in found.doubtful if _part(one) == "data" and not _holds_code(one))
        for place in [each.name_in(folder) for each in itertools.islice(data, 1)]:
            offered["data"] = (command_for(f"data={place}"), None)
            dark.add("data")
    words = [files.named_as for one in found.unread for files in one.files if files.named_as]
    for named_as in reversed(words):
        if named_as.kind in dark:
            offered[named_as.kind] = (command_for(_word(named_as, folder)), None)
    typed = {command_for(word) for word, _ in found.pairs}
    typed |= {f"preflight run {word}" for word, _ in found.pairs}  # `-m package.train`
    if "script" in offered and "script" not in dark:
        typed.add(offered["script"][0].removesuffix(" …"))  # another than that which was run
    offered = {part: one for part, one in offered.items() if not _is_typed(one[0], typed)}
    for one in every:
        command, at = offered.get(one.part, (None, None)) if one.part in dark else (None, None)
        yield replace(one, hint=command, hint_at=at)


def _holds_code(target: Target) -> bool:
    """Whether it is a folder of modules, whose pictures nobody trains on."""
    return holds_some(getattr(target, "path", ""), lambda name: name.endswith(CODE))


def _is_typed(command: str, typed: Collection[str]) -> bool:
    """Whether this was what was typed, with arguments of a script or without."""
    bare = command.removesuffix(" …")
    return any(one == bare or one.startswith(f"{bare} ") for one in typed)


def is_doubtful(coverage: Iterable[Covered], found: Discovered) -> bool:
    """Whether all that was looked at are sources, and what alone is of no use to a job."""
    looked_at = {one.part: one.looked_at for one in coverage if one.part in OF_JOB and one.seen}
    return bool(looked_at) and looked_at == Counter(map(_part, found.doubtful))


def _part(target: Target) -> str:
    return kinds_of(type(target))[0].part


# --- the verdict ----------------------------------------------------------------------------------


def of_repository(found: Discovered) -> Iterator[str]:
    """Say what looks like data and belongs to a repository's documents and code."""
    pictures = sum(one.pictures for one in found.unread)
    of_code = sum(one.of_code for one in found.unread)
    said = [counted(pictures, "picture")] if pictures else []
    said += [counted(of_code, "cached file or shard", "cached files and shards")] if of_code else []
    if said:
        yield f"{' and '.join(said)} of the repository's documents and code: not taken for data."


def asked_for(checks: Mapping[str, Check], job: Job) -> frozenset[str]:
    """Give the checks whose answer the settings ask for, so that no answer is no GO."""
    rows = {row: row.asked_for(job) for row in kinds() if row.asked_for is not None}
    of = {facts for row, is_so in rows.items() if is_so for facts in row.facts}
    return frozenset(check_id for check_id, check in checks.items() if of.issuperset(check.over))


def is_complete(judged: Judged, counts: Counts, job: Job) -> bool:
    """Whether nothing was left out: by an interrupt, a sample, a budget or a depth."""
    is_cut = job.look.depth == "index" and any(
        row.depths for row in kinds() if counts.looked_at.get(row.word)
    )
    return not (judged.interrupted or judged.left or is_cut)
