"""`preflight quarantine` moves what a run found damaged, and nothing else, and brings it back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from preflight.command import cli
from tests.archives import photo, samples, tarred
from tests.conftest import ROOT, START, Run
from tests.files import WHOLE, put, write

pytestmark = pytest.mark.usefixtures("at_hand")

PHOTO = photo(width=64, height=64)

DAMAGED = ["cache/b.safetensors", "data/2.tar", "photos/3.jpg", "photos/5.txt", "photos/6.txt"]


@pytest.fixture
def job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Path:
    """A job with damage of each kind, of which a run has left its report."""
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "photos", "cache", "data/{0..2}.tar", "-q"]) == 1
    capsys.readouterr()
    return tmp_path


def build(folder: Path) -> None:
    for number in range(12):
        write(folder / f"photos/{number}.jpg", PHOTO)
        write(folder / f"photos/{number}.txt", b"a dog")
    write(folder / "photos/3.jpg", PHOTO[:500])
    write(folder / "photos/3_0064x0064_sdxl.npz", b"PK\5\6" + bytes(18))
    for number in (5, 6):
        write(folder / f"photos/{number}.txt", b"\xe9\xe8 dog")
    write(folder / "photos/train.txt", b"photos/1.jpg\nphotos/3.jpg\n")
    write(folder / "data/0.tar", tarred(samples(3, image=PHOTO)))
    write(folder / "data/1.tar", tarred(samples(3, image=PHOTO[:300], start=3)))
    write(folder / "data/2.tar", tarred(samples(3, image=PHOTO, start=6))[:3_000])
    write(folder / "cache/a.safetensors", WHOLE)
    write(folder / "cache/b.safetensors", b"")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of the job but what preflight keeps."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".preflight" not in path.parts
    }


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Run it, and give its exit code and its JSON."""
    code = cli.main(["quarantine", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def by_state(page: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in page["files"]:
        found.setdefault(one["state"], []).append(one["file"])
    return {state: sorted(names) for state, names in found.items()}


def of(page: dict[str, Any], file: str) -> dict[str, Any]:
    return next(one for one in page["files"] if one["file"] == file)


# --- there and back -------------------------------------------------------------------------------


def test_where_nobody_can_be_asked_it_only_lists(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(job)

    code = cli.main(["quarantine"])

    page = capsys.readouterr().out
    assert code == 1
    assert "To be moved: 5 files" in page
    assert "photos/3.txt" in page
    assert page.endswith("Move what is to be moved:  preflight quarantine --yes\n")
    assert contents(job) == before
    assert not (job / ".preflight" / "quarantine").exists()


def test_what_is_damaged_is_moved_and_comes_back(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each byte of it; what is whole is not touched, and a run finds nothing of it any more."""
    before = contents(job)

    code, page = told(capsys, "--yes")

    assert code == 1  # a shard of which only members are damaged is left
    assert by_state(page) == {"moved": DAMAGED, "left": ["data/1.tar"]}
    assert contents(job) == {name: one for name, one in before.items() if name not in DAMAGED}
    for name in DAMAGED:
        assert (job / page["folder"] / "files" / name).read_bytes() == before[name]
    select = ["--select", "image-damaged,caption-damaged,cache-damaged,shard-damaged"]
    assert cli.main(["run", "photos", "cache", "data/0.tar", "-q", *select]) == 0

    capsys.readouterr()

    code, page = told(capsys, "--restore")

    assert code == 0
    assert by_state(page) == {"restored": DAMAGED}
    assert contents(job) == before
    assert told(capsys, "--restore") == (0, page | {"about": "", "files": []})


def test_the_manifest_says_what_lay_where_and_why(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, page = told(capsys, "--yes")

    head, *lines = map(
        json.loads, (job / page["folder"] / "manifest.jsonl").read_text().splitlines()
    )
    (one,) = (line for line in lines if line["file"] == "photos/3.jpg")
    assert head["schema"] == 1
    assert sorted(line["file"] for line in lines) == DAMAGED
    assert (one["to"], one["bytes"]) == ("files/photos/3.jpg", 500)
    assert (one["check"], one["reason"]) == ("image-damaged", "stops before its end marker")


def test_what_goes_along_is_named_and_stays(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, page = told(capsys)

    image = of(page, "photos/3.jpg")
    assert image["belongs"] == ["photos/3.txt", "photos/3_0064x0064_sdxl.npz"]
    assert image["named_by"] == ["photos/train.txt:2"]
    assert of(page, "photos/5.txt")["belongs"] == ["photos/5.jpg"]
    assert of(page, "data/2.tar")["named_by"] == ["data/{0..2}.tar"]
    assert of(page, "cache/b.safetensors")["belongs"] == []


def test_pairs_are_moved_along_where_that_is_said(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(job)

    _, page = told(capsys, "--yes", "--with-pairs")

    along = ["photos/3.txt", "photos/3_0064x0064_sdxl.npz", "photos/5.jpg", "photos/6.jpg"]
    assert by_state(page) == {"moved": sorted([*DAMAGED, *along]), "left": ["data/1.tar"]}, page
    assert of(page, "photos/5.jpg")["goes_with"] == "photos/5.txt"
    assert cli.main(["quarantine", "--restore"]) == 0
    assert contents(job) == before


def test_words_have_it_look_now(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At just these: what the last report says of others is not moved."""
    write(job / "photos/7.jpg", b"")

    code, page = told(capsys, "photos", "--yes")

    assert code == 0
    assert by_state(page) == {
        "moved": ["photos/3.jpg", "photos/5.txt", "photos/6.txt", "photos/7.jpg"]
    }


def test_without_a_report_it_looks_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "cache/a.safetensors", content=WHOLE)
    put(tmp_path, "cache/b.safetensors")
    monkeypatch.chdir(tmp_path)

    code, page = told(capsys)

    assert code == 1
    assert by_state(page) == {"listed": ["cache/b.safetensors"]}


def test_of_a_sound_job_there_is_nothing_to_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "cache/a.safetensors", content=WHOLE)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "cache", "-q"]) == 0
    capsys.readouterr()

    assert cli.main(["quarantine", "--yes"]) == 0
    assert capsys.readouterr().out.startswith("There is nothing to move")
    assert cli.main(["quarantine", "--restore"]) == 0
    assert capsys.readouterr().out == "There is nothing to bring back.\n"
    assert not (tmp_path / ".preflight" / "quarantine").exists()


# --- what is left ---------------------------------------------------------------------------------


def test_what_has_changed_since_the_report_is_left(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its size, its time, or the time of its inode, which a copy cannot keep."""
    (job / "photos/3.jpg").write_bytes(PHOTO)
    long_ago = os.stat(job / "cache/b.safetensors")
    future = (long_ago.st_atime_ns, long_ago.st_mtime_ns + 10**13)
    os.utime(job / "cache/b.safetensors", ns=future)
    (job / "data/2.tar").unlink()

    code, page = told(capsys, "--yes")

    assert code == 1
    assert by_state(page) == {
        "moved": ["photos/5.txt", "photos/6.txt"],
        "left": ["cache/b.safetensors", "data/1.tar", "photos/3.jpg"],
        "gone": ["data/2.tar"],
    }
    assert "bytes now, and had 500 when" in of(page, "photos/3.jpg")["why"]
    assert "has changed since the look of" in of(page, "cache/b.safetensors")["why"]
    assert (job / "photos/3.jpg").read_bytes() == PHOTO


def test_a_second_time_all_is_gone(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / "data/1.tar").unlink()
    assert told(capsys, "--yes")[0] == 0

    code, page = told(capsys, "--yes")

    assert code == 0
    assert set(by_state(page)) == {"gone"}


def test_something_new_in_its_place_is_never_replaced(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others come back; what is left can be brought back once its place is free."""
    before = contents(job)
    told(capsys, "--yes")
    (job / "photos/3.jpg").write_bytes(PHOTO)

    code, page = told(capsys, "--restore")

    assert code == 1
    assert by_state(page)["left"] == ["photos/3.jpg"]
    assert "something new lies in its place" in of(page, "photos/3.jpg")["why"]
    assert contents(job) == before | {"photos/3.jpg": PHOTO}
    (job / "photos/3.jpg").unlink()
    assert told(capsys, "--restore")[0] == 0
    assert contents(job) == before


def test_a_link_is_moved_and_not_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "store/b.safetensors", b"")
    put(tmp_path, "cache/a.safetensors", content=WHOLE)
    (tmp_path / "cache/b.safetensors").symlink_to("../store/b.safetensors")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "cache", "-q"]) == 1
    capsys.readouterr()

    code, page = told(capsys, "--yes")

    assert code == 0
    assert page["files"][0]["link"] == "../store/b.safetensors"
    assert (tmp_path / "store/b.safetensors").read_bytes() == b""
    assert not os.path.lexists(tmp_path / "cache/b.safetensors")
    assert cli.main(["quarantine", "--restore"]) == 0
    assert os.readlink(tmp_path / "cache/b.safetensors") == "../store/b.safetensors"


def test_a_folder_outside_that_was_named_is_part_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its path, or by a link in the job's folder; to write there again needs a yes."""
    (tmp_path / "job").mkdir()
    (tmp_path / "job/linked").symlink_to(tmp_path / "far")
    for name in ("far", "store"):
        put(tmp_path, f"{name}/a.safetensors", content=WHOLE)
        write(tmp_path / f"{name}/b.safetensors", b"")
    monkeypatch.chdir(tmp_path / "job")
    assert cli.main(["run", str(tmp_path / "store"), "linked", "-q"]) == 1
    capsys.readouterr()

    code, page = told(capsys, "--yes")

    assert code == 0
    assert len(by_state(page)["moved"]) == 2
    assert not (tmp_path / "store/b.safetensors").exists()
    assert told(capsys, "--restore")[0] == 1
    assert told(capsys, "--restore", "--yes")[0] == 0
    assert (tmp_path / "store/b.safetensors").exists()
    assert (tmp_path / "far/b.safetensors").exists()


def test_a_report_cannot_lead_out_of_the_job(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in it."""
    outside = job.parent / f"{job.name}-else.pt"
    write(outside, b"")
    last = job / ".preflight/last.json"
    report = json.loads(last.read_text())
    (one,) = (one for one in report["findings"] if one["check"] == "cache-damaged")
    for file in (str(outside), f"../{outside.name}", f"photos/../../{outside.name}"):
        one["aside"] = [{"file": file, "bytes": 0, "stays": None}]
        report["findings"] = [one]
        last.write_text(json.dumps(report))

        code, page = told(capsys, "--yes")

        assert (code, [*by_state(page)]) == (1, ["left"]), file
        assert "outside the job's folder" in page["files"][0]["why"]
        assert outside.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"to": "files/../../../../x"},
        {"to": "/etc/passwd"},
        {"file": "../x"},
        {"beside": "3.txt"},
        {"more": 1},
    ],
)
def test_a_manifest_cannot_lead_out_of_its_folder(
    job: Path, capsys: pytest.CaptureFixture[str], change: dict[str, str]
) -> None:
    """It may have come with a repository of somebody else's; nothing of it is brought back."""
    _, page = told(capsys, "--yes")
    path = job / page["folder"] / "manifest.jsonl"
    head, first, *others = path.read_text().splitlines()
    path.write_text("\n".join([head, json.dumps(json.loads(first) | change), *others]))
    before = contents(job)

    code = cli.main(["quarantine", "--restore"])

    assert code == 2
    assert "manifest" in capsys.readouterr().err
    assert contents(job) == before


# --- what the system refuses ----------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_folder_that_cannot_be_written_is_told(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (job / "photos").chmod(0o500)
    code, page = told(capsys, "--yes")
    (job / "photos").chmod(0o700)

    assert code == 3
    assert by_state(page)["failed"] == ["photos/3.jpg", "photos/5.txt", "photos/6.txt"]


def test_a_quarantine_that_cannot_be_made_moves_nothing(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(job)
    put(job, ".preflight/quarantine")

    assert cli.main(["quarantine", "--yes"]) == 3
    assert "preflight cannot go on" in capsys.readouterr().err
    assert contents(job) == before


@pytest.fixture
def far_state(job: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on another file system, in which the quarantine is to be."""
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == job.stat().st_dev:
        pytest.skip("there is no second file system")
    import tempfile

    state = Path(tempfile.mkdtemp(dir="/dev/shm"))
    shutil.copy(job / ".preflight/last.json", state)
    monkeypatch.setenv("PREFLIGHT_STATE", str(state))
    return state


def test_across_file_systems_it_moves_only_where_it_is_told_to_copy(
    job: Path, far_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(job)
    seconds = (job / "photos/3.jpg").stat().st_mtime_ns

    code, page = told(capsys, "--yes")
    assert (code, [*by_state(page)]) == (1, ["left"])
    assert "--copy" in of(page, "photos/3.jpg")["why"]
    assert contents(job) == before

    code, page = told(capsys, "--yes", "--copy")
    assert by_state(page)["moved"] == DAMAGED
    assert (Path(page["folder"]) / "files/photos/3.jpg").read_bytes() == before["photos/3.jpg"]
    assert sorted(contents(job)) == sorted({*before} - {*DAMAGED})

    assert told(capsys, "--restore")[0] == 0
    assert contents(job) == before
    assert (job / "photos/3.jpg").stat().st_mtime_ns == seconds
    for path in sorted(far_state.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    far_state.rmdir()


def test_a_copy_that_was_cut_off_stays_where_its_original_is_another_now(
    job: Path, far_state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(job)
    _, page = told(capsys, "--yes", "--copy")
    held = Path(page["folder"]) / "files/photos/3.jpg"
    assert told(capsys, "--restore")[0] == 0
    held.parent.mkdir(parents=True)
    part = held.with_name("3.jpg.part")

    for content in (b"another", before["photos/3.jpg"]):
        part.write_bytes(content[:3])
        seconds = (job / "photos/3.jpg").stat().st_mtime_ns
        (job / "photos/3.jpg").write_bytes(content)
        os.utime(job / "photos/3.jpg", ns=(seconds, seconds))
        assert told(capsys, "--restore")[0] == 0
        assert part.exists() is (content == b"another")

    assert contents(job) == before
    shutil.rmtree(far_state)


@pytest.mark.parametrize("where", ["store", "linked", "inside"])
def test_the_line_that_brings_all_back_does_so_when_it_is_typed(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "job/linked").symlink_to(tmp_path / "far")
    for name in ("far", "store", "job/inside"):
        put(tmp_path, f"{name}/a.safetensors", content=WHOLE)
        write(tmp_path / f"{name}/b.safetensors", b"")
    monkeypatch.chdir(tmp_path / "job")
    before = contents(tmp_path)
    assert cli.main(["run", str(tmp_path / "store") if where == "store" else where, "-q"]) == 1
    assert cli.main(["quarantine", "--yes"]) == 0
    assert contents(tmp_path) != before

    line = capsys.readouterr().out.rpartition("Back again:  preflight ")[2]

    assert ("--yes" in line) is (where != "inside")
    assert cli.main(line.split()) == 0
    assert {one: before[one] for one in before} == {one: contents(tmp_path)[one] for one in before}


# --- typed, asked and at once ---------------------------------------------------------------------


def test_a_folder_that_was_renamed_meanwhile_is_made_again_and_told(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files that lay elsewhere say nothing."""
    told(capsys, "--yes")
    (job / "photos").rename(job / "pictures")

    code, page = told(capsys, "--restore")
    said = {one["file"]: one["why"] for one in page["files"]}

    assert code == 0
    assert by_state(page) == {"restored": DAMAGED}
    assert {one for one, why in said.items() if "was that renamed?" in why} == {
        one for one in DAMAGED if one.startswith("photos/")
    }
    assert {why for one, why in said.items() if not one.startswith("photos/")} <= {""}


def test_which_one_is_brought_back_can_be_said(
    job: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = Path(told(capsys, "--yes")[1]["folder"]).name
    write(job / "photos/8.jpg", b"")
    second = Path(told(capsys, "photos", "--yes")[1]["folder"]).name

    assert first < second
    assert by_state(told(capsys, "--restore", first)[1]) == {"restored": DAMAGED}
    assert by_state(told(capsys, "--restore")[1]) == {"restored": ["photos/8.jpg"]}
    assert cli.main(["quarantine", "--restore", "yesterday"]) == 2
    assert f"there is {second}, {first}" in capsys.readouterr().err


def test_a_damaged_report_is_typed_wrong(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (job / ".preflight/last.json").write_text('{"schema": 1, "find')

    assert cli.main(["quarantine", "--yes"]) == 2
    assert "breaks off" in capsys.readouterr().err


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 1), (b"n\n", 1), (b"\4", 130)])
def test_on_a_terminal_it_asks(job: Path, answer: bytes, code: int) -> None:
    """Nothing is moved but for a yes; one who closes the terminal has said nothing."""
    pty = pytest.importorskip("pty")
    before = contents(job)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", START, "quarantine"],
        cwd=job,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        asked = b""
        while b"[y/N]" not in asked:
            asked += os.read(ours, 1024)
        os.write(ours, answer)
        page, _ = process.communicate(timeout=60)
    os.close(ours)

    assert b"Move 5 files? [y/N]" in asked
    assert process.returncode == code
    assert b"To be moved: 5 files" in page
    assert (contents(job) == before) == (answer != b"y\n")
    assert (b"Moved: 5 files" in page) == (answer == b"y\n")


@pytest.mark.parametrize("looks", [1, 2])
def test_a_file_that_another_run_moves_during_the_look_is_gone(
    job: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], looks: int
) -> None:
    """At whatever moment between two looks at it; the others are moved."""
    file, real, seen = job / "cache/b.safetensors", os.lstat, []

    def lstat(path: Any, **more: Any) -> os.stat_result:
        status = real(path, **more)
        if Path(os.fsdecode(path)) == file:
            seen.append(path)
            if len(seen) == looks:
                file.rename(job / "elsewhere")
        return status

    monkeypatch.setattr(os, "lstat", lstat)
    code, page = told(capsys, "--yes")

    others = [name for name in DAMAGED if name != "cache/b.safetensors"]
    assert code == 1  # a shard of which only members are damaged is left
    assert by_state(page) == {
        "moved": others,
        "left": ["data/1.tar"],
        "gone": ["cache/b.safetensors"],
    }


def test_two_runs_at_once_move_each_file_once(preflight: Run, tmp_path: Path) -> None:
    """Real commands; together they have moved all, and nothing that is whole."""
    for number in range(300):
        write(tmp_path / f"cache/{number:03}.safetensors", b"" if number % 3 else WHOLE)
    assert preflight("run", "cache", "-q").returncode == 1
    before = contents(tmp_path)
    command = [sys.executable, "-c", START, "quarantine", "--format", "json"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}

    def twice(word: str) -> list[dict[str, Any]]:
        both = [
            subprocess.Popen([*command, word], cwd=tmp_path, env=env, stdout=subprocess.PIPE)
            for _ in range(2)
        ]
        pages = [json.loads(one.communicate(timeout=60)[0]) for one in both]
        assert [one.returncode for one in both] == [0, 0]
        return pages

    moved = [name for page in twice("--yes") for name in by_state(page).get("moved", [])]
    assert sorted(moved) == sorted(name for name, content in before.items() if not content)
    assert set(contents(tmp_path)) == {name for name, content in before.items() if content}

    while any(page["files"] for page in twice("--restore")):
        pass
    assert contents(tmp_path) == before


def test_a_name_that_is_no_utf_8_is_moved_too(preflight: Run, tmp_path: Path) -> None:
    """A report cannot write it as it is."""
    put(tmp_path, "cache/a.safetensors", content=WHOLE)
    odd = os.fsencode(tmp_path / "cache") + b"/caf\xe9.safetensors"
    try:
        with open(odd, "wb"):
            pass
    except OSError:
        pytest.skip("the file system refuses such names")
    assert preflight("run", "cache", "-q").returncode == 1

    done = preflight("quarantine", "--yes")

    assert done.returncode == 0, done
    assert "caf\\xe9.safetensors" in done.stdout
    assert not os.path.exists(odd)
    assert preflight("quarantine", "--restore").returncode == 0
    assert os.path.exists(odd)
