"""A second run judges again what the first has read, and reads only what has changed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time
import zlib
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import preflight as package
from preflight.findings.report import Recalled, Report
from preflight.values.stamps import digest_of
from tests.archives import saved as saved_as
from tests.archives import tarred
from tests.asking import of
from tests.conftest import ROOT
from tests.files import HOUR, WHOLE, stamp, write

pytestmark = pytest.mark.usefixtures("at_hand")

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def picture() -> bytes:
    return saved_as(Image.effect_noise((32, 32), 50).convert("RGB"), "JPEG")


def write_shard(path: Path) -> None:
    content = {"jpg": picture(), "txt": b"a dog"}
    write(path, tarred({f"{n}.{suffix}": content[suffix] for n in range(2) for suffix in content}))


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder with two shards, three images and three cached files, one of each damaged."""
    write_shard(tmp_path / "data" / "0.tar")
    write_shard(tmp_path / "data" / "1.tar")
    os.truncate(tmp_path / "data" / "1.tar", 1_000)
    stamp(tmp_path / "data" / "1.tar")
    for name in ("a", "b"):
        write(tmp_path / "photos" / f"{name}.jpg", picture())
    write(tmp_path / "photos" / "c.jpg", picture()[:300])
    for name in ("a", "b"):
        write(tmp_path / "cache" / f"{name}.safetensors", WHOLE)
    write(tmp_path / "cache" / "c.safetensors", b"")
    return tmp_path


# Without the second, torch before 2.6 loads nothing.
DEEP = {"deep": True, "trust_caches": True}


def look(folder: Path, *words: str, **more: Any) -> Report:
    """Look at files, and at no machine."""
    return package.run(*words, folder=str(folder), elsewhere=True, **more)


def counts(report: Report, check: str) -> tuple[int, int, int]:
    outcome = of(report, check)
    return outcome.targets, outcome.looked_at, outcome.remembered


def recalled(report: Report) -> dict[str, tuple[int, int]]:
    return {one.noun: (one.count, one.of) for one in report.remembered}


ALL = ("data", "photos", "cache")
EVERYTHING = {"image": (3, 3), "cache file": (3, 3), "shard": (2, 2)}
CACHE = ("run", "cache", "--elsewhere", "--format", "json")


def test_what_is_remembered_is_judged_as_if_it_had_been_read(job: Path) -> None:
    """The same findings, word by word; and told apart from what was looked at."""
    first, second = look(job, *ALL), look(job, *ALL)

    assert first.remembered == ()
    assert counts(first, "shard-damaged") == (2, 2, 0)
    assert len(first.findings) >= 3
    assert second.findings == first.findings
    assert second.verdict == first.verdict == "no-go"
    assert [(one.word, one.text) for one in second.targets] == [
        (one.word, one.text) for one in first.targets
    ]
    assert counts(second, "shard-damaged") == (2, 0, 2)
    assert counts(second, "image-damaged") == (3, 0, 2)
    assert counts(second, "cache-damaged") == (3, 0, 3)
    assert recalled(second) == EVERYTHING
    assert [one.outcome for one in second.checks] == [one.outcome for one in first.checks]


def test_a_data_set_that_is_remembered_as_a_whole_is_a_go(preflight: Run, job: Path) -> None:
    """The page says that it was not read again, and how it would be."""
    words = ("run", "data/0.tar", "cache/a.safetensors", "--elsewhere")
    assert preflight(*words).returncode == 0
    done = preflight(*words)

    assert done.returncode == 0
    assert "Remembered   1 of 1 shard, 1 of 1 cache file, read up to " in done.stdout
    assert "--reread 0 reads them again" in " ".join(done.stdout.split())
    assert json.loads((job / ".preflight" / "last.json").read_text())["remembered"][0]["count"] == 1
    assert "0 of 1 looked at, 1 remembered" in " ".join(preflight(*words, "-v").stdout.split())


def test_only_what_has_changed_is_read_again(job: Path) -> None:
    """A folder with one image that was read counts as looked at."""
    look(job, *ALL)
    write(job / "photos" / "b.jpg", picture()[:200], age=HOUR / 2)
    write(job / "cache" / "c.safetensors", WHOLE)
    write(job / "cache" / "d.safetensors", WHOLE)
    (job / "cache" / "a.safetensors").unlink()

    second = look(job, *ALL)

    assert recalled(second) == {"image": (2, 3), "cache file": (1, 3), "shard": (2, 2)}
    assert counts(second, "cache-damaged") == (3, 2, 1)
    assert counts(second, "image-damaged") == (3, 1, 1)
    damaged = {one.at.file for one in second.findings if one.check == "image-damaged"}
    assert {"photos/b.jpg", "photos/c.jpg"} <= damaged
    assert not any(one.check == "cache-damaged" for one in second.findings)


def test_a_file_that_was_just_written_is_read_again(job: Path) -> None:
    """Its time stamp may not tell the next change."""
    write(job / "cache" / "a.safetensors", WHOLE, age=0)
    look(job, "cache")
    write(job / "cache" / "a.safetensors", WHOLE, age=-HOUR)

    assert recalled(look(job, "cache")) == {"cache file": (2, 3)}


def date_back(ledger: Path, before: int, now: int) -> None:
    """Have a ledger take a cached file for unchanged: none of its times tells of the change."""
    with contextlib.closing(sqlite3.connect(ledger)) as file, file:
        ((text,),) = file.execute("SELECT facts FROM files_1")
        table = json.loads(text)
        marks = array("q", base64.b64decode(table["stamps"]))
        marks[marks.index(before)] = now
        table["stamps"] = base64.b64encode(marks).decode()
        text = json.dumps(table)
        mark = digest_of(table["names"].split("//"), marks)
        file.execute(
            "UPDATE files_1 SET mark = ?, facts = ?, checksum = ?",
            (mark, text, zlib.crc32(text.encode())),
        )


@pytest.mark.parametrize(
    ("given", "env"),
    [
        ({"reread": "0"}, {}),
        ({"no_ledger": True}, {}),
        ({}, {"PREFLIGHT_REREAD": "0"}),
        ({}, {"PREFLIGHT_NO_LEDGER": "1"}),
    ],
)
def test_what_is_remembered_can_be_read_again(
    job: Path, given: dict[str, Any], env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a flag or a variable; bytes rot without a change of a time stamp."""
    path = job / "cache" / "a.safetensors"
    before = path.stat()
    look(job, "cache")
    path.write_bytes(b"\xff" * len(WHOLE))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    date_back(job / ".preflight" / "ledger.sqlite", before.st_ctime_ns, path.stat().st_ctime_ns)
    assert len(look(job, "cache").findings) == 1
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    again = look(job, "cache", **given)

    assert again.remembered == ()
    assert [one.at.file for one in again.findings] == [
        "cache/a.safetensors",
        "cache/c.safetensors",
    ]


def set_back(job: Path, age: float) -> None:
    """Have all that is remembered be read so many seconds ago."""
    with contextlib.closing(sqlite3.connect(job / ".preflight" / "ledger.sqlite")) as file, file:
        file.execute("UPDATE files_1 SET read_at = ?", (time.time() - age,))


def test_the_settings_say_how_long_is_believed(job: Path) -> None:
    """As an age with its unit; a number alone is told as a mistake."""
    look(job, "cache")
    set_back(job, 13 * HOUR)
    (job / "preflight.toml").write_text('[look]\nreread = "12h"\n')
    assert look(job, "cache").remembered == ()
    set_back(job, 11 * HOUR)
    second = look(job, "cache")
    assert isinstance(second.remembered[0], Recalled)
    assert 11 * HOUR <= second.remembered[0].age < 11 * HOUR + 60

    (job / "preflight.toml").write_text("[look]\nreread = 12\n")
    with pytest.raises(ValueError, match=r"preflight.toml:2: look.reread: '12' is no age"):
        look(job, "cache")


def test_settings_that_judge_take_effect_at_once(job: Path) -> None:
    """Facts are remembered, and no findings."""
    look(job, "cache")
    (job / "preflight.toml").write_text(
        '[[ignore]]\ncheck = "cache-damaged"\nreason = "made anew tonight"\n'
    )

    second = look(job, "cache")

    assert (second.verdict, len(second.accepted)) == ("go", 1)
    assert recalled(second) == {"cache file": (3, 3)}


def test_settings_that_say_how_to_read_read_again(job: Path) -> None:
    """Where captions are looked for in shards says what is seen of them; of caches, nothing."""
    settings = '[[data]]\nshards = "data/0.tar"\n{}\n[[cache]]\npath = "cache"\n'
    (job / "preflight.toml").write_text(settings.format(""))
    look(job)
    assert recalled(look(job)) == {"shard": (1, 1), "cache file": (3, 3)}
    (job / "preflight.toml").write_text(settings.format('images = ["png"]'))
    second = look(job)

    assert recalled(second) == {"cache file": (3, 3)}
    assert counts(second, "sample-unpaired") == (1, 1, 0)


def test_a_deeper_look_is_another_look(job: Path) -> None:
    look(job, *ALL)

    assert look(job, *ALL, depth="decode").remembered == ()
    assert recalled(look(job, *ALL, depth="decode"))["image"] == (3, 3)
    assert recalled(look(job, *ALL))["image"] == (3, 3)


def saved(folder: Path, values: dict[str, Any], age: float = HOUR) -> None:
    import torch

    for name, value in values.items():
        torch.save(value, folder / name)
        stamp(folder / name, age)


def test_what_torch_has_loaded_is_not_loaded_again(tmp_path: Path) -> None:
    """Only what has changed is; NaN that is remembered is told as if it had been read."""
    import torch

    saved(tmp_path, {"a.pt": torch.tensor([1.0, float("nan")]), "b.pt": torch.ones(2)})
    first, again = look(tmp_path, "cache=.", **DEEP), look(tmp_path, "cache=.", **DEEP)
    saved(tmp_path, {"b.pt": torch.tensor([1.0, float("inf")])}, 2 * HOUR)
    changed = look(tmp_path, "cache=.", **DEEP)

    assert first.findings == again.findings
    assert [one.at.file for one in first.findings] == ["a.pt"]
    assert recalled(again)["loaded cache file"] == (2, 2)
    assert {one.at.file for one in changed.findings} == {"a.pt", "b.pt"}
    assert recalled(changed)["loaded cache file"] == (1, 2)


def test_what_was_not_loaded_is_tried_again(tmp_path: Path) -> None:
    """A global that torch refuses may be one that it takes in the next run."""
    import torch

    saved(tmp_path, {"a.pt": {"a": Path("x")}, "b.pt": torch.ones(2)})
    look(tmp_path, "cache=.", **DEEP)
    again = look(tmp_path, "cache=.", **DEEP)

    assert recalled(again)["loaded cache file"] == (1, 2)


def test_a_file_goes_by_the_name_that_it_has_now(job: Path) -> None:
    """One ledger may serve jobs in several folders."""
    state = str(job / "state")
    look(job, *ALL, state=state)
    moved = look(job / "data", str(job / "photos"), str(job / "cache"), "1.tar", state=state)

    assert recalled(moved) == {"image": (3, 3), "cache file": (3, 3), "shard": (1, 1)}
    cached, shard, image = (
        next(one.at.file for one in moved.findings if one.check == check)
        for check in ("cache-damaged", "shard-damaged", "image-damaged")
    )
    assert (cached, shard) == (f"{job}/cache/c.safetensors", "1.tar")
    assert image == f"{job}/photos/c.jpg"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders")
def test_what_could_not_be_looked_at_is_not_remembered(job: Path) -> None:
    """It is tried again each time, and the verdict is no GO each time."""
    os.mkfifo(job / "data" / "pipe.tar")
    stamp(job / "data" / "pipe.tar")
    words = ("data/pipe.tar", "data/0.tar")
    assert look(job, *words).verdict == "cannot-judge"

    second = look(job, *words)

    assert second.verdict == "cannot-judge"
    assert counts(second, "shard-damaged") == (2, 0, 1)
    assert len(of(second, "shard-damaged").broken) == 1


# --- where the ledger cannot be used --------------------------------------------------------------


def test_a_damaged_ledger_is_told_and_costs_nothing_but_time(preflight: Run, job: Path) -> None:
    """One line on stderr; the page is that of a first run."""
    first = preflight(*CACHE)
    ledger = job / ".preflight" / "ledger.sqlite"
    ledger.write_bytes(b"\0garbage" * 1024)

    second = preflight(*CACHE)

    assert second.returncode == first.returncode == 1
    assert json.loads(second.stdout)["findings"] == json.loads(first.stdout)["findings"]
    assert second.stderr.count("\n") == 1
    assert second.stderr.startswith("preflight: the ledger was damaged, and was set aside as ")
    (aside,) = ledger.parent.glob("ledger.sqlite.damaged-*")
    assert aside.read_bytes() == b"\0garbage" * 1024
    third = preflight(*CACHE)
    assert json.loads(third.stdout)["remembered"] != []


def test_a_ledger_that_cannot_be_written_is_told_in_a_line(preflight: Run, job: Path) -> None:
    """Whatever lies where its folder should be; the verdict stays."""
    (job / "state").write_text("")
    done = preflight("run", "cache", "--elsewhere", "--state", "state")

    assert done.returncode == 1
    about = [line for line in done.stderr.splitlines() if "the ledger cannot be used" in line]
    assert len(about) == 1
    assert "Traceback" not in done.stderr


def test_a_locked_ledger_is_told_in_a_line(preflight: Run, job: Path) -> None:
    preflight("run", "cache", "--elsewhere")
    path = job / ".preflight" / "ledger.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        done = preflight(*CACHE)

    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "ledger.sqlite: database is locked" in done.stderr
    assert json.loads(done.stdout)["remembered"] == []


def test_runs_at_the_same_time_agree(preflight: Run, job: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        done = list(
            pool.map(lambda _: preflight("run", *ALL, "--elsewhere", "--format", "json"), range(4))
        )

    assert {one.returncode for one in done} == {1}
    assert {one.stderr for one in done} == {""}
    assert len({json.dumps(json.loads(one.stdout)["findings"]) for one in done}) == 1
    assert recalled(look(job, *ALL)) == EVERYTHING


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_a_run_that_is_killed_leaves_what_it_has_read(job: Path) -> None:
    """Or nothing; the next run is none the worse for it."""
    words = [sys.executable, "-m", "preflight", "run", *ALL, "--elsewhere"]
    env, nowhere = {**os.environ, "PYTHONPATH": str(ROOT)}, subprocess.DEVNULL
    for wait in (0.1, 0.3, 0.5, 0.7):
        with subprocess.Popen(words, cwd=job, env=env, stdout=nowhere, stderr=nowhere) as process:
            time.sleep(wait)
            process.kill()

    assert len(look(job, *ALL).findings) == len(look(job, *ALL, no_ledger=True).findings)
    assert recalled(look(job, *ALL)) == EVERYTHING
    assert list((job / ".preflight").glob("*.damaged-*")) == []
