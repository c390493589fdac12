"""Looks at a loader in its own process, for a caller who hands it over."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from preflight.findings.looks import Left, Look, Looked
from preflight.kinds.asked import MistypedError
from preflight.loaders import sent as walk
from preflight.loaders import travel
from preflight.loaders.facts import Loaded
from preflight.loaders.workers import fresh
from preflight.settings.job import Job
from preflight.users_code.main_module import why_no_worker


def look(loader: object, job: Job, name: str = "loader") -> Iterator[Look]:
    """Walk it, and load what it sends in fresh workers, where this process may start some."""
    if not walk.is_loader(loader):
        raise MistypedError(f"inspect(loader=…): {type(loader).__qualname__} is no DataLoader")
    launch = job.launch
    known = walk.Known(name, job.root, None, launch.num_workers, launch.start_method)
    reason = why_no_worker()
    if reason is not None:
        yield Looked(facts=walk.walk_loader(loader, known))
        yield Left(reason=reason, kinds=(Loaded,))
        return
    surroundings = fresh.Surroundings(
        timeout=job.look.timeout, alive=lambda: None, path=sys.path, files={}
    )
    for one in travel.travel(loader, known, surroundings):
        yield Looked(facts=one)
