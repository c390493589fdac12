"""Full names of what a file imports."""

from __future__ import annotations

import ast

from preflight.syntax.full_names import full_name, imported

SOURCE = """
import os
import os.path as osp
import torch.distributed
from os import environ as env
from a.b import c, d as e
from . import near
from .near import f
"""


def test_names_are_told_by_their_imports() -> None:
    names = imported(ast.walk(ast.parse(SOURCE)))

    assert names == {
        "os": "os",
        "osp": "os.path",
        "torch": "torch",
        "env": "os.environ",
        "c": "a.b.c",
        "e": "a.b.d",
    }
    given = {"osp.join": "os.path.join", "env.get": "os.environ.get", "f.x": "", "os.x().y": ""}
    for code, full in given.items():
        assert full_name(ast.parse(code, mode="eval").body, names) == full
