"""Says whether a program was ended since it has asked for a GPU, and got none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from preflight.objects.source_trees import source_of
from preflight.syntax.outcomes import COMPARED
from preflight.syntax.running import FUNCTIONS, called_in, truth
from preflight.users_code.lacks.ending_tests import ends, given_to, innermost_test, statements_at

ASKS_FOR_GPU = re.compile(r"\b(?:cuda|accelerator|mps|xpu)\.(?:is_available|device_count)\(")

# What stands in each source that asks, however it is laid out.
_NAMES_WHAT_ASKS = re.compile(r"\b(?:is_available|device_count)\b")

_OF_CUDA = re.compile(r"\bcuda\.(?:is_available|device_count)\(\)$")


def stands_behind_gpu(file: str, line: int) -> bool:
    """Whether a line asserts that there is a GPU, or ends behind the innermost `if` that asks so.

    What merely goes wrong there is not meant: it is a fault of the code for the CPU. It may ask by
    a name that was given what is asked, or by a function of the file that returns it.
    """
    tree, here = statements_at(file, line)
    test = innermost_test(here)
    if test is None or not any(map(ends, here)):
        return False
    returned = (value for name in called_in(test.test) for value in _returned(tree, name))
    return _asks(tree, test.test) or any(_asks(function, value) for function, value in returned)


def counts_gpus(file: str, line: int) -> bool:
    """Whether a line computes with a name that was given the number of GPUs."""
    tree, here = statements_at(file, line)
    simple = [one for one in here if not hasattr(one, "body")]
    return any(_asks(tree, one) for one in simple)


def counts_for_processes(file: str, line: int) -> bool:
    """Whether a line counts GPUs in a file that starts as many processes as something says."""
    tree, here = statements_at(file, line)
    simple = [one for one in here if not hasattr(one, "body")]
    numbers = (one.value for one in ast.walk(tree) if _is_named(one, "nprocs"))
    return any("device_count" in ast.unparse(one) for one in simple) and any(
        not isinstance(one, ast.Constant) for one in numbers
    )


def ends_but_for_cuda(file: str, line: int) -> bool:
    """Whether the test at a line, or around it, ends the program, and would not with one GPU."""
    test = innermost_test(statements_at(file, line)[1])
    if test is None:
        return False
    answer = truth(test.test, _with_one_gpu)
    if isinstance(test, ast.Assert):
        return answer is True
    branch = {True: test.orelse, False: test.body}.get(answer, []) if answer is not None else []
    return any(map(ends, branch))


def left_without_gpu(file: str) -> int | None:
    """Give the line of a test by which a program does nothing more where there is no GPU.

    It returns nothing there, or calls a function of its own where there is one.
    """
    if not _NAMES_WHAT_ASKS.search(source_of(file)):  # to parse all modules of a job takes long
        return None
    tree, _ = statements_at(file, 0)
    own = {one.name for one in ast.walk(tree) if isinstance(one, FUNCTIONS)}
    for one in ast.walk(tree):
        if isinstance(one, ast.If) and _asks(tree, one.test):
            ends = any(isinstance(each, ast.Return) and not each.value for each in one.body)
            calls = {name for each in one.body for name in called_in(each)}
            if ends or (own & calls and not one.orelse):
                return one.lineno
    return None


def _is_named(node: ast.AST, name: str) -> TypeGuard[ast.keyword]:
    return isinstance(node, ast.keyword) and node.arg == name


def _with_one_gpu(test: ast.expr) -> bool | None:
    """Say how a part of a test comes out where there is one GPU; None: that is not known."""
    match test:
        case ast.Call() if _OF_CUDA.search(ast.unparse(test)):
            return True
        case ast.Compare(
            left=ast.Call() as call, ops=[by], comparators=[ast.Constant(value=other)]
        ):
            if _OF_CUDA.search(ast.unparse(call)) and isinstance(other, int):
                return COMPARED[type(by)](1, other) if type(by) in COMPARED else None
    return None


def _asks(within: ast.AST, value: ast.AST) -> bool:
    """Whether an expression asks, or a name in it is given what does."""
    every = (value, *given_to(within, value))
    return any(ASKS_FOR_GPU.search(ast.unparse(one)) for one in every)


def _returned(tree: ast.AST, name: str) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Give what the functions of this name return."""
    for function in ast.walk(tree):
        if isinstance(function, FUNCTIONS) and function.name == name:
            for one in ast.walk(function):
                if isinstance(one, ast.Return) and one.value is not None:
                    yield function, one.value
