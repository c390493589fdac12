"""image-damaged names each image that does not decode as it was made."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageFile

from preflight import run
from preflight.findings.finding import Aside, Finding, Location, Severity
from preflight.images.facts import FolderFacts, ImageDamage
from preflight.images.read import look_at_image
from preflight.pairing.facts import Pairing
from preflight.testing import ask
from tests.archives import flipped, photo, shard_facts, tarred, zeroed

NO_PAIRING = Pairing(rule="none", samples=1, images=1, captions=0)


def in_folder(
    kind: str, text: str, name: str = "data/dog.jpg", *, fetch: str | None = None
) -> Finding:
    raises = "UnidentifiedImageError" if kind in ("empty", "foreign", "not-fetched") else ""
    return of(ImageDamage(name=name, kind=kind, text=text, bytes=9, raises=raises, fetch=fetch))


def of(damage: ImageDamage) -> Finding:
    facts = FolderFacts(
        file="data", files=1, pairing=NO_PAIRING, images=1, damaged_images=(damage,)
    )
    (finding,) = ask("image-damaged", facts)
    return finding


def in_shard(folder: Path, files: dict[str, bytes]) -> list[Finding]:
    return ask("image-damaged", shard_facts(folder, tarred(files)))


def test_sound_images_are_left_alone(tmp_path: Path) -> None:
    assert in_shard(tmp_path, {"a.jpg": photo(), "b.png": photo("PNG")}) == []


STAYS = "only members of it are damaged: pack it again without them"


def test_an_image_cut_short_in_a_shard_is_found(tmp_path: Path) -> None:
    data = photo()[:-99]

    (finding,) = in_shard(tmp_path, {"a/dog.jpg": data})

    assert finding == Finding(
        check="image-damaged",
        severity=Severity.ERROR,
        message="stops before its end marker",
        at=Location(file="x.tar", name="member a/dog.jpg"),
        why="Pillow raises OSError on it, in a worker; "
        "with LOAD_TRUNCATED_IMAGES the job trains on part of it.",
        fix="Take it again from where it came from, or leave it out.",
        aside=(Aside(file="x.tar", bytes=finding.aside[0].bytes, stays=STAYS),),
        evidence={"kind": "cut", "bytes": len(data)},
        fingerprint=finding.fingerprint,
    )


def test_the_images_of_all_shards_and_folders_are_what_a_share_is_told_of(tmp_path: Path) -> None:
    """Those of a second run, which are remembered, as well."""
    for number, end in enumerate((-99, None)):
        shard = tarred({"a.jpg": photo(), "b.jpg": photo()[:end]})
        (tmp_path / f"x-{number}.tar").write_bytes(shard)
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.jpg").write_bytes(photo())

    for _ in range(2):
        report = run("x-{0..1}.tar", "images", folder=str(tmp_path))

        (told,) = (one for one in report.checks if one.id == "image-damaged")
        assert (told.found, told.among) == (1, 5)


def test_in_a_folder_the_image_is_the_place() -> None:
    assert in_folder("empty", "is empty (0 bytes)").at == Location(file="data/dog.jpg")


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("empty", Severity.ERROR),
        ("cut", Severity.ERROR),
        ("foreign", Severity.ERROR),
        ("zeros", Severity.ERROR),
        ("undecodable", Severity.ERROR),
        ("leftover", Severity.WARNING),
        ("huge", Severity.WARNING),
    ],
)
def test_each_kind_has_its_consequence_and_its_weight(kind: str, severity: Severity) -> None:
    finding = in_folder(kind, "is not right")

    assert finding.severity is severity
    assert finding.why


def halves_a_lost_page_and_a_changed_byte() -> Iterator[tuple[str, bytes]]:
    for image_format in ("JPEG", "PNG", "WEBP"):
        whole = photo(image_format, width=320, height=320)
        half = len(whole) // 2
        yield f"half of a {image_format}", whole[:half]
        yield f"all but the end of a {image_format}", whole[:-3]
        yield f"a {image_format} with a lost page", zeroed(whole, 4096, 8192)
        yield f"a {image_format} with a lost end", zeroed(whole, len(whole) - 5000, len(whole) - 1)
    yield "a changed bit in a PNG", flipped(photo("PNG"), 5000)
    yield "zeros", bytes(9000)
    yield "nothing", b""
    yield "a page", b"<!DOCTYPE html><html>404</html>"


DAMAGED = dict(halves_a_lost_page_and_a_changed_byte())


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_pillow_does_what_is_said_of_it(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    damage = look_at_image(data, "dog.jpg").damage
    assert damage is not None
    finding = of(damage)

    assert finding.why is not None
    raised = loaded(data)
    if raised is None:
        assert finding.why.startswith("Pillow opens it without complaint")
    else:
        assert finding.why.startswith(f"Pillow raises {raised} on it, in a worker")
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    gives_a_part = damage.kind == "cut" and raised is not None and loaded(data) is None
    assert ("LOAD_TRUNCATED_IMAGES" in finding.why) is gives_a_part


def loaded(data: bytes) -> str | None:
    """Load an image as a job does, and say what that raises."""
    try:
        Image.open(io.BytesIO(data)).load()
    except (OSError, SyntaxError) as error:
        return type(error).__name__
    return None


def test_a_git_lfs_pointer_is_downloaded_and_not_left_out() -> None:
    finding = in_folder("foreign", "is a Git LFS pointer of a file of 2.0 MB, and no image")

    assert finding.fix == "Download the image itself: this is what Git LFS keeps in its place."


@pytest.mark.parametrize(
    ("fetch", "fix"),
    [("data", 'Fetch it:  git lfs pull --include="data"'), ("", "Fetch it:  git lfs pull")],
)
def test_an_image_that_was_not_fetched_is_to_be_fetched(fetch: str, fix: str) -> None:
    text = "is a Git LFS pointer of a file of 2.0 MB that was not fetched"
    finding = in_folder("not-fetched", text, fetch=fetch)

    assert (finding.message, finding.fix, finding.severity) == (text, fix, Severity.ERROR)
    assert finding.why == "Pillow raises UnidentifiedImageError on it, in a worker."


def test_a_git_lfs_pointer_in_a_shard_was_packed_too_early(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"

    (finding,) = in_shard(tmp_path, {"a.jpg": pointer})

    assert finding.fix == "Run git lfs pull where the shard was packed, and pack it again."


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("has 60,000 x 60,000 = 3,600,000,000 pixels", "Pillow raises DecompressionBombError on"),
        ("has more than 178,956,970 pixels", "Pillow raises DecompressionBombError on"),
        (
            "is 419.4 MB, more than is held of what is unpacked",
            "It was not decoded, so that nobody",
        ),
        ("is 10.7 GB, more than is decoded (1.1 GB)", "It was not decoded, so that nobody"),
    ],
)
def test_what_is_too_large_says_whether_it_is_its_pixels(text: str, why: str) -> None:
    assert (in_folder("huge", text).why or "").startswith(why)


def test_a_name_that_is_no_utf_8_is_kept_as_it_is() -> None:
    """Reports escape it where they are written; a program can still open the file."""
    finding = in_folder("empty", "is empty", "data/caf\udce9.jpg")

    assert finding.at.file == "data/caf\udce9.jpg"
