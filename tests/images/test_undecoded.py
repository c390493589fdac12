"""Images that nothing here decodes are told as not looked at, with what would decode them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from unittest import mock

import pytest
from PIL import Image, UnidentifiedImageError, features

import preflight
from preflight.findings.report import Report
from preflight.images import decoding
from preflight.images.read import look_at_image
from tests.files import put

HEIC = b"\0\0\0\x1cftypheic\0\0\0\0mif1heic" + bytes(range(200))
"""The beginning of one, cut."""

NAKED_JXL = b"\xff\x0a\x31\x07\0\x2d" + bytes(range(200))
BOXED_JXL = b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(range(200))

# The packages that would decode them are none that tests may ask for.
pytestmark = pytest.mark.usefixtures("plain_pillow", "at_hand")


@pytest.fixture
def plain_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have nothing of the plug-ins, whether or not they are installed."""
    monkeypatch.setattr(decoding, "_PLUGINS", {})


def picture(form: str) -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(held, form)
    return held.getvalue()


def run(folder: Path, word: str, depth: str = "decode") -> Report:
    return preflight.run(word, folder=str(folder), elsewhere=True, depth=depth)


needs_avif = pytest.mark.skipif(
    "avif" not in features.get_supported(), reason="this Pillow has no AVIF"
)


@pytest.mark.parametrize(
    "form",
    [
        *("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "PPM"),
        pytest.param("AVIF", marks=needs_avif),
    ],
)
def test_what_pillow_decodes_is_looked_at(form: str) -> None:
    assert look_at_image(picture(form), "a.jpg").undecoded == ""


@pytest.mark.parametrize("form", ["JPEG", "PNG", "WEBP"])
def test_what_is_damaged_was_looked_at(form: str) -> None:
    seen = look_at_image(picture(form)[:-30], "a.jpg")

    assert seen.damage is not None
    assert seen.undecoded == ""


@pytest.mark.parametrize(
    ("data", "form"), [(HEIC, "HEIF"), (NAKED_JXL, "JPEG XL"), (BOXED_JXL, "JPEG XL")]
)
def test_what_nothing_here_decodes_is_neither_whole_nor_damaged(data: bytes, form: str) -> None:
    seen = look_at_image(data, "a.heic")

    assert (seen.damage, seen.undecoded) == (None, form)


@needs_avif
def test_a_pillow_without_avif_has_not_looked_at_one() -> None:
    with mock.patch.object(decoding, "_can_decode", return_value=False):
        assert look_at_image(picture("AVIF")[:200], "a.avif").undecoded == "AVIF"


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_those_of_a_folder_are_counted_by_suffix_with_what_to_install(
    tmp_path: Path, depth: str
) -> None:
    """In a second run, too, of which the folder is remembered."""
    put(tmp_path, "photos/a.heic", "photos/b.HEIC", content=HEIC)
    put(tmp_path, "photos/d.jxl", content=NAKED_JXL)
    put(tmp_path, "photos/c.jpg", content=picture("JPEG"))

    for _ in range(2):
        report = run(tmp_path, "photos", depth)

        said = {one.partition(": ")[0]: one.rpartition("; ")[2] for one in report.reasons}
        assert report.findings == ()
        assert said == {
            "2 .heic images were not looked at": "pip install pillow-heif.",
            "1 .jxl image was not looked at": "pip install pillow-jxl-plugin.",
        }
        assert [one.seen for one in report.coverage if one.part == "data"] == ["1 of 4 images"]


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_those_of_a_shard_are_counted_too(tmp_path: Path, depth: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as shard:
        for name, data in (("0.jpg", picture("JPEG")), ("1.heic", HEIC)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            shard.addfile(info, io.BytesIO(data))

    said = run(tmp_path, "a.tar", depth).reasons
    assert [one for one in said if one.startswith("1 .heic image was not")]


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_what_is_decoded_here_is_not_told(tmp_path: Path, depth: str) -> None:
    for form in ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000"):
        put(tmp_path, f"photos/a-{form}.jpg", content=picture(form))

    report = run(tmp_path, "photos", depth)

    assert not [one for one in report.reasons if "not looked at" in one]


# What nothing here decodes, by its first bytes, whatever it is called.
BY_MAGIC = {
    "OpenEXR": b"v/1\x01\x02\0\0\0" + bytes(range(200)),
    "Radiance HDR": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n" + bytes(range(200)),
    "JPEG XR": b"II\xbc\x01" + bytes(range(200)),
    "HEIF": HEIC.replace(b"ftypheic", b"ftyphevx"),
}


@pytest.mark.parametrize("depth", ["index", "bytes"])
def test_a_format_is_known_by_its_first_bytes(tmp_path: Path, depth: str) -> None:
    """A suffix says nothing of it; one whose reader is not here is misnamed, and not damaged."""
    for form, content in BY_MAGIC.items():
        put(tmp_path, f"photos/{form}.jpg", content=content)
    put(tmp_path, "photos/whole.jpg", content=picture("JPEG"))

    report = run(tmp_path, "photos", depth)

    told = [form for form in BY_MAGIC if f"nothing here decodes {form}" in " ".join(report.reasons)]
    assert told == list(BY_MAGIC)
    assert {one.severity.name for one in report.findings} == {"WARNING"}
    assert all(one.message.endswith(" named .jpg") for one in report.findings)


@pytest.mark.parametrize("word", ["photos/a", "data=photos/a", "photos/a.jpg_large"])
def test_an_image_is_looked_at_that_is_called_as_none_is(tmp_path: Path, word: str) -> None:
    """Whoever names it means it; whole, and cut."""
    put(tmp_path, word.removeprefix("data="), content=picture("PNG"))
    whole = run(tmp_path, word)
    put(tmp_path, word.removeprefix("data="), content=picture("PNG")[:-30])
    cut = run(tmp_path, word)

    assert (whole.verdict, [one.check for one in cut.findings]) == ("go", ["image-damaged"])


@pytest.mark.parametrize("name", ["a.exr", "a.hdr"])
def test_one_image_that_nothing_here_decodes_is_no_go(tmp_path: Path, name: str) -> None:
    form = {"a.exr": "OpenEXR", "a.hdr": "Radiance HDR"}[name]
    put(tmp_path, f"photos/{name}", content=BY_MAGIC[form])

    report = run(tmp_path, f"photos/{name}")

    assert report.verdict == "cannot-judge"
    broken = next(one.broken for one in report.checks if one.id == "image-damaged")
    assert broken[0].error.startswith(f"nothing here decodes {form}")


def test_a_caption_beside_an_exr_image_has_its_image(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.exr", content=BY_MAGIC["OpenEXR"])
    put(tmp_path, "photos/b.png", content=picture("PNG"))
    put(tmp_path, "photos/a.txt", "photos/b.txt", content=b"a dog")

    report = run(tmp_path, "photos")

    assert report.findings == ()
    assert [one.seen for one in report.coverage if one.part == "data"] == [
        "1 of 2 images (2 captions)"
    ]


def test_a_required_look_at_images_is_none_where_some_are_not_decoded(tmp_path: Path) -> None:
    put(tmp_path, "photos/a.heic", content=HEIC)
    put(tmp_path, "photos/b.jpg", content=picture("JPEG"))

    report = preflight.run(
        "photos", folder=str(tmp_path), elsewhere=True, require=("image-damaged",)
    )

    assert report.verdict == "cannot-judge"
    assert "image-damaged is required, and was skipped for 1 of " in report.reasons[0]


def test_a_folder_of_which_no_image_was_looked_at_is_no_go(tmp_path: Path) -> None:
    """Nobody can say of it that its images are whole; how they pair can be said."""
    put(tmp_path, "photos/a.heic", "photos/b.heic", content=HEIC)
    put(tmp_path, "photos/a.txt", "photos/b.txt", content=b"a dog")

    report = run(tmp_path, "photos")

    assert report.verdict == "cannot-judge"
    broken = {check.id: one for check in report.checks for one in check.broken}
    assert {one.partition("-")[0] for one in broken} == {"image"}
    assert broken["image-damaged"].error == "nothing here decodes HEIF: 2 .heic images"
    assert broken["image-damaged"].fix == "pip install pillow-heif"


_PLUGIN = """
from PIL import Image, ImageFile

class Heif(ImageFile.ImageFile):
    format = "HEIF"
    def _open(self):
        raise SyntaxError("the picture ends in its middle")

Image.register_open("HEIF", Heif, lambda head: head[4:12] == b"ftypheic")
"""


def test_a_plug_in_that_is_installed_decodes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the advice to install it is worth something: one that is cut is found then."""
    put(tmp_path, "lib/pillow_heif/__init__.py", content=b"")
    put(tmp_path, "lib/pillow_heif/HeifImagePlugin.py", content=_PLUGIN.encode())
    put(tmp_path, "photos/a.heic", content=HEIC)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))

    report = run(tmp_path, "photos")

    assert [one.check for one in report.findings] == ["image-damaged"]


def test_under_the_name_of_another_format_it_is_told(tmp_path: Path) -> None:
    """Plainly, Pillow raises on it; a name of its own says that it is meant to be one."""
    for number in range(3):
        put(tmp_path, f"photos/{number}.jpg", content=picture("JPEG"))
        put(tmp_path, f"photos/{number}.heic", content=HEIC)
    assert run(tmp_path, "photos").findings == ()
    put(tmp_path, "photos/3.jpg", content=HEIC)

    with pytest.raises(UnidentifiedImageError):
        Image.open(tmp_path / "photos/3.jpg")
    (finding,) = run(tmp_path, "photos").findings

    assert (finding.check, finding.severity.name) == ("image-damaged", "WARNING")
    assert finding.message == "1 of 7 images is HEIF named .jpg"
