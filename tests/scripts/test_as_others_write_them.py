"""Scripts in the ways in which public repositories write them, held against their plain runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, line_of, rehearse, run_plainly

pytestmark = pytest.mark.slow

BY_FIELDS = """
import argparse, dataclasses, torch
@dataclasses.dataclass
class Config:
    lr: float = 1e-3
parser = argparse.ArgumentParser()
for one in dataclasses.fields(Config):
    parser.add_argument("--" + one.name, type=one.type, default=one.default)
args = parser.parse_args()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
model.eval()
torch.zeros(3, 2).sum()
model.train()
for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
"""

HANDLED = """
import sys, traceback, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def main():
    for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
        optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step()
    model.eval()
    with torch.no_grad():
        for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
            print(model(batch).argmax(2))
try:
    main()
except Exception:
    traceback.print_exc()
    sys.exit(1)
"""

FABRIC = """
import sys, torch
from lightning_fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=1)
model = torch.nn.Linear(2, 1)
model, optimizer = fabric.setup(model, torch.optim.Adam(model.parameters()))
state = {"model": model, "optimizer": optimizer, "steps": 0}
if "--resume" in sys.argv: fabric.load("last.ckpt", state)
for epoch in range(2):
    for batch in fabric.setup_dataloaders(torch.utils.data.DataLoader(torch.ones(8, 2), 2)):
        optimizer.zero_grad(); fabric.backward(model(batch).sum()); optimizer.step()
        state["steps"] += 1
    fabric.save("last.ckpt", state)
"""

SAMPLES = """
import argparse, torch
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
args = parser.parse_args()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())
step = 0
if args.resume:
    checkpoint = torch.load(args.resume)
    model.load_state_dict(checkpoint["model"]); optimizer.load_state_dict(checkpoint["optimizer"])
for epoch in range(4):
    for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
        optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step(); step += 1
        torch.save(torch.ones(3, 3), f"sample-{step}.pt")
    torch.save(model.state_dict(), "best.pt")
    if not epoch: continue
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, f"model-{step}.pt")
"""


def planted(folder: Path, text: str) -> Path:
    (folder / "job").mkdir()
    path = folder / "job" / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_types_of_fields_are_types_as_in_a_plain_run(tmp_path: Path) -> None:
    """A script has no `from __future__ import annotations` but its own."""
    path = planted(tmp_path, BY_FIELDS)

    assert run_plainly(path).returncode == 0
    assert rehearse(path).told == []


def test_what_a_script_handles_by_an_exit_is_told_at_its_line(tmp_path: Path) -> None:
    """As hydra does for all of its scripts: it prints the exception, and exits."""
    path = planted(tmp_path, HANDLED)
    plain = run_plainly(path)
    line = line_of(path, "argmax(2)")

    assert plain.returncode == 1
    assert f"line {line}, in main" in plain.stderr
    assert rehearse(path).told == [f"error script-eval train.py:{line}"]


def test_an_exit_of_its_own_is_told_as_one(tmp_path: Path) -> None:
    """Also where another exception was handled long before, and of the code for arguments."""
    text = HANDLED.replace(".argmax(2)", "").replace("    main()\n", "    main(); sys.exit(3)\n")
    path = planted(
        tmp_path,
        text.replace("import sys", "try: 1 / 0\nexcept ZeroDivisionError: pass\nimport sys"),
    )

    assert run_plainly(path).returncode == 3
    assert rehearse(path).told == ["error script-stopped train.py:None"]


def test_an_evaluation_before_the_first_step_is_one(tmp_path: Path) -> None:
    """Of a model that an optimizer has by then."""
    path = planted(tmp_path, BY_FIELDS.replace(".sum()\nmodel.train", ".sun()\nmodel.train"))
    line = line_of(path, "sun()")

    assert dies_at(run_plainly(path), path) == line
    assert rehearse(path).told == [f"error script-eval train.py:{line}"]


def test_what_fabric_saves_is_seen_and_resumed(tmp_path: Path) -> None:
    pytest.importorskip("lightning_fabric")
    path = planted(tmp_path, FABRIC.replace('"last.ckpt", state)\nfor', '"last.ckpt", {})\nfor'))
    options = {"wants": ["SavedState", "Resumed"], "resume_with": "--resume"}

    seen = rehearse(path, **options)  # type: ignore[arg-type]

    assert [one.at.line for one in seen.rehearsal.met if one.what == "save" and one.at] == [
        line_of(path, "fabric.save")
    ]
    assert {one.check for one in seen.found} == {"script-resume"}


def test_a_step_that_begins_anew_is_told_where_samples_are_saved_first(tmp_path: Path) -> None:
    """And weights alone, of an epoch before the first whole checkpoint."""
    path = planted(tmp_path, SAMPLES)

    seen = rehearse(path, wants=["SavedState", "Resumed"])

    (told,) = seen.found
    assert told.message.startswith("saves `step` as 3 next, where the checkpoint has 4")
    assert told.message.endswith("--resume model-4.pt")


WRITTEN = """
import os, sys, tempfile, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())
begin = 0
if sys.argv[1:2] == ["--resume"]:
    state = torch.load(sys.argv[2])
    model.load_state_dict(state["model"])
    begin = state["epoch"] + 1
for epoch in range(begin, 4):
    for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
        optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step()
    descriptor, name = tempfile.mkstemp(dir=".")
    with os.fdopen(descriptor, "wb") as file:
        torch.save({"model": model.state_dict(), "epoch": epoch}, file)
    os.replace(name, f"{epoch}.pt")
"""


def test_a_save_into_a_file_that_was_opened_by_its_descriptor_is_one(tmp_path: Path) -> None:
    path = planted(tmp_path, WRITTEN)

    seen = rehearse(path, wants=["SavedState", "Resumed"])

    (told,) = seen.found
    line = line_of(path, "optimizer =")
    assert (told.check, told.at.line) == ("script-resume", line)
    assert told.message.startswith("goes on with an empty state of Adam, which was not saved")
    assert told.message.endswith("--resume 0.pt")


ADDED_UP = """
import sys, torch
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(model.parameters())
loader = torch.utils.data.DataLoader(torch.ones(16, 2), 2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
steps = 0
if sys.argv[1:2] == ["--resume"]:
    accelerator.load_state(sys.argv[2])
    steps = int(sys.argv[2].rpartition("-")[2])
for epoch in range(steps // 4, 4):
    skipped = steps % 4 * 2
    for batch in accelerator.skip_first_batches(loader, skipped) if skipped else loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).sum())
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            steps += 1
        if accelerator.sync_gradients and steps % 2 == 0:
            accelerator.save_state(f"state-{steps}")
"""


def test_batches_that_accelerate_adds_up_are_no_count_of_training(tmp_path: Path) -> None:
    pytest.importorskip("accelerate")
    path = planted(tmp_path, ADDED_UP)

    seen = rehearse(path, wants=["SavedState", "Resumed"], resume_with="--resume {checkpoint}")

    assert seen.told == []
