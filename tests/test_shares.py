"""Work is divided so that no process is started for nothing, and none is left with everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.shares import seconds_for, shares


def sizes(seconds: list[float], jobs: int) -> list[float]:
    found = shares(seconds, jobs)
    assert [index for share in found for index in share] == list(range(len(seconds)))
    return [sum(seconds[index] for index in share) for share in found]


@pytest.mark.parametrize("seconds", [[], [0.0], [0.0, 0.0], [0.001] * 9])
def test_little_work_is_done_by_one_process(seconds: list[float]) -> None:
    assert len(sizes(seconds, jobs=8)) == min(1, len(seconds))


def test_work_that_is_worth_it_is_done_by_several() -> None:
    found = sizes([0.05] * 12, jobs=4)

    assert len(found) == 4
    assert max(found) < 0.2


def test_long_work_is_divided_more_finely() -> None:
    assert len(sizes([0.5] * 100, jobs=2)) == 8


def test_one_thing_that_takes_long_is_alone() -> None:
    assert sizes([0.01, 0.01, 30.0, 0.01, 0.01], jobs=2)[0:1] == [0.02]


def test_more_depth_takes_longer(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(bytes(1 << 20))
    (tmp_path / "a.tar.gz").write_bytes(bytes(1 << 20))
    plain, packed = {"type": "Shard", "path": "a.tar"}, {"type": "Shard", "path": "a.tar.gz"}
    root = str(tmp_path)

    index, every_byte, decode = (seconds_for(plain, root, d) for d in ("index", "bytes", "decode"))

    assert index < every_byte < decode
    assert seconds_for(packed, root, "index") > index


def test_what_is_not_there_takes_no_time(tmp_path: Path) -> None:
    assert seconds_for({"type": "Shard", "path": "a.tar"}, str(tmp_path), "bytes") == 0
