"""shard-uneven gives the shards out to the ranks, and compares what each of them has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import preflight
from preflight.datasets.facts import DatasetFacts
from preflight.findings.finding import Finding, Severity
from preflight.settings.job import Job, Launch
from tests.archives import samples, tarred
from tests.asking import reason, told


def found(sizes: tuple[int, ...], ranks: int, unread: int = 0) -> list[Finding]:
    facts = DatasetFacts(
        name="data",
        file="data",
        shards=tuple(f"data/{number:03}.tar" for number in range(len(sizes))),
        sizes=sizes,
        samples=sum(sizes),
        unread=unread,
    )
    return told("shard-uneven", facts, Job(launch=Launch(world_size=ranks)))


@pytest.mark.parametrize(
    ("sizes", "ranks"),
    [
        ((100, 1), 1),
        ((100,) * 8, 4),
        ((100, 50, 50, 100), 2),
        ((100,) * 80 + (30,), 3),
        ((1_000,) * 799 + (300,), 8),
        ((100, 99, 101, 95), 4),
        ((0, 0), 2),
        ((50,), 2),
    ],
    ids=[
        *("one rank", "all alike", "even in the end", "a small last one", "a small last of many"),
        *("nearly", "empty", "fewer than ranks"),
    ],
)
def test_ranks_that_have_about_the_same_are_left_alone(sizes: tuple[int, ...], ranks: int) -> None:
    assert found(sizes, ranks) == []


def test_what_was_not_read_is_not_judged() -> None:
    assert found((100, 10), 2, unread=1) == []
    assert len(found((100, 10), 2)) == 1


def test_shards_of_two_sizes_are_told_with_both_ranks() -> None:
    (finding,) = found((100, 60, 100, 60), 2)

    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "gives rank 1 120 samples and rank 0 200: shards have from 60 to 100 samples"
    )
    assert "after 60%" in (finding.why or "")


def test_a_number_that_the_ranks_do_not_divide_is_told_so() -> None:
    (finding,) = found((100,) * 10, 4)

    assert finding.message.endswith("10 shards are not divided by 4")


def test_the_order_is_that_of_the_pattern(tmp_path: Path) -> None:
    """As webdataset expands it, and not as the processes come back."""
    for number, count in enumerate((9, 3, 9, 3)):
        files = samples(count, start=100 * number)
        (tmp_path / f"{number}.tar").write_bytes(tarred(files))

    report = preflight.run(
        "{3..0}.tar", folder=str(tmp_path), world_size=2, elsewhere=True, select=["shard-uneven"]
    )

    (finding,) = report.findings
    assert finding.message.startswith("gives rank 0 6 samples and rank 1 18")


def test_where_a_split_is_said_world_ownership_tells_it() -> None:
    facts = DatasetFacts(
        name="data", file="data", shards=("a.tar", "b.tar"), sizes=(9, 1), samples=10
    )
    job = Job(launch=Launch(world_size=2))

    assert reason("shard-uneven", facts, job) is None
    assert "world-ownership" in (reason("shard-uneven", replace(facts, split_said=True), job) or "")


@pytest.mark.parametrize(
    ("script", "severity"), [("train.py", Severity.NOTE), ("other.py", Severity.WARNING)]
)
def test_ranks_that_are_joined_go_on(tmp_path: Path, script: str, severity: Severity) -> None:
    """In torch's `Join`; in a script that is named, or else in any of the folder."""
    for number, count in enumerate((9, 3)):
        (tmp_path / f"{number}.tar").write_bytes(tarred(samples(count, start=100 * number)))
    (tmp_path / "train.py").write_text("with Join([model]):\n    train()\n")
    (tmp_path / "other.py").write_text("import torch\n")

    def found(*more: str) -> Finding:
        words = ("{0..1}.tar", *more)
        report = preflight.run(
            *words, folder=str(tmp_path), world_size=2, elsewhere=True, select=["shard-uneven"]
        )
        (one,) = report.findings
        return one

    assert found().severity is Severity.NOTE
    assert found(f"source={script}").severity is severity
    assert ("train.py:1 stands around" in (found(f"source={script}").why or "")) == (
        severity is Severity.NOTE
    )


LOADERS = """\
import webdataset as wds

def data():
    shards = "{0..2}.tar"
    return wds.WebDataset(shards, nodesplitter=wds.split_by_node, shardshuffle=False).decode()

def plain():
    return wds.WebLoader(data(), batch_size=None)

def of_so_many():
    return wds.WebLoader(data().with_epoch(8), batch_size=None)

def repeated():
    return wds.WebLoader(data().repeat(), batch_size=None).with_epoch(8)

def twice():
    return wds.WebLoader(data().repeat(2), batch_size=None)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("name", "is_told"),
    [("plain", True), ("of_so_many", False), ("repeated", False), ("twice", True)],
)
def test_a_loader_that_begins_its_shards_again_ends_alike_on_every_rank(
    tmp_path: Path, name: str, *, is_told: bool
) -> None:
    for number in range(3):
        files = samples(4, start=100 * number)
        (tmp_path / f"{number}.tar").write_bytes(tarred(files))
    (tmp_path / "train.py").write_text(LOADERS)

    report = preflight.run(
        *(f"train:{name}", "{0..2}.tar"),
        folder=str(tmp_path),
        world_size=2,
        elsewhere=True,
        select=["dataset", "shard-uneven"],
    )
    uneven = [one for one in report.findings if one.check == "shard-uneven"]
    assert len(uneven) == is_told
