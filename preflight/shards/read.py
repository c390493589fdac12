"""Reads one shard to its end: its structure, its samples, and every image in it."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from io import FileIO

from preflight.file_access.facts import Damage
from preflight.file_access.lfs import refined
from preflight.file_access.opened import holes, reading, telling
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.bytes.window import Window
from preflight.formats.magic import HEAD, what_is
from preflight.formats.packing.packed import Packed, can_unpack
from preflight.formats.packing.zstd import tarfile_unpacks
from preflight.formats.pictures.heads import shape_in
from preflight.formats.pictures.picture import JPEG, JPEG_END, MARKED
from preflight.formats.suffixes.images import is_image
from preflight.formats.suffixes.recordings import is_video
from preflight.formats.tar.end import HELD, NextData, Read, fills_short_records, record_of
from preflight.formats.tar.header import BLOCK
from preflight.formats.tar.walk import Found, Member, hop, nearby
from preflight.images.decoding import undecodable
from preflight.images.facts import ImageDamage
from preflight.images.pictures import Damages, PictureCounts
from preflight.images.read import MOST_IMAGE, ends_are_sound, look_into_image
from preflight.kinds.asked import Asked, CannotLookError
from preflight.pairing.lengths import LONGEST, Lengths, fields_of_text
from preflight.pairing.rules import extension_of
from preflight.pipelines.fates import RECORDS
from preflight.shards.arriving import Cut, arriving
from preflight.shards.facts import ShardFacts
from preflight.shards.fields import fields_of
from preflight.shards.lost import (
    first_lost,
    hollow,
    is_broken,
    keys_behind,
    lost,
    padding,
    through_packing,
)
from preflight.shards.packed_keys import pack
from preflight.shards.pairing_so_far import pair_so_far
from preflight.shards.records import is_refused
from preflight.shards.samples import Samples
from preflight.targets.targets import Shard
from preflight.values.byte_sizes import format_size
from preflight.values.names import name_of, shown
from preflight.values.wire import from_wire

Tell = Callable[[str], None]

# Images of which one is told, where only their ends are looked at.
_SOME = 64

_LONG = 1 << 24
"""Bytes of a shard that may take a second to be walked over."""

_LOOK_INSIDE = "Unpack it where there is room, and look at what comes out."


def look(asked: Asked) -> Iterator[ShardFacts]:
    """Read the shard that is asked about."""
    yield read_shard(from_wire(Shard, asked.wire), asked.root, asked.alive, asked.depth)


def read_shard(shard: Shard, root: str, tell: Tell, depth: str = "bytes") -> ShardFacts:
    """Read a shard once, from its first header to its end, one image in memory at a time.

    Before each image is looked at, the member's name is told as reports say it.

    Raises:
        OSError: it cannot be opened or read, or is no file.
    """
    path = os.path.join(root, shard.path)
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{shard.path} is no regular file")
    with open(path, "rb", buffering=0) as stream:
        return _read(stream, shard, name_of(shard.path, root), tell, depth)


def _read(stream: FileIO, shard: Shard, name: str, tell: Tell, depth: str) -> ShardFacts:
    size = os.fstat(stream.fileno()).st_size
    raw = reading(stream, size)
    if size > _LONG:
        raw = telling(raw, lambda: tell(name))
    what = what_is(raw(0, HEAD))
    packed = None
    if what is not None and can_unpack(what):
        packed = Packed(raw, what, tell=lambda: tell(name))
    read = packed.read if packed else raw
    texts = fields_of_text(shard.captions)
    looked = _Looked(read, None if packed else size, tell, depth, texts, packed=packed is not None)
    next_data = None if packed else holes(stream)
    ended_at = looked.at_all(next_data)
    if packed is not None and packed.endless:
        raise CannotLookError(packed.endless, fix=packed.way_out or _LOOK_INSIDE)
    flaw = ended_at
    if packed is not None:
        every = Packed(raw, packed.kind, every=True, tell=lambda: tell(name))
        flaw = through_packing(packed, ended_at, every)

    samples = looked.samples
    unpacked = size if packed is None else packed.unpacked
    if flaw is None:
        flaw = ended_at = hollow(samples, unpacked)
    zeros = padding(samples, unpacked) if flaw is None else 0
    rest = (
        keys_behind(raw, size, what if packed else None, flaw, next_data, lambda: tell(name))
        if flaw
        else []
    )
    broken = ended_at is not None and is_broken(samples, ended_at, rest)
    missed = lost(samples, flaw, ended_at, rest, broken=broken) if flaw is not None else None
    pairing, flaw, broken = pair_so_far(samples, shard, flaw, missed, broken=broken)
    damage = _damage(flaw, str(stream.name))
    return ShardFacts(
        file=name,
        size=size,
        damage=damage,
        members=samples.files,
        samples=len(samples.groups) - broken,
        lost=missed,
        first_lost=first_lost(samples, flaw, rest, broken=broken) if flaw is not None else None,
        quiet=flaw is not None and flaw.quiet,
        pairing=pairing if samples.files or not damage else None,
        images=looked.images,
        damaged_images=tuple(looked.damages.told),
        more_damaged=looked.damages.more,
        pictures=looked.pictures.told(),
        fields=fields_of(samples.groups[: len(samples.groups) - broken], samples.contents),
        captions=looked.captions.told(),
        undecodable=dict(looked.undecodable),
        oddities=samples.strange.told(samples.groups),
        arrived=arriving(samples.groups, looked.spoiled, Cut.of(flaw, broken=broken)),
        videos=_videos(samples),
        is_zstd=packed is not None and packed.name == "zstd" and not tarfile_unpacks(),
        padding=zeros,
        record=record_of(zeros, unpacked) if zeros else 0,
        is_of_tarfile=zeros > 0 and packed is None and fills_short_records(raw(0, BLOCK)),
        keys=pack(samples.groups.keys, samples.sizes),
    )


def _videos(samples: Samples) -> int:
    if not any(is_video(one) for suffixes in samples.kinds for one in suffixes):
        return 0
    return sum(is_video(one) for suffixes in samples.groups.made_of for one in suffixes)


class _Looked:
    """What was met on the way through an archive."""

    def __init__(
        self,
        read: Read,
        size: int | None,
        tell: Tell,
        depth: str,
        texts: frozenset[str],
        *,
        packed: bool,
    ) -> None:
        self.read = read
        self.near = nearby(read, size)
        self.images = 0
        self.damages = Damages()
        self.pictures = PictureCounts()
        self.captions = Lengths()
        self.spoiled: dict[int, set[str]] = {}
        """By the number of a sample, its fields that a decoder refuses."""

        self.undecodable: Counter[str] = Counter()
        self._size = size
        self._tell = tell
        # What was unpacked is not to be had again; and as all of it was read, index saves nothing.
        self._depth = "bytes" if packed and depth == "index" else depth
        self._packed = packed
        self._texts = texts
        given = (texts, RECORDS) if self._depth != "index" else ()
        self.samples = Samples(*given)

    def at_all(self, next_data: NextData | None) -> Flaw | None:
        """Look at each member; give the flaw at which the walk ended."""
        flaws: list[Flaw] = []
        found = hop(self.read, self._size, 0, flaws, next_data=next_data, near=self.near)
        given = self.samples.gather(found)
        if self._depth == "index":
            given = self._with_odd_ends(given)
        for one in given:
            if is_image(one[0]):
                self._look_at_image(Member(*one))
            elif self._is_record(_field(one[0])):
                self._read_record(Member(*one))
            else:
                self._read_caption(*one[:3])
        return flaws[0] if flaws else None

    def _with_odd_ends(self, images: Iterable[Found]) -> Iterator[Found]:
        """Give the images that do not begin and end as images do."""
        near, count, jpeg_end = self.near, 0, len(JPEG_END)
        for count, image in enumerate(images, 1):
            name, begin, size, _ = image
            if not count % _SOME:
                self._tell(name)
            head = near.at(begin, min(HEAD, size))
            # Most are JPEGs, and calls alone would take as long as the look itself. What is read of
            # the end holds the next header too.
            sound = False
            if head.startswith(JPEG):
                end = begin + size - jpeg_end
                at = end - near.begins
                held, at = (near.held, at) if at < len(near.held) else (near.come_to(end), 0)
                sound = held.startswith(JPEG_END, at) and size >= MARKED
            if sound or ends_are_sound(near.at, begin, size):
                shape = shape_in(head)
                self.pictures.add(name, shape, undecodable(shape.format))
            else:
                self.images -= 1
                yield image
        self.images += count

    def _look_at_image(self, member: Member) -> None:
        if self._packed and member.size > HELD:
            text = f"is {format_size(member.size)}, more than is held of what is unpacked"
            found = ImageDamage(name=member.name, kind="huge", text=text, bytes=member.size)
            self.damages.add(found)
            return
        name, begins = member.name, 0 if self._packed else member.offset
        self._tell(f"member {shown(name)}")
        self.images += 1
        seen = look_into_image(self._window(member), name, self._depth, begins=begins)
        self.pictures.add(name, seen.shape, seen.undecoded)
        if seen.damage is not None:
            self.damages.add(seen.damage)
            if seen.damage.raises:
                self._spoil()

    def _spoil(self) -> None:
        at_hand = self.samples.at_hand
        if at_hand is not None:
            number, field = at_hand
            self.spoiled.setdefault(number, set()).add(field)

    def _read_caption(self, name: str, begin: int, size: int) -> None:
        if size > LONGEST:
            self.captions.unread += 1
            return
        content = self.near.at(begin, size)  # most come with their headers
        if not self.captions.read(content, name):
            self.undecodable[_field(name)] += 1
            self._spoil()

    def _is_record(self, field: str) -> bool:
        return field not in self._texts and extension_of(field) in RECORDS

    def _read_record(self, member: Member) -> None:
        extension = extension_of(_field(member.name))
        # Arrays and archives say how long they have to be; others are held as a whole.
        says_so = extension in ("npy", "npz", "pth")
        may_read = member.size <= LONGEST or (says_so and not self._packed)
        if may_read and is_refused(extension, self._window(member).at, member.size):
            self._spoil()

    def _window(self, member: Member) -> Window:
        read, begin, size = self.read, member.offset, member.size
        if self._packed and size <= MOST_IMAGE:
            return Window.over(read(begin, size))
        if size <= self.near.ahead:  # it comes with what stands around it
            return Window.over(self.near.at(begin, size))
        return Window(lambda offset, wanted: read(begin + offset, wanted), size)


def _field(name: str) -> str:
    """Give the field that a file is, as webdataset takes names apart."""
    return name.rpartition("/")[2].partition(".")[2].lower()


def _damage(flaw: Flaw | None, path: str) -> tuple[Damage, ...]:
    if flaw is None:
        return ()
    damage = Damage(kind=flaw.kind, text=flaw.text, offset=flaw.offset, member=flaw.member)
    return (refined(damage, path, folder=False),)
