"""A walk over an image tells what is suspicious in it, however large the pieces are it reads in."""

from __future__ import annotations

import random
import re

import pytest

from preflight.formats.bytes.window import Window
from preflight.formats.magic import what_is
from preflight.formats.pictures.image_structure import LONG_RUN, ImageStructure, longest_zeros
from preflight.formats.pictures.picture import has_both_ends, walk_image
from tests.archives import flipped, photo, zeroed
from tests.images.test_read import HEALTHY

PHOTOS = {
    "JPEG": photo(width=320, height=320),
    "progressive JPEG": photo(width=320, height=320, progressive=True),
    "PNG": photo("PNG", width=320, height=320),
    "WebP": photo("WEBP", width=320, height=320),
    "lossless WebP": photo("WEBP", width=320, height=320, lossless=True),
}


def walked(data: bytes, ahead: int | None = None) -> ImageStructure:
    window = Window.over(data) if ahead is None else reading(data, ahead)
    seen = walk_image(window, what_is(data[:512]))
    assert seen is not None
    return seen


def reading(data: bytes, ahead: int) -> Window:
    return Window(lambda offset, size: data[offset : offset + size], len(data), ahead=ahead)


BEHIND = {"bytes behind the end", "another picture behind the end", "MPO"} & HEALTHY.keys()
SOUND = PHOTOS | {name: HEALTHY[name] for name in sorted(BEHIND)}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_a_photograph_is_not_suspicious(data: bytes) -> None:
    """What stands behind its end is nobody's business."""
    assert not walked(data).suspicious


@pytest.mark.parametrize("data", PHOTOS.values(), ids=PHOTOS)
@pytest.mark.parametrize("ahead", [3, 97, 1000, 4096])
def test_pieces_of_any_size_tell_the_same(data: bytes, ahead: int) -> None:
    for damaged in (data, data[:-5000], zeroed(data, 5000, 9000)):
        assert walked(damaged, ahead) == walked(damaged)


@pytest.mark.parametrize("data", PHOTOS.values(), ids=PHOTOS)
def test_every_truncation_is_suspicious(data: bytes) -> None:
    for end in [*range(512, len(data), 101), len(data) - 1]:
        assert walked(data[:end]).suspicious, end


@pytest.mark.parametrize("data", PHOTOS.values(), ids=PHOTOS)
def test_every_lost_page_and_every_lost_end_is_suspicious(data: bytes) -> None:
    for begin in range(4096, len(data) - 4096, 512):
        assert walked(zeroed(data, begin, begin + 4096)).suspicious, begin
    for begin in range(1024, len(data) - 1100, 1024):
        assert walked(zeroed(data, begin, len(data))).suspicious, begin


def test_every_wrong_byte_of_a_png_is_suspicious() -> None:
    data = photo("PNG", width=40, height=30)
    for at in range(33, len(data) - 12):
        assert walked(flipped(data, at, 4)).suspicious, at


def test_the_longest_run_of_zeros_is_found_wherever_the_pieces_end() -> None:
    chance = random.Random(3)
    for _ in range(150):
        data = b"".join(
            bytes(chance.choice([1, 90, 1023, 1024, 1025, 3000])) + b"x" * chance.choice([1, 300])
            for _ in range(chance.randrange(1, 6))
        )
        runs = [one.span() for one in re.finditer(rb"\0+", data)]
        longest = max(runs, key=lambda one: (one[1] - one[0], -one[0]))
        expected = (longest[0], longest[1] - longest[0])
        for ahead in (5, 600, 1024, 1500, 10**6):
            found = longest_zeros(reading(data, ahead), 0, len(data))
            assert found == (expected if expected[1] >= LONG_RUN else None)


@pytest.mark.parametrize(
    "name", [name for name in HEALTHY if name.startswith(("PNG", "WebP", "APNG", "GIF", "BMP"))]
)
def test_sound_images_mostly_have_both_ends(name: str) -> None:
    data = HEALTHY[name]

    assert has_both_ends(data[:512], data[-12:], len(data)) is (name != "PNG with bytes behind")


@pytest.mark.parametrize("data", PHOTOS.values(), ids=PHOTOS)
def test_an_image_that_was_cut_has_no_end(data: bytes) -> None:
    for end in range(700, len(data), 77):
        assert not has_both_ends(data[:512], data[:end][-12:], end)


@pytest.mark.parametrize("data", [b"<html>", bytes(900), b"PK\3\4" + bytes(99), b"GIF"])
def test_what_is_no_image_has_no_beginning(data: bytes) -> None:
    assert not has_both_ends(data[:512], data[-12:], len(data))
