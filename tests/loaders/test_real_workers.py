"""What is said of a loader is what happens when its workers are really spawned.

The cases lie in cases/, a function or a lambda each. oracle.py starts them in earnest; preflight
looks at the same ones; each verdict has to be the same, for what is sound as for what is not.
"""

from __future__ import annotations

import ast
import contextlib
import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from multiprocessing import shared_memory
from pathlib import Path

import pytest

import preflight
from preflight.findings import registry
from preflight.findings.finding import Severity
from preflight.findings.report import Report
from tests.warming import start_copies

HERE = Path(__file__).parent
IDS = ["loader-unpicklable", "loader-unloadable"]
SPAWNED = {"start_method": "spawn"}

# Processes that each module's cases are shared out to: a start costs seconds, a refusal nothing.
GROUPS = {
    "sound_loaders": 1,
    "sound_values": 1,
    "unloadable": 3,
    "unsendable": 1,
    "unsendable_things": 1,
    "varying": 1,
}

# What a module's cases are there for; a case that does something else tests nothing.
EXPECTED = {
    "sound_loaders": "started",
    "sound_values": "started",
    "unloadable": "died",
    "unsendable": "refused",
    "unsendable_things": "refused",
}


# Cases of packages that need not be installed.
NEEDS = {"unsendable_things:hdf5_file": "h5py", "unsendable_things:lmdb_environment": "lmdb"}


def words_of(module: str) -> list[str]:
    """Name the cases of a module, without importing it."""
    tree = ast.parse((HERE / "cases" / f"{module}.py").read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "CASES":
            names += (ast.literal_eval(key) for key in node.value.keys)
    words = [f"{module}:{name}" for name in names if not name.startswith("_")]
    return [word for word in words if word not in NEEDS or find_spec(NEEDS[word])]


def start_all(folder: Path, words: list[str]) -> subprocess.Popen[str]:
    """Start loaders in a process that knows nothing of us."""
    with (folder / "oracle.err").open("w", encoding="utf-8") as errors:
        return subprocess.Popen(
            [sys.executable, str(HERE / "oracle.py"), *words],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            encoding="utf-8", errors="replace",
        )  # fmt: skip


def heard(started: subprocess.Popen[str], folder: Path) -> dict[str, dict[str, str]]:
    """Wait for what became of each, and the error."""
    said, _ = started.communicate(timeout=250)
    assert started.returncode == 0, (folder / "oracle.err").read_text(encoding="utf-8")[-3000:]
    answers = [line.partition("ORACLE ")[2] for line in said.splitlines() if "ORACLE {" in line]
    return {one["case"]: one for one in map(json.loads, answers)}


def look(words: list[str], folder: Path) -> dict[str, list[str]]:
    """Ask both checks, and give what stops each loader, as what was raised.

    What the quick one calls broken is broken, whatever the one that starts workers would say.
    """
    refused: dict[str, list[str]] = {}
    if not words[0].startswith(("sound", "unloadable")):
        refused = errors_found(preflight.run(*words, folder=str(folder), select=IDS[:1], **SPAWNED))
    rest = [word for word in words if word not in refused]
    if not rest:
        return refused
    return refused | errors_found(preflight.run(*rest, folder=str(folder), select=IDS, **SPAWNED))


def errors_found(report: Report) -> dict[str, list[str]]:
    """Give each loader's findings that stop it, as what was raised."""
    assert {one.id: one.broken for one in report.checks if one.broken} == {}
    found: dict[str, list[str]] = {}
    for one in report.findings:
        if (
            one.check == "shard-missing"
        ):  # asked whatever is selected; the job would end at it later
            continue
        assert one.check in IDS, one
        if one.severity is Severity.ERROR:
            found.setdefault(str(one.evidence["loader"]), []).append(str(one.evidence["error"]))
    return found


def free_shared_memory(folder: Path) -> None:
    """Free what a case has made: in a process that is ended, nobody else does."""
    note = folder / "shared.txt"
    if note.exists():
        with contextlib.suppress(FileNotFoundError):
            memory = shared_memory.SharedMemory(note.read_text(encoding="utf-8"))
            memory.close()
            memory.unlink()


def both(words: list[str], folder: Path) -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """Start loaders in earnest, and look at them at the same time."""
    real_folder, our_folder = folder / "real", folder / "ours"
    for place in (real_folder, our_folder):
        shutil.copytree(HERE / "cases", place, ignore=shutil.ignore_patterns("__pycache__"))
    started = start_all(real_folder, words)
    try:
        ours = look(words, our_folder)
        real = heard(started, real_folder)
    finally:
        started.kill()
        started.wait()
        free_shared_memory(our_folder)
    assert sorted(real) == sorted(words)
    return real, ours


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "part"),
    [
        pytest.param(module, part, id=f"{module}-{part + 1}")
        for module, parts in GROUPS.items()
        for part in range(parts)
    ],
)
def test_the_verdict_is_what_really_happens(
    module: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each loader, down to the type of the error where pickle refuses it."""
    words = words_of(module)[part :: GROUPS[module]]
    # The memory of a copy is where ours was: there, a lock that Python 3.10 sends does work.
    if module != "varying" or sys.version_info >= (3, 11):
        start_copies(monkeypatch)

    real, ours = both(words, tmp_path)

    assert {word: word in ours for word in words} == {
        word: real[word]["outcome"] != "started" for word in words
    }
    for word, one in real.items():
        if one["outcome"] == "refused":
            kinds = {error.partition(":")[0].rpartition(".")[2] for error in ours[word]}
            assert one["error"].partition(":")[0] in kinds, word
    if module in EXPECTED:
        outcomes = {word: one["outcome"] for word, one in real.items()}
        assert outcomes == dict.fromkeys(words, EXPECTED[module])


def test_the_cases_are_many() -> None:
    words = [word for module in GROUPS for word in words_of(module)]

    assert len(set(words)) == len(words)
    assert len(words) >= 160
    assert set(IDS) <= set(registry.built_in())
