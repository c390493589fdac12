"""An average that is set to evaluate for good makes no evaluation of the batches of training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import rehearse

pytestmark = pytest.mark.slow

SCRIPT = """
import copy
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Prefetcher:
    def __init__(self, loader):
        self.loader, self.batches = loader, iter(loader)

    def next(self):
        return next(self.batches, None)

    def reset(self):
        self.batches = iter(self.loader)

data = TensorDataset(torch.randn(40, 8), torch.randint(0, 2, (40,)))
batches = Prefetcher(DataLoader(data, batch_size=4))
model = nn.Linear(8, 2)
model.train()
average = copy.deepcopy(model)
average.eval()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    batches.reset()
    batch = batches.next()
    while batch is not None:
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch = batches.next()
    if {evaluates}:
        model.eval()
        with torch.no_grad():
            losses = [nn.functional.cross_entropy(model(x), y) for x, y in batches.loader]
        model.train()
"""


@pytest.mark.parametrize("evaluates", [False, True])
def test_batches_of_training_are_no_evaluation(tmp_path: Path, *, evaluates: bool) -> None:
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(SCRIPT.format(evaluates=evaluates))
    seen = rehearse(path)

    assert seen.told == []
    assert seen.rehearsal.not_reached == (("save",) if evaluates else ("evaluation", "save"))
