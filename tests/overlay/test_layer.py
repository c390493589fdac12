"""What Python's own functions write goes into the layer, and reads as if it were on the disk."""

from __future__ import annotations

import bz2
import errno
import glob
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.overlay.lay_over import laid_over
from preflight.overlay.layer import Layer

ROOT = Path(__file__).parents[2]


def layer_over(folder: Path, scratch: Path) -> Layer:
    return Layer(str(scratch), always=(str(folder),))


def content(folder: Path) -> dict[str, bytes | None]:
    """Everything that is seen of a folder, by name; None for a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def fill(folder: Path) -> None:
    (folder / "out" / "old").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "a").write_text("one")
    (folder / "out" / "b").write_text("two")
    (folder / "out" / "old" / "c").write_text("three")
    (folder / "data" / "d").write_text("four")


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Give a folder with files, in which the test runs."""
    folder = tmp_path / "job"
    folder.mkdir()
    fill(folder)
    return folder


LATE = """
import sys
from preflight.overlay.lay_over import laid_over
from preflight.overlay.layer import Layer

for name in [one for one in sys.modules if one.partition(".")[0] in ("glob", "pathlib")]:
    del sys.modules[name]
with laid_over(Layer(sys.argv[2], always=(sys.argv[1],))):
    import glob, pathlib

    print(pathlib.Path(sys.argv[1]).resolve().stat().st_size > 0, glob.glob("nothing*"))
"""


def test_a_script_may_be_the_first_to_import_what_keeps_functions_in_classes(
    job: Path, tmp_path: Path
) -> None:
    """As `pathlib` of Python 3.10 does: they would be methods there."""
    words = [sys.executable, "-c", LATE, str(job), str(tmp_path / "scratch")]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (said.stdout, said.stderr) == ("True []\n", "")


def test_what_is_written_reads_back_and_the_folder_stays_as_it_is(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job)
    before = content(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        os.makedirs("out/new/deep", exist_ok=True)
        Path("out/new/deep/w.txt").write_text("written")
        with open("a", "a", encoding="utf-8") as file:
            file.write(" more")
        os.replace("out/b", "out/new/b")
        shutil.rmtree("out/old")
        shutil.copytree("out/new", "out/again")
        seen = content(job)
        found = sorted(glob.glob("out/**/*", recursive=True))

    assert seen["a"] == b"one more"
    assert all(seen[os.path.join("out", one, "b")] == b"two" for one in ("new", "again"))
    assert os.path.join("out", "b") not in seen
    assert os.path.join("out", "old") not in seen
    assert os.path.join("out", "new", "deep", "w.txt") in found
    assert content(job) == before


def test_temporary_files_are_written_for_real(tmp_path: Path, job: Path) -> None:
    """Other programs are told their names."""
    with laid_over(layer_over(job, tmp_path / "scratch")), tempfile.NamedTemporaryFile() as file:
        name = file.name
        assert os.path.samefile(name, file.fileno())
        assert not name.startswith(str(tmp_path))


def test_what_others_open_by_a_name_of_their_own_goes_there_too(tmp_path: Path, job: Path) -> None:
    """They were imported before, and have kept the function that was there then."""
    before = content(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        with bz2.open(job / "log.bz2", "wt") as packed:
            packed.write("text")
        with tarfile.open(job / "out.tar", "w") as shard:
            shard.add(job / "a", "a")
        with tarfile.open(job / "out.tar") as shard:
            seen = shard.getnames()

    assert seen == ["a"]
    assert content(job) == before


def test_the_class_of_raw_files_writes_there_too(
    tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As blobfile opens what it writes; its folder may be in the layer alone."""
    monkeypatch.chdir(job)
    before = content(job)

    with laid_over(layer_over(job, tmp_path / "scratch")):

        class Own(io.FileIO):
            pass

        os.mkdir("made")
        with io.FileIO("made/new", "wb") as new, io.BufferedWriter(Own("a", mode="a")) as more:
            new.write(b"written")
            more.write(b" more")
            names = new.name, more.raw.name
            kinds = isinstance(new, io.FileIO), isinstance(more.raw, io.RawIOBase)
        with open("a", "rb") as plain, io.FileIO(plain.fileno(), closefd=False) as same:
            kinds += isinstance(plain.raw, io.FileIO), not isinstance(plain.raw, Own)
            read = same.read()
        with pytest.raises(FileExistsError) as raised:
            io.FileIO(b"made/new", "x")
        with pytest.raises(FileNotFoundError):
            io.FileIO("none/a", "w")
        with pytest.raises(ValueError, match="mode"):
            io.FileIO("a", "rw")
        seen = content(job)

    assert (names, kinds, read) == (("made/new", "a"), (True,) * 4, b"one more")
    assert os.fsencode(raised.value.filename).endswith(
        os.fsencode(os.path.join("job", "made", "new"))
    )
    assert seen == before | {
        "a": b"one more",
        "made": None,
        os.path.join("made", "new"): b"written",
    }
    assert content(job) == before
    with open(job / "a", "rb", buffering=0) as file:
        assert type(file) is io.FileIO


def test_a_listing_names_files_as_the_caller_did(
    tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        Path("new").touch()
        with os.scandir() as here, os.scandir(b"out") as there, os.scandir(job) as whole:
            names = {one.path for one in here}
            in_bytes = {os.fspath(one) for one in there}
            files = {one.path for one in whole if one.is_file()}
        (job / "out" / "new").touch()
        below = {one.path for one in os.scandir(b"out")}

    assert names == {os.path.join(".", one) for one in ("a", "data", "new", "out")}
    assert in_bytes == {os.path.join(b"out", b"b"), os.path.join(b"out", b"old")}
    assert files == {str(job / "a"), str(job / "new")}
    assert below == in_bytes | {os.path.join(b"out", b"new")}


def test_a_temporary_file_of_the_jobs_folder_takes_its_place_there(
    tmp_path: Path, job: Path
) -> None:
    before = content(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        with tempfile.NamedTemporaryFile(dir=job, delete=False) as file:
            file.write(b"written")
        os.replace(file.name, job / "a")
        seen = content(job)

    assert seen == before | {"a": b"written"}
    assert content(job) == before


def test_errors_name_files_as_the_caller_did(tmp_path: Path, job: Path) -> None:
    with laid_over(layer_over(job, tmp_path / "scratch")):
        os.remove(job / "a")
        with pytest.raises(FileNotFoundError) as raised:
            (job / "a").read_text(encoding="utf-8")
        with pytest.raises(FileNotFoundError) as no_folder:
            (job / "none" / "a").write_text("x", encoding="utf-8")

    assert raised.value.filename == str(job / "a")
    assert no_folder.value.filename == str(job / "none" / "a")


@pytest.mark.parametrize("empty", ["", b""])
def test_an_empty_name_names_nothing(
    tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch, empty: str | bytes
) -> None:
    """Scripts ask `os.path.exists(args.resume)` of it; it is not the folder where they are."""
    monkeypatch.chdir(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        Path("new").write_text("x")
        assert not any(ask(empty) for ask in (os.path.exists, os.path.lexists, os.path.isdir))
        assert not os.access(empty, os.R_OK)
        for call in (os.stat, os.listdir, os.scandir, open, os.mkdir, os.remove, shutil.rmtree):
            with pytest.raises(FileNotFoundError):
                call(empty)  # type: ignore[operator]
        with pytest.raises(FileNotFoundError):
            os.rename(os.fsencode("new") if isinstance(empty, bytes) else "new", empty)
        assert Path("new").read_text() == "x"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_cannot_be_written_cannot_be_written_in_the_layer(
    tmp_path: Path, job: Path
) -> None:
    os.chmod(job / "out", 0o500)
    with (
        laid_over(layer_over(job, tmp_path / "scratch")),
        pytest.raises(PermissionError),
    ):
        (job / "out" / "x").write_text("x", encoding="utf-8")


def test_the_functions_are_as_before_afterwards(tmp_path: Path, job: Path) -> None:
    before = open, os.open, os.stat, os.mkdir, shutil.rmtree, os.scandir
    with laid_over(layer_over(job, tmp_path / "scratch")):
        assert open is not before[0]

    assert (open, os.open, os.stat, os.mkdir, shutil.rmtree, os.scandir) == before


def test_what_is_kept_comes_back_as_it_was(tmp_path: Path, job: Path) -> None:
    """Whatever was written over it, added to it, or took it away."""
    layer = layer_over(job, tmp_path / "scratch")
    with laid_over(layer):
        (job / "save").mkdir()
        for name in ("over", "added", "moved"):
            (job / "save" / name).write_text("first")
        layer.keep(str(job / "save"))
        (job / "save" / "over").write_text("second")
        with open(job / "save" / "added", "a", encoding="utf-8") as file:
            file.write("second")
        os.rename(job / "save" / "moved", job / "elsewhere")
        assert (job / "save" / "over").read_text() == "second"
        shutil.rmtree(job / "save")
        layer.restore()
        seen = {path.name: path.read_text() for path in (job / "save").iterdir()}

    assert seen == {"over": "first", "added": "first", "moved": "first"}


def test_what_was_written_after_all_was_kept_goes(tmp_path: Path, job: Path) -> None:
    """Also for a process that comes later; what was written over or removed since comes back."""
    layer = layer_over(job, tmp_path / "scratch")
    with laid_over(layer):
        (job / "out" / "1").mkdir()
        for name in ("1/weights", "newest", "log", "spare"):
            (job / "out" / name).write_text("first")
        layer.keep_all(4)
        (job / "out" / "newest").write_text("second")
        with open(job / "out" / "log", "a", encoding="utf-8") as file:
            file.write(" second")
        shutil.rmtree(job / "out" / "1")
        os.rename(job / "out" / "spare", job / "out" / "moved")
        for name in ("2", "3"):
            (job / "out" / name).mkdir()
            (job / "out" / name / "weights").write_text("second")
            (job / "out" / name / "weights").write_text("third")
    later = layer_over(job, tmp_path / "scratch")
    later.take_later_away(2, [])  # of which nobody has told
    later.take_later_away(4, [str(job / "out" / "3")])
    later.restore()
    with laid_over(layer_over(job, tmp_path / "scratch")):
        files = {path: path.read_text() for path in (job / "out").rglob("*") if path.is_file()}
        folders = sorted(path.name for path in (job / "out").iterdir() if path.is_dir())

    written = {path.relative_to(job / "out").as_posix(): text for path, text in files.items()}
    first = dict.fromkeys(("1/weights", "newest", "log", "spare"), "first")
    assert {**written, **first, "3/weights": "third"} == written
    assert folders == ["1", "3", "old"]


def test_a_later_layer_in_the_same_folder_goes_on(tmp_path: Path, job: Path) -> None:
    """As a second process does, which is to read what the first one wrote."""
    with laid_over(layer_over(job, tmp_path / "scratch")):
        (job / "out" / "last").write_text("7")
        (job / "a").unlink()
    with laid_over(layer_over(job, tmp_path / "scratch")):
        assert (job / "out" / "last").read_text() == "7"
        assert not (job / "a").exists()


# Which of two is told, where both are true, is the system's choice.
_ALIKE = ((errno.ENOTEMPTY, errno.EEXIST), (errno.ENOENT, errno.ENOTDIR))


OTHER = """
import sys
from preflight.overlay.lay_over import laid_over
from preflight.overlay.layer import Layer

with laid_over(Layer(sys.argv[2], always=(sys.argv[1],))), open(f"{sys.argv[1]}/a", "w") as file:
    file.write("theirs")
"""


def test_what_another_process_has_written_is_read(tmp_path: Path, job: Path) -> None:
    """A layer in which nothing was written yet is asked for little."""
    ours = layer_over(job, tmp_path / "scratch")
    path = str(job / "a")
    assert ours.reading(path) is path
    words = [sys.executable, "-c", OTHER, str(job), str(tmp_path / "scratch")]
    subprocess.run(words, cwd=ROOT, check=True)
    with open(ours.reading(path), encoding="utf-8") as file:
        assert file.read() == "theirs"


def test_what_outlives_the_layer_reads_as_it_lies(tmp_path: Path, job: Path) -> None:
    """A process that a script has left goes on when the scratch folder is gone."""
    with laid_over(layer_over(job, tmp_path / "scratch")):
        shutil.rmtree(tmp_path / "scratch")
        assert (job / "a").read_text() == "one"


def said(act: Callable[[], object]) -> object:
    """What became of a call: the error's number, or nothing."""
    try:
        act()
    except OSError as error:
        number = error.errno
        return next((one for one in _ALIKE if number in one), number)
    return None


def write(path: str, mode: str) -> None:
    with open(path, mode, encoding="utf-8") as file:
        file.write(mode)


NAMES = ("a", "out", "out/b", "out/old", "out/old/c", "out/new", "data/d", "new", "new/x")

ACTS: tuple[Callable[[str, str], object], ...] = (
    lambda one, _: os.mkdir(one),
    lambda one, _: os.makedirs(one, exist_ok=True),
    lambda one, _: write(one, "a") if not os.path.isdir(one) else None,
    lambda one, _: write(one, "w") if not os.path.isdir(one) else None,
    lambda one, _: write(one, "x") if not os.path.isdir(one) else None,
    lambda one, _: os.remove(one) if os.path.isfile(one) else None,
    lambda one, _: os.rmdir(one) if os.path.isdir(one) else None,
    lambda one, _: shutil.rmtree(one) if os.path.isdir(one) else None,
    lambda one, two: os.replace(one, two) if os.path.isfile(one) and not os.path.isdir(two) else 0,
    lambda one, two: os.rename(one, two) if os.path.isdir(one) and not os.path.exists(two) else 0,
    lambda one, two: shutil.copyfile(one, two) if os.path.isfile(one) else None,
    lambda one, two: shutil.move(one, two) if os.path.exists(one) else None,
    lambda one, _: os.listdir(one),
    lambda one, _: os.stat(one),
)


@pytest.mark.parametrize("seed", range(20))
def test_a_program_sees_the_same_with_the_layer_and_without(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thirty things done by chance, in two folders that are the same."""
    plain, under = tmp_path / "plain", tmp_path / "under"
    chance = random.Random(seed)
    steps = [(chance.choice(ACTS), chance.choice(NAMES), chance.choice(NAMES)) for _ in range(30)]
    steps = [one for one in steps if not f"{one[2]}/".startswith(f"{one[1]}/") or one[1] == one[2]]

    def run(folder: Path) -> tuple[list[object], dict[str, bytes | None]]:
        monkeypatch.chdir(folder)
        seen: list[object] = []
        for act, one, two in steps:
            became = said(lambda act=act, one=one, two=two: act(one, two))  # type: ignore[misc]
            seen.append((became, sorted(content(folder))))
        return seen, content(folder)

    for folder in (plain, under):
        folder.mkdir()
        fill(folder)
    without = run(plain)
    before = content(under)
    with laid_over(layer_over(under, tmp_path / "scratch")):
        with_layer = run(under)

    for number, (one, other) in enumerate(zip(with_layer[0], without[0], strict=True)):
        assert one == other, f"step {number}: {steps[number]}"
    assert with_layer[1] == without[1]
    assert content(under) == before


def test_the_narrower_of_two_folders_decides(tmp_path: Path) -> None:
    """A cache within the job's folder is written for real, and a job within a cache is not."""
    outer, inner = tmp_path / "a", tmp_path / "a" / "b"
    layer = Layer(str(tmp_path / "scratch"), always=(str(outer),), never=(str(inner),))
    other = Layer(str(tmp_path / "scratch"), always=(str(inner),), never=(str(outer),))

    assert layer.own(str(outer / "x")) is not None
    assert layer.own(str(inner / "x")) is None
    assert other.own(str(outer / "x")) is None
    assert other.own(str(inner / "x")) is not None


def test_its_own_folder_is_never_laid_over(tmp_path: Path) -> None:
    layer = Layer(str(tmp_path / "scratch"), always=(str(tmp_path),))

    assert layer.own(str(tmp_path / "scratch" / "told.jsonl")) is None


def test_no_path_of_ours_is_shown(
    tmp_path: Path, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that works in a folder that it has made finds its data from there."""
    monkeypatch.chdir(job)
    before = content(job)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        os.makedirs("runs/one")
        os.chdir("runs/one")
        at = [os.getcwd(), os.fsdecode(os.getcwdb()), str(Path.cwd()), os.path.abspath("x")]
        listed = [sorted(glob.glob("../../[ad]*")), sorted(one.path for one in os.scandir("../.."))]
        with open("x", "w", encoding="utf-8") as written, open("../../data/d", "rb") as read:
            names = [written.name, read.name]
        with open("x", "rb", buffering=0) as raw, open(os.fsencode("x"), "rb") as in_bytes:
            names += [raw.name, os.fsdecode(in_bytes.name)]
        os.symlink(os.path.abspath("x"), "link")
        links = [os.readlink("link"), os.path.realpath("link"), str(Path("link").resolve())]
        os.chdir("../..")
        back = os.getcwd(), os.listdir("runs")

    one = str(job / "runs" / "one")
    assert at == [one, one, one, os.path.join(one, "x")]
    assert listed == [
        [os.path.join("../..", name) for name in ("a", "data")],
        [os.path.join("../..", name) for name in ("a", "data", "out", "runs")],
    ]
    assert names == ["x", "../../data/d", "x", "x"]
    assert links == [os.path.join(one, "x")] * 3
    assert back == (str(job), ["one"])
    assert content(job) == before


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read")
def test_a_file_that_may_only_be_added_to_is(tmp_path: Path, job: Path) -> None:
    (job / "a").chmod(0o200)
    with laid_over(layer_over(job, tmp_path / "scratch")):
        with open(job / "a", "a", encoding="utf-8") as file:
            file.write("more")
        assert (job / "a").stat().st_size >= len("more")
        with pytest.raises(PermissionError):
            os.open(job / "a", os.O_RDWR)
    (job / "a").chmod(0o600)

    assert (job / "a").read_text(encoding="utf-8") == "one"
