"""A source whose text shows no sign of a flaw is not parsed; each way of reading a name is one."""

from __future__ import annotations

import pytest

from preflight.sources.flaws.words import signs_in

TRY = "try:\n    size = ask()\nexcept OSError:\n    {}\n"


@pytest.mark.parametrize(
    "line",
    [
        "log(size)",
        'log(f"{size}")',
        'log(fr"{size}")',
        "log(rf'{size:,}')",
        'log("it\'s", size)',
        "size += 1",
        "raise Late(size) from None  # it's late",
    ],
)
def test_a_name_that_a_handler_may_read_is_a_sign(line: str) -> None:
    assert signs_in(TRY.format(line).encode()).unbound


@pytest.mark.parametrize(
    "line",
    ["size = None", 'log("no size")', "from own import size", "pass  # size", 'log(f"size {1}")'],
)
def test_a_name_that_it_binds_or_writes_as_text_is_none(line: str) -> None:
    assert not signs_in(TRY.format(line).encode()).unbound


LOOP = "{}\nfor a, b in {}():\n    pass\n"


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from own import pairs", "pairs"),
        ("from . import pairs", "pairs"),
        ("from .parts.sizes import other, pairs", "pairs"),
        ("from own import (\n    other,  # first\n    pairs,\n)", "pairs"),
        ("    from own import other as pairs", "pairs"),
        ("import os, own", "own.pairs"),
        ("import own.parts", "own.parts.pairs"),
        ("import own.parts as parts", "parts.pairs"),
    ],
)
def test_a_loop_over_what_an_own_module_gives_is_a_sign(imports: str, name: str) -> None:
    assert signs_in(LOOP.format(imports, name).encode()).loops


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("from itertools import pairwise", "pairwise"),
        ("import itertools as it", "it.pairwise"),
        ("import os.path as osp", "osp.pairs"),
        ("# from own import others", "pairs"),
        ('"""from own we import pairs"""', "pairs"),
    ],
)
def test_what_the_standard_library_gives_is_none(imports: str, name: str) -> None:
    assert not signs_in(LOOP.format(imports, name).encode()).loops


def test_imports_in_another_encoding_are_read() -> None:
    text = "# coding: latin-1\nfrom été import pairs\nimport été\n" + LOOP.format("", "pairs")

    assert signs_in(text.encode("latin-1")).loops


def test_a_function_that_gives_several_values_is_a_sign_by_its_own_lines() -> None:
    text = (
        "class A:\n    async def pairs(self):\n{}\n\nreturn_ = 1\nfor a, b in pairs():\n    pass\n"
    )

    assert signs_in(text.format("        return 1, 2").encode()).loops
    assert not signs_in(text.format("        return 1").encode()).loops
