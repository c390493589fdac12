"""A tar is walked as tarfile walks it, and where readers would stop, the reason is named."""

from __future__ import annotations

import io
import os
import random
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from preflight.formats.bytes.flaw import Flaw
from preflight.formats.tar.end import LONGEST_PADDING
from preflight.formats.tar.walk import Member, behind, walk
from tests.archives import SAMPLE, flipped, samples, tarred, zeroed

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def walked(content: bytes) -> tuple[list[Member], Flaw | None]:
    """Walk over bytes in memory: the members, and the flaw where there is one."""
    found = list(walk(lambda offset, size: content[offset : offset + size], len(content)))
    flaws = [one for one in found if isinstance(one, Flaw)]
    assert len(flaws) <= 1
    assert not flaws or found[-1] is flaws[0]
    return [one for one in found if isinstance(one, Member)], flaws[0] if flaws else None


def flaw_in(content: bytes) -> Flaw:
    flaw = walked(content)[1]
    assert flaw is not None
    return flaw


def names_behind(content: bytes, flaw: Flaw) -> list[str]:
    assert flaw.offset is not None
    read = lambda offset, size: content[offset : offset + size]  # noqa: E731  three lines for one
    return [one.name for one in behind(read, len(content), flaw.offset)]


def as_tarfile_says(content: bytes) -> list[tuple[str, int, int]]:
    """Name, place and size of all files, by Python's tarfile."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return [(one.name, one.offset_data, one.size) for one in archive if one.isreg()]


def files_of(members: list[Member]) -> list[tuple[str, int, int]]:
    return [(one.name, one.offset, one.size) for one in members if one.kind in ("file", "sparse")]


def summed(header: bytes) -> bytes:
    """Put the right checksum into a header."""
    checksum = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:512]))
    return header[:148] + checksum + header[156:]


LONG = "a-folder-with-a-long-name/" * 11 + "dog.jpg"


@pytest.mark.parametrize("tar_format", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize(
    "names",
    [
        ["dog.jpg", "dog.txt"],
        ["a/b/000.jpg", "a/b/000.txt"],
        ["n" * 95 + ".jpg", "n" * 96 + ".jpg", "d" * 120 + "/" + "n" * 90 + ".jpg"],
        ["狗/一.jpg", "狗/一.txt"],
        ["caf\udce9.jpg", "caf\udce9.txt"],
        ["._dog.jpg", ".hidden", "no-dot"],
    ],
    ids=["plain", "nested", "long", "Chinese", "no UTF-8", "odd"],
)
def test_what_tarfile_writes_is_walked_as_tarfile_reads_it(
    tar_format: int, names: list[str]
) -> None:
    content = tarred([(name, os.urandom(size)) for size, name in enumerate(names)], tar_format)

    members, flaw = walked(content)

    assert files_of(members) == as_tarfile_says(content)
    assert flaw is None


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
@pytest.mark.parametrize("tar_format", ["v7", "oldgnu", "gnu", "ustar", "pax"])
def test_what_gnu_tar_writes_is_walked_as_tarfile_reads_it(tmp_path: Path, tar_format: str) -> None:
    """With a folder, a symbolic link, a hard link and a sparse file in it."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "dog.jpg").write_bytes(b"x" * 3000)
    (folder / "link.jpg").symlink_to("dog.jpg")
    os.link(folder / "dog.jpg", folder / "same.jpg")
    with (folder / "sparse.bin").open("wb") as stream:
        stream.truncate(1 << 20)
        stream.seek(1 << 19)
        stream.write(b"middle")
    command = ["tar", f"--format={tar_format}", "--sort=name", "-cf", "x.tar", "data"]
    if tar_format not in ("v7", "ustar"):
        command.insert(1, "--sparse")
    subprocess.run(command, cwd=tmp_path, check=True)
    content = (tmp_path / "x.tar").read_bytes()

    members, flaw = walked(content)

    assert flaw is None
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        told = [(one.name, one.offset_data) for one in archive]
    assert [(one.name, one.offset) for one in members] == told or tar_format == "pax"
    assert [one.name for one in members] == [name for name, _ in told]
    kinds = {one.name: one.kind for one in members}
    assert kinds["data"] == "folder"
    assert kinds["data/link.jpg"] == "link"
    assert kinds["data/same.jpg"] == "link"


def test_an_archive_of_nothing_is_no_flaw() -> None:
    assert walked(tarred({})) == ([], None)


def test_a_size_in_base_256_is_read() -> None:
    """As GNU tar writes sizes of 8 GiB and more."""
    content = tarred({"dog.jpg": b"x" * 600})
    content = summed(content[:124] + b"\x80" + (600).to_bytes(11, "big") + content[136:])

    assert walked(content) == ([Member("dog.jpg", 512, 600, "file")], None)


def test_a_checksum_of_signed_bytes_is_accepted() -> None:
    """Some old tars add up bytes above 127 as negative numbers."""
    header = bytearray(tarred({"caf\udce9.jpg": b""}, tarfile.GNU_FORMAT)[:512])
    rest = header[:148] + header[156:]
    signed = sum(byte - 256 if byte > 127 else byte for byte in rest)
    header[148:156] = b"%06o\0 " % (signed + 8 * 32)

    members, flaw = walked(bytes(header) + bytes(1024))

    assert [one.name for one in members] == ["caf\udce9.jpg"]
    assert flaw is None


def test_a_pax_size_replaces_the_headers_own() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("dog.jpg")
        member.size = 5
        member.pax_headers = {"size": "5", "comment": "a = b"}
        archive.addfile(member, io.BytesIO(b"xxxxx"))

    assert files_of(walked(stream.getvalue())[0]) == as_tarfile_says(stream.getvalue())


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (b"", "empty", "is empty (0 bytes)"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(600), "foreign", "is a RAR archive, and no tar archive"),
        (b"<html>404", "foreign", "is an HTML page, and no tar archive"),
        (b"\x01\x02" * 300, "foreign", "is no tar archive: it begins with 01 02 01 02 01 02 01 02"),
        (bytes(2 * LONGEST_PADDING), "foreign", "holds nothing but 131.1 kB of zeros"),
    ],
    ids=["empty", "RAR", "page", "noise", "zeros"],
)
def test_what_is_no_tar_is_named(content: bytes, kind: str, text: str) -> None:
    members, flaw = walked(content)

    assert members == []
    # Over zeros alone tarfile raises nothing: it takes them for the end.
    assert flaw == Flaw(kind=kind, text=text, offset=0, quiet="zeros" in text)


@pytest.mark.parametrize(
    ("kept", "kind", "text", "quiet"),
    [
        (612, "cut", "inside dog-0003.jpg, after 100 of its 700 bytes", False),
        (100, "cut", "inside the header at 7,680 bytes, after 100 of its 512 bytes", True),
        (0, "no-end-marker", "at 7,680 bytes, between two members, without an end marker", True),
        (1212, "cut", "in the padding behind dog-0003.jpg", False),
    ],
    ids=["in a member", "in a header", "between members", "in padding"],
)
def test_a_tar_cut_short_says_where(kept: int, kind: str, text: str, *, quiet: bool) -> None:
    content = tarred(samples(6))[: 3 * SAMPLE + kept]
    member = "dog-0003.jpg" if "dog" in text else None

    members, flaw = walked(content)

    assert flaw == Flaw(
        kind=kind, text=f"ends {text}", offset=3 * SAMPLE, member=member, quiet=quiet
    )
    assert len(members) == (7 if "padding" in text else 6)


def test_a_wrong_checksum_ends_the_walk_and_what_is_behind_can_be_found() -> None:
    content = flipped(tarred(samples(6)), 3 * SAMPLE + 130)

    flaw = flaw_in(content)

    assert len(walked(content)[0]) == 6
    assert (flaw.kind, flaw.member, flaw.quiet) == ("checksum", "dog-0003.jpg", True)
    assert names_behind(content, flaw) == list(samples(6))[7:]


def test_behind_a_long_name_a_wrong_checksum_is_loud() -> None:
    """Then tarfile has already begun the member, and raises."""
    flaw = flaw_in(flipped(tarred({LONG: b"x"}, tarfile.GNU_FORMAT), 1024 + 130))

    assert (flaw.kind, flaw.quiet) == ("checksum", False)


def test_a_second_archive_behind_the_end_marker_is_found() -> None:
    content = tarred(samples(2)) + tarred(samples(2, start=5))
    flaw = flaw_in(content)

    assert len(walked(content)[0]) == 4
    assert flaw.text == "goes on behind its end marker, at 10,240 bytes, with a second archive"
    assert names_behind(content, flaw) == list(samples(2, start=5))


def test_bytes_behind_the_end_marker_that_are_no_archive_are_found() -> None:
    said = "has bytes behind its end marker, from 10,240 on, that are no archive"

    assert flaw_in(tarred(samples(2)) + b"garbage").text == said


def test_a_single_block_of_zeros_is_no_end_marker() -> None:
    """Readers stop there all the same."""
    whole = tarred(samples(4))
    flaw = flaw_in(whole[: 2 * SAMPLE] + bytes(512) + whole[2 * SAMPLE :])

    assert flaw.kind == "zero-block"
    assert flaw.text == "has 512 zero bytes at 5,120, where a header should be"


@pytest.mark.parametrize(
    ("begin", "end", "zeros"),
    [(3 * SAMPLE, 3 * SAMPLE + 512, 512), (2 * SAMPLE + 900, 3 * SAMPLE + 700, 1536)],
    ids=["one header", "a page"],
)
def test_zeros_in_place_of_a_header_are_found(begin: int, end: int, zeros: int) -> None:
    content = zeroed(tarred(samples(6)), begin, end)
    flaw = flaw_in(content)

    assert flaw.kind == "zero-block"
    assert flaw.text.startswith(f"has {zeros:,} zero bytes at ")
    assert names_behind(content, flaw)[-1] == "dog-0005.txt"


def test_a_tail_of_zeros_that_begins_inside_a_member_is_found() -> None:
    """As a download leaves it whose file was laid out in full before it came to its end."""
    content = tarred(samples(3, image=b"x" * 70_000))
    flaw = flaw_in(zeroed(content, 80_000, len(content)))

    assert (flaw.kind, flaw.member) == ("cut", "dog-0001.jpg")


HOSTILE = {
    "2 to the 88": (b"0", b"\x80" + b"\xff" * 11, b""),
    "negative": (b"0", b"\xff" * 12, b""),
    "backwards": (b"0", b"\xff" * 10 + b"\xfa\x00", b""),
    "8 GiB": (b"0", b"77777777777\0", b""),
    "words": (b"0", b"not a number", b""),
    "pax of 8 GiB": (b"x", b"77777777777\0", b""),
    "name of 8 GiB": (b"L", b"77777777777\0", b""),
    "pax length 0": (b"x", b"00000000020\0", b"0 path=a\n0 path=b"),
    "pax length too long": (b"x", b"00000000020\0", b"999999999 path=a"),
    "pax length in words": (b"x", b"00000000020\0", b"eleven path=abc\n"),
    "pax size": (b"x", b"00000000033\0", b"27 size=99999999999999999\n"),
    "pax of 3 MB": (b"x", b"00014000000\0", b"11 path=a.b\n" + b"z" * (3 << 20)),
    "sparse map": (b"S", b"00000000000\0", b"\xff" * 2048),
}


@pytest.mark.parametrize(("type_", "size", "body"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_headers_cost_nothing(type_: bytes, size: bytes, body: bytes) -> None:
    header = bytearray(tarred({"dog.jpg": b""})[:512])
    header[156:157] = type_
    header[124:136] = size
    if type_ == b"S":
        header[482] = 1
    reads = []

    def read(offset: int, size: int) -> bytes:
        assert offset >= 0
        reads.append(size)
        return content[offset : offset + size]

    body += bytes(-len(body) % 512)
    content = summed(bytes(header)) + body + tarred(samples(2))

    assert len(list(walk(read, len(content)))) < 9
    assert max(reads) <= 1 << 20


def test_endless_long_names_are_walked_without_recursion() -> None:
    name = tarred({LONG: b""}, tarfile.GNU_FORMAT)[:1024]

    assert walked(name * 5000)[0] == []
    assert flaw_in(name * 5000).text == (
        "has an extended header at 65,536 bytes that stands behind 64 others, and tarfile gives up "
        "at some 300"
    )


def with_headers(told: list[tuple[bytes, bytes]], name: str) -> bytes:
    """Write an empty file behind headers of these types and contents."""
    written = b""
    for type_, body in told:
        header = tarfile.TarInfo("././@PaxHeader")
        header.type, header.size = type_, len(body)
        written += header.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)
    return written + tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT)


def record(key: str, value: str) -> bytes:
    """Write a record of a pax header, whose length counts its own digits."""
    rest = f" {key}={value}\n".encode()
    length = len(rest) + 1
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return str(length).encode() + rest


TOLD = [
    [],
    [(b"x", record("path", "a/dog.jpg"))],
    [(b"x", record("path", "a/cat.jpg"))],
    [(b"x", record("path", "a/folder/"))],
    [(b"x", record("path", "a/" + "n" * 300 + ".jpg"))],
    [(b"x", record("path", "a/" + "n" * 600 + ".jpg"))],
    [(b"x", record("mtime", "a/cat.jp"))],
    [(b"x", record("path", "a/c") + record("uid", "12"))],
    [(b"x", record("path", "a/dog.jpg")), (b"x", record("path", "a/cat.jpg"))],
    [(b"x", record("path", "a/dog.jpg")), (b"L", b"b/dog.jpg\0")],
    [(b"L", b"b/dog.jpg\0"), (b"x", record("path", "a/dog.jpg"))],
    [(b"g", record("comment", "of all")), (b"x", record("path", "a/dog.jpg"))],
]


@pytest.mark.parametrize("seed", range(40))
def test_headers_that_tell_names_are_taken_as_tarfile_takes_them(seed: int) -> None:
    """Also where one is to the byte like another before it, in any order."""
    told = random.Random(seed).choices(TOLD, k=60)
    parts = [with_headers(one, f"{number}.txt") for number, one in enumerate(told)]
    content = b"".join(parts) + bytes(1024)

    members, flaw = walked(content)

    assert flaw is None
    assert files_of(members) == as_tarfile_says(content)


@pytest.mark.parametrize("taken", [1, 511, 512, 513, 700, 1023, 1024, 1025, 1535])
def test_an_archive_that_ends_in_a_header_known_to_the_byte_is_cut_short(taken: int) -> None:
    part = with_headers(TOLD[1], "x.txt")
    content = 3 * part + part[:taken]

    assert [one.name for one in walked(content)[0]] == ["a/dog.jpg"] * 3
    assert flaw_in(content).kind == "cut"


def test_no_mutation_makes_the_walk_raise_or_read_without_end() -> None:
    whole = tarred({**samples(2), LONG: b"x" * 10}, tarfile.PAX_FORMAT)
    chance = random.Random(20)
    for _ in range(2000):
        content = bytearray(whole)
        for _ in range(chance.randrange(1, 200)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        members, flaw = walked(bytes(content))
        assert len(members) < 40
        if flaw is not None and flaw.offset is not None:
            names_behind(bytes(content), flaw)


HEALTHY = {
    "a volume label, of GNU tar": ["--label=data"],
    "one block at a time": ["-b", "1"],
    "20 blocks at a time": ["-b", "20"],
    "128 blocks at a time": ["-b", "128"],
    "a megabyte at a time": ["-b", "2048"],
    "V7": ["--format=v7"],
    "global headers": ["--format=pax", "--pax-option=globexthdr.name=g,comment=a commit"],
    "all times and owners in pax": ["--format=pax", "--pax-option=exthdr.name=%d/PaxHeaders/%f"],
    "backup of a folder": ["--listed-incremental=snapshot"],
}


@pytest.mark.skipif(shutil.which("tar") is None, reason="no tar program here")
@pytest.mark.parametrize("options", HEALTHY.values(), ids=HEALTHY)
def test_legal_oddities_are_no_flaw(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for name, content in samples(3).items():
        (folder / name).write_bytes(content)
    command = ["tar", *options, "--sort=name", "-cf", "x.tar", "data"]
    subprocess.run(command, cwd=tmp_path, check=True, stderr=subprocess.DEVNULL)
    content = (tmp_path / "x.tar").read_bytes()

    members, flaw = walked(content)

    assert flaw is None
    assert files_of(members) == as_tarfile_says(content)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_what_git_archive_writes_is_no_flaw(tmp_path: Path) -> None:
    """With a global header that names the commit."""
    (tmp_path / "dog.txt").write_text("a dog", encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    command = ["git", "archive", "--format=tar", "HEAD"]
    content = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout

    members, flaw = walked(content)

    assert ([one.name for one in members], flaw) == (["dog.txt"], None)


def test_what_tarfile_takes_for_no_number_is_refused() -> None:
    """An owner in words, in a header whose checksum is right: tarfile stops there quietly."""
    whole = tarred(samples(2))
    header = whole[SAMPLE : SAMPLE + 108] + b"someone\0" + whole[SAMPLE + 116 : SAMPLE + 512]
    content = whole[:SAMPLE] + summed(header) + whole[SAMPLE + 512 :]
    flaw = flaw_in(content)

    assert len(walked(content)[0]) == len(as_tarfile_says(content)) == 2
    assert (flaw.kind, flaw.quiet) == ("header", True)
    assert "has an owner, a mode or a time that is no number" in flaw.text
