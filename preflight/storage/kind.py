"""The rows of places that caches are written to, and of what writes to them."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.settings.job import Job
from preflight.storage.facts import StorageProbe, WriterTrial
from preflight.targets.targets import CacheFolder


def _is_tried(job: Job) -> bool:
    is_said = job.look.probe_storage or any(one.is_written for one in job.cache)
    return is_said and not job.launch.elsewhere


STORAGE = Kind(
    name="cache-storage",
    noun="place of a cache",
    word="cache",
    target=CacheFolder,
    facts={StorageProbe: "cache that is written to (written, writer, --probe-storage)"},
    reader="preflight.storage.read:look",
    gather="preflight.storage.gather:Storages",
    asked_for=_is_tried,
)

WRITER = Kind(
    name="cache-writer",
    noun="writer of a cache",
    word="cache",
    target=CacheFolder,
    facts={WriterTrial: "cache whose writer is named (writer)"},
    reader="preflight.storage.trial:look",
    gather="preflight.storage.gather:Writers",
    asked_for=lambda job: any(one.writer for one in job.cache),
)

KINDS = (STORAGE, WRITER)
