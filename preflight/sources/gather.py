"""Makes looks of what was read in sources: of a script at once, of a folder from all its files."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence

from preflight.findings.finding import Location
from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.ledger.recall import facts_in
from preflight.ledger.rows import Remembered
from preflight.ledger.store import mark_of
from preflight.sources.all_sources import facts_of_sources
from preflight.sources.facts import SourceFacts, SourceFile
from preflight.sources.job_sources import JobSources
from preflight.sources.kind import EACH, NAMES, SECONDS
from preflight.sources.mentions import stem_of, wanted_for
from preflight.sources.tree import Tree
from preflight.sources.work.work_names import TRAINS
from preflight.syntax.source_files import MOST_FILES, python_files, sources_among
from preflight.targets.targets import Built, Folder, Source
from preflight.values.names import counted, first_of, name_of

_FIX = "Mend it, or look with the job's own interpreter, by --python."

# Files that are asked about together.
_TOGETHER = 32

# Of what git ignores, so much is named.
_PLACES = 3


class Sources(Gather):
    """All sources of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._trees: list[Tree] = []
        self._told: list[str] = []
        self._loops = any(isinstance(one, Built) for one in run.targets)
        """Whether loops are held against batches; most files would be parsed for them alone."""

        # Facts name files from the job's folder.
        self._hows = {
            whole: run.memory.how(
                EACH.name, {"root": run.job.root, "loops": self._loops, "whole": whole}
            )
            for whole in (False, True)
        }

    # --- what is to be asked

    def add(self, target: Source) -> Iterator[Look]:
        """Take in a script, or list a folder."""
        if not os.path.isdir(path := self.path(target)):
            yield from super().add(target)
            return
        ignored: list[os.DirEntry[str]] = []
        paths = list(itertools.islice(python_files(path, ignored), MOST_FILES + 1))
        name = name_of(path, self.run.job.root)
        sources = JobSources(name, os.environ, is_folder=True, implied=target.implied)
        sources.count = min(len(paths), MOST_FILES)
        sources.has_images = any(type(one) is Folder for one in self.run.targets)
        sources.names = list(map(self._name, paths[:MOST_FILES]))
        cut = len(paths) > MOST_FILES
        self._trees.append(Tree(target, paths[:MOST_FILES], sources, ignored, cut=cut))

    @property
    def things(self) -> int:
        """How many files there are."""
        return len(self.targets) + sum(len(one.paths) for one in self._trees)

    def seconds(self) -> float:
        """How long processes are likely to look at those that are not known."""
        files = sum(len(one.paths) - len(one.known) for one in self._trees)
        return super().seconds() + SECONDS * files

    def recall(self) -> Iterator[Look]:
        """Take in what is remembered of files that have not changed."""
        for one in self._trees:
            known = self.run.memory.recall(EACH.noun, self._hows[one.is_small], one.paths)
            for path in (path for path in one.paths if path in known):
                for plain in facts_in(known[path], self._name(path)):
                    self._take(one, facts_of(plain))
            one.known = frozenset(known)
            one.oldest = min((seen.read_at for seen in known.values()), default=None)
            self.run.passed(len(known))
        yield from ()

    def questions(self) -> Iterator[Question]:
        """Ask about scripts, and about files that are not known, many at once."""
        yield from super().questions()
        for one in self._trees:
            one.left = 1
            places = [place for place, path in enumerate(one.paths) if path not in one.known]
            for begin in range(0, len(places), _TOGETHER):
                question = self.about(one, places[begin : begin + _TOGETHER])
                one.left += len(question)
                yield question
            one.left -= 1
            self._complete(one)

    def about(self, whole: Tree, places: Sequence[int]) -> Question:
        """Ask about the files in these places."""
        paths = [whole.paths[place] for place in places]
        return Question(
            kind=EACH,
            wire={"paths": paths, "loops": self._loops, "whole": whole.is_small},
            target=whole.target,
            at=Location(file=self._name(paths[-1]) if paths else ""),
            gives=(SourceFacts,),
            gather=self,
            whole=whole,
            places=places,
            seconds=SECONDS * len(paths),
            how=self._hows[whole.is_small],
        )

    def last_questions(self) -> Iterator[Question]:
        """Look for what stands in other files: what decides on reads, what loops go over."""
        for one in self._trees:
            if one.asked:
                continue
            one.asked = True
            wanted = [sorted(each) for each in wanted_for(one.sources.open())]
            paths = dict(zip(one.sources.names, one.paths, strict=True))
            returns = [paths[name] for name in one.sources.looped_over()]
            starts = [paths[name] for name in one.sources.starts()]
            told = {"wanted": wanted, "returns": returns, "starts": starts}
            told |= {"holders": one.sources.holders(), "perhaps": one.sources.acts()}
            told |= {"ways": one.sources.followed()}
            told |= {"parsed_with": [paths[name] for name in one.sources.parsed_with()]}
            how = self.run.memory.how(NAMES.name, {"root": self.run.job.root, **told})
            if self._remembered(one, how):
                self._complete(one)
                continue
            one.left = 1
            yield Question(
                kind=NAMES,
                wire={"paths": one.paths, **told},
                target=one.target,
                at=Location(file=one.sources.name),
                gives=(SourceFacts,),
                gather=self,
                whole=one,
                how=how,
            )

    def _remembered(self, one: Tree, how: str) -> bool:
        """Take in what was found when the same names were looked for in the same files."""
        path = self.path(one.target)
        one.names = [os.path.relpath(file, path) for file in one.paths]
        ledger = self.run.memory.ledger
        one.mark = mark_of(path, one.names) if ledger.usable else None
        row = ledger.rows(how, [path]).get(path)
        told = [] if row is None else [*map(facts_of, json.loads(row.seen.facts or "[]"))]
        if row is None or row.mark != mark_of(path, one.all_names(told, self.run.job.root)):
            return False
        one.sources.take(told)
        return True

    def _found(self, one: Tree, how: str, told: tuple[Mapping[str, object], ...]) -> None:
        """Take in what was found, and keep it where no file has changed meanwhile."""
        found = [*map(facts_of, told)]
        one.sources.take(found)
        path = self.path(one.target)
        mark = mark_of(path, one.all_names(found, self.run.job.root))
        if None not in (one.mark, mark) and one.mark == mark_of(path, one.names):
            seen = Remembered(time.time(), json.dumps(told))
            self.run.memory.ledger.remember_folder(how, path, mark or "", seen)

    def remarks(self) -> Iterator[str]:
        """Say what was taken for the start, and which sources git ignores, and how to read them."""
        yield from self._told
        every = (entry for one in self._trees for entry in one.ignored)
        entries = {os.path.normpath(one.path): one for one in every}
        targets = (one for one in self.run.targets if isinstance(one, Source))
        named = frozenset(os.path.normpath(self.path(one)) for one in targets)
        found = sources_among(entries.values(), named)
        if not found.files:
            return
        words = [f"source={shlex.quote(self._name(one))}" for one in found.places[:_PLACES]]
        more = "" if len(words) == len(found.places) else ", and so on"
        least = "" if found.is_all else "at least "
        were, them = ("was", "it") if found.files == 1 else ("were", "them")
        said = f"{least}{counted(found.files, '.py file')} that git ignores"
        yield f"{said} {were} not read; to have {them} read, name {' '.join(words)}{more}."

    def _name(self, path: str) -> str:
        return name_of(path, self.run.job.root)

    # --- what comes of it

    def heard(self, question: Question, told: tuple[Mapping[str, object], ...]) -> Iterator[Look]:
        """Take in what was seen in files."""
        one: Tree | None = question.whole
        if one is None:
            yield from super().heard(question, told)
            return
        if question.kind is NAMES:
            self._found(one, question.how or "", told)
        else:
            self._read(one, question, told)
        self._without(one, question)

    def _read(self, one: Tree, question: Question, told: tuple[Mapping[str, object], ...]) -> None:
        one.oldest = None
        found = {plain.get("place", 0): plain for plain in told}
        for index, path in enumerate(question.wire["paths"]):
            plain = found.get(index)
            how = self._hows[one.is_small]
            self.run.memory.keep(how, path, () if plain is None else (plain,))
            if plain is not None:
                self._take(one, facts_of(plain))

    def _take(self, one: Tree, found: SourceFile) -> None:
        one.sources.files[found.file] = found
        if found.draws.zstd:  # shards wait for that, and what else there is to say for shards
            self.run.tell(one.target, found.draws)

    def failed(self, question: Question, error: str, fix: str | None) -> Iterator[Look]:
        """Go on without files at which nobody could look."""
        yield from super().failed(question, error, fix)
        if question.whole is not None:
            self._without(question.whole, question)

    def _without(self, one: Tree, question: Question) -> None:
        one.left -= len(question)
        self._complete(one)

    @staticmethod
    def _is_open(own: JobSources) -> bool:
        """Whether something is to be looked for in all files."""
        more = (own.looped_over(), own.holders(), own.starts(), own.acts(), own.followed())
        return any((*wanted_for(own.open()), *more, own.parsed_with()))

    def _complete(self, one: Tree) -> None:
        own = one.sources
        if one.left or (not one.asked and self._is_open(own)):
            return
        one.asked = True
        order = {self._name(path): place for place, path in enumerate(one.paths)}
        own.files = dict(sorted(own.files.items(), key=lambda item: order[item[0]]))
        more = ((own.name, "", f"holds more than {MOST_FILES:,} sources"),)
        facts = facts_of_sources(
            own, (one.unguarded for one in own.files.values()), more if one.cut else ()
        )
        self._told += _of_entries(facts, own)
        self.come += _without_some(facts, one.target)
        self.come += _unparsable(facts)
        self.come.append(Looked(facts=facts, target=one.target, read_at=one.oldest))

    def judged(
        self, question: Question, facts: SourceFacts, read_at: float | None
    ) -> Iterator[Look]:
        """Say of a script that it cannot be parsed."""
        yield from _without_some(facts, question.target)  # type: ignore[arg-type]  # a Source
        itself = [one for one in facts.unreadable if one[0] == facts.file]
        if not itself:
            yield from _unparsable(facts)
            yield Looked(facts=facts, target=question.target, read_at=read_at)
            return
        self.run.tell(question.target, facts)
        if question.target.implied:  # type: ignore[attr-defined]  # a Source
            yield Left(reason="cannot be parsed, as its import says", kinds=question.gives)
            return
        yield from _unparsable(facts)


def _unparsable(facts: SourceFacts) -> Iterator[Failed]:
    """Say which files cannot be parsed that no run can do without."""
    for file, line, reason in facts.unreadable:
        place = Location(file=file, line=int(line) if line else None)
        yield Failed(at=place, error=reason, kinds=(SourceFacts,), fix=_FIX)


def _without_some(facts: SourceFacts, target: Source) -> Iterator[Left]:
    """Say which others cannot be parsed: the rest was looked at without them."""
    reasons: dict[str, list[str]] = {}
    for file, line, reason in facts.passed_over:
        reasons.setdefault(reason, []).append(f"{file}:{line}" if line else file)
    for reason, files in reasons.items():
        said = f"{reason} ({first_of(files, len(files), _PLACES)})"
        yield Left(
            reason=said, kinds=(SourceFacts,), count=len(files), noun="source file", target=target
        )


def _of_entries(facts: SourceFacts, own: JobSources) -> Iterator[str]:
    """Say which of several scripts of a folder were taken for what is started."""
    by_name = sum(own.files[one].is_script is None for one in facts.entries)
    if facts.scripts + by_name < 2 or facts.implied or not facts.entries:
        return
    names, number = list(facts.entries[:_PLACES]), len(facts.entries)
    taken = f"{first_of(names, number, _PLACES)} {'was' if number == 1 else 'were'} taken for"
    alone = "; what one alone needs is no error" if number > 1 else ""
    or_name = " or a name of training" if by_name else ""
    scripts = f"{facts.scripts + by_name} scripts with a main guard{or_name}"
    said = f"Of {scripts}, {taken} what is started{alone}"
    usual = (one for one in facts.entries if TRAINS.match(stem_of(one).rpartition("/")[2]))
    likely = next(usual, names[0])
    yield f"{said} (a guess; source={shlex.quote(likely)} reads one by itself)."
