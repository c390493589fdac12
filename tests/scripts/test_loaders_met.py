"""Loaders of every make are shortened, and loops of every make end as at the end of their data."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import said_by
from tests.warming import copies

BEGIN = """
import json, os, sys, tempfile, time, traceback
from preflight.scripts import inside
from preflight.scripts.met import own_steps
from preflight.scripts.met.loops import passes
from preflight.scripts.points import Points
from preflight.scripts.watch import Stopped, Watch

passes._TO_THE_END = own_steps._WITHOUT = own_steps._OF_ONE_BATCH = 0.0


def run(text, folder):
    scratch = tempfile.mkdtemp(dir=folder)
    options = dict(wants=[], num_workers=None, start_method=None, root=folder, timeout=60)
    watch = Watch(
        root=folder, scratch=scratch, folder=folder, batches=2, epochs=2, options=options
    )
    points = Points(inside._points(), watch)
    points.install()
    before = DataLoader.__iter__
    path = os.path.join(scratch, "train.py")
    with open(path, "w") as file:
        file.write(text)
    own = {"__name__": "__main__"}
    try:
        exec(compile(text, path, "exec"), own)
        end = "returned"
    except Stopped:
        end = "stopped"
    except BaseException as error:
        ours = inside._is_ours(error)
        end = "cut short" if ours else "".join(traceback.format_exception(error))
    finally:
        at = watch.while_at
        for one in watch.on_stop:
            one()
        points.remove()
    with open(os.path.join(scratch, "told.jsonl")) as file:
        lines = [json.loads(one) for one in file]
    met = {one["met"]: one["facts"] for one in lines if "met" in one}
    told = [one["shortened"] for one in lines if "shortened" in one]
    return [end, own.get("seen"), list(met.values()), at, told]
"""

HEAD = """
import torch
from torch.utils.data import DataLoader
seen = []
model = torch.nn.Linear(1, 1)
loader = DataLoader(torch.arange(100.0)[:, None], batch_size=5)
def step(batch):
    seen.append(len(batch))
    model(batch).sum().backward()
"""

SCRIPTS = {
    "epochs": "for epoch in range(2):\n  for batch in loader: step(batch)\nseen.append('end')",
    "for ever": "while True:\n  for batch in loader: step(batch)",
    "bare except": (
        "for _ in range(9):\n"
        "  try:\n"
        "    for batch in loader: step(batch)\n"
        "  except Exception: seen.append('caught')"
    ),
    "an except for all": (
        "for _ in range(9):\n"
        "  try:\n    for batch in loader: step(batch)\n"
        "  except: seen.append('caught')"
    ),
    "cycle": (
        "def cycle():\n  while True:\n    yield from loader\n"
        "batches = cycle()\nfor _ in range(100): step(next(batches))"
    ),
    "iterator made anew": (
        "it = iter(loader)\n"
        "for _ in range(100):\n"
        "  try: batch = next(it)\n"
        "  except StopIteration:\n    it = iter(loader); batch = next(it)\n"
        "  step(batch)"
    ),
    "counted by its length": (
        "it = iter(loader)\nfor _ in range(len(loader)): step(next(it))\nseen.append('end')"
    ),
    "counted by a number": (
        "it, many = iter(loader), len(loader)\n"
        "for _ in range(many): step(next(it))\nseen.append('end')"
    ),
    "counted for ever": "it = iter(loader)\nwhile True: step(next(it))",
    "drawn by a function": (
        "it = iter(loader)\ndef draw(): return next(it)\n"
        "try:\n  while True: step(draw())\nexcept StopIteration: seen.append('end')"
    ),
    "drawn until there is none": (
        "import contextlib\nit = iter(loader)\n"
        "with contextlib.suppress(StopIteration):\n  while True: step(next(it))\n"
        "seen.append('end')"
    ),
    "counted in a generator": (
        "def some():\n  it = iter(loader)\n  for _ in range(len(loader)): yield next(it)\n"
        "for batch in some(): step(batch)"
    ),
    "drawn from a generator": (
        "def some():\n  for batch in loader: yield batch\n"
        "batches = some()\nfor _ in range(12): step(next(batches))\nseen.append('end')"
    ),
    "drawn from a generator until there is none": (
        "def some():\n  for batch in loader: yield batch\nbatches = some()\n"
        "try:\n  while True: step(next(batches))\nexcept StopIteration: seen.append('end')"
    ),
    "a loop over a generator": (
        "def some():\n  for batch in loader: yield batch\n"
        "for batch in some(): step(batch)\nseen.append('end')"
    ),
    "persistent workers": (
        "loader = DataLoader(torch.arange(100.0)[:, None], batch_size=5, num_workers=1,\n"
        "  persistent_workers=True)\n"
        "for epoch in range(2):\n  for batch in loader: step(batch)"
    ),
    "stateful": (
        "from torchdata.stateful_dataloader import StatefulDataLoader\n"
        "loader = StatefulDataLoader(torch.arange(100.0)[:, None], batch_size=5)\n"
        "for batch in loader: step(batch)"
    ),
    "webdataset": (
        "import webdataset as wds\n"
        "def source():\n  while True: yield {'x': torch.ones(1)}\n"
        "data = wds.DataPipeline(source, wds.to_tuple('x'), wds.batched(3))\n"
        "loader = wds.WebLoader(data, batch_size=None).unbatched().batched(4)\n"
        "for (batch,) in loader: step(batch)"
    ),
    "a patch of its own": (
        "whole = DataLoader.__iter__\n"
        "DataLoader.__iter__ = lambda self: iter(list(whole(self)) + [torch.ones(7, 1)])\n"
        "for batch in loader: step(batch)\nDataLoader.__iter__ = whole"
    ),
    "evaluation without gradients": (
        "with torch.no_grad():\n"
        "  for epoch in range(4):\n    for batch in loader: seen.append(len(batch))"
    ),
    "evaluation by its mode": (
        "for batch in loader: step(batch)\n"
        "model.eval()\nfor batch in loader: seen.append(len(batch))"
    ),
    "steps without a loader": (
        "optimizer = torch.optim.SGD(model.parameters())\n"
        "while True: step(torch.ones(5, 1)); optimizer.step()"
    ),
    "steps made by hand": (
        "while True:\n  step(torch.ones(5, 1))\n"
        "  for one in model.parameters(): one.data -= one.grad"
    ),
    "steps on what was drawn before": (
        "optimizer = torch.optim.SGD(model.parameters())\n"
        "held = list(loader)\nwhile True: step(held[0]); optimizer.step()"
    ),
    "a few steps for each batch": (
        "optimizer = torch.optim.SGD(model.parameters())\n"
        "for batch in loader:\n  for _ in range(4): step(batch); optimizer.step()"
    ),
    "evaluation without a loader": (
        "step(torch.ones(5, 1))\nmodel.eval()\nwith torch.no_grad(): model(torch.ones(3, 1))\n"
        "model.train()"
    ),
    "a frozen encoder": (
        "frozen = torch.nn.Linear(1, 1).eval()\nfrozen.requires_grad_(False)\n"
        "for batch in loader: step(batch)"
    ),
}

Ran = Callable[[str], Any]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Run all of them in one process."""
    folder = tmp_path_factory.mktemp("scripts")
    scripts = {name: HEAD + text for name, text in SCRIPTS.items()}
    code = (
        f"{BEGIN}\nfrom torch.utils.data import DataLoader\nwhole = DataLoader.__iter__\n"
        f"scripts = {scripts!r}\n"
        f"every = {{name: run(text, {str(folder)!r}) for name, text in scripts.items()}}\n"
        "every['undone'] = DataLoader.__iter__ is whole\n"
        "print(json.dumps(every))"
    )
    with copies():
        found: Mapping[str, Any] = json.loads(said_by(textwrap.dedent(code)).splitlines()[-1])
    return found


SEEN = {
    "epochs": ["returned", [5, 5, 5, 5, "end"]],
    "for ever": ["stopped", [5, 5, 5, 5]],
    "bare except": ["stopped", [5, 5, 5, 5]],
    "an except for all": ["returned", [5] * 4 + ["caught"] * 7],
    "cycle": ["stopped", [5, 5, 5, 5]],
    "iterator made anew": ["stopped", [5] * 6],  # at two lines, of which each is counted
    "counted by its length": ["returned", [5, 5, "end"]],
    "counted by a number": ["stopped", [5, 5]],
    "counted for ever": ["stopped", [5, 5]],
    "drawn by a function": ["returned", [5, 5, "end"]],
    "drawn until there is none": ["returned", [5, 5, "end"]],
    "counted in a generator": ["returned", [5, 5]],
    "drawn from a generator": ["returned", [5, 5, 5, "end"]],
    "drawn from a generator until there is none": ["returned", [5, 5, "end"]],
    "a loop over a generator": ["returned", [5, 5, "end"]],
    "persistent workers": ["returned", [5, 5, 5, 5]],
    "stateful": ["returned", [5, 5]],
    "webdataset": ["returned", [4, 4]],
    "a patch of its own": ["returned", [5, 5, 7]],
    "evaluation without gradients": ["returned", [5, 5] * 4],
    "evaluation by its mode": ["returned", [5, 5, 5, 5]],
    "steps without a loader": ["stopped", [5] * 5],
    "steps made by hand": ["stopped", [5] * 5],
    "steps on what was drawn before": ["stopped", [5] * 5],
    "a few steps for each batch": ["returned", [5] * 8],
    "evaluation without a loader": ["returned", [5]],
    "a frozen encoder": ["returned", [5, 5]],
}


@pytest.mark.parametrize("name", SEEN)
def test_a_loop_ends_as_at_the_end_of_its_data(ran: Mapping[str, Any], name: str) -> None:
    assert ran[name][:2] == SEEN[name]


def test_evaluations_are_told_from_training(ran: Mapping[str, Any]) -> None:
    at_end = {name: seen[3] for name, seen in ran.items() if name != "undone"}

    assert {name for name, phase in at_end.items() if phase == "evaluation"} == {
        "evaluation without gradients",
        "evaluation by its mode",
    }


def test_an_evaluation_without_a_loader_is_seen(ran: Mapping[str, Any]) -> None:
    lines = {
        name: [one["at"]["text"] for one in seen[2] if one["what"] == "evaluation"]
        for name, seen in ran.items()
        if name in {"evaluation without a loader", "evaluation by its mode", "a frozen encoder"}
    }

    assert lines == {
        "evaluation without a loader": ["model.eval()"],
        "evaluation by its mode": ["for batch in loader: seen.append(len(batch))"],
        "a frozen encoder": [],
    }


def test_each_line_is_met_once_with_its_count(ran: Mapping[str, Any]) -> None:
    (met,) = ran["epochs"][2]

    assert (met["what"], met["count"], met["epochs"]) == ("loader", 4, 2)
    assert met["at"]["text"] == "for batch in loader: step(batch)"


def test_how_short_a_training_was_is_told_once(ran: Mapping[str, Any]) -> None:
    """An `except` for all catches the stop of each pass behind it."""
    told = [one for one in ran["an except for all"][4] if one.startswith("training")]

    assert len(set(told)) == 1


def test_what_is_wrapped_is_put_back(ran: Mapping[str, Any]) -> None:
    assert ran["undone"] is True


def test_the_fixture_folder_holds_scripts_as_others_write_them() -> None:
    """They import nothing of ours."""
    folder = Path(__file__).parents[2] / "fixtures" / "scripts"

    assert [one for one in folder.glob("*.py") if "preflight" in one.read_text("utf-8")] == []
