"""Says what the names of a source stand for where each is read, by the order of its statements.

What only some runs give a name is not known: behind a test, in a loop, by a function that shares
it. Of a pipeline what was done to it before goes on to be known, and of a list of its stages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from preflight.pipelines.names.command_line import PARSES
from preflight.pipelines.names.handed_over import HandedOver, OwnFunction
from preflight.pipelines.names.meanings import ROOTS, Meanings, chain_of, place_of
from preflight.pipelines.names.nested_blocks import (
    added_by,
    blocks,
    bound_in,
    heads,
    is_grown,
    opened,
)
from preflight.syntax.given_values import assigned, bound_by, constants_of
from preflight.syntax.parsing import children, everything_in, nodes_of
from preflight.syntax.running import FUNCTIONS
from preflight.syntax.surroundings import called

_PERHAPS = "a stage that not every run adds"

# Functions whose outcome is what another one gives.
_GIVEN_ON = 5

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


def meanings_in(
    trees: Sequence[ast.AST], words: Sequence[str] = (), *, as_handed: bool = True
) -> Meanings:
    """Go through files that belong together, and where asked by what calls hand over."""
    job = _Job(Meanings(handed=HandedOver(words=words)))
    job.read(trees, as_handed=as_handed)
    return job.meanings


@dataclass(slots=True)
class _Job:
    """Goes through files that belong together: each function behind those that call it."""

    meanings: Meanings
    waiting: dict[int, tuple[OwnFunction, _Flow]] = field(default_factory=dict)
    """Functions whose statements nobody has gone through yet."""

    def read(self, trees: Sequence[ast.AST], *, as_handed: bool = True) -> None:
        """Go through files that belong together, and where asked by what calls hand over."""
        for number, tree in enumerate(trees):
            if number:
                each = (n for n in nodes_of(tree) if isinstance(n, (ast.Name, ast.Call)))
                self.meanings.files |= {id(n): number for n in each}
            for name, values in constants_of(tree).items():
                self.meanings.given[f"{number}:{name}" if number else name] = values
            if as_handed:
                self.meanings.handed.read(tree)
        flows = []
        for tree in trees:
            shared = {n for one in nodes_of(tree) if isinstance(one, _SHARES) for n in one.names}
            flows.append(_Flow(self, frozenset(shared)))
        own = {
            id(one.node): one for each in self.meanings.handed.functions.values() for one in each
        }
        for tree, flow in zip(trees, flows, strict=True):
            if as_handed:
                those = (own[id(one)] for one in nodes_of(tree) if isinstance(one, FUNCTIONS))
                self.waiting |= {id(one.node): (one, flow) for one in those}
        for tree, flow in zip(trees, flows, strict=True):
            flow.body(getattr(tree, "body", ()))
        for one in [*self.waiting]:
            self.go_through(one)

    def go_through(self, function: int) -> None:
        """Go through a function, behind those that call it."""
        own, flow = self.waiting.pop(function, (None, None))
        if own is None or flow is None:
            return
        for one in self.meanings.handed.callers(own):
            self.go_through(id(one.node))
        given = self.meanings.handed.parameters(own)
        _Flow(self, flow.shared, dict(given), own.of).body(own.node.body)

    def attribute(self, node: ast.Attribute, of: str) -> None:
        """Say what an attribute stands for, where that is known of what has it."""
        holder = self.meanings.texts.meant(node.value)
        for _ in range(_GIVEN_ON):  # what a function returns
            own = self.meanings.handed.meant_by(holder) if isinstance(holder, ast.Call) else None
            if own is None:
                break
            self.go_through(id(own.node))
            ends = [one for one in everything_in(own.node) if isinstance(one, ast.Return)]
            if len(ends) != 1 or ends[0].value is None:
                return
            holder = self.meanings.texts.meant(ends[0].value)
        value = self.meanings.handed.attribute(holder, node.attr, of)
        if value is not None:
            self.meanings.given[place_of(node)] = [value]


@dataclass(slots=True)
class _Flow:
    """Goes through the statements of a file, a function or a class, in their order."""

    job: _Job
    shared: frozenset[str]
    """Names that functions give a value from outside, so that nobody knows it."""

    known: _Known = field(default_factory=dict)
    of: str = ""
    """The class whose method this is."""

    def body(self, statements: Iterable[ast.stmt]) -> None:
        """Go through statements that run one after the other."""
        for one in statements:
            if isinstance(one, (*FUNCTIONS, ast.ClassDef)):
                if isinstance(one, ast.ClassDef) or not self.job.meanings.handed.functions:
                    _Flow(self.job, self.shared).body(one.body)
                self.known.pop(one.name, None)
            elif isinstance(one, (ast.With, ast.AsyncWith)):
                self._read([each for item in one.items for each in children(item)])
                self.known |= opened(one.items, self.shared)
                self.body(one.body)
            elif isinstance(one, (ast.If, ast.Match, *_LOOPS, *_TRIES)):
                self._perhaps(one)
            else:
                grown = self._grown(one)
                self._read([one])
                self._give(one)
                self.known |= grown

    def _give(self, statement: ast.stmt) -> None:
        for target, value in assigned(statement):
            is_parsed = isinstance(value, ast.Call) and called(value) in PARSES
            elts = target.elts if isinstance(target, ast.Tuple) and is_parsed else []
            first = elts[0] if elts else target  # `args, rest = parser.parse_known_args()`
            if isinstance(first, ast.Name) and first.id not in self.shared:
                self.known[first.id] = value

    def _grown(self, statement: ast.stmt) -> _Known:
        """Give lists and pipelines to which a statement adds something, by their names."""
        name, more = added_by(statement) or ("", None)
        if more is None:
            return {}
        value = self.known.get(name)
        before = None if value is None else self.job.meanings.texts.meant(value)
        if before is None:
            return {}
        if isinstance(before, ast.List):
            new: ast.expr = ast.List([*before.elts, ast.Starred(more, ast.Load())], ast.Load())
        elif self._begin(before) is not None:
            new = ast.Call(
                func=ast.Attribute(before, "compose", ast.Load()),
                args=[ast.Starred(more, ast.Load())],
                keywords=[],
            )
        else:
            return {}
        ast.fix_missing_locations(ast.copy_location(new, statement))
        self._remember(new)
        self.job.meanings.adding.add(id(getattr(statement, "value", None)))
        same = [n for n, its in self.known.items() if self.job.meanings.texts.meant(its) is before]
        return dict.fromkeys(same, new)

    def _begin(self, value: ast.expr) -> ast.Call | None:
        """Give the call with which a pipeline begins; None of anything else."""
        end = chain_of(value, self.job.meanings.texts)[-1] if isinstance(value, ast.Call) else None
        return end if end is not None and called(end) in ROOTS else None

    def _remember(self, value: ast.expr) -> None:
        begin = self._begin(value)
        if begin is not None and isinstance(value, ast.Call):
            self.job.meanings.grown[id(begin)] = self.job.meanings.at_home(value, begin)

    def _read(self, nodes: Iterable[ast.AST]) -> None:
        """Say what names stand for, and forget those that get another value, or are changed."""
        each = [inner for node in nodes for inner in everything_in(node)]
        lambdas = [one for one in each if isinstance(one, ast.Lambda)]
        later = {id(inner) for one in lambdas for inner in everything_in(one)}
        inside = {n for one in each if isinstance(one, ast.comprehension) for n in bound_in(one)}
        for one in each:
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
                value = self.known.get(one.id)
                if value is not None and id(one) not in later and one.id not in inside:
                    self.job.meanings.given[place_of(one)] = [value]
        for one in reversed(each):  # what has something comes before what it has
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load):
                self.job.attribute(one, self.of)
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
        for node in [one for one in nodes if isinstance(one, ast.Name)]:
            name, constant = node.id, self.job.meanings.constant(node, node.id)
            given, texts = self.job.meanings.given, self.job.meanings.texts
            value = self.known.get(name) or next(iter(given.get(constant, ())), None)
            value = None if value is None else texts.meant(value)
            is_made = isinstance(value, ast.Call) and called(value) in _MADE
            if is_made or isinstance(value, _CHANGED):
                same = [n for n, its in self.known.items() if texts.meant(its) is value]
                for each in (name, *same):
                    self.known.pop(each, None)
                    given.pop(self.job.meanings.constant(node, each), None)

    def _perhaps(self, node: ast.stmt) -> None:
        """Take for not known what only some runs give, and what a loop gives again and again."""
        before = self.known
        start, grown = (
            {n: self._in_doubt(its) for n, its in before.items()},
            {**self.job.meanings.grown},
        )
        again = self._again(node, start, before)
        self.known = dict(again if isinstance(node, _LOOPS) else start)
        self._read(heads(node))
        ends = [self.known]
        for number, block in enumerate(blocks(node)):
            goes_on = isinstance(node, (ast.If, ast.Match)) or (
                isinstance(node, _TRIES) and not number
            )
            self.known = {n: v for n, v in (start if goes_on else again).items() if n in ends[0]}
            self.body(block)
            ends.append(self.known)
        leaving = ast.Return if isinstance(node, _LOOPS) else (ast.Return, ast.Break, ast.Continue)
        leaves = any(isinstance(one, leaving) for one in everything_in(node))
        self.known = {}
        for name, value in before.items():
            same = all(one.get(name) is start[name] for one in ends)
            if same and not leaves:
                self.known[name] = value
            elif same or start[name] is not value:
                self.known[name] = start[name]
                begin = self._begin(start[name])
                if self.job.meanings.grown.get(id(begin)) is not grown.get(id(begin)):
                    self._remember(start[name])
            elif all(is_grown(one.get(name), value) for one in ends):
                doubt = ast.Call(ast.Name(_PERHAPS, ast.Load()), [], [])
                each = [*getattr(value, "elts", ()), doubt]
                new = ast.copy_location(ast.List(each, ast.Load()), value)
                self.known[name] = ast.fix_missing_locations(new)

    def _again(self, node: ast.stmt, start: _Known, before: _Known) -> _Known:
        """Give what is known in a block that others have run before, or it itself."""
        self.known = dict(start)
        self._change(everything_in(node))
        bound = bound_in(node)
        return {
            name: value
            for name, value in self.known.items()
            if name not in bound or value is not before[name]
        }

    def _in_doubt(self, value: ast.expr) -> ast.expr:
        """Give a pipeline with a stage of which nobody knows; anything else as it is."""
        call = self.job.meanings.texts.meant(value)
        if self._begin(call) is None:
            return value
        more = ast.Attribute(value=call, attr=_PERHAPS, ctx=ast.Load())
        doubt = self.job.meanings.at_home(ast.Call(func=more, args=[], keywords=[]), call)
        return ast.fix_missing_locations(ast.copy_location(doubt, call))
