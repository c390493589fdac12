"""An option that resumes is found in what a script hands to whatever reads its command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import preflight
from preflight.resuming.moments import ResumeWay, read_lines
from preflight.scripts.saving.arguments import POINTS
from preflight.scripts.watch import MOMENTS
from tests.scripts.rehearsing import installed

CONFIG = {"trainer": {"resume_from": None}}


def main(lr: float = 0.1, resume: str | None = None) -> None:
    """Have parameters."""


class Flags(dict[str, Any]):
    """As absl has them."""


FLAGS = Flags(lr=SimpleNamespace(boolean=False), resume=SimpleNamespace(boolean=False))
GIVEN: Mapping[str, tuple[tuple[object, ...], Mapping[str, object]]] = {
    "Fire": ((main,), {}),
    "cli": ((), {"f": main}),
    "FlagValues.__call__": ((FLAGS, ["train.py"]), {}),
    "run_job": ((), {"hydra_context": None, "task_function": main, "config": CONFIG}),
    "OmegaConf.merge": ((CONFIG, {"lr": 0.1}), {}),
}


@pytest.mark.parametrize("name", GIVEN)
def test_it_is_found_however_the_library_is_called(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py"])
    kept = SimpleNamespace(OmegaConf=SimpleNamespace(to_container=dict))
    monkeypatch.setitem(sys.modules, "omegaconf", kept)
    args, named = GIVEN[name]
    (point,) = [one for one in POINTS if one.name == name]

    with installed((), tmp_path) as watch:
        read = point.wrap(lambda *_, **__: "read", watch)(*args, **named)

    is_key = CONFIG in (*args, *named.values())
    option = "trainer.resume_from=" if is_key else "--resume"
    assert read == "read"
    assert read_lines(str(tmp_path / MOMENTS)).way == ResumeWay(
        option=option, takes_path=True, is_guess=is_key
    )


def test_what_has_no_parameters_to_be_read_has_no_options(tmp_path: Path) -> None:
    (point,) = [one for one in POINTS if one.name == "Fire"]

    with installed((), tmp_path) as watch:
        for called in ({"train": main}, type, None):
            point.wrap(lambda _: None, watch)(called)

    assert read_lines(str(tmp_path / MOMENTS)).way is None


def switch(lr: float = 0.1, *, resume: bool = False) -> None:
    """Have a parameter that takes no path."""


@dataclass
class Trainer:
    """A part of a configuration."""

    resume: bool = False


@dataclass
class Config:
    """What draccus makes of a command line."""

    trainer: Trainer = field(default_factory=Trainer)


@pytest.mark.parametrize(
    ("name", "given", "option"),
    [
        ("Fire", switch, "--resume"),
        ("cli", switch, "--resume"),
        (
            "ArgumentParser.parse_known_args",
            SimpleNamespace(config_class=Config),
            "--trainer.resume=true",
        ),
    ],
)
def test_a_parameter_that_is_true_or_false_takes_no_path(
    name: str, given: object, option: str, tmp_path: Path
) -> None:
    (point,) = [one for one in POINTS if one.name == name and one.module != "argparse"]
    with installed((), tmp_path) as watch:
        point.wrap(lambda *_: None, watch)(given)

    assert read_lines(str(tmp_path / MOMENTS)).way == ResumeWay(option=option, takes_path=False)


TRAIN = """
import sys, torch
def train(weights=None):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters())
    begun = 0
    if weights:
        saved = torch.load(weights)
        model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"])
        begun = saved["epoch"] + 1
    for epoch in range(begun, 4):
        for batch in torch.utils.data.DataLoader(torch.ones(8, 2), 2):
            optimizer.zero_grad(); model(batch).sum().backward(); optimizer.step()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, f"{epoch}.pt")
class Trainer:
    def __init__(self, lr=0.1): self.lr = lr
    def train(self, weights=None): train(weights)
"""
BY_FIRE = "import fire\nfire.Fire({})\n"
BY_HAND = """
for one in sys.argv[1::2]:
    if one != "--weights": sys.exit(f"no such option: {one}")
train(*sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("copies")
@pytest.mark.parametrize(
    ("parser", "words"),
    [
        (BY_FIRE.format("train"), []),
        (BY_FIRE.format("Trainer"), ["train"]),
        (BY_FIRE.format('{"train": train}'), ["train"]),
        (BY_HAND, []),
    ],
)
@pytest.mark.parametrize(("given", "is_taken"), [("--weights", True), ("--weight", False)])
def test_an_option_that_a_script_does_not_take_is_no_fault_of_its_resume(
    parser: str,
    words: list[str],
    given: str,
    is_taken: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """Also where fire says so when the training is over, which has begun anew by then."""
    if "fire" in parser:
        pytest.importorskip("fire")
    (tmp_path / "train.py").write_text(TRAIN + parser, encoding="utf-8")
    seen = preflight.run(
        f"script={' '.join(['train.py', *words])}",
        folder=str(tmp_path),
        select=["script-resume"],
        resume_with=f"{given} {{checkpoint}}",
    )

    broken = [one.error for each in seen.checks for one in each.broken]
    assert (seen.verdict, seen.findings) == ("go" if is_taken else "cannot-judge", ())
    assert [one.rpartition(": ")[2] for one in broken] == (
        [] if is_taken else ["its arguments do not take --weight 0.pt"]
    )
    command = [sys.executable, "train.py", *words, given, "0.pt"]
    torch.save({}, tmp_path / "0.pt")
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=100)
    assert plain.returncode in ((1,) if is_taken else (1, 2))
    assert (b"Could not consume" in plain.stderr or b"no such" in plain.stderr) != is_taken
