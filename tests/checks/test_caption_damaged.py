"""caption-damaged tells captions that are no plain text in UTF-8, and leaves all others alone."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.testing import ask
from tests.archives import photo, shard_facts, tarred

pytestmark = pytest.mark.usefixtures("at_hand")

HEALTHY = {
    "any language": "一只狗在海滩上, собака, café".encode(),
    "line feeds at its end": b"a dog\n\n",
    "line feeds of Windows": b"a dog\r\n",
    "several lines": b"a dog\na brown dog\n",
    "an emoji": "a dog \U0001f436\u200d".encode(),
    "tabs and a form feed": b"\ta dog\x0c",
    "one letter": b"a",
    "a bracket first": b"[dog], (brown:1.2)",
    "numbers": b"1girl, 2024",
}

DAMAGED = {
    "latin-1": ("caf\xe9".encode("latin-1"), "is no UTF-8", Severity.ERROR),
    "shift-jis": ("海滩".encode("gb18030"), "is no UTF-8", Severity.ERROR),
    "UTF-16": ("a dog".encode("utf-16"), "is UTF-16, and no UTF-8", Severity.ERROR),
    "UTF-16 of the other order": (
        b"\xfe\xff" + "a dog".encode("utf-16-be"),
        "is UTF-16, and no UTF-8",
        Severity.ERROR,
    ),
    "UTF-16 without a mark": (
        "a dog".encode("utf-16-le"),
        "is UTF-16, and no UTF-8",
        Severity.ERROR,
    ),
    "zeros": (bytes(64), "is nothing but null characters", Severity.ERROR),
    "a lost part": (
        b"a dog" + bytes(9) + b"beach",
        "has null characters in its text",
        Severity.ERROR,
    ),
    "padded": (b"a dog\0\0\0", "has null characters behind its text", Severity.WARNING),
    "a mark": (b"\xef\xbb\xbfa dog", "begins with a byte-order mark", Severity.WARNING),
    "cut in a letter": ("a caf\xe9".encode()[:-1], "is no UTF-8", Severity.ERROR),
    "a pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        "is a Git LFS pointer, and no text",
        Severity.ERROR,
    ),
    "a null character between two letters": (
        b"a\0b",
        "has null characters in its text",
        Severity.ERROR,
    ),
}


def in_shard(tmp_path: Path, *captions: bytes) -> list[Finding]:
    """Ask about a shard with these captions."""
    files = {}
    for number, caption in enumerate(captions):
        files[f"{number}.jpg"] = photo()
        files[f"{number}.txt"] = caption
    return ask("caption-damaged", shard_facts(tmp_path, tarred(files)))


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_text_in_utf_8_is_left_alone(tmp_path: Path, text: bytes) -> None:
    assert in_shard(tmp_path, text, b"a dog") == []


@pytest.mark.parametrize(("content", "message", "severity"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_caption_is_told_by_its_member(
    tmp_path: Path, content: bytes, message: str, severity: Severity
) -> None:
    (finding,) = in_shard(tmp_path, b"a dog", content)

    assert (finding.message, finding.severity) == (message, severity)
    assert (finding.at.file, finding.at.name) == ("x.tar", "member 1.txt")


@pytest.mark.parametrize(("content", "_message", "severity"), DAMAGED.values(), ids=DAMAGED)
def test_webdataset_raises_where_we_say_that_it_does(
    tmp_path: Path, content: bytes, _message: str, severity: Severity
) -> None:
    """What it decodes is not what was written, or has something at an end of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import webdataset
    try:
        (sample,) = webdataset.decode()(iter([{"__key__": "0", "txt": content}]))
        given = sample["txt"]
    except Exception as error:  # noqa: BLE001  DecodingError or UnicodeDecodeError, by its version
        given = type(error).__name__

    facts = shard_facts(tmp_path, tarred({"0.txt": content}))

    assert ("Decod" in given) == (facts.undecodable == {"txt": 1})
    assert ("a dog" in given) <= (severity is Severity.WARNING or "\0" in given)


PAGE = b"\n<!DOCTYPE html>\n<html><body>404 Not Found</body></html>"


def test_a_page_of_html_among_texts_is_what_a_server_said(tmp_path: Path) -> None:
    (finding,) = in_shard(tmp_path, b"a dog", PAGE, b"<i>a cat</i>")

    assert (finding.message, finding.severity) == (
        "is an HTML page, and no text",
        Severity.WARNING,
    )
    assert finding.at.name == "member 1.txt"


def test_pages_that_a_model_is_to_write_are_left_alone(tmp_path: Path) -> None:
    assert in_shard(tmp_path, PAGE, PAGE, b"a dog") == []


def test_the_same_is_said_of_folders(tmp_path: Path) -> None:
    for number, content in enumerate([b"a dog\n", *(one[0] for one in DAMAGED.values())]):
        (tmp_path / f"{number}.jpg").write_bytes(photo())
        (tmp_path / f"{number}.txt").write_bytes(content)

    report = preflight.run(".", folder=str(tmp_path), elsewhere=True, select=["caption-damaged"])

    assert sum(int(str(one.evidence["captions"])) for one in report.findings) == len(DAMAGED)
    assert "1.txt, 10.txt and 2.txt" in next(
        one.message for one in report.findings if one.evidence["kind"] == "encoding"
    )


def test_many_in_one_place_are_one_finding_with_their_number(tmp_path: Path) -> None:
    (finding,) = in_shard(tmp_path, *[b"caf\xe9"] * 40, b"a dog")

    assert finding.message == (
        "has 40 of 41 captions that are no UTF-8: 0.txt, 1.txt, 10.txt and 37 more"
    )


def test_fields_are_counted_by_their_names(tmp_path: Path) -> None:
    files = {
        "0.jpg": photo(),
        "0.TXT": b"\xe9",
        "1.txt": b"\xe9",
        "1.caption": b"\xe9",
        "2.txt": b"",
    }

    assert shard_facts(tmp_path, tarred(files)).undecodable == {"txt": 2, "caption": 1}


@pytest.mark.parametrize("captions", ["none", "filename", "json"])
def test_nothing_is_said_where_texts_are_no_captions(tmp_path: Path, captions: str) -> None:
    (tmp_path / "0.jpg").write_bytes(photo())
    (tmp_path / "0.txt").write_bytes(b"\xe9")
    (tmp_path / "preflight.toml").write_text(f'[[data]]\npath = "."\ncaptions = "{captions}"\n')

    report = preflight.run(folder=str(tmp_path), elsewhere=True, select=["caption"])

    assert report.findings == ()


def test_with_depth_index_it_is_skipped_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "0.jpg").write_bytes(photo())
    (tmp_path / "0.txt").write_bytes(b"\xe9")

    report = preflight.run(".", folder=str(tmp_path), depth="index", select=["caption-damaged"])

    (outcome,) = [one for one in report.checks if one.id == "caption-damaged"]
    assert outcome.outcome == "skipped"
    assert [one.reason for one in outcome.skipped] == ["with --depth index no caption is read"]


def test_of_a_sample_only_its_captions_are_read(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number}.jpg").write_bytes(photo())
        (tmp_path / f"{number}.txt").write_bytes(b"\xe9")

    report = preflight.run(".", folder=str(tmp_path), sample="10", select=["caption-damaged"])

    (finding,) = report.findings
    assert finding.evidence["of"] == 10


@pytest.mark.parametrize(("texts", "is_told"), [(4, True), (2, False)])
def test_captions_are_read_where_fewer_than_half_of_the_images_have_one(
    tmp_path: Path, texts: int, *, is_told: bool
) -> None:
    """Two of twelve may be anything; four are captions that somebody stopped writing."""
    for number in range(12):
        (tmp_path / f"{number}.jpg").write_bytes(photo())
        if number < texts:
            (tmp_path / f"{number}.txt").write_bytes(
                "café".encode("utf-8" if number else "latin-1")
            )

    report = preflight.run("data=.", folder=str(tmp_path), elsewhere=True)

    found = [one.at.file for one in report.findings if one.check == "caption-damaged"]
    assert found == (["0.txt"] if is_told else [])
