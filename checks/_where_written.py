"""Words for what is wrong where a cache is written; for its storage and for its writer."""

from __future__ import annotations

from preflight.facts import ReadBack, StorageProbe, WriterTrial
from preflight.finding import Location
from preflight.job import Job
from preflight.values.names import counted


def settings_of(facts: StorageProbe | WriterTrial, job: Job, key: str) -> tuple[Location, ...]:
    """Give the line of the settings that says so, where there is one."""
    if facts.entry is None:
        return ()
    file, line = job.origin(f"cache.{facts.entry}.{key}")
    return (Location(file=file, line=line),) if file is not None else ()


def bad_reads(reads: ReadBack) -> str:
    """Say what a reader met: `of 500 reads, 3 gave half a file`."""
    said = []
    if reads.torn:
        said.append(f"{reads.torn:,} gave a part or a mixture of what was written")
    if reads.absent:
        said.append(f"{reads.absent:,} found no file, although it was there before")
    if reads.failed:
        said.append(f"{reads.failed:,} were refused")
    return f"of {counted(reads.reads, 'read')}, {' and '.join(said)}"
