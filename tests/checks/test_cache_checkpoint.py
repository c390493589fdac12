"""cache-checkpoint names the newest whole checkpoint, and what is wrong with the others."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import preflight
from preflight.checkpoints.training_states import checkpoints
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Report
from tests.archives import flipped
from tests.contents import safetensors
from tests.files import cut

pytestmark = pytest.mark.usefixtures("at_hand")

FILES = ("model.npz", "optimizer.npz", "rng/state.npz")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Three checkpoints, a hundred steps and a minute from one another."""
    for number in (100, 200, 300):
        for name in FILES:
            path = tmp_path / "out" / f"checkpoint-{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, x=np.full(4096, number, np.float32))
            os.utime(path, (1_700_000_000 + number * 60,) * 2)
    return tmp_path / "out"


def look(folder: Path, *words: str) -> Report:
    return preflight.run(
        *(words or ("checkpoint=out",)),
        folder=str(folder),
        elsewhere=True,
        select=["cache-checkpoint"],
    )


def found(folder: Path) -> list[Finding]:
    return list(look(folder).findings)


def told(folder: Path, *words: str) -> str:
    (finding,) = look(folder, *words).findings
    return finding.message


def save(path: Path, **tensors: object) -> None:
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(tensors, path)


def test_whole_checkpoints_are_left_alone(out: Path) -> None:
    assert found(out.parent) == []


def test_a_folder_that_is_no_folder_of_checkpoints_is_not_asked(out: Path) -> None:
    cut(out / "checkpoint-300" / "model.npz")

    report = look(out.parent, "cache=out")

    (outcome,) = (one for one in report.checks if one.id == "cache-checkpoint")
    assert (outcome.outcome, outcome.targets) == ("skipped", 0)


def test_a_newest_that_was_cut_is_an_error_with_the_one_to_take(out: Path) -> None:
    cut(out / "checkpoint-300" / "optimizer.npz")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "checkpoint-300 has 1 damaged of 3 files: checkpoint-300/optimizer.npz "
    )
    assert "the newest whole one is checkpoint-200, of 2023-11-15 01:33 UTC" in finding.message
    assert finding.fix == "Go on from checkpoint-200, and move checkpoint-300 aside."


def test_older_ones_stop_no_job_whose_newest_is_whole(out: Path) -> None:
    """Neither as checkpoints nor as files, at first sight and as remembered."""
    cut(out / "checkpoint-100" / "model.npz")
    cut(out / "checkpoint-200" / "rng" / "state.npz")

    for _ in range(2):
        report = preflight.run("checkpoint=out", folder=str(out.parent), elsewhere=True)
        graves = {(one.check, one.at.file): one.severity for one in report.findings}
        assert graves == {
            ("cache-damaged", "out/checkpoint-100/model.npz"): Severity.WARNING,
            ("cache-damaged", "out/checkpoint-200/rng/state.npz"): Severity.WARNING,
            ("cache-checkpoint", "out"): Severity.NOTE,
        }
        assert report.verdict == "go"


def test_all_that_is_damaged_in_a_checkpoint_is_named(out: Path) -> None:
    """With the one to go on from; and of each file it is told by itself what is wrong with it."""
    for name in ("model.npz", "optimizer.npz"):
        cut(out / "checkpoint-300" / name)

    report = preflight.run("checkpoint=out", folder=str(out.parent), elsewhere=True)

    (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
    assert "checkpoint-300 has 2 damaged of 3 files: checkpoint-300/model.npz " in finding.message
    assert "; also optimizer.npz; the newest whole one is checkpoint-200" in finding.message
    assert [one.at.file for one in report.findings if one.check == "cache-damaged"] == [
        "out/checkpoint-300/model.npz",
        "out/checkpoint-300/optimizer.npz",
    ]


def test_what_git_lfs_has_not_fetched_is_told_with_the_way_to_fetch_it(out: Path) -> None:
    """The checkpoint is not torn: going on from another one would be the wrong thing to do."""
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 9999\n"
    (out / "checkpoint-300" / "model.npz").write_text(pointer)

    report = preflight.run("checkpoint=out", folder=str(out.parent), elsewhere=True)

    assert [(one.check, one.severity) for one in report.findings] == [
        ("cache-damaged", Severity.ERROR)
    ]


def test_what_was_never_finished_is_damaged_and_stops_no_job(out: Path) -> None:
    shutil.copytree(out / "checkpoint-300", out / "tmp-checkpoint-400")
    cut(out / "tmp-checkpoint-400" / "model.npz")

    report = preflight.run("checkpoint=out", folder=str(out.parent), elsewhere=True)

    assert [(one.check, one.severity) for one in report.findings] == [
        ("cache-damaged", Severity.WARNING)
    ]


def test_a_newest_of_nan_is_not_whole_where_another_of_its_tensors_is_zero(tmp_path: Path) -> None:
    """As a bias is at the start."""
    import torch

    for number in (100, 200, 300):
        weights = torch.full((64,), 0.5 if number < 300 else torch.nan)
        save(tmp_path / f"checkpoint-{number}" / "model.pt", a=torch.zeros(99), w=weights)

    report = preflight.run(
        "checkpoint=.", folder=str(tmp_path), elsewhere=True, deep=True, trust_caches=True
    )

    assert len(report.findings) == 2
    (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
    assert finding.severity is Severity.ERROR
    assert "checkpoint-300/model.pt holds NaN (['w']); " in finding.message


def test_a_newest_of_nan_is_none_to_go_on_from(tmp_path: Path) -> None:
    """Where its numbers are looked at; in no other way is anything wrong with it."""
    import torch

    for number in (100, 200, 300):
        weights = torch.full((64,), 0.5 if number < 300 else float("nan"))
        save(tmp_path / "out" / f"checkpoint-{number}" / "model.pt", weights=weights)

    report = preflight.run(
        "checkpoint=out",
        folder=str(tmp_path),
        elsewhere=True,
        select=["cache-checkpoint", "cache-content"],
        deep=True,
        trust_caches=True,
    )

    (finding,) = (one for one in report.findings if one.check == "cache-checkpoint")
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "checkpoint-300 has 1 damaged of 1 file: checkpoint-300/model.pt holds NaN"
    )
    assert finding.fix == "Go on from checkpoint-200, and move checkpoint-300 aside."


def test_damage_that_is_loaded_without_a_word_stops_no_job(tmp_path: Path) -> None:
    """It trains on with wrong numbers, and that is what is said; unless a file is missing too."""
    import torch

    for number in (100, 200, 300):
        for name in ("model.pt", "optimizer.pt", "rng.pt"):
            path = tmp_path / "out" / f"checkpoint-{number}" / name
            save(path, weights=torch.full((4096,), float(number)))
    newest = tmp_path / "out" / "checkpoint-300"
    (newest / "model.pt").write_bytes(flipped((newest / "model.pt").read_bytes(), 8000))

    (finding,) = found(tmp_path)
    assert finding.why == (
        "A job that goes on from the newest checkpoint loads it without a word, and trains on "
        "with wrong numbers."
    )

    (newest / "rng.pt").unlink()
    (finding,) = found(tmp_path)
    assert finding.why == (
        "A job that goes on from the newest checkpoint stops there, or begins anew."
    )


def test_folders_of_which_none_are_numbered_alike_need_not_hold_the_same(out: Path) -> None:
    for number, name in ((100, "last"), (200, "best"), (300, "final")):
        (out / f"checkpoint-{number}").rename(out / name)
    (out / "final" / "optimizer.npz").unlink()

    assert found(out.parent) == []


def test_an_older_one_that_was_cut_is_a_note(out: Path) -> None:
    cut(out / "checkpoint-100" / "model.npz")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.NOTE
    assert "the newest whole one is checkpoint-300" in finding.message


def test_a_newest_that_lacks_a_file_is_found(out: Path) -> None:
    """The writer was killed between two files."""
    (out / "checkpoint-300" / "rng" / "state.npz").unlink()

    assert told(out.parent).startswith(
        "checkpoint-300 lacks rng/state.npz, which the others have; "
    )


@pytest.mark.parametrize("others", [1, 2, 3])
@pytest.mark.parametrize("note", ["", "unet/config.json"], ids=["empty", "notes"])
def test_a_newest_that_was_only_begun_is_found(out: Path, note: str, others: int) -> None:
    """The writer was killed before the first tensor; trainers take the folder by its number."""
    for number in (300, 200, 100)[others:]:
        shutil.rmtree(out / f"checkpoint-{number}")
    (out / "checkpoint-1000" / "unet").mkdir(parents=True)
    if note:
        (out / "checkpoint-1000" / note).write_text("{}")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "checkpoint-1000 lacks model.npz, optimizer.npz and rng/state.npz, which the others have; "
    )
    assert finding.fix == "Go on from checkpoint-300, and move checkpoint-1000 aside."


def test_folders_that_are_no_begun_checkpoint_are_left_alone(out: Path) -> None:
    """What holds files of another kind, is under another name, or cannot be listed."""
    for name in ("checkpoint-400", "logs", "checkpoint-best", "run-7"):
        (out / name).mkdir()
    (out / "checkpoint-400" / "model.msgpack").write_bytes(b"x")
    (out / "checkpoint-500").write_text("a file")

    assert found(out.parent) == []


def test_one_file_is_called_by_its_name(out: Path) -> None:
    cut(out / "checkpoint-300" / "model.npz")

    said = told(out.parent, "checkpoint=out/checkpoint-300/model.npz")

    assert said.startswith("model.npz has 1 damaged of 1 file: model.npz ends at 4,096 ")


def test_one_that_was_deleted_while_it_was_looked_at_is_none_to_go_on_from(out: Path) -> None:
    """By a job that goes on meanwhile, and keeps the last two."""
    paths = [str(path) for path in sorted(out.rglob("*.npz"))]
    shutil.rmtree(out / "checkpoint-200")

    names = [one.name for one in checkpoints(str(out), paths, {})]

    assert names == ["checkpoint-300", "checkpoint-100"]


def test_where_none_is_whole_that_is_said(out: Path) -> None:
    for number in (100, 200, 300):
        cut(out / f"checkpoint-{number}" / "model.npz")

    assert "none of them is whole" in told(out.parent)


def test_single_files_are_checkpoints_too(tmp_path: Path) -> None:
    """As Lightning keeps them."""
    for number in (1, 2):
        path = tmp_path / "out" / f"epoch-{number}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez(path, x=np.full(4096, number, np.float32))
        os.utime(path, (1_700_000_000 + number,) * 2)
    cut(tmp_path / "out" / "epoch-2.npz")

    said = told(tmp_path)

    assert said.startswith("epoch-2.npz has 1 damaged of 1 file: epoch-2.npz ")
    assert "the newest whole one is epoch-1.npz" in said


def test_the_newest_is_that_of_the_highest_number(out: Path) -> None:
    """Whatever times a copy has given them, and however many digits they have."""
    (out / "checkpoint-300").rename(out / "checkpoint-1000")
    os.utime(out / "checkpoint-200" / "model.npz")
    cut(out / "checkpoint-1000" / "model.npz")

    (finding,) = found(out.parent)

    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("checkpoint-1000 has ")


def test_what_was_never_finished_is_not_the_newest(out: Path) -> None:
    """Trainers pass over it, and take the one before."""
    (out / "tmp-checkpoint-400").mkdir()
    (out / "tmp-checkpoint-400" / "model.npz").write_bytes(b"")
    assert found(out.parent) == []
    cut(out / "checkpoint-300" / "model.npz")

    (finding,) = found(out.parent)

    assert finding.message.startswith("checkpoint-300 has ")
    assert finding.fix == "Go on from checkpoint-200, and move checkpoint-300 aside."


@pytest.mark.parametrize("name", ["unet/model.npz", "final/model.npz", "best_model/a/b.npz"])
def test_a_model_that_lies_beside_its_checkpoints_is_no_newer_one(out: Path, name: str) -> None:
    """As pipelines are saved at the end; it needs no state of an optimizer."""
    (out / name).parent.mkdir(parents=True)
    np.savez(out / name, x=np.ones(9))
    assert found(out.parent) == []
    cut(out / name)
    assert found(out.parent) == []
    cut(out / "checkpoint-300" / "model.npz")

    assert told(out.parent).startswith("checkpoint-300 has ")


@pytest.mark.parametrize(("ranks", "is_told"), [(8, 0), (7, 1), (5, 1), (4, 0), (1, 0), (0, 1)])
def test_a_launch_on_fewer_ranks_leaves_fewer_files(out: Path, ranks: int, is_told: int) -> None:
    """A rank that was killed is missed all the same."""
    for number in (100, 200, 300):
        for rank in range(8 if number < 300 else ranks):
            np.savez(out / f"checkpoint-{number}" / f"rng_state_{rank}.npz", x=np.ones(9))

    assert len(found(out.parent)) == is_told


@pytest.mark.parametrize("word", [".", "out"])
def test_a_folder_of_checkpoints_is_known_by_their_names(out: Path, word: str) -> None:
    cut(out / "checkpoint-300" / "model.npz")

    assert len(look(out.parent, word).findings) == 1


def test_the_page_names_the_newest_where_there_are_several(out: Path) -> None:
    def said() -> str:
        (target,) = look(out.parent).targets
        return target.text

    assert said() == "9 files, newest checkpoint: checkpoint-300"
    shutil.rmtree(out / "checkpoint-300")
    shutil.rmtree(out / "checkpoint-200")
    assert said() == "3 files"


def test_the_settings_may_say_that_it_is_one(out: Path) -> None:
    text = '[[cache]]\npath = "out"\ncheckpoints = true\n'
    (out.parent / "preflight.toml").write_text(text)
    cut(out / "checkpoint-300" / "model.npz")

    report = preflight.run(folder=str(out.parent), elsewhere=True, select=["cache-checkpoint"])

    assert len(report.findings) == 1


ENDED = ('{"step": 3}', '{\n"a": []\n}\n\n', "[1]", "3", '"a"', '{"a": "{{"}', '{"{": 1, // {\n}')


@pytest.mark.parametrize("text", ENDED)
def test_notes_with_an_end_are_left_alone(out: Path, text: str) -> None:
    (out / "checkpoint-300" / "trainer_state.json").write_text(text)

    assert found(out.parent) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ('{"log_history": [{"step": 1', "ends in the middle, at 27 bytes"),
        ('{"log_history": [{"step": 1}', "ends in the middle, at 28 bytes"),
        ('{"chat_template": ["{{ text }}', "ends in the middle, at 30 bytes"),
        ('{"step": 1, ' + "\0" * 99 + "}", "holds zero bytes, from 12 on"),
        ("\0" * 1000, "holds nothing but zero bytes (1,000)"),
    ],
)
def test_notes_that_were_cut_are_found(out: Path, text: str, said: str) -> None:
    (out / "checkpoint-300" / "trainer_state.json").write_text(text)

    damage = f"has 1 damaged of 4 files: checkpoint-300/trainer_state.json {said}; "
    assert damage in told(out.parent)


def test_a_newest_without_the_notes_that_are_written_last_is_found(out: Path) -> None:
    for number in (100, 200):
        (out / f"checkpoint-{number}" / "trainer_state.json").write_text("{}")

    assert told(out.parent).startswith("checkpoint-300 lacks trainer_state.json, which the others")


def model(folder: Path, *, parts: int) -> None:
    """Write a model in three pieces, of which some are there."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [f"model-0000{number}-of-00003.npz" for number in (1, 2, 3)]
    for name in names[:parts]:
        np.savez(folder / name, x=np.ones(9))
    index = {"metadata": {}, "weight_map": {f"layer.{name}": name for name in names}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_a_model_of_which_all_pieces_are_there_is_left_alone(tmp_path: Path) -> None:
    model(tmp_path / "base", parts=3)

    assert look(tmp_path, "base").findings == ()


def test_a_piece_that_the_index_names_and_that_is_not_there_is_found(tmp_path: Path) -> None:
    model(tmp_path / "base", parts=2)

    (finding,) = look(tmp_path, "base").findings

    assert finding.message == "base lacks model-00003-of-00003.npz, which its index names"
    assert (finding.fix or "").startswith("Copy or download again what is named; ")


def test_a_checkpoint_lacks_what_its_own_index_names(out: Path) -> None:
    model(out / "checkpoint-300", parts=1)

    assert told(out.parent).startswith(
        "checkpoint-300 lacks model-00002-of-00003.npz and model-00003-of-00003.npz, which its "
        "index names; the newest whole one is checkpoint-200"
    )


def test_a_tensor_that_the_index_names_and_its_piece_does_not_hold_is_found(
    tmp_path: Path,
) -> None:
    """A loader gives it numbers of chance, and says so in a line that nobody reads."""
    base = tmp_path / "base"
    base.mkdir()
    one = ("U8", [1], b"x")
    (base / "a.safetensors").write_bytes(safetensors(up=one, down=one))
    weights = {"up": "a.safetensors", "down": "a.safetensors"}
    index = base / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": weights}))
    assert look(tmp_path, "base").findings == ()
    index.write_text(json.dumps({"weight_map": {**weights, "gate": "a.safetensors"}}))

    said = "base lacks 1 tensor that its index names: gate in a.safetensors"
    assert told(tmp_path, "base") == said


@pytest.mark.parametrize("content", [b"", b"\xff" * 99, b"\x02" + bytes(7) + b"[]", b"version h"])
def test_a_damaged_piece_is_told_by_itself(tmp_path: Path, content: bytes) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "a.safetensors").write_bytes(content)
    (base / "model.safetensors.index.json").write_text('{"weight_map": {"a": "a.safetensors"}}')

    assert look(tmp_path, "base").findings == ()


@pytest.mark.parametrize("text", ["[]", "{", '{"weight_map": 3}', '{"weight_map": {"a": ["/"]}}'])
def test_an_index_that_says_nothing_names_nothing(tmp_path: Path, text: str) -> None:
    model(tmp_path / "base", parts=3)
    (tmp_path / "base" / "model.safetensors.index.json").write_text(text)

    assert len(look(tmp_path, "base").findings) == (text == "{")
