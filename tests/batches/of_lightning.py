"""Loaders as Lightning makes them and takes them, sound ones and others."""

# ruff: noqa: D101, D102  (jobs are written so)

from __future__ import annotations

import logging
from typing import Any

import torch
from libraries import Rows, damaged, damaged_late, of
from lightning_fabric import Fabric
from pytorch_lightning import LightningDataModule, LightningModule, Trainer
from pytorch_lightning.utilities.combined_loader import CombinedLoader

logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


def by_fabric(loader: Any) -> Any:
    return Fabric(accelerator="cpu", devices=1).setup_dataloaders(loader)


class Net(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)

    def training_step(self, batch: Any, _: int) -> Any:
        return self.layer(batch["x"]).sum()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 0.1)


class Data(LightningDataModule):
    def setup(self, stage: Any = None) -> None:
        self.rows = Rows()

    def train_dataloader(self) -> Any:
        return of(self.rows, shuffle=True)

    def val_dataloader(self) -> Any:
        return CombinedLoader([of(self.rows)])


def of_trainer(loader: Any) -> Any:
    """Give a loader as a trainer has made it of another one."""
    trainer = Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        max_steps=1,
    )
    trainer.fit(Net(), loader)
    return trainer.train_dataloader


def sound() -> dict[str, Any]:
    return {
        "fabric": by_fabric(of()),
        "trained": of_trainer(of(shuffle=True, num_workers=0)),
        "combined": CombinedLoader({"a": of(), "b": of(Rows(number=9))}, "max_size_cycle"),
        "module": Data(),
    }


def bad() -> dict[str, Any]:
    return {
        "raises_in_fabric": by_fabric(of(Rows(damaged))),
        "raises_in_one": CombinedLoader([of(), of(Rows(damaged_late))]),
    }
