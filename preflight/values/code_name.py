"""How something in the user's code is named: `module:name`, `file.py:name`, and a part of it."""

from __future__ import annotations

import ast
import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Step: TypeAlias = tuple[str, str | int]
"""`("attr", "train")` or `("item", 0)`: one step into what a name holds or a call returns."""

_PICK = re.compile(r"\.([^\W\d]\w*)|\[\s*(-?\d{1,18}|'[^'\\\n\r]*'|\"[^\"\\\n\r]*\")\s*\]")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A name in a module or a file."""

    module: str | None = None
    """Dotted, as `import` takes it; None where it is a file."""

    file: str | None = None
    """A path that ends in `.py`; None where it is a module."""

    name: str
    """The first name, bound at the top level of the module."""

    pick: tuple[Step, ...] = ()

    @property
    def home(self) -> str:
        """The module or the file, as it was written."""
        return self.module or self.file or ""


def command_for(*words: str) -> str:
    """Write the command that looks at something in the user's code, as a shell takes it."""
    return shlex.join(["preflight", "run", *words])


def module_command(script: str) -> str:
    """Write the command that runs a script as a module of the package that it lies in."""
    return command_for("-m", script.removesuffix(".py").replace("/", "."))


def parse_spec(text: str) -> Spec | None:
    """Read `module:name`, `file.py:name`, `train:loaders['val']`; None where it is none."""
    home, colon, rest = text.rpartition(":")
    if not colon:
        return None
    head = re.match(r"[^\W\d]\w*", rest)
    pick = parse_pick(rest[head.end() :]) if head else None
    if head is None or pick is None:
        return None
    if home.endswith(".py"):
        return Spec(file=home, name=head[0], pick=pick)
    return Spec(module=home, name=head[0], pick=pick) if _DOTTED.fullmatch(home) else None


def is_code_name(text: str) -> bool:
    """Whether it names something in the user's code: `module:key`, `file.py:key`."""
    return parse_spec(text) is not None


def parse_pick(text: str) -> tuple[Step, ...] | None:
    """Read `[0]`, `['val']`, `.train` and rows of these; None where it is something else."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _PICK.match(text, position)
        if match is None:
            return None
        attribute, item = match.groups()
        steps.append(("attr", attribute) if attribute else ("item", ast.literal_eval(item)))
        position = match.end()
    return tuple(steps)


def write_pick(steps: tuple[Step, ...]) -> str:
    """Say steps as they are written: `.train[0]`."""
    return "".join(f".{key}" if kind == "attr" else f"[{key!r}]" for kind, key in steps)


def module_file(folder: str, dotted: Iterable[str]) -> str | None:
    """Find the file of a module that lies below a folder; None: it has none there."""
    stem = os.path.join(folder, *dotted)
    paths = (os.path.join(stem, "__init__.py"), stem + ".py")
    return next(filter(os.path.isfile, paths), None)
