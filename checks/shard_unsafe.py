"""Members of a shard that lead out of it: links, devices, names that are no places inside.

What it finds
    Hard and symbolic links; devices and pipes; names that are absolute (`/data/dog.jpg`) or climb
    out of the folder (`../dog.jpg`), or that are longer than 4,096 bytes. Folders, and names that
    begin with `./`, are left alone.

Why it matters
    webdataset reads regular files only: it passes over a link or a device without a word, and its
    sample lacks that file in every epoch. Absolute names and `..` are read as keys and nothing
    else; but whoever unpacks the shard writes outside of his folder, and Python's tarfile refuses
    to, by default from 3.14 on.

What to do
    Pack the shard again from inside the folder of the files, with links followed
    (`tar --hard-dereference -h -C FOLDER`).
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Oddity, ShardFacts
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of


@check(
    over=ShardFacts,
    title="shard with links, devices, or names that lead out of it",
    many="kinds of members that lead out of their shard",
    severity=Severity.ERROR,
)
def shard_unsafe(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell each kind once, with its number and the first few names."""
    for one in facts.oddities:
        if one.kind not in _SAID:
            continue
        noun, many, why, fix = _SAID[one.kind]
        yield shard_unsafe.found(
            f"holds {counted(one.count, noun, many)}: {first_of(one.names, one.count)}",
            at=Location(file=facts.file),
            severity=_severity(one, facts),
            why=why,
            fix=fix,
            evidence={"kind": one.kind, "members": one.count, "of_samples": one.of_samples},
            about=one.kind,
        )


_OUTSIDE = (
    "webdataset takes the names as keys; whoever unpacks the shard writes outside of his folder, "
    "or is refused."
)
_INSIDE = "Pack it again with names inside one folder (GNU tar: tar -C FOLDER)."

_SAID = {
    "link": (
        "link",
        "links",
        (
            "webdataset passes over links without a word: whatever they stand for is missing in "
            "every epoch."
        ),
        "Pack it again with links followed (GNU tar: --hard-dereference -h).",
    ),
    "device": (
        "device or pipe",
        "devices or pipes",
        "webdataset passes over them; as root, unpacking the shard makes them.",
        "Pack it again without them.",
    ),
    "absolute": (
        "member with an absolute name",
        "members with absolute names",
        _OUTSIDE,
        _INSIDE,
    ),
    "parent": (
        "member whose name climbs out with ..",
        "members whose names climb out with ..",
        _OUTSIDE,
        _INSIDE,
    ),
    "long": (
        "member whose name is longer than 4,096 bytes",
        "members whose names are longer than 4,096 bytes",
        (
            "Neither Linux nor macOS takes such names, so that the shard cannot be unpacked; most "
            "likely something else, such as the caption, was packed as the name."
        ),
        "Look at what packed it, and pack it again with short names.",
    ),
}
"""One of them; several; why; fix."""


def _severity(one: Oddity, facts: ShardFacts) -> Severity:
    """Weigh a link that stands for an image or a caption as the loss of its sample."""
    lacking = facts.pairing.unpaired if facts.pairing is not None else ()
    if one.kind == "link" and any(two.because == "link" for two in lacking):
        return Severity.ERROR
    if one.kind == "link" and not one.of_samples:
        return Severity.NOTE
    return Severity.WARNING
