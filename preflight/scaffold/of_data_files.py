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
        yield _from(job, f"data.{at}.path") + entry + "subfolders = false\n" * (not data.subfolders)
    for at, cache in list(enumerate(job.cache))[files.cache :]:
        entry = table("cache", path=cache.path)
        entry += f"of = {texts(cache.of)}\n" if cache.of else ""
        entry += f"key = {text(cache.key)}\n" if cache.key is not None else ""
        yield _from(job, f"cache.{at}.path") + entry


def _from(job: Job, key: str) -> str:
    return f"# {job.origins[key]} says so; it is not read where this file names data.\n"
