"""Finds what is of the right type in the settings, and means nothing."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.settings.job import Job
from preflight.settings.options import FROM_1, PICTURE, SAMPLE, Type
from preflight.values.code_name import parse_spec

# Characters of a wrong value that are told.
_LONGEST = 100


def mistaken(job: Job) -> Iterator[tuple[str, str]]:
    """Give the key of each value that means nothing, and what is wrong with it."""
    yield from _amounts(job)
    yield from _caches(job)
    yield from _loops(job)
    yield from _splits(job)
    yield from _days(job)


def _amounts(job: Job) -> Iterator[tuple[str, str]]:
    """Hold what each data set may say for itself to the bounds of the options."""
    given: list[tuple[str, Type, object]] = [("look.sample", SAMPLE, job.look.sample)]
    given.append(("look.show_batch", PICTURE, job.look.show_batch))
    for index, one in enumerate(job.data):
        given.append((f"data.{index}.sample", SAMPLE, one.sample))
        given.append((f"data.{index}.batch_size", FROM_1, one.batch_size))
    for key, kind, value in given:
        if value is not None:
            try:
                kind.read(str(value))
            except ValueError as error:
                yield key, str(error)


def _caches(job: Job) -> Iterator[tuple[str, str]]:
    named = {text for one in job.data for text in (one.name, one.path, one.shards)}
    known = ", ".join(sorted(text for text in named if text is not None)) or "none"
    for index, cache in enumerate(job.cache):
        for name in cache.of:
            if name not in named:
                text = f"no [[data]] is called {short(name)}; known are {known}"
                yield f"cache.{index}.of", text
        if cache.writer is not None and parse_spec(cache.writer) is None:
            text = f"{short(cache.writer)} is no module:name and no file.py:name"
            yield f"cache.{index}.writer", text
        if cache.key is not None and cache.key != "auto":
            from preflight.settings.key_rule import mistake_in

            mistake = mistake_in(cache.key)
            if mistake is not None:
                yield f"cache.{index}.key", f"{short(cache.key)}: {mistake}"


def _loops(job: Job) -> Iterator[tuple[str, str]]:
    from preflight.settings.taking import parse_taking

    for index, one in enumerate(job.loader):
        if one.unpack is not None and parse_taking(one.unpack) is None:
            text = 'is no target of a loop, such as "images, labels"'
            yield f"loader.{index}.unpack", f"{short(one.unpack)} {text}"


def _splits(job: Job) -> Iterator[tuple[str, str]]:
    from preflight.settings.split import mistake_in

    said = {f"data.{index}": one.split for index, one in enumerate(job.data)}
    said |= {f"cache.{index}": one.split for index, one in enumerate(job.cache)}
    said |= {f"loader.{index}": factory.split for index, factory in enumerate(job.loader)}
    for entry, split in said.items():
        mistake = mistake_in(split)
        if mistake is not None:
            yield f"{entry}.split", mistake


def _days(job: Job) -> Iterator[tuple[str, str]]:
    import datetime

    for index, ignore in enumerate(job.ignore):
        if ignore.until is not None:
            try:
                day = datetime.date.fromisoformat(ignore.until).isoformat()
            except ValueError:
                day = None
            if day != ignore.until:  # 20260101 is a day to some Pythons, and does not compare
                text = f"{short(ignore.until)} is no day; write one such as 2026-01-01"
                yield f"ignore.{index}.until", text


def short(value: object) -> str:
    """Show a wrong value, or the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
