"""Work is divided so that no process is started for nothing, and none is left with everything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from preflight.findings.finding import Location
from preflight.kinds.gather import Gather
from preflight.kinds.question import Question
from preflight.processes.shares import shares, workers_for
from preflight.shards.kind import SHARD
from preflight.targets.targets import Shard
from tests.evicting import evicted
from tests.questions import run_of


def asked(seconds: float) -> Question:
    shard = Shard(path="a.tar")
    gather = Gather(SHARD, run_of("."))
    return Question(
        kind=SHARD,
        wire={},
        target=shard,
        at=Location(),
        gives=(),
        gather=gather,
        seconds=seconds,
    )


def sizes(seconds: list[float], jobs: int) -> list[float]:
    things = list(map(asked, seconds))
    found = list(shares(iter(things), total=sum(seconds), jobs=jobs))
    assert [one for share in found for one in share] == things
    return [sum(one.seconds for one in share) for share in found]


@pytest.mark.parametrize("seconds", [[], [0.0], [0.0, 0.0], [0.001] * 9])
def test_little_work_is_done_by_one_process(seconds: list[float]) -> None:
    assert len(sizes(seconds, jobs=8)) == min(1, len(seconds))


def test_work_that_is_worth_it_is_done_by_several() -> None:
    found = sizes([0.05] * 12, jobs=4)

    assert len(found) == 4
    assert max(found[1:]) < 0.2


def test_the_first_reader_is_ahead_and_is_given_more() -> None:
    """The others start when it is asked; beside long work, that is nothing."""
    first, second = sizes([0.03] * 10, jobs=2)
    long = sizes([1.0] * 64, jobs=4)

    assert first - second == pytest.approx(0.06)
    assert len(set(long)) == 1


def test_nobody_is_started_for_what_the_first_would_have_done_by_then() -> None:
    assert sizes([0.05, 0.05], jobs=2) == [0.1]
    assert sizes([0.1, 0.1], jobs=2) == [0.1, 0.1]


def test_long_work_is_divided_more_finely() -> None:
    assert len(sizes([0.5] * 100, jobs=2)) == 8


def test_one_thing_that_takes_long_is_alone() -> None:
    assert sizes([0.01, 0.01, 30.0, 0.01, 0.01], jobs=2)[0:1] == [0.02]


def test_more_depth_takes_longer(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(bytes(1 << 20))
    (tmp_path / "a.tar.gz").write_bytes(bytes(1 << 20))
    plain, packed = {"path": "a.tar"}, {"path": "a.tar.gz"}
    root = str(tmp_path)

    index, every_byte, decode = (
        SHARD.seconds(plain, root, d) for d in ("index", "bytes", "decode")
    )

    assert index < every_byte < decode
    assert SHARD.seconds(packed, root, "index") > index


def test_what_is_not_there_takes_no_time(tmp_path: Path) -> None:
    assert SHARD.seconds({"path": "a.tar"}, str(tmp_path), "bytes") == 0


def test_no_share_holds_more_than_fits_into_memory() -> None:
    """What takes no time at all is divided all the same."""
    found = list(shares([asked(0.0)] * 20_000, total=0.0, jobs=1))

    assert max(map(len, found)) <= 8_192
    assert sum(map(len, found)) == 20_000


def test_things_are_taken_when_they_are_needed() -> None:
    """The first share is there before the last thing is."""
    taken: list[int] = []

    def things() -> Iterator[Question]:
        for number in range(100):
            taken.append(number)
            yield asked(1.0)

    first = next(shares(things(), total=100.0, jobs=2))

    assert len(taken) <= len(first) + 1 < 100


def small_files(folder: Path, count: int, size: int = 100_000) -> list[str]:
    for number in range(count):
        (folder / f"{number:04}.pt").write_bytes(bytes(size))
    return [str(path) for path in sorted(folder.iterdir())]


def test_files_in_memory_are_read_by_as_many_processes_as_there_are_processors(
    tmp_path: Path,
) -> None:
    assert workers_for(small_files(tmp_path, 300), 2) == 2


def test_many_small_cold_files_are_read_by_more(tmp_path: Path) -> None:
    """Each process waits most of the time; but no machine is filled with processes."""
    paths = small_files(tmp_path, 300)
    for path in paths:
        evicted(Path(path))

    assert workers_for(paths[:100], 2) == 2
    assert workers_for(paths, 2) == 8


def test_there_is_an_end_to_how_many_processes_wait(tmp_path: Path) -> None:
    paths = small_files(tmp_path, 300)
    for path in paths:
        evicted(Path(path))

    assert workers_for(paths, 6) == 16
    for path in paths:
        evicted(Path(path))
    assert workers_for(paths, 64) == 64


def test_files_that_are_gone_are_nobodys_reason_for_more(tmp_path: Path) -> None:
    assert workers_for([str(tmp_path / f"{number}") for number in range(300)], 2) == 2
