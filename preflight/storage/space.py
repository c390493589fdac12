"""What can be told of a folder's file system without writing to it."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from typing import NamedTuple

from preflight.targets.file_types.suffixes import CACHE_SUFFIXES

# Entries whose sizes are looked at.
_SOME = 2_000

# Types of file systems that are reached over a network, as systems call them.
_REMOTE = frozenset(
    {"nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "lustre", "gpfs", "beegfs"}
    | {"ceph", "glusterfs", "afs", "afpfs", "9p", "wekafs", "panfs", "orangefs", "pvfs2", "webdav"}
    | {"fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.goofys", "fuse.juicefs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.mount-s3", "mountpoint-s3", "fuse.blobfuse2"}
)


class Space(NamedTuple):
    """Where a folder lies, and how much room there is; as `StorageProbe` has it."""

    read_only: bool
    system: str
    is_remote: bool | None
    device: int
    free: int
    free_files: int | None


def nearest_folder(path: str) -> str:
    """Give a folder itself, or the nearest one above it that is there; links are followed."""
    place = os.path.realpath(path)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    return place


def space_of(folder: str) -> Space:
    """Look at the file system of a folder.

    Raises:
        OSError: it cannot be looked at.
    """
    read_only, free_files = False, None
    if hasattr(os, "statvfs"):
        told = os.statvfs(folder)
        read_only = bool(told.f_flag & os.ST_RDONLY)
        # Some count none at all, since they make room for files as they come.
        free_files = told.f_favail if told.f_files else None
    system = _system_of(folder)
    is_remote = None if not system else system.lower() in _REMOTE
    if is_remote is False and system.lower().startswith("fuse"):
        is_remote = None
    return Space(
        read_only=read_only,
        system=system,
        is_remote=is_remote,
        device=os.stat(folder).st_dev,
        free=shutil.disk_usage(folder).free,
        free_files=free_files,
    )


def _system_of(folder: str) -> str:
    """Name the type of the file system on which a folder lies; empty: not known."""
    import psutil

    try:
        mounts = psutil.disk_partitions(all=True)
    except (OSError, psutil.Error):
        return ""
    above = [one for one in mounts if _is_in(folder, one.mountpoint)]
    # Of several on one point, the last one covers the others.
    return max(above, key=lambda one: len(one.mountpoint)).fstype if above else ""


def _is_in(folder: str, mount: str) -> bool:
    return os.path.join(folder, "").startswith(os.path.join(mount, ""))


def entry_sizes(folder: str) -> list[int]:
    """Give the bytes of some of the entries of a cache."""
    return list(itertools.islice(_sizes(folder), _SOME))


def suffix_in(folder: str) -> str:
    """Give the suffix that most of some entries of a cache have; empty: there is none."""
    names = (entry.name.lower() for entry in itertools.islice(_entries(folder), _SOME))
    suffixes = [os.path.splitext(name)[1] for name in names]
    return max(set(suffixes), key=suffixes.count) if suffixes else ""


def _sizes(folder: str) -> Iterator[int]:
    for entry in _entries(folder):
        try:
            yield entry.stat().st_size
        except OSError:  # gone by now
            continue


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.lower().endswith(CACHE_SUFFIXES):
                        yield entry
        except OSError:
            continue
