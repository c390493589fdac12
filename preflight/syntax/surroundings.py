"""Walks through Python code and says what stands around each piece: tests, handlers, names.

Nothing is recursive: code is somebody else's, and may be nested as deeply as it likes.
"""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from preflight.syntax.bodies import TRIES
from preflight.syntax.running import last_name, text_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Words in names and tests that say that code is for one launcher alone.
_WORDS = {
    "slurm": {"slurm", "srun"},
    "mpi": {"mpi", "ompi", "openmpi", "mpich", "mpirun", "pmi", "pmix"},
    "torchrun": {"distributed", "ddp", "dist", "torchrun", "elastic", "deepspeed", "multigpu"},
}

# Classes of tests by their names, and functions that a test runner calls.
_TEST_CLASS = re.compile(r"Test[A-Z_]|Test$|\w*(TestCase|Tests?)$")

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


class PassedTest(NamedTuple):
    """A test that was passed on the way."""

    test: ast.expr
    holds: bool
    """Whether it said yes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What stands around a piece of code."""

    inside: str | None = None
    """The functions that hold it, `outer.inner`; None where it runs as soon as its file does."""

    tested: frozenset[str] = frozenset()
    """Texts in the tests that were passed on the way here, names of variables among them."""

    caught: frozenset[str] = frozenset()
    """Exceptions that are caught around it; `*` where all are."""

    conditional: bool = False
    """Whether it runs only if a test says so."""

    launchers: frozenset[str] = frozenset()
    """Launchers for which alone this is, by the names around it."""

    passed: tuple[PassedTest, ...] = ()
    """The tests that were passed on the way here, the outermost first."""

    rehearsed: str | None = None
    """What says that no job runs it so: `a test`, `patch.dict`."""


def walk(
    tree: ast.Module, lines: Sequence[int] | None = None
) -> Iterator[tuple[ast.expr | ast.stmt, Around]]:
    """Give every expression and statement of a file with what stands around it.

    Where lines are given, in order, statements that stand in none of them are passed over.
    """
    stack: list[tuple[ast.AST, Around]] = [(tree, Around())]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            if lines is not None and isinstance(node, ast.stmt) and not _is_in(node, lines):
                continue
            yield node, around
        stack.extend(_children(node, around))


def _is_in(node: ast.stmt, lines: Sequence[int]) -> bool:
    decorators = getattr(node, "decorator_list", None)
    first = decorators[0].lineno if decorators else node.lineno
    place = bisect.bisect_left(lines, first)
    return place < len(lines) and lines[place] <= (node.end_lineno or node.lineno)


def called(node: ast.Call) -> str:
    """Give the last part of the name of what is called: `join` of `os.path.join(…)`."""
    return last_name(node.func)


def always_runs(around: Around) -> bool:
    """Whether no test stands around it but the one for the main module."""
    return not around.conditional or around.tested == {"__main__"}


def launchers_in(name: str) -> frozenset[str]:
    """Say which launchers a name speaks of: `init_slurm`, `MPIEnvironment`."""
    words = {word.lower() for word in _WORD.findall(name)}
    return frozenset(launcher for launcher, known in _WORDS.items() if known & words)


def _children(node: ast.AST, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield node.test, around
        for branch, holds in ((node.body, True), (node.orelse, False)):
            under = _under(node.test, around=around, holds=holds)
            yield from _block(branch if isinstance(branch, list) else [branch], under)
    elif isinstance(node, ast.BoolOp):
        yield from _one_after_the_other(node, around)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield from _function(node, around)
    elif isinstance(node, ast.ClassDef):
        yield from ((one, around) for one in (*node.bases, *node.keywords, *node.decorator_list))
        tested = any(map(_TEST_CLASS.match, (node.name, *map(last_name, node.bases))))
        within = _rehearsed(_named(around, node.name), "a test" if tested else None)
        yield from _block(node.body, _patched(within, node.decorator_list))
    elif isinstance(node, TRIES):
        yield from _try(node, around)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((item, around) for item in node.items)
        under = _patched(around, [item.context_expr for item in node.items])
        yield from _block(node.body, replace(under, caught=around.caught | _suppressed(node)))
    elif isinstance(node, ast.match_case):
        yield from _block(node.body, _under(node.pattern, around=around))
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        tests = (test for one in node.generators for test in one.ifs)
        under = _under(*tests, around=around, holds=True)
        yield from ((child, under) for child in ast.iter_child_nodes(node))
    else:
        yield from _plain(node, around)


def _plain(node: ast.AST, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    for _, value in ast.iter_fields(node):
        inner = value if isinstance(value, list) else [value]
        yield from _block([one for one in inner if isinstance(one, ast.AST)], around)


def _block(body: Sequence[ast.AST], around: Around) -> Iterator[tuple[ast.AST, Around]]:
    """Give statements in order; what follows `if …: return` stands under that test as well."""
    for node in body:
        yield node, around
        if isinstance(node, ast.If) and (_leaves(node.body) or _leaves(node.orelse)):
            around = _under(node.test, around=around, holds=not _leaves(node.body))


def _leaves(body: Sequence[ast.stmt]) -> bool:
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return called(last.value) in {"exit", "_exit", "quit"}
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _function(node: Function, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    """Defaults and decorators run where the function stands; its body when it is called."""
    yield node.args, around
    if isinstance(node, ast.Lambda):
        yield node.body, replace(around, inside=around.inside or "lambda", caught=frozenset())
        return
    yield from ((one, around) for one in node.decorator_list)
    inside = f"{around.inside}.{node.name}" if around.inside else node.name
    within = replace(around, inside=inside, caught=frozenset())
    within = _rehearsed(within, "a test" if node.name.startswith("test_") else None)
    yield from _block(node.body, _patched(_named(within, node.name), node.decorator_list))


def _try(node: ast.AST, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    handlers: list[ast.ExceptHandler] = node.handlers  # type: ignore[attr-defined]
    caught = around.caught.union(*(_exceptions(handler.type) for handler in handlers))
    yield from _block(node.body, replace(around, caught=caught))  # type: ignore[attr-defined]
    for handler in handlers:
        yield from _block(handler.body, replace(around, conditional=True))
    for rest in (node.orelse, node.finalbody):  # type: ignore[attr-defined]
        yield from _block(rest, around)


def _exceptions(node: ast.expr | None) -> frozenset[str]:
    if node is None:
        return frozenset({"*"})
    return frozenset(map(last_name, node.elts if isinstance(node, ast.Tuple) else [node]))


def _suppressed(node: ast.With | ast.AsyncWith) -> frozenset[str]:
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    suppress = [call for call in calls if called(call) == "suppress"]
    return frozenset().union(*(_exceptions(one) for call in suppress for one in call.args))


def _patched(around: Around, those: Sequence[ast.expr]) -> Around:
    """Say whether one of these puts variables into the environment for a while."""
    calls = [one for one in those if isinstance(one, ast.Call) and called(one) == "dict"]
    holders = {last_name(one.func.value) for one in calls if isinstance(one.func, ast.Attribute)}
    return _rehearsed(around, "patch.dict" if "patch" in holders else None)


def _rehearsed(around: Around, by: str | None) -> Around:
    return around if by is None or around.rehearsed else replace(around, rehearsed=by)


def _one_after_the_other(node: ast.BoolOp, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    """Each value of `a and b and c` is looked at only if those before it say so."""
    for value in node.values:
        yield value, around
        around = _under(value, around=around, holds=isinstance(node.op, ast.And))


def _under(*tests: ast.AST, around: Around, holds: bool | None = None) -> Around:
    if not tests:
        return around
    nodes = [node for test in tests for node in ast.walk(test)]
    texts = {text for text in map(text_of, nodes) if text is not None}
    named = _named(around, *texts, *map(last_name, nodes))
    passed = around.passed
    if holds is not None:
        passed += tuple(PassedTest(test, holds) for test in tests if isinstance(test, ast.expr))
    return replace(named, tested=around.tested | texts, conditional=True, passed=passed)


def _named(around: Around, *names: str) -> Around:
    return replace(around, launchers=around.launchers.union(*map(launchers_in, names)))
