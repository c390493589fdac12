"""What a writer leaves that is killed is judged as a real resume takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from preflight.findings.report import Report
from tests import killed_savers
from tests.contents import saved

pytestmark = pytest.mark.usefixtures("at_hand")

MOMENTS = 20

# --- killed now -----------------------------------------------------------------------------------


def look(folder: Path, word: str) -> Report:
    return preflight.run(word, folder=str(folder), elsewhere=True, no_ledger=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="nobody is killed so there")
def test_what_is_left_of_a_real_save_is_judged_as_a_real_resume_takes_it(tmp_path: Path) -> None:
    """Of each saver at twenty moments, each a job of its own."""
    done = subprocess.run(
        [sys.executable, killed_savers.__file__, str(tmp_path), str(MOMENTS)],
        capture_output=True,
        check=True,
        text=True,
        timeout=280,
    )
    resumed = json.loads(done.stdout.splitlines()[-1])
    assert len(resumed) == MOMENTS * len(killed_savers.SAVERS)

    words = [one if place % 2 else f"checkpoint={one}" for place, one in enumerate(resumed)]
    report = preflight.run(*words, folder=str(tmp_path), elsewhere=True, no_ledger=True)
    errors = [one for one in report.findings if one.severity is Severity.ERROR]
    stopped = {"/".join(str(one.at.file).split("/")[:2]) for one in errors}

    assert {one.check for one in errors} <= {"cache-checkpoint", "cache-damaged"}
    assert stopped == {one for one, goes_on in resumed.items() if not goes_on}


# --- killed before --------------------------------------------------------------------------------

# What was left by other savers and versions, each killed twenty times: of each file how
# much was there (1 whole, 0 nothing), and whether the job could go on. accelerate 1, `save_state`
# (into a folder of its own, and into one it numbers itself; with and without safetensors), and
# the Trainer of transformers 4 and 5. Lightning writes elsewhere, and leaves nothing.
ACCELERATE = ("model.safetensors", "optimizer.bin", "scheduler.bin", "random_states_0.pkl")
WITH_BIN = ("pytorch_model.bin", *ACCELERATE[1:])
TRAINER = (
    *("config.json", "generation_config.json", "model.safetensors", "training_args.bin"),
    *("optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json"),
)

LEFT: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, float], bool]] = {
    "a folder": ("checkpoints/checkpoint_{}", ACCELERATE, {}, False),
    "a file for the time being": ("checkpoint-{}", ACCELERATE, {".tmpVF30Ko": 1}, False),
    "the same, numbered": ("checkpoints/checkpoint_{}", ACCELERATE, {".tmpvF7Whg": 1}, False),
    "a model": ("checkpoint-{}", ACCELERATE, {"model.safetensors": 1}, False),
    "a model and an empty file": (
        *("checkpoint-{}", ACCELERATE),
        *({"model.safetensors": 1, "optimizer.bin": 0}, False),
    ),
    "half an optimizer": (
        *("checkpoints/checkpoint_{}", ACCELERATE),
        *({"model.safetensors": 1, "optimizer.bin": 0.4}, False),
    ),
    "half a model": ("checkpoint-{}", WITH_BIN, {"pytorch_model.bin": 0.5}, False),
    "bin, and half an optimizer": (
        *("checkpoint-{}", WITH_BIN),
        *({"pytorch_model.bin": 1, "optimizer.bin": 0.1}, False),
    ),
    "bin, whole": ("checkpoints/checkpoint_{}", WITH_BIN, dict.fromkeys(WITH_BIN, 1), True),
    "no random numbers": (
        *("checkpoint-{}", ACCELERATE),
        *({**dict.fromkeys(ACCELERATE[:3], 1)}, True),
    ),
    "empty random numbers": (
        *("checkpoint-{}", ACCELERATE),
        *({**dict.fromkeys(ACCELERATE[:3], 1), "random_states_0.pkl": 0}, True),
    ),
    "whole": ("checkpoints/checkpoint_{}", ACCELERATE, dict.fromkeys(ACCELERATE, 1), True),
    "nothing of a trainer": ("checkpoint-{}", TRAINER, {}, False),
    "an empty note": ("checkpoint-{}", TRAINER, {"config.json": 0}, False),
    "notes": ("checkpoint-{}", TRAINER, dict.fromkeys(TRAINER[:2], 1), False),
    "notes and half a file": (
        *("checkpoint-{}", TRAINER, {**dict.fromkeys(TRAINER[:2], 1), ".tmpxepnq9": 0.5}, False),
    ),
    "empty arguments": (
        *("checkpoint-{}", TRAINER),
        *({**dict.fromkeys(TRAINER[:3], 1), "training_args.bin": 0}, False),
    ),
    "arguments for the record, written last": (
        *("checkpoint-{}", TRAINER),
        *({**dict.fromkeys(TRAINER, 1), "training_args.bin": 0}, True),
    ),
    "no arguments for the record": (
        *("checkpoint-{}", TRAINER),
        *(dict.fromkeys((one for one in TRAINER if one != "training_args.bin"), 1), True),
    ),
    "half an optimizer of a trainer": (
        *("checkpoint-{}", TRAINER),
        *({**dict.fromkeys(TRAINER[:4], 1), "optimizer.pt": 0.6}, False),
    ),
    "all of a trainer": ("checkpoint-{}", TRAINER, dict.fromkeys(TRAINER, 1), True),
}


@pytest.fixture(scope="module")
def whole() -> Mapping[str, bytes]:
    """Give the content of a file of each suffix."""
    import torch
    from safetensors.torch import save

    tensor = torch.arange(4096.0)
    archive = saved({"state": tensor})
    contents = dict.fromkeys((".bin", ".pt", ".pth", ".pkl"), archive)
    return {**contents, ".safetensors": save({"weight": tensor}), ".json": b'{"step": 1}\n'}


def lay(folder: Path, files: Mapping[str, float], whole: Mapping[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, share in files.items():
        content = whole.get(Path(name).suffix, whole[".safetensors"])
        (folder / name).write_bytes(content[: int(len(content) * share)])


@pytest.mark.parametrize("others", [1, 2, 3])
@pytest.mark.parametrize(("name", "files", "left", "goes_on"), LEFT.values(), ids=LEFT)
def test_what_was_left_of_a_save_is_judged_as_the_resume_took_it(
    *,
    tmp_path: Path,
    whole: Mapping[str, bytes],
    others: int,
    name: str,
    files: tuple[str, ...],
    left: Mapping[str, float],
    goes_on: bool,
) -> None:
    out = tmp_path / "out"
    for step in range(others):
        lay(out / name.format(step), dict.fromkeys(files, 1), whole)
    assert look(tmp_path, "out").verdict == "go"
    lay(out / name.format(others), left, whole)

    report = look(tmp_path, "out")

    assert report.verdict == ("go" if goes_on else "no-go")
    if not goes_on:
        (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
        newest, one_before = (Path(name.format(one)).name for one in (others, others - 1))
        assert finding.fix == f"Go on from {one_before}, and move {newest} aside."


# --- whatever lies in it --------------------------------------------------------------------------

LYING = {
    "nothing": (),
    "a log": ("train.log",),
    "events": ("events.out.tfevents.17.host.1.0",),
    "a file for the time being": (".tmpVF30Ko", "model.safetensors.tmp"),
    "a file without a suffix": ("zero_to_fp32",),
    "a folder": ("unet/config.json",),
    "settings": ("args.yaml", "README.md"),
}


@pytest.mark.parametrize("name", ["checkpoint-{}", "epoch_{}", "run_step{}_of_mine"])
@pytest.mark.parametrize("lying", LYING.values(), ids=LYING)
def test_a_folder_that_is_called_as_its_neighbours_is_a_checkpoint_whatever_lies_in_it(
    tmp_path: Path, whole: Mapping[str, bytes], lying: tuple[str, ...], name: str
) -> None:
    out = tmp_path / "out"
    for step in (500, 1000):
        lay(out / name.format(step), {"model.pt": 1, "optimizer.pt": 1}, whole)
    (out / name.format(1500)).mkdir()
    for file in lying:
        path = out / name.format(1500) / file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"{}")

    report = look(tmp_path, "checkpoint=out")

    (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
    assert finding.message.startswith(f"{name.format(1500)} lacks model.pt and optimizer.pt, ")


@pytest.mark.parametrize("word", ["out", "checkpoint=out", ".", ""])
@pytest.mark.parametrize("left", [(), (".tmpVF30Ko",), ("model.safetensors.tmp",)])
@pytest.mark.parametrize("place", ["checkpoint-2", "checkpoints/checkpoint_0", "run/global_step5"])
def test_a_first_save_that_was_killed_is_told_where_no_other_one_is(
    tmp_path: Path, word: str, left: tuple[str, ...], place: str
) -> None:
    folder = tmp_path / "out" / place
    folder.mkdir(parents=True)
    for name in left:
        (folder / name).touch()
    words = [word] if word else []

    report = preflight.run(*words, folder=str(tmp_path), elsewhere=True, no_ledger=True)

    (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
    assert finding.severity is Severity.ERROR
    assert finding.at.file == f"out/{place}".rpartition("/")[0]
    assert "holds nothing that can be loaded" in finding.message


@pytest.mark.parametrize(
    ("gone", "severity"),
    [
        (("config.json",), Severity.WARNING),
        (("config.json", "generation_config.json"), Severity.WARNING),
        (("config.json", "trainer_state.json"), Severity.ERROR),
    ],
)
def test_a_trainer_goes_on_without_what_its_model_was_made_by(
    tmp_path: Path, whole: Mapping[str, bytes], gone: tuple[str, ...], severity: Severity
) -> None:
    for step in (500, 1000, 1500):
        lay(tmp_path / "out" / f"checkpoint-{step}", dict.fromkeys(TRAINER, 1), whole)
    for file in gone:
        (tmp_path / "out" / "checkpoint-1500" / file).unlink()

    (finding,) = look(tmp_path, "checkpoint=out").findings

    assert finding.severity is severity


def test_one_that_was_begun_in_a_run_of_its_own_is_told_beside_another_run(
    tmp_path: Path, whole: Mapping[str, bytes]
) -> None:
    for step in (500, 1000):
        tensors = {"model.pt": 1, "optimizer.pt": 1}
        lay(tmp_path / "out" / "exp1" / f"checkpoint-{step}", tensors, whole)
    (tmp_path / "out" / "exp2" / "checkpoint-500").mkdir(parents=True)

    (finding,) = look(tmp_path, "out").findings

    assert (finding.check, finding.at.file) == ("cache-checkpoint", "out/exp2")


@pytest.mark.parametrize("file", ["metrics.json", "00.png", "predictions.txt"])
def test_results_of_a_checkpoint_in_a_folder_that_is_called_as_it_is_are_none(
    tmp_path: Path, whole: Mapping[str, bytes], file: str
) -> None:
    for step in (500, 1000):
        tensors = {"model.pt": 1, "optimizer.pt": 1}
        lay(tmp_path / "out" / "run" / f"checkpoint-{step}", tensors, whole)
    results = tmp_path / "out" / "eval" / "checkpoint-500"
    results.mkdir(parents=True)
    (results / file).write_bytes(b"{}")

    assert [one for one in look(tmp_path, "out").findings if "cache" in one.check] == []


@pytest.mark.parametrize("name", ["checkpoints", "checkpoint-best", "epoch_1", "step"])
def test_an_empty_folder_that_no_trainer_takes_for_a_checkpoint_is_left_alone(
    tmp_path: Path, name: str, whole: Mapping[str, bytes]
) -> None:
    lay(tmp_path / "out" / "model", {"model.pt": 1}, whole)
    (tmp_path / "out" / name).mkdir()

    assert look(tmp_path, "out").findings == ()


def test_pictures_of_an_epoch_without_a_save_are_no_checkpoint(
    tmp_path: Path, whole: Mapping[str, bytes]
) -> None:
    """Weights are saved each second epoch, and pictures in each."""
    out = tmp_path / "out"
    for epoch in range(1, 6):
        tensors = {} if epoch % 2 else {"model.pt": 1, "optimizer.pt": 1}
        lay(out / f"epoch_{epoch}", {"00.png": 0, **tensors}, whole)

    report = look(tmp_path, "checkpoint=out")

    assert [one for one in report.findings if one.check == "cache-checkpoint"] == []


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("checkpoints", "checkpoint_{}"),
        ("logs/run-3/checkpoints", "checkpoint_{}"),
        ("a/b/c", "checkpoint-{}"),
        ("", "epoch_{}"),
        ("run", "step-{}"),
        ("run", "adapter-{}"),
        ("", "llama-step-{}"),
        ("run", "snapshot_{}"),
    ],
)
def test_checkpoints_are_known_by_themselves_wherever_they_lie(
    tmp_path: Path, whole: Mapping[str, bytes], place: str, name: str
) -> None:
    for step in (1, 2, 10):
        lay(tmp_path / "out" / place / name.format(step), dict.fromkeys(ACCELERATE, 1), whole)
    (tmp_path / "out" / place / name.format(11)).mkdir()

    (finding,) = look(tmp_path, "out").findings

    assert finding.check == "cache-checkpoint"
    assert finding.at.file == f"out/{place}".rstrip("/")
    assert finding.fix == f"Go on from {name.format(10)}, and move {name.format(11)} aside."


@pytest.mark.parametrize("name", ["epoch=0-step={}", "model_{}"])
def test_an_optimizer_in_a_folder_of_its_own_tells_checkpoints(
    tmp_path: Path, whole: Mapping[str, bytes], name: str
) -> None:
    files = {"model/weights.safetensors": 1.0, "optim/adam.pt": 1.0, "meta.json": 1.0}
    for step in (1, 2, 3):
        for part in ("model", "optim"):
            (tmp_path / "out" / name.format(step) / part).mkdir(parents=True)
        for file in files:
            content = whole[Path(file).suffix]
            (tmp_path / "out" / name.format(step) / file).write_bytes(content)
    assert look(tmp_path, "out").findings == ()
    (tmp_path / "out" / name.format(3) / "meta.json").write_bytes(b"")

    (finding,) = look(tmp_path, "out").findings

    assert finding.severity is Severity.ERROR
    assert f"{name.format(3)}/meta.json is empty" in finding.message


@pytest.mark.parametrize("name", ["seed_{}", "fold{}", "lr-1e-{}"])
def test_runs_beside_each_other_are_no_checkpoints_of_one(
    tmp_path: Path, whole: Mapping[str, bytes], name: str
) -> None:
    """The last of them has only begun."""
    for run in (1, 2, 3):
        lay(tmp_path / "out" / name.format(run), {"model.pt": 1, "optimizer.pt": 1}, whole)
    (tmp_path / "out" / name.format(4)).mkdir()

    assert look(tmp_path, "out").findings == ()


def test_a_cache_in_folders_of_epochs_is_no_run(tmp_path: Path, whole: Mapping[str, bytes]) -> None:
    """Augmented latents of each epoch; of the last, fewer were made."""
    for epoch in range(3):
        names = [f"dog{one}.pt" for one in range(9 - epoch)]
        lay(tmp_path / "cache" / f"epoch_{epoch}", dict.fromkeys(names, 1), whole)

    assert look(tmp_path, "cache").findings == ()
