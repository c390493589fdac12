"""Lists the samples in folders of images, in little memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from preflight.formats.suffixes.images import is_image
from preflight.formats.suffixes.recordings import is_sound, is_video
from preflight.keys.samples import caption_texts as key_captions
from preflight.keys.samples.caption_texts import Captions, CaptionTable
from preflight.keys.samples.sample import Home, Sample, Tell, caption_suffixes
from preflight.pairing.folder_contents import FolderContents, list_all
from preflight.pairing.side_files import is_spare_folder, mask_of
from preflight.targets.targets import KeyedData

_TABLE = "metadata"
_PARTS = re.compile("[^/]+")


def folders_of(
    data: KeyedData, root: str, unread: list[str], tell: Tell, caches: Iterable[str]
) -> Iterator[Home]:
    """Give the folders of a data set that hold samples; `unread` takes what cannot be read.

    Caches may lie below it: images there are previews.
    """
    top = os.path.join(root, data.folder or "")
    whole = _whole(top)
    inner = tuple(one for one in map(_whole, caches) if one.startswith(whole) and one != whole)
    tables: list[CaptionTable] = []
    for one in list_all(top, root, below=data.captions.subfolders):
        tell(one.place)
        if inner and _whole(one.path).startswith(inner):
            continue
        below = os.path.relpath(one.path, top).replace(os.sep, "/")
        below = "" if below == "." else below
        if one.error is not None:
            unread.append(one.place)
            continue
        if data.captions.rule in ("auto", "json", "table") and _TABLE in one.holding("jsonl"):
            try:
                tables.append(CaptionTable(os.path.join(one.path, f"{_TABLE}.jsonl"), below, tell))
            except OSError:
                unread.append(one.inside(f"{_TABLE}.jsonl"))
        home = _FolderHome(data, one, below, tables)
        if home.takes:
            yield home


def _whole(path: str) -> str:
    return os.path.join(os.path.realpath(path), "")


class _FolderHome:
    """The images in one folder; its videos, where it has no image; or else its audio files."""

    def __init__(
        self, data: KeyedData, contents: FolderContents, below: str, tables: list[CaptionTable]
    ) -> None:
        self.data = data
        self._contents = contents
        self._below = below
        self._tables = tables
        self._is_spare = is_spare_folder(below)
        self._masked: set[str] | None = None
        listed = frozenset(one.lstrip(".").lower() for one in data.captions.images)
        kind = is_image if contents.images else is_video if contents.videos() else is_sound
        self.takes = frozenset(
            suffix
            for suffixes in contents.stems
            for suffix in suffixes
            if kind(f"x.{suffix}") and (not listed or suffix.lower() in listed)
        )
        """Suffixes of the samples, as they are written."""

    def samples(self) -> Iterator[Sample]:
        no_files = self._contents.no_files
        wanted = caption_suffixes(self.data.captions)
        for suffixes, joined in self._contents.stems.items():
            taken = [suffix for suffix in suffixes if suffix in self.takes]
            if not taken:
                continue
            lower = {suffix.lower(): suffix for suffix in reversed(suffixes)}
            caption = next((lower[one] for one in wanted if one in lower), None)
            for found in _PARTS.finditer(joined):
                for suffix in taken:
                    name = f"{found[0]}.{suffix}"
                    if name not in no_files:
                        yield Sample(self, found[0], name, self._below, caption)

    def captions(self, one: Sample) -> Captions:
        if self.data.captions.rule == "filename":
            return key_captions.of_name(one.stem)
        if one.ticket is not None:
            name = f"{one.stem}.{one.ticket}"
            if name in self._contents.no_files:
                return {}
            path = os.path.join(self._contents.path, name)
            return key_captions.read_file(path, is_json=one.ticket.lower() == "json")
        for table in self._tables:
            found = table.find(one.relative)
            if found is not None:
                return found
        return {}

    def modified(self, one: Sample) -> float | None:
        try:
            return os.stat(os.path.join(self._contents.path, one.name)).st_mtime
        except OSError:
            return None

    def caption_modified(self, one: Sample) -> float | None:
        if one.ticket is None:
            return None
        return self.modified(one._replace(name=f"{one.stem}.{one.ticket}"))

    def shown(self, one: Sample) -> str:
        return self._contents.inside(one.name)

    def identity(self, one: Sample) -> object:
        return os.path.realpath(os.path.join(self._contents.path, one.name))

    def is_mask(self, one: Sample) -> bool:
        if self._is_spare:
            return True
        image = mask_of(one.stem)
        if image is None:
            return False
        if self._masked is None:
            wanted = {mask_of(sample.stem) for sample in self.samples()}
            self._masked = {one.stem for one in self.samples() if one.stem in wanted}
        return image in self._masked
