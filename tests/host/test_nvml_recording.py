"""A machine that was recorded answers, when it is replayed, as it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from preflight.host.gpus import NvmlAnswers, ask
from preflight.host.nvml_recording import RecordedError, Replay
from tests.recording import record

RECORDINGS = sorted((Path(__file__).parents[1] / "recordings").glob("*.json"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recording_of_a_replay_answers_the_same(path: Path) -> None:
    """Recorded again, and taken through JSON as a file would be; then NVML is shut down."""
    recording = json.loads(path.read_text("utf-8"))["nvml"]
    nvml = Replay(recording)

    again = json.loads(json.dumps(record(nvml)))

    assert ask(Replay(again)) == ask(Replay(recording))
    assert nvml.open == 0


def test_an_empty_recording_is_a_machine_without_gpus() -> None:
    assert ask(Replay({})) == NvmlAnswers(state="ok")


def test_an_error_that_nobody_knows_is_the_unknown_one() -> None:
    assert RecordedError("NEVER_HEARD_OF").value == 999


def test_this_machine_can_be_recorded() -> None:
    """With a GPU or without one."""
    import pynvml

    recording = record(pynvml)

    assert json.loads(json.dumps(recording)) == recording
    assert ask(Replay(recording)).state == ask(pynvml).state
