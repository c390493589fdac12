"""Kills real processes at every line of the code that moves files, and looks what is left.

Run in a process of its own, which forks: each copy is killed by SIGKILL one line later than the one
before it, until one comes to its end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from preflight.quarantine import manifest, moving
from preflight.quarantine.away import move_away
from preflight.quarantine.back import bring_back, settle
from preflight.quarantine.moving import identity_of
from preflight.quarantine.quarantined import QuarantineRow, State

_ROOM = os.path.dirname(moving.__file__)

FILES = {"photos/a.jpg": b"half of a picture" * 9_000, "cache/c.pt": b""}
LINK = "photos/link.jpg"


def build(root: Path) -> None:
    """Write the files, in a folder where nothing of an earlier step is left."""
    shutil.rmtree(root, ignore_errors=True)
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    (root / LINK).symlink_to("../target.jpg")


def rows(root: Path, *, copies: bool) -> list[QuarantineRow]:
    """List those of the files that lie in their places."""
    listed = []
    for name in (*FILES, LINK):
        with contextlib.suppress(FileNotFoundError):  # another process may move it just now
            identity = identity_of(str(root / name))
            listed.append(
                QuarantineRow(
                    file=name,
                    path=str(root / name),
                    state=State.LISTED,
                    identity=identity,
                    copies=copies,
                )
            )
    return listed


def away(root: Path, state: Path, *, copies: bool) -> tuple[QuarantineRow, ...]:
    return move_away(
        rows(root, copies=copies), root=str(root), state=str(state), report="some run"
    )[0]


def back(root: Path, state: Path) -> list[QuarantineRow]:
    """Bring back all that lies in any quarantine."""
    folders = manifest.quarantines(str(state))
    rows = [*bring_back(folders, root=str(root), copy=False, may=lambda _: True)]
    for one in folders:
        settle(one, root=str(root))
    return rows


def holds(path: Path | str, name: str) -> bool:
    """Whether the whole file lies there; nothing may lie there that is not whole.

    Raises:
        AssertionError: a part of it, or something else, lies there.
    """
    if not os.path.lexists(path):
        return False
    if name == LINK:
        assert os.readlink(path) == "../target.jpg"
    else:
        with open(path, "rb") as file:
            assert file.read() == FILES[name], f"{path} is not whole"
    return True


def places(root: Path, state: Path, name: str) -> int:
    """Say in how many places a file lies whole."""
    held = [os.path.join(one, "files", name) for one in manifest.quarantines(str(state))]
    return sum(holds(path, name) for path in (root / name, *held))


def killed_at(line: int, work: Callable[[], Any]) -> bool:
    """Do the work in a copy of this process, killed at that line of it; false: it has ended."""
    if not (child := os.fork()):
        left = line

        def trace(frame: FrameType, event: str, _: object) -> Any:
            nonlocal left
            if not frame.f_code.co_filename.startswith(_ROOM):
                return None
            left -= event == "line"
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return trace

        sys.settrace(trace)
        try:
            work()
        except BaseException:  # noqa: BLE001
            sys.settrace(None)
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed"
    return os.WIFSIGNALED(status)


def at_every_line(root: Path, state: Path, *, copies: bool, both: bool, restores: bool) -> int:
    """Kill at every line, each time with the files built anew; give how many lines there were."""
    line, states = 0, state
    while True:
        line += 1
        build(root)
        state = states / f"{line}"
        if restores:
            away(root, state, copies=copies)
            was_killed = killed_at(line, partial(back, root, state))
        else:
            was_killed = killed_at(line, partial(away, root, state, copies=copies))
        for name in (*FILES, LINK):
            number = places(root, state, name)
            assert number == 1 or (both and number == 2), f"line {line}: {name} in {number}"
        if not was_killed:
            return line
        if line % 2:  # or go on with moving, and then bring back
            away(root, state, copies=copies)
        back(root, state)
        for name in (*FILES, LINK):
            assert holds(root / name, name), f"line {line}: {name} did not come back"
            assert places(root, state, name) == 1, f"line {line}: {name} is there twice"
        parts = [*state.rglob("*.part")]
        assert not parts, f"line {line}: {parts}"
        rest = [one.name for one in (root / "photos").iterdir()]
        assert sorted(rest) == ["a.jpg", "link.jpg"], f"line {line}: {rest}"


def at_once(
    root: Path, state: Path, *, copies: bool, both: bool, processes: int = 4, rounds: int = 12
) -> None:
    """Have several processes move the same files at once, and then bring them back at once."""
    states = state
    for turn in range(rounds):
        build(root)
        state = states / f"{turn}"
        works = (partial(away, root, state, copies=copies), partial(back, root, state))
        for work in works:
            _together(work, processes)
            for name in (*FILES, LINK):
                number = places(root, state, name)
                assert number == 1 or (both and number > 1), f"{name} in {number}"
        while any(one.state is State.RESTORED for one in back(root, state)):
            pass
        for name in (*FILES, LINK):
            assert holds(root / name, name), f"{name} did not come back"
            assert places(root, state, name) == 1, f"{name} is there twice"


def _together(work: Callable[[], Any], processes: int) -> None:
    """Do it in several processes that begin when the last of them is ready."""
    begin, go = os.pipe()
    children = []
    for _ in range(processes):
        if not (child := os.fork()):
            os.close(go)
            os.read(begin, 1)
            try:
                work()
            except BaseException:  # noqa: BLE001
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
                os._exit(1)
            os._exit(0)
        children.append(child)
    os.close(go)
    os.close(begin)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * processes, codes


def without_waiting_for_disks() -> None:
    """Store nothing for good: what a process has written outlives its death in any case."""
    os.fsync = lambda _: None  # type: ignore[assignment]


def without_the_one_step() -> None:
    """Stand for a system that has no rename which never replaces."""
    moving._exclusive_rename = lambda: None  # type: ignore[assignment]
