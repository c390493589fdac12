"""What a loop comes to once in many steps is come to by steps, where these are quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.scripts.facts import in_words
from tests.scripts.rehearsing import Seen, dies_at, line_of, rehearse, run_plainly

pytestmark = pytest.mark.slow

SCRIPT = """
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Config:
    save_every = 40

config = {{"train": {{"save_every": 40.0}}}}
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn({samples}, 8), torch.randint(0, 2, ({samples},)))
loader = DataLoader(data, batch_size=4)

def evaluate():
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y).item()
    model.train()

step = 0
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep({seconds})
        {before}
        if {test}:
            evaluate()
            torch.save(model.state_dict(), {path})
        {behind}
print("done")
"""

TESTS = {
    "step % 40 == 0": ("step += 1", ""),
    "step > 0 and step % Config.save_every == 0": ("", "step += 1"),
    "(i + 1) % config['train']['save_every'] == 0": ("", ""),
    "not step % 40 and step": ("step += 1", ""),
}


def rehearsed(folder: Path, test: str, **changes: object) -> tuple[Path, Seen]:
    (folder / "job").mkdir()
    path = folder / "job" / "train.py"
    before, behind = TESTS[test]
    said = {"samples": 400, "seconds": 0, "path": "'last.pt'", **changes}
    path.write_text(SCRIPT.format(test=test, before=before, behind=behind, **said))
    return path, rehearse(path)


@pytest.mark.parametrize("test", TESTS)
def test_a_save_that_comes_once_in_many_steps_is_come_to(test: str, tmp_path: Path) -> None:
    _, seen = rehearsed(tmp_path, test)

    assert seen.told == []
    assert seen.rehearsal.not_reached == ()
    assert 40 <= seen.rehearsal.steps < 50


def test_what_fails_there_is_told_at_the_line_of_the_plain_script(tmp_path: Path) -> None:
    path, seen = rehearsed(tmp_path, "step % 40 == 0", path="f'{step:q}.pt'")
    plain = run_plainly(path)

    assert dies_at(plain, path) == line_of(path, "torch.save")
    assert seen.told == [f"error script-stopped {path.name}:{line_of(path, 'torch.save')}"]


def test_where_steps_take_long_it_is_said_how_many_are_to_be_taken(tmp_path: Path) -> None:
    path, seen = rehearsed(tmp_path, "step % 40 == 0", seconds=0.5)

    assert seen.rehearsal.not_reached == ("evaluation", "save")
    said = f"--batches 41 comes to {path.name}:{line_of(path, 'if step')}"
    assert said in str(in_words([seen.rehearsal]))


def test_what_no_epoch_comes_to_is_not_gone_on_for(tmp_path: Path) -> None:
    """`--batches` would not help."""
    _, seen = rehearsed(tmp_path, "(i + 1) % config['train']['save_every'] == 0", samples=100)

    assert seen.rehearsal.not_reached == ("evaluation", "save")
    assert seen.rehearsal.steps < 10
    assert "comes to" not in str(in_words([seen.rehearsal]))
