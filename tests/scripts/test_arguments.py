"""An option that resumes is found in what a script hands to whatever reads its command line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

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
