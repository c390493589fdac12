"""Says what calls hand to parameters, what options are by default, and what fields classes have.

It is what the files say that are read together: another file may call a function, too, and a
command line may give an option another value. What is a default only is said to be one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from preflight.pipelines.names.command_line import PARSES, given_in_words, is_told
from preflight.pipelines.names.own_calls import (
    BEGINS_ANEW,
    by_class,
    is_of_hydra,
    made_with,
    may_be_called,
)
from preflight.syntax.given_values import OPTIONS, assigned, bound_by, defaults, given_by
from preflight.syntax.parsing import children, everything_in
from preflight.syntax.running import FUNCTIONS, is_none, last_name, text_of
from preflight.syntax.surroundings import called

# They call the function that they are handed as it is, with words of a command line.
_RUNS_IT = frozenset({"Fire", "run", "cli", "main", "command"})

# What options are read as that leaves a path what it is.
_TEXTS = frozenset({"", "str", "Path", "expanduser", "abspath"})

_OF_PARAMETERS = frozenset({"option", "Option", "Argument", "argument"})


@dataclass(frozen=True, eq=False)
class OwnFunction:
    """A function of the files, with the class that it is a method of."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    of: str = ""

    @property
    def name(self) -> str:
        """What calls it."""
        return self.of if self.of and self.node.name == "__init__" else self.node.name


@dataclass(slots=True)
class HandedOver:
    """What some files hand to functions, options and classes, all of them taken together."""

    words: Sequence[str] = ()
    """What the script is given on its command line, as far as that is known."""

    functions: dict[str, list[OwnFunction]] = field(default_factory=dict)
    classes: dict[str, list[ast.ClassDef]] = field(default_factory=dict)
    calls: dict[str, list[ast.Call]] = field(default_factory=dict)
    within: dict[int, OwnFunction | None] = field(default_factory=dict)
    """The function in which each call stands."""

    named: dict[str, list[str]] = field(default_factory=dict)
    """Names that are read and not called, each with what it is handed to."""

    options: dict[str, list[ast.Call]] = field(default_factory=dict)
    stored: Counter[str] = field(default_factory=Counter)
    """Attributes that get a value, but for those of `self`; an empty name: any may."""

    of_self: dict[tuple[str, str], list[ast.expr]] = field(default_factory=dict)
    """What attributes of `self` are given, by their class."""

    defaults: dict[int, str] = field(default_factory=dict)
    """By what they are, values that nobody is known to give: what each is the default of."""

    def read(self, tree: ast.AST) -> None:
        """Take in one file."""
        waiting: list[tuple[ast.AST, OwnFunction | None, str]] = [(tree, None, "")]
        while waiting:
            node, own, of = waiting.pop()
            callee = node.func if isinstance(node, ast.Call) else None
            by = called(node) if isinstance(node, ast.Call) else by_class(node)
            for one in children(node):
                inner, its = own, of
                if isinstance(one, FUNCTIONS):
                    inner, its = OwnFunction(one, of), ""
                    self.functions.setdefault(inner.name, []).append(inner)
                elif isinstance(one, ast.ClassDef):
                    its = one.name
                    self.classes.setdefault(one.name, []).append(one)
                elif isinstance(one, ast.Call):
                    self._call(one, own)
                elif isinstance(one, ast.stmt) and own is not None and own.of:
                    self._store(one, own.of)
                elif isinstance(one, (ast.Name, ast.Attribute)) and one is not callee:
                    self._name(one, by)
                waiting.append((one, inner, its))

    def _store(self, statement: ast.stmt, of: str) -> None:
        for target, value in assigned(statement):
            if isinstance(target, ast.Attribute) and last_name(target.value) == "self":
                self.of_self.setdefault((of, target.attr), []).append(value)

    def _name(self, node: ast.Name | ast.Attribute, by: str) -> None:
        if isinstance(node.ctx, ast.Load):
            self.named.setdefault(last_name(node), []).append(by)
        elif isinstance(node, ast.Attribute) and last_name(node.value) != "self":
            self.stored[node.attr] += 1

    def _call(self, call: ast.Call, own: OwnFunction | None) -> None:
        name = called(call)
        self.calls.setdefault(name, []).append(call)
        self.within[id(call)] = own
        if name in OPTIONS:
            for option, _ in given_by(call):
                self.options.setdefault(option, []).append(call)
        elif name == "set_defaults":
            self.stored.update(one.arg or "" for one in call.keywords)
        elif name == "setattr" and len(call.args) > 1:
            self.stored[text_of(call.args[1]) or ""] += 1
        elif name == "update" and isinstance(call.func, ast.Attribute):
            holder = call.func.value
            is_of = isinstance(holder, ast.Call) and called(holder) == "vars"
            self.stored[""] += is_of or last_name(holder) == "__dict__"

    def made_of(self, bases: Iterable[str]) -> Iterator[ast.Call]:
        """Give the first call of each class that comes from one of these, however far."""
        names, known = {*bases}, 0
        while known < len(names):
            known = len(names)
            names |= {
                name
                for name, each in self.classes.items()
                if any(last_name(base) in names for one in each for base in one.bases)
            }
        yield from (self.calls[one][0] for one in self.classes if one in names & self.calls.keys())

    # --- parameters

    def meant_by(self, call: ast.Call) -> OwnFunction | None:
        """Give the one own function, and no class, that a call can mean."""
        each = self.functions.get(called(call), [])
        each = [
            one
            for one in each
            if len(each) == 1 or may_be_called(one.node, call, is_bound=bool(one.of))
        ]
        return each[0] if len(each) == 1 and each[0].node.name != "__init__" else None

    def callers(self, own: OwnFunction) -> Iterator[OwnFunction]:
        """Give the functions in which a function is called."""
        each = (self.within.get(id(one)) for one in self.calls.get(own.name, ()))
        yield from (one for one in each if one is not None)

    def parameters(self, own: OwnFunction) -> dict[str, ast.expr]:
        """Give what the parameters of a function are given, where all calls say the same."""
        names = [one.arg for one in (*own.node.args.posonlyargs, *own.node.args.args)]
        is_bound = bool(own.of) and "staticmethod" not in map(last_name, own.node.decorator_list)
        if len(self.functions.get(own.name, ())) != 1 or not self._only_called(own.name):
            return {}
        found: dict[str, ast.expr] = {}
        for name, default in defaults(own.node.args):
            place = names.index(name) - is_bound if name in names else -1
            value = self._same(own, name, place)
            if value is None and not self._is_given(own, name, place):
                value = self._default(own, name, default)
            if value is not None:
                found[name] = value
        return found

    def _only_called(self, name: str) -> bool:
        return all(by in _RUNS_IT | {BEGINS_ANEW} for by in self.named.get(name, ()))

    def _given(self, own: OwnFunction, name: str, place: int) -> Iterator[ast.expr | None]:
        """Give what each call gives; `...` where that is not written out, None for nothing."""
        for call in self.calls.get(own.name, ()):
            words = {one.arg: one.value for one in call.keywords}
            if None in words or any(isinstance(one, ast.Starred) for one in call.args):
                yield ast.Constant(...)
            elif name in words:
                yield words[name]
            else:
                yield call.args[place] if 0 <= place < len(call.args) else None

    def _is_given(self, own: OwnFunction, name: str, place: int) -> bool:
        return any(one is not None for one in self._given(own, name, place))

    def _same(self, own: OwnFunction, name: str, place: int) -> ast.expr | None:
        """Give what all calls give: one text, or one name of one function that has one value."""
        each = list(self._given(own, name, place))
        first = each[0] if each else None
        if first is None or (isinstance(first, ast.Constant) and first.value is ...):
            return None
        if len(each) == 1 or isinstance(first, ast.Constant):
            value = getattr(first, "value", None)
            return first if all(getattr(one, "value", one) == value for one in each[1:]) else None
        around = {self.within.get(id(one)) for one in self.calls[own.name]}
        root = first
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or len(around) != 1:
            return None
        text = ast.unparse(first)
        one_name = all(one is not None and ast.unparse(one) == text for one in each)
        by = around.pop()
        bound = [n for node in everything_in(by.node) for n in bound_by(node)] if by else []
        return first if one_name and bound.count(root.id) == 1 else None

    def _default(self, own: OwnFunction, name: str, default: ast.expr | None) -> ast.expr | None:
        """Give the default of a parameter, or of the option that a decorator makes of it."""
        if isinstance(default, ast.Call) and called(default) in _OF_PARAMETERS:
            default = default.args[0] if default.args else None
        for one in own.node.decorator_list if default is None else ():
            if isinstance(one, ast.Call) and called(one) in OPTIONS and name in dict(given_by(one)):
                return self._of_option(name)
            if is_of_hydra(one):
                return one
        if default is None:
            node = next((one for one in _arguments(own) if one.arg == name), None)
            said = node.annotation if node else None
            is_own = isinstance(said, ast.Name) and len(self.classes.get(said.id, ())) == 1
            return ast.Call(ast.Name("cli", ast.Load()), [said], []) if is_own and said else None
        return self._as_default(default, f"the default of {name} of {own.name}()")

    def _as_default(self, value: ast.expr, of: str) -> ast.expr | None:
        if is_none(value):
            return None
        self.defaults[id(value)] = of
        return value

    # --- attributes

    def attribute(self, holder: ast.expr, name: str, of: str) -> ast.expr | None:
        """Give what an attribute is; in a class, `of` is its name."""
        if isinstance(holder, ast.Name) and holder.id == "self" and of:
            stored = self.of_self.get((of, name), ())
            if stored:
                return stored[0] if len(stored) == 1 else None
            return self._of_class(of, name, self.calls.get(of, ()))
        if isinstance(holder, ast.Name) and holder.id in self.classes:
            return self._of_class(holder.id, name, ())
        if not isinstance(holder, ast.Call):
            return None
        if called(holder) in PARSES:
            return None if is_told(holder) else self._of_option(name)
        if called(holder) in self.classes:
            return self._of_class(called(holder), name, [holder])
        words = [*holder.args, *(one.value for one in holder.keywords)]
        those = [last_name(one) for one in words if last_name(one) in self.classes]
        return self._of_class(those[0], name, ()) if len(those) == 1 else None

    def _of_option(self, name: str) -> ast.expr | None:
        calls = self.options.get(name, [])
        if len(calls) != 1 or self.stored[name] or self.stored[""]:
            return None
        words = {one.arg: one.value for one in calls[0].keywords}
        default, read_as = words.get("default"), words.get("type")
        is_text = last_name(read_as) in _TEXTS and (read_as is None or last_name(read_as) != "")
        required = words.get("required")
        is_asked = isinstance(required, ast.Constant) and required.value is True
        given = given_in_words(calls[0], self.calls.get("add_argument", ()), self.words)
        if given is not None:
            return given if is_text and not {"action", "nargs"} & words.keys() else None
        if default is None or not is_text or is_asked or "action" in words:
            return None
        first = next(filter(None, map(text_of, calls[0].args[::-1])), name)
        return self._as_default(default, f"the default of {first}")

    def _of_class(self, of: str, name: str, made: Iterable[ast.Call]) -> ast.expr | None:
        """Give a field of a class, by what its objects are made with, or by its default."""
        nodes = self.classes.get(of, ())
        if len(nodes) != 1 or self.stored[name] or self.stored[""] or (of, name) in self.of_self:
            return None
        fields = {
            one.target.id: one.value
            for one in nodes[0].body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        for one in nodes[0].body:
            if isinstance(one, ast.Assign):
                fields |= {n.id: one.value for n in one.targets if isinstance(n, ast.Name)}
        place = [*fields].index(name) if name in fields else -1
        given = [made_with(one, place, name) for one in made]
        if any(one is not None for one in given):
            return given[0] if len(given) == 1 else None
        default = fields.get(name)
        if isinstance(default, ast.Call) and called(default) in ("field", "Field"):
            words = {one.arg: one.value for one in default.keywords}
            factory = words.get("default_factory")
            default = words.get("default", default.args[0] if default.args else None)
            if isinstance(factory, ast.Name) and factory.id in self.classes:
                default = ast.Call(factory, [], [])
        return None if default is None else self._as_default(default, f"the default of {of}.{name}")


def _arguments(function: OwnFunction) -> list[ast.arg]:
    given = function.node.args
    return [*given.posonlyargs, *given.args, *given.kwonlyargs]
