"""Loops that begin anew in each run are known by their text, and tell what does not go on."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from preflight.scripts.met.loops.from_start import passes_from_start
from tests.scripts.rehearsing import installed, planted, rehearse

LOOPS = {
    "for epoch in range(4):\n    see()": {"epoch of 4": 3},
    "last = 5\nfor epoch in range(1, last):\n    see()": {"epoch of 5": 3},
    "for epoch in tqdm(range(4)):\n    see()": {"epoch of 4": 3},
    "def train():\n    see()\nfor epoch in range(4):\n    train()": {"epoch of 4": 3},
    "for e in range(2):\n    for i in range(3):\n        see()": {"e of 2": 1, "i of 3": 2},
    "start = 0\nfor epoch in range(start, 4):\n    see()": {"epoch of 4": 3},
    "def go(start):\n    for e in range(start, 4):\n        see()\nstart = 0\ngo(start)": {},
    "start = 0\nif not see: start += 1\nfor e in range(start, 4):\n    see()": {},
    "start = 0\nif not see: start, one = 1, 2\nfor e in range(start, 4):\n    see()": {},
    # Some of the script's own decides where these begin, or end.
    "start = int('0')\nfor epoch in range(start, 4):\n    see()": {},
    "left = 4 - 0\nfor epoch in range(max(left, 1)):\n    see()": {},
    "for epoch in range(4):\n    see()\n    if epoch == 9:\n        break": {},
    "for epoch in itertools.count():\n    see()\n    if epoch == 3:\n        break": {},
    "for epoch in range(4):\n    see()\n    for one in 'ab':\n        break": {"epoch of 4": 3},
}


@pytest.mark.parametrize("text", LOOPS)
def test_a_loop_is_known_whose_first_number_stands_in_the_text(text: str, tmp_path: Path) -> None:
    seen = {}
    path = tmp_path / "job.py"
    path.write_text(f"import itertools\n{text}\n")
    with installed((), tmp_path) as watch:
        runpy.run_path(
            str(path), {"see": lambda: seen.update(now=passes_from_start(watch)), "tqdm": iter}
        )

    assert seen["now"] == LOOPS[text]


ANEW = (
    ("for epoch in range(start, args.epochs)", "for epoch in range(args.epochs)"),
    ('        start = checkpoint["epoch"] + 1\n', ""),
)
NOWHERE = ('            "epoch": epoch,\n', "")
WRITTEN = """(state, os.path.join(args.output, "last.pt.tmp"))
        os.replace(os.path.join(args.output, "last.pt.tmp"), os.path.join(args.output, "last.pt"))
"""
NAMED = (WRITTEN, '(state, os.path.join(args.output, f"{epoch}.pt"))\n')
PRINTED = (ANEW[0], ('checkpoint["epoch"] + 1', 'print(checkpoint["epoch"])'))
STEPS = (
    ("range(args.epochs)", "range(1000)"),
    ("            optimizer.step()\n", "            optimizer.step()\n            step += 1\n"),
    ("    start = 0\n", "    step = 0\n"),
    ('        start = checkpoint["epoch"] + 1\n', '        step = checkpoint["step"]\n'),
    ('            "epoch": epoch,\n', '            "step": step,\n'),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ((*ANEW, NOWHERE), ["warning begins its loop over `epoch` anew"]),
        ((*ANEW, NOWHERE, NAMED), ["error saves 0.pt once more"]),
        ((*PRINTED, NAMED), ["error saves `epoch` as 0 next"]),
        ((ANEW[0], *STEPS), []),
        ((NAMED,), []),
    ],
)
def test_a_run_whose_loop_begins_anew_is_told(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], told: list[str]
) -> None:
    """But not for a loop that only holds the steps, which are gone on with."""
    (tmp_path / "job").mkdir()
    path = planted(tmp_path / "job", "plain_resume.py", *changes)

    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    every = (f"{one.severity.name.lower()} {one.message}".partition(",")[0] for one in seen.found)
    found = [one for one in every if "begins its next epoch" not in one]
    assert found == told
