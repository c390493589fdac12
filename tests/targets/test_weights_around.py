"""Weights of models beside code are looked at, and alone they earn no GO."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors.torch
import torch

import preflight
from preflight.findings.report import Report
from preflight.render import terminal
from preflight.scaffold.settings import write
from tests.archives import photo
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

LAYERS = {"blocks.0.weight": torch.zeros(4, 4), "blocks.0.bias": torch.zeros(4)}


def save(path: Path, content: object = LAYERS, *, zipped: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(content, path, _use_new_zipfile_serialization=zipped)


def run(folder: Path, *words: str) -> Report:
    return preflight.run(*words, folder=str(folder), no_ledger=True, elsewhere=True)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    put(tmp_path, "train.py", content=b"import torch\n")
    return tmp_path


# --- what is a cache stays one --------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [torch.zeros(4, 8), {"latents": torch.zeros(4, 8), "size": (8, 8)}, [torch.zeros(2)]],
    ids=["tensor", "dict", "list"],
)
@pytest.mark.parametrize("place", ["cache/cat.pt", "pretrained/cat.pth", "latents.pt"])
def test_few_files_of_samples_earn_a_go(job: Path, place: str, content: object) -> None:
    save(job / place, content)

    assert run(job).verdict == "go"


def test_weights_beside_what_is_none_earn_a_go(job: Path) -> None:
    """Who keeps both in a folder has a cache there."""
    save(job / "cache/vae.pt")
    save(job / "cache/cat.pt", torch.zeros(4, 8))

    assert run(job).verdict == "go"


def test_many_files_of_weights_are_samples(job: Path) -> None:
    """Somebody trains on them: a network that makes networks."""
    for number in range(21):
        save(job / f"zoo/{number}.pt")

    assert run(job).verdict == "go"


def test_a_folder_without_code_earns_a_go(tmp_path: Path) -> None:
    save(tmp_path / "weights.pt")

    assert run(tmp_path).verdict == "go"


@pytest.mark.parametrize("word", ["pretrained", "cache=pretrained", "pretrained/vgg.pth"])
def test_weights_that_were_named_earn_a_go(job: Path, word: str) -> None:
    save(job / "pretrained/vgg.pth")

    assert run(job, word).verdict == "go"


def test_data_beside_them_earns_a_go(job: Path) -> None:
    save(job / "pretrained/vgg.pth")
    put(job, "data/train/cat/a.jpg", content=photo())

    assert run(job).verdict == "go"


# --- weights alone --------------------------------------------------------------------------------


def numpy_save(path: str, content: Mapping[str, Any]) -> None:
    numpy.savez(path, **content)


SAVERS: dict[str, Callable[[Path], object]] = {
    "vgg.pth": save,
    "old.pth": lambda path: save(path, zipped=False),
    "whole.pt": lambda path: save(path, torch.nn.Linear(2, 2)),
    "run.ckpt": lambda path: save(path, {"epoch": 3, "state_dict": LAYERS}),
    "optimizer.pt": lambda path: save(
        path, torch.optim.Adam([torch.zeros(2, requires_grad=True)]).state_dict()
    ),
    "model.safetensors": lambda path: safetensors.torch.save_file(LAYERS, path),
    "vit.npz": lambda path: numpy_save(str(path), {"Encoder/Dense_0/kernel": numpy.zeros(3)}),
}


@pytest.mark.parametrize("place", ["", "weights/", "src/net/"])
@pytest.mark.parametrize("name", SAVERS)
def test_weights_alone_earn_no_go(job: Path, name: str, place: str) -> None:
    path = job / place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    SAVERS[name](path)

    report = run(job)

    assert report.verdict == "cannot-judge"
    assert "1 source file and 1 cache of weights of models." in " ".join(
        terminal.render(report).split()
    )


def test_damaged_ones_are_told(job: Path) -> None:
    save(job / "weights/vgg.pth")
    whole = (job / "weights/vgg.pth").read_bytes()
    put(job, "weights/vgg.pth", content=whole[:-300])

    assert run(job).verdict == "no-go"


def test_what_init_writes_of_them_earns_no_go_either(job: Path) -> None:
    """They stand there commented out, and are looked at as before."""
    save(job / "weights/vgg.pth")

    write(str(job), force=False)

    said = (job / "preflight.toml").read_text(encoding="utf-8")
    assert (
        '# weights of models: a cache, if the job trains on them\n# [[cache]]\n# path = "w' in said
    )
    assert run(job).verdict == "cannot-judge"
    put(job, "weights/vgg.pth", content=(job / "weights/vgg.pth").read_bytes()[:-300])
    assert run(job).verdict == "no-go"
