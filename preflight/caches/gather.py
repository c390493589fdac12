"""Puts together what was seen of the files of each folder of cached files."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from preflight.cached_files.facts import BROKEN, ODD, CacheFacts, CachePiece
from preflight.cached_files.listing import CacheListing
from preflight.caches.facts import CacheFolderFacts
from preflight.caches.table import WHOLE, CacheTable
from preflight.caches.whole import SeenCache
from preflight.checkpoints.facts import CheckpointFacts
from preflight.findings.finding import Location
from preflight.findings.judge import Failed, Left, Look, Looked
from preflight.ledger.recall import Memory
from preflight.ledger.table import Remembered
from preflight.processes.shares import seconds_for
from preflight.session.answers import mend
from preflight.session.items import CachePart, stamp_of
from preflight.targets.targets import CacheFolder
from preflight.targets.told_once import own_files
from preflight.tensors.facts import CacheContents, Content
from preflight.values.names import name_of
from preflight.values.stamps import digest_of, marks_of

# Files that are asked about together, so that they can be shared out evenly.
_TOGETHER = 128

# Seconds of work that a run which is killed may lose, and how many times as long as it takes to
# keep what was seen.
_OFTEN = 2.0
_TIMES = 30


@dataclass(slots=True, kw_only=True)
class CacheGathering:
    """A folder of cached files, as far as they have been read."""

    target: CacheFolder
    listing: CacheListing
    root: str
    """The job's folder."""

    memory: Memory
    depth: str
    same_as: str | None = None
    """Another entry of the settings that names this folder, too."""

    contents: list[Content] = field(default_factory=list)
    """What torch has read in its files, where it was asked to."""

    _base: str = field(init=False)
    _how: str = field(init=False)
    _seconds_each: float = field(init=False)
    _table: CacheTable = field(init=False)
    _read: bool = False
    """Whether any file was read now."""

    _begun: float = field(default_factory=time.time)
    """When the first of what is known was read, in seconds since the epoch."""

    _kept: float = field(default_factory=time.monotonic)
    _wait: float = _OFTEN
    _older: frozenset[str] | None = None
    """Names of checkpoints, but for the newest; None: nobody has asked yet."""

    def __post_init__(self) -> None:
        """Begin with nothing seen."""
        item = {"type": "CacheFiles"}
        path, files = self.target.path, self.listing.files
        alone = files == (path,)
        self._base = os.path.dirname(path) if alone else path
        begin = len(os.path.join(self._base, "")) if self._base else 0
        self._table = CacheTable([file[begin:] for file in files])
        self._how = self.memory.how(item) or ""
        self._seconds_each = seconds_for(item, self.root, self.depth)

    # --- what earlier runs have seen

    def recall(self) -> Iterator[Look]:
        """Give what is remembered of files that have not changed."""
        path, table = self.target.path, self._table
        row = self.memory.ledger.rows(self._how, [path]).get(path)
        known: Sequence[int] = ()
        if row is not None and row.seen.facts is not None:
            marks = marks_of(self._base, table.names)
            same = row.mark == digest_of(table.names, marks)
            table.take(row.seen.facts, marks, same=same)
            known = table.known()
            self._begun = min(self._begun, row.seen.read_at)
        self.memory.count(self._how, len(known), self._begun, of=len(table.names))
        if row is not None:
            yield from self._whole(known, row.seen.read_at)
            for place, facts in table.odd.items():
                table.odd[place] = self._placed(place, replace(facts, file=self._name(place)))
                yield Looked(facts=table.odd[place], read_at=row.seen.read_at)

    def keep(self) -> None:
        """Remember what was seen."""
        if not (self._read and self.memory.ledger.usable):
            return
        begun = time.monotonic()
        table = self._table
        mark = digest_of(table.names, table.marks) or ""
        seen = Remembered(self._begun, table.to_text())
        self.memory.keep_folder(self._how, self.target.path, mark, seen)
        self._kept = time.monotonic()
        self._wait = max(_OFTEN, _TIMES * (self._kept - begun))
        self._read = False

    # --- what is read

    @property
    def left(self) -> int:
        """How many files are not known."""
        return len(self._table.unseen())

    @property
    def seconds(self) -> float:
        """How long a process is likely to look at them."""
        return self.left * self._seconds_each

    def paths_left(self, most: int) -> Iterator[str]:
        """Give the paths of the first of them."""
        return (self.listing.files[place] for place in self._table.unseen()[:most])

    def parts(self) -> Iterator[CachePart]:
        """Give what is to be asked."""
        places = self._table.unseen()
        for begin in range(0, len(places), _TOGETHER):
            yield self.part_of(places[begin : begin + _TOGETHER])

    def part_of(self, places: Sequence[int]) -> CachePart:
        """Ask about the files in these places."""
        names = [self._table.names[place] for place in places]
        return CachePart(
            plain={"type": "CacheFiles", "folder": self._base, "names": names},
            target=self.target,
            name=self._name(places[-1]) if places else "",
            kinds=(CacheFacts,),
            seconds=len(places) * self._seconds_each,
            whole=self,
            places=places,
        )

    def heard(self, part: CachePart, piece: CachePiece) -> Iterator[Look]:
        """Take in what was seen of some files, and say what is to be judged of it."""
        table = self._table
        table.put(part.places, piece)
        part.size = sum(table.size(place) for place in part.places)
        self._read = True
        if piece.odd or piece.broken:
            odd, broken = iter(piece.odd), iter(piece.broken)
            for place, letter in zip(part.places, piece.seen, strict=True):
                if letter == ODD:
                    yield self._odd(place, next(odd))
                elif letter == BROKEN:
                    error = next(broken)
                    yield self.failed(place, error, mend(error))
        yield from self._whole(part.places, None)
        if time.monotonic() - self._kept > self._wait:
            self.keep()

    def failed(self, place: int, error: str, fix: str | None) -> Look:
        """Say of a file that it could not be looked at."""
        self._table.forget(place)
        if not os.path.lexists(self.listing.files[place]):
            return Left(reason="gone before it was looked at", kinds=(CacheFacts,))
        at = Location(file=self._name(place))
        return Failed(at=at, error=error, kinds=(CacheFacts,), fix=fix)

    def _odd(self, place: int, facts: CacheFacts) -> Look:
        """Say of a file that looks damaged and was written meanwhile that nobody can judge it."""
        then = facts.size, self._table.written(place)
        if facts.damage is not None and then != stamp_of(self.listing.files[place]):
            self._table.forget(place)
            return Left(reason="written while it was looked at", kinds=(CacheFacts,))
        self._table.odd[place] = facts = self._placed(place, facts)
        return Looked(facts=facts)

    def _placed(self, place: int, facts: CacheFacts) -> CacheFacts:
        """Say of a file whether its checkpoint has a newer one beside it."""
        if not self.target.checkpoint:
            return facts
        if self._older is None:
            folder = self._whole_folder
            self._older = folder.older(folder.checkpoints())
        is_older = self._whole_folder.is_older(self._name(place), self._older)
        return replace(facts, is_older=is_older)

    def _whole(self, places: Sequence[int], read_at: float | None) -> Iterator[Looked]:
        """Give the whole files among these, each when it is asked for."""
        table = self._table
        for place in places:
            whole = WHOLE.get(chr(table.seen[place]))
            if whole is not None:
                name, verified = whole
                facts = CacheFacts(
                    file=self._name(place),
                    size=table.size(place),
                    format=name,
                    verified=verified,
                )
                yield Looked(facts=facts, read_at=read_at)

    def _name(self, place: int) -> str:
        return name_of(self.listing.files[place], self.root)

    # --- what there is to say of the folder

    @property
    def _whole_folder(self) -> SeenCache:
        return SeenCache(
            target=self.target,
            listing=self.listing,
            table=self._table,
            root=self.root,
            same_as=self.same_as,
        )

    def appeared(self) -> int:
        """Count the files that were put in since the folder was listed."""
        from preflight.cached_files.listing import list_cache

        changed = [path for path, then in self.listing.folders if _changed(path) != then]
        if not changed:
            return 0
        try:
            now = list_cache(self.target.path)
        except OSError:
            return 0
        return len(set(own_files(now, self.target).files) - set(self.listing.files))

    def facts(self) -> CacheFolderFacts:
        """Give what is known of the folder as a whole."""
        return self._whole_folder.facts()

    def unread(self) -> Mapping[str, int]:
        """Count the files whose numbers were not looked at, by the reason."""
        return Counter(one.skipped for one in self.contents if one.skipped is not None)

    def more_facts(self) -> Iterator[CheckpointFacts | CacheContents]:
        """Give what is known of checkpoints, where it is a folder of such, and of its numbers."""
        return self._whole_folder.more_facts(self.contents)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
