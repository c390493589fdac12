"""A script that stops for want of batches is run once more; what a score decides is a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import Seen, line_of, rehearse, run_plainly

pytestmark = pytest.mark.slow

BEGIN = """
import os, shutil, torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(400, 8)
y = (x @ torch.randn(8) > 0).long()
train = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=16)
model = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
out = "out"
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
STOPPING = """


class Stopping:
    def __init__(self, path):
        self.path, self.best = path, 0.9

    def __call__(self, score):
        if score <= self.best:
            return
        else:
            torch.save(model.state_dict(), self.path)


stopping = Stopping("out/best.pt")
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
    "a file by an f-string": (
        KEEPS.replace("kept, path", "kept, f'{out}/best.pt'") + 'torch.load(f"{out}/best.pt")\n',
        'torch.load(f"{out}/best.pt")',
    ),
    "a file that is copied": (
        """
    is_best = score > best
    if is_best:
        shutil.copyfile("out/last.pt", os.path.join(out, "model_best.pt"))
torch.load(os.path.join(out, "model_best.pt"))
""",
        "torch.load(",
    ),
    "a file of which a class has the path": (
        """
    stopping(score)
torch.load("out/best.pt")
""",
        "torch.load(",
    ),
    "a name": (KEEPS + "model.load_state_dict(kept)\n", "model.load"),
    "an assert": ("assert score > 0.9, score\n", "assert score"),
}
BROKEN = {
    "a shape": ("    given.view(7, 11)\n", "given.view"),
    "a file": (KEEPS + 'open("labels.json")\n', "open("),
    "another name than was saved": (
        KEEPS.replace("kept, path", 'kept, "out/best_model.pt"') + 'torch.load("model_best.pt")\n',
        'torch.load("model_best.pt")',
    ),
    "a file that no class was given": (
        '\n    stopping(score)\ntorch.load("pretrained.pt")\n',
        "torch.load(",
    ),
    "an assert that fails with all of them": (
        "    assert len(given) > 1_000, len(given)\n",
        "assert len",
    ),
    "an assert of a shape": ("assert given.shape == (7,)\n", "assert given"),
    "nothing": (KEEPS + "len(None)\n", "len(None)"),
}


def whole(end: str) -> str:
    """Give a script that ends so, with the class that it takes."""
    stops = "stopping" in end
    return (BEGIN.replace("\nfor epoch", f"{STOPPING}for epoch") if stops else BEGIN) + end


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
    assert (more.batches >= 20, more.epochs) == (True, 4)
    assert more.before.frames[-1].line == line_of(path, SOUND[name].strip())
    assert not [*path.parent.glob("out/*")]


@pytest.mark.parametrize("name", SCORED)
def test_what_a_longer_training_reaches_is_a_guess(tmp_path: Path, name: str) -> None:
    end, line = SCORED[name]
    code, path, seen = run(tmp_path, whole(end))

    assert code == 0
    assert seen.told == [f"warning script-eval train.py:{line_of(path, line)}"]
    assert (seen.found[0].why or "").startswith("A guess: ")


@pytest.mark.parametrize("name", BROKEN)
def test_what_more_batches_do_not_mend_is_told_as_it_was(tmp_path: Path, name: str) -> None:
    end, line = BROKEN[name]
    code, path, seen = run(tmp_path, whole(end))

    assert code == 1
    assert seen.told == [f"error script-eval train.py:{line_of(path, line)}"]
    is_at_once = end.startswith("    ")
    assert seen.rehearsal.is_certain is is_at_once
    words = "as it did when nothing was left out" if is_at_once else "unless it needs more than "
    assert words in (seen.found[0].why or "")
    assert (seen.found[0].fix == "Mend this line.") is is_at_once


def test_what_stops_it_beyond_is_told_in_its_place(tmp_path: Path) -> None:
    text = BEGIN + SOUND["features"] + "open('nowhere/log.txt', 'w')\n"
    code, path, seen = run(tmp_path, text)

    assert code == 1
    assert seen.told == [f"error script-eval train.py:{line_of(path, 'open(')}"]


INTERVALS = """
import argparse, torch
args = argparse.ArgumentParser()
for name, steps in (("log", 50), ("eval", 500), ("save", 1000)):
    args.add_argument(f"--{name}_every", type=int, default=steps)
args = args.parse_args()
CHECK
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1, 9):
    optimizer.zero_grad()
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("check", "is_sound"),
    [
        ("assert args.eval_every % args.log_every == 0", True),
        ("print(1000 % (args.eval_every // args.log_every))", True),
        ("assert args.eval_every % (args.log_every + 1) == 0", False),
    ],
)
def test_arguments_that_were_made_less_are_tried_as_they_are(
    tmp_path: Path,
    check: str,
    is_sound: bool,  # noqa: FBT001
) -> None:
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(INTERVALS.replace("CHECK", check), encoding="utf-8")
    seen = rehearse(path)

    assert (run_plainly(path).returncode == 0) == is_sound
    assert (seen.told == []) == is_sound
    assert seen.rehearsal.more is not None
    assert seen.rehearsal.more.as_written
