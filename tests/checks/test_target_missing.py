"""target-missing finds paths that the settings name and that are not there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import preflight
from preflight.findings.finding import Finding, Location, Severity
from preflight.findings.report import Report
from preflight.settings.job import CacheSettings, Job
from preflight.targets.facts import Absent
from preflight.testing import ask

pytestmark = pytest.mark.usefixtures("at_hand")


def missing(folder: Path) -> tuple[Report, list[Finding]]:
    """Run over what the settings name: the report, and what this check finds."""
    report = preflight.run(folder=str(folder))
    return report, [one for one in report.findings if one.check == "target-missing"]


def test_a_name_out_of_a_brace_range_is_left_to_another_check() -> None:
    """shard-missing says it better."""
    assert ask("target-missing", Absent(file="a-3.tar", kind="shard", pattern="a-{0..3}.tar")) == []


def test_the_place_is_the_line_that_names_it() -> None:
    """One looks there first; the path itself is the name."""
    absent = Absent(
        file="data/photoz", kind="data", named_in="preflight.toml", named_at=7, near="photos"
    )

    (finding,) = ask("target-missing", absent)

    assert finding.at == Location(file="preflight.toml", line=7, name="data/photoz")
    assert finding.message == "there is no such data path; beside it lies photos"
    assert finding.severity == Severity.ERROR


def test_a_cache_folder_that_is_not_there_yet_is_a_note() -> None:
    """Trainers make it; a name like it is a warning, unless it is another cache of the job."""
    absent = Absent(file="cache/vae2", kind="cache", named_in="preflight.toml", named_at=7)
    near = replace(absent, near="vae")
    others = Job(cache=(CacheSettings(path="cache/vae"), CacheSettings(path="cache/vae2")))

    (note,) = ask("target-missing", absent)
    (warning,) = ask("target-missing", near)
    (among,) = ask("target-missing", near, others)

    assert note.message == among.message == "there is no such cache folder yet"
    assert warning.message == "there is no such cache folder yet; beside it lies vae"
    severities = [note.severity, warning.severity, among.severity]
    assert severities == [Severity.NOTE, Severity.WARNING, Severity.NOTE]


def test_a_cached_file_that_is_not_there_is_an_error() -> None:
    """Nobody makes a file of that name by himself."""
    (one,) = ask("target-missing", Absent(file="cache/text.pt", kind="cache"))

    assert one.severity == Severity.ERROR


@pytest.mark.parametrize("beside", [None, ".gitkeep", "notes.json", "a.pt.lock"])
def test_an_empty_cache_of_the_settings_is_healthy(tmp_path: Path, beside: str | None) -> None:
    """The first run of the job fills it."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "photos" / "dog.png")
    if beside:
        (tmp_path / "cache" / beside).write_text("{}")
    (tmp_path / "preflight.toml").write_text(
        '[[data]]\nname = "p"\npath = "photos"\ncaptions = "none"\n'
        '[[cache]]\npath = "cache"\nof = ["p"]\n[[cache]]\npath = "photos"\nof = ["p"]\n'
    )

    report = preflight.run(folder=str(tmp_path))

    assert report.verdict == "go"
    found = {(one.check, one.severity) for one in report.findings}
    noted = {("cache-foreign", Severity.NOTE), ("cache-incomplete", Severity.NOTE)}
    assert ("cache-incomplete", Severity.NOTE) in found <= noted


def test_a_folder_of_something_else_is_no_cache(tmp_path: Path) -> None:
    """Images that are no data set of the job are most likely a path that was mistaken."""
    (tmp_path / "cache").mkdir()
    Image.new("RGB", (8, 8)).save(tmp_path / "cache" / "dog.png")
    (tmp_path / "preflight.toml").write_text('[[cache]]\npath = "cache"\n')

    _, (finding,) = missing(tmp_path)

    assert finding.severity == Severity.ERROR
    assert finding.message.startswith("holds no cached file")


def test_a_hostile_neighbour_is_shown_escaped() -> None:
    """Whatever lies beside it may have any name."""
    absent = Absent(file="photos", kind="data", near="cach\n\x1b[31me")

    (finding,) = ask("target-missing", absent)

    assert "\\n\\x1b[31m" in finding.message


def test_a_data_set_without_an_image_is_found(tmp_path: Path) -> None:
    """A folder of that name is there, and there is nothing to train on in it."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "readme.txt").write_text("soon")
    (tmp_path / "preflight.toml").write_text('[[data]]\npath = "photos"\n')

    report, (finding,) = missing(tmp_path)

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


@pytest.mark.parametrize("suffix", ["mp4", "wav", "FLAC"])
def test_a_data_set_of_videos_or_audio_is_there(tmp_path: Path, suffix: str) -> None:
    """They are not looked into; their cache is held against them."""
    (tmp_path / "clips").mkdir()
    (tmp_path / "cache").mkdir()
    for number in range(8):
        (tmp_path / "clips" / f"{number}.{suffix}").write_bytes(b"film")
        (tmp_path / "clips" / f"{number}.txt").write_text("a dog")
        for name in (f"{number}_00000-025_0512x0512_wan", f"{number}_wan_te"):
            np.save(tmp_path / "cache" / f"{name}.npy", np.arange(3.0))
    (tmp_path / "preflight.toml").write_text(
        '[[data]]\nname = "clips"\npath = "clips"\n[[cache]]\npath = "cache"\nof = ["clips"]\n'
    )
    whole = preflight.run(folder=str(tmp_path), elsewhere=True)
    (tmp_path / "cache" / "3_00000-025_0512x0512_wan.npy").unlink()
    torn = preflight.run(folder=str(tmp_path), elsewhere=True)

    assert whole.findings == ()
    assert [one.check for one in torn.findings] == ["cache-incomplete"]
    assert "*_00000-025_0512x0512_wan.npy for 1 sample" in torn.findings[0].message
