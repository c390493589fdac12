"""What stands in sources."""

from __future__ import annotations

from dataclasses import dataclass

from preflight.pipelines.facts import Reads


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
class LoaderCall:
    """A call in the sources that makes a loader of batches."""

    file: str
    line: int
    num_workers: str = ""
    """As it is written: `4`, `args.workers`; empty where it is not."""

    has_workers: bool | None = False
    """None where the source does not tell."""

    start_method: str | None = None
    """By its own `multiprocessing_context`, where the source tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unguarded:
    """A source that starts work as soon as it is imported, outside a main guard."""

    file: str
    """The one that is imported; the work may stand in what it imports."""

    at: str
    """The file in which the work stands."""

    line: int
    code: str
    """The statement's first line."""

    what: str
    """As a predicate of the place: `calls main(), which takes an optimizer step in line 31`."""

    guard: str
    """What to do about it, as a sentence."""

    loaders: tuple[LoaderCall, ...] = ()
    """Its own; where it has none, those of its own modules that it imports."""

    start_method: str | None = None
    """What the sources give to `set_start_method`, where that is a literal."""

    start_method_from: str | None = None
    """Where they do so, such as `train.py:5`."""


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

    implied: bool = False
    """Whether nobody named it: it holds a loader or a model that was named."""

    unguarded: tuple[Unguarded, ...] = ()
    """Of a folder, only those that may start workers by themselves."""

    default_start_method: str = "fork"
    """How processes are started here where nobody says how."""

    default_start_method_from: str = "the default of this platform"

    resampled: str | None = None
    """Where shards are drawn with replacement, such as `train.py:27`; None: nowhere."""

    pipelines: tuple[Reads, ...] = ()
    """Of a file, the pipelines of webdataset that are written out in it."""

    perhaps_resampled: str | None = None
    """Where an expression decides whether they are (`resampled=args.resampled`)."""

    drawn_once: str | None = None
    """Where each of them goes to one worker (`WebDataset(urls)`)."""

    in_allocation: bool = False
    """Whether this is a shell inside a Slurm allocation, from which srun starts the ranks."""
