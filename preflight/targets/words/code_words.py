"""What `module:name` names, as far as its source says so."""

from __future__ import annotations

import os

from preflight.targets.near_paths import nearest_path
from preflight.targets.one_file import (
    UnknownWordError,
)
from preflight.targets.targets import (
    BUILT,
    Built,
)
from preflight.values.code_name import Spec, module_file
from preflight.values.names import nearest


def built_by(
    spec: Spec, word: str, folder: str, python: str | None, *, kind: str | None = None
) -> Built:
    """Hold a name against the source, as far as that can be done without running it.

    Raises:
        UnknownWordError: there is no such file, or its source binds no such name.
    """
    path = source_of(spec, folder)
    if spec.module is not None and path is None and python is None:
        _expect_installed(word, spec.module.partition(".")[0], folder)
    if spec.file is not None and path is None:
        near = nearest_path(spec.file, folder)
        raise UnknownWordError(f"{word}: there is no file {spec.file}{near}")
    if path is not None:
        from preflight.targets.words.bound_names import bound_names

        names = bound_names(path)
        if names is not None and spec.name not in names:
            alike = nearest(spec.name, names)
            hint = f"; did you mean {alike}?" if alike else ""
            raise UnknownWordError(f"{word}: {spec.home} has no {spec.name}{hint}")
    return BUILT[kind](spec=word, folder=folder)


def _expect_installed(word: str, top: str, folder: str) -> None:
    """Refuse a module that neither lies here nor is installed; nothing is imported for it."""
    # It may be a package without __init__.py, or one that is compiled.
    if not (os.path.isdir(os.path.join(folder, top)) or is_installed(top)):
        near = nearest_path(top + ".py", folder)
        raise UnknownWordError(f"{word}: there is no module {top} in {folder}{near}")


def is_installed(top: str) -> bool:
    """Whether Python finds a module, or has it loaded already; nothing is imported for it."""
    import importlib.util

    try:
        return importlib.util.find_spec(top) is not None
    except ValueError:  # loaded by something that left no trace of where it is
        return True


def source_of(spec: Spec, folder: str) -> str | None:
    """Find the file that a name of the user's code stands in; None where it is not here."""
    if spec.file is not None:
        path = os.path.join(folder, spec.file)
        return path if os.path.isfile(path) else None
    return module_file(folder, (spec.module or "").split("."))
