"""Says whether this process may start a fresh worker, which imports its main module again."""

from __future__ import annotations

import ast
import linecache
import sys
from multiprocessing import process
from types import FrameType

from preflight.readers.guard import work_at_import
from preflight.readers.parsing import UnparsableError, parse_text
from preflight.readers.running import running

_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.ClassDef, ast.FunctionDef)


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
    line = _line_of_main(vars(main))
    if line is not None and _runs_at_import(text, line):
        return (
            f"the main module is not guarded: line {line} of {file} is not under "
            '`if __name__ == "__main__":`, and each worker would run it again'
        )
    work = work_at_import(text, file)
    if work is not None:
        return f"the main module is not guarded: {file}:{work.line} {work.what}"
    return None


def _line_of_main(variables: dict[str, object]) -> int | None:
    """Find the line of the main module that is being run; None where it is not at any."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001
    while frame is not None:
        if frame.f_globals is variables and frame.f_code.co_name == "<module>":
            return frame.f_lineno
        frame = frame.f_back
    return None


def _runs_at_import(text: str, line: int) -> bool:
    """Whether a line is one that an import of this code runs."""
    try:
        body = parse_text(text).tree.body
    except UnparsableError:
        return True
    return any(
        ran.node.lineno <= line <= (ran.node.end_lineno or ran.node.lineno)
        for ran in running(body)
        if not isinstance(ran.node, _COMPOUND)
    )
