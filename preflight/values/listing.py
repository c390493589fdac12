"""Lists one folder by names alone; a large one is listed once, though two ask for it in turn."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

# Names in a folder from which on it is worth keeping them: to list fewer takes no time.
_MANY = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What stands in a folder."""

    files: list[str]
    """Names of files, or of links to such; whoever takes the list may use it up."""

    folders: list[os.DirEntry[str]]
    """Folders, and links to such."""

    others: list[str]
    """Names of what is neither: links that lead nowhere, sockets."""

    links: list[str]
    """Names of those of the files that are links."""

    mark: tuple[int, ...]
    """What told this content of the folder from others."""

    @property
    def names(self) -> list[str]:
        """All names but those of folders."""
        return [*self.files, *self.others] if self.others else self.files

    def suffixes(self) -> frozenset[str]:
        """Give the last suffixes of all names, as they are; of a large folder, few."""
        names, most = self.names, ""
        if names and "." in names[0]:  # that of nearly all, where there are a hundred thousand
            most = names[0][names[0].rfind(".") :]
            names = [name for name in names if not name.endswith(most)]
        return frozenset({most, *(name[name.rfind(".") :] for name in names)} - {""})


_kept: dict[str, Listed] = {}


def list_names(path: str) -> Listed:
    """List a folder.

    Raises:
        OSError: it cannot be listed.
    """
    mark = _mark(path)
    try:
        files, links, rest = _scan(path, os.DirEntry.is_file)
    except OSError:  # a link that leads to itself; or the folder, which then raises again
        files, links, rest = _scan(path, _is_file)
    folders = [one for one in rest if _is_folder(one)]
    others = [one.name for one in rest if one not in folders] if len(rest) > len(folders) else []
    return Listed(files=files, folders=folders, others=others, links=links, mark=mark)


def _scan(
    path: str, is_file: Callable[[os.DirEntry[str]], bool]
) -> tuple[list[str], list[str], list[os.DirEntry[str]]]:
    """Give the names of files, those of them that are links, and what is no file."""
    links: list[str] = []
    rest: list[os.DirEntry[str]] = []
    link: Callable[[str], object] = links.append
    note: Callable[[os.DirEntry[str]], object] = rest.append
    with os.scandir(path) as entries:
        files = [
            one.name
            for one in entries
            if (is_file(one) or note(one)) and not (one.is_symlink() and link(one.name))
        ]
    return files, links, rest


def keep(path: str, listed: Listed) -> None:
    """Keep what a large folder holds, for whoever lists it next; the one before is let go of."""
    if len(listed.files) >= _MANY:
        _kept.clear()
        _kept[os.path.abspath(path)] = listed


def take(path: str) -> Listed | None:
    """Give what was kept of a folder, once, where nothing was put in or taken out since."""
    if not _kept:
        return None
    listed = _kept.pop(os.path.abspath(path), None)
    return listed if listed is not None and listed.mark == _mark(path) else None


def _mark(path: str) -> tuple[int, ...]:
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def leads_to_system(path: str) -> bool:
    """Whether a path is a link to the root of the file system, and so to everything there is."""
    return os.path.islink(path) and os.path.realpath(path) == os.path.abspath(os.sep)
