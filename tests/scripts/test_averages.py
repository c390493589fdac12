"""An average of the weights that is not saved, or not loaded, begins anew after a resume."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, planted, rehearse

pytestmark = pytest.mark.slow

Change = tuple[str, str]

NAME = "averaged.py"
UNSAVED = ('                "ema": ema.state_dict(),\n', "")
UNLOADED = ('    if args.resume:\n        ema.load_state_dict(checkpoint["ema"])\n', "")
UPDATE = """            with torch.no_grad():
                for kept, one in zip(ema.parameters(), model.parameters()):
                    kept.mul_(0.9).add_(one, alpha=0.1)
"""
COPY = "ema = copy.deepcopy(model).requires_grad_(False)"
OWN = (
    (COPY, "ema = EMA(model)"),
    (UPDATE, "            ema.update(model)\n"),
    ("(ema(x)", "(model(x)"),
    (
        "def main():",
        """class EMA:
    def __init__(self, model):
        self.shadow = {name: one.detach().clone() for name, one in model.named_parameters()}

    def update(self, model):
        for name, one in model.named_parameters():
            self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * one.detach()

    def state_dict(self):
        return self.shadow

    def load_state_dict(self, state):
        self.shadow = dict(state)


def main():""",
    ),
)
BY_EPOCH = (
    (COPY, "ema = torch.optim.swa_utils.AveragedModel(model)"),
    (UPDATE, ""),
    ("        model.eval()\n", "        ema.update_parameters(model)\n        model.eval()\n"),
)
MADE_EARLY = (
    (f"    {COPY}\n", ""),
    ("    optimizer = torch", f"    {COPY}\n    optimizer = torch"),
)

ANEW: dict[str, tuple[Change, ...]] = {
    "a copy that is not saved": (UNSAVED, UNLOADED),
    "a copy that is saved and not loaded": (UNLOADED,),
    "a copy of what the run began with": (*MADE_EARLY, UNSAVED, UNLOADED),
    "a copy of other weights, by chance": (
        ("    torch.manual_seed(0)\n", ""),
        *MADE_EARLY,
        UNSAVED,
        UNLOADED,
    ),
    "the script's own dict, not saved": (*OWN, UNSAVED, UNLOADED),
    "the script's own dict, saved and not loaded": (*OWN, UNLOADED),
    "torch's average by epochs": (*BY_EPOCH, UNSAVED, UNLOADED),
}

GOES_ON: dict[str, tuple[Change, ...]] = {
    "a copy": (),
    "a copy that is made before the model is loaded": MADE_EARLY,
    "the script's own dict": OWN,
    "torch's average by epochs": BY_EPOCH,
    "a dict that is saved with fewer bits": (
        ("ema.state_dict(),", "{k: v.bfloat16() for k, v in ema.state_dict().items()},"),
    ),
    "a teacher that stays as it is": (UNSAVED, UNLOADED, (UPDATE, "            pass\n")),
    "a target that is set to the weights now and then": (
        UNSAVED,
        UNLOADED,
        ("    start = 0\n", "    start = steps = 0\n"),
        (
            UPDATE,
            """            steps += 1
            if steps % 3 == 1:
                ema.load_state_dict(model.state_dict())
""",
        ),
    ),
    "the best so far": (
        UNSAVED,
        UNLOADED,
        ("(ema(x)", "(model(x)"),
        (UPDATE, "            pass\n"),
        ("        torch.save(", "        ema = copy.deepcopy(model)\n        torch.save("),
    ),
    "a copy for each evaluation": (
        UNSAVED,
        UNLOADED,
        (UPDATE, "            ema = copy.deepcopy(model).double().float()\n"),
    ),
}


def run(folder: Path, changes: tuple[Change, ...]) -> tuple[Path, list[str]]:
    (folder / "job").mkdir()
    path = planted(folder / "job", NAME, *changes)
    return path, rehearse(path, wants=["SavedState", "Copied", "Steps", "Resumed"]).told


@pytest.mark.parametrize("name", ANEW)
def test_an_average_that_begins_anew_is_told_where_it_should_be_saved(
    tmp_path: Path, name: str
) -> None:
    path, told = run(tmp_path, ANEW[name])

    assert told == [f"error script-resume {NAME}:{line_of(path, 'torch.save(')}"]


@pytest.mark.parametrize("name", GOES_ON)
def test_what_goes_on_and_what_is_no_average_is_left_alone(tmp_path: Path, name: str) -> None:
    assert run(tmp_path, GOES_ON[name])[1] == []
