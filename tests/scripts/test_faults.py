"""Each fault of a script is told by its one check, at the line where the plain script dies."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tests.scripts.faults import FAULTS, PEFT, RESUME, SHARDS, TRAINER
from tests.scripts.rehearsing import dies_at, line_of, planted, rehearse, run_plainly

pytestmark = pytest.mark.slow

# As torchrun starts one process.
LAUNCHED = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "0",
}

NEEDS = {TRAINER: "transformers", PEFT: "peft"}


def prepared(
    folder: Path, script: str, patch: pytest.MonkeyPatch, *changes: tuple[str, str]
) -> Path:
    """Copy a script with its changes, beside what it reads, and set what its launcher would."""
    if script in NEEDS:
        pytest.importorskip(NEEDS[script])
    if script == SHARDS:
        for name, value in LAUNCHED.items():
            patch.setenv(name, value)
        (folder / "shards").mkdir()
        for name in ("train-0", "train-1", "val-0"):
            with tarfile.open(folder / "shards" / f"{name}.tar", "w") as shard:
                for number in range(12):
                    cls = str(number % 2).encode()
                    for suffix, content in (("bin", bytes([number, 1, 2, 3])), ("cls", cls)):
                        member = tarfile.TarInfo(f"{name}-{number:03}.{suffix}")
                        member.size = len(content)
                        shard.addfile(member, io.BytesIO(content))
    return planted(folder, script, *changes)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_once_at_its_own_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    fault = FAULTS[name]
    folder = tmp_path / "job"
    folder.mkdir()
    path = prepared(folder, fault.script, monkeypatch, *fault.changes)
    wants = ["SavedState", "Copied", "Steps", *(["Resumed"] if fault.check == RESUME else [])]
    seen = rehearse(path, wants=wants)

    if fault.at:
        line = line_of(path, fault.at)
    else:
        plain = run_plainly(path)
        if fault.resumed:
            assert plain.returncode == 0, plain.stderr
            option = next(one for one in OPTIONS if one in path.read_text("utf-8"))
            plain = run_plainly(path, option, fault.resumed)
        line = dies_at(plain, path)
    gating = [one for one in seen.told if not one.startswith("note ")]
    assert [one.partition(" ")[2] for one in gating] == [f"{fault.check} {fault.script}:{line}"]


OPTIONS = ("--resume_from_checkpoint", "--ckpt_path", "--resume")


def test_there_are_as_many_as_were_promised() -> None:
    assert len(FAULTS) >= 40
