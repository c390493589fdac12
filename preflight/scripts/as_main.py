"""Runs a file or a module as `__main__`, as Python does that is given its name."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import sys
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any


def main_module(script: Mapping[str, Any]) -> None:
    """Run a script, of which `path` or `module` is given, with its `args`, in this process."""
    if script["path"]:
        _run_path(script["path"], script["args"])
    else:
        _run_module(script["module"], script["args"])


def _run_path(typed: str, args: list[str]) -> None:
    path = os.path.abspath(typed)
    sys.argv[:] = [typed, *args]
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    main = _new_main()
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    with io.open_code(path) as file:
        text = file.read()
    exec(compile(text, path, "exec"), main.__dict__)  # noqa: S102  that is what was asked for


def _run_module(name: str, args: list[str]) -> None:
    sys.argv[:] = ["-m", *args]
    sys.path.insert(0, os.getcwd())
    spec, code = _found(name)
    sys.argv[0] = spec.origin or name
    main = _new_main()
    main.__file__ = spec.origin
    main.__spec__ = spec
    main.__loader__ = spec.loader
    main.__package__ = spec.parent
    main.__dict__["__cached__"] = spec.cached
    exec(code, main.__dict__)  # noqa: S102  that is what was asked for


def _new_main() -> ModuleType:
    main = ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    return main


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
