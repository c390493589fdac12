"""Says which reads of the environment a run comes to, and why it does not come to the others."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.host.environment import launcher_of
from preflight.sources.deciding import (
    by_itself,
    is_called,
    loads_dotenv,
    stored_in,
    values_given,
)
from preflight.sources.facts import Conditions, EnvironmentRead, ReadAt
from preflight.sources.job_sources import JobSources
from preflight.sources.mentions import function_of, which_comes
from preflight.syntax.outcomes import Defaults
from preflight.syntax.source_files import is_test
from preflight.values.names import shown


def judged(job: JobSources) -> Iterator[EnvironmentRead]:
    """Give each read of the environment, with why it does not matter where that is known."""
    files = job.files.values()
    stored = None if loads_dotenv(files) else frozenset(stored_in(files))
    defaults = Defaults(job.environment, stored)
    mentions = [one for one in job.mentions if not is_test(one.file)]
    for name, value in values_given(mentions):
        defaults.values.setdefault(name, []).append(value)
    entries = job.entries() if job.is_folder else []
    sure = job.acts()
    for read in job.reads():
        off = by_itself(read) or _why_off(job, read, defaults)
        at = ReadAt(read.file, read.line)
        only = entries[0] if len(entries) == 1 else ""
        by_imports = at in job.by_imports.get(only, ())
        called = is_called(read, only if job.is_folder else job.name, mentions)
        read = read._replace(by_imports=by_imports, is_called=called)  # noqa: PLW2901
        if _is_beside(job, read, only):
            off = off or f"{shown(only)} does not import {shown(read.file)}"
        script: str | None = read.file
        if not job.files[read.file].is_script:
            script = which_comes(read, entries, job.come_to)
        elif read.inside is None and not read.stands.as_main and read.file not in entries:
            script = ""  # by being started itself, or by being imported
        is_sure = read.file in sure or any(at in job.come_to.get(one, ()) for one in sure)
        is_sure = is_sure or by_imports or not job.is_folder
        if entries == [read.file] or script is None or is_sure:
            yield read._replace(off=off)
        else:
            yield read._replace(off=off, of_several=True, of_script=script)


def _is_beside(job: JobSources, read: EnvironmentRead, only: str) -> bool:
    """Whether a variable of the job's own is read by a file that the only script leaves out."""
    is_own = launcher_of(read.variable) is None and read.inside is None
    is_come_to = ReadAt(read.file, read.line) in job.come_to.get(only, ())
    return is_own and only in job.come_to and read.file != only and not is_come_to


def _why_off(job: JobSources, read: EnvironmentRead, defaults: Defaults) -> str | None:
    for one in job.unnamed:
        if one.first <= read.line <= one.last:
            return f"nothing that was named calls {shown(one.name)}()"
    off = _standing_off(job, read.stands, read.file, defaults)
    function = function_of(read)
    if off is not None or function is None:
        return off
    every = [
        (one.file, call)
        for one in job.mentions
        for call in one.calls
        if call.name == function and not is_test(one.file)
    ]
    if job.files[read.file].is_script:  # each script has a `main` of its own
        every = [one for one in every if one[0] == read.file] or every
    uncalled = (name for one in job.mentions for name in one.uncalled)
    if not every and _has_start(job, read) and function in uncalled:
        return f"nothing calls {shown(function)}()"
    calls = [_standing_off(job, call.stands, file, defaults) for file, call in every]
    return calls[0] if calls and None not in calls else None


def _has_start(job: JobSources, read: EnvironmentRead) -> bool:
    """Whether it is known what is started, of which a library by itself says nothing."""
    if job.is_folder:
        return bool(job.entries())
    return not job.implied and (job.files[read.file].is_script or read.file != job.name)


def _standing_off(job: JobSources, stands: Conditions, file: str, defaults: Defaults) -> str | None:
    test = defaults.off(stands.tests)
    if test is not None:
        return f"it stands behind `{shown(test)}`, which is off by default"
    if stands.as_main and not job.is_entry(file):
        return f"it runs only where {shown(file)} is the script that is started"
    return None
