"""What lies in a folder is told apart by names: caches, checkpoints, and data called like those."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest

import preflight
from preflight.targets.folders import look_around
from preflight.targets.targets import CacheFolder
from tests.files import WHOLE, put

write = functools.partial(put, content=WHOLE)


def caches(folder: Path, *, whole: bool) -> dict[str, bool]:
    return {
        os.path.relpath(one.path, folder): one.checkpoint
        for one in look_around(str(folder), whole=whole)
        if isinstance(one, CacheFolder)
    }


def test_a_folder_without_checkpoints_is_one_cache(tmp_path: Path) -> None:
    """However its folders are called; where it was not named itself, each of them is one."""
    names = ("vae/1/a.pt", "text/checkpoint/a.pt", "text/checkpoints-of/a.pt", "best-1/a.pt")
    write(tmp_path, *names)

    assert caches(tmp_path, whole=True) == {".": False}
    assert caches(tmp_path, whole=False) == {"best-1": False, "text": False, "vae": False}


@pytest.mark.parametrize("name", ["0000001.pt", "{:032x}.npz", "{:064x}.safetensors"])
def test_what_was_computed_with_each_checkpoint_is_a_cache(tmp_path: Path, name: str) -> None:
    """Latents and features are named after samples, and there are many of them."""
    for step in (1, 2):
        for number in range(101):
            stem = name.format(number) if "{" in name else f"{number:07}.pt"
            write(tmp_path, f"features/checkpoint-{step}/{stem}")
    write(tmp_path, "vae/a.pt")

    assert caches(tmp_path, whole=True) == {"features": False, ".": False}
    assert caches(tmp_path, whole=False) == {"features": False, "vae": False}
    assert caches(tmp_path / "features", whole=True) == {".": False}


def test_photos_in_folders_that_are_called_as_checkpoints_are_photos(tmp_path: Path) -> None:
    for step in (1, 2):
        (tmp_path / "photos" / f"checkpoint-{step}").mkdir(parents=True)
        (tmp_path / "photos" / f"checkpoint-{step}" / "a.jpg").touch()

    assert caches(tmp_path, whole=True) == caches(tmp_path, whole=False) == {}


@pytest.mark.parametrize("name", ["out", "checkpoints", "output", "results", "runs"])
@pytest.mark.parametrize("state", ["checkpoint-{}", "global_step{}"])
def test_checkpoints_of_a_job_are_known_in_its_folder(
    tmp_path: Path, name: str, state: str
) -> None:
    """Whether or not the folder is named: `preflight run .` and `preflight run`."""
    write(tmp_path, "vae/a.pt", "text/b.pt")
    for step in (1, 2):
        write(tmp_path, f"{name}/{state.format(step)}/mp_rank_00_model_states.pt")

    assert caches(tmp_path, whole=True) == {name: True, ".": False}
    assert caches(tmp_path, whole=False) == {name: True, "text": False, "vae": False}
    assert caches(tmp_path / name, whole=True) == {".": True}
    assert caches(tmp_path / name, whole=False) == {".": True}


def test_files_of_many_ranks_are_those_of_a_checkpoint(tmp_path: Path) -> None:
    for rank in range(100):
        write(tmp_path, f"out/checkpoint-1/{rank}.pt", f"out/checkpoint-1/rng_state_{rank}.pth")

    assert caches(tmp_path, whole=True) == {"out": True}


def test_what_lies_beside_checkpoints_is_no_checkpoint(tmp_path: Path) -> None:
    """A job that writes its states into its own folder has its caches there, too."""
    write(tmp_path, "checkpoint-1/m.pt", "vae/a.pt", "base/model.safetensors")
    (tmp_path / "base" / "model.safetensors.index.json").write_text("{}")

    assert caches(tmp_path, whole=False) == {".": True, "base": True, "vae": False}
    assert caches(tmp_path, whole=True) == {".": True, "base": True}


def test_a_model_in_pieces_within_a_checkpoint_is_part_of_it(tmp_path: Path) -> None:
    write(tmp_path, "out/checkpoint-1/model-00001-of-00002.safetensors")
    index = tmp_path / "out" / "checkpoint-1" / "model.safetensors.index.json"
    index.write_text("{}")

    assert caches(tmp_path, whole=True) == caches(tmp_path, whole=False) == {"out": True}
    assert caches(tmp_path / "out", whole=True) == {".": True}
    assert caches(tmp_path / "out" / "checkpoint-1", whole=True) == {".": True}


@pytest.mark.parametrize("words", [(), (".",), ("out", "vae")])
def test_a_jobs_folder_is_judged_alike_however_it_is_named(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Damage of an older checkpoint stops no job, and each file counts once."""
    write(tmp_path, "vae/a.safetensors", *(f"out/checkpoint-{n}/m.safetensors" for n in (1, 2)))
    (tmp_path / "out" / "checkpoint-1" / "m.safetensors").write_bytes(WHOLE[:5])

    report = preflight.run(*words, folder=str(tmp_path), elsewhere=True)

    found = {one.check: one.severity.word for one in report.findings}
    assert found == {"cache-damaged": "warning", "cache-checkpoint": "note"}
    assert next(one for one in report.checks if one.id == "cache-damaged").targets == 3
    assert report.verdict == "go"


@pytest.mark.parametrize(
    "names",
    [
        ("model.safetensors", "state.pt"),
        ("pytorch_model.bin", "scheduler.pt"),
        ("unet_ema.pt",),
        ("net.pth", "training_state.json"),
        ("adapter_model.safetensors",),
    ],
)
@pytest.mark.parametrize("folder", ["step_{}", "global_step-{}", "run7-epoch={}", "ckpt{}"])
def test_steps_that_a_loop_saves_by_itself_are_checkpoints(
    tmp_path: Path, folder: str, names: tuple[str, ...]
) -> None:
    """The last was killed: nothing of it but a temporary file is there."""
    for number in (1, 2):
        write(tmp_path / "out" / folder.format(number), *names)
    put(tmp_path / "out" / folder.format(3), ".tmpn2XKTS", content=b"x")

    assert caches(tmp_path, whole=False) == {"out": True}
    assert caches(tmp_path / "out", whole=True) == {".": True}
    report = preflight.run("out", folder=str(tmp_path), select=["cache-checkpoint"])
    (finding,) = report.findings
    assert finding.severity.word == "error"
    assert folder.format(3) in finding.message


@pytest.mark.parametrize(
    "names",
    [
        ("epoch_1/img_0001.pt", "epoch_2/img_0001.pt"),
        ("step_1/embeds.pt", "step_2/embeds.pt", "step_3/latents.pt"),
        ("epoch_1/model.safetensors", "vae/a.pt"),
        ("model-7b/model.safetensors", "model-13b/model.safetensors"),
        ("lora1/weights.pt", "lora2/weights.pt"),
        ("clip/model.safetensors", "t5/model.safetensors"),
    ],
)
def test_other_folders_with_numbers_are_no_checkpoints(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    """Augmented anew for each epoch, one export, or other models side by side."""
    write(tmp_path / "out", *names)

    assert caches(tmp_path, whole=False) == {"out": False}
    assert caches(tmp_path / "out", whole=True) == {".": False}


@pytest.mark.parametrize(
    "names",
    [
        ("states/iter_000050/optimizer.bin", "states/iter_000100/model.safetensors"),
        ("ckpt/ep_0001/model.pt", "ckpt/ep_0002/model.pt"),
        ("saves/step_1/model/__0_0.distcp", "saves/step_2/model/.metadata"),
        ("snap/global_1/dist/__0_0.distcp", "snap/global_2/dist/.metadata"),
        ("snap/500/__0_0.distcp", "snap/1000/__0_0.distcp"),
        ("states/0/model.pt", "states/2050/model.pt"),
        ("kept/it1/ema.pt", "kept/it2/ema.pt", "kept/it2/opt.pt"),
    ],
)
def test_steps_are_known_however_deep_they_lie(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Of each run by itself; of the last one nothing was written before it was killed."""
    runs = ("work/exp1", "work/exp2")
    for run in runs:
        write(tmp_path / run, *names)
        step = tmp_path / run / os.path.dirname(names[0]).split("/")[0] / "step_300"
        step.mkdir(parents=True)
    home = os.path.dirname(names[0]).split("/")[0]

    assert caches(tmp_path, whole=False) == {f"{run}/{home}": True for run in runs}
    assert caches(tmp_path, whole=True) == {f"{run}/{home}": True for run in runs}


@pytest.mark.parametrize(
    "names",
    [
        ("vae/epoch_1/img_0001.pt", "vae/epoch_2/img_0001.pt"),
        ("base/model-7b/model.safetensors", "base/model-13b/model.safetensors"),
        ("all/run_1/optimizer.pt", "all/run_2/model.pt"),
        ("all/0/optimizer.pt", "all/1/optimizer.pt", "all/2/optimizer.pt"),  # runs of a sweep
        ("jobs/384721/model.pt", "jobs/384722/model.pt"),
        ("fold/global_a/model.pt", "fold/global_b/model.pt"),
        ("vae/500/img_0001.pt", "vae/1000/img_0001.pt"),
    ],
)
def test_deep_folders_with_numbers_are_as_little_checkpoints(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    write(tmp_path / "out", *names)

    assert caches(tmp_path, whole=False) == {"out": False}


def test_a_part_alone_is_told_wherever_its_checkpoint_lies(tmp_path: Path) -> None:
    """No word says that `snap_1` is a state; a part without a plan is nothing else."""
    write(tmp_path, "snap_1/dist/__0_0.distcp")

    (finding,) = preflight.run(folder=str(tmp_path), select=["cache-checkpoint"]).findings

    assert finding.severity.word == "error"
    assert ".metadata" in finding.message
