"""What real ranks have of the same items, item by item: processes of a gloo group divide them."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.built.making.job_code import unsaid
from preflight.ranks.divide import Splitter, tally
from preflight.ranks.hash_seeds import by_processes
from preflight.ranks.made.facts import NEARLY_ALL
from preflight.ranks.named_splits import RULES, RankWorker, shards_or_samples
from preflight.ranks.real_splits import of_accelerate, splitter_of
from preflight.settings.split import steps_of
from preflight.values.names import first_of
from tests.warming import TRAINERS, copies, start_copies

COUNTS = (1, 3, 5, 16, 48)
WORLDS = (2, 3, 4)
WORKERS = 2

SCRIPT = """
import json, sys
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.distributed import DistributedSampler
import webdataset as wds

class Shards(IterableDataset):
    def __init__(self, count):
        self.count = count
    def __iter__(self):
        own = wds.split_by_worker(wds.split_by_node(iter(range(self.count))))
        me = torch.utils.data.get_worker_info().id
        for one in own:
            yield me, one

def cached(rank, world, count):
    # The case of the latents: files of this rank, of which only those are encoded that are also
    # in this rank's part of the buckets; and a part of a part.
    files = list(range(count))
    mine = files[rank::world]
    both = set(DistributedSampler(files, shuffle=False, drop_last=True))
    part = [mine[number] for number in DistributedSampler(mine, shuffle=False)]
    drawn = set(DistributedSampler(files, shuffle=True, seed=7))
    return [one for one in mine if one in both], part, [one for one in mine if one in drawn]

def accelerated(rank, world, count):
    try:
        from accelerate import PartialState
    except ImportError:
        return None
    found = []
    for pads in (False, True):
        with PartialState(cpu=True).split_between_processes(list(range(count)), pads) as own:
            found.append(list(own))
    return found

def of_datasets(rank, world, count, rows):
    # A table of so many rows, and a stream of so many shards, each of as many rows.
    try:
        import datasets
    except ImportError:
        return None
    datasets.disable_progress_bars()
    from datasets.distributed import split_dataset_by_node
    def read(shards):
        for shard in shards:
            yield from ({"shard": shard} for _ in range(rows))
    table = datasets.Dataset.from_dict({"row": list(range(count))})
    shards = {"shards": list(range(count))}
    stream = datasets.IterableDataset.from_generator(read, gen_kwargs=shards)
    try:
        own = [one["row"] for one in split_dataset_by_node(table, rank, world)]
    except IndexError:
        own = "IndexError"
    once = split_dataset_by_node(stream, rank, world)
    twice = split_dataset_by_node(once, rank, world)
    sliced = {"shards": shards["shards"][rank::world] or shards["shards"][:1]}
    sliced = datasets.IterableDataset.from_generator(read, gen_kwargs=sliced)
    ways = (once, twice, split_dataset_by_node(sliced, rank, world))
    return own, *([one["shard"] for one in way] for way in ways)

def run(rank, folder, world, counts, workers):
    torch.set_num_threads(1)
    import os
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="0", ACCELERATE_USE_CPU="true")
    group = f"file://{folder}/group{world}"
    dist.init_process_group("gloo", init_method=group, rank=rank, world_size=world)
    found = {}
    for count in counts:
        by_worker = [[] for _ in range(workers)]
        for me, one in DataLoader(Shards(count), batch_size=None, num_workers=workers,
                                  multiprocessing_context="fork"):
            by_worker[me].append(one)
        both, part_of_part, drawn = cached(rank, world, count)
        found[count] = {
            "padded": list(DistributedSampler(range(count), shuffle=False)),
            "dropped": list(DistributedSampler(range(count), shuffle=False, drop_last=True)),
            "node": list(wds.split_by_node(iter(range(count)))),
            "worker": by_worker,
            "both": both,
            "part of part": part_of_part,
            "drawn": drawn,
            "accelerate": accelerated(rank, world, count),
            "datasets": of_datasets(dist.get_rank(), dist.get_world_size(), count, 4),
        }
    with open(f"{folder}/{world}-{rank}.json", "w") as file:
        json.dump(found, file)
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    import torch.multiprocessing as mp
    folder, worlds, counts, workers = json.loads(sys.argv[1])
    for world in worlds:
        given = (folder, world, counts, workers)
        mp.start_processes(run, args=given, nprocs=world, start_method="fork")
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int, int], dict[str, Any]]:
    """What ranks of two, of three and of four had, by world, count and rank."""
    if sys.platform != "linux":
        pytest.skip("ranks are forked of a process that has torch")
    folder = tmp_path_factory.mktemp("ranks")
    script = folder / "ranks.py"
    script.write_text(SCRIPT, encoding="utf-8")
    asked = json.dumps([str(folder), WORLDS, COUNTS, WORKERS])
    with copies(TRAINERS):
        done = subprocess.run(
            [sys.executable, str(script), asked],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
    assert done.returncode == 0, done.stderr[-2_000:]
    return {
        (world, int(count), rank): found
        for world in WORLDS
        for rank in range(world)
        for count, found in json.loads((folder / f"{world}-{rank}.json").read_text()).items()
    }


def own(words: tuple[str, ...], count: int, at: RankWorker, **rules: Any) -> list[int]:
    return [*Splitter(steps=steps_of(words), rules={**RULES, **rules}).of(count, at)]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("padded", ("distributed-sampler",)),
        ("dropped", ("distributed-sampler-drop-last",)),
        ("node", ("split_by_node",)),
        ("both", ("strided & distributed-sampler-drop-last",)),
        ("part of part", ("strided", "distributed-sampler")),
    ],
)
def test_each_rank_has_what_is_told(
    what: str, words: tuple[str, ...], seen: dict[tuple[int, int, int], dict[str, Any]]
) -> None:
    """DistributedSampler, webdataset, and two splits on top of each other: 48 files among them."""
    for (world, count, rank), found in seen.items():
        if what == "part of part" and count < world:
            continue  # a sampler of no sample divides by zero
        told = own(words, count, RankWorker(rank, world))
        assert sorted(told) == sorted(found[what]), (world, count, rank)


def test_each_worker_of_each_rank_has_what_is_told(
    seen: dict[tuple[int, int, int], dict[str, Any]],
) -> None:
    for (world, count, rank), found in seen.items():
        for worker in range(WORKERS):
            at = RankWorker(rank, world, worker, WORKERS)
            assert own(("split_by_node", "split_by_worker"), count, at) == found["worker"][worker]


DRAWN = """
from torch.utils.data.distributed import DistributedSampler

def drawn(items, rank, world_size):
    sampler = DistributedSampler(items, world_size, rank, shuffle=True, seed=7)
    return [items[number] for number in sampler]
"""


@pytest.mark.parametrize("world", WORLDS)
def test_48_latents_under_two_splits_are_told_as_real_ranks_have_them(
    world: int,
    seen: dict[tuple[int, int, int], dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the whole command: one part by place, and of it what a shuffled sampler gives as well."""
    start_copies(monkeypatch)
    (tmp_path / "cache").mkdir()
    (tmp_path / "photos").mkdir()
    for number in range(48):
        (tmp_path / "photos" / f"{number:02}.png").touch()
    (tmp_path / "mine.py").write_text(DRAWN, encoding="utf-8")
    (tmp_path / "preflight.toml").write_text(
        f'[launch]\nworld_size = {world}\n[[data]]\nname = "photos"\npath = "photos"\n'
        '[[cache]]\npath = "cache"\nof = ["photos"]\nsplit = "strided & mine:drawn"\n',
        encoding="utf-8",
    )
    cached = {one for rank in range(world) for one in seen[world, 48, rank]["drawn"]}
    lost = [f"photos/{one:02}.png" for one in range(48) if one not in cached]

    report = preflight.run(folder=str(tmp_path), select=["world-ownership"])

    (found,) = (one for one in report.findings if one.severity.word == "error")
    assert 0 < len(cached) < 40
    assert found.message == (
        f"{len(lost)} samples of 48 have no rank of {world}: {first_of(lost, len(lost))}"
    )
    each = [len(seen[world, 48, rank]["drawn"]) for rank in range(world)]
    assert [row.count for row in found.rows] == each


@pytest.mark.skipif(importlib.util.find_spec("datasets") is None, reason="needs datasets")
def test_split_dataset_by_node_gives_what_is_told_of_tables_and_of_streams(
    seen: dict[tuple[int, int, int], dict[str, Any]],
) -> None:
    """A table has to have a row for each rank; all read each shard where they do not divide it."""
    for (world, count, rank), found in seen.items():
        rows, shards, _, _ = found["datasets"]
        at = RankWorker(rank, world)
        assert own(("datasets",), count, at) == ([] if rows == "IndexError" else rows)
        assert own(("datasets",), count, at, datasets=shards_or_samples) == sorted({*shards})
        assert (rows == "IndexError") == (rank >= count), (world, count, rank)
        assert len(shards) == len(range(rank, count * 4, world)), (world, count, rank)


@pytest.mark.skipif(importlib.util.find_spec("datasets") is None, reason="needs datasets")
@pytest.mark.parametrize(
    ("way", "words"), [(1, ("datasets",)), (2, ("datasets",) * 2), (3, ("strided", "datasets"))]
)
def test_what_ranks_keep_of_shards_together_is_what_is_told(
    way: int, words: tuple[str, ...], seen: dict[tuple[int, int, int], dict[str, Any]]
) -> None:
    """Also of a stream that is divided twice, and of slices of shards: most of it is of nobody."""
    for world, count in ((world, count) for world in WORLDS for count in COUNTS if count >= world):
        names = [str(one) for one in range(count)]
        splitter, _ = splitter_of(steps_of(words), names, {}, unsaid, shards=True)
        told = tally(splitter, count, world, 1)
        kept = [len(seen[world, count, rank]["datasets"][way]) for rank in range(world)]

        assert abs(told.samples * 4 - sum(kept)) <= world, (world, count, kept)
        if way == 1:
            assert (told.world.kept, told.world.nobody) == (1.0, 0)
        else:
            assert told.world.kept < NEARLY_ALL or told.world.nobody


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="needs accelerate")
def test_accelerate_as_it_is_installed_gives_what_is_told(
    seen: dict[tuple[int, int, int], dict[str, Any]],
) -> None:
    for pads in (False, True):
        _, rule = of_accelerate(pads=pads)
        for (world, count, rank), found in seen.items():
            told = own(("a",), count, RankWorker(rank, world), a=rule)
            assert told == found["accelerate"][pads], (world, count, rank, pads)


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="needs accelerate")
def test_three_items_on_eight_ranks_are_as_it_was_recorded() -> None:
    """Up to 1.13, each rank that is too many has the last item; from 1.14 on, none."""
    version, rule = of_accelerate(pads=False)
    older = tuple(map(int, version.split()[1].split(".")[:2])) < (1, 14)
    each = [own(("a",), 3, RankWorker(rank, 8), a=rule) for rank in range(8)]

    assert each == [[0], [1], [2], *[[2] if older else []] * 5]


# --- captions in a set ----------------------------------------------------------------------------

CAPTIONS = [f"a photo of a dog, number {number}" for number in range(25)]

SPLIT = """
def split(items, rank, world_size):
    return list(set(items))[rank::world_size]
"""


def test_25_captions_in_a_set_are_divided_as_by_eight_processes(tmp_path: Path) -> None:
    """Each with its own hash seed, as the ranks of a job are."""
    (tmp_path / "captions.py").write_text(SPLIT, encoding="utf-8")
    code = "import json, sys, captions as one; order = json.load(sys.stdin); "
    code += "print(json.dumps(one.split(*order)))"
    real = []
    for rank in range(8):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=json.dumps([CAPTIONS, rank, 8]).encode(),
            env={"PYTHONHASHSEED": str(rank + 1), "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            check=True,
        )
        real.append(sorted(map(CAPTIONS.index, json.loads(done.stdout))))
    options = {"root": str(tmp_path), "import_anyway": False, "timeout": 120}
    steps = steps_of(f"{tmp_path / 'captions.py'}:split")

    told = by_processes(steps, CAPTIONS, options, ranks=8, shards=False)

    assert told == real
    owners = [sum(one in part for part in real) for one in range(25)]
    assert owners.count(0) > 3
    assert max(owners) > 1


def test_a_split_that_shuffles_its_own_part_is_the_same_in_each_process(tmp_path: Path) -> None:
    """And one that draws with a seed."""
    (tmp_path / "captions.py").write_text(
        "import random\n\n\ndef split(items, rank, world_size):\n"
        "    items = sorted(set(items))\n    random.Random(0).shuffle(items)\n"
        "    own = items[rank::world_size]\n    random.shuffle(own)\n    print(own)\n"
        "    return own\n",
        encoding="utf-8",
    )
    options = {"root": str(tmp_path), "import_anyway": False, "timeout": 120}
    steps = steps_of(f"{tmp_path / 'captions.py'}:split")

    assert by_processes(steps, CAPTIONS, options, ranks=8, shards=False) is None
