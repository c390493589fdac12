"""Scripts of fixtures/scripts, rehearsed, and run plainly to hold that against."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.kinds.asked import Asked
from preflight.scripts.facts import Rehearsal
from preflight.scripts.points import Point, Points
from preflight.scripts.saving.again import look
from preflight.scripts.watch import Watch
from preflight.settings.job import Job
from preflight.settings.to_child import told_of
from preflight.testing import ask
from preflight.training.facts import Steps
from tests.conftest import ROOT
from tests.warming import OPTIMIZERS, TRAINERS, copies

SCRIPTS = ROOT / "fixtures" / "scripts"


class Seen(NamedTuple):
    """What a rehearsal came to."""

    rehearsal: Rehearsal
    steps: Steps
    found: list[Finding]
    """By all checks that are over these two."""

    @property
    def told(self) -> list[str]:
        """Each finding in short: `error script-eval train.py:40`."""
        return [
            f"{one.severity.name.lower()} {one.check} {one.at.file}:{one.at.line}"
            for one in self.found
        ]


def planted(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """Copy a script into a folder, with some of its text replaced."""
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# As torchrun starts one process.
_LAUNCHED = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "0",
}

_TRAINERS = r"^(import|from) (transformers|pytorch_lightning|peft)\b"
_NEEDS = {"huggingface_trainer.py": "transformers", "lora_peft.py": "peft"}


def prepared(
    folder: Path, script: str, patch: pytest.MonkeyPatch, *changes: tuple[str, str]
) -> Path:
    """Copy a script with its changes, beside what it reads, and set what its launcher would."""
    if script in _NEEDS:
        pytest.importorskip(_NEEDS[script])
    if script == "webdataset_torchrun.py":
        for name, value in _LAUNCHED.items():
            patch.setenv(name, value)
        (folder / "shards").mkdir()
        for name in ("train-0", "train-1", "val-0"):
            with tarfile.open(folder / "shards" / f"{name}.tar", "w") as shard:
                for number in range(12):
                    cls = str(number % 2).encode()
                    for suffix, content in (("bin", bytes([number, 1, 2, 3])), ("cls", cls)):
                        member = tarfile.TarInfo(f"{name}-{number:03}.{suffix}")
                        member.size = len(content)
                        shard.addfile(member, io.BytesIO(content))
    return planted(folder, script, *changes)


def contents(folder: Path) -> dict[str, str]:
    """Give a hash of each file, but for our own."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and ".preflight" not in path.parts
    }


def line_of(path: Path, text: str) -> int:
    """Say in which line of a script a text stands, which it has once."""
    (line,) = [n for n, own in enumerate(path.read_text().splitlines(), 1) if text in own]
    return line


def known_to(path: Path) -> tuple[str, ...]:
    """Say what a process has imported of which that of a script is a copy."""
    text = path.read_text(encoding="utf-8")
    return TRAINERS if re.search(_TRAINERS, text, re.MULTILINE) else OPTIMIZERS


def rehearse(
    path: Path, *args: str, wants: Sequence[str] = ("SavedState",), **options: object
) -> Seen:
    """Run a script in short as a reader does, in a copy of a process that has torch."""
    folder = str(path.parent)
    scratch = path.parent.parent / f"{path.parent.name}-scratch"
    scratch.mkdir()
    wire = {"path": path.name, "module": None, "args": list(args), "folder": None, "name": None}
    early: list[object] = []
    asked = Asked(
        wire={**wire, "scratch": str(scratch)},
        options={**told_of(Job(root=folder)), **options, "wants": list(wants)},
        alive=lambda *_: None,
        step=lambda _: contextlib.nullcontext(),
        opening=lambda _: None,
        some=lambda one, _: early.append(one),
        memory=0,
    )
    with copies(known_to(path)) as patch:
        patch.chdir(folder)
        patch.setenv("OMP_NUM_THREADS", "1")
        facts = [*look(asked), *early]
    found = [
        finding
        for each in facts
        for name, check in registry.built_in().items()
        if isinstance(each, check.over) and not (check.skip and check.skip(each, Job()))
        for finding in ask(name, each)
    ]
    rehearsal = next(one for one in facts if isinstance(one, Rehearsal))
    steps = [one for one in facts if isinstance(one, Steps)]
    assert steps, rehearsal
    return Seen(rehearsal, steps[0], found)


@contextlib.contextmanager
def installed(points: Iterable[Point], folder: Path) -> Iterator[Watch]:
    """Have some points watched in this process for a while."""
    watch = Watch(
        root=str(folder),
        scratch=str(folder),
        folder=str(folder),
        batches=2,
        epochs=2,
        options={**told_of(Job(root=str(folder))), "wants": ()},
    )
    watched = Points(points, watch)
    watched.install()
    try:
        yield watch
    finally:
        watched.remove()


def run_plainly(
    path: Path, *args: str, limit: float = 200.0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a script as `python train.py` does, to its end, in a copy of a process that has torch."""
    with copies(known_to(path)):
        return subprocess.run(
            [sys.executable, path.name, *args],
            cwd=path.parent,
            env={**os.environ, "OMP_NUM_THREADS": "1", **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )


def dies_at(plain: subprocess.CompletedProcess[str], path: Path) -> int:
    """Say at which of its own lines a plain run of a script ended."""
    assert plain.returncode == 1, plain.stderr
    return int(re.findall(rf'{re.escape(path.name)}", line (\d+)', plain.stderr)[-1])
