"""Says which texts, such as paths, an expression may be, as far as a source writes them out."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import NamedTuple

from preflight.syntax.running import last_name, text_of

# `a / b / c`, `dirname(dirname(x))`, and names that stand for others: more is no text of anybody's.
_DEEPEST = 12

# What one expression may be.
_MOST = 8

_PATHS = frozenset({"Path", "PurePath"})
_SAME = _PATHS | {
    *("abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "as_posix"),
    *("str", "fspath"),
}

_KEEP_KEYS = frozenset(
    {"dict", "items", "keys", "list", "sorted", "tuple", "set", "zip", "fromkeys"}
)

# What comes in front of these is not known.
_WHOLE_NAMES = re.compile(r"[/\\](.*)", re.DOTALL)

# How a number is written: filled up to so many places, of which nobody writes a hundred.
_DIGITS = re.compile(r"\d{0,2}d?")
_PLACES = re.compile(r"%\d{0,2}d|%s")


class WrittenText(NamedTuple):
    """What is known of a text: all of it, or what it ends in."""

    text: str = ""
    whole: bool = False


_UNKNOWN = (WrittenText(),)


def _name_of(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


@dataclass(frozen=True, slots=True)
class WrittenTexts:
    """What the expressions of one file come to."""

    values: Mapping[str, Sequence[ast.expr]]
    """What names are given."""

    key: Callable[[ast.expr], str | None] = _name_of
    """Gives the name of what is given a value."""

    file: str = ""
    """What `__file__` is; empty: that is not known."""

    cwd: str = os.curdir
    _known: dict[str, Sequence[WrittenText]] = field(default_factory=dict)
    """Of names; of one that is being looked up, what was found so far."""

    def only(self, node: ast.expr) -> str | None:
        """Give the text that an expression is; None where it is not all written out."""
        found = self.of(node)
        return found[0].text if len(found) == 1 and found[0].whole else None

    def meant(self, node: ast.expr) -> ast.expr:
        """Give the expression that a name stands for in the end, where it is given that alone."""
        for _ in range(_DEEPEST):
            values = self.values.get(self.key(node) or "", ())
            if len(values) != 1:
                break
            node = values[0]
        return node

    def of(self, node: ast.expr, depth: int = 0) -> Sequence[WrittenText]:
        """Give the texts that an expression may be."""
        if depth > _DEEPEST:
            return _UNKNOWN
        name, text = self.key(node), text_of(node)
        if name is not None and name in self.values:
            return self._named(name, depth) or _UNKNOWN
        if text is not None:
            return _whole(text)
        return self._of_parts(node, depth) or self._of_path(node, depth) or _UNKNOWN

    def _named(self, name: str, depth: int) -> Sequence[WrittenText]:
        if name not in self._known:
            self._known[name] = ()
            new = (one for one in self.values[name] if self.key(one) != name)  # and not handed on
            for one in new:
                found = self.of(one, depth + 1)
                self._known[name] = _each((*self._known[name], *found))
        return self._known[name]

    def _of_parts(self, node: ast.expr, depth: int) -> Sequence[WrittenText]:
        match node:
            case ast.IfExp(body=one, orelse=other):
                return _each((*self.of(one, depth + 1), *self.of(other, depth + 1)))
            case ast.FormattedValue(value=inner, conversion=-1 | 115, format_spec=None):  # or `!s`
                number = self._number(inner)
                return self.of(inner, depth + 1) if number is None else _whole(str(number))
            case ast.FormattedValue(value=inner, format_spec=ast.JoinedStr(values=[spec])):
                return _formatted(text_of(spec), self._number(inner))
            case ast.BinOp(left=one, right=other, op=ast.Mod()):
                return _in_place(self.only(one), self._number(other))
            case ast.JoinedStr(values=parts):
                return self._joined(parts, "", depth)
            case ast.BinOp(left=one, right=other, op=ast.Add()):
                return self._joined((one, other), "", depth)
            case ast.BinOp(left=one, right=other, op=ast.Div()):
                return self._joined((one, other), os.sep, depth)
        return ()

    def _number(self, node: ast.expr) -> int | None:
        """Give a whole number that an expression is, or a name stands for."""
        value = getattr(self.meant(node), "value", None)
        return value if type(value) is int else None

    def _of_path(self, node: ast.expr, depth: int) -> Sequence[WrittenText]:
        match node:
            case ast.Name(id="__file__") if self.file:
                return _whole(self.file)
            case ast.Attribute(attr="pardir" | "curdir" as which):
                return _whole(getattr(os, which))
            case ast.Attribute(value=inner, attr="parent"):
                return self._above(inner, 1, depth)
            case ast.Subscript(
                value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int(up))
            ):
                return self._above(inner, up + 1, depth)
            case ast.Call():
                return self._of_call(node, depth)
        return ()

    def _of_call(self, call: ast.Call, depth: int) -> Sequence[WrittenText]:
        name, holder = last_name(call.func), getattr(call.func, "value", None)
        if name in {"getcwd", "cwd"} and not call.args:
            return _whole(self.cwd)
        if name == "joinpath" and holder is not None:
            return self._joined([holder, *call.args], os.sep, depth)
        if name == "join" or (name in _PATHS and len(call.args) > 1):
            return self._joined(call.args, os.sep, depth)
        inner = call.args[0] if call.args else holder
        if inner is None or name not in _SAME | {"dirname"}:
            return ()
        return self._above(inner, 1 if name == "dirname" else 0, depth)

    def _above(self, node: ast.expr, levels: int, depth: int) -> Sequence[WrittenText]:
        found = self.of(node, depth + 1)
        for _ in range(min(levels, _DEEPEST)):
            found = _each(one._replace(text=os.path.dirname(one.text)) for one in found)
        return found

    def _joined(self, parts: Iterable[ast.expr], joint: str, depth: int) -> Sequence[WrittenText]:
        every = product(_whole(""), *(self.of(one, depth + 1) for one in parts))
        return _each(reduce(lambda one, other: _behind(one, other, joint), ones) for ones in every)


def _whole(text: str) -> Sequence[WrittenText]:
    return (WrittenText(text, whole=True),)


def _formatted(spec: str | None, number: int | None) -> Sequence[WrittenText]:
    """Write a number as `06d` has it."""
    if spec is None or number is None or not _DIGITS.fullmatch(spec):
        return ()
    return _whole(format(number, spec))


def _in_place(text: str | None, number: int | None) -> Sequence[WrittenText]:
    """Write a number into `d/%06d.tar`."""
    places = [] if text is None else _PLACES.findall(text)
    if text is None or number is None or len(places) != 1:
        return ()
    front, behind = text.split(places[0])
    spec = places[0][1:].replace("s", "")
    return () if "%" in front + behind else _whole(f"{front}{number:{spec}}{behind}")


def _each(found: Iterable[WrittenText]) -> Sequence[WrittenText]:
    """Give each of them once, and no more than so many."""
    each: dict[WrittenText, None] = {}
    for one in found:
        each[one] = None
        if len(each) == _MOST:
            break
    return tuple(each)


def _behind(front: WrittenText, rest: WrittenText, joint: str) -> WrittenText:
    if not rest.whole:
        return rest
    if joint and (os.path.isabs(rest.text) or front == WrittenText()):
        return WrittenText(rest.text, whole=os.path.isabs(rest.text))
    if front != WrittenText():
        between = joint if front.text and not front.text.endswith(("/", "\\")) else ""
        return WrittenText(front.text + between + rest.text, whole=front.whole)
    names = _WHOLE_NAMES.search(rest.text)
    return WrittenText(names[1]) if names else WrittenText()


# --- names that a loop or a dict has --------------------------------------------------------------


def written_names(node: ast.expr, tree: ast.Module, depth: int = 0) -> tuple[str, ...]:
    """Give what a name may be: a text, or those that the loops around it go over."""
    text = text_of(node)
    if text is not None:
        return (text,)
    if not isinstance(node, ast.Name) or depth > _DEEPEST:
        return ()
    values = (one.value for one in _assigned(node.id, tree) if text_of(one.value) is not None)
    found = {text_of(one) or "": None for one in values}
    for loop, goes_over in _loops(tree):
        target = goes_over.target
        first = target.elts[0] if isinstance(target, (ast.Tuple, ast.List)) else target
        is_around = loop.lineno <= node.lineno <= (loop.end_lineno or node.lineno)
        if is_around and isinstance(first, ast.Name) and first.id == node.id:
            found |= dict.fromkeys(written_keys(goes_over.iter, tree, depth + 1))
    return tuple(found)


def only_names(node: ast.Name, tree: ast.Module) -> tuple[str, ...]:
    """Give what a name can only be: the one text that it is given, or those of the loop around it.

    None where a function takes it, or anything else gives it a value.
    """
    taken = (one.arg for one in ast.walk(tree) if isinstance(one, ast.arg))
    stores = [one for one in ast.walk(tree) if _is_stored(one, node.id)]
    if node.id in taken or len(stores) != 1:
        return ()
    found = written_names(node, tree)
    items = [one.iter for _, one in _loops(tree) if one.target is stores[0]]
    return found if not items or _is_written_out(items[0], tree, len(found)) else ()


def _is_stored(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _is_written_out(items: ast.expr, tree: ast.Module, names: int) -> bool:
    """Whether each of some items is a text."""
    given = [one.value for one in _assigned(getattr(items, "id", ""), tree)]
    each = given[0] if len(given) == 1 else items
    return isinstance(each, (ast.Tuple, ast.List)) and len(each.elts) == names


def written_keys(node: ast.expr, tree: ast.Module, depth: int = 0) -> tuple[str, ...]:
    """Give the keys of a dict, or the items of a list; of items that are pairs, the first parts."""
    return tuple(dict.fromkeys(_keys(node, tree, depth))) if depth <= _DEEPEST else ()


def _keys(node: ast.expr, tree: ast.Module, depth: int) -> Iterator[str]:
    inner: list[ast.expr] = []
    match node:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield from written_names(key, tree, depth + 1) if key is not None else ()
                inner += [value] if key is None else []
        case ast.DictComp(key=key) | ast.ListComp(elt=key) | ast.GeneratorExp(elt=key):
            yield from written_names(key, tree, depth + 1)
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items):
            for item in items:
                pair = item.elts if isinstance(item, (ast.Tuple, ast.List)) else [item]
                yield from written_names(pair[0], tree, depth + 1) if pair else ()
                inner += [item.value] if isinstance(item, ast.Starred) else []
        case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.Add()):
            inner = [left, right]
        case ast.Call() if last_name(node.func) in _KEEP_KEYS:
            yield from _named(node)
            inner = _handed(node)
        case ast.Name(id=name):
            inner = [one.value for one in _assigned(name, tree) if one.value is not None]
    for one in inner:
        yield from written_keys(one, tree, depth + 1)


def _named(call: ast.Call) -> Iterator[str]:
    if last_name(call.func) == "dict":
        yield from (one.arg for one in call.keywords if one.arg)


def _handed(call: ast.Call) -> list[ast.expr]:
    """Give what a call takes its keys from: `dict(a, **b)`, `a.items()`, `zip(a, b)`."""
    unpacked = [one.value for one in call.keywords if one.arg is None]
    of_dict = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return [*unpacked, *call.args[:1], *of_dict]


def _assigned(name: str, tree: ast.Module) -> list[ast.Assign | ast.AnnAssign]:
    found: list[ast.Assign | ast.AnnAssign] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(one, ast.Name) and one.id == name for one in targets):
                found += [node] if node.value is not None else []
    return found


def _loops(
    tree: ast.Module,
) -> Iterator[tuple[ast.stmt | ast.expr, ast.For | ast.AsyncFor | ast.comprehension]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            yield node, node
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            yield from ((node, one) for one in node.generators)
