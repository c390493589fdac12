"""Why a loader or a model could not be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from preflight.findings.finding import Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One line of the user's own code in a traceback."""

    file: str
    line: int
    function: str
    text: str

    def place(self, name: str | None = None) -> Location:
        """Give where this is, for what has a name there."""
        from preflight.findings.finding import Location

        return Location(file=self.file, line=self.line, name=name)


ASKED_FOR = "a GPU"
"""Missed by code that asked whether there is one: unlike `CUDA`, nothing stands in for it."""

APART = "what the script has written"


class Lack(NamedTuple):
    """What the user's code needs, and what is not here: no fault of the code."""

    kind: str
    """`gpu`, `nccl`, `group` (a process group), `launch` (a variable that a launcher sets),
    `variable` (any other), `package`, `library` (a shared one, of the system), `network`, `file`
    (outside the job's folders), `arguments` (of the command line), `stand-in` (a GPU, for which the
    CPU stood in), or `apart` (what a script has written, which a program that it starts may not
    find where it lies)."""

    name: str
    """What is missed, for people: `CUDA`, `a GPU`, `RANK`, `timm`."""

    python: str = ""
    """The interpreter that has no such package."""

    version: str = ""
    """Of a package: the one that is here, where the code tests for another one."""

    takes_device: bool = False
    """Whether the factory has an argument `device`."""

    folder: str = ""
    """Of a package: a folder of the job that has a module of this name, and is not on the path."""


class Unfound(NamedTuple):
    """What an import of the job's own code did not find."""

    module: str
    """`own.absent`; empty: a relative import, in a file that belongs to no package."""

    name: str = ""
    """What the module, which is there, does not have."""

    near: str = ""
    """A module of the job that is called nearly so."""

    folder: str = ""
    """A folder of the job that has such a module, and is not on the path."""

    is_circular: bool = False
    """Whether two modules import each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeOnCpu:
    """That the CPU stood in for a GPU while a target was made: the job runs on another machine."""

    name: str
    at: Frame | None = None
    """The user's line that asked for the GPU first."""

    def in_words(self) -> str:
        """Say so for people."""
        place = f" ({self.at.file}:{self.at.line})" if self.at is not None else ""
        return f"made on the CPU in place of CUDA{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStoodIn:
    """That a group of this process alone stood in for one which a target asked for."""

    name: str
    backend: str
    """What was asked for: `nccl`."""

    at: Frame | None = None
    """The user's line that asked for it."""

    def in_words(self) -> str:
        """Say so for people."""
        place = f" ({self.at.file}:{self.at.line})" if self.at is not None else ""
        return f"with a stand-in for its {self.backend} process group{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivesBatches:
    """That a target is no DataLoader, and was taken for one, since it gives batches."""

    name: str
    what: str
    """`a generator of batches`, `a function that gives one batch a call, without end`."""


class CopyStop(NamedTuple):
    """Where a copy of something has stopped."""

    type: str
    """What was copied: `Net`."""

    path: str
    """What in it cannot be: `decoder.group`; empty where it is that itself."""

    kind: str = "other"
    """As of `Uncopyable`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbuilt:
    """A target that the user's code did not give: it raised, or called `sys.exit`."""

    name: str
    step: str
    """What was being done: `import`, `call`, `pick`; `epoch`, where it was gone through."""

    error: str
    """The exception's type and text."""

    frames: tuple[Frame, ...] = ()
    """The user's own frames, the innermost last."""

    lacks: Lack | None = None
    """What is not here, where it was raised for want of it."""

    unfound: Unfound | None = None
    """What an import did not find in the job."""

    shadows: str = ""
    """The installed module, or that of Python, in whose place a file of the job stands."""

    copy_stop: CopyStop | None = None
    """Where `copy.deepcopy` raised it."""

    ranks: tuple[int, ...] = ()
    """Those that it raised on, of those that were tried; empty: it was made for rank 0."""
