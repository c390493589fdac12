"""Whether the job's sources train by ranks and divide no batches later is read by words."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.utils.data import DistributedSampler, TensorDataset

import preflight
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


JOB = """\
import torch
{}
from torch.utils.data import DataLoader, TensorDataset

def of(**given):
    return DataLoader(TensorDataset(torch.arange(64.0)), batch_size=4, **given)

def in_order(): return of()
def shuffled(): return of(shuffle=True)
def val_loader(): return of()
"""

DDP = "from torch.nn.parallel import DistributedDataParallel"


@pytest.mark.slow
@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("name", "imports", "is_told"),
    [
        ("in_order", DDP, True),
        ("in_order", "", False),
        ("in_order", f"{DDP}\nfrom accelerate import Accelerator", False),
        ("shuffled", DDP, False),
        ("val_loader", DDP, False),
    ],
    ids=["in order", "no ranks", "accelerate", "shuffled", "evaluation"],
)
def test_what_each_rank_trains_on_in_one_order_needs_a_sampler_that_divides(
    tmp_path: Path, name: str, imports: str, *, is_told: bool
) -> None:
    (tmp_path / "train.py").write_text(JOB.format(imports), encoding="utf-8")

    report = preflight.run(
        f"train:{name}", folder=str(tmp_path), world_size=2, select=["world-order"]
    )

    said = "gives each of 2 ranks all of its 64 samples, in the same order"
    assert [one.message for one in report.findings] == ([said] if is_told else [])


def test_the_sampler_that_is_advised_divides_and_shuffles_by_the_epoch() -> None:
    dataset = TensorDataset(torch.arange(64.0))
    parts = []
    for epoch in range(2):
        samplers = [DistributedSampler(dataset, num_replicas=2, rank=rank) for rank in range(2)]
        for sampler in samplers:
            sampler.set_epoch(epoch)
        parts.append([[*one] for one in samplers])

    for first, last in parts:
        assert sorted(first + last) == [*range(64)]
    assert parts[0] != parts[1]
