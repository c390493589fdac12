"""Lists folders by names alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple


class FolderListing(NamedTuple):
    """What stands in a folder."""

    files: list[str]
    """Names of files, or of links to such; whoever takes the list may use it up."""

    folders: list[os.DirEntry[str]]
    """Folders, and links to such."""

    others: list[str]
    """Names of what is neither: links that lead nowhere, sockets."""

    links: list[str]
    """Names of those of the files that are links."""

    mark: tuple[int, int, int]
    """Its device and inode (0: not known), and when it last changed before it was listed."""

    @property
    def names(self) -> list[str]:
        """All names but those of folders."""
        return [*self.files, *self.others] if self.others else self.files

    def suffixes(self) -> frozenset[str]:
        """Give the last suffixes of all names, as they are; of a large folder, few."""
        return frozenset({name[name.rfind(".") :] for name in self.names if "." in name})


def upward(place: str) -> Iterator[str]:
    """Give a path, and each folder above it."""
    while True:
        yield place
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def list_names(path: str) -> FolderListing:
    """List a folder.

    Raises:
        OSError: it cannot be listed.
    """
    status = os.stat(path)
    mark = status.st_dev, status.st_ino, status.st_mtime_ns
    listed = FolderListing(files=[], folders=[], others=[], links=[], mark=mark)
    with os.scandir(path) as entries:
        for one in entries:
            try:
                if one.is_file(follow_symlinks=False):  # nearly all there is is told by one call
                    listed.files.append(one.name)
                    continue
                is_file = one.is_file()
                is_folder = not is_file and one.is_dir()
            except OSError:  # a link that leads to itself
                is_file = is_folder = False
            if is_file:
                listed.files.append(one.name)
                listed.links.append(one.name)
            elif is_folder:
                listed.folders.append(one)
            else:
                listed.others.append(one.name)
    return listed


def walk(
    top: str, enters: Callable[[os.DirEntry[str]], bool], unread: dict[str, str]
) -> Iterator[tuple[str, FolderListing]]:
    """Walk a tree, its folders in the order of their names, each once; links come at the end.

    The environment of another Python within it is left out, and folders that `enters` leaves out.
    Those that cannot be listed are added to the unread ones, each with the reason.
    """
    todo, links, seen = [top], list[str](), set[tuple[int, int]]()
    while todo or links:
        place = todo.pop() if todo else links.pop(0)
        try:
            listed = list_names(place)
        except OSError as error:
            unread[place] = error.strerror or str(error)
            continue
        identity = listed.mark[:2]
        if (identity[1] and identity in seen) or (place != top and "pyvenv.cfg" in listed.files):
            continue
        seen.add(identity)
        inner = [one for one in listed.folders if enters(one)]
        todo += sorted((one.path for one in inner if not one.is_symlink()), reverse=True)
        links += sorted(one.path for one in inner if one.is_symlink())
        yield place, listed


def names_in(folder: str) -> list[str]:
    """Give the names of all that lies directly in a folder; none where it cannot be listed."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def leads_to_system(path: str) -> bool:
    """Whether a path is a link to the root of the file system, and so to everything there is."""
    try:
        return os.path.islink(path) and os.path.realpath(path) == os.path.abspath(os.sep)
    except OSError:  # gone by now, or a link that we may not read, as in /proc
        return False
