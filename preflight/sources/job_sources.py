"""The sources of a job, each read by itself, and those of them that may be what is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.host.environment import launcher_of
from preflight.objects.facts import ModelCopy
from preflight.pipelines.facts import Reads
from preflight.sources.deciding import (
    by_itself,
    depends,
    reads_of,
)
from preflight.sources.facts import (
    ComesTo,
    EnvironmentRead,
    Mentions,
    Opens,
    ReadAt,
    ScriptImports,
    SourceFile,
    Unparsed,
)
from preflight.sources.flaws.facts import Returned
from preflight.sources.flaws.tuples import file_called
from preflight.sources.mentions import is_of, stem_of, trains
from preflight.syntax.imports.reached import Unnamed
from preflight.syntax.source_files import is_test

# Launchers without whose variables a job stops that is not started by them.
_STOP = ("slurm", "mpi")

# Scripts of a folder of which each is followed by itself.
_MOST_STARTS = 8


@dataclass(slots=True)
class JobSources:
    """The sources of a job, each read by itself."""

    name: str
    """What was named: the folder, or the script."""

    environment: Mapping[str, str]
    is_folder: bool
    implied: bool = False
    count: int = 0
    files: dict[str, SourceFile] = field(default_factory=dict)
    """By their names, those that hold something."""

    lazy: frozenset[str] = frozenset()
    started: frozenset[str] = frozenset()
    """Files that run as the script that is started does."""

    mentions: list[Mentions] = field(default_factory=list)
    pipelines: list[Reads] = field(default_factory=list)
    """Those that are written out in a script or in what it imports."""

    come_to: dict[str, frozenset[ReadAt]] = field(default_factory=dict)
    """The reads that each of several scripts comes to, where that matters."""

    by_imports: dict[str, frozenset[ReadAt]] = field(default_factory=dict)
    """Those to which each comes by importing files alone."""

    ways: dict[str, ScriptImports] = field(default_factory=dict)
    """Those of scripts that may be what is started, where it matters what is on them."""

    unnamed: tuple[Unnamed, ...] = ()
    """Of the file of a factory, what neither that nor the file itself comes to."""

    unparsed: dict[str, frozenset[str]] = field(default_factory=dict)
    """By the script that imports them in every run, files that cannot be parsed."""

    model_copy: ModelCopy | None = None
    has_images: bool = True
    """Whether there are folders of images, of which sources may tell."""

    names: Sequence[str] = ()
    """Of all files, also those that hold nothing."""

    returned: dict[str, Mapping[str, Returned]] = field(default_factory=dict)
    """What the functions of a file give, for those in which loops of other files have them."""

    def open(self) -> list[EnvironmentRead]:
        """Give the reads on which more has to be known: which may be what stops the job."""
        return [one for one in self._needed() if depends(one)]

    def _needed(self) -> Iterator[EnvironmentRead]:
        needed = (one for one in self.reads() if not one.guarded and not one.is_set)
        return (one for one in needed if by_itself(one) is None)

    def starts(self) -> list[str]:
        """Name scripts of a folder of which it matters what each alone comes to.

        That is where what stops a job stands in another file; of the only script, also where it is
        a variable of the job's own, by which an import stops. One script alone may not be what is
        started, where a file without a main guard has a name of training.
        """
        needed = list(self._needed()) if self.is_folder else []
        shared = [one for one in needed if not self.files[one.file].is_script]
        if not any(launcher_of(one.variable) in _STOP for one in shared):
            own = [one for one in needed if not launcher_of(one.variable) and one.inside is None]
            only = self.entries() if own else []
            is_elsewhere = len(only) == 1 and any(one.file not in only for one in own)
            return only if is_elsewhere else []
        scripts = [name for name, one in self.files.items() if one.is_script]
        found = [*self.acts(), *([name for name in scripts if trains(name)] or scripts)]
        others = (one for one in self.names if one not in (*scripts, *found) and not is_test(one))
        return found[:_MOST_STARTS] if len(found) > 1 or not any(map(trains, others)) else []

    def followed(self) -> list[str]:
        """Name the scripts that may be started, where others do something with images."""
        entries = self.entries() if self.is_folder and self.has_images else []
        matter = any(one.uses and name not in entries for name, one in self.files.items())
        return entries if matter and len(entries) <= _MOST_STARTS else []

    def parsed_with(self) -> list[str]:
        """Name the scripts that may be started, whose imports must be such as can be parsed.

        That matters where a file cannot be.
        """
        matters = any(one.unreadable for one in self.files.values())
        entries = self.starting() if self.is_folder and not self.implied and matters else []
        return entries if len(entries) <= _MOST_STARTS else []

    def starting(self) -> list[str]:
        """Name the scripts that may be started, also those that do little but import others."""
        return self.entries() or [one for one in self.names if trains(one) and not is_test(one)]

    def perhaps(self) -> list[str]:
        """Name the files of a folder that may be started, by their names, and have no guard."""
        every = self.files if self.is_folder else {}
        return [name for name, one in every.items() if one.is_script is None]

    def acts(self) -> list[str]:
        """Name those, and all that start workers by being imported, and that nobody imports."""
        works = [name for name, one in self.files.items() if one.unguarded and not is_test(name)]
        every = dict.fromkeys((*self.perhaps(), *works) if self.is_folder else ())
        return [one for one in every if not self.is_imported(one)]

    def looped_over(self) -> list[str]:
        """Name the files in which stands what a loop of another file goes over."""
        loops = (loop for one in self.files.values() for loop in one.flaws.loops)
        files = (file_called(one, self.names) for one in loops if not one.defined)
        return sorted(set(filter(None, files)))

    def holders(self) -> list[str]:
        """Name the files of a folder that say which shards they open."""
        return [name for name, one in self.files.items() if one.opens and not is_test(name)]

    def take(self, found: Iterable[ComesTo | Mentions | Opens | ScriptImports | Unparsed]) -> None:
        """Take in what files say of names that stand in others, and which shards scripts open."""
        for one in found:
            if isinstance(one, Unparsed):
                self.broken(one)
            elif isinstance(one, ScriptImports):
                self.ways[one.script] = one
            elif isinstance(one, Opens):
                self.pipelines += one.pipelines
            elif isinstance(one, ComesTo):
                self.come_to[one.script] = frozenset(one.reads)
                self.by_imports[one.script] = frozenset(one.by_imports)
            elif one.returned:
                self.returned[one.file] = {each.name: each for each in one.returned}
            else:
                self.mentions.append(one)

    def broken(self, those: Unparsed) -> None:
        """Take in which files cannot be parsed that a script imports in every run."""
        self.unparsed[those.script] = frozenset(file for file, _, _ in those.files)
        for file, line, reason in those.files:
            own = self.files.get(file, SourceFile(file=file))
            self.files[file] = own._replace(unreadable=(line, reason))

    def reads(self) -> Iterator[EnvironmentRead]:
        """Give the reads of the environment in all files."""
        return reads_of(self.files, self.name, self.environment, self.lazy)

    def is_entry(self, file: str) -> bool:
        """Whether a file may be what is started; of a folder that is a guess, by its imports."""
        if not self.is_folder:
            return file == self.name or file in self.started
        return file in self.entries()

    def entries(self) -> list[str]:
        """Name the scripts of a folder that may be started: those that train, by their names.

        Where there is none of these, all that no other file imports; those that train without a
        guard come first.
        """
        scripts = [name for name, one in self.files.items() if one.is_script]
        named = [name for name in scripts if trains(name)]
        alone = [name for name in self.perhaps() if not self.is_imported(name)]
        return named or alone or [name for name in scripts if not self.is_imported(name)]

    def is_imported(self, file: str) -> bool:
        """Whether another file imports this one."""
        return any(
            is_of(imported, stem_of(file))
            for one in self.mentions
            if one.file != file and not is_test(one.file)
            for imported in one.imports
        )
