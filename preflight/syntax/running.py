"""Says which statements and expressions of a file run when it does, and which tests it passes.

Nothing is recursive beyond a fixed depth: code is somebody else's, nested as deeply as it likes.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from preflight.syntax.parsing import children, everything_in

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# How deeply tests are followed through `and`, `or` and `not`.
_DEEPEST = 20

# What a launcher sets, and what stands for it here; any other variable is taken as unset.
_LAUNCHED = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
)

_SAME = (ast.Eq, ast.Is, ast.In)
_OTHER = (ast.NotEq, ast.IsNot, ast.NotIn)


class Ran(NamedTuple):
    """One statement that runs."""

    node: ast.stmt
    outer: ast.stmt
    """The loop, `with` or `try` around it that has none around itself; else the statement."""

    in_loop: bool

    @property
    def alone(self) -> bool:
        """Whether nobody takes what it gives: `f()`, `raise SystemExit(f())`."""
        return isinstance(self.node, (ast.Expr, ast.Raise))

    @property
    def line(self) -> int:
        """Counted from 1; of what is decorated, the first decorator's."""
        decorators = getattr(self.node, "decorator_list", None)
        return decorators[0].lineno if decorators else self.node.lineno


def running(body: Sequence[ast.stmt]) -> Iterator[Ran]:
    """Give the statements that run with these, in order.

    Functions are given for their decorators and defaults, without their bodies; class bodies run.
    What only runs as the main module, or for type checkers, is left out.
    """
    stack = [Ran(one, one, in_loop=False) for one in reversed(body)]
    told = _with_flags(body)
    while stack:
        ran = stack.pop()
        node = ran.node
        yield ran
        if isinstance(node, FUNCTIONS):
            continue
        # A test and a class keep nothing together: what is inside can be guarded for itself.
        loose = isinstance(node, (ast.If, ast.ClassDef)) and ran.outer is node
        in_loop = ran.in_loop or isinstance(node, (ast.For, ast.AsyncFor, ast.While))
        stack.extend(
            Ran(one, one if loose else ran.outer, in_loop) for one in reversed(_inside(node, told))
        )


def _with_flags(body: Sequence[ast.stmt]) -> Callable[[ast.expr], bool | None]:
    """Have a name come out as the constant or the guard that it is given, where that is all.

    So does `is_main = __name__ == "__main__"`. It is given that at the left, before it is asked.
    """

    @functools.cache
    def flags() -> dict[str, ast.expr]:
        every = [one for statement in body for one in ast.walk(statement)]
        names = (one for one in every if isinstance(one, ast.Name))
        given = Counter(one.id for one in names if not isinstance(one.ctx, ast.Load))
        given.update(name for one in every if isinstance(one, ast.Global) for name in one.names)
        given.update(one.asname or one.name for one in every if isinstance(one, ast.alias))
        return {
            target.id: one.value
            for one in body
            if isinstance(one, ast.Assign)
            and (isinstance(one.value, ast.Constant) or any(map(_is_name, ast.walk(one.value))))
            for target in one.targets
            if isinstance(target, ast.Name) and given[target.id] == 1
        }

    def told(test: ast.expr) -> bool | None:
        value = flags().get(test.id) if isinstance(test, ast.Name) else None
        if value is None or value.lineno > test.lineno:
            return _when_imported(test)
        return truth(value)

    return told


def _inside(node: ast.stmt, told: Callable[[ast.expr], bool | None]) -> list[ast.stmt]:
    if isinstance(node, (ast.If, ast.While)):
        passed = truth(node.test, told)
        body = [] if passed is False else node.body
        return [*body, *([] if passed and isinstance(node, ast.If) else node.orelse)]
    found: list[ast.stmt] = []
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for one in getattr(node, field, ()):
            found.extend([one] if isinstance(one, ast.stmt) else one.body)
    return found


def truth(
    test: ast.expr, told: Callable[[ast.expr], bool | None] | None = None, depth: int = 0
) -> bool | None:
    """Say how a test comes out; None where that cannot be told.

    What it is made of comes out as is `told`; where nothing is, as when a file is imported.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(test, ast.BoolOp):
        each = [truth(value, told, depth + 1) for value in test.values]
        settles = isinstance(test.op, ast.Or)
        if settles in each:
            return settles
        return None if None in each else not settles
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        opposite = truth(test.operand, told, depth + 1)
        return None if opposite is None else not opposite
    return (told or _when_imported)(test)


def _when_imported(test: ast.expr) -> bool | None:
    """Say how it comes out when a file is imported.

    Whoever asks for an environment variable or an argument has made a guard of it: neither is set.
    """
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, (ast.Name, ast.Attribute)):
        return False if last_name(test) == "TYPE_CHECKING" else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test.left, test.ops[0], test.comparators[0])
    if _is_main_asked(test) or _is_unset(test):
        return False
    return None


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
    names = _is_name(left) or _is_name(right)
    if names and any(_speaks_of_main(side) for side in (left, right)):
        return False if isinstance(operator, _SAME) else isinstance(operator, _OTHER) or None
    if isinstance(operator, (ast.In, ast.NotIn)) and last_name(right) == "environ":
        return isinstance(operator, ast.NotIn) if _is_free_variable(left) else None
    unset = _is_unset(left) and isinstance(right, ast.Constant)
    if unset and isinstance(right, ast.Constant):
        is_nothing = right.value is None
        if isinstance(operator, (ast.Eq, ast.Is)):
            return is_nothing
        return not is_nothing if isinstance(operator, (ast.NotEq, ast.IsNot)) else None
    return _arguments_compared(left, operator, right)


def _arguments_compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> bool | None:
    """Compare `len(sys.argv)`: an import has no arguments, so that it is 1."""
    if not (isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.args):
        return None
    if left.func.id != "len" or last_name(left.args[0]) != "argv":
        return None
    if not isinstance(right, ast.Constant) or not isinstance(right.value, int):
        return None
    number = right.value
    outcomes = {
        ast.Gt: number < 1,
        ast.GtE: number <= 1,
        ast.Eq: number == 1,
        ast.NotEq: number != 1,
        ast.Lt: number > 1,
        ast.LtE: number >= 1,
    }
    return outcomes.get(type(operator))


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__name__"


def _speaks_of_main(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    texts = [one.value for one in parts if isinstance(one, ast.Constant)]
    return "__main__" in texts or "__mp_main__" in texts


def _is_main_asked(test: ast.expr) -> bool:
    """Whether it is `__name__.endswith("__main__")` or the like."""
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and _is_name(test.func.value)
        and any(_speaks_of_main(one) for one in test.args)
    )


def _is_unset(node: ast.expr) -> bool:
    """Whether it asks for a variable without a default, or for arguments: `sys.argv[1:]`."""
    if isinstance(node, ast.Subscript):
        return last_name(node.value) == "argv" and isinstance(node.slice, ast.Slice)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return False
    asked = last_name(node.func)
    holder = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    if asked in {"bool", "int"} and not holder:
        inner = node.args[0]
        return (
            isinstance(inner, ast.Call)
            and last_name(inner.func) in {"get", "getenv"}
            and (_is_unset(inner))
        )
    if asked != "getenv" and not (asked == "get" and holder == "environ"):
        return False
    return _is_free_variable(node.args[0])


def _is_free_variable(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value not in _LAUNCHED


def last_name(node: ast.AST | None) -> str:
    """Give the last word of a name: `loader` of `self.loader`, of anything else none."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def called_in(node: ast.AST) -> set[str]:
    """Give the last words of the names that are called in it."""
    return {last_name(one.func) for one in everything_in(node) if isinstance(one, ast.Call)}


def text_of(node: ast.AST | None) -> str | None:
    """Give the text that an expression is, where it is written out."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_none(node: ast.expr) -> bool:
    """Whether an expression is `None`, written out."""
    return isinstance(node, ast.Constant) and node.value is None


def key_of(node: ast.expr) -> str | None:
    """Give the last word of what names a value: `workers` of `args.workers`, `cfg["workers"]`."""
    if isinstance(node, ast.Subscript):
        return text_of(node.slice)
    return last_name(node) or None


# --- expressions ----------------------------------------------------------------------------------


def expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Give the expressions that run with a statement, without those of statements inside it."""
    stack = list(reversed(_first(statement)))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr):
            yield node
        stack.extend(reversed(_below(node)))


def _first(statement: ast.stmt) -> list[ast.AST]:
    if isinstance(statement, FUNCTIONS):
        defaults = [one for one in statement.args.kw_defaults if one is not None]
        return [*statement.decorator_list, *statement.args.defaults, *defaults]
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Return)) and isinstance(
        statement.value, ast.GeneratorExp
    ):
        return []  # nothing of it runs before somebody asks for its first value
    return header(statement)


def _below(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Lambda):
        return []
    if isinstance(node, ast.BoolOp):
        settles = isinstance(node.op, ast.Or)
        for index, value in enumerate(node.values):
            if truth(value) is settles:
                return list(node.values[: index + 1])
    if isinstance(node, ast.IfExp):
        passed = truth(node.test)
        branches = [node.body, node.orelse]
        return [node.test, *(branches if passed is None else [branches[not passed]])]
    below = header(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Lambda):
        below.append(node.func.body)
    return below


def header(node: ast.AST) -> list[ast.AST]:
    """Give the parts of a statement or an expression that are no statements themselves."""
    return [
        one
        for one in children(node)
        if not isinstance(one, (ast.stmt, ast.ExceptHandler, ast.match_case))
    ]
