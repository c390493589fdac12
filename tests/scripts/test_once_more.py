"""A script that stops for want of batches is run once more; what a score decides is a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import Seen, line_of, rehearse, run_plainly

pytestmark = pytest.mark.slow

BEGIN = """
import os, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(400, 8)
y = (x @ torch.randn(8) > 0).long()
train = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=16)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
best, kept, path = 0.9, None, os.path.join("out", "best.pt")
os.makedirs("out", exist_ok=True)
for epoch in range(60):
    model.train()
    for a, b in train:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(a), b).backward()
        optimizer.step()
    model.eval()
    given = []
    with torch.no_grad():
        for a, b in val:
            given.append(model(a).argmax(1) == b)
    given = torch.cat(given).float()
    score = given.mean().item()
    if epoch % 20 == 0:
        torch.save(model.state_dict(), os.path.join("out", "last.pt"))
"""
KEEPS = """
    if score > best:
        best, kept = score, dict(model.state_dict())
        torch.save(kept, path)
"""

SOUND = {
    "features": "    given[torch.arange(60)].mean()\n",
    "folds": "    given.view(5, -1)[:, 15]\n",
    "a set of labels": "    assert len(given) >= 3 * 16 + 1, 'too few'\n",
}
SCORED = {
    "a file": (KEEPS + "model.load_state_dict(torch.load(path))\n", "model.load"),
    "a file by its name": (
        KEEPS.replace("kept, path", 'kept, "best.pt"') + 'torch.load("best.pt")\n',
        'torch.load("best.pt")',
    ),
    "a name": (KEEPS + "model.load_state_dict(kept)\n", "model.load"),
    "an assert": ("assert score > 0.9, score\n", "assert score"),
}
BROKEN = {
    "a shape": ("    given.view(7, 11)\n", "given.view"),
    "a file": (KEEPS + 'open("labels.json")\n', "open("),
    "an assert of a shape": ("assert given.shape == (7,)\n", "assert given"),
    "nothing": (KEEPS + "len(None)\n", "len(None)"),
}


def run(folder: Path, text: str) -> tuple[int, Path, Seen]:
    """Run it plainly in one folder, and rehearse it in another."""
    for name in ("plain", "job"):
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(text, encoding="utf-8")
    plain = run_plainly(folder / "plain" / "train.py")
    path = folder / "job" / "train.py"
    return plain.returncode, path, rehearse(path, wants=["SavedState", "Steps"])


@pytest.mark.parametrize("name", SOUND)
def test_a_script_that_needs_more_batches_is_given_them_and_not_told(
    tmp_path: Path, name: str
) -> None:
    code, path, seen = run(tmp_path, BEGIN + SOUND[name])
    more = seen.rehearsal.more

    assert (code, seen.told, seen.rehearsal.ended.how) == (0, [], "returned")
    assert more is not None
    assert (more.batches, more.epochs) == (20, 10)
    assert more.before.frames[-1].line == line_of(path, SOUND[name].strip())
    assert not [*path.parent.glob("out/*")]


@pytest.mark.parametrize("name", SCORED)
def test_what_a_longer_training_reaches_is_a_guess(tmp_path: Path, name: str) -> None:
    end, line = SCORED[name]
    code, path, seen = run(tmp_path, BEGIN + end)

    assert code == 0
    assert seen.told == [f"warning script-eval train.py:{line_of(path, line)}"]
    assert (seen.found[0].why or "").startswith("A guess: ")


@pytest.mark.parametrize("name", BROKEN)
def test_what_more_batches_do_not_mend_is_told_as_it_was(tmp_path: Path, name: str) -> None:
    end, line = BROKEN[name]
    code, path, seen = run(tmp_path, BEGIN + end)

    assert code == 1
    assert seen.told == [f"error script-eval train.py:{line_of(path, line)}"]
    assert "with 20 batches of an epoch, too" in (seen.found[0].why or "")


def test_what_stops_it_beyond_is_told_in_its_place(tmp_path: Path) -> None:
    text = BEGIN + SOUND["features"] + "open('nowhere/log.txt', 'w')\n"
    code, path, seen = run(tmp_path, text)

    assert code == 1
    assert seen.told == [f"error script-eval train.py:{line_of(path, 'open(')}"]
