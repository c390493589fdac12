"""Lets a script have a module of its own that is called as our package is."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterable

from preflight.values.own_files import PACKAGE
from preflight.values.this_process import full_path

_OURS = "preflight"


class NameTakenError(Exception):
    """A module of the script's has the name of one of ours, which is at work beside it."""

    of_job = True

    def __init__(self, name: str) -> None:
        super().__init__(f"preflight has a module {name} of its own")
        self.name = name


def leave_our_name() -> None:
    """Have `preflight` mean the script's own module, where Python comes to that first.

    What we import later is found all the same: Python looks for `preflight.values.wire` in the
    package `preflight.values` alone, once that is there.

    Raises:
        NameTakenError: the script's is a package, and has modules called as packages of ours.
    """
    own = importlib.machinery.PathFinder.find_spec(_OURS)
    if own is None or own.origin is None or full_path(own.origin).startswith(PACKAGE):
        return
    every = [os.path.relpath(one, PACKAGE).replace(os.sep, ".") for one in _packages()]
    its = {one.partition(".")[0] for one in _listed(own.submodule_search_locations or ())}
    if taken := sorted(its.intersection(every)):
        raise NameTakenError(f"{_OURS}.{taken[0]}")
    for name in every:
        importlib.import_module(f"{_OURS}.{name}")
    del sys.modules[_OURS]


def _packages() -> list[str]:
    return [
        folder
        for folder, _, files in os.walk(PACKAGE)
        if "__init__.py" in files and not os.path.samefile(folder, PACKAGE)
    ]


def _listed(folders: Iterable[str]) -> list[str]:
    return [name for folder in folders for name in os.listdir(folder)]
