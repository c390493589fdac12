"""shard-unsafe finds links, devices, and names that lead out of a shard."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.testing import ask
from tests.archives import samples, shard_facts


def found(folder: Path, members: list[tuple[str, bytes]], rule: str = "textfile") -> list[Finding]:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, kind in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "a.jpg"
            archive.addfile(member, io.BytesIO())
    return ask("shard-unsafe", shard_facts(folder, content.getvalue(), rule=rule))


FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize(
    "names",
    [
        [*samples(3)],
        ["./a.jpg", "./a.txt"],
        ["a..b/c..jpg", "..a/b.jpg", "c:d.jpg", "a\\b.jpg"],
        ["a" * 4_000 + ".jpg", "a…(5,000 cats).jpg"],
    ],
    ids=["plain", "from the current folder", "odd names", "names as long as Linux has them"],
)
def test_names_inside_the_shard_are_left_alone(tmp_path: Path, names: list[str]) -> None:
    assert found(tmp_path, [(name, FILE) for name in names], "none") == []


def test_folders_are_left_alone(tmp_path: Path) -> None:
    assert found(tmp_path, [("data", FOLDER), ("data/a.jpg", FILE), ("data/a.txt", FILE)]) == []


@pytest.mark.parametrize("kind", [LINK, HARD], ids=["symbolic", "hard"])
def test_a_link_that_costs_a_sample_its_image_is_an_error(tmp_path: Path, kind: bytes) -> None:
    members = [("a.jpg", FILE), ("a.txt", FILE), ("b.jpg", kind), ("b.txt", FILE)]

    (finding,) = found(tmp_path, members)

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="x.tar")
    assert finding.message == "holds 1 link: b.jpg"


@pytest.mark.parametrize(
    ("name", "severity"), [("a.json", Severity.WARNING), ("latest", Severity.NOTE)]
)
def test_other_links_are_milder(tmp_path: Path, name: str, severity: Severity) -> None:
    members = [("a.jpg", FILE), ("a.txt", FILE), (name, LINK)]

    (finding,) = found(tmp_path, members)

    assert finding.severity is severity


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["/data/a.jpg", "/data/a.txt"],
            "2 members with absolute names: /data/a.jpg and /data/a.txt",
        ),
        (["C:\\a.jpg"], "1 member with an absolute name: C:\\a.jpg"),
        (["../a.jpg"], "1 member whose name climbs out with ..: ../a.jpg"),
        (["a/../../b.jpg"], "1 member whose name climbs out with ..: a/../../b.jpg"),
        (
            ["a" * 5_000 + ".jpg"],
            "1 member whose name is longer than 4,096 bytes: "
            + "a" * 64
            + "…(5,000 bytes, ef31474ac20565d5).jpg",
        ),
    ],
    ids=["absolute", "of Windows", "above", "above, from inside", "long"],
)
def test_names_that_lead_out_are_warnings(tmp_path: Path, names: list[str], message: str) -> None:
    (finding,) = found(tmp_path, [(name, FILE) for name in names], "none")

    assert (finding.severity, finding.message) == (Severity.WARNING, f"holds {message}")


def test_each_kind_is_one_finding_however_many_there_are(tmp_path: Path) -> None:
    members = [(f"/{number}.jpg", FILE) for number in range(300)]
    members += [(f"{number}.pipe", tarfile.FIFOTYPE) for number in range(300)]

    first, second = found(tmp_path, members, "none")

    assert first.message == (
        "holds 300 members with absolute names: /0.jpg, /1.jpg, /2.jpg and 297 more"
    )
    assert second.message.startswith("holds 300 devices or pipes: 0.pipe, ")
    assert first.fingerprint != second.fingerprint
