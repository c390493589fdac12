"""Writes checkpoints with torch.distributed.checkpoint, in this process or by real ranks."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.warming import copies


def state(scale: float = 1.0) -> dict[str, Any]:
    """What a trainer saves: weights, numbers, and what is neither."""
    import torch

    weights = {f"layer{n}": torch.arange(256.0).reshape(16, 16) * scale for n in range(3)}
    return {"model": weights, "optimizer": {"lr": [0.1, 2.0]}, "step": 7}


def save(folder: Path, values: dict[str, Any] | None = None, **options: Any) -> Path:
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one process is what is meant
        writer = dcp.FileSystemWriter(folder, **options)
        dcp.save(state() if values is None else values, storage_writer=writer, no_dist=True)
    return folder


HOWS = ("together", "async", "alone")

RANKS = """
import sys, warnings
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor

def save(rank, folder, how, mesh):
    values = {
        "sharded": distribute_tensor(torch.arange(4096.0).reshape(64, 64), mesh, [Shard(0)]),
        "replicated": distribute_tensor(torch.ones(9), mesh, [Replicate()]),
        "step": 3,
    }
    if how == "async":
        dcp.async_save(values, checkpoint_id=folder).result()
    elif how == "alone":
        values = {"mine": torch.full((99,), float(rank))}
        dcp.save(values, checkpoint_id=folder, use_collectives=False)
    else:
        dcp.save(values, checkpoint_id=folder)
    dist.barrier()

def run(rank, folder, hows):
    warnings.simplefilter("ignore")
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/group", rank=rank, world_size=2
    )
    mesh = DeviceMesh("cpu", [0, 1])
    for how in hows:
        save(rank, f"{folder}/{how}", how, mesh)
    dist.destroy_process_group()

if __name__ == "__main__":
    import torch.multiprocessing as mp
    # Where processes can be copied, torch is imported once and not three times.
    method = "fork" if sys.platform == "linux" else "spawn"
    mp.start_processes(run, args=(sys.argv[1], sys.argv[2:]), nprocs=2, start_method=method)
"""


def save_by_ranks(folder: Path, how: str = "together") -> Path:
    """Save tensors that two ranks share; skips the test where no group can be made.

    `alone` is how ranks save that do not speak with each other.
    """
    made = _saved_by_ranks()
    if isinstance(made, str):
        pytest.skip(f"no group here: {made}")
    shutil.copytree(Path(made.name) / how, folder)
    return folder


@functools.cache
def _saved_by_ranks() -> tempfile.TemporaryDirectory[str] | str:
    """Have real ranks save in each of these ways; or give what they said that could not."""
    made = tempfile.TemporaryDirectory()
    script = Path(made.name) / "save_by_ranks.py"
    script.write_text(RANKS, encoding="utf-8")
    with copies():
        done = subprocess.run(
            [sys.executable, str(script), made.name, *HOWS],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
    if done.returncode:
        made.cleanup()
        return done.stderr[-300:]
    return made


GROUP = """
import torch, torch.distributed as dist
from torch.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor
dist.init_process_group("gloo", init_method="file://{folder}/group", rank=0, world_size=1)
mesh = DeviceMesh("cpu", [0])
{code}
dist.destroy_process_group()
"""


def in_a_group(folder: Path, code: str) -> None:
    """Run code in a process that is a group of one; skips the test where none can be made."""
    words = [sys.executable, "-c", GROUP.format(folder=folder, code=code)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no group here: {done.stderr[-300:]}")
