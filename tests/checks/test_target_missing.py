"""target-missing finds paths that the settings name and that are not there."""

from __future__ import annotations

from pathlib import Path

import preflight
from preflight.facts import Absent
from preflight.finding import Location
from preflight.testing import ask


def test_a_name_out_of_a_brace_range_is_left_to_another_check() -> None:
    """shard-missing says it better."""
    assert ask("target-missing", Absent(file="a-3.tar", kind="shard", pattern="a-{0..3}.tar")) == []


def test_the_place_is_the_line_that_names_it() -> None:
    """One looks there first; the path itself is the name."""
    absent = Absent(
        file="cache/texts", kind="cache", named_in="preflight.toml", named_at=7, near="text"
    )

    (finding,) = ask("target-missing", absent)

    assert finding.at == Location(file="preflight.toml", line=7, name="cache/texts")
    assert finding.message == "there is no such cache path; beside it lies text"


def test_a_hostile_neighbour_is_shown_escaped() -> None:
    """Whatever lies beside it may have any name."""
    absent = Absent(file="cache", kind="cache", near="cach\n\x1b[31me")

    (finding,) = ask("target-missing", absent)

    assert "\\n\\x1b[31m" in finding.message


def test_a_data_set_without_an_image_is_found(tmp_path: Path) -> None:
    """A folder of that name is there, and there is nothing to train on in it."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "readme.txt").write_text("soon")
    (tmp_path / "preflight.toml").write_text('[[data]]\npath = "photos"\n')

    report = preflight.run(folder=str(tmp_path))

    (finding,) = [one for one in report.findings if one.check == "target-missing"]
    assert finding.message == "holds no image and no shard"
    assert str(finding.at) == "preflight.toml:2, photos"
    assert report.verdict == "no-go"


def test_everything_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """It says so: it has looked at each target."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "a.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    (tmp_path / "preflight.toml").write_text('[[cache]]\npath = "cache"\n')

    report = preflight.run(folder=str(tmp_path))

    (outcome,) = [one for one in report.checks if one.id == "target-missing"]
    assert outcome.outcome == "passed"
    assert report.verdict == "go"
