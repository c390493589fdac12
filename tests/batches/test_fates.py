"""The verdict on each of more than 60 loaders is what becomes of it in a plain script."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.finding import Finding
from preflight.findings.report import Report
from tests.warming import start_copies

HERE = Path(__file__).parent
FILES = ("cases.py", "epochs.py", "libraries.py", "streams.py", "plain.py")
CHECKS = ["loader-contract", "loader-end", "loader-stuck"]

# Those that hang come first, and wait side by side while the others run.
HANGING = (
    *(
        "hangs_in_getitem",
        "hangs_in_collate",
        "hangs_in_worker_init",
        "waits_for_lock_held_at_fork",
    ),
    *("cannot_send_batches", "loses_its_feeder", "loses_a_thread_beside"),
)
SINGLE = (
    *("worker_leaves", "worker_exits", "worker_is_killed", "process_leaves", "raises_in_worker"),
    *("raises_here", "has_no_iterator", "is_empty", "drops_all", "train_and_val"),
    *("sound", "without_workers", "persistent", "ends_after_one", "prints", "leaves_threads"),
    "only_samples",
)
WORDS = [
    *(f"cases:{name}" for name in HANGING),
    *("epochs:stops", "libraries:hangs_by_state"),
    *(
        f"{module}:{name}"
        for module in ("epochs", "libraries", "streams")
        for name in ("bad", "sound")
    ),
    *(f"cases:{name}" for name in SINGLE),
    "epochs:endless",
]

# What is said of each fate that is no good one, by any of its words.
SAYS = {
    "hangs": ("no batch for",),
    "died": ("ended by itself", "was killed by"),
    "empty": ("ends without a batch", "has 0 batches", "and none in its second"),
}

# A list of dicts in which one lacks a key, or batches of which a loop may ask what they are.
TIMEOUT = 12.0


class Fate(NamedTuple):
    """What became of a loader."""

    how: str
    epochs: list[int]


def lay(folder: Path) -> None:
    for name in FILES:
        shutil.copy(HERE / name, folder)
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for number in range(10):
                for end, data in (("txt", b"a caption"), ("cls", b"%d" % number)):
                    member = tarfile.TarInfo(f"{shard}{number:04}.{end}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))


def plainly(folder: Path, fates: dict[str, Fate]) -> None:
    """Note what becomes of each in a script that knows nothing of preflight."""
    done = subprocess.run(
        [sys.executable, "plain.py", *WORDS],
        cwd=folder,
        stdin=subprocess.PIPE,  # as what starts copies expects it
        capture_output=True,
        timeout=240,
        check=False,
    )
    for line in done.stdout.splitlines():
        said = json.loads(line)
        fates[said["key"]] = Fate(said["how"], said["epochs"])


@pytest.fixture(scope="module")
def met(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Fate], Report]:
    """Have all of them run by a script, and looked at by us, at the same time."""
    script, ours = (tmp_path_factory.mktemp(name) for name in ("script", "ours"))
    lay(script)
    lay(ours)
    fates: dict[str, Fate] = {}
    with pytest.MonkeyPatch.context() as patch:
        start_copies(patch)
        thread = threading.Thread(target=plainly, args=(script, fates))
        thread.start()
        report = preflight.run(
            *WORDS, folder=str(ours), select=CHECKS, timeout=TIMEOUT, jobs=len(HANGING) + 4
        )
        thread.join()
    return fates, report


def told_of(key: str, report: Report) -> list[Finding]:
    """Give the errors about a loader, or about one that it holds."""
    return [
        one
        for one in report.findings
        if one.severity.word == "error"
        and str(one.evidence.get("loader", one.at.name)).startswith(key)
    ]


def test_more_than_sixty_loaders_are_held_against_a_script(
    met: tuple[Mapping[str, Fate], Report],
) -> None:
    fates, report = met
    hows = {one.how.partition(" ")[0] for one in fates.values()}
    broken = [one for check in report.checks for one in check.broken]

    assert len(fates) > 90
    assert hows == {"ends", "raised", "hangs", "died", "empty"}
    assert broken == []
    print({f"{check.id} {one}" for check in report.checks for one in check.skipped})


def test_a_verdict_is_what_becomes_of_the_loader(met: tuple[Mapping[str, Fate], Report]) -> None:
    fates, report = met
    wrong = {}
    for key, fate in fates.items():
        said = [one.message for one in told_of(key, report)]
        how, _, error = fate.how.partition(" ")
        if how == "ends":
            agrees = not said
        elif how == "raised":
            agrees = len(said) == 1 and (error in said[0] or "gives a batch" in said[0])
        else:
            agrees = len(said) == 1 and any(words in said[0] for words in SAYS[how])
        if not agrees:
            wrong[key] = (fate, said)

    assert wrong == {}
