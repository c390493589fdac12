"""Runs in the script's own process: becomes the script, as `python train.py` would, under watch."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Collection, Mapping
from typing import Any

from preflight.findings.our_failures import is_failure
from preflight.objects import eval_code
from preflight.scripts.cpu_instead import stand_in, wants_cpu
from preflight.scripts.elsewhere import folder_of, lay_over_disk
from preflight.scripts.facts import Ended, Raised
from preflight.scripts.failing import ended_by, has_failed, is_stop, raised, tell_failure
from preflight.scripts.points import Point, Points
from preflight.scripts.surroundings.as_main import main_module
from preflight.scripts.surroundings.standard_input import keep_what_is_read
from preflight.scripts.thread_stacks import write_when_asked
from preflight.scripts.watch import Watch
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
    *("started.rank_starts", "saving.trackers", "started.commands", "without_our_lines"),
)
"""Modules of this folder whose `POINTS` are wrapped."""

ASKED = "asked.json"
"""In the scratch folder: what is run, and how."""


def boot_of(module: str) -> str:
    """Give what an interpreter runs to begin with a module of ours, behind it our folder.

    As in our other processes, our folder is on the path only while we are imported.
    """
    return (
        "import os, sys; begun = {*sys.modules}; sys.path[:1] == [''] and sys.path.pop(0); "
        "home = sys.argv.pop(1); sys.path[:0] = [os.path.dirname(os.__file__), home]; "
        f"import {module}; del sys.path[:2]; {module}.main(begun)"
    )


BOOT = boot_of("preflight.scripts.inside")
"""What an interpreter runs to watch a script, with our folder and a scratch folder behind it."""


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
    except (Exception, SystemExit) as error:
        if is_failure(error):
            tell_failure(error, watch)
        raise
    raise SystemExit(code)


def _rehearsed(
    script: Mapping[str, Any], watch: Watch, asked: Mapping[str, Any], begun: Collection[str]
) -> object:
    lay_over_disk(watch, script)
    listen(watch, watch.scratch)
    if script.get("stdin"):
        keep_what_is_read(watch.scratch, script["stdin"])
    watch.tell(steps=0)  # by which it is known to have begun
    code = _run(script, watch, asked, begun)
    watch.over()
    return code


def listen(watch: Watch, home: str) -> None:
    """Hear of what this process does; where it stands is written to a folder when asked."""
    eval_code.listen()
    Points(_points(), watch).install()
    write_when_asked(home)
    _hear_prints(watch)
    _hear_threads(watch)


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
        except BaseException as error:  # noqa: BLE001  whatever the script raises
            ended = ended_by(error, watch)
            if ended is not None:
                watch.tell(ended=to_brief(ended), when=time.time())
            if isinstance(error, SystemExit):
                return error.code
            if ended is not None and not watch.has_raised:
                return 0
            if ended is not None:
                leave_us_out(error)
                sys.excepthook(type(error), error, error.__traceback__)
            return 1
        watch.tell(ended=to_brief(Ended(how="returned", code=0, raised=left_for_want(watch))))
        return 0


def left_for_want(watch: Watch) -> Raised | None:
    """Say that it did nothing since there is no GPU, where it asks for one and goes on with it."""
    if watch.given or watch.steps or "torch" not in sys.modules:
        return None
    from preflight.users_code.gpu_here import sees_gpu
    from preflight.users_code.lacks.asked_for_gpu import left_without_gpu

    if sees_gpu():
        return None
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        line = left_without_gpu(file) if file and watch.own.has(file) else None
        if line is not None:
            at = watch.own.frame(file, line, module.__name__)
            lack = Lack(kind="gpu", name=ASKED_FOR)
            return Raised(error="it ended before its first batch", frames=(at,), lacks=lack)
    return None


def _hear_threads(watch: Watch) -> None:
    """Tell what threads in the background raise; what handles that by default goes on to do so."""
    import threading

    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value
        comes_of_us = error is None or watch.left or is_stop(error, watch)
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
