"""What every test stands on: a clean environment, and commands run as a user runs them."""

from __future__ import annotations

import compileall
import contextlib
import functools
import gc
import importlib.metadata
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from preflight.ledger import store
from tests.warming import copies, start_copies

ROOT = Path(__file__).parents[1]

# Whatever a developer's shell, a scheduler or a launcher has set must not decide a test.
_SCRUBBED = (
    *("PREFLIGHT_", "SLURM_", "OMPI_", "PMI_", "PET_", "ACCELERATE_", "TORCHELASTIC_", "MASTER_"),
    "TRAINING_NUM_",
)
_SCRUBBED_NAMES = {
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "CUDA_VISIBLE_DEVICES"),
    *("NO_COLOR", "FORCE_COLOR", "COLUMNS", "VIRTUAL_ENV", "CONDA_PREFIX"),
}


def pytest_configure(config: pytest.Config) -> None:
    """Compile our sources once, as an installer does; keep what pytest makes; wait idly.

    Where a shell wants no byte code kept, each of the thousands of processes here would compile.
    """
    _begin_elsewhere(config)
    # By itself, a thread of torch that has nothing to do computes until it is given more.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    sys.dont_write_bytecode = False
    if "PYTEST_XDIST_WORKER" not in os.environ:
        for package in ("preflight", "checks"):
            compileall.compile_dir(ROOT / package, quiet=2)


def _begin_elsewhere(config: pytest.Config) -> None:
    """Have each process collect other files first, since one that comes later need not compile."""
    about = getattr(config, "workerinput", None)
    if about is not None and config.args == config.getini("testpaths"):
        files = sorted(map(str, (ROOT / "tests").rglob("test_*.py")))
        begin = len(files) * int(about["workerid"][2:]) // about["workercount"]
        config.args = files[begin:] + files[:begin]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Have no garbage collector walk over all tests, neither while they are collected nor later.

    What they consist of stays to the end, and a test that collects would look at all of it. Later
    it walks once for ten times as many objects as Python says, or tests would spend a tenth on it.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(7_000, 10, 10)
        gc.enable()


@pytest.hookimpl(tryfirst=True, specname="pytest_collection_modifyitems")
def _in_one_order(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Lay what was collected in one order, before it is shuffled: all processes must have that."""
    placed = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if placed:
        raise pytest.UsageError(f"cases that no two processes name alike: {placed[0]}")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what waits or is slow: at the end, one such test would be waited for by all.

    Each process begins with one part of all tests, of the same length. The first has those that
    wait, the others have the slow ones, a file in one of them: its tests share what they look at.
    """
    waits, slow = (
        {item.path for item in items if item.get_closest_marker(mark)} for mark in ("waits", "slow")
    )
    number = getattr(config, "workerinput", {}).get("workercount", 1)
    begins = dict.fromkeys(waits, 0)
    dealt = itertools.cycle(range(1, number) or [0])
    begins |= {
        path: next(dealt)
        for path in dict.fromkeys(one.path for one in items)
        if path in slow - waits
    }
    others = [item for item in items if item.path not in begins]
    found = []
    for part in range(number):
        first = [item for item in items if begins.get(item.path) == part]
        first.sort(key=lambda item: item.path not in waits)
        more = (len(items) - len(found)) // (number - part) - len(first)
        found += first + others[: max(more, 0)]
        del others[: max(more, 0)]
    items[:] = found


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run two tests more than there are processors: many wait for others to start or to end."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) + 2
    return (os.cpu_count() or 1) + 2


@pytest.fixture(autouse=True, scope="session")
def _what_is_installed_is_looked_at_once() -> Iterator[None]:
    """Each run asks all packages whether they bring checks, and looks at each file of ours."""
    ask = importlib.metadata.entry_points

    @functools.cache
    def once(_path: tuple[str, ...], /, **asked: str) -> Any:
        return ask(**asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            importlib.metadata, "entry_points", lambda **asked: once(tuple(sys.path), **asked)
        )
        patch.setattr(store, "readers_version", functools.cache(store.readers_version))
        yield


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(_SCRUBBED) or name in _SCRUBBED_NAMES:
            monkeypatch.delenv(name)
    # What `accelerate config` has once written in this user's home is no part of any test.
    monkeypatch.setenv("ACCELERATE_CONFIG_PATH", os.devnull)


@pytest.fixture(autouse=True)
def _nobody_listens_to_eval(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has noted of `eval` and `exec` goes with it: Python keeps the hook for good."""
    monkeypatch.setattr("preflight.objects.eval_code._listening", False)
    monkeypatch.setattr("preflight.objects.eval_code._noted", {})


@pytest.fixture
def at_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start processes of the test, and their workers, as copies of one that has imported torch.

    A test that is marked `fresh` starts them as a user does, since their imports are what it tests.
    """
    if request.node.get_closest_marker("fresh") is None:
        start_copies(monkeypatch)


@pytest.fixture(scope="module", name="copies")
def _copies() -> Iterator[None]:
    """Do so for all tests of a module, and for what they have in common."""
    with copies():
        yield


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def preflight(tmp_path: Path, at_hand: None) -> Iterator[Run]:
    """Run the command in a folder as a user does, in a process of its own."""

    def run(
        *words: str,
        env: dict[str, str] | None = None,
        **options: object,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", START, *words],
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            text=True,
            encoding="utf-8",
            errors="surrogateescape",
            timeout=120,
            check=False,
            **{"cwd": tmp_path, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},  # type: ignore[call-overload]
        )

    yield run


# As the installed script starts it: the current folder is not on the path.
START = (
    "import sys; sys.path[:1] == [''] and sys.path.pop(0); sys.argv[0] = 'preflight'; "
    "from preflight.__main__ import start; start()"
)


def said_by(code: str, *options: str, folder: Path = ROOT) -> str:
    """Run code in a Python of its own that knows ours, and give what it prints."""
    done = subprocess.run(
        [sys.executable, *options, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def on_a_terminal(folder: Path, *words: str) -> tuple[int, str, bytes]:
    """Run the command with a terminal as stderr; give exit code, stdout, and what was shown."""
    import pty

    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", START, *words]
    shown = b""
    with subprocess.Popen(command, cwd=folder, env=env, stdout=pipe, stderr=theirs) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # its last end is closed, as Linux says it
            while part := os.read(ours, 65_536):
                shown += part
        os.close(ours)
        page, _ = process.communicate(timeout=60)
    return process.returncode, page.decode(), shown
