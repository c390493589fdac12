"""Reads a zip archive of images to its end, one member in memory at a time."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import Any

from preflight.formats.bytes.window import Window
from preflight.formats.suffixes.images import is_beside_an_image, is_image
from preflight.images.facts import ImageDamage
from preflight.images.read import MOST_IMAGE, look_into_image
from preflight.kinds.asked import Asked
from preflight.values.names import name_of, shown
from preflight.zips.facts import ImageZip

_LABELS = "dataset.json"
"""As the tools of StyleGAN write it: `{"labels": [["00000/img0.png", 6], …]}`."""

_MOST_LABELS = 1 << 28
_TOLD = 10_000
_FEW = 5

_NOT_WHOLE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def look(asked: Asked) -> Iterator[ImageZip]:
    """Read the archive that is asked about."""
    path = os.path.join(asked.root, asked.wire["path"])
    name, size = name_of(path, asked.root), os.path.getsize(path)
    try:
        with zipfile.ZipFile(path) as archive:
            yield _read(archive, asked, ImageZip(file=name, size=size))
    except zipfile.BadZipFile as error:
        text = f"cannot be opened as a zip archive: {error}"
        yield ImageZip(file=name, size=size, damage=text)


def _read(archive: zipfile.ZipFile, asked: Asked, bare: ImageZip) -> ImageZip:
    damaged: list[ImageDamage] = []
    images = [one for one in archive.infolist() if is_image(one.filename)]
    left = [one for one in archive.namelist() if is_beside_an_image(one.rpartition("/")[2])]
    more = 0
    for one in images:
        asked.alive(f"member {shown(one.filename)}")
        damage = _damage_of(archive, one, asked.depth)
        if damage is not None and len(damaged) < _TOLD:
            damaged.append(damage)
        elif damage is not None:
            more += 1
    held, (labelled, unread) = {one.filename for one in images}, _labelled(archive, asked.alive)
    damaged += [] if unread is None else [unread]
    out = held - labelled if labelled else set()
    absent = labelled - held
    return ImageZip(
        file=bare.file,
        size=bare.size,
        images=len(images),
        damaged=tuple(damaged),
        more_damaged=more,
        left_behind=len(left),
        left_behind_name=next(iter(left), ""),
        labels=_LABELS if labelled else "",
        unread_labels=_too_large(archive),
        unlabelled=len(out),
        unlabelled_names=tuple(nsmallest(_FEW, out)),
        absent=len(absent),
        absent_names=tuple(nsmallest(_FEW, absent)),
    )


def _damage_of(archive: zipfile.ZipFile, one: zipfile.ZipInfo, depth: str) -> ImageDamage | None:
    name, size = one.filename, one.file_size
    if size > MOST_IMAGE:
        return ImageDamage(name=name, kind="huge", text="is too large to be held", bytes=size)
    try:
        content = archive.read(one)
    except _NOT_WHOLE as error:
        text = f"cannot be read whole: {error or 'it ends too soon'}"
        return ImageDamage(name=name, kind="cut", text=text, bytes=size, raises="BadZipFile")
    return look_into_image(Window.over(content), name, depth).damage


def _too_large(archive: zipfile.ZipFile) -> int:
    """Give the bytes of labels that are too large to be held; 0 of others."""
    size = archive.getinfo(_LABELS).file_size if _LABELS in archive.namelist() else 0
    return size if size > _MOST_LABELS else 0


def _labelled(
    archive: zipfile.ZipFile, alive: Callable[[], None]
) -> tuple[set[str], ImageDamage | None]:
    """Name what has a label, and say why no label can be read.

    No name is given where no label is there, or all are left out (`null`).
    """

    def number(_: str) -> int:
        """Take a label, whatever it is: between two of them there is time to show life."""
        alive()
        return 0

    if _LABELS not in archive.namelist() or _too_large(archive):
        return set(), None
    try:
        content = archive.read(_LABELS)
        rows: Any = json.loads(content, parse_int=number, parse_float=number).get("labels")
        return {str(row[0]).replace("\\", "/") for row in rows or ()}, None
    except (AttributeError, TypeError, LookupError):  # it holds something else
        return set(), None
    except (*_NOT_WHOLE, ValueError) as error:
        text, size = f"cannot be read: {error}", archive.getinfo(_LABELS).file_size
        by = type(error).__name__
        return set(), ImageDamage(
            name=_LABELS, kind="undecodable", text=text, bytes=size, raises=by
        )
