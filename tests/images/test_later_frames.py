"""An image of several pictures that stops behind the first is a warning."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import preflight
from preflight.images.read import look_at_image
from tests.files import put

PICTURES = 4


def several(form: str, pictures: int = PICTURES, **options: Any) -> bytes:
    random = np.random.default_rng(7)
    frames = [
        Image.fromarray(random.integers(0, 255, (40, 50, 3), dtype=np.uint8))
        for _ in range(pictures)
    ]
    stream = io.BytesIO()
    frames[0].save(stream, form, save_all=True, append_images=frames[1:], **options)
    return stream.getvalue()


def all_pictures(data: bytes) -> int:
    """Count the pictures that Pillow decodes; none where the first cannot be read."""
    number = 0
    try:
        with Image.open(io.BytesIO(data)) as image:
            for number in range(PICTURES + 1):
                image.seek(number)
                image.load()
    except (OSError, EOFError, LookupError, SyntaxError, ValueError, TypeError):
        return number
    return number


WHOLE = {
    "GIF": several("GIF"),
    "GIF of one": several("GIF", 1),
    "GIF that repeats": several("GIF", loop=0, duration=40),
    "GIF without an end marker": several("GIF")[:-1],
    "GIF with bytes behind it": several("GIF") + b"\0" * 20,
    "TIFF": several("TIFF"),
    "TIFF of one": several("TIFF", 1),
    "packed TIFF": several("TIFF", compression="tiff_lzw"),
    "WebP": several("WEBP"),
    "PNG": several("PNG"),
}


@pytest.mark.parametrize("data", WHOLE.values(), ids=WHOLE)
def test_what_is_whole_is_left_alone(data: bytes) -> None:
    assert look_at_image(data, "a").damage is None


def test_a_later_page_of_a_kind_that_pillow_does_not_read_is_not_cut() -> None:
    """As microscopes put one beside the picture: it is all there."""
    data = bytearray(several("TIFF", 2))
    kind = struct.pack("<HHIHH", 262, 3, 1, 2, 0)  # how it is to be shown: RGB
    at = data.rindex(kind)
    data[at : at + len(kind)] = struct.pack("<HHIHH", 262, 3, 1, 32_844, 0)

    assert data.count(kind) == 1
    assert look_at_image(bytes(data), "a").damage is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["GIF", "TIFF"])
@pytest.mark.parametrize("options", [{}, {"compression": "tiff_lzw"}], ids=["plain", "packed"])
def test_every_cut_behind_the_first_is_told(form: str, options: dict[str, Any]) -> None:
    """But where it falls between two pictures of a GIF, which says nothing of how many it has."""
    data = several(form, **options)
    for end in range(200, len(data) - 2, 211):
        decoded = all_pictures(data[:end])
        damage = look_at_image(data[:end], "a").damage
        assert damage is not None, end
        assert (damage.kind == "frames") is (decoded > 0), (end, decoded, damage)


@pytest.mark.parametrize("form", ["GIF", "TIFF"])
def test_it_is_a_warning(tmp_path: Path, form: str) -> None:
    data = several(form)
    put(tmp_path, "photos/a.gif", content=data)
    put(tmp_path, "photos/b.gif", content=data[: len(data) * 4 // 5])

    report = preflight.run("photos", folder=str(tmp_path), no_ledger=True)

    assert [(one.at.file, one.severity.name) for one in report.findings] == [
        ("photos/b.gif", "WARNING")
    ]
    assert report.findings[0].message.startswith("stops in its p")
