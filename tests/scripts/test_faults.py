"""Each fault of a script is told by its one check, at the line where the plain script dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.faults import FAULTS, RESUME
from tests.scripts.rehearsing import dies_at, line_of, prepared, rehearse, run_plainly

pytestmark = pytest.mark.slow


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
