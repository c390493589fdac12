"""Takes one file that was named for what it is: by its name, or else by its first bytes."""

from __future__ import annotations

import os

from preflight.formats.magic import head_of
from preflight.kinds.target import Target
from preflight.targets.file_types import contents
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES, IMAGE_SUFFIXES, SHARD_SUFFIXES
from preflight.targets.folders import is_shard, look_for_sources
from preflight.targets.targets import (
    CacheFolder,
    CaptionRule,
    Columnar,
    Folder,
    PictureZip,
    Shard,
    Source,
)
from preflight.values.names import shown

# What each word of a kind takes; of suffixes, those that most have.
_READ = {
    "data": f"shards ({', '.join(SHARD_SUFFIXES)}) or images (.jpg, .png, .webp and others), "
    "also in a zip archive",
    "cache": f"cached tensors or checkpoints ({', '.join(CACHE_SUFFIXES)}, and .bin of torch)",
    "source": "Python sources (.py)",
}

_WHAT = {
    ("data",): "shard and no image",
    ("cache",): "cached file",
    ("source",): "Python source",
    tuple(_READ): "shard, image, cached file or folder",
}


class UnknownWordError(ValueError):
    """A word that is no target; the text says what was tried."""

    def __init__(self, text: str) -> None:
        super().__init__(shown(text))


class NoneOfKindError(UnknownWordError):
    """A file that is there, and is nothing that its kind reads."""


def by_content(word: str, path: str) -> Target:
    """Take a file whose name says nothing for what its first bytes say that it is."""
    if path.lower().endswith(".bin"):
        if contents.may_be_cached(path):
            return CacheFolder(path=path)
        raise none_of(word, path, "cache")
    if contents.is_tar(path):
        return Shard(path=path)
    if contents.is_image(path):
        return Folder(path=path)
    if contents.is_image_zip(path):
        return PictureZip(path=path)
    if contents.is_tensors(path):
        return CacheFolder(path=path)
    if contents.is_rows(path):
        return Columnar(path=path)
    raise none_of(word, path, *_READ)


def one_of_data(
    value: str, path: str, captions: CaptionRule
) -> Shard | Folder | Columnar | PictureZip:
    """Take one file for a shard, an image or several in a zip, or rows, by its name or first bytes.

    Raises:
        UnknownWordError: it is none of these; one that cannot be read is a shard, which says so.
    """
    if value.lower().endswith(IMAGE_SUFFIXES):
        return Folder(path=path, captions=captions)
    if may_be_shard(path):
        return Shard(path=path, captions=captions)
    if contents.is_image(path):
        return Folder(path=path, captions=captions)
    if contents.is_image_zip(path):
        return PictureZip(path=path)
    if contents.is_rows(path):
        return Columnar(path=path)
    raise none_of(f"data={value}", path, "data")


def may_be_shard(path: str) -> bool:
    """Whether a file is a shard by its name or its first bytes, or cannot be read."""
    return is_shard(path) or head_of(path) is None or contents.is_tar(path)


def source_at(path: str, value: str) -> Source:
    """Take a path for sources, unless nothing of Python is there: that would be a GO of nothing."""
    if os.path.isdir(path):
        if os.access(path, os.R_OK) and next(look_for_sources(path), None) is None:
            raise UnknownWordError(f"source={value} holds no {_READ['source']}")
    elif not contents.is_python(path):
        raise none_of(f"source={value}", path, "source")
    return Source(path=path)


def none_of(word: str, path: str, *kinds: str) -> NoneOfKindError:
    """Say of a file that is there what it is, and what is read in its place."""
    read = "; ".join(f"{kind}= reads {_READ[kind]}" for kind in kinds)
    return NoneOfKindError(
        f"{word} is there, and is no {_WHAT[kinds]} by its name or its first bytes: it "
        f"{contents.called(path)}, which this version does not read. {read}"
    )
