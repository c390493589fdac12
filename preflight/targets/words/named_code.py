"""Says, before anything of it runs, which settings were read and what code they make run."""

from __future__ import annotations

import os
from collections.abc import Iterator

from preflight.settings.job import CacheSettings, DataSettings, Factory, Job
from preflight.settings.nearest import Nearest
from preflight.settings.split import steps_of
from preflight.targets.targets import Built, CacheFolder, Dataset, Loader, Remote
from preflight.targets.words.discover import Discovered
from preflight.values.code_name import command_for, is_code_name
from preflight.values.names import shown


def said_of_settings(
    job: Job, settings: Nearest, found: Discovered, *, typed: bool
) -> Iterator[str]:
    """Say which file was passed over, and what code runs by the one that was read.

    Loaders and models run where no words were typed; those of words are the user's own wish.
    """
    yield from said_of_passed(settings)
    codes = [] if settings.file is None else [*dict.fromkeys(_codes(job, found, typed=typed))]
    if settings.file is not None and codes:
        file = shown(os.path.abspath(settings.file))
        yield f"{file} makes this run: {', '.join(map(shown, codes))}; --no-config reads none"


def said_of_passed(settings: Nearest) -> Iterator[str]:
    """Say which file was passed over, and why."""
    if settings.passed is not None:
        passed = shown(settings.passed)
        yield (
            f"{passed} was not read: {settings.reason}; to read it:  "
            f"{command_for('--config', passed)}"
        )


def _codes(job: Job, found: Discovered, *, typed: bool) -> Iterator[str]:
    targets = found.targets
    code = [] if typed else [one.call for one in (*job.loader, *job.model)]
    code += [] if typed else [one.run for one in job.script]
    if any(isinstance(one, CacheFolder) for one in targets):
        keys = (one.key for one in job.cache)
        code += [key for key in keys if key is not None and is_code_name(key)]
    for row in _rows(job, found):
        if isinstance(row, CacheSettings) and row.writer is not None:
            code.append(row.writer)
        code += filter(is_code_name, (word for step in steps_of(row.split) for word in step))
    yield from code
    runs = code or any(isinstance(one, Built) for one in targets)
    if runs and job.python is not None and "python" not in job.origins:  # no flag, no variable
        yield job.python


def _rows(job: Job, found: Discovered) -> Iterator[CacheSettings | DataSettings | Factory]:
    """Give what the settings say of targets, be they named by them or by words."""
    for one in (*found.targets, *found.datasets):
        match one:
            case CacheFolder(entry=int(entry)):
                yield job.cache[entry]
            case Dataset(entry=int(entry)):
                yield job.data[entry]
            case Remote():
                yield from job.data
            case Loader():
                yield from (row for row in job.loader if row.call == one.spec)
