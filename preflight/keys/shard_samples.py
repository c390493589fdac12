"""Lists the samples of shards by their headers, in little memory."""

from __future__ import annotations

import itertools
import os
import re
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from preflight.file_access.opened import reading
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, what_is
from preflight.formats.packing.packed import Packed, can_unpack
from preflight.formats.suffixes.images import is_image
from preflight.formats.tar.end import Read
from preflight.formats.tar.walk import Member, walk
from preflight.keys import captions as key_captions
from preflight.keys.captions import Captions
from preflight.keys.sample import OFTEN, Sample, Tell, caption_suffixes
from preflight.shards.samples import key_of
from preflight.targets.targets import KeyedData
from preflight.values.names import name_of

_PARTS = re.compile("[^\0]+")


class _Listed(NamedTuple):
    """A sample as its headers tell it."""

    name: str
    is_pictured: bool
    caption: Member | None
    text: bytes
    """The caption, where it cannot be read again at its place."""


class ShardHome:
    """The samples of one shard."""

    def __init__(self, data: KeyedData, path: str, root: str, tell: Tell) -> None:
        """Walk its headers; of a shard that cannot be read to its end, those before are taken."""
        self.data = data
        self.place = name_of(path, root)
        self.is_cut = False
        """Whether it could not be read to its end."""

        self._path = path
        self._tell = tell
        self._wanted = caption_suffixes(data.captions)
        self._names = ""
        self._offsets, self._sizes = array("q"), array("q")
        self._is_json = bytearray()
        self._texts: list[bytes] = []
        self._written: float | None = None
        try:
            self._written = os.stat(path).st_mtime
            with open(path, "rb", buffering=0) as stream:
                size = os.fstat(stream.fileno()).st_size
                raw = reading(stream, size)
                what = what_is(raw(0, HEAD))
                packed = Packed(raw, what) if what is not None and can_unpack(what) else None
                self._list(packed.read if packed else raw, None if packed else size)
        except OSError:
            self.is_cut = True

    def _list(self, read: Read, size: int | None) -> None:
        listed = [
            self._listed(list(members), read, keep=size is None)
            for _, members in itertools.groupby(self._members(read, size), key=_key)
        ]
        if any(one.is_pictured for one in listed):  # what has no image there is no sample
            listed = [one for one in listed if one.is_pictured]
        self._names = "\0".join(one.name for one in listed)
        for one in listed:
            self._offsets.append(one.caption.offset if one.caption else 0)
            self._sizes.append(one.caption.size if one.caption else -1)
            self._is_json.append(one.caption is not None and one.caption.name.endswith("json"))
        if size is None:
            self._texts = [one.text for one in listed]

    def _members(self, read: Read, size: int | None) -> Iterator[Member]:
        for number, one in enumerate(walk(read, size)):
            if not number % OFTEN:
                self._tell(self.place)
            if isinstance(one, Flaw):
                self.is_cut = True
                return
            name, _, _, kind = one
            if kind == "file" and not name.startswith("__") and key_of(name) is not None:
                yield Member(*one)

    def _listed(self, members: list[Member], read: Read, *, keep: bool) -> _Listed:
        """Choose, of the files of one sample, its image and its caption."""
        image = next((one for one in members if is_image(one.name)), None)
        suffixes = {_suffix(one): one for one in reversed(members)}
        caption = next((suffixes[one] for one in self._wanted if one in suffixes), None)
        if caption is not None and caption.size > key_captions.LONGEST:
            caption = None
        text = read(caption.offset, caption.size) if keep and caption is not None else b""
        return _Listed((image or members[0]).name, image is not None, caption, text)

    def samples(self) -> Iterator[Sample]:
        """Give all of them, each time in the same order."""
        for number, found in enumerate(_PARTS.finditer(self._names)):
            split = key_of(found[0])
            folder, _, stem = (split[0] if split else found[0]).rpartition("/")
            yield Sample(self, stem, found[0].rpartition("/")[2], folder, number)

    def captions(self, one: Sample) -> Captions:
        """Read the captions of one; empty: it has none."""
        if self.data.captions.rule == "filename":
            return key_captions.of_name(one.stem)
        size = self._sizes[one.ticket]
        if size < 0:
            return ()
        if self._texts:
            content = self._texts[one.ticket]
        else:
            try:
                with open(self._path, "rb", buffering=0) as file:
                    file.seek(self._offsets[one.ticket])
                    content = file.read(size) or b""
            except OSError:
                return ()
        return key_captions.of_bytes(content, is_json=bool(self._is_json[one.ticket]))

    def modified(self, _one: Sample) -> float | None:
        """Say when the shard was last written."""
        return self._written

    def caption_modified(self, one: Sample) -> float | None:
        """Say when the shard was last written, where it holds a caption of this one."""
        return self._written if self._sizes[one.ticket] >= 0 else None

    def shown(self, one: Sample) -> str:
        """Name one, as reports do."""
        return f"{self.place}:{one.relative}"

    def identity(self, one: Sample) -> object:
        """Tell one from another: the same for one file, whatever data set has it."""
        return os.path.realpath(self._path), one.relative

    def is_mask(self, _one: Sample) -> bool:
        """Whether this is a mask: nobody looks for them in shards."""
        return False


def _key(member: Member) -> str:
    split = key_of(member.name)
    return split[0] if split is not None else member.name


def _suffix(member: Member) -> str:
    split = key_of(member.name)
    return split[1].lower() if split is not None else ""
