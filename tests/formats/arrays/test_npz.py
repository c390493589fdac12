"""Arrays of objects inside an archive are walked, forwards and within bounds; nothing else is."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

from preflight.formats.arrays import npz
from preflight.formats.packing.inflated import Inflated
from preflight.formats.stored import StoredFile
from tests.archives import bounded
from tests.contents import HARM, Harm, archive, array, flaw_in, held_in, kind_in

BAD = pickle.dumps([Harm()])


def look_at(content: bytes, suffix: str = ".npz") -> StoredFile:
    return held_in(content, suffix)


@pytest.mark.parametrize(
    "descr",
    [
        *("'|O'", "'O'", "'<O'", "'object'", "'O8'", "'\\x4f'", "'i4,O'", "('|O', (1,))"),
        *("[('a', '|O')]", "[('a', '<f4'), (('t', 'b'), [('c', 'O', (2,))])]"),
        *("'<f4', 'descr': '|O'", "[(\"'descr': '<f4'\", '|O')]"),
    ],
)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_however_the_type_is_spelled_an_array_of_objects_is_walked(descr: str, method: int) -> None:
    """Each of these numpy takes for a pickle, or may."""
    content = array(descr, BAD)

    assert look_at(content, ".npy").globals == (HARM,)
    assert look_at(archive(("a.npy", content), method=method)).globals == (HARM,)


@pytest.mark.parametrize(
    "content",
    [
        array("'<f4'", b"\0" * 4),
        array("[('O', '<f4'), ('object', '<i4')]", BAD[:8]),
        array("'|V9'", BAD[:9]),
    ],
)
def test_what_numpy_takes_for_no_pickle_is_not_walked(content: bytes) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        held = look_at(archive(("a.npy", content), ("note.txt", b"x"), method=method))
        assert (held.globals, held.flaw, held.verified) == ((), None, True)


@pytest.mark.parametrize("descr", ["open('x')", "'<q4'", "'<f9'", "['<f4']"])
def test_an_array_in_an_archive_whose_header_numpy_cannot_read_is_damaged(descr: str) -> None:
    content = archive(("a.npy", array(descr, bytes(64))))
    with pytest.raises((ValueError, TypeError)):
        np.load(io.BytesIO(content))["a"]

    flaw = flaw_in(content, ".npz")

    assert (flaw.kind, flaw.text) == (
        "structure",
        "holds an array, a.npy, whose header numpy cannot read",
    )


NO_ARRAYS = [array("'|O'", BAD)[1:], BAD, b"x", bytes(200)]


@pytest.mark.parametrize("content", NO_ARRAYS)
def test_what_bears_no_name_of_an_array_may_be_anything(content: bytes) -> None:
    held = look_at(archive(("a.npy", array("'<f4'", b"\0" * 4)), ("note.txt", content)))

    assert (held.globals, held.flaw, held.verified) == ((), None, True)


@pytest.mark.parametrize("content", NO_ARRAYS)
def test_what_bears_the_name_of_an_array_and_is_none_is_damage(content: bytes) -> None:
    """numpy.load gives its bytes in place of numbers, without a word."""
    packed = archive(("a.npy", array("'<f4'", b"\0" * 4)), ("b.npy", content))
    assert np.load(io.BytesIO(packed))["b"] == content

    flaw = look_at(packed).flaw

    first = "zero bytes" if content == bytes(200) else "other bytes"
    text = f"holds b.npy, which begins with {first} where numpy.save writes its mark"
    assert flaw is not None
    assert (flaw.kind, flaw.text, flaw.member) == ("structure", text, "b.npy")


def test_a_record_is_known_by_its_bytes_and_not_by_its_name() -> None:
    """numpy.load goes by them; and a long header of a later version is read, too."""
    held = look_at(archive(("a", array("'|O'", BAD, pad=30_000, version=2))))

    assert held.globals == (HARM,)


def test_a_pickle_that_makes_no_sense_is_damage_though_its_checksum_agrees() -> None:
    """Python runs all that stands before the place where it stops."""
    flaw = flaw_in(archive(("a.npy", array("'|O'", BAD[:-1] + b"\xff"))), ".npz")

    assert flaw.kind == "structure"
    assert flaw.member == "a.npy"
    assert "holds an array of objects, a.npy, that holds a pickle that makes no sense" in flaw.text
    assert kind_in(archive(("b.npy", array("'|O'", BAD[:-1]))), ".npz") == "structure"


def test_a_bomb_costs_little_time_and_memory() -> None:
    """Whatever is unpacked is let go of again: here 268 MB of a text, from one."""
    size = 1 << 28
    unpacked = array("'|O'", b"\x80\x04\x8d" + struct.pack("<Q", size))
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
        file.open("a.npy", "w", force_zip64=True) as record,
    ):
        record.write(unpacked)
        for _ in range(size >> 24):
            record.write(bytes(1 << 24))
        record.write(BAD[2:])
    content = out.getvalue()

    with bounded(seconds=60, memory=20_000_000):
        assert look_at(content).globals == (HARM,)


def test_many_hostile_arrays_take_no_longer_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The steps that are followed are counted over all of them."""
    monkeypatch.setattr(npz, "MOST_OPERATIONS", 1_000)
    long = array("'|O'", b"\x80\x02(" + b"N" * 900 + b"t.")
    last = array("'|O'", BAD)

    assert look_at(archive(("a", long), ("b", last))).globals == (HARM,)
    assert look_at(archive(("a", long), ("b", long), ("c", last))).globals == ()


def test_inflated_bytes_can_be_had_in_any_pieces_forwards() -> None:
    chance = np.random.default_rng(3)
    content = chance.integers(0, 9, 3_000_000, dtype=np.uint8).tobytes()
    packed = archive(("a", content))
    begin = 30 + len("a")
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        stored = file.infolist()[0].compress_size
    for step, size in ((1_000, 700), (1_000_000, 5), (400_000, 900_000)):
        read = Inflated(lambda at, count: packed[at : at + count], begin, stored)
        for at in range(0, len(content) + 1, step):
            assert read(at, size) == content[at : at + size]
        assert read(len(content), 9) == b""
    broken = Inflated(lambda _, count: b"\xff" * count, begin, stored)
    assert broken(0, 100) == b""
