"""Where a batch is shown, and what a report says of that."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace

from preflight.settings.job import Job
from preflight.values.names import name_of, shown


def placed(job: Job, here: str) -> Job:
    """Say in full which file a batch is shown in: beside the settings, or where it was typed.

    Raises:
        ValueError: its folder is not there, or it is a folder.
    """
    file = job.look.show_batch
    if file is None:
        return job
    base = here if job.origin("look.show_batch")[0] is None else job.root
    path = os.path.abspath(os.path.join(base, os.path.expanduser(file)))
    if not os.path.isdir(os.path.dirname(path)):
        raise ValueError(f"--show-batch {file}: there is no folder {os.path.dirname(path)}")
    if os.path.isdir(path):
        raise ValueError(f"--show-batch {file}: it is a folder")
    return replace(job, look=replace(job.look, show_batch=path))


def pictured(job: Job, remarks: Sequence[str]) -> Iterable[str]:
    """Give all remarks, and say why no batch is shown where one was to be and none of them does."""
    if job.look.show_batch is None:
        return remarks
    file = shown(name_of(job.look.show_batch, job.root))
    if any(file in one for one in remarks):
        return remarks
    why = "--depth index draws none" if job.look.depth == "index" else "none was drawn"
    old = (
        ", and what is there is older than this run" if os.path.exists(job.look.show_batch) else ""
    )
    return (*remarks, f"No batch is shown in {file}: {why}{old}.")
