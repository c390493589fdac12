"""The short batch at the end of a whole epoch is one of the few that a rehearsal gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

SCRIPT = """\
import itertools

import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

data = TensorDataset(torch.randn(90, 4))
loader = DataLoader(data, batch_size=16, shuffle=True)
other = DataLoader(data, batch_size=16)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
kept = torch.zeros(16, 4)
for epoch in range(2):
    for (x,) in loader:
        loss = (model(x) + kept).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        print(epoch, [float(model(x).mean()) for (x,) in loader])
"""
Change = tuple[str, str]

IN_TURN: Change = ("(x,) in loader:\n        loss", "(x,), _ in zip(loader, other):\n        loss")
FEWER: Change = (
    "DataLoader(data, batch_size=16)",
    "DataLoader(Subset(data, range(64)), batch_size=16)",
)
FITS: Change = ("+ kept", "")
DIES: dict[str, tuple[Change, ...]] = {
    "of one loader": (),
    "of one with workers": (("shuffle=True", "num_workers=2"),),
    "of two in turn": (IN_TURN,),
    "of two in turn that are counted": (
        (
            "(x,) in loader:\n        loss",
            "_, ((x,), _) in enumerate(zip(loader, other)):\n        loss",
        ),
    ),
    "of the shorter one of two": (
        ("(x,) in loader:\n        loss", "_, (x,) in zip(loader, other):\n        loss"),
        ("DataLoader(data, batch_size=16)", "DataLoader(Subset(data, range(70)), batch_size=16)"),
    ),
    "of an evaluation": (FITS, ("float(model(x)", "float((model(x) + kept)")),
}
GOES_ON: dict[str, tuple[Change, ...]] = {
    "nothing that counts samples": (FITS,),
    "none that is short": (("shuffle=True", "drop_last=True"),),
    "one that the script leaves out": (
        ("        loss = ", "        if len(x) < 16:\n            continue\n        loss = "),
    ),
    "a loop that ends before it": (
        (
            "(x,) in loader:\n        loss",
            "step, (x,) in enumerate(loader):\n        if step > 3: break\n        loss",
        ),
    ),
    "a part of the loader": (
        ("in loader:\n        loss", "in itertools.islice(loader, 4):\n        loss"),
    ),
    "batches of a number": (
        (
            "(x,) in loader:\n        loss",
            "step, (x,) in enumerate(loader):\n        if step > 3: continue\n        loss",
        ),
    ),
    "one beside a shorter loader": (IN_TURN, FEWER),
    "one beside the last of a shorter loader": (
        IN_TURN,
        ("DataLoader(data, batch_size=16)", "DataLoader(Subset(data, range(70)), batch_size=16)"),
    ),
}


def written(folder: Path, changes: tuple[Change, ...]) -> Path:
    text = SCRIPT
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", DIES)
def test_what_dies_at_the_end_of_its_first_epoch_dies_in_its_rehearsal(
    name: str, tmp_path: Path
) -> None:
    path = written(tmp_path, DIES[name])
    seen = rehearse(path)

    assert [one.at.line for one in seen.found] == [dies_at(run_plainly(path), path)]
    assert seen.rehearsal.batches < 8


@pytest.mark.parametrize("name", GOES_ON)
def test_what_comes_to_its_end_does_so(name: str, tmp_path: Path) -> None:
    path = written(tmp_path, GOES_ON[name])

    assert rehearse(path).told == []
    assert run_plainly(path).returncode == 0


def test_it_is_given_once(tmp_path: Path) -> None:
    """At the end of the first epoch of a line: of training here, and of the evaluation."""
    seen = rehearse(written(tmp_path, (FITS,)))

    assert seen.rehearsal.batches == 2 * (2 + 2) + 2
    assert "epochs to 2 batches, and the short one at their end" in seen.rehearsal.shortened


# --- trainers

LIGHTNING = """\
import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, TensorDataset

kept = torch.zeros(16, 4)


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.body, self.seen = torch.nn.Linear(4, 4), []

    def training_step(self, batch, _):
        return self.body(batch[0]).square().mean()

    def validation_step(self, batch, _):
        self.seen.append(self.body(batch[0]))

    def on_validation_epoch_end(self):
        torch.cat(self.seen)
        self.seen.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = TensorDataset(torch.randn(90, 4))
trainer = pl.Trainer(
    max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(Model(), DataLoader(data, batch_size=16), DataLoader(data, batch_size=16))
"""

TRANSFORMERS = """\
import torch
from transformers import Trainer, TrainingArguments

kept = torch.zeros(16, 4)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)

    def forward(self, x):
        return {"loss": self.body(x).square().mean()}


data = [{"x": torch.randn(4)} for _ in range(90)]
args = TrainingArguments(
    "runs", use_cpu=True, per_device_train_batch_size=16, per_device_eval_batch_size=16,
    num_train_epochs=2, report_to="none", save_strategy="no", disable_tqdm=True,
)
trainer = Trainer(model=Model(), args=args, train_dataset=data, eval_dataset=data)
trainer.train()
trainer.evaluate()
"""

KEPT_IN_STEP: Change = ("self.body(batch[0]).square", "(self.body(batch[0]) + kept).square")
STACKED: Change = ("torch.cat", "torch.stack")
KEPT: Change = ("self.body(x).square", "(self.body(x) + kept).square")
BY_TRAINERS: dict[str, tuple[str, tuple[Change, ...]]] = {
    "of a training step of Lightning": (LIGHTNING, (KEPT_IN_STEP,)),
    "of a validation of Lightning": (LIGHTNING, (STACKED,)),
    "of transformers": (TRANSFORMERS, (KEPT,)),
}
TRAINED: dict[str, tuple[str, tuple[Change, ...]]] = {
    "nothing that counts samples in Lightning": (LIGHTNING, ()),
    "a part that Lightning leaves": (
        LIGHTNING,
        (
            *(KEPT_IN_STEP, STACKED),
            ("max_epochs=2", "max_epochs=2, limit_train_batches=4, limit_val_batches=0.5"),
        ),
    ),
    "so many steps of Lightning": (LIGHTNING, (KEPT_IN_STEP, ("max_epochs=2", "max_steps=4"))),
    "nothing that counts samples in transformers": (TRANSFORMERS, ()),
    "so many steps of transformers": (
        TRANSFORMERS,
        (KEPT, ("num_train_epochs=2", "max_steps=4"), ("trainer.evaluate()", "")),
    ),
}


def by_trainer(folder: Path, text: str, changes: tuple[Change, ...]) -> Path:
    pytest.importorskip("pytorch_lightning" if text is LIGHTNING else "transformers")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = folder / "job" / "train.py"
    path.parent.mkdir()
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", BY_TRAINERS)
def test_what_dies_at_the_end_of_an_epoch_of_a_trainer_dies_in_its_rehearsal(
    name: str, tmp_path: Path
) -> None:
    path = by_trainer(tmp_path, *BY_TRAINERS[name])
    seen = rehearse(path)

    assert [one.at.line for one in seen.found] == [dies_at(run_plainly(path), path)]


@pytest.mark.parametrize("name", TRAINED)
def test_what_a_trainer_brings_to_its_end_comes_to_it(name: str, tmp_path: Path) -> None:
    path = by_trainer(tmp_path, *TRAINED[name])

    assert run_plainly(path).returncode == 0
    assert [one for one in rehearse(path).told if one.startswith("error")] == []
