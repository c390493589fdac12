"""Walks through Python code and says what stands around each piece: tests, handlers, names.

Nothing is recursive: code is somebody else's, and may be nested as deeply as it likes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from preflight.syntax.running import last_name, text_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

# Words in names and tests that say that code is for one launcher alone.
_WORDS = {
    "slurm": {"slurm", "srun"},
    "mpi": {"mpi", "ompi", "openmpi", "mpich", "mpirun", "pmi", "pmix"},
    "torchrun": {"distributed", "ddp", "dist", "torchrun", "elastic", "deepspeed", "multigpu"},
}

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


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


def walk(tree: ast.Module, about: str = "") -> Iterator[tuple[ast.expr | ast.stmt, Around]]:
    """Give every expression and statement of a file with what stands around it.

    A name for all of it may say for which launcher it is.
    """
    stack: list[tuple[ast.AST, Around]] = [(tree, Around(launchers=launchers_in(about)))]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (ast.expr, ast.stmt)):
            yield node, around
        stack.extend(_children(node, around))


def called(node: ast.Call) -> str:
    """Give the last part of the name of what is called: `join` of `os.path.join(…)`."""
    return last_name(node.func)


def launchers_in(name: str) -> frozenset[str]:
    """Say which launchers a name speaks of: `init_slurm`, `MPIEnvironment`."""
    words = {word.lower() for word in _WORD.findall(name)}
    return frozenset(launcher for launcher, known in _WORDS.items() if known & words)


def _children(node: ast.AST, around: Around) -> Iterator[tuple[ast.AST, Around]]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        yield node.test, around
        under = _under(node.test, around=around)
        for branch in (node.body, node.orelse):
            yield from _block(branch if isinstance(branch, list) else [branch], under)
    elif isinstance(node, ast.BoolOp):
        yield from _one_after_the_other(node.values, around)
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        yield from _function(node, around)
    elif isinstance(node, ast.ClassDef):
        yield from ((one, around) for one in (*node.bases, *node.keywords, *node.decorator_list))
        yield from _block(node.body, _named(around, node.name))
    elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
        yield from _try(node, around)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        yield from ((item, around) for item in node.items)
        yield from _block(node.body, replace(around, caught=around.caught | _suppressed(node)))
    elif isinstance(node, ast.match_case):
        yield from _block(node.body, _under(node.pattern, around=around))
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        under = _under(*(test for one in node.generators for test in one.ifs), around=around)
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
            around = _under(node.test, around=around)


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
    yield from _block(node.body, _named(within, node.name))


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


def _one_after_the_other(
    values: Sequence[ast.expr], around: Around
) -> Iterator[tuple[ast.AST, Around]]:
    """Each value of `a and b and c` is looked at only if those before it say so."""
    for value in values:
        yield value, around
        around = _under(value, around=around)


def _under(*tests: ast.AST, around: Around) -> Around:
    if not tests:
        return around
    nodes = [node for test in tests for node in ast.walk(test)]
    texts = {text for text in map(text_of, nodes) if text is not None}
    named = _named(around, *texts, *map(last_name, nodes))
    return replace(named, tested=around.tested | texts, conditional=True)


def _named(around: Around, *names: str) -> Around:
    return replace(around, launchers=around.launchers.union(*map(launchers_in, names)))
