"""Says what a loop does with parts of a batch: what None, or a key that is not there, stops.

Narrow: only what is come to in each step, and of parts that nothing in the body asks about.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from preflight.sources.batch_loops.passed_items import TakenOver
from preflight.sources.flaws.facts import EACH, Use
from preflight.syntax.bodies import COMPREHENSIONS
from preflight.syntax.running import last_name

Way: TypeAlias = "tuple[str | int, ...]"
Handed: TypeAlias = "Callable[[ast.Call, str], TakenOver | None]"

_JUMPS = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)

# They go through all that a generator gives.
_TAKE_ALL = frozenset({"tuple", "list", "dict", "set", "sum"})

# They may leave a dict or list with other parts than it had.
_CHANGE = frozenset({"pop", "popitem", "update", "setdefault", "clear", "append", "extend"})
_LEAVE = frozenset({"len", "print", "isinstance", "type", "id", "repr", "str", "iter", "enumerate"})

_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def uses_of(
    target: ast.expr, body: Sequence[ast.stmt], handed: Handed | None = None
) -> tuple[Use, ...]:
    """Give what is done with the parts of what a loop takes, in its order.

    Args:
        target: what each batch is given to.
        body: what is done then.
        handed: gives what a function of the file does with a part, by the call and its name there.
    """
    found = _Uses(handed)
    found.bind(target, ())
    found.statements(body)
    return tuple(found.found)


class _Uses:
    """What is known at a line of the body."""

    def __init__(self, handed: Handed | None = None) -> None:
        self.found: list[Use] = []
        self._handed = handed
        self._names: dict[str, Way] = {}
        self._asked: set[Way] = set()
        """Parts of which something asks what they are."""

        self._changed: set[Way] = set()
        """Those of which others may have changed what is in them."""

        self._set: set[Way] = set()
        """Attributes that are set here, and parts of which a method may have set others."""

    def bind(self, target: ast.AST, way: Way | None) -> None:
        """Have names stand for a part, or for something else."""
        if isinstance(target, ast.Name):
            self._names.pop(target.id, None)
            if way is not None:
                self._names[target.id] = way
        elif isinstance(target, (ast.Tuple, ast.List)):
            known = way is not None and not any(isinstance(x, ast.Starred) for x in target.elts)
            for place, one in enumerate(target.elts):
                self.bind(one, (*way, place) if known and way is not None else None)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None)
        elif isinstance(target, ast.Subscript):
            self._change(self._way(target.value))
        elif isinstance(target, ast.Attribute):
            self._set.update(self._ways_in(target))

    def statements(self, nodes: Sequence[ast.stmt]) -> bool:
        """Go through statements; False where what follows may not be come to."""
        return all(map(self._statement, nodes))

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case (
                ast.Assign(value=value)
                | ast.AnnAssign(value=ast.expr() as value)
                | ast.AugAssign(value=value)
            ):
                self._look(value)
                way = None if isinstance(node, ast.AugAssign) else self._way(value)
                for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
                    self.bind(target, way)
            case ast.Expr(value=value):
                self._look(value)
            case ast.With():
                return self._within(node)
            case ast.If(test=test) | ast.While(test=test) | ast.For(iter=test):
                self._look(test)
                self._ask(test)
                return self._pass_over(node)
            case ast.Return(value=ast.expr() as value):
                self._look(value)
                return False
            case ast.Pass() | ast.Import() | ast.ImportFrom():
                pass
            case _:
                return False
        return True

    def _within(self, block: ast.With) -> bool:
        for item in block.items:
            self._look(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, None)
        return self.statements(block.body)

    def _pass_over(self, block: ast.stmt) -> bool:
        """Forget what a block may change; say whether the body goes on behind it in any case."""
        leaves = (ast.Return, ast.Raise) if not isinstance(block, ast.If) else _JUMPS
        for node in ast.walk(block):
            if isinstance(node, leaves):
                return False
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self._names.pop(node.id, None)
            elif isinstance(node, ast.Name) and node.id in self._names:
                self._change(self._names[node.id])
        return True

    # --- expressions

    def _look(self, node: ast.AST) -> None:
        """Note what an expression does with parts, the inner before the outer."""
        match node:
            case ast.IfExp(test=first):
                self._look(first)
                self._ask(first)
            case ast.BoolOp(values=[first, *_]):
                self._look(first)
                self._ask(node)
            case ast.Lambda():
                pass
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._look_at_each(node, is_whole=not isinstance(node, ast.GeneratorExp))
            case ast.Call():
                self._look_at_call(node)
            case _:
                for inner in ast.iter_child_nodes(node):
                    self._look(inner)
                self._look_at(node)

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name[:2] != "__":
                said = f"AttributeError: 'NoneType' object has no attribute {name!r}"
                self._note(value, node, said, attribute=name)
            case ast.Subscript(value=value, slice=key, ctx=ast.Load()):
                said = "TypeError: 'NoneType' object is not subscriptable"
                self._note(value, node, said, _constant(key))
            case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.Mod):
                for one in (left, right):
                    self._note(one, node, "TypeError: unsupported operand type(s)")
            case ast.UnaryOp(operand=one, op=op) if type(op) in _UNARY:
                said = f"bad operand type for unary {_UNARY[type(op)]}: 'NoneType'"
                self._note(one, node, f"TypeError: {said}")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if isinstance(op, _ORDERS):
                for one in (left, right):
                    self._note(one, node, "TypeError: '<' not supported")
            case ast.Compare():
                self._ask(node)

    def _look_at_call(self, node: ast.Call) -> None:
        name = last_name(node.func)
        self._look(node.func)
        for one in (*node.args, *(word.value for word in node.keywords)):
            way = self._way(one)
            if isinstance(one, ast.GeneratorExp):
                self._look_at_each(one, is_whole=name in _TAKE_ALL)
            elif way is None:
                self._look(one)
            elif name == "len":
                self._note(one, node, "TypeError: object of type 'NoneType' has no len()")
            else:
                self._look(one)
                self._look_inside(node, one, way)
                if name not in _LEAVE:
                    self._change(way)
        if isinstance(node.func, ast.Attribute):
            self._note_lack(node, node.func)
            way = self._way(node.func.value)
            self._set.update([way] if way is not None else [])
            if name in _CHANGE:
                self._change(way)

    def _look_inside(self, call: ast.Call, part: ast.expr, way: Way) -> None:
        """Look at what a function does with a part that nobody has asked about before."""
        asked = any(way[: len(one)] == one for one in self._asked)
        if self._handed is None or not isinstance(part, ast.Name) or asked or self._is_changed(way):
            return
        taken = self._handed(call, part.id)
        if taken is not None:
            inner = _Uses()
            inner.bind(ast.Name(taken.name, ast.Store()), way)
            inner.statements(taken.statements)
            self.found += inner.found

    def _note_lack(self, node: ast.Call, function: ast.Attribute) -> None:
        """Note that a key may lack: `batch.get("mask")`, `batch.pop("mask", None)`."""
        way, key = self._way(function.value), _constant(node.args[0]) if node.args else None
        may_lack = function.attr == "get" or (function.attr in _CHANGE and len(node.args) == 2)
        if way is not None and key is not None and may_lack:
            self.found.append(Use((*way, key), ast.unparse(node), node.lineno, ""))

    def _look_at_each(self, node: ast.AST, *, is_whole: bool) -> None:
        """Look at what is done with each part: `{k: v.to(device) for k, v in batch.items()}`."""
        assert isinstance(node, COMPREHENSIONS)  # noqa: S101  for the type checker
        [each, *more] = node.generators
        self._look(each.iter)
        if more or each.ifs or not is_whole:
            self._ask(node)
            return
        before = dict(self._names)
        for name in ast.walk(each.target):
            self.bind(name, None)
        match each.iter:
            case ast.Call(func=ast.Attribute(value=value, attr="items"), args=[]):
                if isinstance(each.target, ast.Tuple) and len(each.target.elts) == 2:
                    self._bind_each(each.target.elts[1], value, before)
            case ast.Call(func=ast.Attribute(value=value, attr="values"), args=[]):
                self._bind_each(each.target, value, before)
            case value:
                self._bind_each(each.target, value, before)
        for one in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self._look(one)
        self._names = before

    def _bind_each(self, target: ast.expr, of: ast.expr, names: dict[str, Way]) -> None:
        here, self._names = self._names, names
        way = self._way(of)
        self._names = here
        if way is not None and isinstance(target, ast.Name) and not self._is_changed(way):
            self.bind(target, (*way, EACH))

    # --- parts

    def _way(self, node: ast.AST) -> Way | None:
        """Say which part of the batch an expression gives."""
        match node:
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.Subscript(value=value, slice=key):
                step = _constant(key)
            case ast.Attribute(value=value, attr=step):
                pass
            case ast.Call(func=ast.Attribute(value=value, attr="get" | "pop"), args=[key]):
                step = _constant(key)
            case _:
                return None
        way = self._way(value)
        if way is None or step is None or self._is_changed(way):
            return None
        return (*way, step)

    def _is_changed(self, way: Way) -> bool:
        return any(way[: len(one)] == one for one in self._changed)

    def _change(self, way: Way | None) -> None:
        if way is not None:
            self._changed.add(way)

    def _ask(self, node: ast.AST) -> None:
        self._asked.update(self._ways_in(node))

    def _ways_in(self, node: ast.AST) -> Iterator[Way]:
        """Give the parts that an expression names, each as far as it goes."""
        way = self._way(node)
        if way is not None:
            yield way
            return
        for inner in ast.iter_child_nodes(node):
            yield from self._ways_in(inner)

    def _note(
        self,
        part: ast.AST,
        node: ast.AST,
        raises: str,
        key: str | int | None = None,
        attribute: str = "",
    ) -> None:
        way = self._way(part)
        if way is None or (key is not None and self._is_changed(way)):
            return
        if not any(way[: len(one)] == one for one in self._asked):
            line: int = node.lineno  # type: ignore[attr-defined]
            may_be_set = self._is_changed(way) or {way, (*way, attribute)} & self._set
            asks_for = "" if may_be_set else attribute
            self.found.append(Use(way, ast.unparse(node), line, raises, key, asks_for))


def _constant(node: ast.AST) -> str | int | None:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, str) or type(value) is int else None
