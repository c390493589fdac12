"""Finds handlers that read a name which only their `try` binds, after what may raise."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from preflight.sources.flaws.facts import Spot, UnboundRead
from preflight.sources.flaws.own_raises import OwnRaises, Suspects, suspects_in
from preflight.sources.flaws.raising import USUAL, Caught, begin_of, caught_by, raisers
from preflight.syntax.bodies import (
    DEFINITIONS,
    TRIES,
    Body,
    loads,
    own,
    parameters,
    parts,
    stored,
    text_at,
)
from preflight.syntax.parsing import Parsed, code_of
from preflight.syntax.running import header, last_name

_LEAVE = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_GROWS = frozenset({"add", "append", "extend", "insert", "update"})
# They go over, or end, what may do anything; and what is left out of what raises, and may here.
_MAY_DO_MORE = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom)
_TOUCH_FILES = frozenset(
    {"flush", "exists", "isfile", "isdir", "is_file", "is_dir", "getcwd", "cwd", "realpath", "copy"}
)
_ASK_FOR_NAMES = frozenset({"locals", "vars", "globals", "dir"})


def unbound_reads(
    body: Body, parsed: Parsed, file: str, raises: OwnRaises
) -> Iterator[UnboundRead]:
    """Give the first read of each such name in each handler of a function."""
    others: set[str] | None = None
    for node, known in _tries(body.node.body):
        inside = stored(node.body) - known
        if inside and others is None:
            others = parameters(body) | _of_others(body, parsed.tree)
        if not inside or others is None or "*" in others:
            continue
        taken: frozenset[str] = frozenset()
        for handler in node.handlers:
            caught = caught_by(handler)._replace(taken=taken)
            taken |= caught.names
            suspects = suspects_in(node.body, caught, body, raises)
            begin = begin_of(node.body, suspects.begins)
            open_names = inside - others - begin.bound - {handler.name}
            if begin.first is None or not open_names or not caught.is_ours:
                continue
            first = begin.first.node
            changed = frozenset(_changed(node.body) - open_names)
            reads = _Reads(frozenset(open_names), changed | {handler.name or ""})
            reads.follow(handler.body, in_any_case=True)
            by_error = _Reads(frozenset(open_names), changed)
            by_error.follow(handler.body, in_any_case=True)
            for name, (read, in_any_case) in (by_error.found | reads.found).items():
                bound = _bound_in(node.body, name)
                never = _is_never_bound(node.body, bound, suspects, caught)
                # A test of the error tells how far the `try` came, unless no error comes later.
                if not (never or (suspects.are_known and name in reads.found)):
                    continue
                yield UnboundRead(
                    file=file,
                    line=read.lineno,
                    text=text_at(parsed.lines, read.lineno),
                    name=name,
                    inside=body.name,
                    handler=f"except {code_of(handler.type, parsed.lines)}"
                    if handler.type is not None
                    else "except",
                    raises=Spot(first.lineno, code_of(first, parsed.lines)),
                    bound=bound.lineno,
                    is_sure=never and in_any_case,
                    is_usual=bool(caught.names & USUAL),
                )


def _of_others(body: Body, tree: ast.Module) -> set[str]:
    """Give names that somebody else may have given a value; `*` where that may be any."""
    if isinstance(body.node, ast.Module):
        every = list(ast.walk(tree))
        stars = any(isinstance(one, ast.ImportFrom) and one.names[0].name == "*" for one in every)
        given = {name for one in every if isinstance(one, ast.Global) for name in one.names}
        return {*dir(builtins), *given, *(["*"] if stars else [])}
    nodes = body.nodes
    declared = (one for one in nodes if isinstance(one, (ast.Global, ast.Nonlocal)))
    return {name for one in declared for name in one.names}


def _tries(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.Try, frozenset[str]]]:
    """Give each `try` of a function with the names that the text before it gives a value to."""
    known: set[str] = set()
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        if isinstance(node, DEFINITIONS):
            known.add(node.name)
            continue
        if isinstance(node, TRIES):
            yield node, frozenset(known)  # `except*` is of a type of its own
        elif isinstance(node, ast.ExceptHandler):
            known.add(node.name or "")
        inner = [one for one in parts(node) if _holds_statements(one)]
        known |= stored(header(node) if inner else [node])
        stack.extend(reversed(inner))


def _holds_statements(node: ast.AST) -> bool:
    return isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case))


def _changed(body: Sequence[ast.stmt]) -> set[str]:
    """Give the names and attributes by which it can be told how far a `try` has come."""
    attributes = [one for one in own(body) if isinstance(one, ast.Attribute)]
    grown = {last_name(one.value) for one in attributes if one.attr in _GROWS} - {""}
    return stored(body) | {one.attr for one in attributes if isinstance(one.ctx, ast.Store)} | grown


def _bound_in(body: Sequence[ast.stmt], name: str) -> ast.stmt:
    """Give the first statement by itself that gives a name its value."""
    each = (one for one in own(body) if isinstance(one, ast.stmt))
    return next(
        one for one in each if name in stored([*header(one), *_plain(one)]) | _given_inside(one)
    )


def _given_inside(statement: ast.stmt) -> set[str]:
    """Give the names of the patterns of a `match`, and of the errors of handlers."""
    names = {one.name for one in getattr(statement, "handlers", ()) if one.name}
    cases = getattr(statement, "cases", ())
    return names | stored(part for one in cases for part in header(one))


def _plain(statement: ast.stmt) -> list[ast.AST]:
    return [] if any(map(_holds_statements, parts(statement))) else [statement]


def _is_never_bound(
    body: Sequence[ast.stmt], bound: ast.stmt, suspects: Suspects, caught: Caught
) -> bool:
    """Whether whatever raises what is caught comes before the name has its value."""
    if not isinstance(bound, (ast.Assign, ast.AnnAssign, ast.Import, ast.ImportFrom)):
        return False
    last = bound.end_lineno or bound.lineno
    found = (
        one for one in raisers(body) if suspects.may(one) or (one.word == "[]" and caught.is_broad)
    )
    if any(one.node.lineno > last for one in found):
        return False
    return not suspects.are_guessed or not _does_more(body, last)


def _does_more(body: Sequence[ast.stmt], last: int) -> bool:
    """Whether anything is done behind a line that may raise what nobody has listed."""
    later = (one for one in own(body) if getattr(one, "lineno", 0) > last)
    return any(
        isinstance(one, _MAY_DO_MORE)
        or (isinstance(one, ast.Call) and last_name(one.func) in _TOUCH_FILES)
        for one in later
    )


@dataclass(slots=True)
class _Reads:
    """Follows a handler from statement to statement, as far as each is surely come to."""

    names: frozenset[str]
    related: frozenset[str]
    """Names that tell how far the `try` has come; what stands behind a test of them is left out."""

    given: set[str] = field(default_factory=set)
    found: dict[str, tuple[ast.Name, bool]] = field(default_factory=dict)

    def follow(self, body: Sequence[ast.stmt], *, in_any_case: bool) -> bool:
        """Take in what statements read, and say whether what follows them is come to."""
        for one in body:
            if isinstance(one, ast.If):
                if not self._branches(one, in_any_case=in_any_case):
                    return False
                in_any_case = in_any_case and not any(isinstance(x, _LEAVE) for x in own([one]))
            elif not self._one(one, in_any_case=in_any_case):
                return False
        return True

    def _one(self, one: ast.stmt, *, in_any_case: bool) -> bool:
        # What goes over a list that the `try` fills comes to nothing where that came to nothing.
        is_loop = isinstance(one, (ast.For, ast.AsyncFor))
        if self._copes(one) or (is_loop and self._tells(one.iter)):  # type: ignore[attr-defined]
            self.given |= stored([one])
            return True
        inner = [part for part in parts(one) if _holds_statements(part)]
        is_scope = isinstance(one, DEFINITIONS)
        if is_scope:
            self.given.add(one.name)  # type: ignore[attr-defined]
        self._read(header(one) if inner else [one], in_any_case=in_any_case)
        self.given |= stored(header(one) if inner else [one])
        if inner and not is_scope:
            with_all = isinstance(one, (ast.With, ast.AsyncWith))
            self._blocks(inner, in_any_case=in_any_case and with_all)
        return not isinstance(one, _LEAVE) and not _exits(one)

    def _blocks(self, inner: Sequence[ast.AST], *, in_any_case: bool) -> None:
        statements = [one for one in inner if isinstance(one, ast.stmt)]
        self.follow(statements, in_any_case=in_any_case)
        for one in inner:
            if isinstance(one, (ast.ExceptHandler, ast.match_case)):
                self.given |= stored([one])

    def _branches(self, one: ast.If, *, in_any_case: bool) -> bool:
        """Follow the branches of a test; one that tells how far the `try` came is left alone."""
        if self._tells(one.test):
            self.given |= stored([one])
            return not any(isinstance(part, _LEAVE) for part in own([one]))
        self._read([one.test], in_any_case=in_any_case)
        first = self.follow(one.body, in_any_case=False)
        rest = one.orelse
        return self.follow(rest, in_any_case=False) or first if rest else True

    def _copes(self, one: ast.stmt) -> bool:
        """Whether a name without a value, or an exception, is looked after here."""
        if isinstance(one, TRIES):
            return True
        is_with = isinstance(one, (ast.With, ast.AsyncWith))
        return isinstance(one, ast.Match) or (is_with and "suppress" in _words(header(one)))

    def _tells(self, test: ast.AST) -> bool:
        words = _words([test])
        return bool(words & self.related or words & _ASK_FOR_NAMES)

    def _read(self, nodes: Sequence[ast.AST], *, in_any_case: bool) -> None:
        for node in nodes:
            doubtful = [
                part
                for part in own([node])
                if isinstance(part, (ast.IfExp, ast.BoolOp)) and self._tells(part)
            ]
            left_out = {id(name) for part in doubtful for name in ast.walk(part)}
            for name in [*loads([node]), *_added_to(node)]:
                fresh = name.id in self.names and name.id not in self.given
                if fresh and id(name) not in left_out:
                    self.found.setdefault(name.id, (name, in_any_case))


def _words(nodes: Sequence[ast.AST]) -> set[str]:
    return {last_name(one) for node in nodes for one in ast.walk(node)} - {""}


def _added_to(node: ast.AST) -> list[ast.Name]:
    added = isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    return [node.target] if added else []  # type: ignore[attr-defined]


def _exits(one: ast.stmt) -> bool:
    call = one.value if isinstance(one, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) in {"exit", "_exit", "quit"}
