"""A flag that a config file of the script switches off is off, and what stands behind it a note."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

SCRIPT = """
import argparse
import json
import os

import yaml


def init_itp():
    return int(os.environ["OMPI_COMM_WORLD_RANK"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default={})
    args = parser.parse_args()
    with open(args.config) as file:
        config = yaml.safe_load(file)
    if {}:
        init_itp()


if __name__ == "__main__":
    main()
"""


def severity(
    folder: Path,
    *,
    name: str = '"conf/run.yaml"',
    test: str = 'config["on_itp"]',
    word: str = "source=train.py",
) -> object:
    put(folder, "train.py", content=SCRIPT.format(name, test).encode())
    report = preflight.run(word, folder=str(folder), no_ledger=True)
    (found,) = [one for one in report.findings if one.check == "env-launch"]
    return found.severity


OFF = {
    "YAML": ("conf/run.yaml", "on_itp: false\n"),
    "deeper": ("conf/run.yaml", "launch:\n  nodes: 2\n  on-itp: no\n"),
    "nothing": ("conf/run.yaml", "on_itp:\n"),
    "JSON": ("conf/run.json", '{"on_itp": false, "lr": 1e-4}'),
    "TOML": ("conf/run.toml", "[launch]\non_itp = false\n"),
}

ON = {
    "switched on": ("conf/run.yaml", "on_itp: true\n"),
    "not said": ("conf/run.yaml", "lr: 1.0e-4\n"),
    "said twice": ("conf/run.yaml", "a: {on_itp: true}\nb: {on_itp: false}\n"),
    "said by others, too": ("conf/run.yaml", "defaults: [base, _self_]\non_itp: false\n"),
    "no TOML": ("conf/run.toml", "on_itp = no\n"),
    "no YAML": ("conf/run.yaml", "on_itp: [false\n"),
    "code": ("conf/run.yaml", "on_itp: !!python/object/apply:os.system [exit]\n"),
    "not there": ("conf/other.yaml", "on_itp: false\n"),
}


@pytest.mark.parametrize(("file", "text"), OFF.values(), ids=OFF)
def test_behind_a_flag_that_the_config_has_off_stands_a_note_at_most(
    tmp_path: Path, file: str, text: str
) -> None:
    put(tmp_path, file, content=text.encode())

    assert severity(tmp_path, name=f'"{file}"') is Severity.NOTE
    assert severity(tmp_path, name=f'"{file}"', word="source=.") is Severity.NOTE


@pytest.mark.parametrize(("file", "text"), ON.values(), ids=ON)
def test_a_flag_that_is_on_or_not_known_to_be_off_counts_as_before(
    tmp_path: Path, file: str, text: str
) -> None:
    put(tmp_path, file, content=text.encode())

    assert severity(tmp_path) is Severity.ERROR


def test_a_config_that_the_script_does_not_name_says_nothing(tmp_path: Path) -> None:
    put(tmp_path, "conf/run.yaml", content=b"on_itp: false\n")

    assert severity(tmp_path, name="None") is Severity.ERROR


def test_a_default_of_the_sources_that_says_otherwise_leaves_it_open(tmp_path: Path) -> None:
    put(tmp_path, "conf/run.yaml", content=b"on_itp: false\n")

    assert severity(tmp_path, test='config.get("on_itp") or args.on_itp') is Severity.NOTE
    default = '"conf/run.yaml")\n    parser.add_argument("--on_itp", default=True'
    assert severity(tmp_path, name=default, test="args.on_itp") is Severity.ERROR


def test_a_config_of_very_many_aliases_takes_no_time(tmp_path: Path) -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    put(tmp_path, "conf/run.yaml", content="\n".join(lines).encode())

    assert severity(tmp_path) is Severity.ERROR


HYDRA = """
import os

import hydra


@hydra.main(config_path="conf", config_name="run", version_base=None)
def main(config):
    if config.on_itp:
        print(int(os.environ["OMPI_COMM_WORLD_RANK"]))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on_itp: false\n", Severity.NOTE),
        ("on_itp: true\n", Severity.ERROR),
        ("defaults:\n  - cluster: local\non_itp: false\n", Severity.ERROR),
    ],
)
def test_the_config_that_hydra_takes_is_one_that_the_script_names(
    tmp_path: Path, text: str, expected: Severity
) -> None:
    put(tmp_path, "conf/run.yaml", content=text.encode())
    put(tmp_path, "train.py", content=HYDRA.encode())

    for word in ("source=train.py", "source=."):
        report = preflight.run(word, folder=str(tmp_path), no_ledger=True, select=["env-launch"])
        assert [one.severity for one in report.findings] == [expected]


PARTS = "train: {on_itp: false}\nevaluate: {on_itp: true}\n"
BASE = "all: &all {on_itp: true, nodes: 2}\ntrain:\n  <<: *all\n  on_itp: false\n"
ASKED = {
    "one of two parts": (PARTS, 'config["train"]["on_itp"]', Severity.NOTE),
    "the other": (PARTS, "config.evaluate.on_itp", Severity.ERROR),
    "any of them": (PARTS, "part.on_itp", Severity.ERROR),
    "by get": (PARTS, 'config.train.get("on_itp")', Severity.NOTE),
    "what overrules what it begins with": (BASE, "config.train.on_itp", Severity.NOTE),
    "what it begins with": (BASE, "config.all.on_itp", Severity.ERROR),
    "with dots": ("launch.on-itp: false\n", "config.launch.on_itp", Severity.NOTE),
    "one key with dots": ("launch.on_itp: false\n", 'config["launch.on_itp"]', Severity.NOTE),
    "one key with dots, on": ("launch.on_itp: true\n", 'config["launch.on_itp"]', Severity.ERROR),
    "at the top": ("on_itp: false\ntest: {on_itp: true}\n", "config.on_itp", Severity.ERROR),
}


@pytest.mark.parametrize(("text", "test", "expected"), ASKED.values(), ids=ASKED)
def test_a_flag_is_looked_for_where_the_script_asks_for_it(
    tmp_path: Path, text: str, test: str, expected: Severity
) -> None:
    put(tmp_path, "conf/run.yaml", content=text.encode())

    assert severity(tmp_path, test=test) is expected


MERGED = """
import argparse
import os

from omegaconf import OmegaConf


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="conf/run.yaml")
    args = parser.parse_args()
    base = OmegaConf.load("conf/base.yaml")
    config = OmegaConf.merge({}, OmegaConf.from_cli())
    if config.on_itp:
        print(int(os.environ["OMPI_COMM_WORLD_RANK"]))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("base, OmegaConf.load(args.config)", Severity.NOTE),
        ("OmegaConf.load(args.config), base", Severity.ERROR),
    ],
)
def test_of_files_that_are_merged_the_last_has_the_last_word(
    tmp_path: Path, order: str, expected: Severity
) -> None:
    put(tmp_path, "conf/base.yaml", content=b"on_itp: true\n")
    put(tmp_path, "conf/run.yaml", content=b"on_itp: false\n")
    put(tmp_path, "train.py", content=MERGED.format(order).encode())

    for word in ("source=train.py", "source=."):
        report = preflight.run(word, folder=str(tmp_path), no_ledger=True, select=["env-launch"])
        assert [one.severity for one in report.findings] == [expected]
