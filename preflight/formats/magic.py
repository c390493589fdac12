"""Names what a file's first bytes say that it is, whatever the file is called."""

from __future__ import annotations

import os
import re

from preflight.formats.packing.zstd import is_zstd

HEAD = 512
"""Bytes from the beginning of a file that are enough to name it."""

# The first that fits wins, so the longer ones stand before their beginnings.
_MAGIC: dict[str, tuple[bytes, ...]] = {
    "JPEG image": (b"\xff\xd8\xff",),
    "PNG image": (b"\x89PNG\r\n\x1a\n",),
    "GIF image": (b"GIF87a", b"GIF89a"),
    "JPEG XL image": (b"\x00\x00\x00\x0cJXL \r\n\x87\n", b"\xff\x0a"),
    "JPEG 2000 image": (b"\x00\x00\x00\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51"),
    "TIFF image": (b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),
    "Photoshop image": (b"8BPS",),
    "QOI image": (b"qoif",),
    "OpenEXR image": (b"v/1\x01",),
    "Radiance HDR image": (b"#?RADIANCE\n", b"#?RGBE\n"),
    "JPEG XR image": (b"II\xbc\x01",),
    "zip archive": (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"),
    "RAR archive": (b"Rar!\x1a\x07",),
    "7z archive": (b"7z\xbc\xaf\x27\x1c",),
    "gzip stream": (b"\x1f\x8b",),
    "xz stream": (b"\xfd7zXZ\x00", b"\x5d\x00\x00\x80"),  # the second as xz wrote it once
    "lz4 stream": (b"\x04\x22\x4d\x18",),
    "numpy array": (b"\x93NUMPY",),
    "HDF5 file": (b"\x89HDF\r\n\x1a\n",),
    "BigWig track": (b"\x26\xfc\x8f\x88", b"\x88\x8f\xfc\x26"),
    "SQLite database": (b"SQLite format 3\x00",),
    "Parquet file": (b"PAR1",),
    "Arrow file": (b"ARROW1",),
    "GGUF model": (b"GGUF",),
    "PDF document": (b"%PDF-",),
    "ELF program": (b"\x7fELF",),
    "Ogg stream": (b"OggS",),
    "FLAC audio": (b"fLaC",),
    "MP3 audio": (b"ID3",),
    "Matroska video": (b"\x1a\x45\xdf\xa3",),
}

# What stands at byte 8 of the two families that name their content there.
_RIFF = {b"WEBP": "WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}
_BRANDS = dict.fromkeys((b"avif", b"avis"), "AVIF image") | dict.fromkeys(
    (
        *(b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"),
        *(b"avci", b"avcs", b"mif1", b"mif2", b"msf1"),
    ),
    "HEIF image",
)
_BRANDS[b"crx "] = "Canon raw image"

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LFS_SIZE = re.compile(rb"^size ([0-9]{1,19})\r?$", re.MULTILINE)

LONGEST_LFS_POINTER = 1024
"""Bytes; Git LFS takes nothing longer for a pointer."""

_BOM = b"\xef\xbb\xbf"
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body")

_SAID_WITH_AN = (
    *("Arrow", "AVI", "ELF", "HDF5", "HEIF", "HTML", "MP", "Ogg", "Open", "SVG", "XML"),
    *("empty", "lz4", "xz"),
)

# What text may hold below the space: tab, line feed, form feed, carriage return, escape (colours).
_BEYOND_ASCII = bytes(range(0x80, 0x100))

# Bytes of a text that is told by its letters alone; fewer may be anything.
_LEAST_LATIN = 32

_NOT_TEXT = bytes(code for code in range(0x20) if code not in (9, 10, 12, 13, 27)) + b"\x7f"


def is_lfs_pointer(head: bytes) -> bool:
    """Whether this is the note that Git LFS leaves in place of a file nobody has fetched."""
    return head.startswith(_LFS_POINTER)


def size_in_lfs_pointer(pointer: bytes) -> int | None:
    """Read how large the file is that a pointer stands for, in bytes; None where it does not say.

    The first LONGEST_LFS_POINTER bytes of it are enough.
    """
    found = _LFS_SIZE.findall(pointer)
    if len(found) != 1 or int(found[0]) >= 1 << 63:
        return None
    return int(found[0])


def what_is(head: bytes) -> str | None:
    """Name a file by its first HEAD bytes, such as `RAR archive`; None where they say nothing."""
    if not head:
        return "empty file"
    for name, beginnings in _MAGIC.items():
        if head.startswith(beginnings):
            return name
    if head.startswith(b"ustar", 257):
        return "tar archive"
    if is_zstd(head):
        return "zstd stream"
    if head.startswith(b"BZh") and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2 stream"
    if head.startswith(b"BM") and head[6:10] == bytes(4):  # the two reserved words of the header
        return "BMP image"
    if head.startswith(b"RIFF"):
        return _RIFF.get(head[8:12], "RIFF file")
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "MP4 video")
    return _what_else_is(head)


def _what_else_is(head: bytes) -> str | None:
    """Name zeros, and the kinds of text that are found in place of a file."""
    if not head.strip(b"\0"):
        return "run of zero bytes"
    if is_lfs_pointer(head):
        return "Git LFS pointer"
    start = head.removeprefix(_BOM).lstrip()[:64].lower()
    if start.startswith(_HTML):
        return "HTML page"
    if not _is_text(head):
        return None
    if start.startswith(b"<svg"):
        return "SVG image"
    if start.startswith(b"<?xml"):
        return "XML document"
    return "text file"


def _is_text(head: bytes) -> bool:
    if head.translate(None, _NOT_TEXT) != head:
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character of several bytes may be cut where the head ends.
        cut = error.end == len(head) and error.reason == "unexpected end of data"
        return cut or _is_latin(head)
    return True


def _is_latin(head: bytes) -> bool:
    """Whether it reads as a text of one byte a letter, most of which are those of ASCII."""
    ascii_only = head.translate(None, _BEYOND_ASCII)
    return len(head) >= _LEAST_LATIN and len(ascii_only) * 4 >= len(head) * 3


def with_article(name: str) -> str:
    """Put `a` or `an` before a name that `what_is` gave, by its sound: `an HTML page`."""
    return f"an {name}" if name.startswith(_SAID_WITH_AN) else f"a {name}"


# What huggingface.co and other servers send where there is no such file, or where it may not be
# had; `wget` and `curl` keep it under the file's name.
_ANSWER = re.compile(
    rb"\s*\{\s*\"(?:error|message|detail)s?\"\s*:[^\r\n]{0,60}"
    rb"|(?:(?:Entry|Repository|Page) not found|Not Found|Unauthorized|Forbidden"
    rb"|Invalid username or password|Access to (?:model|dataset|this resource))\b[^\r\n]{0,60}"
)
_LONGEST_ANSWER = 4096


def said_by_server(head: bytes, size: int) -> str | None:
    """Give the first words of what a server sent in place of a file; None: it is nothing such."""
    answer = _ANSWER.match(head) if size <= _LONGEST_ANSWER else None
    return answer[0].decode("latin-1").strip() if answer is not None else None


def head_of(path: str) -> bytes | None:
    """Give the first bytes of a file; None where it is none, or cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read(HEAD)
    except OSError:
        return None
