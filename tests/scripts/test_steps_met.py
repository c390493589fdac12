"""Scripts as public examples have them: what their first steps come to, against what is so."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from preflight.scripts.met import evaluated
from preflight.scripts.met import loaders as loaders_met
from preflight.scripts.met import steps as steps_met
from tests.scripts.rehearsing import installed, line_of, planted, rehearse, run_plainly

pytestmark = pytest.mark.slow

SPARE = (
    "        self.head = nn.Linear(width, 2)\n",
    "        self.head = nn.Linear(width, 2)\n        self.spare = nn.Linear(width, 2)\n",
)


def stops_at(stderr: str, path: Path) -> int:
    """Say at which of its own lines a plain run of a script ended."""
    return int(re.findall(rf'{re.escape(path.name)}", line (\d+)', stderr)[-1])


@pytest.mark.skipif(not hasattr(torch.amp, "GradScaler"), reason="this torch scales on GPUs only")
def test_steps_that_a_scaler_leaves_out_are_healthy(tmp_path: Path) -> None:
    """The scale is too high at first, and the weights are kept from it."""
    seen = rehearse(planted(tmp_path, "scaled.py"))

    assert seen.told == []
    assert 0 < seen.steps.steps < seen.steps.backwards == 5
    assert max(seen.steps.losses) < 1e6


def test_a_layer_that_is_not_used_stops_a_replicated_model_at_its_second_step(
    tmp_path: Path,
) -> None:
    path = planted(tmp_path, "replicated.py", SPARE)
    seen = rehearse(path)
    plain = run_plainly(path)

    stop = stops_at(plain.stderr, path)
    assert plain.returncode == 1
    assert "Expected to have finished reduction" in plain.stderr
    assert seen.told == [
        f"error script-stopped replicated.py:{stop}",
        f"error script-gradient replicated.py:{line_of(path, 'self.spare')}",
    ]


def test_a_replicated_model_that_looks_for_what_is_not_used_goes_on(tmp_path: Path) -> None:
    looking = ("(Net())", "(Net(), find_unused_parameters=True)")
    path = planted(tmp_path, "replicated.py", SPARE, looking)
    seen = rehearse(path)
    plain = run_plainly(path)

    assert (plain.returncode, plain.stdout) == (0, "trained\n")
    assert seen.told == [f"warning script-gradient replicated.py:{line_of(path, 'self.spare')}"]


def test_adapters_within_reentrant_checkpointing_are_not_trained(tmp_path: Path) -> None:
    """Held against what was saved: `up` begins with zeros, and ends with zeros."""
    path = planted(tmp_path, "lora.py", ("        x.requires_grad_()\n", ""))
    seen = rehearse(path)
    (found,) = seen.found
    assert run_plainly(path).returncode == 0
    saved = torch.load(path.parent / "adapter.pt")["model"]

    assert saved["blocks.0.up.weight"].abs().max() == 0
    assert found.severity.name == "WARNING"
    assert "4 of 6 parameters of Body got no gradient in any of 5 steps" in found.message
    assert f"lora.py:{line_of(path, 'checkpoint(block')}" in (found.why or "")


def test_parameters_that_no_optimizer_has_are_told(tmp_path: Path) -> None:
    forgotten = ('startswith("places.")', 'startswith(("places.", "adapters."))')
    path = planted(tmp_path, "distill.py", forgotten)
    seen = rehearse(path)
    (found,) = seen.found

    assert found.check == "script-gradient"
    assert found.at.line == line_of(path, "self.adapters = ")
    assert "4 of 8 parameters of Student got gradients, and no optimizer" in found.message


def test_gradients_that_nobody_clears_are_told_at_the_step(tmp_path: Path) -> None:
    path = planted(tmp_path, "averaged.py", ("            optimizer.zero_grad()\n", ""))
    seen = rehearse(path)

    assert seen.told == [f"warning script-gradient averaged.py:{line_of(path, 'optimizer.step()')}"]
    assert "its gradients were never cleared" in seen.found[0].message


def test_a_penalty_by_a_root_at_zero_spoils_the_weights_of_the_first_step(tmp_path: Path) -> None:
    root = "loss = loss + sum(one.up.weight.square().sum().sqrt() for one in model.blocks)"
    spoilt = ("batch.flatten())\n", f"batch.flatten())\n            {root}\n")
    at_once = ("    main()\n", "    main()\n    import os\n    os._exit(0)\n")  # threads and all
    path = planted(tmp_path, "lora.py", spoilt, at_once)
    seen = rehearse(path)
    assert run_plainly(path).returncode == 0
    saved = torch.load(path.parent / "adapter.pt")["model"]

    assert saved["blocks.0.up.weight"].isnan().all()
    assert seen.told == [f"error script-numbers lora.py:{line_of(path, 'optimizer.step()')}"]
    assert seen.steps.losses[0] < 10


def test_a_script_may_leave_out_a_loss_that_is_no_number_by_itself(tmp_path: Path) -> None:
    """It computes no gradients of it; nothing is lost but the batch."""
    careful = (
        "            loss.backward()\n            for",
        "            if loss.isfinite():\n                loss.backward()\n            for",
    )
    now_and_then = (
        "mse_loss(student(batch), aim)",
        "mse_loss(student(batch), aim / (student.turn % 2))",
    )
    seen = rehearse(planted(tmp_path, "distill.py", careful, now_and_then))

    assert "script-numbers" not in {one.check for one in seen.found}


EVALUATIONS = """
import argparse, collections, numpy, torch

criterion = torch.nn.CrossEntropyLoss()
loader = torch.utils.data.DataLoader(torch.arange(12), batch_size=4)

class Meter:
    val = sum = 0
    def update(self, value):
        self.val, self.sum = value, self.sum + value

def of(batch):
    return criterion(torch.ones(4, 2), batch * 0 - 100 * (batch < 4))

def wrong_sum():
    total = 0.0
    for batch in loader: total += criterion(torch.ones(4, 2), batch * 0 - 100).item()

def wrong_sum_of_tensors():
    total = torch.zeros(())
    for batch in loader:
        loss = of(batch)
        total = total + loss * len(batch)

def wrong_meter():
    losses = Meter()
    for batch in loader: losses.update(of(batch).item())

def wrong_mean():
    losses = []
    for number, batch in enumerate(loader):
        losses.append(of(batch).item())
        if number == 1: break
    return numpy.mean(losses)

def wrong_in_a_dict():
    totals = {"loss": 0.0}
    for batch in loader: totals["loss"] += of(batch).item()

def wrong_by_its_key():
    totals = {}
    for batch in loader:
        for key, value in {"count": 4, "val_loss": of(batch).item()}.items():
            totals[key] = totals.get(key, 0.0) + value

def wrong_in_an_object():
    state = argparse.Namespace(val_loss=0.0)
    for batch in loader: state.val_loss += of(batch).item()

class Evaluation:
    def __init__(self):
        self.losses, self.meters = [], {"loss": Meter()}
    def go(self):
        for batch in loader: self.losses.append(of(batch).item())
    def mean(self):
        return numpy.mean(self.losses)
    def meet(self):
        for batch in loader: self.meters["loss"].update(of(batch).item())

def wrong_mean_of_entries():
    metrics = collections.defaultdict(list)
    for batch in loader: metrics["loss"].append(of(batch).item())
    return {key: numpy.mean(values) for key, values in metrics.items()}

def wrong_mean_of_dicts():
    outputs = []
    for batch in loader: outputs.append({"val_loss": of(batch), "name": "x", "area": float("nan")})
    return torch.stack([one["val_loss"] for one in outputs]).mean()

def fine_entries():
    metrics = {"loss": [], "area": 0.0}
    for batch in loader:
        loss = criterion(torch.ones(4, 2), batch * 0)
        metrics["loss"].append(loss.item())
        metrics["area"] += float("nan")
    return {key: numpy.mean(values) for key, values in metrics.items()}

def fine_when_entries_are_left_out():
    outputs = []
    for batch in loader: outputs.append(of(batch).item())
    return numpy.mean([loss for loss in outputs if loss == loss])

def fine_when_left_out():
    total = 0.0
    for batch in loader:
        loss = of(batch)
        if (batch >= 4).all(): total += loss.item()

def fine_when_that_is_minded():
    losses = []
    for batch in loader: losses.append(of(batch).item())
    return numpy.nanmean(losses)

def fine_list():
    losses = []
    for batch in loader: losses.append(of(batch).item())
    return losses

def fine_metrics():
    perplexity, area, total = 0.0, 0.0, 0.0
    for batch in loader:
        loss = criterion(torch.ones(4, 2), batch * 0)
        perplexity += (loss * 1e4).exp().item()
        area += float("nan")
        total += loss.item()
"""


def test_losses_that_a_loop_of_an_evaluation_sums_up(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(EVALUATIONS, encoding="utf-8")
    own: dict[str, Any] = {}
    exec(compile(EVALUATIONS, str(path), "exec"), own)
    own |= {f"wrong_{name}": getattr(own["Evaluation"](), name) for name in ("go", "meet")}
    told = []
    for name in [one for one in own if one.startswith(("wrong", "fine"))]:
        with installed(loaders_met.POINTS, tmp_path) as watch, torch.no_grad():
            own[name]()
            bad = steps_met.numbers_of(watch).bad_evaluation
            told += [] if bad is None else [bad.at.function if bad.at else ""]

    wrong = [one.removeprefix("wrong_") for one in own if one.startswith("wrong")]
    assert [one.removeprefix("wrong_") for one in told] == wrong


LOGGING = """
import torch
loader = torch.utils.data.DataLoader(torch.arange(8), batch_size=4)

def train(step):
    with torch.enable_grad():
        for batch in loader: step()

def evaluate(step, fluent):
    train(step)
    for batch in loader: loss = torch.ones(4, 2).sum() / 0 - batch.sum() / 0
    fluent.log_metrics({"train/loss": float("nan"), "val/area": float("nan")}, step=2)
    LOG
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('fluent.log_metrics({"val/loss": loss}, step=2)', ["val/loss"]),
        ('fluent.log_metric("val/loss", loss.item())', ["val/loss"]),
        ('fluent.log_metric(key="val_loss", value=loss)', ["val_loss"]),
        # What is logged at each step has nothing to say at most of them.
        ('train(step); fluent.log_metric("val/loss", loss)', []),
        ('fluent.log_metric("val/loss", 0.5)', []),
    ],
)
def test_a_loss_that_is_logged_after_an_evaluation(
    line: str, told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fluent: Any = ModuleType("mlflow.tracking.fluent")
    logged: list[object] = []
    fluent.log_metric = lambda key, value: logged.append((key, value))
    fluent.log_metrics = lambda metrics, step: logged.append((metrics, step))
    monkeypatch.setitem(sys.modules, fluent.__name__, fluent)
    own: dict[str, Any] = {}
    exec(compile(LOGGING.replace("LOG", line), str(tmp_path / "train.py"), "exec"), own)
    with installed((*loaders_met.POINTS, *evaluated.POINTS), tmp_path) as watch:
        with torch.no_grad():
            own["evaluate"](watch.stepped, fluent)
        bad = steps_met.numbers_of(watch).bad_evaluation

    assert len(logged) == 2
    assert list(bad.names if bad is not None else ()) == told
