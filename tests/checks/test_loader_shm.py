"""What batches take on their way is held against what is measured, and what loaders come to."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.facts import FirstBatches, OnTheWay, Parcel, Structure
from preflight.finding import Finding
from preflight.job import Job, Launch
from preflight.testing import ask
from tests.asking import reason
from tests.warming import start_copies

pytestmark = pytest.mark.waits

ID = "loader-shm"
MIB = 2**20

WAY = OnTheWay(
    prefetch=2,
    parcel=Parcel(tensors=2, bytes=10 * MIB, descriptors=2),
    open_files=1024,
    shm_size=64 * MIB,
    shm_free=64 * MIB,
)
ONE = FirstBatches(
    name="train:make",
    ended="enough",
    num_workers=4,
    batches=(Structure(kind="none"),),
    on_the_way=WAY,
)


def found(way: OnTheWay | None = WAY, job: Job | None = None, **more: object) -> list[Finding]:
    facts = dataclasses.replace(ONE, on_the_way=way, **more)  # type: ignore[arg-type]
    return ask(ID, facts, *([job] if job is not None else []))


def way(**more: object) -> OnTheWay:
    return WAY._replace(**more)  # type: ignore[arg-type]


def test_more_than_is_free_is_found_with_the_workers_that_fit() -> None:
    (one,) = found()

    assert one.evidence["needed"] == 100 * MIB
    assert one.evidence["largest_num_workers"] == 2
    assert "docker run --shm-size 1g`, or take num_workers=2." in (one.fix or "")
    assert "prefetch_factor=1 fits today" in (one.workaround or "")
    assert found(num_workers=2) == []
    assert found(num_workers=3) != []


def test_the_loop_holds_one_batch_while_it_takes_the_next() -> None:
    """Of three workers with one ahead five are there, of pinned ones four: those are copies."""
    ahead = way(prefetch=1, shm_free=40 * MIB)

    assert found(way(prefetch=1, shm_free=50 * MIB), num_workers=3) == []
    (one,) = found(ahead, num_workers=3)
    assert (one.evidence["batches"], one.evidence["largest_num_workers"]) == (5, 2)
    assert found(ahead._replace(pinned=True), num_workers=3) == []
    assert found(ahead, num_workers=2) == []


def test_one_ahead_is_advised_only_where_it_fits() -> None:
    (fits,) = found(way(shm_free=50 * MIB), num_workers=3)
    (fails,) = found(way(shm_free=49 * MIB), num_workers=3)

    assert "prefetch_factor=1 fits today" in (fits.workaround or "")
    assert "num_workers=0 runs today" in (fails.workaround or "")


def test_the_ranks_of_a_node_share_it() -> None:
    roomy = way(shm_free=200 * MIB)
    job = Job(launch=Launch(nodes=2, world_size=8))

    assert found(roomy) == []
    (one,) = found(roomy, job)
    assert (one.evidence["ranks"], one.evidence["needed"]) == (4, 400 * MIB)


def test_no_more_is_on_its_way_than_an_epoch_has() -> None:
    assert found(way(length=6)) == []
    assert found(way(length=7)) != []


@pytest.mark.parametrize(
    "sound",
    [
        way(shm_free=None, shm_size=None),
        way(parcel=Parcel()),
        way(shm_free=100 * MIB),
    ],
    ids=["no /dev/shm", "nothing shared", "just enough"],
)
def test_what_has_room_is_left_alone(sound: OnTheWay) -> None:
    assert found(sound) == []


def test_without_workers_nothing_is_on_its_way() -> None:
    assert found(None, num_workers=0) == []
    assert reason(ID, dataclasses.replace(ONE, num_workers=0, on_the_way=None), Job()) is None


def test_another_machine_is_not_judged() -> None:
    job = Job(launch=Launch(elsewhere=True))
    said = reason(ID, dataclasses.replace(ONE, on_the_way=None), job)

    assert said is not None
    assert "another machine" in said


MANY = Parcel(tensors=400, bytes=400, descriptors=400)


@pytest.mark.parametrize(
    ("limit", "pinned", "severity"),
    [
        (None, False, []),
        (65_536, False, []),
        (1_024, False, ["ERROR"]),
        (2_048, False, ["WARNING"]),
        (2_048, True, []),
        (1_024, True, ["ERROR"]),
    ],
)
def test_tensors_are_held_against_open_files(
    limit: int | None,
    pinned: bool,  # noqa: FBT001
    severity: list[str],
) -> None:
    """A worker needs 1,200 for sure; the training process 3,600, if one worker is slow."""
    said = found(way(parcel=MANY, open_files=limit, pinned=pinned))

    assert [one.severity.name for one in said] == severity
    assert all("ulimit -n 65536" in (one.fix or "") for one in said)


def test_tensors_that_are_shared_by_files_take_no_descriptor() -> None:
    assert found(way(parcel=MANY._replace(descriptors=0), open_files=256)) == []


JOB = '''\
"""Loaders of which some take more open files than there are."""

import contextlib
import os
import resource
import signal
import sys
import time

import torch
from torch.utils.data import DataLoader, Dataset

resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class Zeros(Dataset):
    def __init__(self, size=10):
        self.size = size

    def __len__(self):
        return 2000

    def __getitem__(self, index):
        return torch.zeros(self.size)


def share_by_files(_):
    torch.multiprocessing.set_sharing_strategy("file_system")


def of(tensors, **given):
    return DataLoader(Zeros(), batch_size=tensors, collate_fn=list, num_workers=2, **given)


def many():
    return of(20, prefetch_factor=8)


def large():
    return of(90, prefetch_factor=2)


def few():
    return of(5, prefetch_factor=4)


def by_files():
    return of(20, prefetch_factor=8, worker_init_fn=share_by_files)


def stacked():
    return DataLoader(Zeros(), batch_size=20, num_workers=2, prefetch_factor=8)


def alone():
    return DataLoader(Zeros(), batch_size=500, collate_fn=list)


def memory():
    return DataLoader(Zeros(2**18), batch_size=1, num_workers=2, prefetch_factor=4)


def free():
    told = os.statvfs("/dev/shm")
    return told.f_bavail * told.f_frsize


def train(make):
    before, used = free(), 0
    for step, batch in enumerate(make()):
        time.sleep(0.1)
        used = max(used, before - free())
        if step == 7:
            return used


if __name__ == "__main__":
    for make in (many, large, few, stacked, alone, memory):
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            os.setpgid(0, 0)
            signal.alarm(6)
            try:
                print(make.__name__, train(make), flush=True)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)  # workers that it has left, which hold our output open
'''

NAMES = ("many", "large", "few", "by_files", "stacked", "alone", "memory")


@pytest.mark.skipif(sys.platform != "linux", reason="batches travel by descriptors on Linux")
def test_verdicts_agree_with_what_becomes_of_loaders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is run as it is; who dies of it was found, and what it takes is what was said."""
    (tmp_path / "job.py").write_text(JOB, "utf-8")
    room = {"shm_size": 64 * MIB, "shm_free": 4 * MIB, "open_files": 128}
    (tmp_path / "host.json").write_text(json.dumps({"room": room}), "utf-8")
    start_copies(monkeypatch)
    report = preflight.run(
        "host=host.json",
        *(f"job:{name}" for name in NAMES),
        folder=str(tmp_path),
        select=["loader-shm", "loader-stuck"],
        timeout=10.0,
    )
    ran = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    lived = dict(line.split() for line in ran.stdout.splitlines() if len(line.split()) == 2)

    assert [one.check for one in report.findings if one.check != ID] == []
    said = {str(one.evidence["loader"]).removeprefix("job:"): one for one in report.findings}
    assert said.keys() == {"many", "large", "memory"}
    assert {*NAMES} - lived.keys() == {"many", "large", "by_files"}
    needed = said["memory"].evidence["needed"]
    assert isinstance(needed, int)
    assert abs(needed - int(lived["memory"]) - MIB) <= MIB  # one more, as the next is taken


PARCELS = '''\
"""Loaders of which each batch takes 4 MB of shared memory, however it is held."""

import collections
import dataclasses

import torch
from torch.utils.data import DataLoader, Dataset

MIB = 2**20


class Given(Dataset):
    def __init__(self, give):
        self.give = give

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return self.give()


@dataclasses.dataclass(slots=True)
class Slotted:
    image: torch.Tensor


class Around:
    """Makes others of the batches, as what puts them on a GPU does."""

    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        for batch in self.inner:
            yield batch.clone()


def zeros(size=4 * MIB):
    return torch.zeros(size, dtype=torch.uint8)


def sparse():
    places = torch.zeros(2, MIB // 4, dtype=torch.int64)
    return torch.sparse_coo_tensor(places, torch.zeros(MIB // 4), check_invariants=False)


def rows():
    first, places = torch.arange(MIB // 4 + 1), torch.zeros(MIB // 4, dtype=torch.int64)
    values, size = torch.zeros(MIB // 4), (MIB // 4, MIB)
    return torch.sparse_csr_tensor(first, places, values, size, check_invariants=False)


def of(give):
    return DataLoader(Given(give), batch_size=None, num_workers=2)


def dispatched():
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    loader = DataLoader(Given(lambda: zeros(MIB)), batch_size=4, num_workers=2)
    told = DataLoaderConfiguration(dispatch_batches=True)
    return Accelerator(cpu=True, dataloader_config=told).prepare(loader)


def make():
    return {
        "slotted": of(lambda: Slotted(zeros())),
        "deque": of(lambda: collections.deque([zeros(2 * MIB), zeros(2 * MIB)])),
        "sparse": of(sparse),
        "rows": of(rows),
        "around": Around(of(zeros)),
        "dispatched": dispatched(),
        "expanded": of(lambda: torch.zeros(1).expand(MIB)),
        "texts": of(lambda: "a" * 4 * MIB),
    }
'''


@pytest.mark.skipif(sys.platform != "linux", reason="batches travel by shared memory on Linux")
def test_a_batch_is_weighed_however_its_tensors_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what comes out of a loader is made of what its workers sent."""
    (tmp_path / "job.py").write_text(PARCELS, "utf-8")
    room = {"shm_size": 64 * MIB, "shm_free": 8 * MIB, "open_files": 4096}
    (tmp_path / "host.json").write_text(json.dumps({"room": room}), "utf-8")
    start_copies(monkeypatch)
    report = preflight.run(
        "host=host.json", "loader=job:make", folder=str(tmp_path), select=["loader-shm"]
    )
    each = {
        str(one.evidence["loader"]).split("'")[1]: one.evidence["batch_bytes"]
        for one in report.findings
    }

    assert each.keys() == {"slotted", "deque", "sparse", "rows", "around", "dispatched"}
    assert all(3.9 * MIB < int(str(one)) < 6.1 * MIB for one in each.values())


GROWING = '''\
"""Loaders of which some batches are large, and none of the first."""

import torch
from torch.utils.data import DataLoader, Dataset

MIB = 2**20


class Long(Dataset):
    def __init__(self, is_large):
        self.is_large = is_large

    def __len__(self):
        return 60

    def __getitem__(self, index):
        return torch.zeros(4 * MIB if self.is_large(index) else MIB // 16, dtype=torch.uint8)


def sorted_by_length():
    return DataLoader(Long(lambda n: n >= 40), batch_size=None, num_workers=2)


def now_and_then():
    return DataLoader(Long(lambda n: n % 20 == 10), batch_size=None, num_workers=2)


def largest_last():
    return DataLoader(Long(lambda n: n == 59), batch_size=None, num_workers=2)


def alone():
    return DataLoader(Long(lambda n: n >= 40), batch_size=None)
'''


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/shm is Linux's")
def test_batches_that_grow_late_are_weighed_as_they_come_together(tmp_path: Path) -> None:
    """Six are on their way: of large ones 24 MiB, of one among small ones 4.3."""
    (tmp_path / "job.py").write_text(GROWING, "utf-8")
    room = {"shm_size": 64 * MIB, "shm_free": 16 * MIB, "open_files": 1024}
    (tmp_path / "host.json").write_text(json.dumps({"room": room}), "utf-8")
    report = preflight.run(
        "host=host.json",
        *(f"job:{name}" for name in ("sorted_by_length", "now_and_then", "largest_last", "alone")),
        folder=str(tmp_path),
        select=["loader-shm", "loader-end"],
    )

    (one,) = report.findings
    assert (one.check, one.evidence["loader"]) == (ID, "job:sorted_by_length")
    assert one.evidence["needed"] == 24 * MIB
    assert "6 batches of 4.2 MB (up to batch 46) on their way" in one.message


def test_an_epoch_that_takes_no_more_than_its_first_batches_changes_nothing() -> None:
    (one,) = found(way(heaviest=90 * MIB, heaviest_at=12))

    assert one.message == found()[0].message
