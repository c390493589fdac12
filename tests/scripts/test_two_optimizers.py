"""Of two models and their optimizers, each is to be saved and loaded, also one that joins later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, planted, rehearse

pytestmark = pytest.mark.slow

NAME = "gan_late.py"
EARLY = ("default=50", "default=0")
WEIGHTS = ('        judges.load_state_dict(state["judges"])\n', "")
STATE = ('        of_judges.load_state_dict(state["of_judges"])\n', "")
ALIKE = (
    ("nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8))", "nn.Linear(8, 8)"),
    ("nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))", "nn.Linear(8, 8)"),
    ("makes(torch.randn(len(batch), 4))", "makes(torch.randn(len(batch), 8))"),
)
OTHER = (
    'of_judges.load_state_dict(state["of_judges"])',
    'of_judges.load_state_dict(state["of_makes"])',
)
SWAPPED = ('"of_judges": of_judges.state_dict()', '"of_judges": of_makes.state_dict()')


def unsaved(name: str) -> tuple[str, str]:
    return f'            "{name}": {name}.state_dict(),\n', ""


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ((), []),
        ((EARLY,), []),
        ((EARLY, WEIGHTS), ["error goes on with the weights that it began with"]),
        (
            (EARLY, WEIGHTS, unsaved("judges")),
            ["error goes on with the weights that it began with"],
        ),
        ((EARLY, STATE), ["error goes on with an empty state of Adam"]),
        ((EARLY, STATE, unsaved("of_judges")), ["error goes on with an empty state of Adam"]),
        ((WEIGHTS,), ["warning loads nothing into the weights of Adam"]),
        ((WEIGHTS, unsaved("judges")), ["warning loads nothing into the weights of Adam"]),
        ((STATE,), ["warning loads no state into Adam"]),
        ((STATE, unsaved("of_judges")), ["warning loads no state into Adam"]),
        ((EARLY, *ALIKE), []),
        ((EARLY, *ALIKE, OTHER), ["error goes on with the state of another Adam"]),
        ((EARLY, *ALIKE, SWAPPED), ["error goes on with the state of another Adam"]),
    ],
)
def test_what_is_not_saved_or_not_loaded_of_the_second_one_is_told(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], told: list[str]
) -> None:
    (tmp_path / "job").mkdir()
    path = planted(tmp_path / "job", NAME, *changes)

    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    found = [f"{one.severity.name.lower()} {one.message}".partition(",")[0] for one in seen.found]
    assert found == told
    if any("Adam" in one and "weights" not in one for one in told):
        assert seen.found[0].at.line == line_of(path, "of_judges = torch")


LAZY = """
import sys, torch
from torch.utils.data import DataLoader
makes, judges = torch.nn.Linear(4, 4), torch.nn.Linear(4, 1)
of_makes, of_judges, begin = torch.optim.Adam(makes.parameters()), None, 0
if sys.argv[1:2] == ["--resume"]:
    state = torch.load(sys.argv[2])
    makes.load_state_dict(state["makes"]); judges.load_state_dict(state["judges"])
    of_makes.load_state_dict(state["of_makes"])
    begin = state["epoch"] + 1
for epoch in range(begin, 3):
    for batch in DataLoader(torch.ones(16, 4), 4):
        of_makes.zero_grad(); makes(batch).sum().backward(); of_makes.step()
        if of_judges is None:
            of_judges = torch.optim.Adam(judges.parameters())
            if begin: of_judges.load_state_dict(state["of_judges"])
        of_judges.zero_grad(); judges(batch).sum().backward(); of_judges.step()
    state = {"makes": makes.state_dict(), "judges": judges.state_dict(), "epoch": epoch}
    state |= {"of_makes": of_makes.state_dict(), "of_judges": of_judges.state_dict()}
    torch.save(state, "last.pt")
"""


@pytest.mark.parametrize("is_loaded", [True, False])
def test_an_optimizer_that_is_made_behind_the_first_step_is_to_be_loaded(
    tmp_path: Path, *, is_loaded: bool
) -> None:
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(LAZY if is_loaded else LAZY.replace("if begin: of_judges", "if 0: of_judges"))

    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    found = [(one.message.partition(",")[0], one.at.line) for one in seen.found]
    line = line_of(path, "of_judges = torch.optim")
    assert found == ([] if is_loaded else [("goes on with an empty state of Adam", line)])
