"""Says what a damage of a shard means, and how many of its samples readers never come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import with_article
from preflight.formats.packing.packed import Packed
from preflight.formats.tar.end import USUAL_PADDING, NextData, Read
from preflight.formats.tar.header import BLOCK, padded
from preflight.formats.tar.walk import BODILESS, behind
from preflight.shards.samples import Samples, key_of, roles
from preflight.values.byte_sizes import format_size
from preflight.values.names import shown

# Bytes that tarfile reads of a packed file at once: it raises on further streams of bzip2 and xz
# only where it reads again.
_ONE_READ = 10_240 + 512

_PIECE = 1 << 20

# Damage with readable headers behind it, so that what is lost can be counted.
_COUNTABLE = frozenset({"checksum", "header", "zero-block", "trailing", "streams"})

# Samples that there have to be, for the last one to be held against the others.
_FEWEST_USUAL = 3


def through_packing(  # noqa: C901  one case after another
    packed: Packed, flaw: Flaw | None, every: Packed
) -> Flaw | None:
    """Say what a flaw of the unpacked archive is in terms of the packed file.

    `every` goes on through further streams; it is read only where there are some.
    """
    # A walk without a flaw has read all padding, and with it the packed file to its end; one that
    # found bytes behind the end marker may not have come so far.
    kind, name = None if flaw is None else flaw.kind, packed.name
    if kind == "trailing":
        while packed.read(packed.unpacked, 1):
            continue
    if packed.trips:
        text = f"has an extra field in the head of its {name} stream, over which tarfile trips"
        return Flaw(kind="streams", text=text, offset=0)
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
        if quiet and packed.ended and _has_only_zeros(every, packed.unpacked):
            return None
        text += _cut_behind(every)
        return Flaw(kind="streams", text=text, offset=offset, quiet=quiet)
    if not packed.ended and not packed.endless and kind in (None, "trailing"):
        # Zeros that stand for packed bytes unpack to an end marker, where they unpack to anything.
        text = (
            f"ends inside its {name} stream, at {packed.position:,} bytes: what was unpacked up to "
            "there looks whole, and is not all that was packed"
        )
        return Flaw(kind="cut", text=text, quiet=True)
    if flaw is None:
        return None
    if kind in ("foreign", "empty"):
        return _of_no_archive(packed, flaw)
    if not packed.ended and kind in ("cut", "no-end-marker"):
        return replace(flaw, kind="cut", text=f"is a {name} stream that {flaw.text}", quiet=False)
    return replace(flaw, text=f"{flaw.text}, counted in what {name} unpacks")


def _of_no_archive(packed: Packed, flaw: Flaw) -> Flaw:
    """Say of a stream in which nothing of an archive was found what it is."""
    name = packed.name
    if flaw.kind == "empty" and not packed.ended and packed.position:
        text = f"ends inside its {name} stream, at {packed.position:,} bytes: nothing unpacks of it"
        return Flaw(kind="cut", text=text)
    held = "nothing" if flaw.kind == "empty" else "what is no tar archive"
    return replace(flaw, kind="foreign", text=f"is {with_article(name)} stream of {held}")


def _cut_behind(every: Packed) -> str:
    """Say whether one of the streams behind the first does not come to its end."""
    while every.read(every.unpacked, _PIECE):  # what was read before is no longer at hand
        continue
    is_whole = every.error is None and (every.ended or every.endless)
    return "" if is_whole else "; the last of them is cut"


def _has_only_zeros(every: Packed, begin: int) -> bool:
    """Whether the streams behind the first one hold nothing but zeros, and are whole.

    A writer that packs by pieces leaves an empty one, or one with the end of the archive.
    """
    while piece := every.read(begin, _PIECE):
        if any(piece):
            return False
        begin += len(piece)
    return every.ended


def keys_behind(
    raw: Read,
    size: int,
    packing: str | None,
    flaw: Flaw,
    holes: NextData | None,
    tell: Callable[[], None],
) -> list[str]:
    """Give the keys of the samples that stand behind a damage, in their order.

    `tell` is called while what is packed is unpacked once more.
    """
    if flaw.kind not in _COUNTABLE or flaw.offset is None:
        return []
    if packing is None:
        members = behind(raw, size, flaw.offset, next_data=holes)
    else:
        members = behind(Packed(raw, packing, every=True, tell=tell).read, None, flaw.offset)
    samples = Samples()
    for _ in samples.gather(members):
        continue
    return samples.groups.keys


def is_broken(samples: Samples, flaw: Flaw, rest: list[str]) -> bool:
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


def lost(
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
        known = [*rest[:1], *(one.key for one in samples.groups[-1:])]  # it stands between two
        return lost + (split is not None and split[0] not in known)
    usual = samples.usual()
    if flaw.kind not in ("trailing", "streams") and usual and len(usual[0]) == 1:
        lost += 1  # the damaged header's own: a sample is one file here
    return lost


def first_lost(samples: Samples, flaw: Flaw, rest: list[str], *, broken: bool) -> str | None:
    """Name the first sample that is not read whole; None where that cannot be known."""
    if broken:
        return samples.groups[-1].key
    named = key_of(flaw.member) if flaw.member is not None else None
    usual = samples.usual()
    if named is not None and (flaw.kind == "cut" or (usual and len(usual[0]) == 1)):
        return named[0]
    return rest[0] if rest else None


def padding(samples: Samples, size: int) -> int:
    """Count the zeros behind the last member, where they are more than most writers leave.

    Of an archive that was walked to its end without a flaw, so that nothing else stands there.
    """
    zeros = size - _end_of(samples)
    return zeros if samples.last is not None and zeros > USUAL_PADDING else 0


def _end_of(samples: Samples) -> int:
    _, begin, length, kind = samples.last or ("", 0, 0, "")
    return begin if kind in BODILESS else begin + padded(length)


def hollow(samples: Samples, size: int) -> Flaw | None:
    """Take zeros behind half a sample for a copy that was laid out in full and never finished."""
    end = _end_of(samples)
    zeros = size - end
    if not padding(samples, size) or len(samples.groups) < _FEWEST_USUAL or samples.scattered:
        return None
    last = samples.groups[-1]
    lately = Flaw(
        kind="cut",
        text=f"is zeros from {end:,} bytes to its end ({format_size(zeros)}), in the middle of the "
        f"sample {shown(last.key)}",
        offset=end,
        quiet=True,
    )
    return lately if is_broken(samples, lately, []) and _begins_as_others(samples) else None


def _begins_as_others(samples: Samples) -> bool:
    """Whether the files of the last sample are the first ones of others: no `README.md` is."""
    last = _each_role(samples.groups.made_of[-1])
    others = set(samples.groups.made_of[:-1])
    return any(_each_role(one)[: len(last)] == last for one in others if len(one) > len(last))


def _each_role(suffixes: tuple[str, ...]) -> list[frozenset[str]]:
    return [roles([one]) for one in suffixes]


def is_all_there(flaw: Flaw, lost: int | None) -> bool:
    """Whether all samples have been seen, and something else is wrong."""
    if flaw.kind in ("trailing", "streams"):
        return lost == 0
    return flaw.kind == "checksum" and flaw.offset is None and flaw.quiet
