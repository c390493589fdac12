"""A command line that is refused is told from a fault of the code that reads it."""

from __future__ import annotations

import argparse
import getopt
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from preflight.users_code.lacks.refused_arguments import refused_arguments

GIVEN = ["--nonsense", "last.pt"]


@dataclass
class Config:
    """What a job is told."""

    epochs: int = 4


def by_argparse() -> None:
    argparse.ArgumentParser().parse_args()


def by_an_argument() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--nonsense", type=int)
    parser.parse_args()


def by_getopt() -> None:
    getopt.getopt(sys.argv[1:], "", ["epochs="])


def by_click(*, alone: bool = True) -> None:
    click = pytest.importorskip("click")
    click.command()(lambda: None).main(standalone_mode=alone)


def by_click_within() -> None:
    by_click(alone=False)


def by_typer() -> None:
    pytest.importorskip("typer").run(lambda: None)


def by_transformers() -> None:
    trainers = pytest.importorskip("transformers")
    trainers.HfArgumentParser(Config).parse_args_into_dataclasses()


def by_fire() -> None:
    pytest.importorskip("fire").Fire(Config)


def by_tyro() -> None:
    pytest.importorskip("tyro").cli(Config)


def by_docopt() -> None:
    pytest.importorskip("docopt").docopt("Usage: train.py [--epochs=N]")


def by_draccus() -> None:
    pytest.importorskip("draccus").parse(Config)


def by_jsonargparse() -> None:
    pytest.importorskip("jsonargparse").ArgumentParser(exit_on_error=False).parse_args()


def by_simple_parsing() -> None:
    pytest.importorskip("simple_parsing").parse(Config)


def by_omegaconf() -> None:
    conf = pytest.importorskip("omegaconf").OmegaConf
    conf.merge(conf.structured(Config), conf.from_cli())


READERS = (
    *(by_argparse, by_an_argument, by_getopt, by_click, by_click_within, by_typer),
    *(by_transformers, by_fire, by_tyro, by_docopt, by_draccus, by_jsonargparse),
    *(by_simple_parsing, by_omegaconf),
)


@pytest.mark.parametrize("reads", READERS)
def test_each_reader_refuses_in_its_own_way(
    reads: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *GIVEN])
    with pytest.raises((Exception, SystemExit)) as raised:
        reads()
    lack = refused_arguments(raised.value)

    assert lack is not None
    assert lack.kind == "arguments"


def by_the_job_itself() -> None:
    raise SystemExit(2)


def behind_click() -> None:
    def main() -> None:
        raise ValueError("--nonsense is no fault of click's")

    sys.argv[1:] = []
    pytest.importorskip("click").command()(main).main(standalone_mode=False)


def of_what_a_file_holds() -> None:
    conf = pytest.importorskip("omegaconf").OmegaConf
    conf.merge(conf.structured(Config), {"epoch": 3})


@pytest.mark.parametrize("fails", [by_the_job_itself, behind_click, of_what_a_file_holds])
def test_what_the_job_raises_is_its_own(
    fails: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", *GIVEN])
    with pytest.raises((Exception, SystemExit)) as raised:
        fails()

    assert refused_arguments(raised.value) is None
