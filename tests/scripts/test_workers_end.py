"""Workers of a loop that is over, or left, end as they do without preflight."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from preflight.findings.report import Report
from tests.conftest import Run

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
