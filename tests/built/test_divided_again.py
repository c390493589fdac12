"""Lightning's Trainer divides by itself, unless it is told not to, or a sampler does already."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.built.divided_again import by_trainer
from preflight.finding import Finding

SOURCE = """
import os

import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Subset

RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class LightningDataModule:  # known by its name: to import the package takes longer than the rest
    def setup(self, stage=None): pass


class Numbers(Dataset):
    def __len__(self): return 45
    def __getitem__(self, place): return torch.tensor([place])


class Stream(IterableDataset):
    def __iter__(self): return iter(range(RANK, 44, WORLD))


class Part(LightningDataModule):
    def train_dataloader(self): return DataLoader(Subset(Numbers(), range(RANK, 45, WORLD)))


class Places(LightningDataModule):
    def train_dataloader(self): return DataLoader(Numbers(), sampler=range(RANK, 45, WORLD))


class Whole(LightningDataModule):
    def train_dataloader(self): return DataLoader(Numbers(), shuffle=True)


class Divided(LightningDataModule):
    def train_dataloader(self): return DataLoader(Numbers(), sampler=DistributedSampler(Numbers()))


class Streamed(LightningDataModule):
    def train_dataloader(self): return DataLoader(Stream())
"""

TRAINS = "from pytorch_lightning import Trainer\n\n\ndef main(): Trainer(devices=4).fit(None)\n"


def _left_by_the_sampler() -> int:
    """Count what no rank has where a DistributedSampler is given the part of each."""
    from torch.utils.data import DistributedSampler

    parts = [range(rank, 45, 4) for rank in range(4)]
    samplers = [DistributedSampler(part, 4, rank) for rank, part in enumerate(parts)]  # type: ignore[arg-type, var-annotated]
    return 45 - len({parts[rank][at] for rank, one in enumerate(samplers) for at in one})


def _found(folder: Path, *names: str) -> dict[str, Finding]:
    report = preflight.run(
        *(f"data:{one}" for one in names), folder=str(folder), world_size=4, select=["world-order"]
    )
    return {(one.at.name or "").split(":")[1].split(".")[0]: one for one in report.findings}


@pytest.mark.slow
def test_what_ranks_divide_and_the_trainer_divides_again_is_told(
    tmp_path: Path, copies: None
) -> None:
    """Not what it divides alone, nor streams, nor where a text of the folder tells it not to."""
    (tmp_path / "data.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "train.py").write_text(TRAINS, encoding="utf-8")

    found = _found(tmp_path, "Part", "Places", "Whole", "Divided", "Streamed")

    assert found.keys() == {"Part", "Places"}
    assert {one.severity.word for one in found.values()} == {"error"}
    assert _left_by_the_sampler() == 33
    for one in found.values():  # of two ranks that were made: the others may have as many
        assert (one.evidence["others"], one.evidence["compared"]) in {(33, 45), (36, 48)}
    (tmp_path / "conf").mkdir()
    told = tmp_path / "conf" / "trainer.yaml"
    told.write_text("use_distributed_sampler: false\n", encoding="utf-8")
    assert not _found(tmp_path, "Part")


def test_the_source_that_has_the_trainer_is_named(tmp_path: Path) -> None:
    class LightningDataModule: ...

    root, made = str(tmp_path), LightningDataModule()

    assert by_trainer(made, [], root) == ""
    (tmp_path / "train.py").write_text(TRAINS, encoding="utf-8")
    assert by_trainer(made, [], root) == "train.py"
    assert by_trainer(object(), [], root) is None
    (tmp_path / "run.sh").write_text("python train.py --trainer.replace_sampler_ddp false\n")
    assert by_trainer(made, [], root) is None


def test_a_class_of_that_name_that_is_not_lightnings_has_no_trainer(tmp_path: Path) -> None:
    class LightningDataModule: ...

    root, made = str(tmp_path), LightningDataModule()
    own = "class LightningDataModule: ...\n\nclass Trainer: ...\n\nTrainer().fit()\n"
    (tmp_path / "train.py").write_text(own, encoding="utf-8")

    assert by_trainer(made, [], root) is None
    (tmp_path / "other.py").write_text("import pytorch_lightning as pl\n", encoding="utf-8")
    assert by_trainer(made, [], root) == "train.py"


def test_fabric_divides_only_what_it_is_handed(tmp_path: Path) -> None:
    """As real ranks of it do: of 96 samples, 48 are lost where it is handed a part, and else 0."""

    class LightningDataModule: ...

    root, made = str(tmp_path), LightningDataModule()
    text = "from lightning.fabric import Fabric\n\nfabric = Fabric(devices=2)\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    assert by_trainer(made, [], root) is None
    handed = f"{text}loader = fabric.setup_dataloaders(loader)\n"
    (tmp_path / "train.py").write_text(handed, encoding="utf-8")
    assert by_trainer(made, [], root) == ""
    (tmp_path / "train.py").write_text(text + TRAINS, encoding="utf-8")
    assert by_trainer(made, [], root) == "train.py"
