"""Says in the words of preflight.toml what the files of trainers name."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.scaffold.toml_entries import table, text, texts
from preflight.settings.job import Job
from preflight.targets.words.data_files import DataFiles


def entries_of(job: Job, files: DataFiles) -> Iterator[str]:
    """Write an entry for each data set and cache that was read from such a file."""
    for at, data in list(enumerate(job.data))[files.data :]:
        said = {"path": data.path or "", "captions": data.captions}
        if data.caption_extension is not None:
            said["caption_extension"] = data.caption_extension
        entry = table("data", **said)
        entry += f"images = {texts(data.images)}\n" if data.images else ""
        entry += "" if data.subfolders else "subfolders = false\n"
        yield _from(job, f"data.{at}.path") + entry
    for at, cache in list(enumerate(job.cache))[files.cache :]:
        entry = table("cache", path=cache.path)
        entry += f"of = {texts(cache.of)}\n" if cache.of else ""
        entry += f"key = {text(cache.key)}\n" if cache.key is not None else ""
        yield _from(job, f"cache.{at}.path") + entry


def _from(job: Job, key: str) -> str:
    return f"# From {job.origins[key]}, which no run reads while this file names data.\n"
