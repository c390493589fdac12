"""What a file is called does not matter; its first bytes say what it is."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile

import numpy as np
import PIL.features
import pytest
from PIL import Image

from preflight.formats.magic import HEAD, is_lfs_pointer, size_in_lfs_pointer, what_is, with_article
from tests.archives import tarred
from tests.contents import archive, written

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"


needs_avif = pytest.mark.skipif(
    "avif" not in PIL.features.get_supported(), reason="this Pillow cannot write AVIF"
)


@pytest.mark.parametrize(
    "name",
    [
        *("JPEG", "PNG", "WebP", "GIF", "BMP", "TIFF"),
        pytest.param("AVIF", marks=needs_avif),  # told from a video by its brand
    ],
)
def test_pictures_are_named_by_what_pillow_writes(name: str) -> None:
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, name.upper())

    assert what_is(stream.getvalue()[:HEAD]) == f"{name} image"


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (a)")
        serialize = getattr(connection, "serialize", lambda: b"SQLite format 3\0")
        content: bytes = serialize()
    connection.close()
    return content


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (archive(("a", b"b")), "zip archive"),
        (tarred({"a": b""}, tarfile.USTAR_FORMAT), "tar archive"),
        (tarred({"a": b""}, tarfile.GNU_FORMAT), "tar archive"),
        (gzip.compress(b"x"), "gzip stream"),
        (bz2.compress(b"x"), "bzip2 stream"),
        (bz2.compress(b""), "bzip2 stream"),
        (lzma.compress(b"x"), "xz stream"),
        (b"\x28\xb5\x2f\xfd\x24\x01", "zstd stream"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(8), "RAR archive"),
        (b"Rar!\x1a\x07\x00" + bytes(8), "RAR archive"),
        (b"7z\xbc\xaf\x27\x1c\x00\x04", "7z archive"),
        (written(np.save, np.zeros(3)), "numpy array"),
        (database(), "SQLite database"),
        (b"%PDF-1.7\n", "PDF document"),
        (POINTER, "Git LFS pointer"),
        (b"<!DOCTYPE html>\n<html><body>404", "HTML page"),
        (b"\xef\xbb\xbf \n<HTML lang=en>", "HTML page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code>', "XML document"),
        (b"a dog on a beach", "text file"),
        ("ein Hündchen, 一只狗".encode(), "text file"),
        ("Não é um cão, é um gato na praia.\n".encode("latin-1"), "text file"),
        (b"", "empty file"),
        (bytes(512), "run of zero bytes"),
        (b"\x00", "run of zero bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_files_are_named_as_their_writers_begin_them(content: bytes, name: str) -> None:
    assert what_is(content[:HEAD]) == name


@pytest.mark.parametrize(
    "content",
    [
        *(bytes(range(1, 256)), b"\xff\xfea\x00b\x00", b"BMW is a car \xff", b"\x80\x02}q\x00."),
        *(b"\xe9 abcd", bytes(range(0xA0, 0xE0))),
    ],
    ids=["noise", "UTF-16", "as a bitmap begins", "pickle", "a few letters", "beyond ASCII"],
)
def test_what_says_nothing_of_itself_is_not_guessed_at(content: bytes) -> None:
    assert what_is(content) is None


def test_text_stays_text_where_the_head_cuts_a_character() -> None:
    assert what_is("é".encode()[:1].rjust(HEAD, b"a")) == "text file"


def test_a_git_lfs_pointer_is_known_by_its_first_line() -> None:
    assert is_lfs_pointer(POINTER)
    assert not is_lfs_pointer(b"version 1")


@pytest.mark.parametrize(
    ("said", "size"),
    [
        (b"size 12345\n", 12345),
        (b"size 0", 0),
        (b"size 9223372036854775807\n", 2**63 - 1),
        (b"size 9223372036854775808\n", None),
        (b"size 99999999999999999999\n", None),
        (b"size -1\n", None),
        (b"size ten\n", None),
        (b"size " + b"1" * 900 + b"\n", None),
        (b"size 1\nsize 2\n", None),
        (b"Size 1\n", None),
        (b"", None),
    ],
)
def test_the_size_in_a_pointer_is_one_that_a_file_can_have(said: bytes, size: int | None) -> None:
    assert size_in_lfs_pointer(POINTER.replace(b"size 12345\n", said)) == size


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("HTML page", "an HTML page"),
        ("zip archive", "a zip archive"),
        ("Git LFS pointer", "a Git LFS pointer"),
    ],
)
def test_a_name_is_said_with_the_article_of_its_sound(name: str, said: str) -> None:
    assert with_article(name) == said


@pytest.mark.parametrize(
    ("brand", "name"),
    [(b"isom", "MP4 video"), (b"crx ", "Canon raw image"), (b"mif1", "HEIF image")],
)
def test_what_a_box_of_media_holds_is_told_by_its_brand(brand: bytes, name: str) -> None:
    assert what_is(b"\0\0\0\x18ftyp" + brand + bytes(64)) == name
