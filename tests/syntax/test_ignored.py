"""What git ignores is no source of the job, and git is never let run a command of the folder."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import preflight
from preflight.syntax import source_files
from preflight.syntax.source_files import python_files
from tests.archives import tarred
from tests.files import put

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="no git here"),
    pytest.mark.usefixtures("at_hand"),
]


def git(folder: Path, *words: str) -> None:
    subprocess.run(("git", "-C", str(folder), *words), check=True, capture_output=True)


def sources(folder: Path) -> list[str]:
    return [os.path.relpath(one, folder).replace(os.sep, "/") for one in python_files(str(folder))]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for name in ("train.py", "build/lib/train.py", "old/train.py", "old/kept.py", "data/x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import os\n", "utf-8")
    (tmp_path / ".gitignore").write_text("build/\nold/*\n!old/kept.py\n", "utf-8")
    return tmp_path


def test_what_git_ignores_is_left_out(repository: Path) -> None:
    assert sources(repository) == ["train.py", "data/x.py", "old/kept.py"]


def test_what_git_keeps_track_of_is_read_though_a_rule_names_it(repository: Path) -> None:
    git(repository, "add", "--force", "old/train.py")

    assert "old/train.py" in sources(repository)


def test_a_folder_within_a_repository_goes_by_the_rules_above_it(repository: Path) -> None:
    assert sources(repository / "old") == ["kept.py"]


def test_a_folder_that_is_ignored_as_a_whole_is_read_where_it_is_named(repository: Path) -> None:
    assert sources(repository / "build") == ["lib/train.py"]


def test_a_repository_of_dot_files_around_all_takes_nothing_away(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / ".gitignore").write_text("*\n", "utf-8")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "train.py").touch()

    assert sources(tmp_path / "job") == ["train.py"]


def test_without_a_repository_rules_mean_nothing(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.py\n", "utf-8")
    (tmp_path / "train.py").touch()

    assert sources(tmp_path) == ["train.py"]


def test_in_a_hook_of_git_the_folder_goes_by_its_own_repository(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Git says there which repository, and which index, the hook is about."""
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    assert "build/lib/train.py" not in sources(repository)


def test_without_git_all_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))

    assert "build/lib/train.py" in sources(repository)


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
def test_no_command_that_the_repository_names_is_run(repository: Path) -> None:
    spy = repository / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch '{repository}/was-run'\n", "utf-8")
    spy.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(spy))

    assert "build/lib/train.py" not in sources(repository)
    assert not (repository / "was-run").exists()
    git(repository, "status")
    assert (repository / "was-run").exists()  # so that it would have been seen


# --- what a page says of them ---------------------------------------------------------------------


def said_of(folder: Path, *words: str) -> list[str]:
    report = preflight.run(*words, folder=str(folder), elsewhere=True, no_ledger=True)
    assert (report.verdict, report.complete) == ("go", True)
    return [one for one in report.reasons if "git ignores" in one]


def test_sources_that_git_ignores_are_counted_with_the_words_that_have_them_read(
    repository: Path,
) -> None:
    """And a GO stays one, since they are mostly copies and builds."""
    for name in ("venv/pyvenv.cfg", "venv/lib/a.py", "build/setup.py", "data/.cache/b.py"):
        put(repository, name)
    (repository / ".gitignore").write_text("build/\nold/*\n!old/kept.py\nvenv\n.cache\n", "utf-8")
    put(repository, "shards/0.tar", content=tarred({"a.txt": b"a"}))

    (said,) = said_of(repository)

    assert said == (
        "2 .py files that git ignores were not read; to have them read, name "
        "source=build source=old/train.py."
    )
    assert said_of(repository, ".") == said_of(repository, "shards", "source=.") == [said]
    words = shlex.split(said.partition(", name ")[2].rstrip("."))
    assert said_of(repository, "shards", "source=.", *words) == []
    assert said_of(repository, "shards", "source=.", words[0]) == [
        "1 .py file that git ignores was not read; to have it read, name source=old/train.py."
    ]


def test_nothing_is_said_of_git_where_it_ignores_no_source(repository: Path) -> None:
    put(repository, "shards/0.tar", content=tarred({"a.txt": b"a"}))
    put(repository, "out/log.txt")
    (repository / ".gitignore").write_text("out/\n", "utf-8")

    assert said_of(repository) == said_of(repository, "shards") == []
    assert said_of(repository, "shards", "source=train.py") == []


def test_an_ignored_folder_of_very_many_files_is_counted_in_part(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "_MOST_IGNORED", 5)
    put(repository, *(f"build/{number}.py" for number in range(20)))
    put(repository, "shards/0.tar", content=tarred({"a.txt": b"a"}))

    (said,) = said_of(repository)

    assert said.startswith("at least ")
