"""Whatever Pillow reads is looked at as an image, and a caption beside it is a caption."""

from __future__ import annotations

import functools
import io
from pathlib import Path

import numpy as np
import PIL
import pytest
from PIL import Image

import preflight
from preflight.formats.suffixes.images import PILLOW, is_image
from preflight.images.read import look_at_image
from preflight.pairing.facts import Pairing
from tests.archives import Contents, shard_facts, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

FORMATS = {
    "tga": "TGA",
    "ico": "ICO",
    "sgi": "SGI",
    "pcx": "PCX",
    "j2k": "JPEG2000",
    "jpx": "JPEG2000",
    "dib": "DIB",
    "dds": "DDS",
    "icns": "ICNS",
    "pfm": "PPM",
    "rgb": "SGI",
    "bw": "SGI",
    "vda": "TGA",
    "tpic": "TGA",
    "blp": "BLP",
    "msp": "MSP",
    "xbm": "XBM",
}
MODES = {"pfm": "F", "blp": "P", "msp": "1", "xbm": "1", "bw": "L"}
NOT_BY_ITSELF = {"BUFR", "EPS", "GRIB", "HDF5", "IPTC", "WMF"}
OF_OTHER_THINGS = {"MPEG", "FITS", "PCD"}


def picture(suffix: str) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    stream = io.BytesIO()
    image.convert(MODES.get(suffix, "RGB")).save(stream, FORMATS[suffix])
    return stream.getvalue()


def psd() -> bytes:
    """Give a Photoshop image of 8 by 8 gray pixels, as they are."""
    head = b"8BPS\0\1" + bytes(6) + b"\0\1" + b"\0\0\0\x08" * 2 + b"\0\x08" + b"\0\1"
    return head + bytes(4) * 3 + b"\0\0" + bytes(range(64))


if tuple(map(int, PIL.__version__.split(".")[:2])) < (10, 3):
    del FORMATS["pfm"]  # it cannot write one
ALL = Contents({one: functools.partial(picture, one) for one in FORMATS} | {"psd": psd})


@pytest.mark.parametrize("suffix", ALL)
def test_an_image_with_its_caption_is_a_whole_sample(tmp_path: Path, suffix: str) -> None:
    for number in range(3):
        (tmp_path / f"{number}.{suffix}").write_bytes(ALL[suffix])
        (tmp_path / f"{number}.txt").write_text("a dog")

    report = preflight.run("data=.", folder=str(tmp_path), select=["sample-", "image-", "caption-"])

    assert (report.verdict, report.findings) == ("go", ())


@pytest.mark.parametrize("suffix", ALL)
def test_in_a_shard_it_is_looked_at(tmp_path: Path, suffix: str) -> None:
    content = tarred({f"a.{suffix}": ALL[suffix], "a.txt": b"a dog"})

    facts = shard_facts(tmp_path, content, rule="textfile")

    assert (facts.images, facts.damaged_images) == (1, ())
    assert isinstance(facts.pairing, Pairing)
    assert facts.pairing.unpaired == ()


@pytest.mark.parametrize("suffix", ALL)
def test_one_that_pillow_does_not_load_is_damaged(suffix: str) -> None:
    """Cut at many places: what is told is what Pillow says."""
    whole = ALL[suffix]
    assert look_at_image(whole, "x").damage is None
    for cut in range(24, len(whole), max(1, len(whole) // 12)):
        try:
            with Image.open(io.BytesIO(whole[:cut])) as image:
                image.load()
        except (OSError, SyntaxError, ValueError, IndexError):
            assert look_at_image(whole[:cut], "x").damage is not None, cut


def test_a_photoshop_image_that_pillow_cannot_open_is_said_to_be_left(tmp_path: Path) -> None:
    of_32_bits = ALL["psd"][:22] + b"\0\x20" + ALL["psd"][24:]

    seen = look_at_image(of_32_bits, "x")

    assert (seen.damage, seen.undecoded) == (None, "Photoshop")


def test_every_extension_of_what_pillow_decodes_by_itself_is_one_of_an_image() -> None:
    Image.init()
    registered = {
        suffix: form
        for suffix, form in Image.registered_extensions().items()
        if form in Image.OPEN and form not in NOT_BY_ITSELF | OF_OTHER_THINGS
    }

    assert [one for one in registered if not is_image(f"a/photo{one}")] == []
    assert set(registered.values()) <= set(PILLOW)


def test_a_track_of_a_genome_is_no_damaged_image() -> None:
    """`.bw` is what BigWig files are called, too."""
    seen = look_at_image(b"\x26\xfc\x8f\x88\4\0\x0a\0" + bytes(range(200)), "x.bw")

    assert seen.damage is None
