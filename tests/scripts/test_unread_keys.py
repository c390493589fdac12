"""What a checkpoint holds and a resumed script never asks for tells what it does not go on from."""

from __future__ import annotations

import copy
import json
import pickle
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from preflight.scripts.saving.states.read_keys import ReadKeys
from tests.scripts.rehearsing import line_of, planted, rehearse

NAME = "plain_resume.py"
WANTS = ["SavedState", "Steps", "Resumed"]
STEP_LR = ("CosineAnnealingLR(optimizer, T_max=args.epochs)", "StepLR(optimizer, 10)")
BEST = (
    (
        "        state = {\n",
        "        if accuracy <= best:\n            continue\n        state = {\n",
    ),
    ("    start = 0\n", "    start, best = 0, 0.0\n"),
    ('            "epoch": epoch,\n', '            "epoch": epoch,\n            "best": 2.0,\n'),
    ('["epoch"] + 1\n', '["epoch"] + 1\n        best = checkpoint["best"]\n'),
)
UNLOADED = ('        scheduler.load_state_dict(checkpoint["scheduler"])\n', "")
LATER = ("        scheduler.step()\n", "        if epoch:\n            scheduler.step()\n")
FORWARD = (
    UNLOADED[0],
    '        for _ in range(checkpoint["epoch"] + 1):\n            scheduler.step()\n',
)
WITHIN = (
    (
        '            "epoch": epoch,\n',
        '            "state": {"run": {"epoch": epoch, "best": 0.5}},\n',
    ),
    (
        '        start = checkpoint["epoch"] + 1\n',
        '        start = checkpoint["state"]["run"]["epoch"] + 1\n',
    ),
)
WITHIN_FROM_0 = (
    *WITHIN[:1],
    (
        '        start = checkpoint["epoch"] + 1\n',
        '        print(checkpoint["state"]["run"]["best"])\n',
    ),
)
UNSAVED = ('            "scheduler": scheduler.state_dict(),\n', "")
FROM_0 = ('        start = checkpoint["epoch"] + 1\n', "")
FROM_NOWHERE = (('            "epoch": epoch,\n', ""), FROM_0)
AT_FIRST = (
    ("        scheduler.step()\n        accuracy", "        accuracy"),
    ("        for x, y in loader:\n", "        scheduler.step()\n        for x, y in loader:\n"),
)
RENAMED = (UNLOADED[0], f"        checkpoint = {{**checkpoint}}\n{UNLOADED[0]}")

NEVER = "never asks for `scheduler` of the checkpoint"
SCHEDULE = (
    "error",
    f"{NEVER}: its schedule, which had moved 1 time, begins anew",
)
COUNTED = (
    "error",
    "counts its StepLR to 1 by its next save, and not to 2: its schedule begins anew",
)
COUNTED_GUESS = (
    "warning",
    "counts its StepLR from 0 on, and not from 1: its schedule may begin anew",
)
GUESS = ("warning", f"{NEVER}, and may begin its schedule anew")
COUNT = (
    "warning",
    "never asks the checkpoint how far it was, by `epoch` (0), and may begin its count anew",
)

AGAIN = (
    "error",
    "saves `epoch` as 0 next, where the checkpoint has 0, and never asks it",
)
AGAIN_WITHIN = (
    "error",
    "saves `state.run.epoch` as 0 next, where the checkpoint has 0, and never asks it",
)

LOOP = (
    "warning",
    "begins its loop over `epoch` anew, and nothing that it saves says how far it was",
)
ORDER = ("warning", "begins its next epoch with the batch that the run began with")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ((STEP_LR,), []),
        ((STEP_LR, FORWARD), []),
        ((STEP_LR, UNLOADED), [SCHEDULE]),
        ((STEP_LR, LATER), []),
        ((STEP_LR, LATER, UNLOADED), [GUESS]),
        ((STEP_LR, UNSAVED, UNLOADED), [COUNTED]),
        ((STEP_LR, UNSAVED, FORWARD), []),
        ((STEP_LR, UNSAVED, UNLOADED, *FROM_NOWHERE), [COUNTED_GUESS, LOOP, ORDER]),
        (
            (
                ("CosineAnnealingLR(optimizer, T_max=args.epochs)", "StepLR(optimizer, 1, 0.9)"),
                UNSAVED,
                UNLOADED,
            ),
            [],
        ),
        ((*AT_FIRST,), []),
        (
            (*AT_FIRST, UNSAVED, UNLOADED),
            [("error", COUNTED[1].replace("StepLR", "CosineAnnealingLR"))],
        ),
        (BEST, []),
        ((*BEST, RENAMED), []),
        ((*BEST, STEP_LR, UNLOADED), [SCHEDULE]),
        ((*BEST, FROM_0), [COUNT, ORDER]),
        ((FROM_0,), [AGAIN]),
        (WITHIN, []),
        (WITHIN_FROM_0, [AGAIN_WITHIN]),
    ],
)
def test_what_is_never_asked_for_is_told(
    tmp_path: Path, changes: tuple[tuple[str, str], ...], told: list[tuple[str, str]]
) -> None:
    (tmp_path / "job").mkdir()
    path = planted(tmp_path / "job", NAME, *changes)
    seen = rehearse(path, wants=WANTS)

    said = [
        (one.severity.name.lower(), one.message.partition(", when it is")[0]) for one in seen.found
    ]
    assert said == told
    assert {one.at.line for one in seen.found} <= {line_of(path, "torch.save(")}


STATE = {"iter": 4, "epoch": 1, "schedulers": [{"last_epoch": 4, "_step_count": 5}], "best": 0.5}


def _named(**named: object) -> object:
    return named


ASKS: dict[str, Callable[[Any], object]] = {
    "a part": lambda one: one["iter"],
    "a part that may be there": lambda one: one.get("epoch"),
    "a part that is taken out": lambda one: {**one}.pop("iter"),
    "names": list,
    "a plain dict": dict,
    "arguments": lambda one: _named(**one),
    "a copy of its own": lambda one: one.copy(),
    "both of two": lambda one: one | {},
    "a deep copy": copy.deepcopy,
    "bytes": pickle.dumps,
    "parts": lambda one: [*one.items()],
    "JSON": json.dumps,
}


@pytest.mark.parametrize("name", ASKS)
def test_whoever_may_have_read_a_count_has_done_so(name: str) -> None:
    keys = ReadKeys()
    state = keys.noting(dict(STATE))
    assert state["best"] == STATE["best"]
    assert keys.unread_counts() == {"iter": 4, "epoch": 1}
    assert keys.unread_schedules() == {"schedulers": 4}

    ASKS[name](state)

    assert keys.unread_counts() == {}
    assert state == STATE
    assert type(copy.deepcopy(state)) is dict


def test_what_tells_nothing_is_given_as_it_is() -> None:
    for one in ({"weight": 1.5}, [1], {"best": 1, "epoch": "last"}):
        assert ReadKeys().noting(one) is one


@pytest.mark.parametrize("name", ASKS)
def test_a_count_within_a_part_is_asked_for_there(name: str) -> None:
    keys = ReadKeys()
    state = keys.noting({"best": 0.5, "run": {"state": dict(STATE)}})
    within = state["run"]["state"]
    assert keys.unread_counts() == {"run.state.iter": 4, "run.state.epoch": 1}
    assert keys.unread_schedules() == {"run.state.schedulers": 4}

    ASKS[name](within)

    assert keys.unread_counts() == {}
    assert within == STATE
    assert [type(copy.deepcopy(one)) for one in (state, state["run"])] == [dict, dict]


def test_whoever_takes_a_part_by_itself_has_read_a_count_in_it() -> None:
    keys = ReadKeys()
    state = keys.noting({"best": 0.5, "run": dict(STATE)})

    copy.deepcopy(state["run"])

    assert keys.unread_counts() == {}


def test_who_asks_for_what_lies_in_an_object_is_not_seen() -> None:
    state = {"run": types.SimpleNamespace(epoch=3)}

    assert ReadKeys().noting(state) is state
