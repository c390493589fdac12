"""What the samples of one shard are when they arrive at a loader, and what they lack for it."""

from __future__ import annotations

from typing import NamedTuple

from preflight.objects.facts import Definition


class Arrived(NamedTuple):
    """Samples of one shard that are made of the same fields, as webdataset hands them on."""

    fields: tuple[str, ...]
    """In small letters, in the order of their letters."""

    spoiled: tuple[str, ...]
    """Those of them that a decoder refuses: a text that is no UTF-8, an image that Pillow raises
    on, as far as that was looked at."""

    samples: int
    keys: tuple[str, ...] = ()
    """Of the first few."""

    whole: bool = True
    """False of a sample that stands at the end of a damaged shard, and is a part of what it was."""


class Lacking(NamedTuple):
    """Samples of one shard that lack a field which is asked for."""

    field: tuple[str, ...]
    """The field, with its alternatives."""

    samples: int
    keys: tuple[str, ...]
    """Of the first few."""

    how: str
    """What becomes of them, as of `Stage.handler`; `chosen`: they were taken out before;
    `filled-in`: they come with None in its place."""

    stage: str
    """What asks for the field: `to_tuple("jpg;png", "txt")`."""

    at: Definition = Definition()
    handler_name: str = ""
    chosen: str = ""
    """What chooses among samples before that, with its line (`preflight.pipelines.fates`)."""
