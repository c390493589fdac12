"""Finds files of the job that stand where torch looks for a module of Python's, or of a package.

Python puts the folder of the script that is started first on its path, and then what PYTHONPATH
names: beside a `numbers.py`, no script can import torch.
"""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple

from preflight.values.code_name import Spec, module_file
from preflight.values.this_process import full_path, working_folder

# Where Python was told to leave the folder off (PYTHONSAFEPATH), the job does so too.
_IMPORT = "import sys; sys.path[:1] == [''] and sys.path.__setitem__(0, sys.argv[1]); import torch"


class Shadow(NamedTuple):
    """A file of the job that torch was given in place of the module that it asked for."""

    module: str
    file: str
    error: str
    """What came of it: the last line that Python said."""


def shadowed(spec: Spec, root: str, patience: float) -> Shadow | None:
    """Say what keeps torch from being imported by a script in the job's own folder.

    Torch is imported here already. Where files bear the name of what came along, and are not what
    came along, it is imported once more by a process that looks into the folder first, and what
    happens there is what counts: many names do no harm. Of a file in another folder nobody knows
    where the script lies that imports it.
    """
    folder = os.path.dirname(full_path(spec.file)) if spec.file else working_folder()
    if os.path.realpath(folder) != os.path.realpath(root):
        return None
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [folder, *(full_path(one) for one in named if one)]
    files = {one: _file_of(one, folders) for one in _came_with_torch()}
    own = full_path(spec.file) if spec.file else None  # which may be loaded by its path
    harmless = {own, *_came_with_torch().values()}
    rivals = {one: file for one, file in files.items() if file and file not in harmless}
    lines = _said_without_torch(folder, patience) if rivals else ()
    for line in reversed(lines):
        for module, file in rivals.items():
            if file in line or f"'{module}'" in line:
                return Shadow(module, file, lines[-1].replace(f" ({file})", ""))
    return None


@functools.cache
def _came_with_torch() -> dict[str, str | None]:
    """Name what is loaded when the first target is looked at: later ones find the user's, too.

    With each its file, such as a `sitecustomize.py` that Python itself has run.
    """
    tops = {one.partition(".")[0] for one in sys.modules} - {"preflight", "__main__"}
    return {one: getattr(sys.modules.get(one), "__file__", None) for one in sorted(tops)}


@functools.cache
def _said_without_torch(folder: str, patience: float) -> tuple[str, ...]:
    """Give what Python says where torch cannot be imported; nothing where it can."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT, folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode(errors="replace").splitlines()
            return tuple(line for line in said if line.strip())
    return ()


def _file_of(module: str, folders: Iterable[str]) -> str | None:
    """Give the file that Python would take a module from, where it has these folders first."""
    return next(filter(None, (module_file(folder, [module]) for folder in folders)), None)
