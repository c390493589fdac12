"""Every picture that Pillow decodes whole is left alone; damage is named by what it is."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from unittest import mock

import pytest
from PIL import Image, ImageFile, UnidentifiedImageError, features

from preflight.formats.bytes.window import Window
from preflight.formats.pictures.picture import walk_image
from preflight.formats.suffixes.images import is_image
from preflight.images import read
from preflight.images.facts import ImageDamage
from preflight.images.read import look_at_image, look_into_image
from preflight.kinds.asked import CannotLookError
from tests.archives import Contents, bounded, flipped, photo, saved, zeroed
from tests.conftest import ROOT


def looked(data: bytes, begins: int = 0) -> tuple[str, str] | None:
    damage = look_at_image(data, "dog.jpg", begins).damage
    return None if damage is None else (damage.kind, damage.text)


def looked_into(data: bytes, depth: str) -> tuple[tuple[str, str] | None, bool]:
    """Look as deep as that: what is told, and whether a decoder was asked."""
    window = Window(lambda offset, size: data[offset : offset + size], len(data), ahead=9000)
    with mock.patch.object(read, "look_at_image", wraps=look_at_image) as decode:
        damage = look_into_image(window, "dog.jpg", depth).damage
    return (None if damage is None else (damage.kind, damage.text)), decode.called


def with_thumbnail() -> bytes:
    """Put a small JPEG, markers and all, into the EXIF segment of another."""
    small = b"Exif\0\0" + photo(width=32, height=32)
    return photo()[:2] + b"\xff\xe1" + struct.pack(">H", len(small) + 2) + small + photo()[2:]


def with_a_wrong_comment() -> bytes:
    """Make a PNG whose text, behind the picture, has another checksum than it states."""
    return photo("PNG")[:-12] + b"\0\0\0\3tEXta\0b\0\0\0\0" + photo("PNG")[-12:]


def animated(image_format: str) -> bytes:
    frames = [Image.new("RGB", (40, 30), (9 * number, 0, 99)) for number in range(4)]
    return saved(frames[0], image_format, save_all=True, append_images=frames[1:])


def loads(data: bytes) -> bool:
    """Whether Pillow reads it: 10.0 does not read the MPO that it writes of four pictures."""
    try:
        Image.open(io.BytesIO(data)).load()
    except (OSError, UserWarning):
        return False
    return True


def poster(**options: object) -> bytes:
    """A large flat area, of which WebP's coder makes thousands of zeros, above a photo."""
    image = Image.new("RGB", (2400, 2400))
    image.paste(Image.open(io.BytesIO(photo(width=2400, height=100))), (0, 2300))
    return saved(image, "WEBP", **options)


HEALTHY = Contents(
    {
        "baseline": photo(),
        "progressive": photo(progressive=True),
        "restart markers": photo(restart_marker_blocks=4),
        "gray": photo(mode="L"),
        "CMYK": photo(mode="CMYK"),
        "4:1:1": photo(subsampling="4:1:1"),
        "4:4:4": photo(subsampling=0),
        "one pixel": photo(width=1, height=1),
        "EXIF thumbnail": with_thumbnail(),
        "fill bytes before a marker": photo()[:2] + b"\xff\xff\xff" + photo()[2:],
        "bytes behind the end": photo() + b"\0" * 5000,
        "another picture behind the end": photo() + photo(width=64),
        "a few bytes before the end marker": photo()[:-2] + b"\x01" * 12 + photo()[-2:],
        **({"MPO": animated("MPO")} if loads(animated("MPO")) else {}),
        "flat black, optimised": saved(Image.new("RGB", (2400, 2400)), "JPEG", optimize=True),
        "flat black, progressive": saved(Image.new("RGB", (2400, 2400)), "JPEG", progressive=True),
        "PNG": photo("PNG"),
        "PNG of 16 bits": saved(Image.new("I;16", (30, 20), 40000), "PNG"),
        "PNG with a palette": saved(Image.new("P", (30, 20)), "PNG", transparency=0),
        "PNG with alpha": photo("PNG", mode="RGBA"),
        "PNG of one bit": photo("PNG", mode="1"),
        "PNG with bytes behind": photo("PNG") + b"behind",
        "PNG with a wrong comment": with_a_wrong_comment(),
        "APNG": animated("PNG"),
        "WebP": photo("WEBP"),
        "WebP, lossless": photo("WEBP", lossless=True),
        "WebP, animated": animated("WEBP"),
        "WebP, transparent": saved(Image.new("RGBA", (600, 600)), "WEBP", alpha_quality=100),
        "WebP with EXIF": photo("WEBP", exif=b"Exif\0\0" + bytes(3000)),
        "WebP, flat": lambda: saved(Image.new("RGB", (4000, 4000)), "WEBP"),
        "WebP, flat above a photo": lambda: poster(quality=50),
        "GIF, animated": animated("GIF"),
        "BMP": photo("BMP"),
        "BMP, black": saved(Image.new("RGB", (90, 90)), "BMP"),
        "TIFF": photo("TIFF"),
        "TIFF, LZW": photo("TIFF", compression="tiff_lzw"),
        "PPM": photo("PPM"),
    }
)


@pytest.mark.parametrize("name", HEALTHY)
def test_sound_pictures_are_left_alone(name: str) -> None:
    assert looked(HEALTHY[name]) is None


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
@pytest.mark.parametrize("name", HEALTHY)
def test_sound_pictures_are_left_alone_at_every_depth(name: str, depth: str) -> None:
    assert looked_into(HEALTHY[name], depth)[0] is None


# What only a decoder can tell: formats without a walk, alpha and scans that are flat and long.
ASKED_ABOUT = {
    *("flat black, optimised", "flat black, progressive", "a few bytes before the end marker"),
    *("GIF, animated", "BMP", "BMP, black", "TIFF", "TIFF, LZW", "PPM", "WebP, transparent"),
    *("WebP, flat", "WebP, flat above a photo"),
}


@pytest.mark.parametrize("depth", ["index", "bytes"])
@pytest.mark.parametrize("name", sorted(HEALTHY.keys() - ASKED_ABOUT))
def test_no_decoder_is_asked_about_what_looks_sound(name: str, depth: str) -> None:
    assert looked_into(HEALTHY[name], depth) == (None, False)


def test_no_decoder_is_imported_for_what_looks_sound(tmp_path: Path) -> None:
    names = {"baseline", "progressive", "PNG", "APNG", "WebP", "MPO"} & HEALTHY.keys()
    for name in names:
        (tmp_path / f"{name}.jpg").write_bytes(HEALTHY[name])
    script = (
        "import pathlib, sys; from preflight.images.folder import read_image_file;"
        "every = [read_image_file(str(p), '.') for p in pathlib.Path('.').glob('*.jpg')];"
        f"assert len(every) == {len(names)} and not any(one.damage for one in every);"
        "print({'PIL', 'numpy', 'simplejpeg'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("progressive", [False, True])
def test_arithmetic_coding_is_left_to_the_decoder(*, progressive: bool) -> None:
    """Its frames have markers of their own, C9 and CA; not every libjpeg writes it."""
    data = photo(progressive=progressive)
    frame = b"\xff\xc2" if progressive else b"\xff\xc0"
    other = b"\xff\xca" if progressive else b"\xff\xc9"

    assert not walk_image(Window.over(data.replace(frame, other)), "JPEG image").suspicious


def test_a_png_in_the_name_of_a_jpeg_is_left_alone() -> None:
    """Pillow goes by what is in it."""
    for depth in ("index", "bytes", "decode"):
        assert looked_into(photo("PNG"), depth)[0] is None


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP", "GIF"])
@pytest.mark.parametrize("depth", ["index", "bytes"])
def test_every_truncation_is_found_at_every_depth(image_format: str, depth: str) -> None:
    data = photo(image_format, width=96, height=80)
    if image_format == "GIF" and depth == "index":
        pytest.skip("a GIF's end is told by its decoder alone")
    for end in range(0, len(data) - 1, max(1, len(data) // 25)):
        found, _ = looked_into(data[:end], depth)
        assert found == looked(data[:end])
        assert found is not None, end


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP"])
def test_lost_pages_are_found_without_decoding_every_image(image_format: str) -> None:
    """The walk is suspicious, and the decoder tells the rest."""
    data = photo(image_format, width=320, height=320)
    for begin in range(4096, len(data) - 4096, 4096):
        found, asked = looked_into(zeroed(data, begin, begin + 4096), "bytes")
        assert found is not None, begin
        assert asked


def test_at_index_only_the_ends_are_read() -> None:
    data = photo(width=640, height=640)
    read: list[tuple[int, int]] = []

    def reading(offset: int, size: int) -> bytes:
        read.append((offset, size))
        return data[offset : offset + size]

    assert look_into_image(Window(reading, len(data)), "dog.jpg", "index").damage is None
    assert read == [(0, 512), (len(data) - 12, 12)]


def test_a_large_image_is_held_a_piece_at_a_time() -> None:
    """A scan of 64 MB; its zero bytes all stand behind an ff."""
    scan = b"\xff\0\x55\xaa" * (1 << 18)
    head, end = photo()[: photo().index(b"\xff\xda") + 14], b"\xff\xd9"
    size = len(head) + 64 * len(scan) + len(end)

    def reading(offset: int, wanted: int) -> bytes:
        inside = (offset - len(head)) % len(scan)
        stretch = (head + scan)[offset:] if offset < len(head) else scan[inside:] + scan
        left = size - len(end) - offset
        return (stretch[: max(0, left)] + (end if wanted > left else b""))[:wanted]

    with bounded(memory=16 << 20), mock.patch.object(read, "look_at_image", pytest.fail):
        damage = look_into_image(Window(reading, size), "dog.jpg", "bytes").damage

    assert damage is None


def test_what_is_too_large_to_decode_is_told_only_where_it_would_have_to_be() -> None:
    head = photo()[:600]
    window = Window(lambda offset, size: head[offset : offset + size], 1 << 31)

    damage = look_into_image(window, "dog.jpg", "decode").damage

    assert damage is not None
    assert (damage.kind, damage.bytes) == ("huge", 1 << 31)


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
@pytest.mark.parametrize(
    ("head", "kind"), [(b"", "zeros"), (b"PK\3\4" + 600 * b"x", "foreign")], ids=["zeros", "a zip"]
)
def test_what_is_no_image_by_its_first_bytes_is_damaged_however_large_it_is(
    tmp_path: Path, head: bytes, kind: str, depth: str
) -> None:
    """Pillow needs no more of it either. It is a hole, and takes no room on the disk."""
    for size in (1 << 20, 1 << 31):
        path = tmp_path / f"{size}.jpg"
        with path.open("wb") as file:
            file.write(head)
            file.truncate(size)

        with path.open("rb") as file, mock.patch.object(read, "MOST_IMAGE", 1 << 24):

            def reading(offset: int, wanted: int) -> bytes:
                file.seek(offset)
                return file.read(wanted)

            damage = look_into_image(Window(reading, size), path.name, depth).damage
        with pytest.raises(UnidentifiedImageError):
            Image.open(path)

        assert damage is not None
        assert (damage.kind, damage.raises) == (kind, "UnidentifiedImageError")


@pytest.mark.skipif("avif" not in features.get_supported(), reason="this Pillow has no AVIF")
def test_avif_is_decoded_where_pillow_can() -> None:
    assert looked(photo("AVIF")) is None
    damaged = looked(photo("AVIF")[:-900])
    assert damaged is not None
    assert damaged[0] in ("cut", "undecodable")


def test_a_format_that_pillow_cannot_decode_is_not_judged() -> None:
    """JPEG XL may well be what the job's own reader is for."""
    assert looked(b"\x00\x00\x00\x0cJXL \r\n\x87\n" + bytes(100)) is None


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (b"", "empty", "is empty (0 bytes)"),
        (b"<!DOCTYPE html><html>404</html>", "foreign", "is an HTML page, and no image"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
            "foreign",
            "is a Git LFS pointer, and no image",
        ),
        (b"PK\x03\x04" + bytes(50), "foreign", "is a zip archive, and no image"),
        (b"\x01\x02\x03\x04", "foreign", "is no image: it begins with 01 02 03 04"),
        (
            b"\0\0\1\0\5\0\x10\x10",
            "undecodable",
            "begins as ICO does, and Pillow finds no image in it",
        ),
        (bytes(9000), "zeros", "holds nothing but 9,000 zero bytes"),
        (photo()[:700], "cut", "stops before its end marker"),
        (photo()[:-2], "cut", "stops before its end marker"),
        (photo(progressive=True)[:-500], "cut", "stops before its end marker"),
        (photo("PNG")[:-12], "cut", "stops before its end chunk"),
        (photo("PNG")[:-6], "cut", "stops before its end chunk"),
        (photo("PNG")[:5033], "cut", "stops inside its IDAT chunk, after 5,000 of 65,548 bytes"),
    ],
)
def test_damage_is_named(data: bytes, kind: str, text: str) -> None:
    assert looked(data) == (kind, text)


def test_the_facts_name_the_image_and_its_size() -> None:
    assert look_at_image(b"", "a/dog.jpg").damage == ImageDamage(
        name="a/dog.jpg",
        kind="empty",
        text="is empty (0 bytes)",
        bytes=0,
        raises="UnidentifiedImageError",
    )


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP"])
def test_a_lost_page_is_found_and_placed(image_format: str) -> None:
    """Pillow opens such a JPEG without complaint."""
    data = photo(image_format, width=320, height=320)
    assert len(data) > 9000

    found = looked(zeroed(data, 4096, 8192))

    assert found == ("zeros", "has 4,096 zero bytes in it, from 4,096 on")


def test_the_zeros_of_a_flat_webp_are_a_long_run() -> None:
    """So that the healthy cases above are what they are meant to be."""
    for name in ("WebP, flat", "WebP, flat above a photo"):
        zeros = walk_image(Window.over(HEALTHY[name]), "WebP image").zeros
        assert zeros is not None
        assert zeros[1] > 1400, name


@pytest.mark.parametrize("begins", [0, 512 * 3], ids=["a file", "a member of a shard"])
def test_a_lost_page_that_no_decoder_notices_is_found_by_its_place(begins: int) -> None:
    """In progressive scans zeros often decode; whole pages of the disk are no flat area."""
    data = photo(width=640, height=480, progressive=True)
    first = -begins % 4096
    for page in range(first + 4096, len(data) - 8192, 4096):
        assert looked(zeroed(data, page, page + 4096), begins) is not None, page


def test_a_wrong_byte_in_a_png_is_found_by_its_checksum() -> None:
    found = looked(flipped(photo("PNG"), 5000))

    assert found == ("undecodable", "has wrong bytes in a chunk at 33: its checksum differs")


@pytest.mark.parametrize("depth", ["bytes", "decode"])
@pytest.mark.parametrize("image_format", ["JPEG", "PNG"])
def test_an_image_that_git_took_for_text_is_found(image_format: str, depth: str) -> None:
    """Pillow opens most such JPEGs without complaint, and hardly a pixel is right."""
    whole = photo(image_format, width=640, height=480)
    feeds = whole.count(b"\n")

    found, _ = looked_into(whole.replace(b"\n", b"\r\n"), depth)

    text = f"has a carriage return before each of its {feeds:,} line feeds: most likely git or FTP"
    assert found == ("undecodable", f"{text} took it for text")


def test_a_page_of_the_web_is_no_image_that_was_taken_for_text() -> None:
    """Its lines end as those of HTTP do."""
    found = looked(b"<!DOCTYPE html>\r\n" + b"<p>403</p>\r\n" * 20)

    assert found == ("foreign", "is an HTML page, and no image")


def test_many_bytes_left_over_before_the_end_marker_are_told_apart() -> None:
    """They are harmless as often as not."""
    found = looked(photo()[:-2] + b"\x01" * 106 + photo()[-2:])

    assert found is not None
    assert found[0] == "leftover"


def test_an_image_too_large_for_pillow_is_found_without_decoding() -> None:
    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", 20_000, 10_000, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(10_000 * 2501))
    data = (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )

    assert looked(data) == ("huge", "has 20,000 x 10,000 = 200,000,000 pixels")


def test_a_job_that_allows_truncated_images_does_not_blind_the_look() -> None:
    lenient, ImageFile.LOAD_TRUNCATED_IMAGES = ImageFile.LOAD_TRUNCATED_IMAGES, True
    try:
        assert looked(photo("BMP")[:-2000]) is not None
        assert ImageFile.LOAD_TRUNCATED_IMAGES is True
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = lenient


def test_nothing_is_written_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    """Also not by the libraries under Pillow."""
    data = photo("TIFF", compression="jpeg")
    for end in range(100, len(data), len(data) // 9):
        looked(data[:end])
        looked(zeroed(data, 600, 1600))
    looked(zeroed(data, 8, 600))
    looked(zeroed(data, len(data) - 1500, len(data) - 200))

    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "image_format", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000"]
)
def test_no_mutation_makes_it_raise(image_format: str) -> None:
    whole = photo(image_format, width=48, height=40)
    chance = random.Random(image_format)
    for _ in range(120):
        data = bytearray(whole[: chance.choice([len(whole), chance.randrange(len(whole))])])
        for _ in range(chance.choice([1, 3, 200])):
            if data:
                data[chance.randrange(min(len(data), chance.choice([64, 700, 99_999])))] ^= (
                    chance.randrange(256)
                )
        looked(bytes(data))


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("dog.jpg", True),
        ("a/DOG.JPEG", True),
        ("dog.seg.png", True),
        ("._dog.jpg", False),
        (".jpg", False),
        ("dog.txt", False),
        ("dog", False),
    ],
)
def test_images_are_known_by_their_names(name: str, *, is_one: bool) -> None:
    assert is_image(name) is is_one


def test_a_decoder_that_cannot_be_imported_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It may have been built for another numpy: that raises ValueError."""
    (tmp_path / "simplejpeg.py").write_text("raise ValueError('numpy.dtype size changed')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "simplejpeg", raising=False)

    with pytest.raises(CannotLookError, match=r"numpy\.dtype size changed") as caught:
        look_at_image(photo(), "a.jpg")

    assert "pip install" in (caught.value.fix or "")
