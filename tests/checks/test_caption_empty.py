"""caption-empty tells captions without a text, by how many of all they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from tests.archives import photo, shard_facts, tarred
from tests.asking import told


def found(tmp_path: Path, *captions: bytes) -> list[Finding]:
    """Ask about a shard with these captions."""
    files = {}
    for number, caption in enumerate(captions):
        files[f"{number}.jpg"] = photo()
        files[f"{number}.txt"] = caption
    return told("caption-empty", shard_facts(tmp_path, tarred(files)))


@pytest.mark.parametrize("text", [b"a", b".", "。".encode(), b"1", b"\n\na dog\n"])
def test_whatever_is_written_is_a_text(tmp_path: Path, text: bytes) -> None:
    assert found(tmp_path, b"a dog", text) == []


@pytest.mark.parametrize("empty", [b"", b" ", b"\n", b"\r\n\t", "\u3000\u00a0".encode()])
def test_white_space_is_no_text(tmp_path: Path, empty: bytes) -> None:
    (finding,) = found(tmp_path, b"a dog", b"a cat", b"a cow", empty)

    assert finding.severity is Severity.WARNING
    assert finding.message == "has no text (1 of 4 captions here)"
    assert finding.at.name == "member 3.txt"


@pytest.mark.parametrize(
    ("empty", "of", "severity"),
    [(1, 10, Severity.WARNING), (4, 9, Severity.WARNING), (5, 10, Severity.ERROR)],
)
def test_half_of_all_is_an_error(tmp_path: Path, empty: int, of: int, severity: Severity) -> None:
    (finding,) = found(tmp_path, *[b""] * empty, *[b"a dog"] * (of - empty))

    assert finding.severity is severity


def test_all_of_them_are_an_error(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, b"", b"\n", b"")

    assert finding.severity is Severity.ERROR
    assert finding.message == "has 3 of 3 captions without a text: 0.txt, 1.txt and 2.txt"


def test_boxes_of_a_detector_may_be_none(tmp_path: Path) -> None:
    assert found(tmp_path, b"0 0.5 0.5 0.2 0.3\n", b"2 0.1 0.1 0.2 3e-2\n", b"", b"") == []


def test_the_same_is_said_of_a_folder(tmp_path: Path) -> None:
    for number, text in enumerate([b"a dog", b"", b"a cow"]):
        (tmp_path / f"{number}.png").write_bytes(photo("PNG"))
        (tmp_path / f"{number}.caption").write_bytes(text)

    report = preflight.run(".", folder=str(tmp_path), elsewhere=True, select=["caption"])

    (finding,) = report.findings
    assert (finding.check, finding.at.file) == ("caption-empty", "1.caption")
    assert "sd-scripts stops" in (finding.why or "")
    assert report.verdict == "go"
