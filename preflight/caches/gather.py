"""Puts together what is seen of the files of each folder of cached files."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from preflight.cached_files.cache_listing import CacheListing, is_cached, list_cache
from preflight.cached_files.facts import BROKEN, ODD, CacheFacts, CachePiece
from preflight.caches.beside import UNKNOWN, compared, is_compared, is_for_torch, strangers
from preflight.caches.cache_so_far import OFTEN, TIMES, Cache, same_as
from preflight.caches.job_torch import torch_of
from preflight.caches.kind import CACHE, SECONDS
from preflight.caches.table import WHOLE, CacheTable
from preflight.findings.finding import Location
from preflight.findings.looks import Failed, Left, Look, Looked
from preflight.kinds.gather import Gather, Run, mend, unreadable
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question, stamp_of
from preflight.kinds.rooms import facts_of, gives
from preflight.ledger.rows import Remembered
from preflight.pipelines.facts import Reads
from preflight.targets.file_types.suffixes import CACHE_SUFFIXES
from preflight.targets.looked_at_once import own_files
from preflight.targets.targets import CacheFolder
from preflight.targets.words.unfilled import holds_begun, holds_nothing
from preflight.tensors.facts import CacheContents, Content
from preflight.values.names import first_of, name_of
from preflight.values.stamps import digest_of, stamps_of

# Files that are asked about together, so that they can be shared out evenly.
_TOGETHER = 128


class Caches(Gather):
    """All folders of cached files of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._caches: dict[str, Cache] = {}
        self._memory = run.memory
        self._root = run.job.root
        self._torch = torch_of(run.job.python)
        self._listed: set[str] = set()
        self._how = self._memory.how(CACHE.name, {"torch": self._torch})

    # --- what is to be asked

    def add(self, target: CacheFolder) -> Iterator[Look]:
        """List a folder."""
        if target.is_to_be:
            return
        listing = own_files(list_cache(target.path), target)
        is_empty = holds_begun if target.checkpoint else holds_nothing
        if not (
            listing.files
            or listing.unreadable
            or target.without
            or target.entry is not None
            or is_empty(target.path)
        ):
            reason = "none of its files is a cached one"
            yield Left(reason=reason, kinds=gives(CacheFolder))
            return
        same = same_as(target, self.run.job)
        known = self._caches.get(target.path)
        if known is not None:  # two entries of the settings say the same path
            known.same_as = known.same_as or same
            return
        self._caches[target.path] = Cache(
            target=target, listing=listing, root=self._root, same_as=same
        )
        for path, reason in listing.unreadable:
            yield unreadable(Location(file=name_of(path, self._root)), reason, (CacheFacts,))

    @property
    def things(self) -> int:
        """How many files there are."""
        return sum(len(one.listing.files) for one in self._caches.values())

    def seconds(self) -> float:
        """How long processes are likely to look at those that are not known."""
        return SECONDS * sum(len(one.table.unseen()) for one in self._caches.values())

    def some_paths(self, most: int) -> Iterator[str]:
        """Give the paths of the first of them."""
        for one in self._caches.values():
            yield from (one.listing.files[place] for place in one.table.unseen()[:most])

    def recall(self) -> Iterator[Look]:
        """Give what is remembered of files that have not changed."""
        if not self._memory.ledger.holds_something:
            return
        for one in self._caches.values():
            yield from self._recall(one)
            self.run.passed(len(one.listing.files) - len(one.table.unseen()))

    def _recall(self, one: Cache) -> Iterator[Look]:
        path, table = one.target.path, one.table
        row = self._memory.ledger.rows(self._how, [path]).get(path)
        known: Sequence[int] = ()
        if row is not None and row.seen.facts is not None:
            stamps = stamps_of(one.base, table.names)
            same = row.mark == digest_of(table.names, stamps)
            table.take(row.seen.facts, stamps, same=same)
            known = table.known()
            one.begun = min(one.begun, row.seen.read_at)
        self._memory.count(CACHE.noun, len(known), one.begun, of=len(table.names))
        if row is not None:
            yield from self._whole(one, known, row.seen.read_at)
            one.recalled = frozenset(known)
            for place, facts in table.odd.items():
                placed = self._placed(one, place, replace(facts, file=self._name(one, place)))
                table.odd[place] = placed
                if _is_compared(table, place) and placed.damage is None:
                    continue
                yield Looked(facts=placed, target=one.target, read_at=row.seen.read_at)

    def questions(self) -> Iterator[Question]:
        """Ask about what is not known, many files at once."""
        for one in self._caches.values():
            yield from self._unseen(one)

    def _unseen(self, one: Cache) -> Iterator[Question]:
        places = one.table.unseen()
        for begin in range(0, len(places), _TOGETHER):
            yield self.about(one, places[begin : begin + _TOGETHER])

    def then_questions(self) -> Iterator[Question]:
        """Ask about files that loaders list, where they lie in no folder that is looked at."""
        if not (self._listed and self.run.wants(CacheFacts)):
            return
        seen = {self.run.full(file) for one in self._caches.values() for file in one.listing.files}
        by_drive: dict[str, list[str]] = {}
        for file in filter(is_cached, filter(os.path.isfile, sorted(self._listed - seen))):
            by_drive.setdefault(os.path.splitdrive(file)[0], []).append(file)
        for drive, files in by_drive.items():
            target = CacheFolder(path=os.path.commonpath(map(os.path.dirname, files)))
            listing = CacheListing(files=tuple(files))
            one = Cache(target=target, listing=listing, root=self._root, same_as=None)
            self._caches[f"listed {drive}"] = one
            self.come += self._recall(one)
            yield from self._unseen(one)

    def about(self, whole: Cache, places: Sequence[int]) -> Question:
        """Ask about the files in these places."""
        return Question(
            kind=CACHE,
            wire={
                "folder": whole.base,
                "names": [whole.table.names[one] for one in places],
                "torch": self._torch.folder,
            },
            target=whole.target,
            at=Location(file=self._name(whole, places[-1]) if places else ""),
            gives=(CacheFacts,),
            gather=self,
            whole=whole,
            places=places,
            seconds=len(places) * SECONDS,
        )

    # --- what comes of it

    def heard(self, question: Question, told: tuple[Mapping[str, Any], ...]) -> Iterator[Look]:
        """Take in what was seen of some files, and say what is to be judged of it."""
        one, places = question.whole, question.places or ()
        table, piece = one.table, facts_of(told[0])
        table.put(places, piece)
        question.size = sum(map(table.size, places))
        one.read = True
        yield from self._told(one, places, piece)
        yield from self._whole(one, places, None)
        if time.monotonic() - one.kept > one.wait:
            self._keep(one)

    def _told(self, one: Cache, places: Sequence[int], piece: CachePiece) -> Iterator[Look]:
        odd, broken = iter(piece.odd), iter(piece.broken)
        for place, letter in zip(places, piece.seen, strict=True):
            if letter == ODD:
                look = self._odd(one, place, next(odd))
                if not (_is_compared(one.table, place) and one.table.is_whole(place)):
                    yield look
            elif letter == BROKEN:
                error = next(broken)
                yield self._failed(one, place, error, mend(error))

    def failed(self, question: Question, error: str, fix: str | None) -> Iterator[Look]:
        """Say of files that they could not be looked at."""
        for place in question.places or ():
            yield self._failed(question.whole, place, error, fix)

    def _failed(self, one: Cache, place: int, error: str, fix: str | None) -> Look:
        one.table.forget(place)
        if not os.path.lexists(one.listing.files[place]):
            return Left(reason="gone before it was looked at", kinds=(CacheFacts,))
        at = Location(file=self._name(one, place))
        return Failed(at=at, error=error, kinds=(CacheFacts,), fix=fix)

    def _odd(self, one: Cache, place: int, facts: CacheFacts) -> Look:
        """Say of a file that looks damaged and was written meanwhile that nobody can judge it."""
        then = facts.size, one.table.written(place)
        if facts.damage is not None and then != stamp_of(one.listing.files[place]):
            one.table.forget(place)
            return Left(reason="written while it was looked at", kinds=(CacheFacts,))
        one.table.odd[place] = facts = self._placed(one, place, facts)
        return Looked(facts=facts, target=one.target)

    def _placed(self, one: Cache, place: int, facts: CacheFacts) -> CacheFacts:
        """Say of a file whether its checkpoint has a newer one beside it."""
        if not one.target.checkpoint:
            return facts
        if one.left_behind is None:
            one.left_behind = one.older(one.checkpoints())
        return replace(facts, is_older=one.is_older(self._name(one, place), one.left_behind))

    def _whole(self, one: Cache, places: Sequence[int], read_at: float | None) -> Iterator[Looked]:
        table = one.table
        for place in places:
            letter, name = chr(table.seen[place]), table.names[place]
            said = WHOLE.get(letter)
            is_strange = letter == UNKNOWN and is_for_torch(name)
            if said is not None and not _is_compared(table, place) and not is_strange:
                facts = self._plain(one, place, *said)
                yield Looked(facts=facts, target=one.target, read_at=read_at)

    def _plain(self, one: Cache, place: int, form: str, verified: bool) -> CacheFacts:  # noqa: FBT001
        size, name = one.table.size(place), self._name(one, place)
        return CacheFacts(file=name, size=size, format=form, verified=verified)

    def _compared(self, one: Cache) -> Iterator[Look]:
        """Give the files that are held against each other, once all of them were seen."""
        places, wrong = compared(one.table)
        foreign, misfits = strangers(one.table)
        lacking = {} if self.run.job.look.deep else one.table.arrays.lacking(one.table.names)
        wrong = lacking | wrong | misfits  # cache-content tells what is lacking, with --deep
        if left := [place for place in foreign if place not in misfits]:
            what = f"none of torch's by {'its' if len(left) == 1 else 'their'} first bytes"
            names = first_of([self._name(one, place) for place in left[:3]], len(left))
            yield Left(
                reason=f"{names}: {what}, and no reader reads other files of such a name",
                kinds=(CacheFacts,),
                count=len(left),
                noun="file",
                target=one.target,
            )
        for place in dict.fromkeys((*places, *misfits, *one.table.arrays.places())):
            facts = one.table.odd.get(place)
            if facts is None:
                facts = self._plain(one, place, *WHOLE[chr(one.table.seen[place])])
            if place in wrong:
                facts = self._placed(one, place, replace(facts, damage=wrong[place]))
                one.misfits[place] = facts
            read_at = one.begun if place in one.recalled else None
            yield Looked(facts=facts, target=one.target, read_at=read_at)

    def _name(self, one: Cache, place: int) -> str:
        return name_of(one.listing.files[place], self._root)

    def hear(self, target: object, facts: object) -> None:
        """Take in what torch has read in a file, and which files a loader lists."""
        if isinstance(facts, Content) and isinstance(target, CacheFolder):
            self._caches[target.path].contents.append(facts)
        elif isinstance(facts, Reads):
            self._listed.update(one for one in facts.files if one.lower().endswith(CACHE_SUFFIXES))

    def finish(self) -> Iterator[Look]:
        """Give what is known of each folder as a whole."""
        for one in self._caches.values():
            if appeared := one.appeared():
                reason = "put there while the others were looked at"
                yield Left(reason=reason, kinds=(CacheFacts,), count=appeared)
            unread = Counter(read.skipped for read in one.contents if read.skipped is not None)
            for reason, count in unread.items():
                yield Left(reason=reason, kinds=(CacheContents,), count=count)
            yield from self._compared(one)
            if one.target not in self.run.targets:
                continue  # files of a loader, and no whole folder
            yield Looked(facts=one.facts(), target=one.target)
            for facts in one.more_facts(one.contents):
                yield Looked(facts=facts, target=one.target)

    # --- what is kept

    def close(self) -> None:
        """Remember what was seen."""
        for one in self._caches.values():
            self._keep(one)

    def _keep(self, one: Cache) -> None:
        if not (one.read and self._memory.ledger.usable):
            return
        begun = time.monotonic()
        mark = digest_of(one.table.names, one.table.stamps) or ""
        seen = Remembered(one.begun, one.table.to_text())
        self._memory.ledger.remember_folder(self._how, one.target.path, mark, seen)
        one.kept = time.monotonic()
        one.wait = max(OFTEN, TIMES * (one.kept - begun))
        one.read = False


def _is_compared(table: CacheTable, place: int) -> bool:
    """Whether a file is held against those beside it, and told once all of them were seen."""
    return is_compared(table.names[place]) or table.arrays.is_known(place)
