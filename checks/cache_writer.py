"""The function that writes an entry lets others read half of it, or cannot bear other writers.

What it finds
    Of a cache whose writer is named (`writer = "module:save"` in `[[cache]]`), the function is
    imported and called by three processes at once, for about 2 s, on files of a scratch folder
    beside the cache, while a fourth one reads them. It is called as `save(path, value)` or
    `save(value, path)`, as the names of its parameters say (`path`, `file`, `target` and the like),
    by keyword where it wants that, else as works first; one with other parameters needs a function
    around it. `module:store.save` is a method of a thing in the module. The path is a text or a
    `pathlib.Path`, the value a tensor, a dict of one, an array or bytes of the size of
    the entries that are there. Told are reads that fail (torch.load, numpy.load or safetensors, by
    the suffix; else bytes that are no version of the file), that find no file although it was there
    before, or that mix what two have written; files that stay damaged; saves that raise while
    others write the same file; and writers that never come back. Each process has a RANK of its
    own. What the function prints is passed over.

Why it matters
    In a run of several ranks, one key may be written by several of them, and read by others: a file
    that is written in place can be read before its end. Where it is written under a temporary name
    that all share (`path + ".tmp"`), one renames what another is still writing. A rank that dies
    over it takes the run with it, and a job that is killed leaves a damaged entry.

What to do
    Write under a name of its own for each save, in the same folder; fsync; then os.replace.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import WriterTrial
from preflight.finding import Finding, Location, Severity
from preflight.formats.by_name import TORCH
from preflight.job import Job
from preflight.values.names import counted, shown

from ._where_written import bad_reads, settings_of

_SAVE = {
    ".npy": "np.save(f, value)",
    ".npz": "np.savez(f, **arrays)",
    ".safetensors": "f.write(safetensors.torch.save(value))",
}


def _nothing_read(facts: WriterTrial, _: Job) -> str | None:
    if facts.reads.reads or facts.hung or facts.raised or facts.left_damaged:
        return None
    return f"{shown(facts.writer)} wrote nothing that could be read in time"


@check(
    over=WriterTrial,
    title="writer of a cache that lets others read half of an entry",
    many="writers of caches let others read half of an entry",
    severity=Severity.ERROR,
    skip=_nothing_read,
)
def cache_writer(facts: WriterTrial, job: Job) -> Iterator[Finding]:
    """Tell torn reads, exceptions and writers that hang, each once."""
    if facts.reads.bad or facts.left_damaged:
        yield _of_torn(facts, job)
    if facts.raised:
        yield _of_raised(facts, job)
    if facts.hung:
        yield _of_hung(facts, job)


def _severity(job: Job) -> Severity:
    return Severity.ERROR if job.launch.ranks > 1 else Severity.WARNING


def _pattern(facts: WriterTrial) -> str:
    save = _SAVE.get(facts.suffix, "torch.save(value, f)" if facts.suffix in TORCH else "")
    save = save or "f.write(data)"
    keys = ", where arrays has each array under its name" if facts.suffix == ".npz" else ""
    return (
        f"Write under a name of its own, then rename{keys}:  "
        "tmp = f'{path}.{uuid.uuid4().hex}';  "
        f"with open(tmp, 'wb') as f: {save}; f.flush(); os.fsync(f.fileno());  "
        "os.replace(tmp, path)"
    )


def _who(facts: WriterTrial) -> str:
    many = facts.writers > 1
    together = f"{facts.writers} processes at once" if many else "rank 0 alone"
    return (
        f"is written by {shown(facts.writer)} (called as {shown(facts.called_as)}, "
        f"{facts.value}, by {together})"
    )


def _of_torn(facts: WriterTrial, job: Job) -> Finding:
    said = [bad_reads(facts.reads)] if facts.reads.bad else []
    if facts.left_damaged:
        stay = "stays" if facts.left_damaged == 1 else "stay"
        said.append(f"{facts.left_damaged:,} of {counted(facts.files, 'file')} {stay} damaged")
    return cache_writer.found(
        f"{_who(facts)} so that others read half an entry: {'; '.join(said)}; "
        f"the first: {shown(facts.first_torn).rstrip(': ')}",
        severity=_severity(job),
        at=Location(file=facts.file),
        also=settings_of(facts, job, "writer"),
        why=f"Any of the {job.launch.ranks:,} ranks that reads an entry while another writes it "
        "stops there."
        if job.launch.ranks > 1
        else "A job that is killed leaves half an entry, and whoever reads meanwhile stops there.",
        fix=_pattern(facts),
        evidence={
            "reads": facts.reads.reads,
            "torn": facts.reads.torn,
            "absent": facts.reads.absent,
            "failed": facts.reads.failed,
            "left_damaged": facts.left_damaged,
            "saves": facts.saves,
        },
        about="torn",
    )


def _of_raised(facts: WriterTrial, job: Job) -> Finding:
    return cache_writer.found(
        f"{_who(facts)}, and {facts.raised:,} of {counted(facts.saves, 'save')} failed while the "
        f"others wrote the same file: it {shown(facts.first_raised)}",
        severity=_severity(job),
        at=Location(file=facts.file),
        also=settings_of(facts, job, "writer"),
        why="The rank that it happens to dies, or goes on without the entry.",
        fix=_pattern(facts),
        evidence={"raised": facts.raised, "saves": facts.saves},
        about="raised",
    )


def _of_hung(facts: WriterTrial, job: Job) -> Finding:
    return cache_writer.found(
        f"{_who(facts)}, and {facts.hung} of them had not come back 10 s after the others",
        severity=_severity(job),
        at=Location(file=facts.file),
        also=settings_of(facts, job, "writer"),
        why="Ranks that wait for each other in it never train; the others wait for them until NCCL "
        "gives up.",
        fix="Give back every lock in a finally block, and do not wait for ranks that may not come.",
        evidence={"hung": facts.hung},
        about="hung",
    )
