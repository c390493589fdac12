"""Data sets that are asked by index: answers that are other samples are told, and others not."""

from __future__ import annotations

import runpy
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.findings.report import Report

CASES = Path(__file__).with_name("asked.py")
ANOTHER = "4 are answered with another one by"

# What is said of each.
SAID = {
    "next": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__: OSError: img/",
    "spawned": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__",
    "retries": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__",
    "path": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__",
    "record": f"36 of 40 samples come out; {ANOTHER} an except clause of read_or_none at Other",
    "around": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__: OSError",
    "decorated": f"36 of 40 samples come out; {ANOTHER} an except clause of inner at Decorated",
    "last": f"36 of 40 samples come out; {ANOTHER} an except clause of __getitem__",
    "redirects": f"36 of 40 samples come out; {ANOTHER} __getitem__, which asks for that without",
    "blank": "36 of 40 samples come out; 4 are all answered with the same thing by an except",
    "nothing": "36 of 40 samples come out; 4 are dropped by an except clause of read_or_none at",
    "at_once": "36 of 40 samples come out; 4 are dropped by an except clause of __getitems__",
    "two": "72 of 80 samples come out; 8 are answered with another one by an except clause",
}


def look(folder: Path, name: str) -> Report:
    shutil.copy(CASES, folder / "asked.py")
    select = ["loader-starved", "loader-end", "loader-stuck", "loader-unpicklable"]
    return preflight.run(
        f"asked:{name}", folder=str(folder), select=select, timeout=60.0, budget=240.0
    )


def test_what_loses_samples_gives_others_in_a_plain_loop(monkeypatch: Any) -> None:
    """The judge: what each loader really gives."""
    monkeypatch.setitem(__import__("sys").modules, "asked", None)
    for name, loader in runpy.run_path(str(CASES))["losing"]().items():
        if name in ("spawned", "blank", "last", "two", "nothing", "at_once"):
            continue
        seen: Counter[int] = Counter()
        for batch in loader:
            x = batch["x"] if isinstance(batch, dict) else batch[0]
            seen.update(int(one[0]) for one in x)
        assert (len(seen), seen.total()) == (36, 40), name


@pytest.mark.usefixtures("at_hand")
def test_answers_with_the_sample_that_was_asked_for_are_left_alone(tmp_path: Path) -> None:
    report = look(tmp_path, "sound")

    assert report.findings == ()
    assert not any(one.broken for one in report.checks)
    (starved,) = (one for one in report.checks if one.id == "loader-starved")
    assert starved.looked_at == 11


@pytest.mark.usefixtures("at_hand")
def test_answers_with_other_samples_are_counted_with_the_line_that_raised(tmp_path: Path) -> None:
    found: dict[str, list[Finding]] = {}
    for one in look(tmp_path, "losing").findings:
        found.setdefault(str(one.at.name).partition("['")[2].strip("']"), []).append(one)

    assert found.keys() == SAID.keys()
    for name, said in SAID.items():
        (one,) = found[name]
        assert (one.check, one.severity.word) == ("loader-starved", "warning")
        assert one.message.startswith(said), one.message
    lines = CASES.read_text(encoding="utf-8").splitlines()
    assert 'raise OSError(f"{path}' in lines[(found["retries"][0].at.line or 1) - 1]
