"""Sees to it that each cached file is looked at once, however many names lead to it."""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from preflight.kinds.target import Target
from preflight.targets.folders import CHECKPOINT
from preflight.targets.targets import CacheFolder
from preflight.values.listing import upward

if TYPE_CHECKING:
    from preflight.cached_files.cache_listing import CacheListing


@dataclass(slots=True, kw_only=True)
class _Named:
    """A cache as it was named, and what came of it."""

    target: CacheFolder
    real: str
    """Its path without links."""

    order: int
    owner: _Named | None = None
    """Another one by which its files are told."""

    inner: list[str] = field(default_factory=list)
    """Paths below it that others have."""

    states: list[str] = field(default_factory=list)

    def takes(self, rest: str) -> bool:
        """Whether what lies there below it is a state of its run, or a part of one."""
        if not self.target.checkpoint:
            return False
        return _is_state(rest) or not _holds_states(self.real)


def told_once(targets: Iterable[Target]) -> Mapping[CacheFolder, CacheFolder]:
    """Say what is looked at in the place of each cache, where some are named twice or nested.

    A file belongs to the innermost cache that was named; of a folder under several names, to the
    first. What lies in a folder of checkpoints is one of them, and belongs to that, since only all
    of them say which is the newest. An entry of the settings stays, and may have no files left:
    each says by its own rule how entries are named.
    """
    caches = [one for one in targets if isinstance(one, CacheFolder)]
    if len(caches) < 2:
        return {}
    _real_folder.cache_clear()  # since an earlier run, links may lead elsewhere
    caches = list(dict.fromkeys(caches))
    every = [
        _Named(target=one, real=_real(one.path), order=order) for order, one in enumerate(caches)
    ]
    first: dict[Hashable, _Named] = {}
    for one in every:
        before = first.setdefault(_identity(one.real), one)
        if before is not one:
            one.owner = before
            both = before.target.checkpoint or one.target.checkpoint
            before.target = replace(before.target, checkpoint=both)
    for one in sorted(first.values(), key=lambda one: len(one.real)):
        _place(one, [(first[at], rest) for at, rest in _above(one.real) if at in first])
    return {target: _looked_at(one) for target, one in zip(caches, every, strict=True)}


def _place(one: _Named, around: list[tuple[_Named, str]]) -> None:
    """Give a cache to the checkpoints in which it lies, or take it out of the one around it.

    Those around it come the outermost first, each with the way from there.
    """
    for outer, rest in around:
        if outer.takes(rest):
            one.owner = outer
            outer.states.append(rest.partition(os.sep)[0])
            return
    if around:
        outer, rest = around[-1]
        below = os.path.join(outer.target.path, rest)
        outer.inner.append(below)
        if outer.order < one.order and one.target.entry is None:
            one.target = replace(one.target, path=below)  # the name that was given first


def _looked_at(one: _Named) -> CacheFolder:
    if one.owner is None:
        return replace(one.target, without=tuple(one.inner), named=tuple(one.states))
    if one.target.entry is not None:
        return replace(one.target, without=(one.target.path,), checkpoint=False)
    return _looked_at(one.owner)


def own_files(listing: CacheListing, target: CacheFolder) -> CacheListing:
    """Leave out of a cache what other targets have, and links to others of its files."""
    listing = _without_links(listing, target)
    if not target.without:
        return listing
    others = frozenset(target.without)
    if target.path in others:
        return replace(listing, files=(), unreadable=(), left_over=())

    @lru_cache(maxsize=64)
    def is_in_other(folder: str) -> bool:
        return not others.isdisjoint(upward(folder))

    def is_own(path: str) -> bool:
        return path not in others and not is_in_other(os.path.dirname(path))

    return replace(
        listing,
        files=tuple(filter(is_own, listing.files)),
        unreadable=tuple(one for one in listing.unreadable if is_own(one[0])),
        left_over=tuple(filter(is_own, listing.left_over)),
    )


def _without_links(listing: CacheListing, target: CacheFolder) -> CacheListing:
    """Leave out links to other files of a cache: each is one file, under its own name.

    Of checkpoints, each has all its files, whatever they are links to; one may be a link itself.
    """
    top = target.path
    files = set(listing.files) if listing.links else set()
    again = {
        link
        for link in files.intersection(listing.links)
        if not (target.checkpoint and os.path.dirname(link) != os.path.join(top, "").rstrip(os.sep))
        and (to := _leads_to(link, top)) in files
        and to != link
        and _is_same(link, to)
    }
    if not again:
        return listing
    return replace(listing, files=tuple(one for one in listing.files if one not in again))


def _leads_to(link: str, top: str) -> str:
    """Give the path to which a link leads at once, spelled as a walk from the top spells it."""
    try:
        to = os.path.normpath(
            os.path.join(os.path.abspath(os.path.dirname(link)), os.readlink(link))
        )
    except OSError:
        return ""
    for above in (os.path.abspath(top), os.path.realpath(top)):
        if to.startswith(os.path.join(above, "")):
            return os.path.join(top, to[len(os.path.join(above, "")) :])
    return ""


def _is_same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _is_state(rest: str) -> bool:
    return CHECKPOINT.fullmatch(rest.partition(os.sep)[0]) is not None


def _holds_states(folder: str) -> bool:
    """Whether states are numbered in this folder, so that others in it are none."""
    try:
        return any(map(_is_state, os.listdir(folder)))
    except OSError:
        return False


# --- places of the file system, whatever they are called


def _real(path: str) -> str:
    folder, name = os.path.split(path)
    if name in ("", os.curdir, os.pardir) or os.path.islink(path):
        return os.path.realpath(path)
    return os.path.join(_real_folder(folder), name)


# A thousand files of one folder may be named.
@lru_cache(maxsize=16)
def _real_folder(path: str) -> str:
    return os.path.realpath(path)


def _identity(path: str) -> Hashable:
    """Tell a folder by its inode, and a file by its folder and name: hard links are two files."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    if not stat.S_ISDIR(status.st_mode):
        folder, name = os.path.split(path)
        return _identity(folder), name
    return (status.st_dev, status.st_ino) if status.st_ino else os.path.normcase(path)


def _above(path: str) -> Iterator[tuple[Hashable, str]]:
    """Give the folders in which a path lies, the outermost first, each with the way from there."""
    above = [path]
    while (folder := os.path.dirname(above[-1])) != above[-1]:
        above.append(folder)
    for folder in reversed(above[1:]):
        yield _identity(folder), path[len(os.path.join(folder, "")) :]
