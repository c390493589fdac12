"""A schedule of the script's own class that begins anew after a resume is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, planted, rehearse

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
