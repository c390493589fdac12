"""Whether the job's sources train by ranks and divide no batches later is read by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.built.undivided import trains_undivided

DDP = """
import os
from torch.nn.parallel import DistributedDataParallel
local_rank = int(os.environ["LOCAL_RANK"])
model = DistributedDataParallel(model, device_ids=[local_rank])
for x in make_loader():
    model(x)
"""


def told(folder: Path, text: str) -> str:
    (folder / "train.py").write_text(text, encoding="utf-8")
    (folder / "data.py").write_text("SIZE = 256 % 7\n", encoding="utf-8")
    return trains_undivided([str(folder / one) for one in ("data.py", "train.py")], str(folder))


def test_a_script_that_averages_gradients_and_takes_batches_as_they_come_is_named(
    tmp_path: Path,
) -> None:
    assert told(tmp_path, DDP) == "train.py"
    assert told(tmp_path, DDP.replace("DistributedDataParallel", "fully_shard")) == "train.py"
    assert told(tmp_path, DDP.replace("DistributedDataParallel", "Compiled")) == ""


@pytest.mark.parametrize(
    "line",
    [
        *("loader = accelerator.prepare(loader)", "import lightning as L", "x = x.chunk(2)[rank]"),
        *("if step % world_size != rank: continue", "x = x[rank::world]", "dist.broadcast(x, 0)"),
        *("trainer = MyTrainer(loader)", "mesh = init_device_mesh('cuda', (2, 2))"),
        *("data = split_dataset_by_node(data, 0, 2)", "islice(loader, rank, None, world)"),
        *("val = DistributedSampler(val_data)", "from megatron import tensor_parallel"),
    ],
)
def test_whatever_may_divide_batches_later_leaves_it_unknown(line: str, tmp_path: Path) -> None:
    assert told(tmp_path, f"{DDP}\n{line}\n") == ""


def test_a_source_that_cannot_be_read_leaves_it_unknown(tmp_path: Path) -> None:
    assert trains_undivided([str(tmp_path / "gone.py")], str(tmp_path)) == ""
