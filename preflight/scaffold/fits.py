"""Finds out which caches can be held against the data that they seem to be made of."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from preflight.findings import registry
from preflight.findings.looks import Looked
from preflight.keys.facts import CacheKeys
from preflight.session.look import Looks
from preflight.session.run import nobody_watches
from preflight.settings.how_to_look import Look
from preflight.settings.job import CacheSettings, DataSettings, Job
from preflight.targets.words.discover import discover

# A file with settings is to be there soon; what was not compared by then stays a guess.
_SECONDS = 20.0


def led_to(caches: Sequence[CacheSettings], data: Sequence[DataSettings], root: str) -> set[str]:
    """Compare caches with their data as a run would; name those to whose entries a rule leads."""
    if not caches:
        return set()
    look = Look(no_ledger=True, budget=_SECONDS)
    job = Job(root=root, data=tuple(data), cache=tuple(caches), look=look)
    job = replace(job, launch=replace(job.launch, elsewhere=True))
    checks = {name: one for name, one in registry.built_in().items() if CacheKeys in one.over}
    try:
        found = discover((), job, root)
    except ValueError:  # a run would say of which entry, and why
        return set()
    looking = Looks(job=job, checks=checks, watch=nobody_watches)
    with contextlib.closing(looking.of(found.targets, found.apart)) as looks:
        told = [one.facts for one in looks if isinstance(one, Looked)]
    return {
        caches[one.entry].path
        for one in told
        if isinstance(one, CacheKeys) and one.entry is not None and one.rule is not None
    }
