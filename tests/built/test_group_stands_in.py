"""A process group that talks to nobody stands in for one of NCCL, and the page says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.render.terminal import render
from tests.warming import copies

SOURCE = """
import torch
import torch.distributed as dist


def make_model():
    {asks}
    return torch.nn.Linear(3, 3)
"""


@pytest.mark.parametrize(
    ("asks", "is_told"),
    [
        ("dist.init_process_group('nccl')", True),
        ("dist.init_process_group(backend='cpu:gloo,cuda:nccl')", True),
        ("dist.init_process_group('gloo')", False),
        ("dist.init_process_group()", False),
        ("pass", False),
    ],
)
def test_a_group_that_only_gpus_have_is_told(tmp_path: Path, asks: str, *, is_told: bool) -> None:
    (tmp_path / "job.py").write_text(SOURCE.format(asks=asks), encoding="utf-8")

    with copies():
        report = preflight.run("job:make_model", folder=str(tmp_path), world_size=2, no_ledger=True)

    page = " ".join(render(report).split())
    assert report.verdict == "go"
    assert ("with a stand-in for its nccl process group (job.py:7)" in page) is is_told
