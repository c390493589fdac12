"""Says what there is to say of a folder of cached files as a whole, once its files were seen."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from preflight.cached_files.cache_listing import CacheListing
from preflight.cached_files.facts import CacheFacts
from preflight.caches.facts import Alike, Burst, CacheFolderFacts, Unread
from preflight.caches.hashed_names import NAMED, grouped
from preflight.caches.table import WHOLE, CacheTable
from preflight.checkpoints.facts import CheckpointFacts
from preflight.checkpoints.state_names import is_unfinished
from preflight.file_access.facts import Damage
from preflight.targets.targets import CacheFolder
from preflight.tensors.facts import CacheContents, Content
from preflight.values.names import name_of

# Temporary files and locks that are named.
_MOST_LEFT_OVER = 20

# Damaged files were most likely left by one crash where so many were written within so many
# seconds of one another.
_FEWEST_OF_BURST = 3
_BURST = 10.0

# Damage of files that were written to their end: a checkout of git leaves many at once.
_OF_NO_CRASH = frozenset({"bomb", "foreign", "not-fetched", "untyped"})

# Numbers with which no run goes on, as a predicate of the file that holds them.
_NO_NUMBERS = {"nan": "holds NaN", "infinite": "holds infinite numbers"}

# Damage that the reader of a format does not notice, as it compares no checksums.
_QUIET = {("torch zip", "checksum"), ("npy", "pages"), ("safetensors", "pages")}

# Seconds by which a whole file may be older or younger than a burst and still be of its moment.
_NEAR = 2.0


@dataclass(slots=True, kw_only=True)
class WholeCache:
    """A folder of cached files, of which a row tells what was seen of each."""

    target: CacheFolder
    listing: CacheListing
    root: str
    """The job's folder."""

    same_as: str | None
    """Another entry of the settings that names this folder, too."""

    base: str = field(init=False)
    """The folder that the names of its files are below."""

    table: CacheTable = field(init=False)
    misfits: dict[int, CacheFacts] = field(default_factory=dict)
    """By their places, files that are damaged by what the others beside them are."""

    def __post_init__(self) -> None:
        path, files = self.target.path, self.listing.files
        self.base = os.path.dirname(path) if files == (path,) else path
        begin = len(os.path.join(self.base, "")) if self.base else 0
        self.table = CacheTable([file[begin:] for file in files])

    @property
    def odd(self) -> dict[int, CacheFacts]:
        """Files of which there is something to say, by their places."""
        return {**self.table.odd, **self.misfits}

    @property
    def _damaged(self) -> dict[int, Damage]:
        """What is wrong with each damaged file, by its place in the listing."""
        odd = sorted(self.odd.items())
        return {place: facts.damage for place, facts in odd if facts.damage is not None}

    def _bursts(self) -> Iterator[Burst]:
        """Find the moments of which mostly damaged files are left.

        Where as many whole ones are of the same moment, all of them were copied or unpacked then.
        """
        damaged, table = self._damaged, self.table
        torn = (place for place, one in damaged.items() if one.kind not in _OF_NO_CRASH)
        bursts = list(_bursts(table.written(place) / 1e9 for place in torn))
        if not bursts:
            return
        times = [
            table.written(place) // 10**9
            for place in range(len(self.listing.files))
            if chr(table.seen[place]) in WHOLE or (place in self.odd and place not in damaged)
        ]
        for one in bursts:
            whole = sum(one.begin - _NEAR <= then <= one.end + _NEAR for then in times)
            if whole < one.count:
                yield one

    def _below(self, path: str) -> str:
        top = self.target.path
        return name_of(path, top if path != top else os.path.dirname(path))

    def facts(self) -> CacheFolderFacts:
        """Give what is known of the folder as a whole."""
        left_over = [self._below(path) for path in self.listing.left_over]
        patterns, apart = grouped(self.table.names)
        formats, unverified = self._formats()
        unread, damaged = self._unread(), len(self._damaged)
        return CacheFolderFacts(
            file=name_of(self.target.path, self.root),
            entries=sum(one.count for one in formats) + damaged,
            damaged=damaged,
            formats=formats,
            unverified=unverified,
            unread=tuple(unread[:NAMED]),
            unread_count=len(unread),
            patterns=patterns,
            apart=apart,
            left_over=tuple(left_over[:_MOST_LEFT_OVER]),
            left_over_count=len(left_over),
            same_as=self.same_as,
            bursts=tuple(self._bursts()),
            checkpoints=sum(len(one.checkpoints) for one in self.checkpoints()),
        )

    def _formats(self) -> tuple[tuple[Alike, ...], tuple[Alike, ...]]:
        """Count whole files by format; and, of these, those without checksums."""
        table, apart = self.table, Counter(self.table.seen[place] for place in self.misfits)
        rows = [
            (*WHOLE[chr(code)], count - apart[code], table.places(chr(code), NAMED))
            for code, count in Counter(table.seen).items()
            if chr(code) in WHOLE and count > apart[code]
        ]
        rows += [
            (facts.format, facts.verified or facts.unread is not None, 1, [place])
            for place, facts in self.odd.items()
            if facts.damage is None
        ]
        return self._told(rows), self._told([row for row in rows if not row[1]])

    def _told(self, rows: Iterable[tuple[str, bool, int, list[int]]]) -> tuple[Alike, ...]:
        counts: Counter[str] = Counter()
        places: dict[str, list[int]] = defaultdict(list)
        for what, _, count, those in rows:
            counts[what] += count
            places[what] += those
        return tuple(
            Alike(what=what, count=count, names=tuple(self._names(sorted(places[what])[:NAMED])))
            for what, count in counts.most_common()
        )

    def _names(self, places: Iterable[int]) -> Iterator[str]:
        return (self._below(self.listing.files[place]) for place in places)

    def _unread(self) -> list[Unread]:
        files, odd = self.listing.files, sorted(self.odd.items())
        return [
            Unread(name=self._below(files[place]), what=facts.unread)
            for place, facts in odd
            if facts.damage is None and facts.unread is not None
        ]

    def more_facts(self, loaded: Sequence[Content]) -> Iterator[CheckpointFacts | CacheContents]:
        """Give what is known of checkpoints, where it is a folder of such, and of its numbers."""
        contents: CacheContents | None = None
        if loaded:
            from preflight.tensors.neighbours import contents_of

            contents = contents_of(name_of(self.target.path, self.root), loaded)
        found = self.checkpoints(contents)
        yield from found
        if contents is not None:
            states, older = self._places(found), self.older(found)
            foreign = {
                name_of(self.listing.files[place], self.root)
                for place, damage in self._damaged.items()
                if damage.kind == "foreign"
            }
            odd = (
                replace(
                    one,
                    is_state=is_in(one.file, states),
                    is_older=self.is_older(one.file, older),
                )
                for one in contents.odd
                if one.kind != "kind" or one.file not in foreign  # told by its bytes
            )
            yield replace(contents, odd=tuple(odd))

    def _places(
        self, found: Sequence[CheckpointFacts], *, are_older: bool = False
    ) -> frozenset[str]:
        """Name the folders and files of checkpoints as reports do."""
        file = name_of(self.target.path, self.root)
        is_file = self.listing.files == (self.target.path,)
        places: set[str] = set()
        for facts in found:
            first, *others = facts.checkpoints
            is_alone = is_file or not (others or first.members)
            goes_on = (facts.latest or first.name, *self.target.named)
            for one in facts.checkpoints:
                if not (are_older and one.name in goes_on):
                    names = one.members or (one.name,)
                    places |= {file if is_alone else os.path.join(facts.file, it) for it in names}
        return frozenset(map(os.path.normpath, places))

    def older(self, found: Sequence[CheckpointFacts]) -> frozenset[str]:
        """Name the checkpoints that no job goes on from, as far as anybody knows.

        What is damaged makes no difference: it is told while files are still read.
        """
        return self._places(found, are_older=True)

    def is_older(self, file: str, older: AbstractSet[str]) -> bool:
        """Whether no job goes on from a file: it is of one of these, or of one never finished."""
        if not self.target.checkpoint:
            return False
        below = name_of(os.path.join(self.root, file), self.target.path)
        return is_in(file, older) or any(map(is_unfinished, below.split("/")[:-1]))

    def checkpoints(self, contents: CacheContents | None = None) -> tuple[CheckpointFacts, ...]:
        """Give the checkpoints, the newest first; with numbers that nothing can go on from."""
        if not self.target.checkpoint:
            return ()
        from preflight.checkpoints.notes import astray, taken  # most folders hold none
        from preflight.checkpoints.training_states import Wrong, checkpoints, homes

        files, odd_files = self.listing.files, self.odd
        wrong = {
            files[place]: Wrong(one.text, (odd_files[place].format, one.kind) in _QUIET)
            for place, one in self._damaged.items()
            if one.kind != "not-fetched"  # another matter: of the checkout, and not of the run
        }
        odd_numbers = contents.odd if contents is not None else ()
        numbers = {one.file: one for one in odd_numbers if one.kind in _NO_NUMBERS}
        for path in files if numbers else ():
            odd = numbers.get(name_of(path, self.root))
            if odd is not None and path not in wrong:
                text = f"{_NO_NUMBERS[odd.kind]} ({odd.path or odd.seen})"
                wrong[path] = Wrong(text, is_quiet=True)
        told = []
        folders = (one for one, _ in self.listing.folders)
        for home, paths in homes(self.target.path, files, folders).items():
            found = checkpoints(home, paths, wrong)
            pointer, said = astray(home, found)
            file = name_of(home, self.root)
            told.append(
                CheckpointFacts(
                    file=file,
                    checkpoints=found,
                    latest=taken(home, [one.name for one in found]),
                    pointer=pointer,
                    astray=said,
                )
            )
        return tuple(one for one in told if one.checkpoints)


def is_in(path: str, places: AbstractSet[str]) -> bool:
    """Whether a file is one of these, or lies in one of them; all as reports name them."""
    path = os.path.normpath(path)
    while path not in places:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True


def _bursts(times: Iterable[float]) -> Iterator[Burst]:
    """Find the times about which several files were last written."""
    burst: list[float] = []
    for then in [*sorted(times), float("inf")]:
        if burst and then - burst[-1] > _BURST:
            if len(burst) >= _FEWEST_OF_BURST:
                yield Burst(count=len(burst), begin=burst[0], end=burst[-1])
            burst = []
        burst.append(then)
