"""Arrays inside an archive are as long as they say; what is too much to be unpacked is told."""

from __future__ import annotations

import contextlib
import gc
import io
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preflight.formats.arrays import npz
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.packing import inflated
from preflight.formats.stored import StoredFile
from tests.contents import HARM, Harm, archive, array, flaw_in, held_in, kind_in, written

BAD = pickle.dumps([Harm()])


def look_at(content: bytes) -> StoredFile:
    return held_in(content, ".npz")


def flaw_of(content: bytes) -> Flaw:
    return flaw_in(content, ".npz")


ARRAYS = {
    "numbers": np.arange(1_000, dtype="<f4"),
    "of no side": np.array(7),
    "of no elements": np.zeros((0, 4)),
    "times": np.zeros(3, "M8[ns]"),
    "texts": np.array(["a", "bc"]),
    "empty texts": np.array(["", ""]),
    "fields": np.zeros(3, [("a", "<f4"), ("b", "<i8", (2,))]),
    "by columns": np.asfortranarray(np.ones((30, 40), "<c16")),
    "of no known type": np.zeros(5, "V2"),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_whole_arrays_of_every_kind_are_left_alone(save: Any) -> None:
    held = look_at(written(save, **ARRAYS))

    assert (held.flaw, held.verified, held.unread) == (None, True, None)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("pieces", [0, 1, 3])
def test_an_array_whose_writer_was_stopped_is_found(
    tmp_path: Path, save: Any, pieces: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive is closed all the same, with checksums that agree."""
    write, left = zipfile._ZipWriteFile.write, iter(range(pieces))  # type: ignore[attr-defined]

    def stopped(self: Any, data: bytes) -> int:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return int(write(self, data))

    path = tmp_path / "a.npz"
    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(zipfile._ZipWriteFile, "write", stopped)  # type: ignore[attr-defined]
        save(path, latents=np.random.default_rng(5).random(9_000_000))
    gc.collect()
    flaw = flaw_of(path.read_bytes())

    assert flaw.kind == "unfinished"
    assert flaw.text.startswith("holds an array, latents.npy, that ")
    assert flaw.text.endswith(": most likely an error or Ctrl-C stopped its writer midway")
    assert ("holds nothing" in flaw.text) == (pieces == 0)


@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_record_that_ends_inside_its_header_is_found(cut: int) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        content = archive(("a.npy", array("'<f4'", b"")[:-cut]), method=method)
        assert "inside its header" in flaw_of(content).text


def test_a_few_bytes_behind_an_array_are_left_alone() -> None:
    """A second array may stand there; numpy.load reads as much as it needs."""
    held = look_at(archive(("a.npy", array("'<f4'", bytes(50_000_000)))))

    assert (held.flaw, held.verified) == (None, True)


def test_gigabytes_behind_an_array_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever unpacks the archive as a whole, as `unzip` does, writes all of them."""
    monkeypatch.setattr(npz, "_BOMB", 1 << 20)
    content = array("'<f4'", bytes(5_000_000))
    flaw = flaw_of(archive(("a.npy", content)))

    assert flaw.kind == "bomb"
    assert flaw.text.endswith(
        " of a.npy to 5.0 MB, of which its array takes 72 bytes: most likely made to do harm"
    )
    assert look_at(archive(("a.npy", content), method=zipfile.ZIP_STORED)).flaw is None


# --- what is too much to be unpacked --------------------------------------------------------------


def test_what_is_too_large_is_left_and_told_and_all_else_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One record leaves room for the others, wherever they stand."""
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1 << 20)
    large = array("'<f4'", bytes(3_000_000))
    bad = array("'|O'", BAD)
    held = look_at(archive(("a", large), ("b.npy", bad), ("c", large), ("d", bytes(9))))

    assert (held.flaw, held.verified, held.globals) == (None, False, (HARM,))
    assert (held.unread or "").startswith("a, 3.0 MB from ")
    assert (held.unread or "").endswith(", and 1 record more")
    damaged = archive(("a", large), ("b", b"some text")).replace(zlib_of(b"some text"), b"\1" * 4)
    assert look_at(damaged).flaw is not None


def zlib_of(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


def test_a_pickle_that_takes_more_room_than_there_is_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is unpacked twice: for its checksum, and to be followed."""
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 5 << 20)
    long = array("'|O'", pickle.dumps([bytes(4_000_000)]))
    held = look_at(archive(("a.npy", long)))

    assert (held.flaw, held.verified) == (None, True)
    assert (held.unread or "").startswith("a.npy, 4.0 MB from ")


def test_what_nothing_can_unpack_to_is_damage_at_once() -> None:
    """Deflate makes at most 1,032 bytes of one."""
    content = bytearray(archive(("a.npy", bytes(100_000))))
    entry = content.index(b"PK\1\2")
    content[entry + 24 : entry + 28] = (2_000_000_000).to_bytes(4, "little")

    said = "has wrong bytes in a.npy (it does not unpack to 2,000,000,000 bytes)"
    assert flaw_of(bytes(content)).text == said


def test_real_bytes_are_unpacked_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """What packs as numbers do is verified, also beyond the room that zeros are given."""
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1)
    out = written(np.savez_compressed, a=np.random.default_rng(2).standard_normal((300, 300)))

    assert look_at(out).verified


def test_a_checksum_of_zero_is_a_wrong_one() -> None:
    """Only torch leaves checksums out; numpy.load stops at it."""
    content = array("'<f4'", b"abcd")
    wrong = archive(("a.npy", content)).replace(zlib_of(content), bytes(4))

    assert kind_in(wrong, ".npz") == "checksum"


def test_another_way_of_packing_is_told() -> None:
    held = look_at(archive(("a.npy", array("'<f4'", b"abcd")), method=zipfile.ZIP_LZMA))

    assert (held.flaw, held.verified) == (None, False)
    assert (held.unread or "").endswith(" packed by method 14")


def said_by_numpy(content: bytes) -> str:
    """Tell what numpy makes of an archive: `read` or `refused`."""
    try:
        np.load(io.BytesIO(content)).files  # noqa: B018  it opens the archive
    except (zipfile.BadZipFile, NotImplementedError):
        return "refused"
    return "read"


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        (b"", None),
        (b"x" * 65_536, None),
        (b"x" * 65_537, "trailing"),
        (b"x" * 69_000, "trailing"),
        (b"x" * 90_000, "trailing"),
        (b"PK\5\6", "trailing"),
        (b"PK\5\6" + b"x" * 17, "trailing"),
    ],
    ids=["nothing", "as many", "one more", "some more", "many more", "a part of an end", "most"],
)
def test_bytes_behind_an_archive_are_damage_where_numpy_does_not_find_its_end(
    rest: bytes, kind: str | None
) -> None:
    """It goes back as far as the longest comment, to the last record that looks like an end."""
    content = archive(("a.npy", array("'<f4'", bytes(4)))) + rest
    flaw = look_at(content).flaw

    assert (flaw and flaw.kind) == kind
    assert said_by_numpy(content) == ("read" if kind is None else "refused")


@pytest.mark.parametrize(("version", "kind"), [(63, None), (64, "structure"), (148, "structure")])
def test_a_record_of_a_later_version_of_the_format_is_told(version: int, kind: str | None) -> None:
    """Python's zipfile then opens nothing of the archive."""
    content = bytearray(archive(("a.npy", array("'<f4'", bytes(4)))))
    content[content.index(b"PK\1\2") + 6] = version
    flaw = look_at(bytes(content)).flaw

    assert (flaw and flaw.kind) == kind
    assert said_by_numpy(bytes(content)) == ("read" if kind is None else "refused")


def test_a_structured_array_whose_writer_was_stopped_is_found() -> None:
    """Its checksum agrees: numpy closes the archive all the same."""
    whole = array("[('a', '<f4'), ('b', '<i8', (2,))]", bytes(20))

    assert look_at(archive(("a.npy", whole))).flaw is None
    assert kind_in(archive(("a.npy", whole[:-1])), ".npz") == "unfinished"


@pytest.mark.parametrize("text", [b"not an archive\n" * 9, b"UEsDBBQAAAAIAAAAIQA=\n"])
def test_a_text_in_place_of_an_archive_is_told(text: bytes) -> None:
    """numpy.load has no use for one; a pickle of protocol 0 is a text that it takes."""
    assert kind_in(text, ".npz") == "foreign"
    for protocol in (0, 1):
        assert look_at(pickle.dumps([1, "a", None], protocol)).flaw is None
