"""cache-checkpoint knows checkpoints in parts, as torch.distributed.checkpoint writes them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Report
from tests.distributed import HOWS, save, save_by_ranks

pytestmark = pytest.mark.usefixtures("at_hand")

PART = "__0_0.distcp"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("saved") / "one")


def steps(saved: Path, folder: Path, *names: str) -> Path:
    """Lay checkpoints beside one another, each a minute younger than the one before."""
    for number, name in enumerate(names):
        shutil.copytree(saved, folder / "out" / name)
        for path in (folder / "out" / name).iterdir():
            os.utime(path, (1_700_000_000 + 60 * number,) * 2)
    return folder / "out"


@pytest.fixture
def out(saved: Path, tmp_path: Path) -> Path:
    """Three checkpoints as torchtitan calls them."""
    return steps(saved, tmp_path, "step-100", "step-200", "step-300")


def look(folder: Path, word: str = "checkpoint=out") -> Report:
    checks = ["cache-checkpoint", "cache-damaged", "cache-foreign", "cache-unsafe"]
    return preflight.run(word, folder=str(folder), elsewhere=True, select=checks, no_ledger=True)


def told(folder: Path, word: str = "checkpoint=out") -> list[Finding]:
    return [one for one in look(folder, word).findings if one.check == "cache-checkpoint"]


@pytest.mark.parametrize("word", ["checkpoint=out", "cache=out", "out", "checkpoint=out/step-100"])
def test_whole_checkpoints_are_left_alone(out: Path, word: str) -> None:
    assert look(out.parent, word).findings == ()
    assert look(out.parent, word).verdict == "go"


@pytest.mark.parametrize(
    "names",
    [
        ("checkpoint-1/pytorch_model_fsdp_0", "checkpoint-1/optimizer_0"),
        ("iter_0000100", "iter_0000200"),
        ("epoch_0", "epoch_1"),
        ("last.ckpt",),
        ("model", "optimizer"),
        ("model-100", "model-200"),
    ],
    ids=["accelerate", "Megatron", "torchtune", "Lightning", "one state", "models"],
)
def test_other_layouts_are_left_alone(saved: Path, tmp_path: Path, names: tuple[str, ...]) -> None:
    steps(saved, tmp_path, *names)

    for word in ("checkpoint=out", "out"):
        assert look(tmp_path, word).findings == ()


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_what_ranks_save_is_whole(tmp_path: Path, how: str) -> None:
    save_by_ranks(tmp_path / "out" / "step-1", how)

    assert look(tmp_path).findings == ()


@pytest.mark.slow
def test_a_rank_that_saved_for_itself_and_was_stopped_is_found(tmp_path: Path) -> None:
    """Each has what names its items in a file of its own."""
    folder = save_by_ranks(tmp_path / "out" / "step-1", "alone")
    (folder / "__1.metadata").unlink()

    (finding,) = told(tmp_path)

    assert finding.message.startswith("step-1 lacks __1.metadata, which is written last")


@pytest.mark.parametrize("word", ["checkpoint=out", "cache=out", "out"])
def test_a_newest_that_was_not_saved_to_its_end_is_found(out: Path, word: str) -> None:
    (out / "step-300" / ".metadata").rename(out / "step-300" / ".metadata.tmp")

    (finding,) = told(out.parent, word)

    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "step-300 lacks .metadata, which is written last: its save did not come to its end; the "
        "newest whole one is step-200, of 2023-11-14 22:14 UTC"
    )
    assert finding.fix == "Go on from step-200, and move step-300 aside."


def test_an_older_one_that_was_not_saved_to_its_end_is_a_note(out: Path) -> None:
    (out / "step-100" / ".metadata").unlink()

    (finding,) = told(out.parent)

    assert finding.severity is Severity.NOTE


def test_one_alone_that_was_not_saved_to_its_end_is_found(out: Path) -> None:
    (out / "step-300" / ".metadata").unlink()

    (finding,) = told(out.parent, "checkpoint=out/step-300")

    assert finding.message.startswith("step-300 lacks .metadata, which is written last")
    assert (finding.fix or "").startswith("Go on from another one")


def test_a_deeper_folder_without_its_end_is_found(saved: Path, tmp_path: Path) -> None:
    """The model was saved, and the optimizer was not."""
    out = steps(
        saved, tmp_path, *(f"step-{n}/{part}" for n in (1, 2) for part in ("model", "optim"))
    )
    (out / "step-2" / "optim" / ".metadata").unlink()

    (finding,) = told(tmp_path)

    assert finding.message.startswith("step-2 lacks optim/.metadata, which is written last")
    assert "the newest whole one is step-1" in finding.message


def test_a_deeper_folder_that_was_not_begun_is_found(saved: Path, tmp_path: Path) -> None:
    out = steps(saved, tmp_path, *(f"step-{n}/{p}" for n in (1, 2, 3) for p in ("model", "optim")))
    shutil.rmtree(out / "step-3" / "optim")

    (finding,) = told(tmp_path)

    assert finding.message.startswith("step-3 lacks optim/.metadata, which the others have")


def test_a_part_that_is_not_there_is_found(out: Path) -> None:
    (out / "step-300" / PART).rename(out / "step-300" / "__9_9.distcp")

    (finding,) = told(out.parent)

    assert finding.message.startswith(
        "step-300 has 1 damaged of 2 files: step-300/.metadata names __0_0.distcp, which is not "
        "there; the newest whole one is step-200"
    )


def test_fewer_parts_than_the_others_have_are_no_fault(saved: Path, tmp_path: Path) -> None:
    """A last one that holds the model alone, of fewer ranks: what names its items has it all."""
    out = steps(saved, tmp_path, "step-1", "step-2", "step-3")
    for number in (1, 2):
        for part in ("__1_0.distcp", "__7_3.distcp"):
            shutil.copy(saved / PART, out / f"step-{number}" / part)

    assert look(tmp_path).findings == ()


def test_a_damaged_part_makes_its_checkpoint_one_that_is_not_whole(out: Path) -> None:
    os.truncate(out / "step-300" / PART, 4096)

    report = look(out.parent)

    (damaged,) = (one for one in report.findings if one.check == "cache-damaged")
    assert "failed finding central directory" in (damaged.why or "")
    assert (
        damaged.fix
        == "Go on from a checkpoint that is whole, or begin anew, and move this one aside."
    )
    (finding,) = told(out.parent)
    assert finding.message.startswith(
        "step-300 has 1 damaged of 2 files: step-300/__0_0.distcp ends"
    )


def test_parts_of_another_program_are_left_alone(out: Path) -> None:
    """They may need no file that names them."""
    for folder in out.iterdir():
        (folder / PART).rename(folder / "rank0.distcp")
        (folder / ".metadata").unlink()

    assert look(out.parent).findings == ()


@pytest.mark.parametrize("name", ["final", "best", "step-300-keep"])
def test_a_copy_in_parts_beside_the_numbered_ones_may_hold_less(out: Path, name: str) -> None:
    """Such as the last model, saved once more without the random states of the ranks."""
    import numpy as np

    for number in (100, 200, 300):
        np.savez(out / f"step-{number}" / "rng.npz", x=np.ones(9))
    shutil.copytree(out / "step-300", out / name)
    (out / name / "rng.npz").unlink()

    assert told(out.parent) == []


def test_what_lies_beside_checkpoints_is_no_newer_one(out: Path) -> None:
    import numpy as np

    (out / "samples").mkdir()
    np.savez(out / "samples" / "a.npz", x=np.ones(9))
    (out / "step-300" / ".metadata").unlink()

    (finding,) = told(out.parent)

    assert finding.severity is Severity.ERROR
    assert "the newest whole one is step-200" in finding.message


def test_the_settings_need_not_say_that_it_is_one(out: Path) -> None:
    (out.parent / "preflight.toml").write_text('[[cache]]\npath = "out"\n')
    (out / "step-300" / ".metadata").unlink()

    report = preflight.run(folder=str(out.parent), elsewhere=True, select=["cache-checkpoint"])

    assert len(report.findings) == 1


@pytest.mark.parametrize("alone", [True, False], ids=["the only one", "one of two"])
def test_a_part_that_vanishes_is_missed_although_nothing_else_has_changed(
    out: Path, *, alone: bool
) -> None:
    """What is remembered of the file that names it would say that all is there."""
    if not alone:
        shutil.copy(out / "step-300" / PART, out / "step-300" / "__1_0.distcp")
    job = {"folder": str(out.parent), "elsewhere": True, "select": ["cache-checkpoint"]}
    assert preflight.run("checkpoint=out", **job).findings == ()  # type: ignore[arg-type]
    (out / "step-300" / PART).unlink()

    assert len(preflight.run("checkpoint=out", **job).findings) == 1  # type: ignore[arg-type]


@pytest.mark.slow
def test_torch_is_not_asked_about_parts(out: Path) -> None:
    """With --deep: it would need the group that wrote them, or a model to put them in."""
    report = preflight.run(
        "checkpoint=out", folder=str(out.parent), elsewhere=True, deep=True, trust_caches=True
    )

    assert (report.verdict, report.findings) == ("go", ())


def test_a_single_part_is_looked_at_by_itself(out: Path) -> None:
    assert look(out.parent, f"checkpoint=out/step-100/{PART}").findings == ()
