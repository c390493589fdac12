"""Shards of every founding fault of data, each in a folder of its own, with what surrounds them."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable, Mapping

from tests.archives import photo, samples, tarred

JPEG = photo(width=32, height=24)
PNG = photo("PNG", width=32, height=24)


def good(count: int = 12, start: int = 0) -> dict[str, bytes]:
    return samples(count, image=JPEG, start=start)


def without_captions(count: int = 12) -> dict[str, bytes]:
    return {name: content for name, content in good(count).items() if not name.endswith(".txt")}


def half(count: int = 12) -> dict[str, bytes]:
    return {
        name: content
        for number, (name, content) in enumerate(good(count).items())
        if number % 4 != 3
    }


def renamed(files: Mapping[str, bytes], old: str, new: str) -> dict[str, bytes]:
    return {name.replace(old, new): content for name, content in files.items()}


def unsorted() -> bytes:
    files = good()
    return tarred(sorted(files.items(), key=lambda one: one[0].endswith(".txt")))


def two_folders() -> bytes:
    return tarred(
        {f"{name.rpartition('.')[2]}/{name}": content for name, content in good().items()}
    )


def macos(folder: str) -> bytes:
    files = {}
    for name, content in good().items():
        files[f"{folder}._{name}"] = b"\0\5\x16\7\0\2\0\0Mac OS X" + bytes(100)
        files[f"{folder}{name}"] = content
    return tarred(files)


def duplicates() -> bytes:
    return tarred([*good(3).items(), *[one for one in good(3).items() for _ in range(2)]])


def latin_1() -> bytes:
    files = good()
    for number in range(0, 12, 2):
        files[f"dog-{number:04}.txt"] = "ein Hündchen".encode("latin-1")
    return tarred(files)


def broken_images() -> bytes:
    files = good()
    files["dog-0001.jpg"] = JPEG[: len(JPEG) // 2]
    files["dog-0003.jpg"] = b""
    files["dog-0005.jpg"] = b"<html>404</html>"
    files["dog-0007.jpg"] = bytes(2_000)
    return tarred(files)


def links() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in good().items():
            member = tarfile.TarInfo(name)
            if name.endswith("3.txt"):
                member.type, member.linkname = tarfile.SYMTYPE, "dog-0000.txt"
                archive.addfile(member)
                continue
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def cut_at(part: float) -> bytes:
    whole = tarred(good())
    return whole[: int(len(whole) * part)]


def bad_header() -> bytes:
    whole = bytearray(tarred(good()))
    whole[len(whole) // 2 // 512 * 512 :][:512] = bytes(512)
    at = bytes(whole).index(b"dog-0006.jpg")
    whole[at + 148] ^= 1
    return bytes(whole)


def mixed() -> bytes:
    return tarred({**good(), **renamed(good(6, start=20), ".txt", ".caption")})


KINDS: Mapping[str, Callable[[], bytes]] = {
    "good": lambda: tarred(good()),
    "no captions": lambda: tarred(without_captions()),
    "half of the captions": lambda: tarred(half()),
    "captions alone": lambda: tarred(
        {name: one for name, one in good().items() if name.endswith(".txt")}
    ),
    "unsorted": unsorted,
    "two folders": two_folders,
    "dotted names": lambda: tarred(renamed(good(), "dog-", "img.v2.")),
    "dotted keys": lambda: tarred(renamed(good(), ".txt", ".v1.txt")),
    "upper case": lambda: tarred(renamed(renamed(good(), ".jpg", ".JPG"), ".txt", ".TXT")),
    "other image suffix": lambda: tarred(renamed(good(), ".jpg", ".jpeg")),
    "png": lambda: tarred(
        {n: PNG if n.endswith("png") else b for n, b in renamed(good(), ".jpg", ".png").items()}
    ),
    "latin-1": latin_1,
    "empty captions": lambda: tarred({n: b if "jpg" in n else b"" for n, b in good().items()}),
    "broken images": broken_images,
    "duplicates": duplicates,
    "macOS at the top": lambda: macos(""),
    "macOS in a folder": lambda: macos("a/"),
    "links": links,
    "caption suffixes mixed": mixed,
    "meta": lambda: tarred({"__index__": b"x", **good(), "__MACOSX/a.jpg": b"x"}),
    "empty tar": lambda: tarred({}),
    "0 bytes": lambda: b"",
    "zeros": lambda: bytes(10_240),
    "rar": lambda: b"Rar!\x1a\x07\x01\x00" + bytes(range(256)) * 40,
    "html": lambda: b"<!DOCTYPE html><html><body>403 Forbidden</body></html>",
    "lfs": lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\n",
    "cut in an image": lambda: tarred(good())[: 512 + len(JPEG) // 2],
    "cut in the middle": lambda: cut_at(0.5),
    "cut in a third": lambda: cut_at(0.33),
    "cut near the end": lambda: cut_at(0.9),
    "no end": lambda: tarred(good())[:-10_240],
    "bad header": bad_header,
    "gzip": lambda: gzip.compress(tarred(good())),
}
