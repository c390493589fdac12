"""Says who has fixed how this process starts others: the user's sources, or whoever asked first."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from preflight.host.start_method import default_start_method
from preflight.sources.loader_calls import method_of
from preflight.syntax.parsing import UnparsableError, parse
from preflight.syntax.surroundings import called
from preflight.users_code.frames import own_sources
from preflight.values.names import name_of

_WORD = b"set_start_method"
_CALL = "multiprocessing.set_start_method"


def fixed_by(method: str, root: str) -> str:
    """Say what has fixed a start method, as far as that can be known.

    A use of the default context (tqdm makes a lock of it) fixes the platform's default, and nobody
    has called anything. Python does not keep who it was.
    """
    calls = [(place, given) for place, given in _calls(root) if given in (method, None)]
    sure = [place for place, given in calls if given == method]
    if sure:
        return f"a call of {_CALL}, {sure[0]}"
    if calls:
        return f"most likely the call of {_CALL}, {calls[0][0]}"
    usual, why = default_start_method()
    if method == usual:
        return f"{why}, which is already fixed in this process"
    return f"a call of {_CALL}, which is not in the sources of the job"


def _calls(root: str) -> Iterator[tuple[str, str | None]]:
    """Give the calls in modules of the job that are imported, with the method where it is said."""
    for file in own_sources(root):
        try:
            with open(file, "rb") as source:
                content = source.read()
            nodes = ast.walk(parse(content).tree) if _WORD in content else ()
        except (OSError, UnparsableError):
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and called(node) == _WORD.decode():
                yield f"{name_of(file, root)}:{node.lineno}", method_of(node)
