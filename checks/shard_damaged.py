"""A shard that cannot be read to its end, or is no tar archive at all.

What it finds
    A shard that is empty, is something else than a tar (a RAR archive, a web page), ends too early,
    holds a header whose checksum is wrong, has zeros where a header should be, or goes on behind
    its end marker; and one that Git LFS has not fetched. A packed one is damaged as well where its
    stream does not come to its own end, whatever was unpacked up to there. One that is zeros from
    some place on is, where its last sample or the shards beside it show that more was to come;
    where they do not, more zeros than writers of tar leave by themselves are a warning.

Why it matters
    Only some of this is loud. At a damaged header, or at zeros, Python's tarfile takes the archive
    for finished: webdataset hands out the samples before it, goes to the next shard, and every
    epoch is shorter than it should be. The rest raises ReadError in the middle of an epoch; and in
    an endless pipeline whose handler goes on after errors, training may stand at step 0 and say
    nothing.

What to do
    Copy the shard again from where it came from, and compare sizes or checksums; or pack it again.
    Write shards under another name and rename them at the end, so that a shard under its final name
    is always whole. What Git LFS keeps: git lfs pull.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Damage, ShardFacts
from preflight.finding import Aside, Finding, Location, Scalar, Severity
from preflight.job import Job
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted, lfs_pull, shown

_RAISES = "tarfile raises here"
_GOES_ON = "with a handler that goes on, webdataset passes over the rest of the shard"
_ZSTD_ENDS = (
    "zstd -d ends with an error here. webdataset reads zstd through a pipe (pipe:zstd -dc FILE; "
    "tarfile itself since Python 3.14 only), and raises OSError where it sees that."
)
_OF_ZSTD = r"(has damaged|is a|unpacks to|ends inside a|has bytes behind its) .*zstd"
_COPY = "Copy it again from where it came from, or pack it again."


@check(
    over=ShardFacts,
    title="shard that cannot be read to its end",
    many="shards cannot be read to their end",
    severity=Severity.ERROR,
)
def shard_damaged(facts: ShardFacts, _job: Job) -> Iterator[Finding]:
    """Tell each damage of the archive, with what readers make of it."""
    for damage in facts.damage:
        yield shard_damaged.found(
            damage.text + _samples(facts, damage),
            at=Location(file=facts.file),
            severity=_severity(facts, damage),
            why=_why(facts, damage),
            fix=_fix(facts, damage),
            aside=_aside(facts, damage),
            evidence=_evidence(facts, damage),
            about=damage.kind,
        )
    if facts.padding and not facts.damage and not facts.record:
        yield _padded(facts)
    if facts.is_zstd and not facts.unpacked_by and not facts.damage:
        yield _by_name(facts)


def _by_name(facts: ShardFacts) -> Finding:
    """Say of a shard of zstd that nothing known of the job unpacks it."""
    quoted = shown(shlex.quote(facts.file))
    return shard_damaged.found(
        "is packed with zstd, and webdataset opens none of it by its name",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why="tarfile reads zstd since Python 3.14 only, and before stops at its first byte; "
        "nothing that was looked at says how the job unpacks it.",
        fix=f"Give webdataset the address  pipe:zstd -dc {quoted}  or name the loader that "
        "reads it.",
        evidence={"kind": "zstd", "bytes": facts.size},
        about="zstd",
    )


def _padded(facts: ShardFacts) -> Finding:
    """Say of zeros, behind which readers look for nothing, that samples may have stood there."""
    samples = counted(facts.samples, "sample")
    return shard_damaged.found(
        f"has {facts.padding:,} zero bytes ({format_size(facts.padding)}) behind its {samples}, "
        "where tar leaves some kilobytes",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why="A copy that was laid out in full and never finished looks like this: readers take the "
        "zeros for the end, and miss what should stand there without a word.",
        fix="Compare the number of its samples, or its checksum, with the original; or copy it "
        "again.",
        evidence={"kind": "padding", "bytes": facts.size, "zeros": facts.padding},
        about="padding",
    )


def _samples(facts: ShardFacts, damage: Damage) -> str:
    """Say how many samples are whole, and how many are lost, where that tells something."""
    if damage.kind in ("foreign", "not-fetched", "empty", "no-end-marker"):
        return ""
    if _is_not_compared(facts, damage):
        return ""
    # Where members stand apart, what webdataset makes of them is read, and not whole.
    apart = facts.pairing is not None and any(
        one.because == "apart" for one in facts.pairing.unpaired
    )
    read = "read" if apart else "whole"
    text = f"; {counted(facts.samples, 'sample')} before it {_is(facts.samples)} {read}"
    first = shown(facts.first_lost or "")
    if facts.lost:
        text += f", {facts.lost:,} more {_is(facts.lost)} lost"
        return f"{text}, from {first} on" if first and facts.lost > 1 else text
    return text if not first or first in damage.text else f"{text}; the first lost is {first}"


def _is_not_compared(facts: ShardFacts, damage: Damage) -> bool:
    """Whether all of the archive was read, and only a checksum around it differs."""
    return damage.kind == "checksum" and damage.offset is None and facts.quiet


def _ends_zstd(facts: ShardFacts, damage: Damage) -> bool:
    """Whether `zstd -d` gives up, and not the reader of what it unpacks."""
    loud = not facts.quiet or _is_not_compared(facts, damage)
    return loud and damage.kind != "foreign" and re.match(_OF_ZSTD, damage.text) is not None


def _severity(facts: ShardFacts, damage: Damage) -> Severity:
    if damage.kind == "no-end-marker":
        return Severity.NOTE
    if damage.kind == "trailing" and facts.lost == 0:
        return Severity.WARNING
    return Severity.ERROR


def _why(facts: ShardFacts, damage: Damage) -> str:
    if damage.kind == "no-end-marker":
        return "Readers accept that, and some writers do so; a copy that was cut looks the same."
    if damage.kind == "trailing" and facts.lost == 0:
        return "Nobody reads them; often they are the end of a longer file that was written over."
    if _ends_zstd(facts, damage):
        return _ZSTD_ENDS
    if _is_not_compared(facts, damage):
        return "tarfile does not compare this checksum: the job trains on whatever bytes are there."
    if facts.quiet:
        short = "what follows is missing in every epoch"
        if facts.lost:
            short = f"every epoch is {counted(facts.lost, 'sample')} short"
        elif facts.lost == 0:
            short = "no sample is missing of it, and it is no whole copy"
        elif not facts.samples:
            short = "it gives no sample"
        return f"tarfile and webdataset take this for the end, without a word: {short}."
    if _is_of_streams(damage):
        return f"webdataset reads a shard as a stream (r|*), which raises here; {_GOES_ON}."
    return f"{_RAISES}; {_GOES_ON}."


def _is_of_streams(damage: Damage) -> bool:
    return damage.kind == "streams" and "one behind the other" in damage.text


def _fix(facts: ShardFacts, damage: Damage) -> str:
    if _ends_zstd(facts, damage):
        return _COPY
    if damage.kind == "no-end-marker":
        return "Compare its size with that of the original, where there is one."
    if damage.kind == "streams" and damage.text.endswith("is cut"):
        return _COPY
    if damage.kind == "streams":
        return "Unpack it, and pack it again as one stream, or not at all."
    if damage.kind == "trailing":
        if facts.lost == 0:
            return "Cut them off, or unpack it, and pack it again."
        return "Unpack all of it (GNU tar: tar -xif), and pack it again as one archive."
    if damage.fetch is not None:
        return f"Fetch it:  {lfs_pull(damage.fetch)}"
    if damage.kind == "foreign" and "Git LFS pointer" in damage.text:
        return "Download the file itself: this is what Git LFS keeps in its place."
    if damage.kind == "foreign" and ("RAR" in damage.text or "zip" in damage.text):
        return "Unpack it, and pack it again as a tar."
    return _COPY


def _aside(facts: ShardFacts, damage: Damage) -> tuple[Aside, ...]:
    if damage.fetch is not None or damage.kind == "not-fetched" or "LFS pointer" in damage.text:
        return ()
    is_error = _severity(facts, damage) is Severity.ERROR
    return (Aside(file=facts.file, bytes=facts.size),) if is_error else ()


def _evidence(facts: ShardFacts, damage: Damage) -> dict[str, Scalar]:
    known: dict[str, Scalar | None] = {
        "lost": facts.lost,
        "first_lost": None if facts.first_lost is None else shown(facts.first_lost),
        "offset": damage.offset,
    }
    told = {name: value for name, value in known.items() if value is not None}
    return {"kind": damage.kind, "bytes": facts.size, "whole": facts.samples, **told}


def _is(number: int) -> str:
    return "is" if number == 1 else "are"
