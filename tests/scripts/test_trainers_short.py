"""Trainers that are known reach an evaluation and a save within a few steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, planted, rehearse, run_plainly
from tests.scripts.test_steps_met import stops_at

pytestmark = pytest.mark.slow

LIGHTNING, ACCELERATE = "lightning_fit.py", "accelerate_loop.py"
HUGGING_FACE = "huggingface_trainer.py"


def saved(folder: Path) -> list[str]:
    return sorted(one.name for one in (folder / "runs").iterdir())


def test_a_loop_of_accelerate_evaluates_and_saves(tmp_path: Path) -> None:
    seen = rehearse(planted(tmp_path, ACCELERATE), "--max_train_steps", "5000")

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation") == 2
    (arguments,) = [one for one in seen.rehearsal.shortened if one.startswith("arguments")]
    assert "max_train_steps 5000 to 4, checkpointing_steps 100 to 2" in arguments
    assert f"({ACCELERATE}:{line_of(tmp_path / ACCELERATE, 'return parser.parse')})" in arguments


def test_lightning_evaluates_and_saves(tmp_path: Path) -> None:
    seen = rehearse(planted(tmp_path, LIGHTNING))

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation")
    told = " ".join(seen.rehearsal.shortened)
    assert "every_n_train_steps 90 to 2" in told
    assert "limit_train_batches all to 2" in told
    assert "max_epochs 3 to 2" in told


def test_the_trainer_of_transformers_evaluates_and_saves(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    seen = rehearse(planted(tmp_path, HUGGING_FACE))

    assert seen.told == []
    assert seen.rehearsal.ended.how == "returned"
    assert seen.rehearsal.times("evaluation")
    told = " ".join(seen.rehearsal.shortened)  # in an order that versions do not share
    assert "eval_steps 40 to 2" in told
    assert "save_steps 40 to 2" in told


SAVING = "    def on_save_checkpoint(self, kept):\n        kept['step'] = self.step\n\n"
TRAINING = "    def training_step"

# Each a script, the check that tells of it, and what is planted.
FAULTS = [
    (
        ACCELERATE,
        "script-eval",
        ('["caption"])\n            losses', '["prompt"])\n            losses'),
    ),
    (ACCELERATE, "script-stopped", ("accelerator.save_state(", "accelerator.save_states(")),
    (LIGHTNING, "script-eval", ("(self(x), y))\n\n    def", '(self(x), batch["y"]))\n\n    def')),
    (LIGHTNING, "script-save", (TRAINING, SAVING + TRAINING)),
    (
        HUGGING_FACE,
        "script-eval",
        ("Text(20)", "Text(20), compute_metrics=lambda seen: {'accuracy': seen.accuracy}"),
    ),
]


@pytest.mark.parametrize(("name", "check", "fault"), FAULTS)
def test_what_stops_a_trainer_late_is_told_at_the_line_where_it_stops(
    tmp_path: Path, name: str, check: str, fault: tuple[str, str]
) -> None:
    if name == HUGGING_FACE:
        pytest.importorskip("transformers")
    path = planted(tmp_path, name, fault)
    seen = rehearse(path)
    plain = run_plainly(path)

    assert plain.returncode == 1
    (found,) = seen.found
    assert found.check.startswith(check)
    assert seen.told == [f"error {found.check} {name}:{stops_at(plain.stderr, path)}"]


@pytest.mark.parametrize(
    ("name", "fault", "line"),
    [
        (LIGHTNING, ("(self(x), y))\n\n    def", "(self(x), y * 0 - 100))\n\n    def"), ".fit("),
        (
            HUGGING_FACE,
            ("tokens.clone()}", "tokens if self.count > 99 else 0 * tokens - 100}"),
            "trainer.train()",
        ),
    ],
)
def test_labels_of_an_evaluation_that_are_all_padding_are_told(
    tmp_path: Path, name: str, fault: tuple[str, str], line: str
) -> None:
    if name == HUGGING_FACE:
        pytest.importorskip("transformers")
    path = planted(tmp_path, name, fault)
    seen = rehearse(path)

    assert seen.told == [f"warning script-numbers {name}:{line_of(path, line)}"]
    assert "_loss of nan in an evaluation" in seen.found[0].message
