"""Writes checkpoints with torch.distributed.checkpoint, in this process or by real ranks."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest


def state(scale: float = 1.0) -> dict[str, Any]:
    """What a trainer saves: weights, numbers, and what is neither."""
    import torch

    weights = {f"layer{n}": torch.arange(256.0).reshape(16, 16) * scale for n in range(3)}
    return {"model": weights, "optimizer": {"lr": [0.1, 2.0]}, "step": 7}


def save(folder: Path, values: dict[str, Any] | None = None, **options: Any) -> Path:
    """Save them as one process does that is no rank of a group."""
    import torch.distributed.checkpoint as dcp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one process is what is meant
        writer = dcp.FileSystemWriter(folder, **options)
        dcp.save(state() if values is None else values, storage_writer=writer, no_dist=True)
    return folder


RANKS = """
import sys, warnings
import torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.tensor import DeviceMesh, Replicate, Shard, distribute_tensor

def run(rank, folder, how):
    warnings.simplefilter("ignore")
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}.group", rank=rank, world_size=2
    )
    mesh = DeviceMesh("cpu", [0, 1])
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
    dist.destroy_process_group()

if __name__ == "__main__":
    import torch.multiprocessing as mp
    mp.spawn(run, args=tuple(sys.argv[1:]), nprocs=2)
"""


def save_by_ranks(folder: Path, how: str = "") -> Path:
    """Save tensors that two ranks share; skips the test where no group can be made.

    Args:
        folder: that of the checkpoint.
        how: `async`, or `alone`, as ranks save that do not speak with each other.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    script = folder.parent / "save_by_ranks.py"
    script.write_text(RANKS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(folder), how],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    script.unlink()
    if done.returncode:
        pytest.skip(f"no group here: {done.stderr[-300:]}")
    return folder
