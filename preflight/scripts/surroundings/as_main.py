"""Runs a file or a module as `__main__`, as Python does that is given its name."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import itertools
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from types import CodeType, ModuleType
from typing import Any

from preflight.scripts.surroundings.our_name import leave_our_name
from preflight.values.own_files import passes_on


def main_module(script: Mapping[str, Any], begun: Collection[str]) -> None:
    """Run a script, of which `path` or `module` is given, with its `args`, in this process.

    `begun` are the modules with which the process has begun, as any of Python's does.
    """
    if script["path"]:
        _run_path(script["path"], script["args"], begun)
    else:
        _run_module(script["module"], script["args"], begun)


@passes_on
def _run_path(typed: str, args: list[str], begun: Collection[str]) -> None:
    path = os.path.abspath(typed)
    sys.argv[:] = [typed, *args]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    make_room(begun)
    main = _new_main()
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    with open(path, "rb") as file:  # which another script may just have written
        text = file.read()
    # Not with our own `from __future__ import annotations`.
    code = compile(text, path, "exec", dont_inherit=True)
    exec(code, main.__dict__)  # noqa: S102  that is what was asked for


@passes_on
def _run_module(name: str, args: list[str], begun: Collection[str]) -> None:
    sys.argv[:] = ["-m", *args]
    sys.path.insert(0, os.getcwd())
    make_room(begun)
    spec, code = _found(name)
    sys.argv[0] = spec.origin or name
    main = _new_main()
    main.__file__ = spec.origin
    main.__spec__ = spec
    main.__loader__ = spec.loader
    main.__package__ = spec.parent
    main.__dict__["__cached__"] = spec.cached
    exec(code, main.__dict__)  # noqa: S102  that is what was asked for


def make_room(begun: Collection[str]) -> None:
    """Forget modules that we have imported, where the script comes to files of such names first."""
    ours = {name.partition(".")[0] for name in sys.modules} - {"preflight", "__main__", *begun}
    folders = itertools.takewhile(lambda one: one != os.path.dirname(os.__file__), sys.path)
    found = {name for folder in folders for name in _importable(folder, ours)}
    for name in [one for one in sys.modules if one.partition(".")[0] in found]:
        del sys.modules[name]
    leave_our_name()


def _importable(folder: str, names: set[str]) -> Iterator[str]:
    """Give those that can be imported from a folder, which is listed once: names are hundreds."""
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder or os.curdir):
            name = entry.removesuffix(".py")
            path = os.path.join(folder, entry, *(["__init__.py"] if name == entry else []))
            if name in names and os.path.isfile(path):
                yield name


def _new_main() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    return main


@passes_on
def _found(name: str) -> tuple[importlib.machinery.ModuleSpec, CodeType]:
    """Find a module that can be run; of a package, its `__main__`.

    Raises:
        ImportError: there is none; the text is that of Python.
    """
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{name}.__main__"
        spec = importlib.util.find_spec(name)
    loader: Any = None if spec is None else spec.loader
    code = loader.get_code(name) if hasattr(loader, "get_code") else None
    if spec is None or code is None:
        raise ImportError(f"No module named {name}")
    return spec, code
