"""Names the package that is absent, or that is another one than the code was written for."""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
import sys
import traceback
from collections.abc import Sequence

from preflight.users_code.facts import Lack
from preflight.users_code.frames import text_of
from preflight.users_code.in_the_way import is_foreign, is_installed, stands_in_the_way
from preflight.users_code.lacks.asked_for_version import tested_package
from preflight.users_code.lacks.ending_tests import SAID_BY, innermost
from preflight.users_code.unfound import folder_of, modules_in
from preflight.values.this_process import full_path

_NO_NAME = "cannot import name"
_OWN_IMPORTS = ("attempted relative import", _NO_NAME)
_NOT_LOADED = re.compile(r"cannot open shared object|undefined symbol|DLL load|[Ss]ymbol not found")


def lacking_package(error: BaseException, folders: Sequence[str]) -> Lack | None:
    """Name the package that is absent, or that is another one than the code was written for."""
    if stands_in_the_way(error, folders):
        return None
    other = _of_other_version(error, folders)
    if other is not None:
        return other
    name = _not_installed(error, folders) if isinstance(error, ImportError) else None
    name = name or _raising_package(error)
    if name is None:
        return None
    top, _, below = name.partition(".")
    is_there = bool(below) or text_of(error).startswith(_NO_NAME)
    version = _installed(top) if is_there else ""
    if version:  # which has moved or dropped a part of it
        return Lack(kind="package", name=top, python=sys.executable, version=version)
    folder = folder_of(name, folders[0]) if folders and name.isidentifier() else ""
    return Lack(kind="package", name=name, python=sys.executable, folder=folder)


def _of_other_version(error: BaseException, folders: Sequence[str]) -> Lack | None:
    """Say of which package the job's own code wants another version, by a test of it that fails."""
    file, number, _ = innermost(error)
    if not isinstance(error, (*SAID_BY, ImportError)) or not file or is_foreign(file):
        return None
    name = tested_package(file, number)
    if name is None or _is_own(name.partition(".")[0], folders):
        return None
    version = getattr(sys.modules.get(name), "__version__", None) or _installed(name)
    return Lack(kind="package", name=name, python=sys.executable, version=str(version))


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _not_installed(error: ImportError, folders: Sequence[str]) -> str | None:
    text, name = text_of(error), error.name or ""
    top = name.partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return name if top and not _is_own(top, folders) else None
    if text.startswith(_OWN_IMPORTS):
        file = error.path or getattr(sys.modules.get(name), "__file__", None) or ""
        return top if top and file and is_installed(file) else None
    if _NOT_LOADED.search(text):
        return top or _raising_package(error) or "a library"
    # Raised by hand: by a package that wants another one, or by the user's code, which says so.
    return top or "a package"


def _is_own(top: str, folders: Sequence[str]) -> bool:
    """Whether it is, or looks like, a module of the job: also one whose name was typed wrong.

    A script in `scripts/` does not find what lies beside that folder, where nobody installed it.
    """
    searched = {full_path(one) for one in sys.path}
    every = {full_path(one): {*modules_in(one)} for one in folders}
    own = {name for modules in every.values() for name in modules}
    if top in own:
        return any(top in modules for folder, modules in every.items() if folder in searched)
    return bool(difflib.get_close_matches(top, own, n=1, cutoff=0.8))


def _raising_package(error: BaseException) -> str | None:
    """Name the installed package that raises while it is imported: it does not fit the others.

    Python leaves its own import system out of such tracebacks.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [place for place, one in enumerate(frames) if not is_foreign(one.filename)]
    inner = frames[own[-1] + 1 :] if own else []
    first = next((one for one in inner if not one.filename.startswith("<frozen")), None)
    if first is None or first.name != "<module>" or not is_installed(first.filename):
        return None
    return _top_of(first.filename)


def _top_of(file: str) -> str:
    parts = os.path.normpath(file).split(os.sep)
    installed = [n for n, part in enumerate(parts[:-1]) if part.endswith("-packages")]
    return parts[installed[-1] + 1].removesuffix(".py")
