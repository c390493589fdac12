"""Lists the entries of a cache by name and age, and finds them by their keys."""

from __future__ import annotations

import contextlib
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet

from preflight.cached_files.cache_listing import is_unfinished
from preflight.formats.by_name import NUMPY, SAFETENSORS, TORCH
from preflight.keys.index import OF_TEXT, EntryIndex, keys_of, places_of
from preflight.kinds.asked import CannotLookError
from preflight.kinds.question import stamp_of
from preflight.settings.key_rule import KeyRule
from preflight.values.listing import leads_to_system
from preflight.values.tally import First

SUFFIXES = TORCH | NUMPY | {SAFETENSORS}
"""Of cached files, in small letters."""

# Of tables and data bases: diffusion-pipe and the scripts of diffusers keep theirs so.
_STORES = frozenset(
    {".arrow", ".parquet", ".feather", ".mdb", ".lmdb", ".h5", ".hdf5", ".db", ".sqlite", ".tar"}
    | {".tfrecord", ".msgpack", ".mds", ".pkl", ".zip"}
)

_NAMES = re.compile(rb"[^\0]+")

# Files after which it is said again that work goes on.
_OFTEN = 512

# What jobs cache of no sample: the empty and the negative prompt, the mean of all latents, and
# what OneTrainer keeps of all samples together.
_OF_NOBODY = re.compile(
    r"(?:null|empty|blank|dropout|uncond(?:itional)?|neg(?:ative)?)(?:[-_. ]?"
    r"(?:prompts?|captions?|texts?|strings?|cond|emb|embeds?|embeddings?|latents?))*"
    r"|(?:latents?[-_.])?(?:stats?|mean|std|mean[-_.]std|aggregate)",
    re.IGNORECASE,
)


class Entries:
    """The entries of a cache, in little memory."""

    def __init__(
        self,
        path: str,
        rule: KeyRule | None,
        tell: Callable[[str], object],
        others: Iterable[str] = (),
        *,
        is_there: bool = True,
    ) -> None:
        """List them, but for those in the folders of other caches, which may lie below.

        The rule says what their names look like, where it is a template.

        Raises:
            OSError: it cannot be listed.
            CannotLookError: a folder in it cannot be listed, so that entries may lie there.
        """
        self._rule = rule
        self.modified = array("d")
        """When each was last written, in seconds since the epoch."""

        self.is_deep = False
        """Whether some lie in folders below."""

        self.others = First()
        """Cached files of other names than the rule has."""

        self.stores = First()
        """Files that hold the entries of many samples, and are not looked into."""

        self._folders: dict[str, tuple[int, int]] = {}
        joined = bytearray()
        for below, entry in _files(path, tell, others, self._folders) if is_there else ():
            name = f"{below}/{entry.name}" if below else entry.name
            if self._is_one(entry, name) and (written := _written(entry)) is not None:
                joined += name.encode("utf-8", "surrogatepass") + b"\0"
                self.modified.append(written)
                self.is_deep = self.is_deep or bool(below)
        self._joined = bytes(joined)

    def has_changed(self) -> bool:
        """Whether something was put in or taken out since its folder was listed."""
        return any(stamp_of(path) != then for path, then in self._folders.items())

    def _is_one(self, entry: os.DirEntry[str], name: str) -> bool:
        if entry.name.startswith(".") or is_unfinished(entry.name):
            return False
        suffix = entry.name[entry.name.rfind(".") :]
        if suffix.lower() not in SUFFIXES and (self._rule is None or suffix != self._rule.suffix):
            if suffix.lower() in _STORES:
                self.stores.add(name)
            return False
        if self._rule is None or self._rule.shape is None:
            return True
        shaped = name if self._rule.placed else entry.name
        shaped = shaped if self._rule.suffix else os.path.splitext(shaped)[0]
        if self._rule.shape.fullmatch(shaped) is None:
            self.others.add(name)
            return False
        return True

    def __len__(self) -> int:
        return len(self.modified)

    def names(self) -> Iterator[str]:
        """Give their paths below the cache, each time in the same order."""
        for found in _NAMES.finditer(self._joined):
            yield found[0].decode("utf-8", "surrogatepass")

    def of_text(self) -> AbstractSet[int]:
        """Give the numbers of those that are made of a caption, and not of its sample's file."""
        return {number for number, name in enumerate(self.names()) if OF_TEXT.search(name)}

    def index(
        self, *, by_stem: bool, layout: str, numbered: bool, endings: AbstractSet[str]
    ) -> EntryIndex:
        """Make what finds them by their keys: by the part of a path that a layout names."""
        return EntryIndex(
            (number, key, free + rest[len(key) :])
            for number, name in enumerate(self.names())
            for free, rest in places_of(name, layout)
            for key in keys_of(rest, by_stem=by_stem, numbered=numbered, endings=endings)
        )


def is_of_nobody(name: str) -> bool:
    """Whether an entry is of the empty prompt or the like, by its name, and of no sample."""
    stem = os.path.splitext(name.rpartition("/")[2])[0]
    return _OF_NOBODY.fullmatch(stem) is not None


def _files(
    top: str,
    tell: Callable[[str], object],
    others: Iterable[str],
    folders: dict[str, tuple[int, int]],
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Give what is in a folder and all below it, each with the path of its folder from there.

    Entries are let go of one by one: each holds what the system knows of its file. Takes note of
    when something was last put into each folder or taken out.
    """
    waiting = [(top, "")]
    met = set(_marks(others)).difference(_marks([top]))
    while waiting:
        path, below = waiting.pop()
        try:
            here = set(_marks([path]))
            if here & met:
                continue
            met |= here
            folders[path] = stamp_of(path)
            with os.scandir(path) as listing:
                for number, entry in enumerate(listing):
                    if not number % _OFTEN:
                        tell(below or os.path.basename(top))
                    if _is_folder(entry):
                        waiting.append((entry.path, f"{below}/{entry.name}".lstrip("/")))
                    else:
                        yield below, entry
        except OSError as error:
            _let_pass(error, below)


def _marks(paths: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Tell folders from each other, however links lead to them, where the system can."""
    for path in paths:
        with contextlib.suppress(OSError):  # it may be gone, as any may be
            status = os.stat(path)
            if status.st_ino:
                yield status.st_dev, status.st_ino


def _let_pass(error: OSError, below: str) -> None:
    """Pass over a folder that was taken away while the cache was looked at, and over no other."""
    if not below:
        raise error
    if not isinstance(error, FileNotFoundError):
        raise CannotLookError(f"{below} cannot be listed: {error.strerror}") from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        hidden = entry.name.startswith(".")
        return entry.is_dir() and not hidden and not leads_to_system(entry.path)
    except OSError:
        return False


def _written(entry: os.DirEntry[str]) -> float | None:
    try:
        return entry.stat().st_mtime if entry.is_file() else None
    except OSError:
        return None
