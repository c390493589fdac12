"""Says how a test comes out in a job that is started as its defaults have it.

A name counts for what all sources that speak of it give it by default, as far as they agree; that
of a function for what it returns. What is not written out is unknown, and so is whatever follows
from it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from preflight.syntax.parsing import expression_of
from preflight.syntax.running import key_of, last_name, text_of

UNKNOWN: Any = object()

_DEEPEST = 12

COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}
"""What comparisons come to, of values that have an order."""

_ANY_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    **COMPARED,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}

_LOOKUPS = frozenset({"get", "getenv", "getattr"})

_OF_TEXT = frozenset({"lower", "upper", "strip"})

_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {"int": int, "bool": bool, "str": str, "len": len}


@dataclass(slots=True)
class Defaults:
    """What the sources of a job give to names."""

    environment: Mapping[str, str]
    stored: frozenset[str] | None = frozenset()
    """Variables that the sources themselves set, to whatever; None: any may be."""

    values: dict[str, list[str]] = field(default_factory=dict)
    """As code, by name; of what stands in a file of settings by all names on the way to it, behind
    a dot: `.launch.distributed`."""

    _asked: set[str] = field(default_factory=set)
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)
    _inner: dict[str, list[str]] | None = None
    """Names of what lies in others, by the last of them."""

    def off(self, tests: tuple[str, ...]) -> str | None:
        """Give the test that says no; None where none is known to."""
        for text in tests:
            said = self.value(expression_of(text))
            if said is not UNKNOWN and not said:
                return text
        return None

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """Give what an expression is; UNKNOWN where that is not written out."""
        if depth > _DEEPEST:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            return UNKNOWN if node.value is ... else node.value
        if isinstance(node, ast.UnaryOp):
            return self._unary(node, depth + 1)
        if isinstance(node, ast.BoolOp):
            return self._both(node, depth + 1)
        if isinstance(node, ast.Compare):
            return self._compared(node, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            each = [self.value(one, depth + 1) for one in node.elts]
            return UNKNOWN if UNKNOWN in each else each
        if isinstance(node, ast.Call):
            return self._call(node, depth + 1)
        variable = _variable_of(node)
        if variable is not None:
            return self._variable(variable, UNKNOWN)
        names = names_on_the_way(node)
        return self._named(names, depth + 1) if names else UNKNOWN

    def _variable(self, name: str, default: Any) -> Any:
        if name not in self.environment and self._may_be_stored(name):
            return UNKNOWN
        return self.environment.get(name, default)

    def _may_be_stored(self, name: str) -> bool:
        return self.stored is None or name in self.stored

    def _named(self, names: tuple[str, ...], depth: int) -> Any:
        """Give what a name is, of which it may be known in what it lies."""
        if names[-1] in self._asked:
            return UNKNOWN
        texts = tuple(dict.fromkeys(self._said_of(names)))
        if texts not in self._known:
            self._asked.add(names[-1])
            self._known[texts] = self._agreed(texts, depth)
            self._asked.discard(names[-1])
        return self._known[texts]

    def _said_of(self, names: tuple[str, ...]) -> Iterator[str]:
        """Give what sources say of a name, and files of settings of what lies most as it does."""
        yield from self.values.get(names[-1], ())
        if self._inner is None:
            self._inner = {}
            for one in self.values:
                if "." in one:
                    self._inner.setdefault(one.rpartition(".")[2], []).append(one)
        inner = [(_alike(names, one), one) for one in self._inner.get(names[-1], ())]
        most = max(inner, default=(0, ""))[0]
        for each, one in inner:
            yield from self.values[one] if each == most else ()

    def _agreed(self, texts: Iterable[str], depth: int) -> Any:
        said = [self.value(expression_of(text), depth) for text in texts]
        if not said or UNKNOWN in said:
            return UNKNOWN
        if all(one == said[0] for one in said):
            return said[0]
        return UNKNOWN if any(said) else False

    def _unary(self, node: ast.UnaryOp, depth: int) -> Any:
        said = self.value(node.operand, depth)
        if said is UNKNOWN:
            return UNKNOWN
        if isinstance(node.op, ast.Not):
            return not said
        return -said if isinstance(node.op, ast.USub) and isinstance(said, int) else UNKNOWN

    def _both(self, node: ast.BoolOp, depth: int) -> Any:
        settles = isinstance(node.op, ast.Or)
        is_known = True
        said: Any = UNKNOWN
        for one in node.values:
            said = self.value(one, depth)
            if said is UNKNOWN:
                is_known = False
            elif bool(said) is settles:
                return said if is_known else settles
        return said if is_known else UNKNOWN

    def _compared(self, node: ast.Compare, depth: int) -> Any:
        if len(node.ops) != 1:
            return UNKNOWN
        left, right = self.value(node.left, depth), node.comparators[0]
        if last_name(right) == "environ" and isinstance(left, str):
            there = left in self.environment
            if not there and self._may_be_stored(left):
                return UNKNOWN
            return there is isinstance(node.ops[0], ast.In)
        other = self.value(right, depth)
        if left is UNKNOWN or other is UNKNOWN:
            return UNKNOWN
        try:
            return _ANY_COMPARED[type(node.ops[0])](left, other)
        except TypeError:
            return UNKNOWN

    def _call(self, node: ast.Call, depth: int) -> Any:
        name = last_name(node.func)
        if name in {"get", "getenv"} and node.args:
            holder = last_name(node.func.value) if isinstance(node.func, ast.Attribute) else "os"
            key = text_of(node.args[0])
            given = [*node.args[1:], *(one.value for one in node.keywords)]
            default = self.value(given[0], depth) if given else None
            if key is None:
                return UNKNOWN
            if holder in {"os", "environ"}:
                return self._variable(key, default)
            names = (*names_on_the_way(getattr(node.func, "value", None)), key)
            known = self._named(names, depth)
            return default if known is UNKNOWN and not any(self._said_of(names)) else known
        if name == "getattr" and len(node.args) > 1 and (key := text_of(node.args[1])):
            names = (*names_on_the_way(node.args[0]), key)
            known = self._named(names, depth)
            is_free = known is UNKNOWN and not any(self._said_of(names)) and len(node.args) > 2
            return self.value(node.args[2], depth) if is_free else known
        if isinstance(node.func, ast.Attribute) and name in _OF_TEXT and not node.args:
            said = self.value(node.func.value, depth)
            return getattr(said, name)() if isinstance(said, str) else UNKNOWN
        if name in _CONVERTERS and len(node.args) == 1:
            said = self.value(node.args[0], depth)
            try:
                return UNKNOWN if said is UNKNOWN else _CONVERTERS[name](said)
            except (TypeError, ValueError):
                return UNKNOWN
        return UNKNOWN if node.args or node.keywords else self._named((name,), depth)


def names_on_the_way(node: ast.expr | None) -> tuple[str, ...]:
    """Give the names that lead to a value: `cfg`, `launch` and `nodes` of `cfg.launch["nodes"]`."""
    name = None if node is None else key_of(node)
    return (*names_on_the_way(getattr(node, "value", None)), *name.split(".")) if name else ()


def _alike(names: tuple[str, ...], name: str) -> int:
    """Count the last names that are the same as those in one with dots."""
    pairs = zip(reversed(names), reversed(name.split(".")), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _variable_of(node: ast.expr) -> str | None:
    """Give the variable of `os.environ["X"]`."""
    if isinstance(node, ast.Subscript) and last_name(node.value) == "environ":
        return text_of(node.slice)
    return None


def names_asked(text: str) -> set[str]:
    """Give the names on which it depends what code comes to: `x` of `args.x`, `get("x")`, `x()`."""
    names: set[str] = set()
    waiting = [expression_of(text)]
    while waiting:
        node = waiting.pop()
        name = key_of(node)
        if name is not None and _variable_of(node) is None:
            names.add(name)
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif isinstance(node, ast.BoolOp):
            waiting += node.values
        elif isinstance(node, ast.Compare):
            waiting += [node.left, *node.comparators]
        elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            waiting += node.elts
        elif isinstance(node, ast.Call):
            those, more = _asked_by_call(node)
            names |= those
            waiting += more
    return names


def _asked_by_call(node: ast.Call) -> tuple[set[str], list[ast.expr]]:
    """Give names on which a call depends, and what is to be looked into."""
    name = last_name(node.func)
    held = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    given = [*node.args[1:], *(one.value for one in node.keywords)]
    if name in _LOOKUPS:
        return set(filter(None, map(text_of, node.args[:2]))), given
    if not node.args and not node.keywords:
        return {name} - _OF_TEXT, held
    if held:
        return set(), held
    return set(), node.args if name in _CONVERTERS else []
