"""How schedules are made short, as public scripts and trainers have them."""

from __future__ import annotations

import pytest

from preflight.training.schedules import (
    Limits,
    shorten_arguments,
    shorten_checkpoints,
    shorten_lightning,
    shorten_transformers,
)

LIMITS = Limits(batches=2, epochs=2)


def of_arguments(*, known: bool = True, **arguments: object) -> dict[str, object]:
    changes = shorten_arguments(arguments, LIMITS, is_known=known)
    return {one.name: one.after for one in changes}


def test_arguments_of_scripts_for_diffusers_are_shortened() -> None:
    """Evaluation and save come within the steps that there are, and warming up ends before."""
    assert of_arguments(
        num_train_epochs=100,
        max_train_steps=15_000,
        checkpointing_steps=500,
        validation_steps=100,
        validation_epochs=5,
        lr_warmup_steps=500,
        gradient_accumulation_steps=4,
        train_batch_size=16,
        learning_rate=1e-4,
        resolution=512,
        seed=None,
    ) == {
        "num_train_epochs": 2,
        "max_train_steps": 4,
        "checkpointing_steps": 2,
        "validation_steps": 2,
        "validation_epochs": 1,
        "lr_warmup_steps": 2,
        "gradient_accumulation_steps": 2,
    }


@pytest.mark.parametrize(
    ("saves", "best", "shorter"),
    [
        (80, True, {"eval_steps": 2, "save_steps": 2}),
        (50, False, {"eval_steps": 2, "save_steps": 2}),
        (50, True, {}),
    ],
)
def test_what_transformers_refuses_is_left_for_it_to_refuse(
    saves: int,
    best: bool,  # noqa: FBT001
    shorter: dict[str, int],
) -> None:
    """It holds them against each other when its arguments are made of what was read."""
    given = {"eval_steps": 40, "save_steps": saves, "load_best_model_at_end": best}

    assert of_arguments(**given) == shorter


def test_what_is_short_already_stays() -> None:
    assert of_arguments(num_train_epochs=1, max_train_steps=3, save_steps=1, warmup_steps=500) == {}


@pytest.mark.parametrize("own", [None, 0, -1, True, "epoch", 0.1, "no"])
def test_what_is_no_number_of_steps_stays(own: object) -> None:
    assert of_arguments(max_train_steps=own, checkpointing_steps=own) == {}


def test_a_number_keeps_its_type() -> None:
    """`--checkpointing_steps` of accelerate's examples is text, epochs of transformers a float."""
    changed = of_arguments(checkpointing_steps="500", num_train_epochs=3.0)

    assert changed == {"checkpointing_steps": "2", "num_train_epochs": 2.0}
    assert [type(one) for one in changed.values()] == [str, float]


def test_the_length_of_a_loop_of_the_scripts_own_stays() -> None:
    """`epochs // 10` would be zero; the script is stopped when enough was seen."""
    assert of_arguments(known=False, epochs=90, max_iters=1_000, warmup_epochs=5) == {}
    assert of_arguments(known=True, epochs=90, warmup_epochs=5) == {"epochs": 2, "warmup_epochs": 1}


def test_how_often_to_save_is_shortened_in_any_loop() -> None:
    assert of_arguments(known=False, **{"save-every": 1_000, "eval_interval": 500}) == {
        "save-every": 2,
        "eval_interval": 2,
    }


def test_who_starts_later_trains_so_much_longer() -> None:
    assert of_arguments(start_epoch=30, epochs=90) == {"epochs": 32}


def test_lightning_reaches_an_evaluation_and_a_save() -> None:
    given = {"max_epochs": 100, "val_check_interval": 1_000, "check_val_every_n_epoch": 10}
    changes = {one.name: one.after for one in shorten_lightning(given, LIMITS)}

    assert changes == {
        **dict.fromkeys(("limit_train_batches", "limit_val_batches"), 2),
        **dict.fromkeys(("limit_test_batches", "limit_predict_batches"), 2),
        "max_epochs": 2,
        "val_check_interval": 2,
        "check_val_every_n_epoch": 1,
    }


@pytest.mark.parametrize(
    ("given", "name", "after"),
    [
        ({"max_steps": 10_000}, "max_steps", 4),
        ({"max_steps": 10_000, "max_epochs": -1}, "max_epochs", 2),
        ({"max_epochs": -1}, "max_epochs", 2),
        ({}, "max_epochs", 2),
        ({"max_steps": 10_000}, "max_epochs", None),
        ({"max_epochs": 1}, "max_epochs", None),
        ({"limit_val_batches": 0}, "limit_val_batches", None),
        ({"limit_val_batches": 0.0}, "limit_val_batches", None),
        ({"limit_val_batches": 0.5}, "limit_val_batches", 2),
        ({"limit_train_batches": 1}, "limit_train_batches", None),
        ({"num_sanity_val_steps": -1}, "num_sanity_val_steps", None),
        ({"val_check_interval": 0.25}, "val_check_interval", None),
    ],
)
def test_lightning_is_given_less_of_what_it_was_given(
    given: dict[str, object], name: str, after: object
) -> None:
    assert {one.name: one.after for one in shorten_lightning(given, LIMITS)}.get(name) == after


def test_a_fast_dev_run_stays_as_it_is() -> None:
    assert shorten_lightning({"fast_dev_run": True, "max_epochs": 100}, LIMITS) == []


def test_lightning_saves_as_often_as_there_is_time_for() -> None:
    changes = shorten_checkpoints({"every_n_train_steps": 500, "every_n_epochs": 5}, LIMITS)

    assert [(one.name, one.after) for one in changes] == [
        ("every_n_train_steps", 2),
        ("every_n_epochs", 1),
    ]
    assert shorten_checkpoints({"save_top_k": 3}, LIMITS) == []


def test_transformers_reaches_an_evaluation_and_a_save() -> None:
    given = {
        "max_steps": -1,
        "num_train_epochs": 3.0,
        "eval_steps": 500,
        "save_steps": 0.1,
        "logging_steps": 500,
        "warmup_steps": 0,
        "gradient_accumulation_steps": 8,
    }
    changes = shorten_transformers(given, LIMITS)

    assert {one.name: one.after for one in changes} == {
        "num_train_epochs": 2.0,
        "eval_steps": 2,
        "save_steps": 2,
        "logging_steps": 1,
        "gradient_accumulation_steps": 2,
    }
    assert str(changes[0]) == "num_train_epochs 3 to 2"


def test_transformers_stops_after_so_many_steps_where_it_counts_them() -> None:
    changes = shorten_transformers({"max_steps": 10_000, "num_train_epochs": 3.0}, LIMITS)

    assert {one.name: one.after for one in changes} == {"max_steps": 4, "num_train_epochs": 2.0}
