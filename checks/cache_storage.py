"""The place of a cache does not do what its writers rely on, or has no room for what is to come.

What it finds
    Of a cache that the job writes to (`written = true` or a `writer` in `[[cache]]`, or the option
    `--probe-storage`), by some files of ours in a folder of ours there, which takes about 2 s and
    is removed: three processes write and one reads. Renames in place of a file (`os.replace`)
    during which a reader finds no file, half a file or a mixture; files that several processes
    create as the only one (`O_EXCL`); locks (`flock`, `fcntl`) that the system refuses, or that two
    processes hold at once; a file system that takes `a.pt` and `A.pt` for one file, where two keys
    of the cache differ in nothing else; and a place that cannot be written to. That writing in
    place is torn, on every file system, is no finding of this check: `cache-writer` tries the job's
    own function.

    Without writing: free space and free files (inodes) against the entries that are still missing
    (where `of` says of which data sets they are), of the mean size of those that are there. Caches
    of one file system count together. Where nobody says that the job writes to the cache, that is a
    warning. Quotas are not seen, nor what processes on other machines do to the same files. A cache
    that is only read, or lies on a machine on which we are not (`--elsewhere`), is left alone.

Why it matters
    Ranks that share a cache read what others write. Writers that rename are safe by what the file
    system promises, and network file systems and buckets that are mounted as folders do not all
    keep that promise. A cache that is full stops the run after hours of encoding.

What to do
    Put the cache on a local disk or on a file system with POSIX semantics, or let one process write
    it before the others begin. Make room, or name a larger place.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import Locks, StorageProbe, Tried
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.sizes import format_size
from preflight.values.names import counted, shown

from ._where_written import bad_reads, settings_of

_RELY = {
    "flock": "filelock (huggingface_hub, datasets) takes such locks, and with it most that "
    "downloads or caches for several ranks.",
    "fcntl": "SQLite and HDF5 take such locks, and so do caches that are kept in them.",
}
_FILES, _BYTES = 100, 4 << 20
"""More than files of ours take: where less is left, these may find no room, and the job's some."""

_ONE = "Let one process fill the cache before the others begin, or put it on a local disk."


@check(
    over=StorageProbe,
    title="place of a cache that is not fit to be written to",
    many="places of caches are not fit to be written to",
    severity=Severity.ERROR,
)
def cache_storage(facts: StorageProbe, job: Job) -> Iterator[Finding]:
    """Tell what is seen without writing, then what was tried."""
    if facts.read_only or (facts.refused and not facts.is_full):
        yield from _of_refusal(facts, job)
        return
    yield from [*_of_room(facts, job)] or _of_fullness(facts, job)
    tried = facts.tried
    if tried is None:
        return
    if tried.renamed.bad:
        yield _of_renames(facts, tried, job)
    if tried.created_twice:
        yield _of_creation(facts, tried)
    for kind, locks in (("flock", tried.flock), ("fcntl", tried.fcntl)):
        if locks is not None and (locks.lost or locks.said):
            yield _of_locks(facts, kind, locks)
    if tried.folds_case and len(facts.cased) == 2:
        yield _of_case(facts)
    if tried.late and not tried.late.startswith("locks"):
        yield _of_lateness(facts, tried)


def _system(facts: StorageProbe) -> str:
    if not facts.system:
        return ""
    return f" ({shown(facts.system)}{', over the network' if facts.is_remote else ''})"


def _of_refusal(facts: StorageProbe, job: Job) -> Iterator[Finding]:
    if not facts.is_written and not facts.missing:
        return
    why = shown(facts.refused) or "its file system is mounted for reading only"
    lacks = "" if facts.is_written else f"lacks {counted(facts.missing, 'entry', 'entries')}, and "
    yield cache_storage.found(
        f"{lacks}cannot be {'written to' if facts.is_there else 'made'}: {why}{_system(facts)}",
        severity=Severity.ERROR if facts.is_written else Severity.WARNING,
        at=Location(file=facts.file),
        also=settings_of(facts, job, "path"),
        why="The job stops at the first entry that it writes.",
        fix="Name a folder that this user may write to, or mount it for writing; where the job "
        "only reads it, say  written = false.",
        about="refused",
    )


def _of_room(facts: StorageProbe, job: Job) -> Iterator[Finding]:
    severity = Severity.ERROR if facts.is_written else Severity.WARNING
    entries = counted(facts.missing, "missing entry", "missing entries")
    needed = facts.needed
    if needed and facts.free is not None and needed + facts.before > facts.free:
        also = f", and caches before it need {format_size(facts.before)}" if facts.before else ""
        yield cache_storage.found(
            f"has room for {format_size(facts.free)}, and its {entries} of about "
            f"{format_size(facts.entry_size or 0)} each need {format_size(needed)}{also}"
            f"{_system(facts)}",
            severity=severity,
            at=Location(file=facts.file),
            also=settings_of(facts, job, "path"),
            why="The disk is full before all entries are written: the job stops there, and the "
            "last ones may be cut.",
            fix=f"Make room for {format_size(needed + facts.before - facts.free)} more, or name a "
            "larger place.",
            evidence={"free": facts.free, "needed": needed, "before": facts.before},
            about="space",
        )
    if facts.free_files is not None and 0 < facts.missing > facts.free_files - facts.files_before:
        also = f", and caches before it need {facts.files_before:,}" if facts.files_before else ""
        yield cache_storage.found(
            f"has inodes for {counted(facts.free_files, 'more file')}, and {entries} need one "
            f"each{also}{_system(facts)}",
            severity=severity,
            at=Location(file=facts.file),
            also=settings_of(facts, job, "path"),
            why="The job stops with 'No space left on device' although there is space.",
            fix="Name a place with more inodes, or remove small files there.",
            evidence={"free_files": facts.free_files, "missing": facts.missing},
            about="inodes",
        )


def _of_fullness(facts: StorageProbe, job: Job) -> Iterator[Finding]:
    """Tell that files of ours had no room, where what the job writes may have some."""
    if not facts.is_full:
        return
    few = facts.free_files is not None and 0 < facts.free_files < _FILES
    little = facts.free is not None and 0 < facts.free < _BYTES
    left = counted(facts.free_files or 0, "more file") if few else format_size(facts.free or 0)
    message = f"is full: {shown(facts.refused)}"
    if few or little:
        message = f"has room for {left}, too little to try there what writers rely on"
    yield cache_storage.found(
        f"{message}{_system(facts)}",
        severity=Severity.NOTE if few or little else None,
        at=Location(file=facts.file),
        also=settings_of(facts, job, "path"),
        why="Whether renames, locks and O_EXCL do there what they are to do is not known."
        if few or little
        else "The job stops at the first entry that it writes.",
        fix="Make room there, or name a larger place.",
        about="full",
    )


def _of_renames(facts: StorageProbe, tried: Tried, job: Job) -> Finding:
    several = job.launch.ranks > 1
    return cache_storage.found(
        f"lies where a rename over a file is not atomic{_system(facts)}: "
        f"{bad_reads(tried.renamed)}, while {tried.writers} processes renamed whole files over it",
        severity=Severity.ERROR if several else Severity.WARNING,
        at=Location(file=facts.file),
        also=settings_of(facts, job, "path"),
        why=f"The {job.launch.ranks:,} ranks read each other's entries half written, also where "
        "the writer does all it can."
        if several
        else "Who reads an entry while it is written again finds half of it, or none.",
        fix=_ONE,
        evidence={
            "reads": tried.renamed.reads,
            "torn": tried.renamed.torn,
            "absent": tried.renamed.absent,
            "failed": tried.renamed.failed,
        },
        about="rename",
    )


def _of_creation(facts: StorageProbe, tried: Tried) -> Finding:
    return cache_storage.found(
        f"lies where O_EXCL is not exclusive{_system(facts)}: of "
        f"{counted(tried.created, 'file')} that {tried.writers} processes created at once, "
        f"{tried.created_twice:,} were created by more than one",
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why="Lock files (SoftFileLock, open(path, 'x')) and names of temporary files rely on it: "
        "two ranks take the same work, or write one file.",
        fix=_ONE,
        evidence={"created": tried.created, "twice": tried.created_twice},
        about="create",
    )


def _of_locks(facts: StorageProbe, kind: str, locks: Locks) -> Finding:
    if locks.said:
        message = f"lies where locks by {kind} cannot be had{_system(facts)}: {shown(locks.said)}"
    else:
        message = (
            f"lies where locks by {kind} keep nobody out{_system(facts)}: in "
            f"{locks.lost:,} of {counted(locks.turns, 'turn')}, another process had the lock too"
        )
    return cache_storage.found(
        message,
        severity=Severity.WARNING,
        at=Location(file=facts.file),
        why=_RELY[kind],
        fix=_ONE,
        evidence={"turns": locks.turns, "lost": locks.lost},
        about=kind,
    )


def _of_case(facts: StorageProbe) -> Finding:
    first, second = map(shown, facts.cased)
    return cache_storage.found(
        f"lies where capital letters make no difference{_system(facts)}, and two samples have the "
        f"keys {first} and {second}",
        at=Location(file=facts.file),
        why="Both have one file: whichever is cached last is what the job trains on in place of "
        "the other.",
        fix="Rename one of the two, or have entries named by a hash of the path.",
        about="case",
    )


def _of_lateness(facts: StorageProbe, tried: Tried) -> Finding:
    return cache_storage.found(
        f"did not come to an end with {tried.late} in 5 s{_system(facts)}; what was to be tried "
        "then is not known",
        severity=Severity.NOTE,
        at=Location(file=facts.file),
        why="The storage hangs, or this machine is very busy.",
        fix="Look again once nothing else uses it.",
        about="late",
    )
