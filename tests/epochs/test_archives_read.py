"""Images of archives that a data set passes over by suffix are told; what is meant is not."""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

import preflight
from preflight.epochs.archives_read import noting
from preflight.finding import Finding, Severity
from preflight.values.own_files import is_ours
from tests.asking import by_loader

JOBS = Path(__file__).with_name("reading_archives.py")


def image(name: str, light: int = 0) -> bytes:
    held = io.BytesIO()
    kind = "PNG" if name.endswith("png") else "JPEG"
    Image.new("RGB", (8, 8), (light, light, light)).save(held, kind)
    return held.getvalue()


def pack(path: Path, names: list[str]) -> None:
    files = {
        one: b"a dog" if one.endswith("txt") else image(one, 30 * n) for n, one in enumerate(names)
    }
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as zipped:
            for name, data in files.items():
                zipped.writestr(name, data)
        return
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def look(folder: Path, name: str) -> Mapping[str, list[Finding]]:
    numbers = [f"{one:04}" for one in range(8)]
    mixed = [f"{one}.{'png' if n % 3 == 0 else 'jpg'}" for n, one in enumerate(numbers)]
    texts = [f"{one}.txt" for one in numbers]
    jpgs = [f"{one}.jpg" for one in numbers]
    for packed in ("mixed.tar", "mixed.tgz", "mixed.zip"):
        pack(folder / packed, sorted([*mixed, *texts]))
    pack(folder / "capitals.zip", [*jpgs, "0008.JPG", *texts, "0008.txt"])
    pack(folder / "bare.zip", mixed)
    pack(folder / "masks.zip", sorted([*jpgs, *(f"{one}.png" for one in numbers)]))
    pack(folder / "named_masks.tar", [*jpgs, *(f"{one}_mask.png" for one in numbers)])
    pack(folder / "thumbs.tar", [*jpgs, *(f"thumbs/t{one}.png" for one in numbers)])
    pack(folder / "preview.tar", [*jpgs, *texts, "preview.png"])
    shutil.copy(JOBS, folder / "reading_archives.py")
    report = preflight.run(
        f"reading_archives:{name}",
        folder=str(folder),
        select=["loader-end"],
        timeout=60.0,
        budget=200.0,
    )
    assert all(not one.broken for one in report.checks)
    return by_loader(report)


@pytest.mark.usefixtures("at_hand")
def test_images_of_an_archive_that_are_left_out_by_their_suffix_are_told(tmp_path: Path) -> None:
    found = look(tmp_path, "leaving")

    told = {name: one.message for name, (one,) in found.items()}
    told = {name: text.partition(", beside")[0] for name, text in told.items()}
    assert told == {
        "stream": "leaves out 3 of 8 images in mixed.tar: 0000.png and all others that are .png",
        "two_workers": "leaves out 3 of 8 images in mixed.tgz: 0000.png and all others that are "
        ".png",
        "zipped": "leaves out 3 of 8 images in mixed.zip: 0000.png and all others that are .png",
        "capitals": "leaves out 1 of 9 images in capitals.zip: 0008.JPG and all others that are "
        ".JPG",
        "bare": "leaves out 3 of 8 images in bare.zip: 0000.png and all others that are .png",
    }
    assert {one.severity for those in found.values() for one in those} == {Severity.WARNING}
    lines = JOBS.read_text(encoding="utf-8").splitlines()
    for those in found.values():
        assert lines[(those[0].at.line or 0) - 1].startswith("class ")


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("name", "number"), [("kept", 1), ("kept_in_part", 0)])
def test_what_is_read_while_a_data_set_is_made_counts(
    tmp_path: Path, name: str, number: int
) -> None:
    assert sum(map(len, look(tmp_path, name).values())) == number


@pytest.mark.usefixtures("at_hand")
def test_parts_of_an_archive_that_are_meant_are_left_alone(tmp_path: Path) -> None:
    """Splits, small ones, masks, thumbnails, a preview, and suffixes in data sets of their own."""
    assert look(tmp_path, "meaning_it") == {}


def test_only_what_is_read_meanwhile_is_noted(tmp_path: Path) -> None:
    pack(tmp_path / "a.zip", ["1.txt", "2.txt"])

    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.read("1.txt")
        with noting() as read:
            archive.read("2.txt", None)
        archive.read("1.txt")

    assert read == {str(tmp_path / "a.zip"): {"2.txt"}}


@pytest.mark.usefixtures("at_hand")
def test_the_page_says_how_many_images_of_an_archive_are_read(tmp_path: Path) -> None:
    numbers = [f"{one:04}.jpg" for one in range(8)]
    pack(tmp_path / "mixed.zip", numbers)
    pack(tmp_path / "mixed.tar", numbers)
    shutil.copy(JOBS, tmp_path / "reading_archives.py")

    report = preflight.run("reading_archives:parts", folder=str(tmp_path), timeout=60.0)

    page = " ".join(str(report).split())
    assert "past the end; 10 of 16 images in mixed.zip and 1 more" in page
    assert [one for one in report.findings if one.check == "loader-end"] == []


def test_an_error_of_the_job_is_not_taken_for_one_of_ours(tmp_path: Path) -> None:
    pack(tmp_path / "a.zip", ["1.txt"])
    pack(tmp_path / "a.tar", ["1.txt"])

    with zipfile.ZipFile(tmp_path / "a.zip") as zipped, tarfile.open(tmp_path / "a.tar") as tar:
        for read in (zipped.read, tar.extractfile):
            with noting(), pytest.raises(KeyError) as raised:
                read("2.txt")
            assert not is_ours(raised.value, lambda file: file == __file__)
