"""What a single checkpoint lacks is told by what else is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.checkpoints.belonging import MODEL, is_weights_only, lacking_by_itself
from preflight.checkpoints.facts import Checkpoint, CheckpointFacts
from preflight.findings.finding import Severity
from preflight.testing import ask

ACCELERATE = "model.safetensors optimizer.bin scheduler.bin random_states_0.pkl"
TRANSFORMERS = "model.safetensors optimizer.pt scheduler.pt rng_state.pth trainer_state.json"


@pytest.mark.parametrize(
    ("name", "files", "lacks"),
    [
        ("checkpoints/checkpoint_3", ACCELERATE, ()),
        ("checkpoints/checkpoint_3", "model.safetensors random_states_0.pkl", ()),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("optimizer", "optimizer_1"), ()),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("model.", "unet/weights."), ()),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("optimizer.bin", "opt/x_optim.pt"), ()),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("model.safetensors", "lora.bin"), ()),
        ("checkpoint-500", TRANSFORMERS, ()),
        ("checkpoint-500", "model.safetensors trainer_state.json training_args.bin", ()),
        ("checkpoint-500", f"{TRANSFORMERS} training_args.bin", ()),
        ("checkpoint-500", TRANSFORMERS.replace("trainer_state.json", ""), ()),
        ("checkpoint-500", "model.safetensors training_args.bin", ()),
        ("checkpoint_3", "model.safetensors", ()),
        ("scheduler", "scheduler.bin", ()),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("optimizer.bin", ""), ("optimizer.bin",)),
        ("checkpoints/checkpoint_3", ACCELERATE.replace("model.safetensors", ""), (MODEL,)),
        ("checkpoint_3", ACCELERATE.replace("model.safetensors", ".tmp.bin"), (MODEL,)),
        ("checkpoint-500", TRANSFORMERS.replace("optimizer.pt", ""), ("optimizer.pt",)),
        ("checkpoint-500", TRANSFORMERS.replace("scheduler.pt", ""), ("scheduler.pt",)),
        ("checkpoint-500", TRANSFORMERS.replace("model.safetensors", "config.json"), (MODEL,)),
        (
            "checkpoint-500",
            TRANSFORMERS.replace("scheduler.pt", "").replace("optimizer.pt", ""),
            ("optimizer.pt", "scheduler.pt"),
        ),
        (
            "checkpoint-500",
            TRANSFORMERS.replace("scheduler.pt", "").replace(
                "optimizer.pt", "global_step500/x_optim_states.pt"
            ),
            (),
        ),
        (
            "checkpoints/checkpoint_3",
            "model.safetensors",
            ("optimizer.bin", "random_states_0.pkl"),
        ),
        (
            "checkpoint-500",
            f"{TRANSFORMERS} training_args.bin".replace("trainer_state.json", ""),
            ("trainer_state.json",),
        ),
        ("checkpoints/checkpoint_3", "model.safetensors optimizer.bin", ("random_states_0.pkl",)),
    ],
)
def test_a_state_belongs_to_another(
    tmp_path: Path, name: str, files: str, lacks: tuple[str, ...]
) -> None:
    for one in files.split():
        (tmp_path / name / one).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / one).write_bytes(b"")

    assert lacking_by_itself(str(tmp_path / name)) == lacks


SAVED_ALONE = "model.safetensors trainer_state.json training_args.bin"


@pytest.mark.parametrize(
    ("name", "files", "is_so"),
    [
        ("checkpoint-500", SAVED_ALONE, True),
        ("checkpoint-500", f"{TRANSFORMERS} training_args.bin", False),
        ("checkpoint-500", f"{SAVED_ALONE} global_step500/zero_optim_states.pt", False),
        ("checkpoint-500", "model.safetensors training_args.bin", False),
        ("final", SAVED_ALONE, False),
    ],
)
def test_a_model_that_was_saved_alone_is_known(
    tmp_path: Path, name: str, files: str, *, is_so: bool
) -> None:
    for one in files.split():
        (tmp_path / name / one).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / one).write_bytes(b"")

    assert is_weights_only(str(tmp_path / name)) is is_so


def test_that_a_resume_from_such_a_model_begins_the_optimizer_anew_is_a_note() -> None:
    """So does transformers 5, without a word."""
    newest = Checkpoint(name="checkpoint-4", files=2, written=0.0, is_weights_only=True)
    older = newest._replace(name="checkpoint-2", is_weights_only=False)

    (note,) = ask("cache-checkpoint", CheckpointFacts(file="out", checkpoints=(newest, older)))

    assert note.severity is Severity.NOTE
    assert ask("cache-checkpoint", CheckpointFacts(file="out", checkpoints=(older, newest))) == []
