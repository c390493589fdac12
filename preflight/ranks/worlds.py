"""Finds what the settings say of how data sets, caches and loaders are divided among ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from preflight.findings.finding import Location
from preflight.kinds.target import Target
from preflight.settings.job import DataSettings, Job
from preflight.settings.split import Said
from preflight.targets.folders import is_shard
from preflight.targets.targets import CacheFolder, Dataset, Loader, Remote
from preflight.targets.words import braces


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided(Target):
    """The ranks of the job, and what they divide among themselves."""

    of: Target
    name: str
    split: tuple[str, ...]
    workers: int | None = None
    """Of each rank, where the settings say it."""

    atomic: bool = False
    batch_size: int | None = None
    """Samples in a batch of each rank, where the settings say it."""

    shards: tuple[str, ...] = field(default=(), repr=False)
    """Those of which some lie behind an address: they are divided by their names, and not read."""

    def name_in(self, _root: str) -> str:
        """Name it as what is divided is named."""
        return self.name

    def place(self, root: str) -> Location:
        """Say where it is: where what is divided is."""
        return self.of.place(root)


def worlds(targets: Iterable[Target], job: Job) -> Iterator[Divided]:
    """Find what the settings say of how it is divided."""
    found = tuple(targets)
    far = {one.address: one for one in found if isinstance(one, Remote)}
    behind = dict(_behind_addresses(far, job)) if far else {}
    yield from behind.values()
    for one in found:
        match one:
            case CacheFolder(entry=int(entry), checkpoint=False) if job.cache[entry].split:
                cache = job.cache[entry]
                name = cache.name or cache.path
                yield _world(one, name, cache.split, job, atomic=cache.atomic is True)
            case Dataset(entry=int(entry)) if job.data[entry].split and entry not in behind:
                data = job.data[entry]
                yield _world(one, one.name, data.split, job, batch_size=data.batch_size)
            case Loader():
                for factory in job.loader:
                    is_it = (factory.call, factory.name, factory.pick)
                    if factory.split and is_it == (one.spec, one.name, one.pick):
                        yield _world(one, one.name_in(job.root), factory.split, job)
                        break


def _behind_addresses(far: dict[str, Remote], job: Job) -> Iterator[tuple[int, Divided]]:
    """Find data sets with shards behind an address, each by its place in the settings."""
    for entry, data in enumerate(job.data):
        value = data.shards or data.path
        if not data.split or value is None:
            continue
        shards = _named_by(value)
        one = next((far[name] for name in (value, *shards) if name in far), None)
        if one is not None:
            yield entry, _behind(one, data, value, shards, job)


def _behind(
    one: Remote, data: DataSettings, value: str, shards: tuple[str, ...], job: Job
) -> Divided:
    size = data.batch_size
    return _world(one, data.name or value, data.split, job, batch_size=size, shards=shards)


def _named_by(value: str) -> tuple[str, ...]:
    """Give the shards that a pattern names; none where it does not say how many there are."""
    try:
        names = tuple(braces.expand(value))
    except braces.TooManyError:
        return ()
    is_told = len(names) > 1 or is_shard(value)
    return names if is_told and not any(sign in value for sign in "*?[") else ()


def _world(
    of: Target,
    name: str,
    said: Said,
    job: Job,
    *,
    atomic: bool = False,
    batch_size: int | None = None,
    shards: tuple[str, ...] = (),
) -> Divided:
    return Divided(
        of=of,
        name=name,
        split=(said,) if isinstance(said, str) else said or (),
        workers=job.launch.num_workers,
        atomic=atomic,
        batch_size=batch_size or job.launch.batch_size,
        shards=shards,
    )
