"""The host is looked at as it is, or as it was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preflight.host.facts import HostFacts
from preflight.host.gpus import NvmlAnswers
from preflight.host.read import _other_maker, free_bytes, read_host
from preflight.targets.targets import Host
from preflight.values.wire import from_wire, to_wire

RECORDINGS = Path(__file__).parents[1] / "recordings"


def recorded(folder: Path, name: str, **environment: str) -> HostFacts:
    """One of the recorded machines, with this environment."""
    recording: dict[str, Any] = json.loads((RECORDINGS / f"{name}.json").read_text("utf-8"))
    recording["environment"] = environment
    (folder / "host.json").write_text(json.dumps(recording), "utf-8")
    return read_host(Host(recording="host.json"), str(folder))


def test_this_machine_is_looked_at(tmp_path: Path) -> None:
    facts = read_host(Host(), str(tmp_path))

    assert facts.cpus >= 1
    assert (facts.memory or 0) >= (facts.available or 0) > 0
    assert (facts.disk_free or 0) > 0
    assert not facts.recorded


def test_the_facts_go_to_json_and_back(tmp_path: Path) -> None:
    for name in ("eight-h100", "busy-a100", "lost-gpu", "mig-a100"):
        facts = recorded(tmp_path, name, RANK="0")

        assert from_wire(HostFacts, json.loads(json.dumps(to_wire(facts)))) == facts


def test_only_launcher_variables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("HF_TOKEN", "hf_canary")

    facts = read_host(Host(), str(tmp_path))

    assert facts.environment["RANK"] == "0"
    assert "hf_canary" not in json.dumps(to_wire(facts))


def test_a_recording_stands_in_for_gpus_and_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the machine that replays it may show through."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("RANK", "9")

    facts = recorded(tmp_path, "eight-h100", WORLD_SIZE="8")

    assert facts.recorded
    assert dict(facts.environment) == {"WORLD_SIZE": "8"}
    assert [gpu.cuda for gpu in facts.gpus.gpus] == list(range(8))


def test_hidden_gpus_are_told_apart_from_those_the_job_sees(tmp_path: Path) -> None:
    facts = recorded(tmp_path, "eight-h100", CUDA_VISIBLE_DEVICES="5,2,9,1")

    assert [gpu.cuda for gpu in facts.gpus.gpus] == [None, None, 1, None, None, 0, None, None]
    assert [gpu.visible for gpu in facts.gpus.gpus].count(True) == 2
    assert facts.gpus.unmatched == ("9",)
    assert facts.gpus.visible == "5,2,9,1"


def test_a_gpu_named_twice_is_told(tmp_path: Path) -> None:
    gpus = recorded(tmp_path, "eight-h100", CUDA_VISIBLE_DEVICES="1,1").gpus

    assert (gpus.repeated, [gpu for gpu in gpus.gpus if gpu.visible]) == ("1", [])


def test_who_holds_memory_is_told(tmp_path: Path) -> None:
    (gpu,) = recorded(tmp_path, "busy-a100").gpus.gpus

    assert [(one.pid, one.name, one.used) for one in gpu.processes] == [
        (41223, "python", 73_612_132_352),
        (41877, None, 0),
    ]


@pytest.mark.parametrize(
    ("name", "state"), [("no-driver", "no-driver"), ("driver-mismatch", "failed")]
)
def test_a_machine_without_a_driver_that_answers(tmp_path: Path, name: str, state: str) -> None:
    """No entry of CUDA_VISIBLE_DEVICES is to blame there."""
    gpus = recorded(tmp_path, name, CUDA_VISIBLE_DEVICES="0").gpus

    assert (gpus.state, gpus.gpus, gpus.unmatched) == (state, (), ())


@pytest.mark.parametrize("state", ["ok", "failed", "no-package"])
def test_a_driver_that_is_there_is_not_taken_for_another_makers(state: str) -> None:
    """Whatever other GPUs the machine has."""
    answer = NvmlAnswers(state=state, detail="as NVML said")

    assert _other_maker(answer) == answer


def test_a_recording_of_nothing_is_a_machine_without_a_driver(tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text("{}", "utf-8")

    facts = read_host(Host(recording="host.json"), str(tmp_path))

    assert (facts.gpus.state, dict(facts.environment)) == ("no-driver", {})


@pytest.mark.parametrize("text", ["[]", '{"gpus": []}', '{"nvml": []}', "{"])
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "host.json").write_text(text, "utf-8")

    with pytest.raises(ValueError):  # noqa: PT011  JSON's own error is one too
        read_host(Host(recording="host.json"), str(tmp_path))


def test_a_recording_that_is_not_there_cannot_be_looked_at(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_host(Host(recording="host.json"), str(tmp_path))


@pytest.mark.parametrize(
    "path", [".", "runs/7", "last.pt"], ids=["a folder", "one to come", "a file"]
)
def test_of_a_path_the_nearest_folder_is_asked_for_its_room(tmp_path: Path, path: str) -> None:
    (tmp_path / "last.pt").touch()

    assert (free_bytes(str(tmp_path / path)) or 0) > 0
