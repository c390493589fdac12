"""Pools that a script starts find what it has written, and write nothing into the job's folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from tests.scripts.rehearsing import contents, line_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("copies"),
    pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there"),
]

TRAIN = """\
import concurrent.futures, multiprocessing, os, pathlib
import torch

class Kept(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, number):
        size = pathlib.Path("cache/begun.txt").stat().st_size
        pathlib.Path("cache", f"seen-{number}.txt").write_text("x")
        return torch.randn(4) + size

def work(number):
    read = pathlib.Path("cache/begun.txt").read_text()
    pathlib.Path("cache", f"{number}.txt").write_text(read)
    return int(read) * number

def main():
    os.makedirs("cache")
    pathlib.Path("cache/begun.txt").write_text("2")
    with POOL as pool:
        print("worked", list(pool.map(work, range(3))))
    model = torch.nn.Linear(4, 1)
    loader = torch.utils.data.DataLoader(
        Kept(), 4, num_workers=1, multiprocessing_context="METHOD"
    )
    for batch in loader:
        model(batch).sum().backward()
    print("kept", sorted(os.listdir("cache")))

if __name__ == "__main__":
    main()
"""
POOLS = {
    "pool": "multiprocessing.get_context('METHOD').Pool(2)",
    "executor": (
        "concurrent.futures.ProcessPoolExecutor("
        "2, mp_context=multiprocessing.get_context('METHOD'))"
    ),
}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_a_pool_write_where_the_script_does(
    pool: str, method: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = TRAIN.replace("POOL", POOLS[pool]).replace("METHOD", method)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    before = contents(tmp_path)
    seen = preflight.run("train.py", folder=str(tmp_path), select=["script-"])

    assert (seen.verdict, seen.findings) == ("go", ())
    assert contents(tmp_path) == before
    said = capfd.readouterr().err
    assert "worked [0, 2, 4]" in said
    assert "'0.txt', '1.txt', '2.txt', 'begun.txt', 'seen-0.txt'" in said


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_what_a_process_of_a_pool_raises_is_told_at_its_own_line(
    pool: str, method: str, tmp_path: Path
) -> None:
    text = TRAIN.replace("POOL", POOLS[pool]).replace("METHOD", method)
    text = text.replace("return int(read) * number", "return int(read) / (number - 1)")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (found,) = preflight.run("train.py", folder=str(tmp_path), select=["script-"]).findings

    line = line_of(tmp_path / "train.py", "(number - 1)")
    assert (found.check, found.at.line) == ("script-stopped", line)
    assert found.message.startswith("raises ZeroDivisionError: division by zero")
    assert "Traceback" not in found.message
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert f'train.py", line {line}, in work' in plain.stderr
