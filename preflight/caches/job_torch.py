"""Finds the torch of the job, without starting its interpreter and without an import."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from preflight.formats.torch.weights_only import LIST
from preflight.kinds.question import stamp_of

_PACKAGES = ("lib*/python3*/site-packages", "lib/python3*/dist-packages", "Lib/site-packages")


class JobTorch(NamedTuple):
    """Where the job's torch lies, and which one it is."""

    folder: str | None = None
    """None: there is none, or nobody can tell which."""

    stamp: tuple[int, int] = (0, 0)
    """Of the file that says what it takes with weights_only: another one means another torch."""


def torch_of(python: str | None) -> JobTorch:
    """Find the torch that an interpreter has; None is ours."""
    found = [*_beside(python)] if python is not None else [*_our_own()]
    if len(found) != 1:
        return JobTorch()
    return JobTorch(found[0], stamp_of(os.path.join(found[0], LIST)))


def _our_own() -> Iterator[str]:
    spec = importlib.util.find_spec("torch")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield os.path.abspath(folder)


def _beside(python: str) -> Iterator[str]:
    """Give the torch in the packages of an interpreter's environment, or in those that it adds."""
    program = os.path.abspath(shutil.which(python) or python)
    bases = [os.path.dirname(os.path.dirname(program)), os.path.dirname(program)]  # POSIX, Windows
    settings = next(filter(None, map(_environment, bases)), None)
    found = _torches(bases)
    if found or settings is None:
        # An installation has a folder for each version; the program's own name says which is its.
        version = re.search(r"python(3\.\d+)", os.path.basename(os.path.realpath(program)))
        named = [one for one in found if version and f"/python{version[1]}/" in one]
        yield from named or found
    elif settings.get("include-system-site-packages") == "true":
        home = settings.get("home", "")
        yield from _torches([os.path.dirname(home), home])


def _torches(bases: list[str]) -> list[str]:
    lists = (
        path
        for base in bases
        for packages in _PACKAGES
        for path in glob.iglob(os.path.join(glob.escape(base), packages, "torch", LIST))
    )
    return [*dict.fromkeys(os.path.realpath(os.path.dirname(path)) for path in lists)]


def _environment(base: str) -> dict[str, str] | None:
    try:
        with open(os.path.join(base, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            pairs = (line.partition("=") for line in file)
            return {key.strip().lower(): value.strip() for key, _, value in pairs}
    except OSError:
        return None
