"""Files in a cache that are not its entries, and caches that share a folder.

What it finds
    Temporary files and locks that writers have left; a few files of another format among many of
    one, which are a note where name and suffix tell them from the entries (`stats.npz`); entries of
    two kinds under hashed names in one folder (`0b1e…-flux.pt` and `5d07…-sd3.pt`), most of which
    stand for other samples; and one folder that two entries of preflight.toml name, unless each
    says how its own entries are called (`key`).

Why it matters
    What is left over says that a writer was killed, and takes space. A loader that lists the folder
    takes every file for an entry of its own: it stops at one of another format, or trains on
    another model's latents. Two caches in one folder are deleted, counted and trusted together.

What to do
    Move aside what is left over once no writer runs. Give each model and each kind of entry a
    folder of its own.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Alike, CacheFolderFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

# Entries of one format below which another one is no exception, and the share that is still few.
_MANY = 20
_FEW = 0.05

# Entries of each of two kinds, and the share of hashes that only one of them has.
_FEWEST = 5
_APART = 0.1

# What differs in the names of entries: hashes and numbers.
_VARYING = re.compile(r"[0-9a-f]{16,}|\d+", re.IGNORECASE)

_CALLED = {
    "torch zip": "archives of torch.save",
    "torch legacy": "files of torch.save from before 1.6",
    "npz": "numpy archives",
    "npy": "numpy arrays",
    "safetensors": "safetensors",
    "gzip": "gzip streams",
    "pickle": "pickles",
    "zip": "zip archives",
    "unknown": "of no known format",
}


@check(
    over=CacheFolderFacts,
    title="files in a cache that are not its own",
    many="things in caches that are not their own",
    severity=Severity.WARNING,
)
def cache_foreign(facts: CacheFolderFacts, job: Job) -> Iterator[Finding]:
    """Tell what is left over, what is of another kind, and what is named twice."""
    if facts.same_as is not None:
        yield cache_foreign.found(
            "is the folder that another cache of the job has, under the name "
            f"{shown(facts.same_as)}",
            at=Location(file=facts.file),
            why="Two parts of the job take each other's entries for their own, and write the same "
            "files.",
            fix="Give each cache a folder of its own.",
            evidence={"kind": "twice"},
            about="twice",
        )
    yield from _other_formats(facts)
    yield from _two_caches(facts, job)
    if facts.left_over_count:
        many = "temporary files and locks"
        yield cache_foreign.found(
            f"holds {counted(facts.left_over_count, 'temporary file or lock', many)} that a "
            f"writer has left: {first_of(facts.left_over, facts.left_over_count)}",
            at=Location(file=facts.file),
            severity=Severity.NOTE,
            why="A writer was killed, or is at work now; a lock may hold the next one up.",
            fix="Move them aside once no writer runs.",
            evidence={"kind": "left over", "files": facts.left_over_count},
            about="left over",
        )


def _other_formats(facts: CacheFolderFacts) -> Iterator[Finding]:
    if facts.checkpoints or not facts.formats or facts.formats[0].count < _MANY:
        return
    usual = facts.formats[0]
    for one in facts.formats[1:]:
        if one.count <= _FEW * usual.count:
            apart = _is_called_otherwise(one, usual)
            them, whose = ("it", "its") if one.count == 1 else ("them", "their")
            yield cache_foreign.found(
                f"holds {counted(one.count, 'file')} of another format ({_CALLED[one.what]}) than "
                f"the {usual.count:,} {_CALLED[usual.what]} in it: "
                f"{first_of(one.names, one.count)}",
                at=Location(file=facts.file),
                severity=Severity.NOTE if apart else Severity.WARNING,
                why=_BY_SUFFIX if apart else _BY_FOLDER,
                fix=f"Move {them} to a folder of {whose} own.",
                evidence={"kind": "format", "format": one.what, "files": one.count},
                about=one.what,
            )


_BY_FOLDER = (
    "A loader that takes every file of the folder stops there, or reads it as what it is not."
)
_BY_SUFFIX = "A loader that takes every file of the folder, whatever its suffix, stops there."


def _is_called_otherwise(one: Alike, usual: Alike) -> bool:
    """Whether files are told from entries by name and suffix: `stats.npz` beside `0001.npy`."""
    (stems, suffixes), (usual_stems, usual_suffixes) = map(_sorts_of_name, (one, usual))
    return stems.isdisjoint(usual_stems) and suffixes.isdisjoint(usual_suffixes)


def _sorts_of_name(files: Alike) -> tuple[set[str], set[str]]:
    split = [posixpath.splitext(posixpath.basename(name)) for name in files.names]
    return {_VARYING.sub("#", stem) for stem, _ in split}, {suffix for _, suffix in split}


def _two_caches(facts: CacheFolderFacts, job: Job) -> Iterator[Finding]:
    kinds = [one for one in facts.patterns if one.count >= _FEWEST]
    said = {one.key for one in job.cache if posixpath.normpath(one.path) == facts.file and one.key}
    if len(kinds) <= max(1, len(said)) or facts.apart < _APART:
        return
    told = " and ".join(f"{one.count:,} *{shown(one.what)}" for one in kinds[:4])
    yield cache_foreign.found(
        f"holds entries of {len(kinds)} kinds, most of which stand for other samples: {told}",
        at=Location(file=facts.file),
        why="One of them may be of an earlier model or data set; it is counted, kept and trusted "
        "with the other.",
        fix="Move the kind that the job does not use to a folder of its own.",
        evidence={"kind": "patterns", "kinds": len(kinds)},
        about="patterns",
    )
