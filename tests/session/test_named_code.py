"""Settings can name code: which are read, and that it is told before any of it runs."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

import preflight
from preflight.session.run import UsageError
from preflight.settings.nearest import nearest
from tests.archives import photo
from tests.conftest import Run
from tests.files import write

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = """import sys
print("train.py runs", file=sys.stderr)
from torch.utils.data import DataLoader
def make(): return DataLoader([1, 2, 3])
"""
MAKES = '[[loader]]\ncall = "train:make"\n'


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job with settings that name code, in a repository."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "preflight.toml").write_text(MAKES)
    return tmp_path


def below(folder: Path) -> Path:
    inner = folder / "runs" / "first"
    inner.mkdir(parents=True)
    (inner / "README.py").write_text("x = 1\n")
    return inner


def test_the_file_and_the_code_are_told_before_it_runs(job: Path, preflight: Run) -> None:
    done = preflight("run")
    said = f"preflight: {job}/preflight.toml makes this run: train:make;"

    assert done.returncode == 0, done
    assert done.stderr.index(said) < done.stderr.index("train.py runs")


def test_a_file_that_is_passed_over_is_told_where_nothing_else_is_named(
    job: Path, preflight: Run
) -> None:
    """It may be all that the user has to say."""
    inner = job / "other"
    (inner / ".git").mkdir(parents=True)

    done = preflight("run", cwd=inner)

    assert done.returncode == 2
    assert "nothing to look at was named" in done.stderr
    assert f"{job}/preflight.toml was not read: it lies outside of the repository" in done.stderr
    assert "was not read" not in preflight("run", "no-such-folder", cwd=inner).stderr


def test_the_interpreter_is_code_too(job: Path, preflight: Run) -> None:
    (job / "preflight.toml").write_text(f'[job]\npython = "./mine"\n{MAKES}')

    assert "makes this run: train:make, " in preflight("run").stderr
    assert "mine; " in preflight("run").stderr
    assert "mine; " in preflight("run", "train:make").stderr


def test_a_function_for_keys_is_code_too(job: Path, preflight: Run) -> None:
    (job / "cache").mkdir()
    (job / "preflight.toml").write_text('[[cache]]\npath = "cache"\nkey = "train:make"\n')

    assert "makes this run: train:make;" in preflight("run").stderr


def test_what_writes_a_cache_and_what_divides_it_are_code_too(job: Path, preflight: Run) -> None:
    """A word takes the split of a loader from the settings, and no writer of a cache."""
    (job / "cache").mkdir()
    write(job / "pictures" / "a.jpg", photo())
    (job / "train.py").write_text(f"{TRAIN}def mine(items, rank, ranks): return items\n")
    (job / "preflight.toml").write_text(
        '[[cache]]\npath = "cache"\nwriter = "train:save"\nsplit = "strided & train:mine"\n'
        '[[data]]\npath = "pictures"\ncaptions = "none"\nsplit = ["strided", "train:cut"]\n'
        f'{MAKES}split = "train:own"\n'
    )
    every = "train:make, train:save, train:mine, train:own, train:cut"

    for words, told in (((), every), (("cache=cache", "loader=train:make"), "train:own")):
        said = preflight("run", *words, "--select", "source").stderr
        assert f"preflight.toml makes this run: {told}; --no-config" in said


def test_what_was_typed_is_not_told(job: Path, preflight: Run) -> None:
    """It is the user's own wish; and settings without code run none."""
    assert "makes this run" not in preflight("run", "train:make").stderr
    (job / "preflight.toml").write_text('[[source]]\npath = "train.py"\n')

    assert preflight("run").stderr == ""


def test_settings_above_are_read_in_the_same_repository(job: Path) -> None:
    assert nearest(str(below(job))).file == str(job / "preflight.toml")


@pytest.mark.parametrize("repository", ["none", "of the folder", "in between"])
def test_settings_above_are_not_read_out_of_it(job: Path, repository: str) -> None:
    inner = below(job)
    (job / ".git").rmdir()
    if repository == "of the folder":
        (inner / ".git").mkdir()
    elif repository == "in between":  # as a submodule or a worktree has it
        (inner.parent / ".git").write_text("gitdir: elsewhere\n")
    found = nearest(str(inner))

    assert found.file is None
    assert found.passed == str(job / "preflight.toml")
    assert "outside of the repository" in found.reason


@pytest.mark.parametrize("table", ["preflight.toml", "pyproject.toml"])
def test_a_bare_run_runs_nothing_of_a_folder_above(job: Path, preflight: Run, table: str) -> None:
    (job / ".git").rmdir()
    names = [one.name for one in job.iterdir()]
    spaced = job / "a job"  # which a shell has to be told in quotes
    spaced.mkdir()
    for name in names:
        (job / name).rename(spaced / name)
    job, inner = spaced, below(spaced)
    if table == "pyproject.toml":
        (job / "preflight.toml").unlink()
        (job / table).write_text(MAKES.replace("[[", "[[tool.preflight."))
    done = preflight("run", cwd=inner)

    assert "train.py runs" not in done.stderr
    assert f"preflight: {job}/{table} was not read: it lies outside" in done.stderr
    program, *words = shlex.split(done.stderr.partition("to read it:  ")[2].splitlines()[0])
    assert [program, *words] == ["preflight", "run", "--config", f"{job}/{table}"]
    if table == "preflight.toml":
        assert "train.py runs" in preflight(*words, cwd=inner).stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may")
def test_settings_above_of_another_owner_are_not_read(job: Path) -> None:
    inner = below(job)
    os.chown(job / "preflight.toml", 12_345, -1)

    assert nearest(str(inner)).file is None
    assert "owner" in nearest(str(inner)).reason
    assert nearest(str(job)).file == str(job / "preflight.toml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may")
def test_an_owner_may_not_be_borrowed_by_a_link(job: Path) -> None:
    inner = below(job)
    (job / "preflight.toml").rename(job / "other.toml")
    (job / "preflight.toml").symlink_to("other.toml")
    os.chown(job / "preflight.toml", 12_345, -1, follow_symlinks=False)

    assert nearest(str(inner)).file is None


def test_no_config_reads_none(job: Path, preflight: Run) -> None:
    done = preflight("run", "--no-config")

    assert "train.py runs" not in done.stderr
    assert "makes this run" not in done.stderr
    assert "preflight.toml" not in preflight("run", "--no-config", cwd=below(job)).stderr


def test_to_name_settings_and_to_read_none_is_a_mistake(job: Path) -> None:
    with pytest.raises(UsageError, match="exclude each other"):
        preflight.run(folder=str(job), config=str(job / "preflight.toml"), no_config=True)
