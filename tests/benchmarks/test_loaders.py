"""A look at a loader costs little, however much its workers would be sent."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmarks.measuring import seen
from tests.conftest import ROOT
from tests.warming import copies

MEASURE = f"""
import json, pickle, resource, sys, time
sys.path.insert(0, {str(ROOT)!r})
import numpy, torch
from preflight.objects.sending import pickling
from preflight.objects.sending.stand_ins import LeftOut
from preflight.loaders.round_trip import journey
from preflight.loaders.workers.fresh import Surroundings

PART = 256 << 20

MAKE = {{
    "nothing": lambda: None,
    "2 GiB of arrays": lambda: [numpy.full(PART, 7, numpy.uint8) for _ in range(8)],
    "2 GiB of tensors": lambda: [torch.full((PART,), 7, dtype=torch.uint8) for _ in range(8)],
    "a million samples": lambda: [
        (f"{{i:07}}.jpg", i % 1000, {{"height": i}}) for i in range(1_000_000)
    ],
}}

class Nowhere:
    def write(self, part):
        return len(part)

def measure(held):
    around = Surroundings(timeout=300, alive=lambda: None, path=sys.path[:], files={{}})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with journey([("dataset", held)], around, most=2 << 30) as going:
        for worker in going.workers.values():
            assert worker.reply(time.monotonic())["ready"]
        begun = time.perf_counter()
        refused = going.send(LeftOut())
        pickling.walk(going.roots, sent=refused)
        going.arrive(LeftOut())
        ours = time.perf_counter() - begun
        trips = going.trips.values()
        assert [trip.outcome for trip in trips] == ["loaded", "loaded"]
        workers = sum(trip.memory - going.stood_in for trip in trips)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return ours, (after - before) * 1024 + workers

def dump(held):
    begun = time.perf_counter()
    pickle.Pickler(Nowhere(), protocol=4).dump(held)
    return time.perf_counter() - begun

if __name__ == "__main__":
    held = MAKE[sys.argv[1]]()
    ours, memory = measure(held)
    ours = min(ours, measure(held)[0])
    theirs = min(dump(held), dump(held))
    print(json.dumps({{"ours": ours, "theirs": theirs, "memory": memory}}))
"""

pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, float]]:
    """Measure a loader in a process of its own, once for all tests."""
    folder = tmp_path_factory.mktemp("loaders")
    (folder / "measure.py").write_text(MEASURE, encoding="utf-8")

    @functools.cache
    def measure(held: str) -> dict[str, float]:
        with copies():  # how workers start is not measured
            done = subprocess.run(
                [sys.executable, "measure.py", held],
                cwd=folder,
                check=True,
                capture_output=True,
                text=True,
            )
        found: dict[str, float] = json.loads(done.stdout)
        return found

    return measure


@pytest.mark.parametrize("held", ["2 GiB of arrays", "2 GiB of tensors", "a million samples"])
def test_the_round_trip_against_one_dump(
    measured: Callable[[str], dict[str, float]], held: str
) -> None:
    """`pickle.dump(…, protocol=4)` into nothing."""
    took = measured(held)

    name = f"round trip of {held} / pickle.dump"
    how = f"{took['ours']:.2f} s against {took['theirs']:.2f} s"
    seen(name, took["ours"] / took["theirs"], how)


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="nobody says it here")
@pytest.mark.parametrize("held", ["2 GiB of arrays", "2 GiB of tensors"])
def test_memory_of_the_round_trip(measured: Callable[[str], dict[str, float]], held: str) -> None:
    """What it takes more than a loader of nothing, here and in both workers together."""
    more = measured(held)["memory"] - measured("nothing")["memory"]

    seen(f"memory of the round trip of {held}", more / 1e6)
