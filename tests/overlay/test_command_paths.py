"""Programs that know nothing of a layer are told where what they are to read and write lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.overlay.command_paths import Command
from preflight.overlay.lay_over import laid_over
from tests.overlay.test_layer import layer_over

SAID = {
    # Left as they are: no files, options, and what lies below.
    "cp": "cp",
    "-rf": "-rf",
    "--lr=0.1": "--lr=0.1",
    "a": "a",
    "out": "out",
    "out/old": "out/old",
    "out/none": "out/none",
    "/etc/hosts": "/etc/hosts",
    # What was written, and where it is to be written.
    "runs/m.pt": "+runs/m.pt",
    "./runs/m.pt": "+runs/m.pt",
    "runs/next.pt": "+runs/next.pt",
    "--ckpt=runs/m.pt": "--ckpt=+runs/m.pt",
    "runs": "+runs",
    "out/new": "+out/new",
}

IN_RUNS = {
    "cp": "cp",
    "m.pt": "m.pt",
    "next.pt": "next.pt",
    "../a": "=a",
    "../none": "../none",
    "../out": "=out",
    "../out/new": "../out/new",
}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    (folder / "out").mkdir(parents=True)
    for name in ("a", "out/old"):
        (folder / name).touch()
    return folder


@pytest.mark.parametrize("how", ["as a line", "by words"])
@pytest.mark.parametrize("place", ["its own folder", "a folder of the layer", "gone there"])
def test_a_path_is_told_where_it_lies(
    tmp_path: Path, job: Path, how: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = layer_over(job, tmp_path / "scratch")
    monkeypatch.chdir(job)
    with laid_over(layer):
        (job / "runs").mkdir()
        for name in ("runs/m.pt", "out/new"):
            (job / name).write_text("x")
        if place == "gone there":
            os.chdir("runs")
        command = Command(layer, "runs" if place == "a folder of the layer" else None)
        said = SAID if place == "its own folder" else IN_RUNS
        by_word = {one: command.word(one) for one in said}
        line = command.line(" ".join(said)).split()
        above = layer.above(str(job))
        os.chdir(job)

    told = dict(zip(said, line, strict=True)) if how == "as a line" else by_word
    places = {"+": f"{above}/", "=": f"{job}/"}
    meant = {}
    for word, one in said.items():
        for sign, folder in places.items():
            one = one.replace(sign, folder) if sign == "+" or one.startswith(sign) else one  # noqa: PLW2901
        meant[word] = one
    assert told == meant
    assert command.folder == (f"{above}/runs" if place == "a folder of the layer" else None)
    assert command.is_other
