"""Reads one shard to its end: its structure, its samples, and every image in it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from io import FileIO

from preflight.facts import Damage, ImageDamage, Pairing, ShardFacts
from preflight.formats.flaw import Flaw
from preflight.formats.images import JPEG, JPEG_END, MARKED
from preflight.formats.magic import HEAD, what_is, with_article
from preflight.formats.packed import Packed, can_unpack
from preflight.formats.tar import Member, behind, nearby, walk
from preflight.formats.tar_end import HELD, LONGEST_PADDING, NextData, Read
from preflight.formats.tar_header import BLOCK, padded
from preflight.formats.window import Window
from preflight.names import name_of, shown
from preflight.readers.images import MOST_IMAGE, ends_are_sound, look_into_image
from preflight.readers.keys import pack
from preflight.readers.pairing import pair
from preflight.readers.samples import Samples, hold_back, key_of, roles
from preflight.sizes import format_size
from preflight.targets import CannotLookError, Shard

Tell = Callable[[str], None]

# Bytes that tarfile reads of a packed file at once: it raises on further streams of bzip2 and xz
# only where it reads again.
_ONE_READ = 10_240 + 512

# Damage with readable headers behind it, so that what is lost can be counted.
_COUNTABLE = frozenset({"checksum", "header", "zero-block", "trailing", "streams"})

# Samples that there have to be, for the last one to be held against the others.
_FEWEST_USUAL = 3

# Images of which one is told, where only their ends are looked at.
_SOME = 64

_LOOK_INSIDE = "Unpack it where there is room, and look at what comes out."


def read_shard(shard: Shard, root: str, tell: Tell, depth: str = "bytes") -> ShardFacts:
    """Read a shard once, from its first header to its end, one image in memory at a time.

    Args:
        shard: where it is, and where its captions are.
        root: the job's folder.
        tell: called before each image is looked at, with the member's name as reports say it.
        depth: how deep to look into images: `index`, `bytes` or `decode`, as the job has it.

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
    what = what_is(raw(0, HEAD))
    packed = Packed(raw, what) if what is not None and can_unpack(what) else None
    read = packed.read if packed else raw
    looked = _Looked(read, None if packed else size, tell, depth, packed=packed is not None)
    holes = None if packed else _holes(stream)
    ended_at = looked.at_all(holes)
    if packed is not None and packed.endless:
        raise CannotLookError(packed.endless, fix=packed.way_out or _LOOK_INSIDE)
    flaw = ended_at if packed is None else _through_packing(packed, ended_at)

    samples = looked.samples
    if flaw is None and packed is None:
        flaw = ended_at = _hollow(samples, size)
    rest = _keys_behind(raw, size, what if packed else None, flaw, holes) if flaw else []
    broken = ended_at is not None and _is_broken(samples, ended_at, rest)
    lost = _lost(samples, flaw, ended_at, rest, broken=broken) if flaw is not None else None
    pairing, flaw, broken = _pair(samples, shard, flaw, lost, broken=broken)
    damage = _damage(flaw)
    return ShardFacts(
        file=name,
        size=size,
        damage=damage,
        members=samples.files,
        samples=len(samples.groups) - broken,
        lost=lost,
        first_lost=_first_lost(samples, flaw, rest, broken=broken) if flaw is not None else None,
        quiet=flaw is not None and flaw.quiet,
        pairing=pairing if samples.files or not damage else None,
        images=looked.images,
        damaged_images=tuple(looked.damaged),
        oddities=samples.strange.told(samples.groups),
        keys=pack([one.key for one in samples.groups], samples.sizes),
    )


class _Looked:
    """What was met on the way through an archive."""

    def __init__(
        self, read: Read, size: int | None, tell: Tell, depth: str, *, packed: bool
    ) -> None:
        self.read = read
        self.near = nearby(read, size)
        self.samples = Samples()
        self.images = 0
        self.damaged: list[ImageDamage] = []
        self._size = size
        self._tell = tell
        # What was unpacked is not to be had again; and as all of it was read, index saves nothing.
        self._depth = "bytes" if packed and depth == "index" else depth
        self._packed = packed

    def at_all(self, holes: NextData | None) -> Flaw | None:
        """Look at each member; give the flaw at which the walk ended."""
        walked = walk(self.read, self._size, next_data=holes, near=self.near)
        images = self.samples.gather(walked)
        if self._depth == "index":
            images = self._with_odd_ends(images)
        for image in images:
            self._look_at_image(image)
        return self.samples.flaw

    def _with_odd_ends(self, images: Iterable[Member]) -> Iterator[Member]:
        """Give the images that do not begin and end as images do."""
        near, count = self.near, 0
        for count, image in enumerate(images, 1):
            if not count % _SOME:
                self._tell(image.name)
            _, begin, size, _ = image
            # Most are JPEGs, and calls alone would take as long as the look itself. What is read of
            # the end holds the next header too.
            if begin >= near.begins and near.held.startswith(JPEG, begin - near.begins):
                end = begin + size - len(JPEG_END)
                at = end - near.begins
                held, at = (near.held, at) if at < len(near.held) else (near.come_to(end), 0)
                if held.startswith(JPEG_END, at) and size >= MARKED:
                    continue
            if not ends_are_sound(near.at, begin, size):
                self.images -= 1
                yield image
        self.images += count

    def _look_at_image(self, member: Member) -> None:
        if self._packed and member.size > HELD:
            text = f"is {format_size(member.size)}, more than is held of what is unpacked"
            found = ImageDamage(name=member.name, kind="huge", text=text, bytes=member.size)
            self.damaged.append(found)
            return
        name, begins = member.name, 0 if self._packed else member.offset
        self._tell(f"member {shown(name)}")
        self.images += 1
        damage = look_into_image(self._window(member), name, self._depth, begins=begins)
        if damage is not None:
            self.damaged.append(damage)

    def _window(self, member: Member) -> Window:
        read, begin, size = self.read, member.offset, member.size
        if self._packed and size <= MOST_IMAGE:
            return Window.over(read(begin, size))
        return Window(lambda offset, wanted: read(begin + offset, wanted), size)


def reading(stream: FileIO, total: int) -> Read:
    """Read at any place; a file that has become shorter than it was is an error."""
    descriptor = stream.fileno()
    pread = getattr(os, "pread", None)

    def read(offset: int, size: int) -> bytes:
        if pread is not None:
            found: bytes = pread(descriptor, size, offset)
            if len(found) == size and offset < total:
                return found
        if offset >= total:
            return b""
        if pread is None:
            stream.seek(offset)
            found = stream.read(size)
        if len(found) < size and offset + len(found) < total:
            return _read_on(stream, found, offset, min(size, total - offset))
        return found

    return read


def _holes(stream: FileIO) -> NextData | None:
    """Give what finds the end of a hole in a sparse file, where the system can say."""
    if not hasattr(os, "SEEK_DATA"):
        return None
    descriptor = stream.fileno()

    def next_data(offset: int) -> int | None:
        try:
            return os.lseek(descriptor, offset, os.SEEK_DATA)
        except OSError as error:
            return None if error.errno == errno.ENXIO else offset

    return next_data


def _read_on(stream: FileIO, found: bytes, offset: int, size: int) -> bytes:
    """Read what an unbuffered read has left, since it may give less than there is."""
    stream.seek(offset + len(found))
    parts = [found]
    missing = size - len(found)
    while missing > 0:
        part = stream.read(missing)
        if not part:
            at = offset + size - missing
            raise OSError(f"it became shorter while it was read: it ends at {at:,} bytes")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _through_packing(packed: Packed, flaw: Flaw | None) -> Flaw | None:
    """Say what a flaw of the unpacked archive is in terms of the packed file."""
    # A walk without a flaw has read all padding, and with it the packed file to its end.
    kind, name = None if flaw is None else flaw.kind, packed.name
    at = f"before {packed.position:,} bytes"
    if packed.tail and flaw is None:
        return Flaw(kind="cut" if not packed.ended else "trailing", text=packed.tail)
    if packed.error is not None and flaw is None:
        text = f"unpacks to other bytes than were packed: {name} says {packed.error!r}"
        return Flaw(kind="checksum", text=text, quiet=True)
    if packed.error is not None:
        text = f"has damaged {name} data {at}: {name} says {packed.error!r}"
        return Flaw(kind="checksum", text=text)
    if packed.more and (flaw is None or kind in ("cut", "no-end-marker", "empty")):
        text = f"is several {name} streams, one behind the other, of which readers take the first"
        offset = packed.unpacked // BLOCK * BLOCK - BLOCK
        read_at_once = name == "gzip" or packed.position <= _ONE_READ
        quiet = flaw is None or (flaw.quiet and read_at_once)
        return Flaw(kind="streams", text=text, offset=offset, quiet=quiet)
    if flaw is None:
        return None
    if kind in ("foreign", "empty"):
        held = "nothing" if kind == "empty" else "what is no tar archive"
        return replace(flaw, kind="foreign", text=f"is {with_article(name)} stream of {held}")
    if not packed.ended and kind in ("cut", "no-end-marker"):
        return replace(flaw, kind="cut", text=f"is a {name} stream that {flaw.text}", quiet=False)
    return replace(flaw, text=f"{flaw.text}, counted in what {name} unpacks")


def _keys_behind(
    raw: Read, size: int, packing: str | None, flaw: Flaw, holes: NextData | None
) -> list[str]:
    """Give the keys of the samples that stand behind a damage, in their order."""
    if flaw.kind not in _COUNTABLE or flaw.offset is None:
        return []
    if packing is None:
        members = behind(raw, size, flaw.offset, next_data=holes)
    else:
        members = behind(Packed(raw, packing, every=True).read, None, flaw.offset)
    samples = Samples()
    for _ in samples.gather(members):
        continue
    return [one.key for one in samples.groups]


def _is_broken(samples: Samples, flaw: Flaw, rest: list[str]) -> bool:
    """Whether the damage stands inside the last sample that was read."""
    if not samples.groups or flaw.kind == "trailing":
        return False
    last = samples.groups[-1]
    if rest and rest[0] == last.key:
        return True
    cut = key_of(flaw.member) if flaw.member is not None and flaw.kind == "cut" else None
    if cut is not None and cut == (last.key, cut[1]) and cut[1] not in last.suffixes:
        return True
    usual = samples.usual()
    return bool(usual) and not any(one <= roles(last.suffixes) for one in usual)


def _lost(
    samples: Samples, flaw: Flaw, ended_at: Flaw | None, rest: list[str], *, broken: bool
) -> int | None:
    """Count the samples that readers never come to; None where it cannot be known."""
    if flaw.kind not in _COUNTABLE or flaw.offset is None:
        return None
    lost = len(rest)
    if broken:
        return lost + (rest[:1] != [samples.groups[-1].key])
    if flaw.kind == "streams" and ended_at is not None and ended_at.member is not None:
        split = key_of(ended_at.member)
        return lost + (split is not None and rest[:1] != [split[0]])
    usual = samples.usual()
    if flaw.kind not in ("trailing", "streams") and usual and len(usual[0]) == 1:
        lost += 1  # the damaged header's own: a sample is one file here
    return lost


def _first_lost(samples: Samples, flaw: Flaw, rest: list[str], *, broken: bool) -> str | None:
    """Name the first sample that is not read whole; None where that cannot be known."""
    if broken:
        return samples.groups[-1].key
    named = key_of(flaw.member) if flaw.member is not None else None
    usual = samples.usual()
    if named is not None and (flaw.kind == "cut" or (usual and len(usual[0]) == 1)):
        return named[0]
    return rest[0] if rest else None


def _hollow(samples: Samples, size: int) -> Flaw | None:
    """Take zeros behind half a sample for a copy that was laid out in full and never finished."""
    end = 0 if samples.last is None else samples.last.offset + padded(samples.last.size)
    zeros = size - end
    if zeros <= LONGEST_PADDING or len(samples.groups) < _FEWEST_USUAL or samples.scattered:
        return None
    last = samples.groups[-1]
    lately = Flaw(
        kind="cut",
        text=f"is zeros from {end:,} bytes to its end ({format_size(zeros)}), in the middle of the "
        f"sample {shown(last.key)}",
        offset=end,
        quiet=True,
    )
    return lately if _is_broken(samples, lately, []) else None


def _pair(
    samples: Samples, shard: Shard, flaw: Flaw | None, lost: int | None, *, broken: bool
) -> tuple[Pairing, Flaw | None, bool]:
    """Pair the samples as far as that can be told of an archive that ends too early.

    Gives also the flaw, which says more where a sample turns out to be cut off by it, and whether
    the last sample is broken.
    """
    rule, links = shard.captions, samples.links
    pairing = pair(samples.groups[: len(samples.groups) - broken], rule, shard=True, links=links)
    if flaw is None or _is_all_there(flaw, lost):
        return pairing, flaw, broken
    only_last = flaw.kind == "no-end-marker"
    pairing, held = hold_back(pairing, samples, only_last=only_last)
    pairing = replace(pairing, held=len(held) + broken)
    if not only_last or not (held or broken):
        return pairing, flaw, broken

    what = f"in the middle of the sample {shown(samples.groups[-1].key)}"
    if held and samples.scattered:
        what = f"and {shown(held[0].name)} has no {held[0].lacks} up to there"
    elif held:
        broken = True
        pairing = replace(pair(samples.groups[:-1], rule, shard=True, links=links), held=1)
    return pairing, replace(flaw, kind="cut", text=f"{flaw.text}, {what}"), broken


def _is_all_there(flaw: Flaw, lost: int | None) -> bool:
    """Whether all samples have been seen, and something else is wrong."""
    if flaw.kind in ("trailing", "streams"):
        return lost == 0
    return flaw.kind == "checksum" and flaw.offset is None and flaw.quiet


def _damage(flaw: Flaw | None) -> tuple[Damage, ...]:
    if flaw is None:
        return ()
    return (Damage(kind=flaw.kind, text=flaw.text, offset=flaw.offset, member=flaw.member),)
