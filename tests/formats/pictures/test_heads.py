"""An image's format, mode, width and height are what Pillow opens it with."""

from __future__ import annotations

import io
import random

import pytest
from PIL import Image

from preflight.formats.bytes.window import Window
from preflight.formats.magic import HEAD, what_is
from preflight.formats.pictures.heads import shape_in, shape_of
from preflight.formats.pictures.jpeg import frame_in, walk_jpeg
from preflight.formats.pictures.picture import walk_image
from preflight.formats.pictures.shape import Shape
from tests.archives import flipped, photo, saved


def turned() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(Image.new("RGB", (40, 30)), "JPEG", exif=exif)


def frames(image_format: str) -> bytes:
    several = [Image.new("RGBA", (40, 30), (9 * number, 0, 99, 255)) for number in range(3)]
    return saved(several[0], image_format, save_all=True, append_images=several[1:])


PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
IMAGES: dict[str, bytes] = {
    **{f"JPEG {mode}": photo(mode=mode) for mode in ("L", "RGB", "CMYK")},
    "progressive": photo(progressive=True, width=33, height=17),
    "one pixel": saved(Image.new("RGB", (1, 1)), "JPEG"),
    "turned by EXIF": turned(),
    "a profile of 60 kB": photo(icc_profile=bytes(60_000)),
    **{f"PNG {mode}": saved(Image.new(mode, (31, 7)), "PNG") for mode in PNG_MODES},
    "palette of two bits": saved(Image.new("P", (31, 7)), "PNG", bits=2),
    "one pixel of a PNG": saved(Image.new("L", (1, 1)), "PNG"),
    "APNG": frames("PNG"),
    "WebP": photo("WEBP"),
    "WebP, lossless": photo("WEBP", lossless=True),
    "WebP, lossless with alpha": saved(
        Image.new("RGBA", (31, 7), (9, 9, 9, 9)), "WEBP", lossless=True
    ),
    "WebP with alpha": saved(Image.new("RGBA", (31, 7), (9, 9, 9, 9)), "WEBP"),
    "WebP with EXIF": saved(Image.new("RGB", (31, 7)), "WEBP", exif=Image.Exif()),
    "animated WebP": frames("WEBP"),
}


def walked(data: bytes) -> Shape:
    head = data[:HEAD]
    return shape_of(head, walk_image(Window.over(data), what_is(head)))


@pytest.mark.parametrize("data", IMAGES.values(), ids=IMAGES)
def test_it_is_what_pillow_says_before_it_decodes(data: bytes) -> None:
    with Image.open(io.BytesIO(data)) as image:
        if image.mode == "I":
            pytest.skip("this Pillow takes 16 bits of gray for 32")
        said = Shape((image.format or "").replace("WEBP", "WebP"), image.mode, *image.size)

    assert walked(data) == said


@pytest.mark.parametrize("name", IMAGES)
def test_the_first_bytes_say_the_same_or_nothing(name: str) -> None:
    shape = shape_in(IMAGES[name][:HEAD])

    if name == "a profile of 60 kB":
        assert shape == Shape("JPEG")
    else:
        assert shape == walked(IMAGES[name])


@pytest.mark.parametrize("cut", [0, 1, 3, 11, 12, 16, 20, 24, 25, 29])
@pytest.mark.parametrize("name", ["JPEG RGB", "PNG RGB", "WebP", "WebP, lossless", "animated WebP"])
def test_a_head_that_is_cut_tells_less_and_nothing_wrong(name: str, cut: int) -> None:
    shape = shape_in(IMAGES[name][:cut])

    assert shape[2:] in {(0, 0), walked(IMAGES[name])[2:]}


@pytest.mark.parametrize("seed", range(200))
def test_a_frame_that_is_found_quickly_is_the_one_that_the_walk_finds(seed: int) -> None:
    """Of whatever the walk takes for whole; nothing else is asked of the quick way."""
    dice = random.Random(seed)
    data = bytearray(photo(width=64, height=48, quality=dice.choice([10, 60, 95])))
    for _ in range(dice.randrange(3)):
        data[dice.randrange(2, 200)] = dice.randrange(256)
    seen = walk_jpeg(Window.over(bytes(data)))

    if not seen.suspicious:
        assert frame_in(bytes(data[:HEAD])) in {
            (0, 0, 0),
            (seen.width, seen.height, seen.components),
        }


def test_a_png_whose_header_is_damaged_has_no_size() -> None:
    assert walked(flipped(photo("PNG"), 18)) == Shape("PNG")


@pytest.mark.parametrize(
    ("data", "shape"),
    [
        (b"", Shape()),
        (b"<!DOCTYPE html>", Shape()),
        (b"GIF89a" + bytes(9), Shape("GIF")),
        (b"\xff\xd8\xff\xc0\0\x11\x08" + bytes(20), Shape("JPEG")),
        (b"\x89PNG\r\n\x1a\n" + bytes(30), Shape("PNG")),
        (b"RIFF\0\0\0\0WEBPVP8 " + bytes(20), Shape("WebP")),
        (b"\xff\xd8\xff\xe0\0\0" * 50, Shape("JPEG")),
    ],
)
def test_what_says_nothing_is_told_nothing_of(data: bytes, shape: Shape) -> None:
    assert shape_in(data) == shape
