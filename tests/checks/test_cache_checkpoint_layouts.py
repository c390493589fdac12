"""cache-checkpoint knows the checkpoints of a run, however its trainer lays them out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Report
from tests.files import cut

pytestmark = pytest.mark.usefixtures("at_hand")


def lay(folder: Path, *paths: str) -> Path:
    """Write cached files, each a minute younger than the one before."""
    for minute, name in enumerate(paths):
        path = folder / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            if path.suffix == ".npz":
                np.savez(file, x=np.full(4096, minute, np.float32))
            else:
                file.write(b"{}" if path.suffix == ".json" else b"\x80\x02N.")
        os.utime(path, (1_700_000_000 + 60 * minute,) * 2)
    return folder / "out"


def look(out: Path, word: str = "checkpoint=out") -> Report:
    return preflight.run(
        word, folder=str(out.parent), elsewhere=True, select=["cache-checkpoint"], no_ledger=True
    )


def found(out: Path, word: str = "checkpoint=out") -> list[Finding]:
    return list(look(out, word).findings)


def told(out: Path) -> str:
    (finding,) = found(out)
    return finding.message


def said(out: Path, word: str = "checkpoint=out") -> str:
    """What the page says of the folder, after the number of its files."""
    (target,) = look(out, word).targets
    return target.text.partition(", ")[2]


def states(names: Sequence[str], *files: str) -> list[str]:
    return [f"{name}/{file}" for name in names for file in files]


STEPS = ("checkpoint-500", "checkpoint-1000", "checkpoint-1500")

LAYOUTS = {
    "epochs and steps": (
        states(
            ["epoch1-global_step300", "epoch0-global_step100", "epoch0-global_step200"], "m.npz"
        ),
        "epoch1-global_step300",
    ),
    "in checkpoints/": (
        states([f"checkpoints/checkpoint_{one}" for one in (2, 10, 9)], "m.npz", "o.npz"),
        "checkpoint_10",
    ),
    "files in weights/": (
        ["weights/epoch1.npz", "weights/best.npz", "weights/last.npz"],
        "last.npz",
    ),
    "files beside results": (
        ["model_0009999.npz", "model_0004999.npz", "inference/boxes.npz"],
        "model_0009999.npz",
    ),
    "of two ranks": (
        [f"ep{one}-ba{one}0-rank{rank}.npz" for one in (1, 3, 2) for rank in (0, 1)],
        "ep3-ba30-rank0.npz",
    ),
    "three files each": (
        [f"{one}{step}.npz" for step in (2000, 1000) for one in ("ema_0.9_", "model", "opt")],
        "ema_0.9_2000.npz",
    ),
    "a last one without a number": (
        states(["lora-000002-state", "lora-000004-state", "lora-state"], "m.npz", "o.npz"),
        "lora-state",
    ),
    "losses in names": (
        ["epoch=07-val_loss=0.31.npz", "epoch=12-val_loss=0.19.npz", "epoch=09-val_loss=0.22.npz"],
        "epoch=12-val_loss=0.19.npz",
    ),
    "what a recipe keeps": (
        [*states(["epoch_1", "epoch_2", "epoch_3"], "m.npz"), "recipe_state/r.npz"],
        "epoch_3",
    ),
}


@pytest.mark.parametrize(("names", "newest"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_newest_is_known_and_nothing_is_wrong(
    tmp_path: Path, names: list[str], newest: str
) -> None:
    out = lay(tmp_path, *names)

    assert found(out) == []
    assert said(out) == f"newest checkpoint: {newest}"


@pytest.mark.parametrize(("names", "newest"), LAYOUTS.values(), ids=LAYOUTS)
def test_a_newest_that_is_cut_is_found_with_one_to_go_on_from(
    tmp_path: Path, names: list[str], newest: str
) -> None:
    out = lay(tmp_path, *names)
    (path, *_) = (one for one in out.rglob("*.npz") if newest in one.parts)
    cut(path)

    (finding,) = found(out)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(f"{newest} has 1 damaged of ")
    assert "; the newest whole one is " in finding.message
    assert said(out).startswith("newest whole checkpoint: ")


def test_each_run_has_a_newest_of_its_own(tmp_path: Path) -> None:
    """Of `runs/exp1` and `runs/exp2` neither is a checkpoint of the other."""
    names = [f"{run}/{state}" for run in ("exp1", "exp2") for state in STEPS]
    out = lay(tmp_path, *states(names, "m.npz", "o.npz"))
    assert found(out) == []
    assert said(out) == ("newest whole checkpoints: exp1/checkpoint-1500 and exp2/checkpoint-1500")
    cut(out / "exp1" / "checkpoint-1500" / "m.npz")
    (out / "exp2" / "checkpoint-1500" / "o.npz").unlink()

    one, two = found(out)

    assert (one.at.file, two.at.file) == ("out/exp1", "out/exp2")
    assert one.fix == two.fix == "Go on from checkpoint-1000, and move checkpoint-1500 aside."


def test_a_checkpoint_that_is_named_itself_is_one(tmp_path: Path) -> None:
    """Its folders and the files of its ranks are no checkpoints."""
    here = ("unet/m.npz", "ema/m.npz", "rng_0.npz", "rng_1.npz", "global_step500/o.npz")
    out = lay(tmp_path, *states(STEPS, *here))

    for word in ("checkpoint=out/checkpoint-500", "checkpoint=out/checkpoint-1500"):
        assert found(out, word) == []
        assert said(out, word) == ""


def test_a_pipeline_is_one_model(tmp_path: Path) -> None:
    """Three text encoders are not three steps of one run."""
    names = ("text_encoder", "text_encoder_2", "text_encoder_3", "vae")
    out = lay(tmp_path, *states(names, "m.npz"), "model_index.json")

    assert found(out) == []
    assert said(out) == ""


# --- what one lacks


LATER = (
    *("optimizer.npz", "scheduler.npz", "trainer_state.json", "random_states_0.pkl"),
    *("scheduler_1.npz", "sampler.npz", "custom_checkpoint_0.pkl"),
)


@pytest.mark.parametrize("file", LATER)
def test_of_two_the_one_without_what_is_written_later_is_not_whole(
    tmp_path: Path, file: str
) -> None:
    out = lay(tmp_path, *states(STEPS[:2], "model.npz", *LATER))
    assert found(out) == []
    (out / "checkpoint-1000" / file).unlink()

    (finding,) = found(out)

    # Of these, accelerate says in its log that they are not there, and goes on.
    goes_on = file.startswith("random_states")
    assert finding.severity is (Severity.WARNING if goes_on else Severity.ERROR)
    assert finding.message.startswith(f"checkpoint-1000 lacks {file}, which the others have; ")


def test_of_two_that_hold_different_things_none_lacks_any(tmp_path: Path) -> None:
    """The second was saved by another launch, or holds no adapter."""
    out = lay(tmp_path, *states(STEPS[:2], "model.npz", "adapter.npz", "rng_state_0.npz"))
    (out / "checkpoint-1000" / "adapter.npz").unlink()
    assert found(out) == []
    lay(tmp_path, "checkpoint-1000/rng_state.npz")
    (out / "checkpoint-1000" / "rng_state_0.npz").unlink()

    assert found(out) == []


def test_a_second_of_a_kind_does_not_stand_for_the_first(tmp_path: Path) -> None:
    """As accelerate calls them: it numbers them, as others do ranks; the first has no number."""
    files = ("model.npz", "model_1.npz", "optimizer.npz", "optimizer_1.npz")
    out = lay(tmp_path, *states(STEPS, *files))
    for file in ("model_1.npz", "optimizer.npz"):
        (out / "checkpoint-1500" / file).unlink()

    assert told(out).startswith("checkpoint-1500 lacks model_1.npz and optimizer.npz, which ")


def test_of_two_the_one_without_a_model_is_not_whole(tmp_path: Path) -> None:
    out = lay(tmp_path, *states(STEPS[:2], "model.npz", "optimizer.npz"))
    (out / "checkpoint-1000" / "model.npz").unlink()

    assert told(out).startswith("checkpoint-1000 lacks model.npz, which the others have; ")


def test_what_a_model_in_a_folder_of_its_own_is_made_by_belongs_to_it(tmp_path: Path) -> None:
    """As `unet/config.json`, which diffusers loads first."""
    files = ("unet/model.npz", "unet/config.json", "unet/results.json")
    out = lay(tmp_path, *states(STEPS, *files))
    (out / "checkpoint-1500" / "unet" / "results.json").unlink()
    assert found(out) == []
    config = out / "checkpoint-1500" / "unet" / "config.json"
    config.write_text('{"sizes": [1, 2], "of": {"a": 1}')
    assert "has 1 damaged of 2 files: checkpoint-1500/unet/config.json ends in " in told(out)
    config.unlink()

    assert told(out).startswith("checkpoint-1500 lacks unet/config.json, which the others have; ")


@pytest.mark.parametrize(("first", "then"), [("_{}", ""), ("", "_{}")])
def test_one_rank_writes_its_state_without_a_number(tmp_path: Path, first: str, then: str) -> None:
    names = [
        f"{state}/rng_state{form.format(rank)}.npz"
        for state, form in zip(STEPS, (first, first, then), strict=True)
        for rank in range(2 if form else 1)
    ]
    out = lay(tmp_path, *states(STEPS, "m.npz", "o.npz"), *names)

    assert found(out) == []


def test_ranks_are_missed_where_the_others_of_them_are_there(tmp_path: Path) -> None:
    """A smaller launch has fewer of each."""
    files = [f"{one}_{rank}.npz" for one in ("optim", "model") for rank in range(4)]
    out = lay(tmp_path, *states(STEPS, *files))
    for rank in (2, 3):
        (out / "checkpoint-1500" / f"optim_{rank}.npz").unlink()
    assert told(out).startswith("checkpoint-1500 lacks optim_2.npz and optim_3.npz, which ")
    for rank in (2, 3):
        (out / "checkpoint-1500" / f"model_{rank}.npz").unlink()

    assert found(out) == []


def test_a_rank_is_missed_among_single_files(tmp_path: Path) -> None:
    out = lay(tmp_path, *(f"ep{one}-rank{rank}.npz" for one in (1, 2, 3) for rank in (0, 1)))
    (out / "ep3-rank1.npz").unlink()

    (finding,) = found(out)

    assert finding.message.startswith("ep3-rank0.npz lacks ep3-rank1.npz, which the others have; ")
    assert finding.fix == "Go on from ep2-rank0.npz, and move ep3-rank0.npz aside."


def test_a_step_within_a_step_is_the_same_in_all(tmp_path: Path) -> None:
    """As DeepSpeed's folder in a checkpoint of transformers."""
    files = [
        f"checkpoint-{one}/global_step{one}/optim_{n}.npz" for one in (5, 10, 15) for n in "01"
    ]
    out = lay(
        tmp_path, *states(["checkpoint-5", "checkpoint-10", "checkpoint-15"], "m.npz"), *files
    )
    assert found(out) == []
    (out / "checkpoint-15" / "global_step15" / "optim_0.npz").unlink()

    assert told(out).startswith("checkpoint-15 lacks global_step15/optim_0.npz, which the ")


@pytest.mark.parametrize("pieces", [1, 2, 4])
def test_a_model_may_come_in_other_pieces(tmp_path: Path, pieces: int) -> None:
    out = lay(tmp_path, *states(STEPS, "optimizer.npz"))
    for state, count in zip(STEPS, (2, 2, pieces), strict=True):
        names = [f"model-{one + 1:05}-of-{count:05}.npz" for one in range(count)]
        names = names if count > 1 else ["model.npz"]
        lay(tmp_path, *states([state], *names))
        if count > 1:
            index = {"weight_map": {name: name for name in names}}
            (out / state / "model.npz.index.json").write_text(json.dumps(index))

    assert found(out) == []


# An archive of torch.save that lacks no more than half of what stands behind its directory.
CUT_AT_ITS_END = b"PK\3\4" + bytes(99) + b"PK\5\6" + bytes(9)


@pytest.mark.parametrize(
    "left",
    [
        *(b"", b"PK\3\4" + bytes(99), b"\x80\x04\x95" + b"x" * 99),
        *(CUT_AT_ITS_END, bytes(4096) + b"data.pkl" + CUT_AT_ITS_END + bytes(9)),
    ],
)
def test_a_state_of_random_numbers_that_was_cut_is_found(tmp_path: Path, left: bytes) -> None:
    """No pickle is loaded: it has an end, or it has none."""
    out = lay(tmp_path, *states(STEPS, "model.npz", "random_states_0.pkl"))
    assert found(out) == []
    (out / "checkpoint-1500" / "random_states_0.pkl").write_bytes(left)

    assert "has 1 damaged of 2 files: checkpoint-1500/random_states_0.pkl " in told(out)


# --- what names the newest


@pytest.mark.parametrize(
    ("pointer", "text"),
    [
        ("latest", "checkpoint-1500"),
        ("latest", "checkpoint-1500\n"),
        ("latest_checkpointed_iteration.txt", "1500"),
        ("last_checkpoint", "/of/another/machine/checkpoint-9"),
        ("latest", "what another program says"),
        ("latest", "one line\nand another"),
    ],
)
def test_a_pointer_to_what_is_there_or_of_others_is_left_alone(
    tmp_path: Path, pointer: str, text: str
) -> None:
    out = lay(tmp_path, *states(STEPS, "m.npz"))
    (out / pointer).write_text(text)

    assert found(out) == []


@pytest.mark.parametrize(
    ("pointer", "text", "wrong"),
    [
        ("latest", "checkpoint-2000", "names checkpoint-2000, which is not there"),
        ("latest_checkpointed_iteration.txt", "2000", "names 2000, which is not there"),
        ("latest", "", "is empty"),
    ],
)
def test_a_pointer_to_nothing_is_found(tmp_path: Path, pointer: str, text: str, wrong: str) -> None:
    out = lay(tmp_path, *states(STEPS, "m.npz"))
    (out / pointer).write_text(text)

    (finding,) = found(out)

    assert finding.severity is Severity.ERROR
    assert finding.at.file == f"out/{pointer}"
    assert finding.message.startswith(f"{wrong}; the newest whole one is checkpoint-1500, of ")


def test_a_newer_one_that_was_never_pointed_to_stops_no_job(tmp_path: Path) -> None:
    """DeepSpeed writes `latest` when all else is written, and goes on from what it names."""
    out = lay(tmp_path, *states(STEPS, "m.npz", "o.npz"))
    (out / "latest").write_text("checkpoint-1000")
    assert said(out) == "newest checkpoint: checkpoint-1500"
    cut(out / "checkpoint-1500" / "m.npz")

    (finding,) = found(out)

    assert finding.severity is not Severity.ERROR
    assert said(out) == "newest checkpoint: checkpoint-1000"


def test_what_is_torn_weighs_as_much_when_it_is_remembered(tmp_path: Path) -> None:
    """Whichever of several newer ones is read first, and whatever is found in the others."""
    out = lay(tmp_path, *states(("step-1", "step-2", "step-3", "step-4"), "m.npz", "o.npz"))
    (out / "latest").write_text("step-1")
    for name in ("step-4", "step-3"):
        cut(out / name / "m.npz")

    first, second = (
        preflight.run("checkpoint=out", folder=str(tmp_path), elsewhere=True) for _ in range(2)
    )

    assert first.verdict == second.verdict == "go"
    assert first.findings == second.findings
    assert {one.severity for one in first.findings} == {Severity.WARNING, Severity.NOTE}


def test_the_one_that_latest_names_stops_a_job_where_it_is_torn(tmp_path: Path) -> None:
    """A newer one that is whole is the one to take."""
    out = lay(tmp_path, *states(STEPS, "m.npz", "o.npz"))
    (out / "latest").write_text("checkpoint-1000")
    cut(out / "checkpoint-1000" / "m.npz")

    report = preflight.run("checkpoint=out", folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "no-go"
    assert said(out) == "newest checkpoint: checkpoint-1500"


def test_a_checkpoint_lacks_what_its_own_pointer_names(tmp_path: Path) -> None:
    out = lay(tmp_path, *states(STEPS, "m.npz"))
    (out / "checkpoint-1500" / "latest").write_text("global_step1500")

    assert told(out).startswith(
        "checkpoint-1500 lacks global_step1500, which `latest` in it names; the newest whole "
    )


def test_a_last_one_that_lacks_what_the_numbered_ones_hold_is_found(tmp_path: Path) -> None:
    names = ("epoch_1", "epoch_2", "epoch_3", "last")
    out = lay(tmp_path, *states(names, "model.npz", "optimizer.npz"))
    assert found(out) == []
    shutil.move(out / "last" / "optimizer.npz", tmp_path / "o.npz")

    assert told(out).startswith("last lacks optimizer.npz, which the others have; ")
