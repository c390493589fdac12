"""A rank whose fellow has died goes on by itself: what the script makes of it is the script's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

RANKS = """
import json, multiprocessing, os, socket, sys, torch.distributed as dist
from preflight.scripts.met.loops.ranks_in_step import Together

def run(rank, port, keeps):
    store = dist.TCPStore("127.0.0.1", port, 2, is_master=keeps)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    together = Together()
    first = together.decided("first", rank == 0)
    dist.barrier()
    return together, first

def keep_the_store(rank, port):
    run(rank, port, True)
    os._exit(0)

if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rank = int(sys.argv[1])
    words = 1 - rank, port
    keeper = multiprocessing.get_context("spawn").Process(target=keep_the_store, args=words)
    keeper.start()
    together, first = run(rank, port, False)
    keeper.join()
    print(json.dumps([first, *(together.decided(f"more {one}", one) for one in (True, False))]))
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_decides_for_itself_once_the_keeper_of_the_store_has_died(
    tmp_path: Path, rank: int
) -> None:
    (tmp_path / "ranks.py").write_text(RANKS, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "ranks.py", str(rank)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True, True, False]
