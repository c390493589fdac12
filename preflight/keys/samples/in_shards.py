"""Lists the samples of shards by their headers, in little memory."""

from __future__ import annotations

import itertools
import os
import re
from array import array
from collections.abc import Iterator
from io import FileIO
from operator import itemgetter
from typing import NamedTuple

from preflight.file_access.opened import reading, telling
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, what_is
from preflight.formats.packing.packed import Packed, can_unpack
from preflight.formats.suffixes.images import is_image
from preflight.formats.tar.end import Read
from preflight.formats.tar.walk import Member, walk
from preflight.keys.samples import caption_texts as key_captions
from preflight.keys.samples.caption_texts import Captions
from preflight.keys.samples.sample import Home, Sample, Tell, caption_suffixes
from preflight.pairing.lengths import LONGEST
from preflight.shards.samples import key_of
from preflight.targets.targets import KeyedData
from preflight.values.names import name_of

_PARTS = re.compile("[^\0]+")


class _Listed(NamedTuple):
    name: str
    caption: Member | None
    text: bytes
    """The caption, where it cannot be read again at its place."""


def shards_of(data: KeyedData, root: str, unread: list[str], tell: Tell) -> Iterator[Home]:
    """Walk the headers of a data set's shards; `unread` takes those that cannot be read to an end.

    The samples that stand before the place at which one cannot be read are taken.
    """
    for path in data.shards:
        home = _ShardHome(data, os.path.join(root, path), root, tell)
        if home.is_cut:
            unread.append(home.place)
        yield home


def opened(stream: FileIO, tell: Tell) -> tuple[Read, int | None]:
    """Give what reads an archive, unpacked where it is packed, and its size where it is not."""
    size = os.fstat(stream.fileno()).st_size
    raw = telling(reading(stream, size), lambda: tell(str(stream.name)))
    what = what_is(raw(0, HEAD))
    if what is not None and can_unpack(what):
        return Packed(raw, what, tell=lambda: tell(str(stream.name))).read, None
    return raw, size


class _ShardHome:
    def __init__(self, data: KeyedData, path: str, root: str, tell: Tell) -> None:
        self.data = data
        self.place = name_of(path, root)
        self.is_cut = False
        self._path = path
        self._names = ""
        self._offsets, self._sizes = array("q"), array("q")
        self._is_json = bytearray()
        self._texts: list[bytes] = []
        self._written: float | None = None
        try:
            self._written = os.stat(path).st_mtime
            with open(path, "rb", buffering=0) as stream:
                self._list(*opened(stream, tell))
        except OSError:
            self.is_cut = True

    def _list(self, read: Read, size: int | None) -> None:
        listed = [
            self._listed([(suffix.lower(), one) for _, suffix, one in members], read, size)
            for _, members in itertools.groupby(self._members(read, size), key=itemgetter(0))
        ]
        pictured = [one for one in listed if is_image(one.name)]
        listed = pictured or listed  # what has no image there is no sample
        self._names = "\0".join(one.name for one in listed)
        for one in listed:
            self._offsets.append(one.caption.offset if one.caption else 0)
            self._sizes.append(one.caption.size if one.caption else -1)
            self._is_json.append(one.caption is not None and one.caption.name.endswith("json"))
        if size is None:
            self._texts = [one.text for one in listed]

    def _members(self, read: Read, size: int | None) -> Iterator[tuple[str, str, Member]]:
        """Give the files of samples, each with its key and its suffix."""
        for one in walk(read, size):
            if isinstance(one, Flaw):
                self.is_cut = True
                return
            name, _, _, kind = one
            split = key_of(name)
            if kind == "file" and not name.startswith("__") and split is not None:
                yield *split, Member(*one)

    def _listed(self, members: list[tuple[str, Member]], read: Read, size: int | None) -> _Listed:
        """Choose, of the files of one sample, its image and its caption."""
        image = next((one for _, one in members if is_image(one.name)), members[0][1])
        suffixes = dict(reversed(members))
        wanted = caption_suffixes(self.data.captions)
        caption = next((suffixes[one] for one in wanted if one in suffixes), None)
        if caption is not None and caption.size > LONGEST:
            caption = None
        text = read(caption.offset, caption.size) if size is None and caption is not None else b""
        return _Listed(image.name, caption, text)

    def samples(self) -> Iterator[Sample]:
        for number, found in enumerate(_PARTS.finditer(self._names)):
            split = key_of(found[0])
            folder, _, stem = (split[0] if split else found[0]).rpartition("/")
            yield Sample(self, stem, found[0].rpartition("/")[2], folder, number)

    def captions(self, one: Sample) -> Captions:
        if self.data.captions.rule == "filename":
            return key_captions.of_name(one.stem)
        size = self._sizes[one.ticket]
        if size < 0:
            return {}
        if self._texts:
            content = self._texts[one.ticket]
        else:
            try:
                with open(self._path, "rb", buffering=0) as file:
                    file.seek(self._offsets[one.ticket])
                    content = file.read(size) or b""
            except OSError:
                return {}
        return key_captions.of_bytes(content, is_json=bool(self._is_json[one.ticket]))

    def modified(self, _one: Sample) -> float | None:
        return self._written

    def caption_modified(self, one: Sample) -> float | None:
        return self._written if self._sizes[one.ticket] >= 0 else None

    def shown(self, one: Sample) -> str:
        return f"{self.place}:{one.relative}"

    def identity(self, one: Sample) -> object:
        return os.path.realpath(self._path), one.relative

    def is_mask(self, _one: Sample) -> bool:
        return False  # nobody looks for masks in shards
