"""A shard's facts agree with what webdataset makes of the same bytes."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import os
import random
import tarfile
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.shards.read import read_shard
from preflight.targets.targets import Shard
from tests.archives import (
    SAMPLE,
    bounded,
    epoch,
    flipped,
    photo,
    samples,
    shard_facts,
    tarred,
    zeroed,
)

read = functools.partial(shard_facts, rule="none")


def given_by_webdataset(folder: Path) -> tuple[list[str], bool]:
    """Iterate the shard as a job does: the keys of whole samples, and whether it raised."""
    # tarfile of Python 3.10 raises an AttributeError over a header of gzip that has an extra field.
    given, raised = epoch((folder / "x.tar").read_bytes(), AttributeError)
    return [key for key, suffixes in given if {"jpg", "txt"} <= suffixes], raised


WHOLE = tarred(samples(6))
LONG = {f"{'folder/' * 20}{name}": content for name, content in samples(6).items()}

NOISY = tarred(samples(6, image=random.Random(1).randbytes(8704)))
"""Each of its samples takes 10,240 bytes, which do not become fewer when they are packed."""

GZIPPED = gzip.compress(WHOLE)

SOUND: dict[str, bytes] = {
    "ustar": WHOLE,
    "gnu": tarred(samples(6), tarfile.GNU_FORMAT),
    "pax": tarred(samples(6), tarfile.PAX_FORMAT),
    "long names, gnu": tarred(LONG, tarfile.GNU_FORMAT),
    "long names, pax": tarred(LONG, tarfile.PAX_FORMAT),
    "gzip": gzip.compress(WHOLE),
    "bzip2": bz2.compress(WHOLE),
    "xz": lzma.compress(WHOLE),
    "gzip, an empty stream behind": gzip.compress(WHOLE) + gzip.compress(b""),
    "gzip, its end in a stream of its own": gzip.compress(WHOLE[: 6 * SAMPLE])
    + gzip.compress(WHOLE[6 * SAMPLE :]),
    "bzip2, zeros in a stream behind": bz2.compress(WHOLE) + bz2.compress(bytes(10_240)),
    "xz, an empty stream behind": lzma.compress(WHOLE) + lzma.compress(b""),
    "with metadata": tarred({"__index__": b"x", "__meta__/a.jpg": b"y", **samples(6)}),
    "small and large letters": tarred(
        {name.replace("jpg", "JPG"): content for name, content in samples(6).items()}
    ),
}


@pytest.mark.parametrize("content", SOUND.values(), ids=SOUND)
def test_sound_shards_are_read_as_webdataset_reads_them(tmp_path: Path, content: bytes) -> None:
    facts = read(tmp_path, content)

    assert facts.damage == ()
    assert (facts.samples, facts.lost, facts.quiet) == (6, None, False)
    keys, raised = given_by_webdataset(tmp_path)
    assert (len(keys), raised) == (6, False)


def test_what_webdatasets_own_writer_writes_is_sound(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset

        with webdataset.TarWriter(str(tmp_path / "x.tar")) as writer:
            for number in range(3):
                writer.write({"__key__": f"a/{number}", "jpg": photo(), "txt": "a dog"})

    facts = read_shard(Shard(path="x.tar"), str(tmp_path), list)

    assert (facts.damage, facts.samples, facts.images) == ((), 3, 3)
    assert facts.pairing is not None
    assert facts.pairing.unpaired == ()


def test_an_archive_of_nothing_is_sound(tmp_path: Path) -> None:
    facts = read(tmp_path, tarred({}))

    assert (facts.damage, facts.samples) == ((), 0)
    assert given_by_webdataset(tmp_path) == ([], False)


# Damage; its kind; whole samples before it; lost behind it; whether readers keep quiet.
DAMAGED: dict[str, tuple[bytes, str, int, int | None, bool]] = {
    "empty": (b"", "empty", 0, None, False),
    "a zip archive": (b"PK\3\4" + bytes(600), "foreign", 0, None, False),
    "cut in an image": (WHOLE[: 3 * SAMPLE + 700], "cut", 3, None, False),
    "cut in a caption": (WHOLE[: 3 * SAMPLE + 1536 + 520], "cut", 3, None, False),
    "cut in the header of an image": (WHOLE[: 3 * SAMPLE + 99], "cut", 3, None, True),
    "cut in the header of a caption": (WHOLE[: 3 * SAMPLE + 1600], "cut", 3, None, True),
    "a wrong bit in the first header": (flipped(WHOLE, 130), "checksum", 0, 6, False),
    "a wrong bit in an image's header": (flipped(WHOLE, 3 * SAMPLE + 130), "checksum", 3, 3, True),
    "a wrong bit in a name": (flipped(WHOLE, 3 * SAMPLE + 4), "checksum", 3, 3, True),
    "a wrong bit in a caption's header": (
        flipped(WHOLE, 3 * SAMPLE + 1536 + 130),
        "checksum",
        3,
        3,
        True,
    ),
    "a wrong bit in the last header": (
        flipped(WHOLE, 5 * SAMPLE + 1536 + 130),
        "checksum",
        5,
        1,
        True,
    ),
    "a header of zeros": (zeroed(WHOLE, 3 * SAMPLE, 3 * SAMPLE + 512), "zero-block", 3, 3, True),
    "a page of zeros": (
        zeroed(WHOLE, 2 * SAMPLE + 900, 3 * SAMPLE + 700),
        "zero-block",
        2,
        4,
        True,
    ),
    "two archives, one behind the other": (
        WHOLE + tarred(samples(4, start=9)),
        "trailing",
        6,
        4,
        True,
    ),
    "something else behind the end": (WHOLE + b"else" * 200, "trailing", 6, 0, True),
    "long names, a wrong bit behind a name": (
        flipped(tarred(LONG, tarfile.GNU_FORMAT), 3 * (SAMPLE + 2048) + 1024 + 130),
        "checksum",
        3,
        3,
        False,
    ),
    "gzip, cut": (
        gzip.compress(WHOLE, 0)[: 3 * SAMPLE + 900],
        "cut",
        3,
        None,
        False,
    ),
    "gzip, a wrong bit in its checksum": (
        flipped(gzip.compress(WHOLE), -6),
        "checksum",
        6,
        None,
        True,
    ),
    "gzip, two streams": (
        gzip.compress(WHOLE[: 2 * SAMPLE]) + gzip.compress(WHOLE[2 * SAMPLE :]),
        "streams",
        2,
        4,
        True,
    ),
    "gzip, zeros in a stream that is cut": (
        gzip.compress(WHOLE) + gzip.compress(bytes(10_240))[:-9],
        "streams",
        6,
        0,
        True,
    ),
    "gzip, many zeros and something in a stream that is cut": (
        gzip.compress(WHOLE) + gzip.compress(bytes(9 << 20) + b"x" * 5000)[:-9],
        "streams",
        6,
        0,
        True,
    ),
    "gzip, with an extra field": (
        GZIPPED[:3] + b"\x04" + GZIPPED[4:10] + b"\x04\0BC\0\0" + GZIPPED[10:],
        "streams",
        0,
        6,
        False,
    ),
    "bzip2, two short streams": (bz2.compress(WHOLE) * 2, "streams", 6, 6, True),
    "bzip2, two long streams": (
        bz2.compress(NOISY[:30_720]) + bz2.compress(NOISY[30_720:]),
        "streams",
        3,
        3,
        False,
    ),
    "bzip2, two long archives": (bz2.compress(NOISY) * 2, "streams", 6, 6, True),
    "gzip, two archives": (
        gzip.compress(WHOLE) + gzip.compress(tarred(samples(4, start=9))),
        "streams",
        6,
        4,
        True,
    ),
    "gzip of two archives": (
        gzip.compress(WHOLE + tarred(samples(4, start=9))),
        "trailing",
        6,
        4,
        True,
    ),
    "gzip of a page": (gzip.compress(b"<html>" * 99), "foreign", 0, None, False),
}


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_told_as_webdataset_meets_it(
    tmp_path: Path, case: tuple[bytes, str, int, int | None, bool]
) -> None:
    content, kind, whole, lost, quiet = case

    facts = read(tmp_path, content)

    assert [one.kind for one in facts.damage] == [kind]
    keys, raised = given_by_webdataset(tmp_path)
    assert raised is not facts.quiet
    assert facts.quiet is quiet
    assert len(keys) <= facts.samples <= len(keys) + raised  # one is held back when it raises
    assert (facts.samples, facts.lost) == (whole, lost)


MIXED_NAMES = [
    f"dog-{number:04}.{suffix}"
    for number in range(30)
    for suffix in (("jpg", "png", "webp", "jpeg", "JPG", "jpg")[number % 6], "txt")
]
MIXED = tarred(dict.fromkeys(MIXED_NAMES, b"x"))
MIXED = MIXED[: 60 * 1024] + tarred({"dog-0030.avif": b"x", "dog-0030.txt": b"x"})
"""The extension of its last image is that of no other."""

SCATTERED = tarred(dict.fromkeys(sorted(MIXED_NAMES, key=lambda name: name[::-1]), b"x"))
"""With all captions behind all images, as they may lie in a folder."""

AT = 40 * 1024
"""Where the image of the twentieth sample has its header."""

QUIET: dict[str, bytes] = {
    "whole": MIXED,
    "two archives": MIXED + MIXED,
    "two archives of a single sample": tarred(samples(1)) * 2,
    "gzip, two archives": gzip.compress(MIXED) * 2,
    "gzip, two archives of a single sample": gzip.compress(tarred(samples(1))) * 2,
    "gzip of two archives": gzip.compress(MIXED + MIXED),
    "gzip, two scattered archives": gzip.compress(SCATTERED) * 2,
    "gzip, split between two samples": gzip.compress(MIXED[:AT]) + gzip.compress(MIXED[AT:]),
    "gzip, split inside a sample": (
        gzip.compress(MIXED[: AT + 1024]) + gzip.compress(MIXED[AT + 1024 :])
    ),
    "gzip, split inside a header": (
        gzip.compress(MIXED[: AT + 1100]) + gzip.compress(MIXED[AT + 1100 :])
    ),
    "gzip, a wrong bit in its checksum": flipped(gzip.compress(MIXED), -6),
    "bzip2, two archives": bz2.compress(MIXED) * 2,
    "xz, two archives": lzma.compress(MIXED) * 2,
    "no end marker": MIXED[: 62 * 1024],
    "no end marker, cut inside a sample": MIXED[: AT + 1024],
    "no end marker, cut between two samples": MIXED[:AT],
    "cut in the header of an image": MIXED[: AT + 99],
    "cut in the header of a caption": MIXED[: AT + 1024 + 99],
    "a wrong bit in an image's header": flipped(MIXED, AT + 130),
    "a wrong bit in a caption's header": flipped(MIXED, AT + 1024 + 130),
    "a wrong bit in the last header": flipped(MIXED, 61 * 1024 + 130),
    "an image's header of zeros": zeroed(MIXED, AT, AT + 512),
    "a caption's header of zeros": zeroed(MIXED, AT + 1024, AT + 1536),
    "scattered, a wrong bit": flipped(SCATTERED, AT + 130),
    "scattered, no end marker": SCATTERED[: 60 * 1024],
}


@pytest.mark.parametrize("content", QUIET.values(), ids=QUIET)
def test_where_readers_stop_quietly_samples_are_counted_as_webdataset_gives_them(
    tmp_path: Path, content: bytes
) -> None:
    """Whatever mixture of extensions they have; each sample is whole, read in part, or lost."""
    facts = read(tmp_path, content)

    samples_given, raised = epoch(content)
    assert not raised
    given = [suffixes for _, suffixes in samples_given]
    scattered = [one for one in given if len(one) == 1]
    whole = given if len(scattered) > 1 else [one for one in given if len(one) == 2]
    assert facts.samples == len(whole)
    assert facts.quiet or {one.kind for one in facts.damage} <= {"no-end-marker"}


@pytest.mark.parametrize(
    ("content", "lost"),
    [
        (gzip.compress(MIXED) * 2, 31),
        (gzip.compress(tarred(samples(1))) * 2, 1),
        (MIXED + MIXED, 31),
        (gzip.compress(MIXED[:AT]) + gzip.compress(MIXED[AT:]), 11),
        (gzip.compress(MIXED[: AT + 1024]) + gzip.compress(MIXED[AT + 1024 :]), 11),
        (gzip.compress(MIXED[: AT + 512]) + gzip.compress(MIXED[AT + 512 :]), 11),
        (flipped(MIXED, AT + 130), 11),
        (flipped(MIXED, AT + 1024 + 130), 11),
        (flipped(MIXED, 61 * 1024 + 130), 1),
    ],
    ids=[
        *("two gzip streams", "two gzip streams of a single sample", "two archives"),
        *("split between samples", "split inside a sample", "split inside an image"),
        *("an image's header", "a caption's header", "the last header"),
    ],
)
def test_what_readers_never_come_to_is_counted_as_lost(
    tmp_path: Path, content: bytes, lost: int
) -> None:
    assert read(tmp_path, content).lost == lost


def test_a_member_split_between_two_streams_is_where_readers_raise(tmp_path: Path) -> None:
    content = gzip.compress(WHOLE[: 2 * SAMPLE + 700]) + gzip.compress(WHOLE[2 * SAMPLE + 700 :])

    facts = read(tmp_path, content)

    assert [one.kind for one in facts.damage] == ["streams"]
    assert (facts.samples, facts.lost, facts.quiet) == (2, 4, False)
    assert given_by_webdataset(tmp_path)[1] is True


def test_a_sample_that_is_one_file_is_lost_where_it_is_split(tmp_path: Path) -> None:
    content = tarred(dict.fromkeys(["a.jpg", "b.jpg", "c.jpg", "d.jpg"], b"x" * 700))
    split = 2 * 1536 + 700

    facts = read(tmp_path, gzip.compress(content[:split]) + gzip.compress(content[split:]))

    assert (facts.samples, facts.lost) == (2, 2)


def test_one_sample_without_its_caption_does_not_make_another_one_whole(tmp_path: Path) -> None:
    """What is rare is not what samples are made of here."""
    names = [name for name in MIXED_NAMES if name != "dog-0002.txt"]
    content = tarred(dict.fromkeys(names, b"x"))

    facts = read(tmp_path, flipped(content, (len(names) - 1) * 1024 + 130))

    assert (facts.samples, facts.lost) == (29, 1)


NO_TEXT = {name: content for name, content in samples(6).items() if name != "dog-0002.txt"}


@pytest.mark.parametrize(
    ("content", "unpaired", "held"),
    [
        (tarred(NO_TEXT), ["dog-0002.jpg"], 0),
        (tarred(NO_TEXT) + b"else", ["dog-0002.jpg"], 0),
        (tarred(NO_TEXT)[: 5 * SAMPLE + 1536], ["dog-0002.jpg"], 0),
        (flipped(gzip.compress(tarred(NO_TEXT)), -6), ["dog-0002.jpg"], 0),
        (tarred(NO_TEXT)[: 4 * SAMPLE + 1536 + 99], [], 1),
        (tarred(NO_TEXT)[: 4 * SAMPLE - 300], [], 1),
        (flipped(tarred(NO_TEXT), 4 * SAMPLE + 512 + 130), [], 2),
        (tarred(NO_TEXT) + tarred({"dog-0002.txt": b"x"}), [], 1),
        (WHOLE[: 5 * SAMPLE + 1536], [], 1),
        (WHOLE[: 5 * SAMPLE], [], 0),
    ],
    ids=[
        *("whole", "something behind the end", "no end marker", "a packed checksum"),
        *("cut in a header", "cut in a member", "a damaged header", "a second archive"),
        *("no end marker, inside a sample", "no end marker, between two samples"),
    ],
)
def test_what_may_stand_behind_the_damage_is_not_said_to_be_missing(
    tmp_path: Path, content: bytes, unpaired: list[str], held: int
) -> None:
    pairing = shard_facts(tmp_path, content, rule="textfile").pairing

    assert pairing is not None
    assert ([one.name for one in pairing.unpaired], pairing.held) == (unpaired, held)


def test_in_an_archive_in_no_order_every_caption_may_stand_behind_the_damage(
    tmp_path: Path,
) -> None:
    """What stands apart has been seen, and so is told."""
    names = ["a.jpg", "b.jpg", "b.txt", "c.jpg", "a.txt", "d.txt", "c.txt", "d.jpg"]
    whole = tarred(dict.fromkeys(names, b"x"))
    found = {}
    for count in (6, 8):
        facts = shard_facts(tmp_path, whole[: count * 1024])
        assert facts.pairing is not None
        found[count] = [(one.name, one.because) for one in facts.pairing.unpaired]
        assert facts.damage[0].kind == ("cut" if count == 6 else "no-end-marker")

    assert found[6] == [("a.jpg", "apart")]
    assert found[8] == [("a.jpg", "apart"), ("c.jpg", "apart"), ("d.jpg", "apart")]


def test_damage_inside_the_first_sample_leaves_none_whole(tmp_path: Path) -> None:
    """Its last file stands behind the damage, so all of it is lost."""
    names = [f"{number}.{suffix}" for number in range(4) for suffix in ("jpg", "json", "txt")]
    content = flipped(tarred(dict.fromkeys(names, b"x")), 1024 + 130)

    facts = read(tmp_path, content)

    assert (facts.samples, facts.lost) == (0, 4)


def test_where_a_sample_is_one_file_its_damaged_header_is_a_lost_sample(tmp_path: Path) -> None:
    content = flipped(tarred(dict.fromkeys(["a.jpg", "b.jpg", "c.jpg", "d.jpg"], b"x")), 2048 + 130)

    facts = read(tmp_path, content)

    assert (facts.samples, facts.lost) == (2, 2)


def test_a_copy_cut_between_two_files_of_a_sample_is_cut(tmp_path: Path) -> None:
    facts = read(tmp_path, WHOLE[: 3 * SAMPLE + 1536])

    assert [(one.kind, one.text) for one in facts.damage] == [
        (
            "cut",
            (
                "ends at 9,216 bytes, between two members, without an end marker, in the middle "
                "of the sample dog-0003"
            ),
        )
    ]
    assert (facts.samples, facts.quiet) == (3, True)


def test_a_single_sample_without_its_caption_and_without_an_end_marker_is_cut(
    tmp_path: Path,
) -> None:
    facts = shard_facts(tmp_path, WHOLE[:1536], rule="textfile")

    assert [one.kind for one in facts.damage] == ["cut"]
    assert facts.samples == 0


def test_a_copy_cut_between_two_samples_is_only_noted(tmp_path: Path) -> None:
    facts = read(tmp_path, WHOLE[: 3 * SAMPLE])

    assert [one.kind for one in facts.damage] == ["no-end-marker"]
    assert facts.samples == 3
    assert given_by_webdataset(tmp_path)[1] is False


def test_a_name_twice_in_one_sample_is_found_where_webdataset_raises(tmp_path: Path) -> None:
    content = tarred([("a.jpg", b"1"), ("a.txt", b""), ("a.JPG", b"2"), ("b.jpg", b"3")])

    facts = read(tmp_path, content)

    assert [(one.kind, one.names) for one in facts.oddities] == [("twice", ("a.JPG",))]
    assert given_by_webdataset(tmp_path) == ([], True)


def test_links_belong_to_no_sample(tmp_path: Path) -> None:
    """They are passed over while the archive is read."""
    (tmp_path / "a.jpg").write_bytes(photo())
    os.link(tmp_path / "a.jpg", tmp_path / "b.jpg")
    (tmp_path / "b.txt").write_text("a dog", encoding="utf-8")
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name in ("a.jpg", "b.jpg", "b.txt"):
            archive.add(tmp_path / name, name)

    facts = shard_facts(tmp_path, (tmp_path / "x.tar").read_bytes(), rule="textfile")

    assert facts.pairing is not None
    assert [(one.name, one.instead, one.because) for one in facts.pairing.unpaired] == [
        ("a.jpg", None, ""),
        ("b.txt", "b.jpg", "link"),
    ]


def test_each_image_is_told_before_it_is_decoded_and_damage_names_the_member(
    tmp_path: Path,
) -> None:
    content = tarred(
        {
            "a.jpg": photo(),
            "a.txt": b"",
            "b.png": photo()[:-9],
            "._b.jpg": b"mac",
            "__meta__/c.jpg": b"no sample",
        }
    )
    (tmp_path / "x.tar").write_bytes(content)
    told: list[str] = []

    facts = read_shard(Shard(path="x.tar"), str(tmp_path), told.append)

    assert told == ["member a.jpg", "member b.png"]
    assert facts.images == 2
    assert [(one.name, one.kind) for one in facts.damaged_images] == [("b.png", "cut")]


@pytest.mark.parametrize(
    "prepare",
    [str, os.mkdir, os.mkfifo],
    ids=["nothing", "a folder", "a pipe"],
)
def test_what_cannot_be_read_is_an_error_and_no_pass(
    tmp_path: Path, prepare: Callable[[Path], object]
) -> None:
    prepare(tmp_path / "x.tar")

    with pytest.raises(OSError, match=r"x\.tar"):
        read_shard(Shard(path="x.tar"), str(tmp_path), list)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["tar", "gzip", "xz"])
def test_no_mutation_makes_it_raise_or_hang(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    picture = photo(width=24, height=16)
    whole = pack(tarred(samples(3, image=picture), tarfile.PAX_FORMAT))
    chance = random.Random(4)
    for _ in range(700):
        content = bytearray(whole)
        for _ in range(chance.choice([1, 3, 200])):
            content[chance.randrange(len(content))] = chance.choice([0, 255, chance.randrange(256)])
        facts = read(tmp_path, bytes(content))
        assert facts.members < 99


def test_a_packed_shard_that_unpacks_to_very_much_costs_no_memory(tmp_path: Path) -> None:
    """A member of 256 MB of zeros, in 260 kB."""
    member = tarfile.TarInfo("a.bin")
    member.size = 1 << 28
    header = member.tobuf(tarfile.GNU_FORMAT)
    packer = zlib.compressobj(wbits=31, level=1)
    packed = packer.compress(header) + b"".join(
        packer.compress(bytes(1 << 20)) for _ in range(1 << 8)
    )
    with bounded(memory=32 << 20):
        facts = read(tmp_path, packed + packer.compress(bytes(1024)) + packer.flush())

    assert (facts.damage, facts.members) == ((), 1)
