"""Files of the real torch.save are left alone; what would be loaded differently is found."""

from __future__ import annotations

import gzip
import io
import pickle
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.packing import inflated
from preflight.formats.stored import StoredFile
from preflight.formats.torch import torchfile
from preflight.formats.torch.pickle_globals import FRAMED
from tests import contents
from tests.archives import flipped, zeroed
from tests.contents import flaw_in, held_in, kind_in

TENSORS = {"a": torch.arange(40.0), "b": torch.arange(7), "n": 3}


def held(content: bytes) -> StoredFile:
    return held_in(content, ".pt")


def flaw_of(content: bytes) -> Flaw:
    return flaw_in(content, ".pt")


def kind_of(content: bytes) -> str:
    return kind_in(content, ".pt")


def saved(thing: object = TENSORS, **options: object) -> bytes:
    return contents.saved(thing, **options)


UINT16 = getattr(torch, "uint16", torch.int16)  # torch 2.2 does not have it
WHOLE = saved()
LEGACY = saved(_use_new_zipfile_serialization=False)


def loads(content: bytes) -> str:
    return contents.loaded(content, TENSORS)


def records(content: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        return [(name, old.read(name)) for name in old.namelist()]


def with_record(content: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """Write the archive again, one record of it changed or left out; all checksums agree."""
    new = [(one, change(old) if one.endswith(name) else old) for one, old in records(content)]
    return contents.archive(*((one, data) for one, data in new if data is not None), method=0)


def test_every_flipped_bit_that_torch_would_notice_or_not_is_found() -> None:
    """Every 97th byte of a small file, and all of its directory: nothing changes in silence."""
    changed = 0
    directory = WHOLE.index(b"PK\1\2")
    for at in [*range(0, directory, 97), *range(directory, len(WHOLE))]:
        for bit in (1 << number for number in range(8)):
            damaged = flipped(WHOLE, at, bit)
            result = loads(damaged)
            changed += result == "changed"
            assert result == "whole" or kind_of(damaged) != "none", (at, bit, result)

    assert changed, "the test must meet bytes that torch reads without a word"


def corrupted(content: bytes, chance: random.Random) -> bytes:
    """Damage it in one of seven ways."""
    at, other = chance.randrange(len(content)), chance.randrange(len(content))
    length = chance.randrange(1, 700)
    most = len(content) - at
    ways: list[Callable[[], bytes]] = [
        lambda: flipped(content, at, 1 << chance.randrange(8)),
        lambda: content[:at],
        lambda: zeroed(content, at, at + min(512, most)),
        lambda: content[:at] + content[at + length :],
        lambda: content[:at] + chance.randbytes(length) + content[at:],
        lambda: content[:at] + chance.randbytes(min(64, most)) + content[at + 64 :],
        lambda: content[:at] + content[other:][: min(length, most)] + content[at + length :],
    ]
    return chance.choice(ways)()


def test_five_hundred_random_damages_are_found_where_they_change_anything() -> None:
    """Bits, pages, pieces lost, put in and copied: seeds 0 to 499."""
    results = set()
    for seed in range(500):
        damaged = corrupted(WHOLE, random.Random(seed))
        result = loads(damaged)
        results.add(result)
        assert result == "whole" or kind_of(damaged) != "none", (seed, result)

    assert results == {"whole", "changed", "refused"}


def test_a_pickle_and_storages_that_disagree_are_found() -> None:
    """Two writers, each with its checksums in order; torch.load(mmap=True) compares nothing."""
    shorter = with_record(WHOLE, "data/0", lambda data: data[:-4])
    assert kind_of(shorter) == "storage"
    assert "156 bytes in data/0; its pickle speaks of 160" in flaw_of(shorter).text
    lacking = with_record(WHOLE, "data/1", lambda _: None)
    assert kind_of(lacking) == "unfinished"
    assert "lacks the record data/1" in flaw_of(lacking).text


class _Raises:
    """Cannot be pickled, and fails only once torch has come to it."""

    def __reduce__(self) -> str:
        raise MemoryError


@pytest.mark.parametrize(
    ("thing", "old", "new"),
    [
        pytest.param(torch.ones(3, 4), b"K\x03K\x04\x86", b"K\x04K\x04\x86", id="a longer side"),
        pytest.param(torch.ones(3, 4), b"K\x04K\x01\x86", b"K\x05K\x01\x86", id="a longer step"),
        pytest.param(torch.ones(3, 4), b"QK\x00K\x03", b"QK\x01K\x03", id="a later beginning"),
        pytest.param(torch.ones(3, dtype=UINT16), b"K\x03\x85", b"K\x04\x85", id="of bytes"),
    ],
)
def test_a_tensor_beyond_its_storage_is_found(thing: torch.Tensor, old: bytes, new: bytes) -> None:
    """Also where others of the same form came before, and all checksums agree."""

    def moved(pickle: bytes) -> bytes:
        assert pickle.count(old) == 1
        return pickle.replace(old, new)

    whole = saved(thing)
    damaged = with_record(whole, "data.pkl", moved)

    for _ in range(2):
        assert kind_of(whole) == "none"
        assert kind_of(damaged) == "storage"
    assert contents.loaded(damaged, {}) == "refused"


def test_an_archive_without_content_is_found(tmp_path: Path) -> None:
    """torch.save ends the archive in order when pickling raises, and torch.load then stops."""
    path = tmp_path / "x.pt"
    with pytest.raises(MemoryError):
        torch.save([TENSORS, _Raises()], path)

    flaw = flaw_of(path.read_bytes())

    assert loads(path.read_bytes()) == "refused"
    assert flaw.kind == "unfinished"
    assert flaw.text == (
        "holds no data.pkl, so nothing was saved in it: "
        "most likely an error or Ctrl-C stopped its writer midway"
    )


def test_packages_and_exported_programs_have_no_pickle_of_that_name(tmp_path: Path) -> None:
    with torch.package.PackageExporter(tmp_path / "package.pt") as package:
        package.save_text("a", "b.txt", "c")
    names = ("archive_format", "archive_version", "models/model.json", "byteorder", "version")
    program = contents.archive(*((f"x/{name}", b"pt2") for name in names), method=0)

    assert held((tmp_path / "package.pt").read_bytes()).flaw is None
    assert held(program).flaw is None


def test_an_archive_that_was_packed_again_wrongly_is_found() -> None:
    """With a file beside torch's folder, as Finder adds it; in that folder it may have more."""

    def packed_again(*more: str) -> bytes:
        return contents.archive(*records(WHOLE), *((name, b"") for name in more), method=0)

    assert kind_of(packed_again()) == "none"
    assert kind_of(packed_again("archive/data/", "archive/more.txt")) == "none"
    wrong = packed_again("__MACOSX/._archive")
    assert loads(wrong) == "refused"
    assert kind_of(wrong) == "structure"


def test_a_pickle_that_was_cut_before_it_was_put_away_is_found() -> None:
    """Its own checksum agrees."""
    assert kind_of(with_record(WHOLE, "data.pkl", lambda data: data[:50])) == "structure"


def test_an_archive_packed_again_is_left_alone() -> None:
    """As `zip` does it; torch.load reads it all the same."""
    packed = contents.archive(*records(WHOLE))

    assert loads(packed) == "whole"
    assert held(packed) == StoredFile("torch zip", verified=True, arrays=("a", "b", "n"))


@pytest.mark.parametrize("size", [400, 600, 1000, 1500], ids=str)
def test_a_cut_archive_says_how_large_it_must_have_been(size: int) -> None:
    """Its pickle comes first, and names the storages that were to follow."""
    flaw = flaw_of(WHOLE[:size])

    assert flaw.kind == "cut"
    at_least = torchfile.least_size(lambda at, count: WHOLE[:size][at : at + count], size)
    if at_least is None:
        assert flaw.text.startswith(f"ends at {size:,} bytes, ")
    else:
        assert size < at_least < len(WHOLE)
        assert flaw.text == f"ends at {size:,} of at least {at_least:,} bytes"


def test_a_cut_at_the_end_of_a_page_is_guessed_to_be_a_killed_writer() -> None:
    """Writers hand over whole pages; the text says that it is a guess."""
    content = saved({"a": torch.zeros(5000)})

    assert flaw_of(content[:8192]).text.count("most likely killed in mid-write") == 1
    assert "likely" not in flaw_of(content[:8191]).text


# --- before the zip format ------------------------------------------------------------------------


def test_a_legacy_file_is_known_and_can_not_be_verified() -> None:
    assert held(LEGACY) == StoredFile("torch legacy", verified=False)


@pytest.mark.parametrize("protocol", [1, 2, 3, 4, 5])
def test_a_legacy_file_of_any_protocol_is_known(protocol: int) -> None:
    """Its magic number is a pickle, and looks different in each."""
    content = saved(_use_new_zipfile_serialization=False, pickle_protocol=protocol)

    refused = (FRAMED,) if protocol > 3 else ()
    assert held(content) == StoredFile("torch legacy", globals=refused)
    assert kind_of(content[:-1]) == "cut"


def test_a_legacy_file_cut_anywhere_is_found() -> None:
    """At every length; behind its pickles with the size that it should have."""
    kinds = {kind_of(LEGACY[:size]) for size in range(1, len(LEGACY))}

    assert kinds == {"cut"}
    size = len(LEGACY)
    assert f"ends at {size - 9:,} of {size:,} bytes" in flaw_of(LEGACY[:-9]).text


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_wrong_bit_in_front_of_the_pickles_is_found(protocol: int) -> None:
    """In the magic number, and in the version behind it, each of which torch compares."""
    content = saved(_use_new_zipfile_serialization=False, pickle_protocol=protocol)
    magic = content.index(b"l\xfc\x9cF\xf9")
    version = content.index(b"M\xe9\x03.")
    places = [*range(magic, magic + 10), version + 1, version + 2]

    for at in places:
        for bit in range(8):
            wrong = flipped(content, at, 1 << bit)
            assert loads(wrong) == "refused"
            assert kind_of(wrong) == "structure", (at, bit)


def test_most_wrong_bits_in_the_pickles_of_a_legacy_file_are_told() -> None:
    """There is no checksum: nine of ten that torch stops at, as damage or as names it refuses."""
    end = LEGACY.index(TENSORS["a"].numpy().tobytes()[-64:])  # type: ignore[attr-defined]
    told, refused = 0, 0
    for at in range(end - 96):
        wrong = flipped(LEGACY, at, 1 << at % 8)
        if loads(wrong) == "refused":
            refused += 1
            found = held(wrong)
            told += found.flaw is not None or bool(found.globals)

    assert refused > 100
    assert told >= 0.9 * refused


@pytest.mark.parametrize("content", [WHOLE, LEGACY], ids=["archive", "legacy"])
def test_what_gzip_has_packed_is_verified_by_its_checksum(content: bytes) -> None:
    """Each cut and each wrong bit is found, but in the header; some make the stream go on.

    The last byte of the stream may have bits that stand for nothing.
    """
    packed = gzip.compress(content, mtime=0)
    chance = random.Random(4)

    assert held(packed) == StoredFile("gzip", verified=True)
    for end in chance.sample(range(1, len(packed)), 100):
        assert kind_of(packed[:end]) != "none", end
    for at in chance.sample(range(10, len(packed)), 100):
        wrong = flipped(packed, at, 1 << chance.randrange(8))
        kinds = ("none",) if _unpacks_to(wrong, content) else ("checksum", "cut")
        assert kind_of(wrong) in kinds, at


def _unpacks_to(packed: bytes, content: bytes) -> bool:
    try:
        return gzip.decompress(packed) == content
    except (OSError, EOFError, zlib.error):
        return False


@pytest.mark.parametrize("rest", [b"\n", b"x" * 9, bytes(4) + b"x", b"\x1f", WHOLE], ids=len)
def test_what_stands_behind_a_gzip_stream_is_found(rest: bytes) -> None:
    """Python's gzip refuses it, once it has unpacked all that was meant."""
    packed = gzip.compress(WHOLE)

    assert kind_of(packed + rest) == "trailing"
    assert f"goes on for {len(rest):,} byte" in flaw_of(packed + rest).text
    with pytest.raises((OSError, EOFError)):
        gzip.decompress(packed + rest)


def test_pages_that_were_lost_from_a_gzip_stream_are_told() -> None:
    """In its midst, or from some page on to its end, as a crash of the machine leaves it."""
    packed = gzip.compress(random.Random(2).randbytes(40_000).hex().encode())
    told = "of zero bytes in it most likely never reached the disk"

    midst = flaw_of(zeroed(packed, 8192, 12288))
    assert (midst.kind, midst.text.endswith(f": 1 page {told}")) == ("checksum", True)
    assert flaw_of(zeroed(packed, 8192, len(packed))).text.endswith(told)
    assert "zero bytes" not in flaw_of(packed[:9000]).text


def test_a_longer_stream_under_a_shorter_one_is_guessed_at() -> None:
    """Two processes opened it, and the shorter file was written last."""
    packed = gzip.compress(WHOLE)

    assert "written over a longer file" in flaw_of(packed + b"x" * 5000).text
    assert "likely" not in flaw_of(packed + b"\n").text


def test_several_gzip_streams_and_zeros_behind_them_are_left_alone() -> None:
    """So it is read, and tapes and blocks of a fixed size are filled with zeros."""
    packed = gzip.compress(WHOLE[:100]) + gzip.compress(WHOLE[100:])

    assert held(packed) == held(packed + bytes(5000)) == StoredFile("gzip", verified=True)
    apart = held(gzip.compress(WHOLE[:100]) + bytes(9) + gzip.compress(WHOLE[100:]))
    assert (apart.flaw, apart.verified) == (None, False)
    assert apart.unread == "a gzip stream that stands behind zero bytes"


def test_a_stream_that_is_not_unpacked_to_its_end_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Latents of zeros pack a thousandfold; how much of them is unpacked has a limit."""
    content = gzip.compress(saved(torch.zeros(4_000_000)))
    monkeypatch.setattr(inflated, "MOST_UNPACKED", 1 << 20)

    found = held(content)
    assert (found.format, found.flaw, found.verified) == ("gzip", None, False)
    assert "its gzip stream, of which 1." in (found.unread or "")


def test_what_stands_behind_a_legacy_file_is_left_alone() -> None:
    """Several can be saved to one open file, and torch.load reads the first."""
    assert kind_of(LEGACY + LEGACY) == "none"
    assert loads(LEGACY + b"x" * 10) == "whole"
    assert kind_of(LEGACY + b"x" * 10) == "none"


def test_a_legacy_file_whose_storages_moved_is_found() -> None:
    """Bytes were lost between two storages, so the second one's length stands elsewhere."""
    # Which of the two storages comes first is decided by their addresses.
    at = min(LEGACY.index(count.to_bytes(8, "little")) for count in (40, 7)) + 20
    damaged = LEGACY[:at] + LEGACY[at + 8 :] + bytes(8)

    assert kind_of(damaged) == "storage"


def test_a_storage_that_is_named_twice_and_not_alike_is_found() -> None:
    """Tensors that share one name it each; torch goes by the first and compares with that."""
    one = torch.zeros(40)
    content = saved({"a": one, "b": one[1:]}, _use_new_zipfile_serialization=False)
    at = content.index(b"K(")
    assert content.count(b"K(") == 3  # and once in the shape

    wrong = content[:at] + b"K)" + content[at + 2 :]
    assert loads(wrong) == "refused"
    assert kind_of(content) == "none"
    assert kind_of(wrong) == "storage"


def test_keys_that_lack_a_storage_are_found() -> None:
    content = saved({"a": torch.ones(3)}, _use_new_zipfile_serialization=False)
    keys = content.rindex(b"\x80\x02]q")
    length = content[keys + 6]
    text = content[keys + 10 : keys + 10 + length]
    wrong = content[: keys + 10] + text[:-1] + b"x" + content[keys + 10 + length :]

    assert kind_of(content) == "none"
    assert kind_of(wrong) == "storage"
    assert kind_of(content.replace(b"a." + (3).to_bytes(8, "little"), b".")) == "structure"


def test_a_count_that_cannot_be_makes_nothing_of_it() -> None:
    """A storage of minus one elements, or of 2**62."""
    content = LEGACY.replace((40).to_bytes(8, "little"), b"\xff" * 8)

    assert kind_of(content) == "storage"


# --- other things that are called .pt -------------------------------------------------------------


def test_a_pickle_that_is_text_is_left_alone() -> None:
    """Protocol 0 looks like any other text."""
    assert kind_of(pickle.dumps({"mean": [1.0, 2.0]}, 0)) == "none"


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_a_raw_pickle_is_left_alone(protocol: int) -> None:
    """Trainers write them under this name; a cut one is damaged, whatever its protocol."""
    content = pickle.dumps({"mean": [1.0, 2.0], "name": "x" * 500}, protocol)

    assert held(content) == StoredFile("pickle")
    assert kind_of(content[:-5]) in ("cut", "foreign")


def test_a_storage_of_a_later_torch_is_not_judged_by_its_size() -> None:
    """Only whether it is there."""
    content = with_record(
        WHOLE, "data.pkl", lambda data: data.replace(b"FloatStorage", b"NovelStorage")
    )

    assert held(content).flaw is None
    assert held(content).verified


@pytest.mark.parametrize(
    "body",
    [
        b"Entry not found",
        b"Not Found",
        b"Invalid username or password.",
        b"Access to model a/b is restricted. You must have access to it and be authenticated.",
        b'{"error":"Repository not found"}\n',
        b'{\n  "message": "Bad credentials"\n}',
    ],
    ids=range(6),
)
def test_what_a_server_says_in_place_of_a_file_is_found(body: bytes) -> None:
    """As `wget` and `curl` keep it; torch.load blames pickle."""
    flaw = flaw_of(body)

    assert loads(body) == "refused"
    assert flaw.kind == "foreign"
    assert flaw.text.startswith("is what a server says in place of a file (")


@pytest.mark.parametrize(
    "text",
    ["Not foundations alone", "Forbiddenly", '{"errors_per_step": [1]}', "Access to memory"],
)
def test_other_texts_are_left_alone(text: str) -> None:
    """Corpora in Portuguese end in .pt, path files of Python in .pth; also one about errors."""
    assert held(text.encode()).flaw is None
    assert held(b"Not Found\n" + b"frase\n" * 2000).flaw is None
