"""shard-damaged finds shards that readers stop in, and says whether they say so."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from preflight.findings.finding import Aside, Finding, Location, Severity
from preflight.testing import ask
from tests.archives import SAMPLE, flipped, samples, shard_facts, tarred, zeroed

WHOLE = tarred(samples(6))


def found(folder: Path, content: bytes) -> list[Finding]:
    return ask("shard-damaged", shard_facts(folder, content, rule="none"))


@pytest.mark.parametrize(
    "content",
    [WHOLE, tarred({}), gzip.compress(WHOLE), tarred({"a/._b": b"", "no-dot": b"", "c.jpg": b""})],
    ids=["whole", "of nothing", "packed", "odd names"],
)
def test_a_sound_shard_is_left_alone(tmp_path: Path, content: bytes) -> None:
    assert found(tmp_path, content) == []


def test_a_shard_cut_short_says_how_much_of_it_is_whole(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, WHOLE[: 3 * SAMPLE + 612])

    assert finding == Finding(
        check="shard-damaged",
        severity=Severity.ERROR,
        message="ends inside dog-0003.jpg, after 100 of its 700 bytes; "
        "3 samples before it are whole",
        at=Location(file="x.tar"),
        why="tarfile raises here; with a handler that goes on, "
        "webdataset passes over the rest of the shard.",
        fix="Copy it again from where it came from, or pack it again.",
        aside=(Aside(file="x.tar", bytes=8292),),
        evidence={
            "kind": "cut",
            "bytes": 8292,
            "whole": 3,
            "first_lost": "dog-0003",
            "offset": 7680,
        },
        fingerprint=finding.fingerprint,
    )


STORED = bytearray(gzip.compress(WHOLE, 0))
STORED[10] = 7  # a kind of block that deflate does not know

QUIETLY = "tarfile and webdataset take this for the end, without a word: "

TOLD: dict[str, tuple[bytes, str, str]] = {
    "samples that readers lose without a word": (
        flipped(WHOLE, 3 * SAMPLE + 130),
        "*its checksum is wrong; 3 samples before it are whole, 3 more are lost, from dog-0003 on",
        f"{QUIETLY}every epoch is 3 samples short.",
    ),
    "one sample, said as one": (
        zeroed(tarred(samples(2)), SAMPLE, SAMPLE + 512),
        "*1 sample before it is whole, 1 more is lost",
        QUIETLY,
    ),
    "a gzip checksum that nobody compares": (
        flipped(gzip.compress(WHOLE), -6),
        "unpacks to other bytes than were packed*",
        "tarfile does not compare",
    ),
    "packed data at which tarfile raises": (
        bytes(STORED),
        "has damaged gzip data before *",
        "tarfile raises here",
    ),
    "a copy that ends inside a sample, though no file is cut": (
        WHOLE[: 3 * SAMPLE + 1536],
        (
            "ends at 9,216 bytes, between two members, without an end marker, in the middle of the "
            "sample dog-0003; 3 samples before it are whole"
        ),
        QUIETLY,
    ),
    "the first that is lost, where its file is not named": (
        WHOLE[: 3 * SAMPLE + 1536 + 99],
        "*3 samples before it are whole; the first lost is dog-0003",
        "",
    ),
    "zeros behind half a sample, as a download that stopped between two files leaves": (
        WHOLE[: 4 * SAMPLE + 1536] + bytes(200_000),
        (
            "is zeros from 11,776 bytes to its end (200.0 kB), in the middle of the sample "
            "dog-0004; 4 samples before it are whole"
        ),
        QUIETLY,
    ),
    "a name that would command the console": (
        tarred({"\x1b[2Jdog.jpg": b"x" * 2000})[:1000],
        r"ends inside \x1b[2Jdog.jpg*",
        "",
    ),
}


@pytest.mark.parametrize(("content", "said", "why"), TOLD.values(), ids=TOLD)
def test_damage_is_told_with_what_readers_make_of_it(
    tmp_path: Path, content: bytes, said: str, why: str
) -> None:
    """A star stands for any text."""
    (finding,) = found(tmp_path, content)

    head, star, tail = said.partition("*")
    assert finding.message.startswith(head) and finding.message.endswith(tail)
    assert star or finding.message == said
    assert finding.severity is Severity.ERROR
    assert (finding.why or "").startswith(why)


@pytest.mark.parametrize(
    ("content", "message", "fix"),
    [
        (
            b"Rar!\x1a\x07\x01\x00" + bytes(99),
            "is a RAR archive, and no tar archive",
            "Unpack it, and pack it again as a tar.",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\n" + b"x" * 2000,
            "is a Git LFS pointer, and no tar archive",
            "Download the file itself: this is what Git LFS keeps in its place.",
        ),
        (b"", "is empty (0 bytes)", "Copy it again from where it came from, or pack it again."),
        (
            gzip.compress(WHOLE[: 2 * SAMPLE]) + gzip.compress(WHOLE[2 * SAMPLE :]),
            (
                "is several gzip streams, one behind the other, of which readers take the first; "
                "2 samples before it are whole, 4 more are lost, from dog-0002 on"
            ),
            "Unpack it, and pack it again as one stream, or not at all.",
        ),
        (
            gzip.compress(WHOLE[: 2 * SAMPLE - 90]) + gzip.compress(WHOLE[2 * SAMPLE - 90 :])[:-5],
            (
                "is several gzip streams, one behind the other, of which readers take the first; "
                "the last of them is cut; 2 samples before it are whole, 4 more are lost, from "
                "dog-0002 on"
            ),
            "Copy it again from where it came from, or pack it again.",
        ),
        (
            WHOLE + WHOLE,
            (
                "goes on behind its end marker, at 20,480 bytes, with a second archive; "
                "6 samples before it are whole, 6 more are lost, from dog-0000 on"
            ),
            "Unpack all of it (GNU tar: tar -xif), and pack it again as one archive.",
        ),
    ],
    ids=["RAR", "too long for Git LFS", "empty", "streams", "cut streams", "two archives"],
)
def test_each_damage_comes_with_its_own_way_out(
    tmp_path: Path, content: bytes, message: str, fix: str
) -> None:
    (finding,) = found(tmp_path, content)

    assert (finding.message, finding.fix, finding.severity) == (message, fix, Severity.ERROR)


@pytest.mark.parametrize(
    ("fetch", "fix"),
    [
        ("data/x.tar", 'Fetch it:  git lfs pull --include="data/x.tar"'),
        ("", "Fetch it:  git lfs pull"),
    ],
)
def test_a_shard_that_was_not_fetched_is_to_be_fetched(
    tmp_path: Path, fetch: str, fix: str
) -> None:
    facts = shard_facts(tmp_path, b"version https://git-lfs.github.com/spec/v1\n", rule="none")
    text = "is a Git LFS pointer of a file of 1.2 GB that was not fetched"
    damage = facts.damage[0]._replace(kind="not-fetched", text=text, fetch=fetch)

    (finding,) = ask("shard-damaged", replace(facts, damage=(damage,)))

    assert (finding.message, finding.fix, finding.severity) == (text, fix, Severity.ERROR)
    assert finding.evidence["kind"] == "not-fetched"


@pytest.mark.parametrize(
    ("content", "severity"),
    [(WHOLE[: 3 * SAMPLE], Severity.NOTE), (WHOLE + b"else", Severity.WARNING)],
    ids=["no end marker", "what nobody loses"],
)
def test_what_costs_no_sample_is_milder(tmp_path: Path, content: bytes, severity: Severity) -> None:
    (finding,) = found(tmp_path, content)

    assert finding.severity is severity


def test_samples_that_stand_apart_are_read_and_not_whole(tmp_path: Path) -> None:
    names = sorted(samples(3), key=lambda name: name[::-1])
    content = gzip.compress(tarred(dict.fromkeys(names, b"x")))

    (finding,) = ask("shard-damaged", shard_facts(tmp_path, content + content, rule="textfile"))

    assert finding.message.endswith(
        "; 6 samples before it are read, 6 more are lost, from dog-0000 on"
    )


def test_the_same_damage_has_the_same_fingerprint_whatever_its_numbers(tmp_path: Path) -> None:
    facts = shard_facts(tmp_path, WHOLE[: 3 * SAMPLE + 612], rule="none")
    moved = replace(facts, samples=2, damage=(facts.damage[0]._replace(offset=9, text="ends"),))

    (first,), (second,) = ask("shard-damaged", facts), ask("shard-damaged", moved)

    assert first.fingerprint == second.fingerprint


def test_zeros_beyond_what_tar_leaves_are_a_warning_with_their_number(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, WHOLE[: 4 * SAMPLE] + bytes(1_000_000))

    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("has 1,000,000 zero bytes (1.0 MB) behind its 4 samples")
