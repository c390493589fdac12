"""source-state-aliased speaks where what was kept is no longer what was kept."""

from __future__ import annotations

import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from preflight.findings.finding import Severity
from tests.asking import of_source

pytestmark = pytest.mark.usefixtures("at_hand")

found = partial(of_source, "source-state-aliased")

LOOP = """\
def fit(model, optimizer, scheduler, epochs):
    best = None
    for epoch in range(epochs):
        train_epoch(model, optimizer)
        if better(model):
            {keep}
    {use}
"""
OBJECT = """\
class EarlyStopping:
    def __init__(self):
        self.best = None

    def step(self, loss, model):
        if better(loss):
            {keep}

    def restore(self, model):
        {use}
"""
KEEP, USE = "best = model.state_dict()", "model.load_state_dict(best)"
HEALTHY = {
    "a copy": LOOP.format(keep="best = copy.deepcopy(model.state_dict())", use=USE),
    "clones": LOOP.format(
        keep="best = {k: v.clone() for k, v in model.state_dict().items()}", use=USE
    ),
    "clones in a comprehension of some": LOOP.format(
        keep="best = {k: v.cpu() for k, v in model.state_dict().items() if k}", use=USE
    ),
    "an entry that is a copy": LOOP.format(
        keep='best["model"] = copy.deepcopy(model.state_dict())',
        use='model.load_state_dict(best["model"])',
    ),
    "an entry that is copied then": LOOP.format(
        keep='best["model"] = model.state_dict()\n'
        '            best["model"] = copy.deepcopy(best["model"])',
        use='model.load_state_dict(best["model"])',
    ),
    "another entry": LOOP.format(
        keep='best["model"] = model.state_dict()', use='model.load_state_dict(best["first"])'
    ),
    "several values that are copies": LOOP.format(
        keep="best, at = copy.deepcopy(model.state_dict()), epoch", use=USE
    ),
    "a copy of what was kept": LOOP.format(
        keep=f"{KEEP}\n            best = copy.deepcopy(best)", use=USE
    ),
    "a file": LOOP.format(
        keep="torch.save(model.state_dict(), path)", use="model.load_state_dict(torch.load(path))"
    ),
    "a file by a name": LOOP.format(
        keep=f"{KEEP}\n            torch.save(best, path)",
        use=f"best = torch.load(path)\n    {USE}",
    ),
    "the end of the loop": LOOP.format(keep=f"{KEEP}\n            break", use=USE),
    "another model": LOOP.format(keep=KEEP, use="other.load_state_dict(best)"),
    "a schedule": LOOP.format(
        keep="best = scheduler.state_dict()", use="scheduler.load_state_dict(best)"
    ),
    "the newest weights": LOOP.format(keep=KEEP, use="return best"),
    "tensors that are replaced": LOOP.format(keep=KEEP, use=f"{USE[:-1]}, assign=True)"),
    "a model for each round": (
        "def search(folds):\n    for fold in folds:\n        model = Net()\n"
        "        train(model, fold)\n        if better(model):\n"
        "            best = model.state_dict()\n    model.load_state_dict(best)\n"
    ),
    "models one after another": (
        "def pick(models):\n    for model in models:\n        model.fit()\n"
        "        best = model.state_dict()\n    model.load_state_dict(best)\n"
    ),
    "a loop that does not train": (
        "def read(model, files):\n    for file in files:\n        best = model.state_dict()\n"
        "    model.load_state_dict(best)\n"
    ),
    "weights of another one, filled in": (
        "def start(model, given):\n    for key in given:\n        train_on(key)\n"
        "        state = model.state_dict()\n        state.update(given[key])\n"
        "    model.load_state_dict(state)\n"
    ),
    "at once": (
        "def start(model, given):\n    state = model.state_dict()\n"
        "    state.update(given)\n    model.load_state_dict(state)\n"
    ),
    "gathered from all ranks": (
        "def fit(model):\n    for epoch in range(9):\n        train(model)\n"
        "        with FSDP.state_dict_type(model, FULL):\n            best = model.state_dict()\n"
        "    model.load_state_dict(best)\n"
    ),
    "the newest weights of all": LOOP.format(keep="pass", use=USE).replace(
        "        if better", f"        {KEEP}\n        if better"
    ),
    "the newest weights, saved": LOOP.format(
        keep="last = model.state_dict()", use="torch.save(last, path)"
    ).replace("better(model)", "epoch % 5 == 0"),
    "an object that copies": OBJECT.format(
        keep="self.best = copy.deepcopy(model.state_dict())", use="model.load_state_dict(self.best)"
    ),
    "an object that begins with a copy": OBJECT.format(
        keep="pass", use="model.load_state_dict(self.best)"
    ).replace("self.best = None", "self.count, self.best = 0, copy.deepcopy(model.state_dict())"),
    "an object that hands on": OBJECT.format(
        keep="self.best = model.state_dict()", use="torch.save(self.best, path)"
    ),
    "an object that fills in": OBJECT.format(
        keep="self.best = model.state_dict()",
        use="self.best.update(more)\n        model.load_state_dict(self.best)",
    ),
    "an object that swaps at once": (
        "class Average:\n    def test(self):\n        self.backup = self.model.state_dict()\n"
        "        self.model.load_state_dict(self.backup)\n"
    ),
    "an object's weights for another model": OBJECT.format(
        keep="self.best = model.state_dict()", use="return self.best"
    )
    + "\nother.load_state_dict(stopping.better)\n",
    "an object with a schedule": OBJECT.format(
        keep="self.best = self.scheduler.state_dict()",
        use="self.scheduler.load_state_dict(self.best)",
    ),
}
DAMAGED = {
    "a loop": LOOP.format(keep=KEEP, use=USE),
    "an optimizer": LOOP.format(
        keep="best = optimizer.state_dict()", use="optimizer.load_state_dict(best)"
    ),
    "an entry of a dict": LOOP.format(
        keep='best = {"epoch": epoch, "model": model.state_dict()}',
        use='model.load_state_dict(best["model"])',
    ),
    "a copy at the start only": (
        "def fit(model):\n    best = copy.deepcopy(model.state_dict())\n"
        "    for epoch in range(9):\n        for one in data:\n            model(one).backward()\n"
        "        if better(model):\n            best = model.state_dict()\n"
        "    model.load_state_dict(best)\n"
    ),
    "a trainer's own": (
        "class Trainer:\n    def fit(self):\n        while self.goes_on():\n"
        "            self.train_one_epoch()\n            if self.better():\n"
        "                self.best = self.model.state_dict()\n"
        "        self.model.load_state_dict(self.best)\n"
    ),
    "epochs of each fold": (
        "def folds(data):\n    for fold in data:\n        model = Net()\n"
        "        for epoch in range(9):\n            train(model, fold)\n"
        "            if better(model):\n                best = model.state_dict()\n"
        "        model.load_state_dict(best)\n"
    ),
    "one of several values": LOOP.format(keep="best, at = model.state_dict(), epoch", use=USE),
    "a comprehension": LOOP.format(
        keep="best = {k: v for k, v in model.state_dict().items()}", use=USE
    ),
    "a comprehension that detaches": LOOP.format(
        keep="best = {k: v.detach() for k, v in model.state_dict().items()}", use=USE
    ),
    "an expression with a test": LOOP.format(keep="pass", use=USE).replace(
        "        if better",
        "        best = model.state_dict() if better(model) else best\n        if better",
    ),
    "an entry that is put into a dict": LOOP.format(
        keep='best["model"] = model.state_dict()', use='model.load_state_dict(best["model"])'
    ),
    "an entry beside others": LOOP.format(
        keep='best["epoch"] = epoch\n            best["model"] = model.state_dict()',
        use='model.load_state_dict(best["model"])',
    ),
    "the best by its name, saved": LOOP.format(
        keep=KEEP, use='torch.save(best, "best.pt")'
    ).replace("better(model)", "l < lo"),
    "an entry that is saved": LOOP.format(
        keep='best = {"loss": 1.0, "state": model.state_dict()}',
        use='torch.save(best["state"], "best.pt")',
    ),
    "a dict of its own": LOOP.format(keep="best = model.state_dict().copy()", use=USE),
    "a dict made of it": LOOP.format(keep="best = dict(model.state_dict())", use=USE),
    "a copy of the dict": LOOP.format(keep="best = copy.copy(model.state_dict())", use=USE),
    "what is saved in the end": LOOP.format(keep=KEEP, use="torch.save(best, path)"),
    "a record that is saved in the end": LOOP.format(
        keep='best = {"epoch": epoch, "model": model.state_dict()}', use="torch.save(best, path)"
    ),
    "a script without functions": (
        "best = None\nfor epoch in range(9):\n    loss.backward()\n    if accuracy > highest:\n"
        "        best = model.state_dict()\n\nmodel.load_state_dict(best)\n"
    ),
    "one call of an object": (
        "class Stop:\n    def __call__(self, score, model):\n        if score > self.score:\n"
        "            self.best = model.state_dict()\n        else:\n            self.count += 1\n"
        "        if self.count > 3:\n            model.load_state_dict(self.best)\n"
    ),
    "an object that others ask": OBJECT.format(keep="self.best = model.state_dict()", use="pass")
    + "\nmodel.load_state_dict(stopping.best)\n",
    "an object that begins with several": OBJECT.format(
        keep="self.best = model.state_dict()", use="model.load_state_dict(self.best)"
    ).replace("self.best = None", "self.count, self.best = 0, None"),
    "an object": OBJECT.format(
        keep="self.best = model.state_dict()", use="model.load_state_dict(self.best)"
    ),
    "weights that are swapped": (
        "class Average:\n    def store(self):\n        self.backup = self.model.state_dict()\n\n"
        "    def restore(self):\n        self.model.load_state_dict(self.backup)\n"
    ),
}


RETURNED = """\
def fit(model, optimizer, epochs):
    best = None
    for epoch in range(epochs):
        train_epoch(model, optimizer)
        if better(model):
            {keep}
    {returned}


def main():
    net = build()
    {got} = fit(net, optimizer, 9)
    {use}
"""
RETURNED_WELL = {
    "a copy": ("best = copy.deepcopy(model.state_dict())", "return best", "load(best)"),
    "what is copied as it is returned": (KEEP, "return copy.deepcopy(best)", "load(best)"),
    "another return": (KEEP, "return best if epochs else None", "load(best)"),
    "another value of a tuple": (KEEP, "return best, 7", "load(last)"),
    "into another model": (KEEP, "return best", "other.load_state_dict(best)"),
    "a name that has another value by then": (KEEP, "best = None\n    return best", "load(best)"),
}
RETURNED_ALIASED = {
    "loaded": (KEEP, "return best", "net.load_state_dict(best)"),
    "saved": (KEEP, "return best", "torch.save(best, 'best.pt')"),
    "of a tuple": (KEEP, "return best, 7", "net.load_state_dict(best)"),
}


def returned(keep: str, gives: str, use: str) -> str:
    """Have a function return what it has kept, and its caller use that."""
    got = "best, last" if "7" in gives else "best"
    use = use.replace("load(", "net.load_state_dict(")
    return RETURNED.format(keep=keep, returned=gives, got=got, use=use)


HEALTHY |= {f"returned: {name}": returned(*one) for name, one in RETURNED_WELL.items()}
DAMAGED |= {f"returned: {name}": returned(*one) for name, one in RETURNED_ALIASED.items()}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_is_kept_for_good_is_left_alone(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, HEALTHY[name]) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_what_training_changes_is_told_once(tmp_path: Path, name: str) -> None:
    (one,) = found(tmp_path, DAMAGED[name])

    assert one.severity is Severity.WARNING
    assert "state_dict()" in one.message


def test_both_lines_are_named(tmp_path: Path) -> None:
    (one,) = found(tmp_path, DAMAGED["a loop"])

    assert (one.at.line, one.also[0].line) == (6, 7)
    assert one.message == (
        "`best = model.state_dict()` keeps the tensors that training writes into, and line 7 puts "
        "back what they have become: `model.load_state_dict(best)`"
    )
    assert one.fix == "Keep a copy: copy.deepcopy(model.state_dict())."


@pytest.mark.parametrize("keep", [dict, copy.deepcopy])
def test_it_is_what_happens_and_the_fix_mends_it(keep: Any) -> None:
    model = torch.nn.Linear(2, 1)
    first = model.weight.detach().clone()
    best = keep(model.state_dict())
    with torch.no_grad():
        model.weight.add_(1)  # as an optimizer does
    model.load_state_dict(best)

    assert torch.equal(model.weight, first) is (keep is copy.deepcopy)
