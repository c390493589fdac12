"""A schedule of the script's own class that begins anew after a resume is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import dies_at, line_of, planted, rehearse, run_plainly

pytestmark = pytest.mark.slow

NAME = "plain_resume.py"
UNLOADED = ('        scheduler.load_state_dict(checkpoint["scheduler"])\n', "")
OWN = (
    (
        "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)",
        "Warmup(optimizer, args.lr)",
    ),
    (
        "def main():",
        """class Warmup:
    def __init__(self, optimizer, base):
        self.optimizer, self.base, self.count = optimizer, base, 0

    def step(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.base * min(self.count / 100, 1.0)

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def main():""",
    ),
)
LATER = ("        scheduler.step()\n        accuracy", "        accuracy")
STEP = "            optimizer.step()\n"
MOVES = {
    "each epoch": (),
    "after each step": (LATER, (STEP, f"{STEP}            scheduler.step()\n")),
    "before each step": (LATER, (STEP, f"            scheduler.step()\n{STEP}")),
}


@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("is_loaded", [True, False])
def test_one_that_is_not_loaded_is_told_where_it_is_saved(
    tmp_path: Path,
    name: str,
    is_loaded: bool,  # noqa: FBT001
) -> None:
    (tmp_path / "job").mkdir()
    path = planted(tmp_path / "job", NAME, *OWN, *MOVES[name], *(() if is_loaded else (UNLOADED,)))

    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    saves = f"error script-resume {NAME}:{line_of(path, 'torch.save(')}"
    assert seen.told == ([] if is_loaded else [saves])


OF_SO_MANY_STEPS = """
import itertools, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=13)
loader = torch.utils.data.DataLoader(torch.ones(20, 2), 2)
for epoch in range(2):
    for batch in loader:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
        schedule.step()
"""
HEALTHY = {
    "as many steps": ("total_steps=13", "total_steps=20"),
    "a test of its steps": (
        "        schedule.step()",
        "        if schedule.last_epoch < 13:\n            schedule.step()",
    ),
    "a part of each epoch": ("in loader", "in itertools.islice(loader, 6)"),
    "a break": (
        "schedule.step()\n",
        "schedule.step()\n        if schedule.last_epoch == 6 * (epoch + 1): break\n",
    ),
    "once an epoch": ("        schedule.step()", "    schedule.step()"),
}


@pytest.mark.parametrize("name", ["", *HEALTHY])
def test_one_with_fewer_steps_than_whole_epochs_take_is_told(tmp_path: Path, name: str) -> None:
    """By arithmetic: a rehearsal takes none of the steps beyond."""
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    old, new = HEALTHY.get(name, ("", ""))
    path.write_text(OF_SO_MANY_STEPS.replace(old, new), encoding="utf-8")

    seen = rehearse(path)

    if name:
        assert seen.told == []
    else:
        line = dies_at(run_plainly(path), path)
        (finding,) = seen.found
        assert seen.told == [f"error script-stopped train.py:{line}"]
        assert finding.message == "moves a schedule that has 13 steps 20 times, once a batch"


@pytest.mark.parametrize("uses", [True, False])
def test_arguments_of_a_script_are_known_where_it_uses_such_a_library_and_not_torch_alone(
    *, tmp_path: Path, uses: bool
) -> None:
    """Older versions of torch import transformers for themselves, with the first optimizer."""
    begin = """
import sys
sys.modules["trans" + "formers"] = sys.modules["torch.onnx._internal.fx.patcher"] = sys
"""
    begin += "# as transformers reads them\n" * uses
    path = planted(tmp_path, "plain_resume.py", ("import argparse\n", f"{begin}import argparse\n"))
    seen = rehearse(path).rehearsal

    assert any(one.startswith("arguments: epochs 20 to 2") for one in seen.shortened) == uses
