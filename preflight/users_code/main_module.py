"""Says whether this process may start a fresh worker, which imports its main module again."""

from __future__ import annotations

import ast
import linecache
import sys
import threading
from multiprocessing import process
from types import FrameType

from preflight.sources.unguarded import work_at_import
from preflight.syntax.parsing import UnparsableError, parse_text
from preflight.syntax.running import Ran, running, truth


def why_no_worker() -> str | None:
    """Say why a worker must not be started from here; None where it may.

    A spawned worker imports the main module. What that runs outside `if __name__ == "__main__":`
    would run there as well, the line that asks us among it.
    """
    me = process.current_process()
    if getattr(me, "_inheriting", False):
        return "this process is being started as a worker itself, by a main module without a guard"
    if me.daemon:
        return "this process is a worker itself, and a daemon starts no processes"
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if main is None or not isinstance(file, str) or file.endswith("ipython"):
        return None  # nothing is imported again: a notebook, a prompt, `python -c`
    text = "".join(linecache.getlines(file))
    for line in _lines_of_main(vars(main)):
        if _runs_at_import(text, line):
            return (
                f"the main module is not guarded: line {line} of {file} is not under "
                '`if __name__ == "__main__":`, and each worker would run it again'
            )
    work = work_at_import(text, file)
    if work is not None:
        return f"the main module is not guarded: {file}:{work.line} {work.what}"
    return None


def _lines_of_main(variables: dict[str, object]) -> list[int]:
    """Give the lines of the main module that are being run, by this thread and by the main one."""
    begins: list[FrameType | None] = [sys._getframe(1)]  # noqa: SLF001
    main = threading.main_thread()
    if main is not threading.current_thread() and main.ident is not None:
        begins.append(sys._current_frames().get(main.ident))  # noqa: SLF001
    # None of them is this call's own, which would keep itself, and all that stands around it.
    lines = []
    for frame in begins:
        while frame is not None:
            if frame.f_globals is variables and frame.f_code.co_name == "<module>":
                lines.append(frame.f_lineno)
            frame = frame.f_back  # noqa: PLW2901
    return lines


def _runs_at_import(text: str, line: int) -> bool:
    """Whether a line is one that an import of this code runs."""
    try:
        body = parse_text(text).tree.body
    except UnparsableError:
        return True
    return any(first <= line <= last for first, last in map(_run_lines, running(body)))


def _run_lines(ran: Ran) -> tuple[int, int]:
    """Give the lines that run with a statement itself: of one that holds others, its head."""
    node = ran.node
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return ran.line, node.end_lineno or node.lineno
    if isinstance(node, (ast.If, ast.While)) and truth(node.test) is False:
        return 1, 0  # a guard: nothing of it runs
    return ran.line, max(node.lineno, body[0].lineno - 1)
