"""env-launch says what a process group asks of the environment, as torch itself asks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.host.environment import TORCHRUN
from preflight.targets.targets import Source
from tests.read_sources import read_source

pytestmark = pytest.mark.usefixtures("at_hand")

IMPORTS = "import os, sys\nimport torch\nimport torch.distributed as dist\n"
JOINS = (
    'dist.init_process_group("gloo")',
    'torch.distributed.init_process_group(backend="gloo", init_method="env://")',
    'from torch.distributed import init_process_group as join\njoin("gloo", None)',
    'from torch.distributed import distributed_c10d as c10d\nc10d.init_process_group("gloo")',
    'dist.init_process_group("gloo", rank=-1)',
    'def main():\n    dist.init_process_group("gloo")\nmain()',
)
"""What raises without a launcher."""

OTHERWISE = (
    'dist.init_process_group("gloo", "file://" + sys.argv[1], rank=0, world_size=1)',
    'dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)',
    "dist.init_process_group(**{'store': dist.HashStore(), 'rank': 0, 'world_size': 1})",
    'if "RANK" in os.environ:\n    dist.init_process_group("gloo")',
    'if int(os.environ.get("WORLD_SIZE", 1)) > 1:\n    dist.init_process_group("gloo")',
    'try:\n    dist.init_process_group("gloo")\nexcept ValueError:\n    pass',
    "class Own:\n    def init_process_group(self): ...\nOwn().init_process_group()",
    (
        'os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")\n'
        'dist.init_process_group("gloo")'
    ),
)
"""What does not, and is no matter of the launch."""


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in TORCHRUN & os.environ.keys():
        monkeypatch.delenv(name)


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(IMPORTS + text + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("text", [*JOINS, *OTHERWISE])
def test_torch_raises_where_it_is_told(tmp_path: Path, text: str) -> None:
    path = script(tmp_path, text)
    command = [sys.executable, str(path), str(tmp_path / "meets")]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)

    if b"no GPUs found" in done.stderr:
        pytest.skip("the group that this torch makes by itself needs a GPU")

    facts = read_source(Source(path="train.py"), str(tmp_path), {})
    open_reads = [one for one in facts.reads if not one.guarded]

    assert bool(done.returncode) == bool(open_reads) == (text in JOINS), done.stderr
    if open_reads:
        assert f"variable {open_reads[0].variable} expected" in done.stderr.decode()


def test_one_finding_names_all_that_is_not_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, JOINS[-1])
    run = {"folder": str(tmp_path), "select": ["env"]}

    (finding,) = preflight.run("source=train.py", **run).findings
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.setenv("RANK", "0")
    (other,) = [one for one in preflight.run("source=train.py", **run).findings if one.at.line]
    monkeypatch.setenv("WORLD_SIZE", "1")

    assert finding.message == (
        "reads RANK, which is not set (nor are WORLD_SIZE, MASTER_ADDR, MASTER_PORT): "
        'dist.init_process_group("gloo") raises ValueError'
    )
    assert finding.severity.word == "note"
    assert other.message.startswith("reads WORLD_SIZE, which is not set: dist.init_process_group(")
    assert preflight.run("source=train.py", **run).findings == ()
