"""What stands in sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from preflight.objects.facts import ModelCopy
from preflight.pipelines.facts import Reads, ReadsClasses, UsesFiles
from preflight.sources.flaws.facts import BatchLoop, Flaws, Handed, Returned


class Conditions(NamedTuple):
    """Under what a place of the sources stands."""

    tests: tuple[str, ...] = ()
    """Tests that have to say yes, as code: `args.distributed`, `not (rank == 0)`."""

    as_main: bool = False
    """Whether it runs only where its file is the one that is started."""

    rehearsed: str | None = None
    """What says that no job runs it so: `a test`, `patch.dict`."""


class Draws(NamedTuple):
    """Where a source reads shards, by how it draws them; each the first such line."""

    resampled: int | None = None
    """With replacement."""

    zstd: int | None = None
    """Where it unpacks zstd: by a command, or by a package."""

    perhaps: int | None = None
    """As an expression says that is not written out: `resampled=args.resampled`."""

    once: int | None = None
    """Each once, and of the workers each a part, by WebDataset's own rule."""


_NOTHING = Conditions()
_NO_DRAWS = Draws()
_NO_FLAWS = Flaws()


class Store(NamedTuple):
    """One place that sets a variable."""

    variable: str
    line: int
    inside: str | None


class EnvironmentRead(NamedTuple):
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

    stands: Conditions = _NOTHING
    off: str | None = None
    """Why a job that is started as its defaults have it does not come here, as far as is known."""

    of_several: bool = False
    """Whether not every script of a folder comes to it that may be what is started."""

    of_script: str = ""
    """The first of these, where it is known."""

    is_lazy: bool = False
    """Whether its file is imported only where that need not be come to: in a function, say."""

    is_called: bool = False
    """Whether what is started calls the function that holds it, of another file, under no test."""

    by_imports: bool = False
    """Whether the only script of a folder comes to it by importing files alone."""


class LoaderCall(NamedTuple):
    """A call in the sources that makes a loader of batches."""

    file: str
    line: int
    num_workers: str = ""
    """As it is written: `4`, `args.workers`; empty where it is not."""

    has_workers: bool | None = False
    """None where the source does not tell."""

    start_method: str | None = None
    """By its own `multiprocessing_context`, where the source tells."""


class Unguarded(NamedTuple):
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


class SourceFile(NamedTuple):
    """What one file of a folder holds of what matters to a job, told of it alone."""

    file: str
    place: int = 0
    """Which of the files that were asked about it is."""

    reads: tuple[EnvironmentRead, ...] = ()
    stores: tuple[Store, ...] = ()
    loads_dotenv: bool = False
    unreadable: tuple[str, str] | None = None
    """Where it could not be parsed: the line or nothing, and the reason."""

    unguarded: Unguarded | None = None
    draws: Draws = _NO_DRAWS
    flaws: Flaws = _NO_FLAWS
    loops: tuple[BatchLoop, ...] = ()
    handed: tuple[Handed, ...] = ()
    opens: bool = False
    """Whether a pipeline of webdataset is written out in it."""

    class_folders: tuple[ReadsClasses, ...] = ()
    uses: tuple[UsesFiles, ...] = ()
    is_script: bool | None = False
    """Whether it does something only where it is started; None: by its name, it has no guard."""


class Mention(NamedTuple):
    """A place that calls an own function, or hands it to somebody."""

    name: str
    stands: Conditions
    text: str = ""
    """As it is written there, with the last name of its owner: `misc.init`."""


class ArgumentPlace(NamedTuple):
    """A place among the arguments of an own function or class."""

    function: str
    """The name that calls it."""

    number: int
    text: str
    """The parameter there, or what a call gives to it, as code."""


class Mentions(NamedTuple):
    """What one file says of names on which it depends whether a place is come to."""

    file: str
    given: tuple[tuple[str, str], ...] = ()
    """What a name is given, as code: `("distributed", "False")`."""

    calls: tuple[Mention, ...] = ()
    takes: tuple[ArgumentPlace, ...] = ()
    """Parameters of that name, which calls may give something without saying it."""

    handed: tuple[ArgumentPlace, ...] = ()
    """What calls give so."""

    imports: tuple[str, ...] = ()
    """What it imports, as paths: `util/misc`, and `./core/data` from the job's folder."""

    returned: tuple[Returned, ...] = ()
    """Functions that return one tuple, where a loop of another file goes over what they give."""

    uncalled: tuple[str, ...] = ()
    """Functions of which no file speaks but the one that defines them."""


class Opens(NamedTuple):
    """What the scripts of a folder come to that opens shards."""

    pipelines: tuple[Reads, ...]


class ReadAt(NamedTuple):
    """A place that reads the environment."""

    file: str
    line: int


class ComesTo(NamedTuple):
    """Which reads of the environment one script of a folder comes to, with what it imports."""

    script: str
    reads: tuple[ReadAt, ...]
    by_imports: tuple[ReadAt, ...] = ()
    """Those to which it comes by importing files alone."""


class ScriptImports(NamedTuple):
    """The files that a script of a folder comes to by its imports."""

    script: str
    files: tuple[str, ...]
    is_all: bool
    """False where one of them imports what only a run can tell."""


class Unparsed(NamedTuple):
    """The sources that cannot be parsed and that a script of a folder imports in every run."""

    script: str
    files: tuple[tuple[str, str, str], ...]
    """Of each its name, the line or nothing, and the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """Python sources, as they can be read without being run."""

    file: str
    """The file or folder that was named."""

    files: int
    """All that were read: those below the folder, or the file and what it imports."""

    reads: tuple[EnvironmentRead, ...] = ()
    unreadable: tuple[tuple[str, ...], ...] = ()
    """Files that could not be parsed and that every run needs: (file, line or empty, reason)."""

    passed_over: tuple[tuple[str, ...], ...] = ()
    """Others that could not be parsed, of which nobody knows whether the job needs them."""

    is_folder: bool = False
    """Whether a folder was named, of which not every file need be part of the job."""

    scripts: int = 0
    """Files of a folder that do something only where they are started."""

    entries: tuple[str, ...] = ()
    """Those of them that may be what is started, as far as names and imports tell."""

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
    """The pipelines of webdataset that are written out in a script or in what it imports; of a
    folder, in those of its scripts."""

    class_folders: tuple[ReadsClasses, ...] = ()
    """Where folders are read of which each folder is a class, of all files."""

    uses: tuple[UsesFiles, ...] = ()
    """What is done with the names of images, of captions and of lists, in all files but other
    scripts than what is started."""

    perhaps_resampled: str | None = None
    """Where an expression decides whether they are (`resampled=args.resampled`)."""

    zstd: str | None = None
    """Where a command or a package unpacks zstd."""

    drawn_once: str | None = None
    """Where each of them goes to one worker (`WebDataset(urls)`)."""

    model_copy: ModelCopy | None = None
    """Of a script, where it copies a model, or what it imports does."""

    in_allocation: bool = False
    """Whether this is a shell inside a Slurm allocation, from which srun starts the ranks."""

    flaws: Flaws = _NO_FLAWS
    """Places that stop or mislead a run that comes to them, of all files."""

    loops: tuple[BatchLoop, ...] = ()
    """Loops that may be over batches of a loader; of a folder, where a run looks at one, too."""
