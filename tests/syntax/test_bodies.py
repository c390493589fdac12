"""All that runs in a function is gone over once, whatever stands in it."""

from __future__ import annotations

import ast

from preflight.syntax.bodies import own, stored

TEXT = """
match value:
    case True | None | 1.5 | "a" | a.b:
        pass
    case [first, *rest] | {"k": first, **rest} | Point(x=first, y=rest) as whole:
        print(f"{first!r:>{rest}}", ..., -1j, b"", not whole, lambda one=2: one)
    case _:
        global g
        del g
        import a.b as c, d
        async def waits(*args: int, k: str = "", **more) -> None: ...
@decorator(1)
class Held(Base, metaclass=Meta): kept = 1
with open(a) as f, b: x = y[1:2, ...] = {**a, 1: 2}
try: raise A from b
except (B, C) as error: z = [e for e in it if (w := e) < 1 <= 2]
else: assert a, {1, *b}
finally: a = b = yield_ or (c and d) if e else (f @ g)
"""


def _expected(node: ast.AST) -> list[ast.AST]:
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    inner = [] if isinstance(node, scopes) else ast.iter_child_nodes(node)
    return [node, *(below for one in inner for below in _expected(one))]


def test_all_nodes_are_given_in_order_but_for_what_runs_elsewhere() -> None:
    body = ast.parse(TEXT).body
    every = [one for each in body for one in _expected(each)]

    assert [*own(body)] == [one for one in every if not isinstance(one, ast.expr_context)]


def test_names_are_given_values_by_whatever_gives_them() -> None:
    given = {*("first", "rest", "whole", "c", "d", "waits", "Held", "f", "x", "error", "z", "w")}

    assert stored(ast.parse(TEXT).body) == given | {"a", "b"}
