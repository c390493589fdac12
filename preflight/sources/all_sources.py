"""Puts together what was seen of the sources of a job, and says which reads it comes to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from preflight.host.environment import launcher_of
from preflight.host.start_method import default_start_method
from preflight.objects.facts import ModelCopy
from preflight.pipelines.facts import Reads
from preflight.sources.batch_loops.handed import over_loaders
from preflight.sources.deciding import (
    by_itself,
    depends,
    is_called,
    loads_dotenv,
    of_the_job,
    reads_of,
    stored_in,
    values_given,
)
from preflight.sources.facts import (
    ComesTo,
    Conditions,
    EnvironmentRead,
    Mentions,
    Opens,
    ReadAt,
    ScriptImports,
    SourceFacts,
    SourceFile,
    Unguarded,
    Unparsed,
)
from preflight.sources.flaws.facts import Returned
from preflight.sources.flaws.find import of_all
from preflight.sources.flaws.tuples import file_called
from preflight.sources.mentions import function_of, is_of, stem_of, trains, which_comes
from preflight.syntax.imports.reached import Unnamed
from preflight.syntax.outcomes import Defaults
from preflight.syntax.source_files import is_test
from preflight.values.names import shown

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
        needed = (one for one in self._reads() if not one.guarded and not one.is_set)
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
            only = self._entries() if own else []
            is_elsewhere = len(only) == 1 and any(one.file not in only for one in own)
            return only if is_elsewhere else []
        scripts = [name for name, one in self.files.items() if one.is_script]
        found = [*self.acts(), *([name for name in scripts if trains(name)] or scripts)]
        others = (one for one in self.names if one not in (*scripts, *found) and not is_test(one))
        return found[:_MOST_STARTS] if len(found) > 1 or not any(map(trains, others)) else []

    def followed(self) -> list[str]:
        """Name the scripts that may be started, where others do something with images."""
        entries = self._entries() if self.is_folder and self.has_images else []
        matter = any(one.uses and name not in entries for name, one in self.files.items())
        return entries if matter and len(entries) <= _MOST_STARTS else []

    def parsed_with(self) -> list[str]:
        """Name the scripts that may be started, whose imports must be such as can be parsed.

        That matters where a file cannot be.
        """
        matters = any(one.unreadable for one in self.files.values())
        entries = self._starting() if self.is_folder and not self.implied and matters else []
        return entries if len(entries) <= _MOST_STARTS else []

    def _starting(self) -> list[str]:
        """Name the scripts that may be started, also those that do little but import others."""
        return self._entries() or [one for one in self.names if trains(one) and not is_test(one)]

    def perhaps(self) -> list[str]:
        """Name the files of a folder that may be started, by their names, and have no guard."""
        every = self.files if self.is_folder else {}
        return [name for name, one in every.items() if one.is_script is None]

    def acts(self) -> list[str]:
        """Name those, and all that start workers by being imported, and that nobody imports."""
        works = [name for name, one in self.files.items() if one.unguarded and not is_test(name)]
        every = dict.fromkeys((*self.perhaps(), *works) if self.is_folder else ())
        return [one for one in every if not self._is_imported(one)]

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

    def _is_needed(self, file: str, starts: Sequence[str]) -> bool:
        """Whether a file that cannot be parsed is one that no run can do without."""
        return bool(starts) and all(
            file == one or file in self.unparsed.get(one, ()) for one in starts
        )

    def facts(
        self, unguarded: Iterable[Unguarded | None] = (), more: Sequence[tuple[str, ...]] = ()
    ) -> SourceFacts:
        """Give what there is to judge."""
        method, method_from = default_start_method()
        files = list(self.files.values())
        unreadable = [(one.file, *one.unreadable) for one in files if one.unreadable is not None]
        entries = tuple(self._entries()) if self.is_folder else ()
        starts = self._starting() if unreadable and self.is_folder else [self.name]
        needed = [one for one in unreadable if self._is_needed(one[0], starts)]
        others = [one for one in unreadable if one not in needed]
        draws: dict[str, str] = {}
        for one in files:
            told = {how: f"{one.file}:{at}" for how, at in one.draws._asdict().items() if at}
            draws = told | draws
        of_job = of_the_job(files, entries, self.ways)
        return SourceFacts(
            file=self.name,
            files=self.count,
            reads=tuple(self._judged()),
            unreadable=tuple(needed),
            passed_over=(*others, *more),
            is_folder=self.is_folder,
            scripts=sum(one.is_script is True for one in files) if self.is_folder else 0,
            entries=entries,
            implied=self.implied,
            unguarded=tuple(one for one in unguarded if one is not None),
            default_start_method=method,
            default_start_method_from=method_from,
            pipelines=tuple(self.pipelines),
            class_folders=tuple(call for one in files for call in one.class_folders),
            uses=tuple(use for one in of_job for use in one.uses),
            resampled=draws.get("resampled"),
            perhaps_resampled=draws.get("perhaps"),
            drawn_once=draws.get("once"),
            model_copy=self.model_copy,
            zstd=draws.get("zstd"),
            flaws=of_all([one.flaws for one in files], self.names, self.returned),
            loops=over_loaders(
                (loop for one in files for loop in one.loops),
                (call for one in files for call in one.handed),
            ),
            in_allocation="SLURM_JOB_ID" in self.environment,
        )

    # --- reads

    def _reads(self) -> Iterator[EnvironmentRead]:
        return reads_of(self.files, self.name, self.environment, self.lazy)

    def _judged(self) -> Iterator[EnvironmentRead]:
        files = self.files.values()
        stored = None if loads_dotenv(files) else frozenset(stored_in(files))
        defaults = Defaults(self.environment, stored)
        mentions = [one for one in self.mentions if not is_test(one.file)]
        for name, value in values_given(mentions):
            defaults.values.setdefault(name, []).append(value)
        entries = self._entries() if self.is_folder else []
        sure = self.acts()
        for read in self._reads():
            off = by_itself(read) or self._why_off(read, defaults)
            at = ReadAt(read.file, read.line)
            only = entries[0] if len(entries) == 1 else ""
            by_imports = at in self.by_imports.get(only, ())
            called = is_called(read, only if self.is_folder else self.name, mentions)
            read = read._replace(by_imports=by_imports, is_called=called)  # noqa: PLW2901
            if self._is_beside(read, only):
                off = off or f"{shown(only)} does not import {shown(read.file)}"
            script: str | None = read.file
            if not self.files[read.file].is_script:
                script = which_comes(read, entries, self.come_to)
            elif read.inside is None and not read.stands.as_main and read.file not in entries:
                script = ""  # by being started itself, or by being imported
            is_sure = read.file in sure or any(at in self.come_to.get(one, ()) for one in sure)
            is_sure = is_sure or by_imports or not self.is_folder
            if entries == [read.file] or script is None or is_sure:
                yield read._replace(off=off)
            else:
                yield read._replace(off=off, of_several=True, of_script=script)

    def _is_beside(self, read: EnvironmentRead, only: str) -> bool:
        """Whether a variable of the job's own is read by a file that the only script leaves out."""
        is_own = launcher_of(read.variable) is None and read.inside is None
        is_come_to = ReadAt(read.file, read.line) in self.come_to.get(only, ())
        return is_own and only in self.come_to and read.file != only and not is_come_to

    def _why_off(self, read: EnvironmentRead, defaults: Defaults) -> str | None:
        for one in self.unnamed:
            if one.first <= read.line <= one.last:
                return f"nothing that was named calls {shown(one.name)}()"
        off = self._standing_off(read.stands, read.file, defaults)
        function = function_of(read)
        if off is not None or function is None:
            return off
        every = [
            (one.file, call)
            for one in self.mentions
            for call in one.calls
            if call.name == function and not is_test(one.file)
        ]
        if self.files[read.file].is_script:  # each script has a `main` of its own
            every = [one for one in every if one[0] == read.file] or every
        uncalled = (name for one in self.mentions for name in one.uncalled)
        if not every and self._has_start(read) and function in uncalled:
            return f"nothing calls {shown(function)}()"
        calls = [self._standing_off(call.stands, file, defaults) for file, call in every]
        return calls[0] if calls and None not in calls else None

    def _has_start(self, read: EnvironmentRead) -> bool:
        """Whether it is known what is started, of which a library by itself says nothing."""
        if self.is_folder:
            return bool(self._entries())
        return not self.implied and (self.files[read.file].is_script or read.file != self.name)

    def _standing_off(self, stands: Conditions, file: str, defaults: Defaults) -> str | None:
        test = defaults.off(stands.tests)
        if test is not None:
            return f"it stands behind `{shown(test)}`, which is off by default"
        if stands.as_main and not self._is_entry(file):
            return f"it runs only where {shown(file)} is the script that is started"
        return None

    def _is_entry(self, file: str) -> bool:
        """Whether a file may be what is started; of a folder that is a guess, by its imports."""
        if not self.is_folder:
            return file == self.name or file in self.started
        return file in self._entries()

    def _entries(self) -> list[str]:
        """Name the scripts of a folder that may be started: those that train, by their names.

        Where there is none of these, all that no other file imports; those that train without a
        guard come first.
        """
        scripts = [name for name, one in self.files.items() if one.is_script]
        named = [name for name in scripts if trains(name)]
        alone = [name for name in self.perhaps() if not self._is_imported(name)]
        return named or alone or [name for name in scripts if not self._is_imported(name)]

    def _is_imported(self, file: str) -> bool:
        return any(
            is_of(imported, stem_of(file))
            for one in self.mentions
            if one.file != file and not is_test(one.file)
            for imported in one.imports
        )
