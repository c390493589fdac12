"""image-zip holds zip archives of images to what whoever reads them needs."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.facts import ImageZip
from preflight.findings.finding import Severity
from preflight.testing import ask
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

NAMES = [f"00000/img{number}.png" for number in range(4)]


def picture() -> bytes:
    content = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").resize((64, 64)).save(content, "PNG")
    return content.getvalue()


WHOLE = picture()


def zipped(folder: Path, members: dict[str, bytes], name: str = "pets.zip") -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return folder / name


def run(folder: Path, *words: str) -> preflight.Report:
    return preflight.run(*words, folder=str(folder), no_ledger=True, elsewhere=True)


def labels(*rows: object) -> bytes:
    return json.dumps({"labels": [*rows] or None}).encode()


HEALTHY = {
    "images alone": dict.fromkeys(NAMES, WHOLE),
    "labels of all": dict.fromkeys(NAMES, WHOLE)
    | {"dataset.json": labels(*([one, 1] for one in NAMES))},
    "no labels": dict.fromkeys(NAMES, WHOLE) | {"dataset.json": labels()},
    "names of Windows": dict.fromkeys(NAMES, WHOLE)
    | {"dataset.json": labels(*([one.replace("/", "\\"), 1] for one in NAMES))},
    "another dataset.json": dict.fromkeys(NAMES, WHOLE) | {"dataset.json": b"[1, 2]"},
}


@pytest.mark.parametrize("case", HEALTHY)
def test_a_whole_archive_is_go(case: str, tmp_path: Path) -> None:
    zipped(tmp_path, HEALTHY[case])

    report = run(tmp_path, "pets.zip")

    assert (report.verdict, report.findings) == ("go", ())
    assert report.coverage[0].seen == "1 archive (4 images)"


def test_what_lacks_a_label_where_others_have_one_is_an_error(tmp_path: Path) -> None:
    told = labels(*([one, 1] for one in (*NAMES[1:], "gone.png")))
    zipped(tmp_path, dict.fromkeys(NAMES, WHOLE) | {"dataset.json": told})

    found = run(tmp_path, "data=pets.zip").findings

    assert [(one.severity, one.check) for one in found] == [
        (Severity.ERROR, "image-zip"),
        (Severity.NOTE, "image-zip"),
    ]
    assert "has no label of 1 image of 4: 00000/img0.png" in found[0].message


@pytest.mark.parametrize("text", [b'{"labels": [["00000/im', b"\xff\xfe\x00", b""])
def test_labels_that_nobody_can_read_are_an_error(tmp_path: Path, text: bytes) -> None:
    zipped(tmp_path, dict.fromkeys(NAMES, WHOLE) | {"dataset.json": text})

    (found,) = run(tmp_path, "data=pets.zip").findings

    assert (found.severity, found.check) == (Severity.ERROR, "image-zip")
    assert found.at.name == "member dataset.json"
    assert found.message.startswith("cannot be read: ")


def test_what_macos_puts_beside_images_is_a_warning(tmp_path: Path) -> None:
    beside = dict.fromkeys((f"__MACOSX/00000/._img{number}.png" for number in range(4)), bytes(163))
    zipped(tmp_path, dict.fromkeys(NAMES, WHOLE) | beside | {".DS_Store": b"x"})

    (found,) = run(tmp_path, "pets.zip").findings

    assert found.severity is Severity.WARNING
    assert found.message.startswith("holds 4 files of macOS that are named as images")


def test_a_wrong_byte_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = zipped(tmp_path, dict.fromkeys(NAMES, WHOLE))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)

    (found,) = run(tmp_path, "pets.zip").findings

    assert (found.severity, found.at.name) == (Severity.ERROR, f"member {NAMES[2]}")


def test_an_archive_that_was_cut_has_no_directory(tmp_path: Path) -> None:
    path = zipped(tmp_path, dict.fromkeys(NAMES, WHOLE))
    path.write_bytes(path.read_bytes()[:900])

    report = run(tmp_path, "pets.zip")

    assert report.verdict == "no-go"
    assert "cannot be opened as a zip archive" in report.findings[0].message


def test_an_archive_of_something_else_is_read_by_no_reader(tmp_path: Path) -> None:
    zipped(tmp_path, {"a.csv": b"1", "b.py": b"2", "c.png": WHOLE}, "code.zip")

    with pytest.raises(ValueError, match="is a zip archive"):
        run(tmp_path, "code.zip")


def test_one_that_lies_around_is_named_by_what_is_to_be_typed(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import torch\n")
    (tmp_path / "datasets").mkdir()
    zipped(tmp_path / "datasets", dict.fromkeys(NAMES, WHOLE))

    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    assert report.coverage[0].hint == "preflight run data=datasets/pets.zip"
    assert run(tmp_path, "data=datasets/pets.zip").verdict == "go"


def test_nothing_is_said_of_a_whole_one() -> None:
    assert ask("image-zip", ImageZip(file="a.zip", size=9, images=3, labels="dataset.json")) == []


def test_labels_that_are_too_large_to_be_read_are_told(tmp_path: Path) -> None:
    """They may name any image, and a GO would cover them."""
    rows = labels(*([one, 1] for one in NAMES[:2]))
    archive = tmp_path / "pets.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for name in NAMES:
            made.writestr(name, WHOLE)
        with made.open("dataset.json", "w", force_zip64=True) as member:
            member.write(rows)
            for _ in range(257):
                member.write(b" " * (1 << 20))
    report = run(tmp_path, "pets.zip")
    (told,) = [one for one in report.reasons if "label file" in one]
    assert f"dataset.json of pets.zip has {len(rows) + (257 << 20):,} bytes" in told
    assert not report.complete
    zipped(tmp_path, dict.fromkeys(NAMES, WHOLE) | {"dataset.json": labels()})
    assert run(tmp_path, "pets.zip").complete
