"""An import of the job's own code that finds nothing is told with what it should name."""

from __future__ import annotations

from pathlib import Path

import pytest

import preflight

pytestmark = pytest.mark.usefixtures("at_hand")


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("from parts.metrics import accuracy", "Write the module parts.metrics, or add"),
        ("from helper import nothing", "Define nothing in helper, or import a name that it has."),
        ("import helperz", "Import helper, if that is meant; else add the folder"),
    ],
)
def test_it_is_no_line_to_mend(tmp_path: Path, line: str, fix: str) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    (tmp_path / "helper.py").touch()
    (tmp_path / "train.py").write_text(f"{line}\n")

    report = preflight.run("train.py", folder=str(tmp_path), select=["script-stopped"])

    (found,) = report.findings
    assert (found.check, found.at.line) == ("script-stopped", 1)
    assert (found.fix or "").startswith(fix)
