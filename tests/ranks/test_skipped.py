"""What ranks leave out of their parts: a bound that is wrong by one, or what a job has had."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.report import Report
from preflight.ranks.made.skipped import goes_on
from tests.warming import copies

pytestmark = pytest.mark.slow

SOURCE = """
import os

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

NAMES = [f"cat_{number:03}.png" for number in range(int(os.environ.get("SAMPLES", 64)))]
HAD = 8


def ranks(): return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Listed(Dataset):
    def __init__(self, names): self.names = names
    def __len__(self): return len(self.names)
    def __getitem__(self, place): return self.names[place]


class Resumed(Dataset):
    def __init__(self, names, start): self.names, self.start = names, start
    def __len__(self): return len(self.names) - self.start
    def __getitem__(self, place): return self.names[self.start + place]


class Stream(IterableDataset):
    def __init__(self, step): self.step = step
    def __iter__(self):
        (rank, number), info = ranks(), get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        yield from NAMES[rank + self.step * worker::number * workers]


class Late(IterableDataset):
    def __init__(self, begin, from_rank=0): self.begin, self.from_rank = begin, from_rank
    def __iter__(self):
        (rank, number), info = ranks(), get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        first = (rank + self.from_rank) * workers + worker + self.begin
        if first < 0:
            raise ValueError("there is no such rank")
        yield from NAMES[first::number * workers]


class Numbered(IterableDataset):
    def __init__(self, give): self.give = give
    def __iter__(self):
        (rank, number), info = ranks(), get_worker_info()
        worker, workers = (info.id, info.num_workers) if info else (0, 1)
        first = rank * workers + worker
        yield from map(self.give, range(first, len(NAMES), number * workers))


class Chosen(Dataset):
    def __init__(self, places, give): self.places, self.give = places, give
    def __len__(self): return len(self.places)
    def __getitem__(self, place): return self.give(self.places[place])


TOKENS = torch.arange(64 * 33 + 5)


def block(number): return TOKENS[number * 33:(number + 1) * 33].clone()


def shifted(number):
    own = TOKENS[number * 33:(number + 1) * 33 + 1]
    return {"tokens": own[:-1].clone(), "next": own[1:].clone(), "text": "a" * (number % 3)}


def loaders():
    rank, number = ranks()
    each = len(NAMES) // number
    first, end = rank * each, (rank + 1) * each
    names = {
        "begins late": NAMES[first + 1:end],
        "ends early": NAMES[first:end - 1],
        "sound": NAMES[first:end],
        "even": NAMES[:each * number - number][rank::number],
        "validation": NAMES[6:][rank::number],
        "resumed by all": NAMES[HAD:][rank::number],
        "resumed behind some": NAMES[HAD + rank::number],
        "resumed by each": NAMES[rank::number][HAD:],
        "resumed by its share": NAMES[rank::number][HAD // number:],
        "resumed in blocks": NAMES[first + HAD // number:end],
        "resumed in each block": NAMES[first + HAD:end],
        "divided again": NAMES[rank::number][rank::number],
        "a block divided again": NAMES[first:end][: each // number],
        "full batches": NAMES[first:end - 2],
    }
    found = {name: DataLoader(Listed(own), batch_size=2) for name, own in names.items()}
    found["resumed data"] = DataLoader(Resumed(NAMES[rank::number], 5), batch_size=2)
    found["stream of two"] = DataLoader(Stream(2), batch_size=2, num_workers=2)
    found["stream"] = DataLoader(Stream(number), batch_size=2, num_workers=2)
    found["resumed stream"] = DataLoader(Late(16), batch_size=2, num_workers=2)
    found["resumed stream without workers"] = DataLoader(Late(16), batch_size=2)
    found["from one"] = DataLoader(Late(0, 1), batch_size=2, num_workers=2)
    return found


def nameless():
    rank, number = ranks()
    found = {}
    for name, give in {"number": float, "block": block, "shifted": shifted}.items():
        own = range(rank, len(NAMES), number)
        found[name] = DataLoader(Numbered(give), batch_size=2)
        found[f"chosen {name}"] = DataLoader(Chosen(own, give), batch_size=2)
    found["number of two"] = DataLoader(Numbered(float), batch_size=2, num_workers=2)
    blocks = [block(number) for number in range(len(NAMES))]
    found["from one"] = DataLoader(Chosen(blocks[rank + 1::number], lambda one: one), batch_size=2)
    return found
"""

BY_ONE = {"begins late", "ends early"}
FROM_ONE = {"from one"}
AGAIN = {"divided again", "a block divided again"}


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_bound_that_is_wrong_by_one_is_told_and_a_resume_is_not(
    ranks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held against what loaders of each rank really give."""
    (tmp_path / "train.py").write_text(SOURCE)
    owners = _owners(tmp_path / "train.py", ranks, monkeypatch)

    report = _looked_at_by_all(tmp_path, ranks, "world-order", "world-steps")

    found = {
        (one.at.name or "").partition("['")[2].removesuffix("']"): one
        for one in report.findings
        if one.check == "world-order"
    }
    several = {name for name, one in owners.items() if max(one.values()) > 1}
    assert several == ({"stream of two"} if ranks == 4 else set())
    assert found.keys() == BY_ONE | FROM_ONE | AGAIN | several
    for name in FROM_ONE:
        assert len(owners[name]) == 62
        assert found[name].evidence["cause"] == "before"
    for name in BY_ONE:
        assert len(owners[name]) == 64 - ranks
        assert found[name].evidence["others"] == ranks - 1
        assert found[name].severity.word == "warning"
    for name in several:
        assert found[name].evidence["others"] == sum(one > 1 for one in owners[name].values())


def test_what_is_made_of_numbers_below_0_is_no_sample_that_nobody_has(tmp_path: Path) -> None:
    """Of samples without names: what a slice or a number gives for rank -1, of a sound division."""
    (tmp_path / "train.py").write_text(SOURCE)

    report = _looked_at_by_all(tmp_path, 2, "world-order", target="train:nameless")

    (found,) = report.findings
    assert found.at.name == "train:nameless['from one']"
    assert found.evidence["cause"] == "before"


def _looked_at_by_all(
    folder: Path, ranks: int, *select: str, target: str = "train:loaders"
) -> Report:
    """Look once more where a busy machine took so long that some ranks were passed over."""
    flags = {"folder": str(folder), "world_size": ranks, "select": [*select]}
    with copies():
        for _ in range(3):
            report = preflight.run(target, **flags)  # type: ignore[arg-type]
            (loader,) = (one.seen for one in report.coverage if one.part == "loader")
            if ranks > 8 or not re.search(r"\d ranks?\b", loader):
                break
    return report


def _owners(path: Path, ranks: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter[str]]:
    """Count how many ranks have each sample."""
    spec = importlib.util.spec_from_file_location("skipping", path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    owners: dict[str, Counter[str]] = {}
    for rank in range(ranks):
        monkeypatch.setenv("RANK", str(rank))
        for name, loader in module.loaders().items():
            own = {one for batch in loader for one in batch}
            owners.setdefault(name, Counter()).update(own)
    return owners


def test_of_many_ranks_a_resume_is_known_by_those_that_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 16 ranks, seven are made; and the first of two, in place of one that has all."""
    monkeypatch.setenv("SAMPLES", "512")
    (tmp_path / "train.py").write_text(SOURCE)

    report = _looked_at_by_all(tmp_path, 16, "world-order")

    found = {
        (one.at.name or "").partition("['")[2].removesuffix("']"): one for one in report.findings
    }
    assert not any("resumed" in name for name in found)
    for name in AGAIN:
        assert found[name].evidence["cause"] == "twice"


@pytest.mark.parametrize(
    ("begin", "end", "step", "is_so"),
    [(8, 16, 1, True), (2, 16, 1, True), (1, 16, 1, False), (0, 4, 1, False), (0, 16, 4, False)],
    ids=["resumed", "by two", "by one", "divided again", "in turn"],
)
def test_a_resume_in_blocks_is_known_by_the_first_and_the_last_rank(
    begin: int, end: int, step: int, *, is_so: bool
) -> None:
    """Where making it took long, the two between them were not made."""
    whole = _told(range(begin, 64))
    told = [_told(range(first + begin, first + end, step)) for first in (0, 48)]

    assert goes_on(told, whole, 4) is is_so


def _told(keys: range) -> dict[str, Any]:
    return {"keys": [*keys], "samples": len(keys), "ended": True, "is_stream": False}
