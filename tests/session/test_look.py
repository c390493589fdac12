"""What is looked at of many things: all of them, a sample, or as many as the time allows."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

import pytest

import preflight
from preflight.command.progress_bar import progress_said
from preflight.findings.report import Report
from preflight.session.progress import Progress
from preflight.session.run import UsageError
from preflight.values.sampling import parse_sample
from tests.archives import photo, tarred
from tests.asking import of
from tests.conftest import on_a_terminal
from tests.files import put

pytestmark = pytest.mark.usefixtures("at_hand")

run = partial(preflight.run, elsewhere=True)


def skipped(report: Report, check: str) -> dict[str, int]:
    return {one.reason: one.count for one in of(report, check).skipped}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Ten shards of one sample, and thirty images in three folders, of which one is damaged."""
    picture = photo()
    for number in range(10):
        content = tarred({f"{number}.jpg": picture, f"{number}.txt": b"a dog"})
        put(tmp_path, f"shards/{number}.tar", content=content)
    photos = (f"photos/{number % 3}/{number:02}.jpg" for number in range(30))
    put(tmp_path, *photos, content=picture)
    put(tmp_path, "photos/1/04.jpg", content=picture[:2_000])
    return tmp_path


# --- samples


@pytest.mark.parametrize(
    ("text", "total", "drawn"),
    [("3", 10, 3), ("30", 10, 10), ("10%", 100, 10), ("1%", 10, 1), ("100%", 7, 7), ("50%", 0, 0)],
)
def test_a_sample_is_a_number_or_a_share(text: str, total: int, drawn: int) -> None:
    sample = parse_sample(text)

    assert sample.of(total) == drawn
    assert len(sample.draw(total) or range(total)) == drawn
    assert sample.draw(total) == parse_sample(text).draw(total)


@pytest.mark.parametrize("text", ["", "0", "-3", "0%", "101%", "1.5", "some", "nan%", "%"])
def test_no_sample_is_taken_for_one(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is no number of files"):
        parse_sample(text)
    (tmp_path / "0.tar").write_bytes(tarred({"0.txt": b"a dog"}))
    if text:
        with pytest.raises(UsageError, match="--sample"):
            preflight.run("0.tar", folder=str(tmp_path), sample=text)


def test_shards_in_no_sample_are_told_as_skipped(data: Path) -> None:
    """Of a data set of which a part was seen, its size is not judged."""
    report = run("shards", folder=str(data), sample="3", batch_size=99)

    assert (of(report, "shard-damaged").looked_at, report.verdict) == (3, "go")
    assert skipped(report, "shard-damaged") == {"outside the sample (--sample 3)": 7}
    assert "7 shards were not looked at: outside the sample (--sample 3)." in report.reasons
    assert skipped(report, "dataset-small") == {
        "7 shards were not read, so that there may be more samples": 1
    }


def test_images_in_no_sample_are_told_of_the_checks_of_images(data: Path) -> None:
    """Names are paired all the same."""
    report = run("photos", folder=str(data), sample="20%")

    assert skipped(report, "image-damaged") == {"outside the sample (--sample 20%)": 24}
    assert of(report, "sample-unpaired").skipped == ()
    assert "24 images were not looked at: outside the sample (--sample 20%)." in report.reasons
    whole = run("photos", folder=str(data))
    assert [one.at.file for one in whole.findings] == ["photos/1/04.jpg"]


def test_the_settings_say_how_much_of_each_data_set(data: Path) -> None:
    settings = '[[data]]\npath = "shards"\nsample = "{}"\n\n[[data]]\npath = "photos"\n'
    (data / "preflight.toml").write_text(settings.format("40%"))

    report = preflight.run(folder=str(data), elsewhere=True)

    assert skipped(report, "shard-damaged") == {"outside the sample (--sample 40%)": 6}
    assert len(report.findings) == 1

    (data / "preflight.toml").write_text(settings.format("40 per cent"))
    wrong = r"preflight\.toml:3: data\.0\.sample: '40 per cent' is no"
    with pytest.raises(UsageError, match=wrong):
        preflight.run(folder=str(data))


# --- time


def test_what_nobody_came_to_in_time_is_skipped_and_no_pass(data: Path) -> None:
    report = run("shards", "photos", folder=str(data), budget=1e-6, jobs=1, no_ledger=True)

    reason = "the budget of 1e-06 s was used up"
    assert skipped(report, "shard-damaged")[reason] == 10
    assert skipped(report, "image-damaged")[reason] >= 30
    assert of(report, "shard-damaged").outcome == "skipped"
    assert f"10 shards were not looked at: {reason}." in report.reasons


def test_a_budget_that_is_long_enough_changes_nothing(data: Path) -> None:
    report = run("shards", "photos", folder=str(data), budget=600)

    assert of(report, "shard-damaged").looked_at == 10
    assert [one.at.file for one in report.findings] == ["photos/1/04.jpg"]


# --- progress


def test_progress_is_told_of_each_file(data: Path) -> None:
    """With the bytes of the files, and a share of the work that grows to all of it."""
    told: list[Progress] = []

    def watch(news: object) -> None:
        told.extend([news] if isinstance(news, Progress) else [])

    run("shards", "photos", folder=str(data), no_ledger=True, watch=watch)

    every = [path for path in data.rglob("*") if path.suffix in (".tar", ".jpg")]
    assert [one.done for one in told] == list(range(41))
    assert {one.total for one in told} == {40}
    assert told[-1].bytes == sum(path.stat().st_size for path in every)
    assert [one.share for one in told] == sorted(one.share for one in told)
    assert 0.99 < told[-1].share <= 1


@pytest.mark.parametrize(
    ("share", "seconds", "said"),
    [
        (0.5, 100.0, "7 of 9, 2.0 GB, 20.0 MB/s, 0:01:40 left"),
        (0.001, 100.0, "7 of 9, 2.0 GB, 20.0 MB/s"),
        (0.5, 0.0, "7 of 9, 2.0 GB, 2.0 TB/s"),
        (0.01001, 100.0, "7 of 9, 2.0 GB, 20.0 MB/s, 2:44:50 left"),
    ],
)
def test_files_bytes_rate_and_time_left_are_said(share: float, seconds: float, said: str) -> None:
    news = Progress(done=7, total=9, name="x", bytes=2_000_000_000, share=share)

    assert progress_said(news, seconds) == said


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is made with pty")
def test_a_terminal_shows_a_bar_while_images_are_read(data: Path) -> None:
    for number in range(400):
        os.link(data / "photos" / "0" / "00.jpg", data / "photos" / "2" / f"x{number}.jpg")

    _, page, shown = on_a_terminal(data, "run", "photos", "--elsewhere", "--no-ledger", "-q")

    assert b" of 430" in shown
    assert b"MB/s" in shown
    assert page.startswith("NO-GO")


# --- what is not read


def test_videos_are_said_not_to_be_read(tmp_path: Path) -> None:
    (tmp_path / "0.tar").write_bytes(tarred({"0.mp4": b"film", "0.txt": b"a dog"}))
    put(tmp_path / "clips", "a.MP4", "b.webm", "c.jpg", content=photo())

    report = run("0.tar", "clips", folder=str(tmp_path))

    assert skipped(report, "image-damaged") == {
        "video is not read by this version": 3,
        "there is no image": 1,
    }
    assert report.findings == ()


def test_a_folder_of_videos_alone_is_said_to_be_one(tmp_path: Path) -> None:
    put(tmp_path, "clips/a.mp4", content=b"film")

    with pytest.raises(UsageError, match="but videos, which are not read by this version"):
        preflight.run("clips", folder=str(tmp_path))
