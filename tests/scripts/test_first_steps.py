"""A script that adds up gradients over several batches gets as many as it takes for a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.render.terminal import render
from tests.scripts.rehearsing import line_of, planted
from tests.scripts.rehearsing import rehearse as steps_of
from tests.scripts.test_resume import Change, rehearse, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

ADDS_UP: tuple[Change, ...] = (
    (
        "for x, y in loader:\n            loss",
        "for step, (x, y) in enumerate(loader):\n            loss",
    ),
    ("            optimizer.zero_grad()\n", ""),
    (
        "            optimizer.step()\n",
        (
            "            if (step + 1) % 5 == 0 or step + 1 == len(loader):\n"
            "                optimizer.step()\n                optimizer.zero_grad()\n"
        ),
    ),
)
NEVER: Change = ("                optimizer.step()\n", "")
BY_HAND: tuple[Change, ...] = (
    (
        "            optimizer.step()\n",
        (
            "            with torch.no_grad():\n"
            "                [one.sub_(0.01 * one.grad) for one in model.parameters()]\n"
        ),
    ),
    ("torch.optim.AdamW(model.parameters(), lr=args.lr)", "None"),
    ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)", "None"),
    ("        scheduler.step()\n", ""),
    ("            optimizer.zero_grad()\n", "            model.zero_grad()\n"),
    ('            "optimizer": optimizer.state_dict(),\n', ""),
    ('            "scheduler": scheduler.state_dict(),\n', ""),
)


def test_its_resume_is_rehearsed(tmp_path: Path) -> None:
    """Behind two batches it had taken no step, so that nothing was to be said of what it saved."""
    write(tmp_path, "plain_resume.py", *ADDS_UP)
    whole = rehearse(tmp_path)
    wrong = ('checkpoint["epoch"] + 1', 'checkpoint["epochs"] + 1')
    write(tmp_path, "plain_resume.py", *ADDS_UP, wrong)
    broken = rehearse(tmp_path)

    assert (whole.verdict, whole.findings) == ("go", ())
    assert "resumed with --resume runs/plain/last.pt: " in " ".join(
        render(whole, verbose=1).split()
    )
    path = tmp_path / "train.py"
    assert [one.at.line for one in broken.findings] == [line_of(path, '["epochs"]')]


def test_it_gets_no_more_than_that(tmp_path: Path) -> None:
    seen = steps_of(planted(tmp_path, "plain_resume.py", *ADDS_UP, ("default=20", "default=2")))

    assert (seen.steps.steps, seen.steps.backwards) == (1, 5 + 2)


@pytest.mark.parametrize(("changes", "most"), [((*ADDS_UP, NEVER), 2 * 16), (BY_HAND, 2 * 2)])
def test_a_script_without_a_step_comes_to_its_end(
    changes: tuple[Change, ...], most: int, tmp_path: Path
) -> None:
    """One that forgets it gets its whole epochs, and one without an optimizer what all get."""
    path = planted(tmp_path, "plain_resume.py", *changes, ("default=20", "default=2"))

    assert 0 < steps_of(path).steps.backwards <= most
