"""What the images of a folder are, and how large, is told as it is stored; in bounded memory."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from PIL import Image

from preflight.formats.pictures.shape import Shape
from preflight.images import pictures
from preflight.images.facts import ImageDamage, Pictures, Size
from preflight.images.folder import read_image_file
from preflight.images.pictures import Damages, PictureCounts
from preflight.images.read import look_at_image
from preflight.testing import ask
from preflight.values.wire import from_wire, to_brief
from tests.archives import bounded, photo, saved, shard_facts, tarred

DEPTHS = ("index", "bytes", "decode")


def turned(image_format: str) -> bytes:
    """Make an image that viewers show upright, 30 wide and 40 high."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return saved(Image.new("RGB", (40, 30)), image_format, exif=exif)


def animated() -> bytes:
    several = [Image.new("RGB", (40, 30), (9 * number, 99, 0)) for number in range(3)]
    return saved(several[0], "GIF", save_all=True, append_images=several[1:])


ODD: dict[str, tuple[bytes, Shape]] = {
    "one pixel": (saved(Image.new("L", (1, 1)), "PNG"), Shape("PNG", "L", 1, 1)),
    "gray": (photo(mode="L", width=50, height=40), Shape("JPEG", "L", 50, 40)),
    "CMYK": (photo(mode="CMYK", width=50, height=40), Shape("JPEG", "CMYK", 50, 40)),
    "palette": (saved(Image.new("P", (9, 5)), "PNG"), Shape("PNG", "P", 9, 5)),
    "16 bits": (saved(Image.new("I;16", (9, 5)), "PNG"), Shape("PNG", "I;16", 9, 5)),
    "turned JPEG": (turned("JPEG"), Shape("JPEG", "RGB", 40, 30)),
    "turned WebP": (turned("WEBP"), Shape("WebP", "RGB", 40, 30)),
    "turned TIFF": (turned("TIFF"), Shape("TIFF", "RGB", 40, 30)),
    "animated GIF": (animated(), Shape("GIF", "P", 40, 30)),
    "bitmap": (saved(Image.new("RGB", (9, 5)), "BMP"), Shape("BMP", "RGB", 9, 5)),
    "PPM": (saved(Image.new("RGB", (9, 5)), "PPM"), Shape("PPM", "RGB", 9, 5)),
    "cut short": (photo()[:-99], Shape("JPEG", "RGB", 192, 160)),
    "nothing": (b"", Shape()),
    "a page": (b"<!DOCTYPE html><html>404</html>", Shape()),
}


@pytest.mark.parametrize("name", ODD)
def test_an_image_is_told_as_it_is_stored_at_any_depth(tmp_path: Path, name: str) -> None:
    """With the first bytes alone, less may be known, and nothing else."""
    data, shape = ODD[name]
    (tmp_path / "a.jpg").write_bytes(data)
    told = {
        depth: read_image_file(str(tmp_path / "a.jpg"), str(tmp_path), depth).shape
        for depth in DEPTHS
    }

    assert told["bytes"] == told["decode"] == shape
    assert all(seen in (known, "", 0) for seen, known in zip(told["index"], shape, strict=True))
    assert look_at_image(data, "a.jpg").shape == shape


def test_the_same_image_in_a_shard_and_in_a_folder_is_the_same(tmp_path: Path) -> None:
    content = tarred({f"{n}.jpg": ODD[n][0] for n in ODD})

    for depth in DEPTHS:
        counts = PictureCounts()
        for name, (data, _) in ODD.items():
            (tmp_path / "a.jpg").write_bytes(data)
            seen = read_image_file(str(tmp_path / "a.jpg"), str(tmp_path), depth)
            counts.add(f"{name}.jpg", seen.shape)
        facts = shard_facts(tmp_path, content, depth)
        assert facts.pictures == counts.told()
        assert facts.images == facts.pictures.images == len(ODD)


def test_counts_and_extremes_are_told_with_examples() -> None:
    counts = PictureCounts()
    for name, shape in (
        ("d.jpg", Shape("JPEG", "RGB", 64, 48)),
        ("c.jpg", Shape("JPEG", "RGB", 64, 48)),
        ("tall.png", Shape("PNG", "L", 20, 900)),
        ("wide.png", Shape("PNG", "L", 800, 30)),
        ("large.jpg", Shape("JPEG", "RGB", 700, 700)),
        ("page.jpg", Shape()),
        ("exif.jpg", Shape("JPEG")),
    ):
        counts.add(name, shape)
    told = counts.told()

    assert told.formats == {"JPEG": 4, "PNG": 2}
    assert told.modes == {"RGB": 3, "L": 2}
    assert (told.images, told.unsized, told.unsized_names) == (7, 2, ("exif.jpg", "page.jpg"))
    assert told.smallest == told.narrowest == Size(20, 900, 1, ("tall.png",))
    assert told.widest == Size(800, 30, 1, ("wide.png",))
    assert told.largest == Size(700, 700, 1, ("large.jpg",))
    assert Size(64, 48, 2, ("c.jpg", "d.jpg")) in told.sizes
    assert from_wire(Pictures, to_brief(told)) == told


def test_nothing_has_no_extremes() -> None:
    told = PictureCounts().told()

    assert told == Pictures()
    assert (told.smallest, told.largest, told.narrowest, told.widest) == (None,) * 4


def shapes(number: int) -> list[tuple[str, Shape]]:
    dice = random.Random(3)
    return [
        (
            f"{place:06}.jpg",
            Shape("JPEG", "RGB", dice.randrange(1, 4_000), dice.randrange(1, 4_000)),
        )
        for place in range(number)
    ]


def test_folders_that_are_put_together_tell_what_one_would_have_told() -> None:
    """Whatever comes first, and with far more sizes than are kept."""
    every = shapes(6_000)
    whole, parts = PictureCounts(), PictureCounts()
    for name, shape in every:
        whole.add(f"data/{name}", shape)
    random.Random(1).shuffle(every)
    for begin in range(0, len(every), 1_700):
        part = PictureCounts()
        for name, shape in every[begin : begin + 1_700]:
            part.add(name, shape)
        parts.merge(from_wire(Pictures, to_brief(part.told())), "data/{}".format)

    assert parts.told() == whole.told()
    assert whole.told().others > 4_000
    shortest = min(every, key=lambda one: min(one[1][2:]))[1]
    smallest = whole.told().smallest
    assert smallest is not None and min(smallest[:2]) == min(shortest[2:])


def test_a_hundred_thousand_sizes_take_little() -> None:
    every = shapes(100_000)
    with bounded(memory=3_000_000):
        counts = PictureCounts()
        for name, shape in every:
            counts.add(name, shape)
        told = counts.told()

    assert told.images == 100_000 == sum(one.images for one in told.sizes) + told.others
    assert len(os.fsencode(str(to_brief(told)))) < 60_000


# --- damaged images, as long as there are not too many of a kind


def damage(kind: str, name: str = "dog.jpg") -> ImageDamage:
    """An image with a damage of some kind."""
    return ImageDamage(name=name, kind=kind, text="is bad", bytes=1)


def test_the_first_of_each_kind_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rare kind behind many of another is not lost among them: it may be the graver one."""
    monkeypatch.setattr(pictures, "MOST", 2)
    found = Damages(damage("huge", f"{number}.jpg") for number in range(5))
    found.add(damage("cut", "last.jpg"))

    assert [one.name for one in found.told] == ["0.jpg", "1.jpg", "last.jpg"]
    assert found.more == 3


def test_a_shard_counts_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check tells what is named, and how many more there are."""
    monkeypatch.setattr(pictures, "MOST", 3)
    files = {f"{number}.jpg": photo()[:700] for number in range(9)}

    facts = shard_facts(tmp_path, tarred(files))

    assert ([one.name for one in facts.damaged_images], facts.more_damaged) == (
        ["0.jpg", "1.jpg", "2.jpg"],
        6,
    )
    assert facts.images == 9
    assert len(ask("image-damaged", facts)) == 3
