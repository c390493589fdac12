"""Says what the names of a source stand for where each is read, by the order of its statements.

What only some runs give a name is not known: behind a test, in a loop, by a function that shares
it. Of a pipeline what was done to it before goes on to be known.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from preflight.syntax.given_values import assigned, bound_by, constants_of
from preflight.syntax.running import FUNCTIONS
from preflight.syntax.surroundings import called
from preflight.syntax.written_texts import WrittenTexts

ROOTS = frozenset({"WebDataset", "DataPipeline"})
"""The classes that a pipeline begins with."""

_PERHAPS = "a stage that not every run adds"

# They change nothing that they are handed.
_LOOKS = frozenset(
    {
        *("print", "info", "debug", "len", "list", "tuple", "sorted", "iter", "next", "enumerate"),
        *("WebDataset", "DataPipeline", "SimpleShardList", "ResampledShards", "ResampledShardList"),
        *("WebLoader", "DataLoader", "to_tuple", "decode", "compose"),
    }
)

_CHANGED = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.BinOp)
_MADE = frozenset({"sorted", "natsorted", "list", "glob", "iglob", "braceexpand", "expand_urls"})
_ORDERS = frozenset({"sort", "reverse", "shuffle"})
_SHARES = (ast.Global, ast.Nonlocal)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))

_Known = dict[str, ast.expr]


def texts_of(tree: ast.AST) -> WrittenTexts:
    """Give what the expressions of a file come to, each name where it stands."""
    given = constants_of(tree)
    texts = WrittenTexts(given, lambda one: _key(one, given))
    shared = {n for one in ast.walk(tree) if isinstance(one, _SHARES) for n in one.names}
    _Flow(given, texts, frozenset(shared)).body(getattr(tree, "body", ()))
    return texts


def chain_of(call: ast.Call, texts: WrittenTexts) -> list[ast.Call]:
    """Give a call, the one whose outcome it is a method of, and so on, also by way of names."""
    chain = [call]
    while isinstance(chain[-1].func, ast.Attribute):
        inner = texts.meant(chain[-1].func.value)
        if not isinstance(inner, ast.Call) or any(inner is one for one in chain):
            break
        chain.append(inner)
    return chain


def _key(node: ast.expr, given: dict[str, list[ast.expr]]) -> str | None:
    if not isinstance(node, ast.Name):
        return None
    place = _place(node)
    return place if place in given else node.id


def _place(node: ast.Name) -> str:
    """Name the one place where a name is read; no name of Python is a number."""
    return str(id(node))


@dataclass(slots=True)
class _Flow:
    """Goes through the statements of a file, a function or a class, in their order."""

    given: dict[str, list[ast.expr]]
    texts: WrittenTexts
    shared: frozenset[str]
    """Names that functions give a value from outside, so that nobody knows it."""

    known: _Known = field(default_factory=dict)

    def body(self, statements: Iterable[ast.stmt]) -> None:
        """Go through statements that run one after the other."""
        for one in statements:
            if isinstance(one, (*FUNCTIONS, ast.ClassDef)):
                _Flow(self.given, self.texts, self.shared).body(one.body)
                self.known.pop(one.name, None)
            elif isinstance(one, (ast.With, ast.AsyncWith)):
                self._read([each for item in one.items for each in ast.iter_child_nodes(item)])
                self.body(one.body)
            elif isinstance(one, (ast.If, ast.Match, *_LOOPS, *_TRIES)):
                self._perhaps(one)
            else:
                self._read([one])
                for target, value in assigned(one):
                    if isinstance(target, ast.Name) and target.id not in self.shared:
                        self.known[target.id] = value

    def _read(self, nodes: Iterable[ast.AST]) -> None:
        """Say what names stand for, and forget those that get another value, or are changed."""
        each = [inner for node in nodes for inner in ast.walk(node)]
        lambdas = [one for one in each if isinstance(one, ast.Lambda)]
        later = {id(inner) for one in lambdas for inner in ast.walk(one)}
        inside = {n for one in each if isinstance(one, ast.comprehension) for n in _bound_in(one)}
        for one in each:
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                value = self.known.get(one.id)
                if value is not None and id(one) not in later and one.id not in inside:
                    self.given[_place(one)] = [value]
        self._change(each)
        for name in [name for one in each for name in bound_by(one)]:
            self.known.pop(name, None)

    def _change(self, nodes: Iterable[ast.AST]) -> None:
        """Forget lists that may be changed in their place, and be in doubt about pipelines."""
        for one in nodes:
            if isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load):
                self._touch([one.value])
            elif isinstance(one, ast.Call):
                if isinstance(one.func, ast.Attribute) and called(one) not in _ORDERS:
                    self._touch([one.func.value])
                if called(one) not in _LOOKS | _ORDERS:
                    handed = [*one.args, *(word.value for word in one.keywords)]
                    self._touch(handed)
                    for name in (each.id for each in handed if isinstance(each, ast.Name)):
                        if name in self.known:
                            self.known[name] = self._in_doubt(self.known[name])

    def _touch(self, nodes: Iterable[ast.expr]) -> None:
        for name in [one.id for one in nodes if isinstance(one, ast.Name)]:
            value = self.known.get(name) or next(iter(self.given.get(name, ())), None)
            value = None if value is None else self.texts.meant(value)
            is_made = isinstance(value, ast.Call) and called(value) in _MADE
            if is_made or isinstance(value, _CHANGED):
                same = [n for n, its in self.known.items() if self.texts.meant(its) is value]
                for each in (name, *same):
                    self.known.pop(each, None)
                    self.given.pop(each, None)

    def _perhaps(self, node: ast.stmt) -> None:
        """Take for not known what only some runs give, and what a loop gives again and again."""
        before = self.known
        start = {name: self._in_doubt(value) for name, value in before.items()}
        again = self._again(node, start, before)
        self.known = dict(again if isinstance(node, _LOOPS) else start)
        self._read(_heads(node))
        ends = [self.known]
        for number, block in enumerate(_blocks(node)):
            goes_on = isinstance(node, (ast.If, ast.Match)) or (
                isinstance(node, _TRIES) and not number
            )
            self.known = {n: v for n, v in (start if goes_on else again).items() if n in ends[0]}
            self.body(block)
            ends.append(self.known)
        leaving = ast.Return if isinstance(node, _LOOPS) else (ast.Return, ast.Break, ast.Continue)
        leaves = any(isinstance(one, leaving) for one in ast.walk(node))
        self.known = {}
        for name, value in before.items():
            same = all(one.get(name) is start[name] for one in ends)
            if same and not leaves:
                self.known[name] = value
            elif same or start[name] is not value:
                self.known[name] = start[name]

    def _again(self, node: ast.stmt, start: _Known, before: _Known) -> _Known:
        """Give what is known in a block that others have run before, or it itself."""
        self.known = dict(start)
        self._change(ast.walk(node))
        bound = _bound_in(node)
        return {
            name: value
            for name, value in self.known.items()
            if name not in bound or value is not before[name]
        }

    def _in_doubt(self, value: ast.expr) -> ast.expr:
        """Give a pipeline with a stage of which nobody knows; anything else as it is."""
        call = self.texts.meant(value)
        if not isinstance(call, ast.Call) or called(chain_of(call, self.texts)[-1]) not in ROOTS:
            return value
        more = ast.Attribute(value=call, attr=_PERHAPS, ctx=ast.Load())
        doubt = ast.Call(func=more, args=[], keywords=[])
        return ast.fix_missing_locations(ast.copy_location(doubt, call))


def _bound_in(node: ast.AST) -> set[str]:
    return {name for one in ast.walk(node) for name in bound_by(one)}


def _heads(node: ast.stmt) -> Iterator[ast.AST]:
    """Give what is gone through before the blocks of a statement."""
    names = ("test", "target", "iter", "subject")
    yield from (getattr(node, name) for name in names if hasattr(node, name))


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Give the statements of each block that runs or not."""
    inner = [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]
    each = [getattr(node, name, []) for name in ("body", "orelse")]
    each += [*(one.body for one in inner), getattr(node, "finalbody", [])]
    yield from filter(None, each)
