"""Workers of a loop that is over, or left, end as they do without preflight."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from preflight.findings.report import Report
from preflight.scripts.met.loaders import POINTS
from tests.conftest import Run
from tests.scripts.rehearsing import installed

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="sockets")]

TRAIN = """\
import gc
import multiprocessing

import torch
from torch.utils.data import DataLoader, TensorDataset

gc.disable()


def main():
    loader = DataLoader(TensorDataset(torch.randn(80, 2)), batch_size=4, num_workers=2)
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
        print("workers left:", len(multiprocessing.active_children()), flush=True)
    for _ in loader:
        break
    print("workers left:", len(multiprocessing.active_children()), flush=True)


if __name__ == "__main__":
    main()
"""

LEFT = "workers left: 0\n" * 3


@pytest.mark.parametrize("of_temporary_files", [False, True])
def test_no_worker_outlives_its_epoch_or_a_loop_that_is_left(
    preflight: Run, *, of_temporary_files: bool
) -> None:
    """A job may lie in the folder for temporary files, where workers have their sockets.

    The name of a socket has to be short, and so that of the folder.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text(TRAIN, encoding="utf-8")
        plain = subprocess.run(
            [sys.executable, "train.py"], cwd=folder, text=True, capture_output=True, check=False
        )
        env = {"TMPDIR": folder} if of_temporary_files else {}
        done = preflight("run", "--format", "json", "train.py", cwd=folder, env=env)
    report = Report.from_json(done.stdout)

    assert plain.stdout == LEFT
    assert "".join(f"{one}\n" for one in done.stderr.splitlines() if "left" in one) == LEFT
    assert report.verdict == "go"
    assert "wrote" not in report.targets[0].text


@pytest.mark.parametrize(("samples", "begun_too_soon"), [(20, True), (4, False)])
def test_what_an_epoch_waits_for_that_begins_too_soon_is_no_part_of_a_step(
    tmp_path: Path, samples: int, *, begun_too_soon: bool
) -> None:
    """Of 20 samples the script gets 4: new workers begin after 2 batches, and not after 10."""
    data = TensorDataset(torch.zeros(samples))
    loader = DataLoader(data, batch_size=2, num_workers=1, worker_init_fn=slowly)
    aside: list[float] = []
    with installed(POINTS, tmp_path) as watch:
        for _ in range(2):
            aside += [watch.aside for _ in loader]

    assert aside[:2] == [0.0, 0.0]
    assert (aside[2] >= WAIT) == begun_too_soon
    assert aside[2] == aside[3]


WAIT = 0.2


def slowly(_worker: int) -> None:
    time.sleep(WAIT)
