"""Runs in the script's own process: becomes the script, as `python train.py` would, under watch."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from preflight.scripts.cpu_instead import lack_of, stand_in, wants_cpu
from preflight.scripts.elsewhere import folder_of, lay_over_disk
from preflight.scripts.facts import Ended, Raised
from preflight.scripts.failing import has_failed, tell_failure
from preflight.scripts.points import Point, Points
from preflight.scripts.surroundings.as_main import main_module
from preflight.scripts.surroundings.our_name import NameTakenError
from preflight.scripts.surroundings.standard_input import keep_what_is_read
from preflight.scripts.thread_stacks import write_when_asked
from preflight.scripts.watch import Stopped, Watch
from preflight.scripts.without_our_lines import leave_us_out
from preflight.users_code.facts import ASKED_FOR, Lack
from preflight.values.own_files import passes_on
from preflight.values.wire import to_brief

SUBJECTS = (
    *("met.loaders", "met.modes", "met.model_copies", "met.running_out", "cpu_instead"),
    *(
        "met.steps",
        "met.trainers",
        "met.parallel",
        "met.evaluated",
        "saving.save_points",
        "saving.hub",
    ),
    *("saving.hub", "saving.trackers", "saving.commands", "without_our_lines"),
)
"""Modules of this folder whose `POINTS` are wrapped."""

ASKED = "asked.json"
"""In the scratch folder: what is run, and how."""


def main(begun: Collection[str]) -> None:
    """Run the script that is asked for, and end as it ends.

    `begun` are the modules with which this process has begun, as any of Python's does.
    """
    scratch = sys.argv.pop(1)
    with open(os.path.join(scratch, ASKED), encoding="utf-8") as file:
        asked = json.load(file)
    script = asked["script"]
    watch = Watch(
        root=asked["options"]["root"],
        scratch=scratch,
        folder=folder_of(script),
        batches=asked["options"]["batches"],
        epochs=asked["options"]["epochs"],
        options=asked["options"],
    )
    try:
        code = _rehearsed(script, watch, asked, begun)
    except Exception as error:
        tell_failure(error, watch)
        raise
    raise SystemExit(code)


def _rehearsed(
    script: Mapping[str, Any], watch: Watch, asked: Mapping[str, Any], begun: Collection[str]
) -> object:
    lay_over_disk(watch, script)
    points = Points(_points(), watch)
    points.install()
    write_when_asked(watch.scratch)
    if script.get("stdin"):
        keep_what_is_read(watch.scratch)
    _hear_prints(watch)
    _hear_threads(watch)
    watch.tell(steps=0)  # by which it is known to have begun
    code = _run(script, watch, asked, begun)
    watch.over()
    return code


def _points() -> list[Point]:
    every = [importlib.import_module(f"preflight.scripts.{one}").POINTS for one in SUBJECTS]
    return [point for points in every for point in points]


def _run(
    script: Mapping[str, Any], watch: Watch, asked: Mapping[str, Any], begun: Collection[str]
) -> object:
    """Run it to its end, tell of that, and give what the process is to exit with."""
    with contextlib.ExitStack() as around:
        try:
            if wants_cpu(asked["options"]):
                stand_in(watch, around)
            if asked["options"].get("seeking"):
                steps = importlib.import_module("preflight.scripts.met.steps")
                around.enter_context(steps.sought(watch))
            main_module(script, begun)
        except Stopped:
            watch.tell(ended=to_brief(Ended(how="stopped")))
            return 0
        except SystemExit as error:
            watch.tell(ended=to_brief(_exited(error, watch)))
            return error.code
        except BaseException as error:  # noqa: BLE001  whatever the script raises
            if _is_stop(error, watch):
                watch.tell(ended=to_brief(Ended(how="stopped")))
                return 0
            if has_failed(error, watch):
                return 1
            watch.has_raised = True
            watch.tell(ended=to_brief(_raised_at_end(error, watch)))
            leave_us_out(error)
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
        watch.tell(ended=to_brief(Ended(how="returned", code=0, raised=left_for_want(watch))))
        return 0


def left_for_want(watch: Watch) -> Raised | None:
    """Say that it did nothing since there is no GPU, where it asks for one and goes on with it."""
    from preflight.users_code.asked_for_gpu import left_without_gpu
    from preflight.users_code.lacking import sees_gpu

    if watch.given or watch.steps or "torch" not in sys.modules or sees_gpu():
        return None
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        line = left_without_gpu(file) if file and watch.own.has(file) else None
        if line is not None:
            at = watch.own.frame(file, line, module.__name__)
            lack = Lack(kind="gpu", name=ASKED_FOR)
            return Raised(error="it ended before its first batch", frames=(at,), lacks=lack)
    return None


def _exited(error: SystemExit, watch: Watch) -> Ended:
    code = error.code if isinstance(error.code, int) else int(error.code is not None)
    if code and watch.left:
        watch.shortened(f"behind that, exit code {code}, which may come of it")
    if code and (watch.left or _is_stop(error, watch)):
        return Ended(how="stopped")
    left = None if watch.given or watch.steps else raised(error, watch)
    lacks = left is not None and left.lacks is not None and left.lacks.kind != "variable"
    return Ended(how="exited", code=code, raised=left if lacks else None)


def _is_stop(error: BaseException, watch: Watch) -> bool:
    """Whether it comes of an epoch that we have cut short, or of our stop.

    Each epoch ends: what fails in that which the script does then is its own, unless it says itself
    that it has expected no end.
    """
    one: BaseException | None = error
    is_handled = False
    for _ in range(_MOST_LINKS):
        if one is None:
            break
        if isinstance(one, Stopped):
            return True
        if getattr(one, "of_preflight", False):
            fails = is_handled and isinstance(one, StopIteration)
            return not fails or _says_so_itself(error, watch)
        is_handled = one.__cause__ is None
        one = one.__cause__ or one.__context__
    return False


# So many exceptions that came of each other are looked at.
_MOST_LINKS = 10


def _says_so_itself(error: BaseException, watch: Watch) -> bool:
    """Whether the script has a line for it: an exit, a `raise`, an `assert`."""
    own = watch.own.frames(traceback.extract_tb(error.__traceback__))[-1:]
    is_exit = isinstance(error, (SystemExit, AssertionError))
    return is_exit or any(one.text.startswith("raise") for one in own)


# What may come of a state that the script would have reached by its own loop, or of its counts.
_OF_STATE = (FileNotFoundError, NameError, IndexError, ZeroDivisionError, KeyboardInterrupt)


def _may_come_of_us(error: BaseException, told: Raised) -> bool:
    is_number = isinstance(error, KeyError) and not all(isinstance(one, str) for one in error.args)
    is_empty = any(one in told.error for one in ("NoneType", "empty"))
    return isinstance(error, _OF_STATE) or is_number or is_empty or told.lacks is not None


def _raised_at_end(error: BaseException, watch: Watch) -> Ended:
    """Tell of an exception; behind a loop that we have left, not of what may come of that."""
    told = raised(error, watch)
    if not watch.left:
        return Ended(how="raised", code=1, raised=told)
    if _may_come_of_us(error, told) or _says_so_itself(error, watch):
        watch.shortened(f"behind that, {type(error).__name__}, which may come of it")
        return Ended(how="stopped")
    return Ended(how="stopped", raised=replace(told, behind=True))


def raised(error: BaseException, watch: Watch, *, thread: str = "") -> Raised:
    """Say as facts what nothing in the script has caught."""
    from preflight.batches.tracebacks import in_worker
    from preflight.secrets.exception_text import hidden_of
    from preflight.users_code.frames import hidden_lines, said_by
    from preflight.users_code.lacking import lacking

    if isinstance(error, NameTakenError):
        return Raised(error=str(error), lacks=Lack(kind="name", name=error.name))
    frames = watch.own.frames(traceback.extract_tb(error.__traceback__))
    file = error.filename if isinstance(error, SyntaxError) else None
    if isinstance(error, SyntaxError) and file and watch.own.has(file):
        frames = (*frames, watch.own.frame(file, error.lineno or 1, "<module>"))
    said, of_worker = in_worker(error)
    return Raised(
        error=hidden_of(said or said_by(error), error),
        frames=(*hidden_lines(frames, error), *watch.own.frames(of_worker)),
        while_at=watch.while_at,
        thread=thread,
        lacks=lacking(error, (watch.root, os.getcwd(), watch.folder))
        or (lack_of(error) if watch.stood_in else None)
        or next(filter(None, (lack(error) for lack in watch.lacks)), None),
        told_by=watch.blamed.get(id(error), ""),
    )


def _hear_threads(watch: Watch) -> None:
    """Tell what threads in the background raise; what handles that by default goes on to do so."""
    import threading

    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value
        comes_of_us = error is None or watch.left or _is_stop(error, watch)
        if error is not None and watch.left:
            kind = type(error).__name__
            watch.shortened(f"behind that, {kind} in a thread, which may come of it")
        if error is not None and not (comes_of_us or has_failed(error, watch)):
            name = args.thread.name if args.thread is not None else ""
            watch.tell(thread=to_brief(raised(error, watch, thread=name or "?")))
            leave_us_out(error)
            trace = error.__traceback__
            before(threading.ExceptHookArgs((args.exc_type, error, trace, args.thread)))

    threading.excepthook = hook


def _hear_prints(watch: Watch) -> None:
    """Take what the script prints for a sign that it goes on."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        write = stream.write

        @passes_on
        def told(text: str, write: Any = write) -> int:
            watch.sign()
            written: int = write(text)
            return written

        with contextlib.suppress(AttributeError):
            stream.write = told  # type: ignore[method-assign]
