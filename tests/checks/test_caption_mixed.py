"""caption-mixed tells captions of which a trainer, who reads one suffix, misses some."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from tests.archives import epoch, photo, tarred
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

NEIGHBOURS = {
    "one suffix": ["1.jpg", "1.txt", "2.jpg", "2.txt"],
    "the other": ["1.jpg", "1.caption", "2.jpg", "2.caption"],
    "both for each": ["1.jpg", "1.txt", "1.caption", "2.jpg", "2.txt", "2.caption"],
    "one more for some": ["1.jpg", "1.txt", "1.caption", "2.jpg", "2.txt"],
    "no captions": ["1.jpg", "2.jpg"],
    "images of large letters": ["1.JPG", "1.txt", "2.jpg", "2.txt"],
    "JSON beside": ["1.jpg", "1.txt", "1.json", "2.jpg", "2.txt"],
    "texts without images": ["1.txt", "2.caption", "3.jpg", "3.txt"],
}


def found(tmp_path: Path, names: list[str], *, shard: bool, settings: str = "") -> list[object]:
    """Give the severities and messages for a folder, or a shard, of files of these names."""
    contents = {name: photo() if name.lower().endswith("jpg") else b"a dog" for name in names}
    if shard:
        (tmp_path / "x.tar").write_bytes(tarred(contents))
    else:
        (tmp_path / "data").mkdir()
        for name, content in contents.items():
            (tmp_path / "data" / name).write_bytes(content)
    (tmp_path / "preflight.toml").write_text(
        f'[[data]]\npath = "{"x.tar" if shard else "data"}"\n{settings}\n'
    )
    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["caption-mixed"])
    return [(one.severity, one.message) for one in report.findings]


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
@pytest.mark.parametrize("names", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_what_a_trainer_finds_whole_is_left_alone(
    tmp_path: Path, names: list[str], *, shard: bool
) -> None:
    assert found(tmp_path, names, shard=shard) == []


def mixed(most: str, texts: int, others: str, captions: int) -> list[str]:
    """Name images of which some have a caption of one suffix, and some of another."""
    suffixes = [most] * texts + [others] * captions
    return [f"{n}.{one}" for n, suffix in enumerate(suffixes) for one in ("jpg", suffix)]


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_two_suffixes_are_told_with_their_numbers(tmp_path: Path, *, shard: bool) -> None:
    assert found(tmp_path, mixed("txt", 18, "caption", 6), shard=shard) == [
        (
            Severity.ERROR,
            (
                "has captions of 2 suffixes (18 .txt and 6 .caption): a trainer that reads .txt "
                "finds none for 6 of 24 images"
            ),
        )
    ]


def test_a_few_are_a_warning(tmp_path: Path) -> None:
    ((severity, _),) = found(tmp_path, mixed("txt", 29, "caption", 1), shard=False)  # type: ignore[misc]

    assert severity is Severity.WARNING


@pytest.mark.parametrize("extension", ["txt", ".caption"])
def test_whoever_names_the_extension_is_told_by_sample_unpaired(
    tmp_path: Path, extension: str
) -> None:
    settings = f'caption_extension = "{extension}"'
    assert found(tmp_path, mixed("txt", 18, "caption", 6), shard=False, settings=settings) == []

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "no-go"
    lacking = {one.at.file for one in report.findings}
    assert {one.check for one in report.findings} == {"sample-unpaired"}
    assert len(lacking) == (6 if extension == "txt" else 18)


def test_the_extension_alone_says_that_captions_are_wanted(tmp_path: Path) -> None:
    """No image has one, so that nothing would be said without it."""
    put(tmp_path, "1.jpg", "2.jpg", "3.jpg")
    for image in tmp_path.glob("*.jpg"):
        image.write_bytes(photo())
    run = {"folder": str(tmp_path), "elsewhere": True}
    (tmp_path / "preflight.toml").write_text('[[data]]\npath = "."\n')
    assert preflight.run(**run).verdict == "go"

    (tmp_path / "preflight.toml").write_text('[[data]]\npath = "."\ncaption_extension = ".txt"\n')
    report = preflight.run(**run)

    (finding,) = report.findings
    assert (finding.check, finding.severity) == ("sample-unpaired", Severity.ERROR)
    assert 'caption_extension = "txt" asks for .txt' in finding.message


@pytest.mark.skipif(Path(__file__.upper()).exists(), reason="this file system knows no case")
def test_large_letters_are_another_suffix_in_a_folder(tmp_path: Path) -> None:
    ((severity, message),) = found(tmp_path, mixed("txt", 18, "TXT", 6), shard=False)  # type: ignore[misc]

    assert severity is Severity.ERROR
    assert "(18 .txt and 6 .TXT): a trainer that reads .txt finds none for 6 of 24" in message


@pytest.mark.skipif(Path(__file__.upper()).exists(), reason="this file system knows no case")
def test_captions_that_are_all_of_large_letters_are_a_warning(tmp_path: Path) -> None:
    names = mixed("TXT", 3, "TXT", 3)

    assert found(tmp_path, names, shard=False) == [
        (
            Severity.WARNING,
            "has captions that all end in .TXT, which is another suffix than .txt on Linux",
        )
    ]


def test_webdataset_reads_small_letters_and_one_field(tmp_path: Path) -> None:
    """The judge of both: the samples that it makes, and those with what to_tuple asks for."""

    def given(names: list[str]) -> int:
        samples, _ = epoch(tarred(dict.fromkeys(names, b"x")))
        return sum({"jpg", "txt"} <= fields for _, fields in samples)

    assert given(mixed("txt", 3, "TXT", 2)) == 5
    assert found(tmp_path, mixed("txt", 3, "TXT", 2), shard=True) == []
    assert given(mixed("txt", 3, "caption", 2)) == 3
