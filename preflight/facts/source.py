"""What Python sources say, read and not run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentRead:
    """A place in the sources that reads an environment variable and cannot do without it."""

    file: str
    line: int
    variable: str
    code: str
    """The expression, such as `int(os.environ.get("SLURM_LOCALID"))`."""

    line_text: str
    is_set: bool
    guarded: bool = False
    """Whether the read stands under a test or a `try` that copes with the variable being absent."""

    raises: str | None = None
    """What an absent variable raises there: `KeyError`, `TypeError`; None: nothing."""

    inside: str | None = None
    """The function that holds it; None where it is read as soon as the file is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Python sources, as they can be read without being run."""

    file: str
    """The file or folder that was named."""

    files: int
    reads: tuple[EnvironmentRead, ...] = ()
    unreadable: tuple[tuple[str, ...], ...] = ()
    """Files that could not be parsed: (file, line or empty, reason)."""

    is_folder: bool = False
    """Whether a folder was named, of which not every file need be part of the job."""

    in_allocation: bool = False
    """Whether this is a shell inside a Slurm allocation, from which srun starts the ranks."""
