"""Starts commands as a launcher does: one process for each rank, with its variables."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conftest import ROOT, START


class Done(NamedTuple):
    """How one rank has ended."""

    code: int
    stdout: str
    stderr: str


def free_port() -> int:
    """Give a port that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def as_ranks(
    folder: Path,
    commands: Sequence[Sequence[str]],
    *,
    of: int | None = None,
    patience: float = 120,
    **variables: str,
) -> list[Done]:
    """Run a command for each rank in a folder, as `srun` would: rank 0 of the script has the store.

    `of` is how many ranks each is told of, where some of them never come.
    """
    told: Mapping[str, str] = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(of or len(commands)),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    ranks = [
        subprocess.Popen(
            [sys.executable, *command],
            cwd=folder,
            env={**os.environ, **told, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, command in enumerate(commands)
    ]
    ended = []
    for one in ranks:
        try:
            out, err = one.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            one.kill()
            out, err = one.communicate()
        ended.append(Done(one.returncode, out, err))
    return ended


def preflight(*words: str) -> list[str]:
    """Give the words that start the command."""
    return ["-c", START, "run", "--device", "cpu", "--format", "json", *words]
