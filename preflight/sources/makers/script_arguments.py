"""Says which arguments a script does not start without, as far as it says so itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.running import last_name, text_of
from preflight.values.small_files import OddFileError, read_small

# Of argparse, click and typer.
_OPTIONS = frozenset({"add_argument", "option", "argument"})

# With these, an argument that has a place may be left out.
_MAY_LACK = frozenset({"?", "*", "REMAINDER", "SUPPRESS"})


def needed_by(script: str) -> tuple[str, ...]:
    """Name the arguments that its parser asks for: `data_dir`, `--lr`."""
    try:
        content = read_small(script)
        is_likely = any(one.encode() in content for one in _OPTIONS)
        tree = parse(content).tree if is_likely else None
    except (OSError, OddFileError, UnparsableError):
        return ()
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call)] if tree else []
    each = (one for one in calls if last_name(one.func) in _OPTIONS)
    return tuple(dict.fromkeys(name for one in each for name in _needed(one)))


def _needed(call: ast.Call) -> Iterator[str]:
    said = {one.arg: one.value for one in call.keywords}
    names = [text for text in map(text_of, call.args) if text]
    if not names or None in said:
        return
    required, nargs = said.get("required"), said.get("nargs")
    if names[0].startswith("-"):
        if isinstance(required, ast.Constant) and required.value is True:
            yield max(names, key=len)
        return
    if last_name(call.func) == "option":
        return
    of_click = last_name(call.func) == "argument"
    may_lack = of_click and ("default" in said or required is not None or nargs is not None)
    if not may_lack and (nargs is None or (text_of(nargs) or last_name(nargs)) not in _MAY_LACK):
        yield names[0]
