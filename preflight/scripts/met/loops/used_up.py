"""Loops over batches that give none from the second epoch on: what they go over was used up.

A script that came to its end by itself has gone through all of its epochs; where it has trained in
the first of them alone, by a loop over one iterator, the others were over at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any, NamedTuple

from preflight.objects.facts import Definition
from preflight.scripts.met.lines.counted import at_work, held, parsed
from preflight.scripts.watch import Watch
from preflight.users_code.facts import Frame

# What ends a loop before its time; of calls, by their names.
_LEAVES = (ast.Break, ast.Return, ast.Raise, ast.Continue)
_EXITS = ("exit", "_exit", "abort")


class _Epochs(NamedTuple):
    code: CodeType
    counter: ast.expr
    first: int
    lines: range
    at: Frame


class UsedUp:
    """In which epochs of its loop a script trains."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._loop: _Epochs | None = None
        self._is_known = False
        self._trained: set[Any] = set()
        watch.on_stop.append(self._tell)

    def stepped(self) -> None:
        """Note the epoch in which gradients are computed."""
        frames = [*self._watch.frames()]
        if not self._is_known:
            self._is_known, self._loop = True, _epochs(frames, self._watch)
        loop = self._loop
        if loop is not None:
            frame = next((one for one in frames if one.f_code is loop.code), None)
            self._trained.add(None if frame is None else held(loop.counter, frame))

    def _tell(self) -> None:
        watch, loop = self._watch, self._loop
        is_cut = watch.is_stopped or watch.left or watch.has_raised
        if loop is None or is_cut or self._trained != {loop.first}:
            return
        if any(code is loop.code and line in loop.lines for code, line in watch.exited_at):
            return
        if watch.options.get("resuming") or not watch.wants("WholePass"):
            return
        from preflight.batches.pass_facts import Epoch, WholePass

        at = loop.at
        place = Definition(file=at.file, line=at.line, line_text=at.text, qualname=at.function)
        epochs = Epoch(batches=0), Epoch(batches=0)
        name = f"loop ({at.file}:{at.line})"
        watch.gave(WholePass(name=name, defined=place, epochs=epochs))


def _epochs(frames: Sequence[FrameType], watch: Watch) -> _Epochs | None:
    """Give the loop over epochs around one over an iterator, of which nothing leaves anything."""
    loops = [(frame, one) for frame in frames for one in [*at_work(frame, ast.For)][::-1]]
    if len(loops) < 2:
        return None
    (frame, inner), (around, outer) = loops[:2]
    assert isinstance(inner, ast.For)  # noqa: S101  for the type checker
    assert isinstance(outer, ast.For)  # noqa: S101  for the type checker
    counts = _range(outer.iter, around)
    over = inner.iter
    while isinstance(over, ast.Call) and over.args:  # enumerate, tqdm
        over = over.args[0]
    if counts is None or len(counts) < 2 or not hasattr(type(held(over, frame)), "__next__"):
        return None
    if any(map(_leaves, (*ast.walk(outer), *ast.walk(inner)))):
        return None
    above = outer.lineno if frame is around else frame.f_code.co_firstlineno
    tests = [*_tests(frame, above, inner.lineno)]
    if frame is not around:
        tests += _tests(around, outer.lineno, around.f_lineno)
    if tests:
        return None
    at = watch.own.frame(frame.f_code.co_filename, inner.lineno, frame.f_code.co_name)
    lines = range(outer.lineno, (outer.end_lineno or outer.lineno) + 1)
    return _Epochs(around.f_code, outer.target, counts[0], lines, at)


def _range(over: ast.expr, frame: FrameType) -> range | None:
    """Give the numbers of epochs, also such as a bar of progress is drawn of."""
    for one in ast.walk(over):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "range":
            given = [held(each, frame) for each in one.args]
            if given and all(type(each) is int for each in given):
                return range(*given)
    return None


def _leaves(node: ast.AST) -> bool:
    is_exit = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_EXITS)
    return is_exit or isinstance(node, _LEAVES)


def _tests(frame: FrameType, first: int, line: int) -> Iterator[ast.If]:
    """Give what decides whether a line is come to, from another line on."""
    tree = parsed(frame.f_code.co_filename)
    for one in ast.walk(tree) if tree is not None else ():
        if isinstance(one, ast.If) and first < one.lineno <= line <= (one.end_lineno or 0):
            yield one
