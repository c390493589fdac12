"""How a script goes on from a checkpoint is read from its own options."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import pytest

from preflight.resuming.moments import SAVE, Moment, ResumeWay
from preflight.resuming.starts import path_of, words_for
from preflight.resuming.ways import (
    AS_STARTED,
    as_action,
    given_with,
    may_go_on,
    option,
    way_by_key,
    way_of,
    way_written,
)


def found(*options: dict[str, object], given: tuple[str, ...] = ()) -> ResumeWay | None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    for one in options:
        name = one.pop("name")
        parser.add_argument(str(name), **one)  # type: ignore[arg-type]
    return way_of(parser._actions, given)


@pytest.mark.parametrize(
    "name",
    [
        *("--resume", "--resume-from", "--resume_from_checkpoint", "--continue-from"),
        *("--ckpt_path", "--restore-file", "--restore", "--load_from_checkpoint"),
    ],
)
def test_an_option_that_says_so_is_taken(name: str) -> None:
    assert found({"name": name}) == ResumeWay(option=name, takes_path=True)


def test_a_switch_is_taken_where_no_option_takes_a_path() -> None:
    switch: dict[str, object] = {"name": "--resume", "action": "store_true"}
    both = {"name": "--resume", "action": argparse.BooleanOptionalAction}

    assert found(both) == ResumeWay(option="--resume", takes_path=False)

    assert found(dict(switch)) == ResumeWay(option="--resume", takes_path=False)
    way = found(switch, {"name": "--resume_from"})
    assert way is not None
    assert way.option == "--resume_from"


def as_bool(word: str) -> bool:
    if word.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(word)
    return word.lower() == "true"


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"type": int, "choices": [0, 1], "default": 0}, "1"),
        ({"choices": ["False", "True"], "default": "False"}, "True"),
        ({"choices": ["yes", "no"]}, "yes"),
        ({"type": as_bool, "default": False}, "true"),
        ({"type": as_bool, "choices": [True, False]}, "True"),
        ({"type": as_bool, "default": False, "nargs": "?", "const": True}, "true"),
        ({"type": bool}, "true"),
    ],
)
def test_a_switch_that_takes_a_word_is_given_the_one_that_turns_it_on(
    how: dict[str, object], word: str
) -> None:
    way = found({"name": "--resume", **how})

    assert way == ResumeWay(option=f"--resume={word}", takes_path=False)
    assert words_for([saved("a/last.pt")], way, None) == [f"--resume={word}"]


@pytest.mark.parametrize(
    "how", [{"type": str, "default": False}, {"default": False}, {"type": os.path.abspath}]
)
def test_an_option_for_a_path_that_is_off_by_default_takes_one(how: dict[str, object]) -> None:
    """Many write `default=False` where they mean that there is none."""
    assert found({"name": "--resume", **how}) == ResumeWay(option="--resume", takes_path=True)


@pytest.mark.parametrize(
    "option",
    [
        {"name": "--checkpoint", "help": "weights to start from"},
        {"name": "--ckpt"},
        {"name": "--resume_step", "type": int},
        {"name": "--resume_epoch"},
        {"name": "--resume-mode", "choices": ["auto", "never"]},
        {"name": "--wandb_resume_id"},
        {"name": "--init-from-checkpoint"},
        {"name": "--finetune_from_ckpt"},
        {"name": "--load-from"},
        {"name": "--restore-faces"},
        {"name": "--restart-every", "type": int, "help": "restart the schedule from its peak"},
        {"name": "--pretrained", "help": "weights to continue training from"},
    ],
)
def test_an_option_that_may_mean_something_else_is_left(option: dict[str, object]) -> None:
    assert found(option) is None


def test_a_checkpoint_to_resume_from_is_told_by_its_help() -> None:
    assert found({"name": "--checkpoint", "help": "resume from this file"}) is not None


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ({"name": "--warm", "help": "resume from this checkpoint"}, "--warm"),
        ({"name": "--state", "help": "file to pick up training from"}, "--state"),
        ({"name": "--continue", "action": "store_true"}, "--continue"),
        ({"name": "--restart"}, "--restart"),
    ],
)
def test_an_option_that_may_well_resume_is_a_guess(option: dict[str, object], word: str) -> None:
    """It is one for a resume once something is loaded by it; one that says so comes before."""
    takes_path = "action" not in option

    assert found(dict(option)) == ResumeWay(option=word, takes_path=takes_path, is_guess=True)
    assert found(dict(option), given=(word, "a")) is None
    assert found(option, {"name": "--resume"}) == ResumeWay(option="--resume", takes_path=True)


def test_what_the_script_was_given_already_is_not_added() -> None:
    way = found({"name": "--resume"}, given=("--lr", "1", "--resume=old.pt"))

    assert way is not None
    assert way.is_given
    assert words_for([saved("a/last.pt")], way, None) is None


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("model.load_state_dict(torch.load('last.pt'))", True),
        ("accelerator.load_state(newest)", True),
        ("model.train(); torch.save(model.state_dict(), 'last.pt')", False),
    ],
)
def test_what_loads_a_state_may_go_on_by_itself(text: str, may: bool) -> None:  # noqa: FBT001
    assert may_go_on(["import torch", text]) == may
    assert words_for([saved("a/last.pt")], AS_STARTED, None) == []


def saved(path: str, **more: object) -> Moment:
    return Moment(what=SAVE, steps=2, path=path, **more)  # type: ignore[arg-type]


def test_what_is_typed_counts_before_what_was_found() -> None:
    way = ResumeWay(option="--resume", takes_path=False)

    words = words_for([saved("a/last.pt")], way, "--load '{checkpoint}' --again")

    assert words == ["--load", "a/last.pt", "--again"]
    assert words_for([saved("a/last.pt")], way, None) == ["--resume"]
    assert words_for([saved("a/last.pt")], None, None) is None


def test_of_several_files_the_one_with_all_in_it_is_taken() -> None:
    weights, whole = saved("a/best.pt"), saved("a/last.pt", holds_state=True, counts={"epoch": 0})

    assert path_of([weights, whole]) == "a/last.pt"
    assert path_of([weights, saved("a/state", is_folder=True)]) == "a/state"


def test_of_several_files_with_all_in_each_one_is_taken() -> None:
    """As Lightning saves the last one beside the best one."""
    both = [saved("a/epoch=0.ckpt", holds_state=True), saved("a/last.ckpt", holds_state=True)]

    assert path_of(both) == "a/epoch=0.ckpt"


def test_files_that_lie_side_by_side_are_named_by_their_folder() -> None:
    parts = [saved("a/7/model.pt"), saved("a/7/optimizer.pt", holds_state=True)]

    assert path_of(parts) == "a/7"
    assert path_of(parts, folder=False) == "a/7/optimizer.pt"


def test_what_is_saved_once_more_at_the_end_is_no_part_of_the_checkpoint() -> None:
    """A Trainer of transformers saves its model beside its checkpoints, at the same step."""
    parts = [saved("a/7/model.pt"), saved("a/7/optimizer.pt", holds_state=True), saved("a/m.pt")]

    assert path_of(parts) == "a/7"
    assert path_of([parts[1], parts[2]]) == "a/7/optimizer.pt"


def test_options_of_click_are_read_as_those_of_argparse_are() -> None:
    import click

    def found_of(*declared: str, **more: Any) -> ResumeWay | None:
        return way_of([as_action(click.Option(declared, **more))], ())

    assert found_of("--resume", default=None) == ResumeWay(option="--resume", takes_path=True)
    assert found_of("--resume", is_flag=True) == ResumeWay(option="--resume", takes_path=False)
    assert found_of("--resume-mode", type=click.Choice(["auto"])) is None
    assert found_of("--resume-at", type=int) is None
    assert way_of([as_action(click.Argument(["resume"]))], ()) is None


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ('if "--resume" in sys.argv: path = sys.argv[2]', "--resume"),
        ('getopt(argv, "", ["epochs="]); given.get("--resume-from")', "--resume-from"),
        ('[one for one in argv if one.startswith("--ckpt_path=")]', "--ckpt_path"),
        ('if "--resume-step" in sys.argv: go()', None),
        ('train.main(["--resume", path])', None),
    ],
)
def test_an_option_that_is_read_by_hand_is_a_guess(text: str, option: str | None) -> None:
    """The script is known to take it once it has loaded something by it."""
    way = way_written([text])

    assert way == (option and ResumeWay(option=option, takes_path=True, is_guess=True))


def test_a_key_of_a_configuration_is_given_its_path_behind_a_sign() -> None:
    saves = [Moment(what=SAVE, path="last.pt"), Moment(what=SAVE, path="epoch=1.ckpt")]
    config = {"lr": 0.1, "wandb": {"resume": None}, "trainer": {"resume_from": None}}
    way = way_by_key(config, [])

    assert way == ResumeWay(option="trainer.resume_from=", takes_path=True, is_guess=True)
    assert [words_for([one], way, None) for one in saves] == [
        ["trainer.resume_from=last.pt"],
        ["trainer.resume_from='epoch=1.ckpt'"],
    ]
    assert words_for(saves, way_by_key({"resume": False}, []), None) == ["resume=true"]
    assert words_for(saves, way_by_key(config, ["trainer.resume_from=x"]), None) is None
    assert way_by_key({"resume_epoch": 3, "resume": {"at": 3}}, []) is None


WITH_WORD: dict[str, object] = {"name": "--resume", "type": as_bool, "default": False}


@pytest.mark.parametrize(
    ("option", "given", "again"),
    [
        ({"name": "--resume"}, ["--resume", "none", "fit"], ["--resume", "a/last.pt", "fit"]),
        ({"name": "--resume"}, ["--lr=1", "--resume="], ["--lr=1", "--resume", "a/last.pt"]),
        ({"name": "--resume"}, ["--resume", ""], ["--resume", "a/last.pt"]),
        ({"name": "--resume"}, ["--resume=False", "-q"], ["--resume", "a/last.pt", "-q"]),
        (WITH_WORD, ["--resume", "0", "-q"], ["--resume=true", "-q"]),
        (
            {"name": "--resume", "action": argparse.BooleanOptionalAction},
            ["--no-resume", "-q"],
            ["--resume", "-q"],
        ),
    ],
)
def test_what_says_no_is_no_resume_that_was_asked_for(
    option: dict[str, object], given: list[str], again: list[str]
) -> None:
    """Its place is that of an option of the script, which a command may follow."""
    way = found(dict(option), given=tuple(given))

    assert way is not None
    assert not way.is_given
    assert given_with(given, words_for([saved("a/last.pt")], way, None) or []) == again


@pytest.mark.parametrize(
    "given", [("--resume", "0"), ("--resume",), ("--resume", "none", "--resume", "old.pt")]
)
def test_a_number_that_is_a_file_and_a_word_less_asks_for_one(
    given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0").mkdir()
    monkeypatch.chdir(tmp_path)
    way = found({"name": "--resume", "nargs": "?", "const": "auto"}, given=given)

    assert way is not None
    assert way.is_given


def test_what_stands_behind_a_switch_is_no_word_of_its() -> None:
    """It is a GPU, say."""
    way = found({"name": "--resume", "action": "store_true"}, given=("--resume", "0"))

    assert way is not None
    assert way.is_given


def test_a_switch_has_the_name_that_turns_it_on_whatever_the_other_is() -> None:
    """As simple-parsing has them."""
    one = argparse.Action(
        ["--resume", "--noresume"], "resume", nargs="?", type=as_bool, default=False
    )

    assert way_of([one], ()) == ResumeWay(option="--resume=true", takes_path=False)
    assert way_of([option("--notes_to_resume")], ()) is not None


def test_a_type_of_jsonargparse_says_that_it_is_a_switch() -> None:
    one = argparse.Action(["--resume"], "resume")
    one._typehint = bool  # type: ignore[attr-defined]

    assert way_of([one], ()) == ResumeWay(option="--resume=true", takes_path=False)
