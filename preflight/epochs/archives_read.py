"""Runs in a process of its own: finds out what a data set reads of archives by its own code.

What a data set reads with `tarfile` and `zipfile` is noted, and held against what the archives
hold. What is left out by anything but its suffix (a part for validation, a part of one rank, small
images) is meant.
"""

from __future__ import annotations

import contextlib
import os
import re
import tarfile
import time
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from preflight.epochs.facts import ArchivesRead
from preflight.formats.suffixes.images import is_image
from preflight.objects.where import defined
from preflight.values.names import name_of
from preflight.values.own_files import is_our_line, passes_on
from preflight.values.this_process import full_path

Read = defaultdict[str, set[str]]
"""By the path of an archive, the members that were read."""

_MOST_ARCHIVES = 1_000

# Of images to which nothing belongs, fewer are no samples: a preview, a sheet of contacts.
_FEWEST, _SHARE = 2, 0.1

_JOINTS = re.compile(r"[_\-. ]")


@contextlib.contextmanager
def noting() -> Iterator[Read]:
    """Note what is read of archives meanwhile, in this process."""
    read: Read = defaultdict(set)
    of_tar, of_zip = tarfile.TarFile.extractfile, zipfile.ZipFile.open

    @passes_on
    def extractfile(self: tarfile.TarFile, member: Any) -> Any:
        _note(read, self.name, getattr(member, "name", member))
        return of_tar(self, member)

    @passes_on
    def open_member(self: zipfile.ZipFile, name: Any, *more: Any, **named: Any) -> Any:
        _note(read, self.filename, getattr(name, "filename", name))
        return of_zip(self, name, *more, **named)

    tarfile.TarFile.extractfile = extractfile  # type: ignore[method-assign]
    zipfile.ZipFile.open = open_member  # type: ignore[method-assign]
    try:
        yield read
    finally:
        tarfile.TarFile.extractfile = of_tar  # type: ignore[method-assign]
        zipfile.ZipFile.open = of_zip  # type: ignore[method-assign]


def _note(read: Read, archive: object, member: object) -> None:
    if isinstance(archive, (str, os.PathLike)) and isinstance(member, str):
        read[full_path(archive)].add(member)


def by_index(
    dataset: Any, made: Mapping[str, set[str]], seconds: float, root: str, tell: Callable[..., None]
) -> ArchivesRead | None:
    """Ask for each sample once, and say what is read; None where that takes too long, too."""
    until = time.monotonic() + seconds
    try:
        with noting() as read:
            for index in range(len(dataset)):
                dataset[index]
                tell(beside=index)
                if not read:
                    break
                if time.monotonic() > until:
                    return None
    except Exception as error:  # the user's code, which is not asked for this by the job
        if is_our_line(error):
            raise
        return None
    return archives_read(read, made, dataset, until - time.monotonic(), root)


def archives_read(
    read: Mapping[str, set[str]],
    made: Mapping[str, set[str]],
    dataset: object,
    seconds: float,
    root: str,
) -> ArchivesRead | None:
    """Say what is read of the images in archives; None: nobody knows, or there are none.

    What is read while the data set is made may be a look at one of many: where nothing is read
    later, it is told only where all of a suffix are read.
    """
    until = time.monotonic() + seconds
    each = {path: read.get(path, set()) | made.get(path, set()) for path in (*read, *made)}
    archives = {path: one for path, one in each.items() if os.path.isfile(path)}
    left: list[tuple[str, str]] = []
    images, suffixes = 0, Counter[str]()
    for path, members in archives.items() if len(archives) <= _MOST_ARCHIVES else ():
        for folder in _folders(path):
            if time.monotonic() > until:
                return None
            images += sum(map(is_image, folder))
            left += ((path, one) for one in _left_in(folder, members))
            suffixes.update(_suffix(one) for one in folder if one in members and is_image(one))
    if not images or not (read or left):
        return None
    those = list(dict.fromkeys(path for path, _ in left)) or list(archives)
    return ArchivesRead(
        dataset=type(dataset).__name__,
        at=defined(type(dataset), root).at,
        archive=name_of(those[0], root),
        archives=len(those),
        images=images,
        read=suffixes.total(),
        left=len(left),
        member=left[0][1] if left else "",
        suffixes=tuple(sorted({_suffix(one) for _, one in left})),
        taken=tuple(one for one, _ in suffixes.most_common()),
    )


def _folders(path: str) -> Iterable[list[str]]:
    """Give the files of each folder of an archive."""
    by_folder: dict[str, list[str]] = {}
    for name in _names(path):
        by_folder.setdefault(os.path.dirname(name), []).append(name)
    return by_folder.values()


def _names(path: str) -> Iterator[str]:
    with contextlib.suppress(tarfile.TarError, zipfile.BadZipFile, OSError, EOFError):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                yield from (one for one in packed.namelist() if not one.endswith("/"))
            return
        with tarfile.open(path) as archive:
            yield from (one.name for one in archive if one.isfile())


class _Sample(NamedTuple):
    key: str
    beside: frozenset[str]
    """Suffixes of what else belongs to it."""


def _left_in(folder: list[str], members: set[str]) -> list[str]:
    """Give the images of a folder that are left out, where all those of other suffixes are read."""
    images = [one for one in folder if is_image(one)]
    read = [one for one in images if one in members]
    taken = {_suffix(one) for one in read}
    beside: dict[str, set[str]] = {}
    for one in folder:
        if not is_image(one):
            beside.setdefault(_key(one), set()).add(_suffix(one))
    samples = {one: _Sample(_key(one), frozenset(beside.get(_key(one), ()))) for one in images}
    keys = {samples[one].key for one in read}
    left = [one for one in images if one not in members and not _belongs(samples[one].key, keys)]
    if not read or any(_suffix(one) in taken for one in left):
        return []
    alike = {samples[one].beside for one in read}
    left = [one for one in left if samples[one].beside in alike]
    is_few = len(left) < max(_FEWEST, _SHARE * len(images))
    return [one for one in left if samples[one].beside or not is_few]


def _belongs(key: str, keys: set[str]) -> bool:
    """Whether it stands beside an image that is read: `0001_mask` beside `0001`."""
    parts = (one.start() for one in _JOINTS.finditer(key))
    return key in keys or any(key[:at] in keys or key[at + 1 :] in keys for at in parts)


def _key(name: str) -> str:
    return os.path.basename(name).partition(".")[0]


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1]
