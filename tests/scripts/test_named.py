"""How a script is started is told as it is typed."""

from __future__ import annotations

import pytest

from preflight.scripts.gather import _fix, _other_arguments
from preflight.scripts.read import _name
from preflight.settings.job import Job
from preflight.users_code.facts import Lack


@pytest.mark.parametrize(
    ("wire", "typed"),
    [
        (
            {"module": "src.train", "path": None, "args": ["trainer=cpu"]},
            "-m src.train trainer=cpu",
        ),
        ({"module": None, "path": "a b.py", "args": ["--lr", "1"]}, "'a b.py' --lr 1"),
    ],
)
def test_a_script_is_named_by_words_that_can_be_typed_again(
    wire: dict[str, object], typed: str
) -> None:
    assert _name({"name": None, **wire}) == typed


@pytest.mark.parametrize(
    ("typed", "refused", "said"),
    [
        ("train.py runs --device cpu", "--device cpu", "--device cpu train.py runs"),
        ("-m a.b --lr 1 --batches=4", "--batches=4", "--batches=4 -m a.b --lr 1"),
        ("train.py --device cpu --lrr 1", "--device cpu --lrr 1", ""),
        ("train.py --lrr 1", "--lrr 1", ""),
        ("train.py extra", "extra", ""),
    ],
)
def test_options_of_ours_that_a_script_refuses_are_to_stand_before_it(
    typed: str, refused: str, said: str
) -> None:
    other = f"Give it the arguments with which the job starts it:  preflight run {typed} …"
    ours = f"Write options of preflight before the script:  preflight run {said}" if said else other

    assert _other_arguments(typed, f"unrecognized arguments: {refused}") == ours
    assert _other_arguments(typed, f"the following arguments are required: {refused}") == other


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("train.py --device cpu", "train.py --device cpu"),
        ("-m src.train", "-m src.train"),
        ("'a b.py' --lr 1", "'a b.py' --lr 1"),
        ("large", "…"),
        ("it's large", "…"),
    ],
)
def test_what_needs_a_gpu_is_to_be_run_by_a_whole_command(name: str, typed: str) -> None:
    """A `--device cpu` behind the script would be its own."""
    said = f"Have it run on the CPU, in small:  preflight run --device cpu {typed}"

    assert _fix(Lack(kind="gpu", name="CUDA"), Job(), name) == said
