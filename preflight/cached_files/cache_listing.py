"""Finds the files of a cache, and what its writers have left beside them."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass

from preflight.formats.suffixes import dcp as dcp_names
from preflight.values.listing import leads_to_system, walk

_SURE = (".pt", ".pth", ".npy", ".npz", ".safetensors", dcp_names.PART)
_PERHAPS = frozenset({".bin", ".ckpt"})

# Files of trainers under a suffix that many other programs use.
_TORCH_NAMES = ("pytorch_model", "diffusion_pytorch_model", "adapter_model", "training_args")

# Those of checkpoints, as Lightning and accelerate call them.
_OF_A_STATE = re.compile(
    r"\.ckpt$|(?:^|[/\\])(?:optimizer|scheduler|sampler|dl_state_dict)(?:_\d+)?\.bin$"
)

_NOT_LOOKED_INTO = frozenset(
    {".git", ".hg", ".svn", ".preflight", "__pycache__", "node_modules", "site-packages"}
)

# What atomic writers (torch, huggingface_hub, safetensors, rsync, editors) and locks leave behind,
# and programs that copy and download, seen in real folders: `a.pt.tmp`, `a.pt.tmp.1234`,
# `tmp8x2kz1qd`, `.tmp1k3bV8`, `.a.pt.Xk3d9Q`, `a.pt.lock`, `a.pt.crdownload`.
_LEFT_OVER = (
    r"[._-](tmp|temp|part|partial|incomplete|lock|lck|swp)([._-]\w+)?$"
    r"|^\.?tmp[a-z0-9_]{8}(\.\w+)?$|^\.tmp\w{6}$|~$|^\.nfs[0-9a-f]+$|^\.[^.].*\.\w+\.[A-Za-z0-9]{6}$"
    r"|\.tmp\w*\d\w*$|^\.te?mp[._-]|\.(crdownload|filepart|aria2|download)$"
)

# Those that bear the suffix of an entry: numpy adds `.npz` to whatever name it is given, and
# tempfile any suffix that is asked for. A name of letters alone may be a word.
_NAMED_AS_ENTRY = r"\.tmp(\.\w+)?\.\w+$|^tmp(?=[a-z]*[0-9_])[a-z0-9_]{8}\.\w+$"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheListing:
    """The files of a cache."""

    files: tuple[str, ...]
    """Paths as they can be opened, in order."""

    unreadable: tuple[tuple[str, str], ...] = ()
    """Folders that could not be listed, and links that lead nowhere: (path, reason)."""

    left_over: tuple[str, ...] = ()
    """Paths of temporary files and locks, by their names; those that look cached stay cached."""

    folders: tuple[tuple[str, int], ...] = ()
    """Every folder that was listed, and when something was last put in or taken out, in ns."""

    links: tuple[str, ...] = ()
    """Paths of files that are links, cached ones and others."""


def list_cache(path: str) -> CacheListing:
    """Find the cached files in a folder and all below it, or take the one file that is named.

    Raises:
        OSError: the path is not there, or cannot be listed.
    """
    if not stat.S_ISDIR(os.stat(path).st_mode):
        return CacheListing(files=(path,))
    os.scandir(path).close()
    files: list[str] = []
    left_over: list[str] = []
    folders: list[tuple[str, int]] = []
    links: list[str] = []
    unreadable: dict[str, str] = {}
    for folder, listed in walk(path, _is_looked_into, unreadable):
        folders.append((folder, listed.mark[2]))
        begin = os.path.join(folder, "")
        # There may be a hundred thousand of them, of which mostly all are sure.
        sure = [one for one in listed.files if one.endswith(_SURE) and one[0] != "."]
        files += [begin + name for name in sure]
        others = set(listed.files).difference(sure) if len(sure) < len(listed.files) else ()
        in_parts = bool(others) and any(one.endswith(dcp_names.PART) for one in listed.files)
        for name in others:
            if _is_cached(name, begin) or _is_plan(name, begin, in_parts=in_parts):
                files.append(begin + name)
            elif is_left_over(name) and not os.path.islink(begin + name):
                left_over.append(begin + name)
        left_over += [begin + name for name in filter(is_unfinished, sure)]
        links += (begin + name for name in listed.links)
        odd = (one for one in listed.others if suffix_of(one) in _SURE and one[0] != ".")
        unreadable |= {begin + name: _odd(begin + name) for name in odd}
    files.sort()
    return CacheListing(
        files=tuple(files),
        unreadable=tuple(sorted(unreadable.items())),
        left_over=tuple(sorted(left_over)),
        folders=tuple(folders),
        links=tuple(links),
    )


def is_cached(path: str) -> bool:
    """Whether a file is a cached one, by its name or its beginning."""
    folder, name = os.path.split(path)
    return _is_cached(name, os.path.join(folder, ""))


def is_left_over(name: str) -> bool:
    """Whether a name is that of a temporary file or of a lock, as writers of caches call them."""
    return re.search(_LEFT_OVER, name, re.IGNORECASE) is not None


def is_unfinished(name: str) -> bool:
    """Whether a name with the suffix of an entry is that of a file which is still being written."""
    # There may be a hundred thousand of them.
    return "tmp" in name and re.search(_NAMED_AS_ENTRY, name) is not None


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    return entry.name not in _NOT_LOOKED_INTO and not leads_to_system(entry.path)


def _is_cached(name: str, begin: str) -> bool:
    """Whether a file is a cached one; names that begin with a dot are temporary, or of macOS."""
    if name[0] == ".":
        return False
    suffix = suffix_of(name)
    return suffix in _SURE or (suffix in _PERHAPS and is_for_torch(begin + name))


def _is_plan(name: str, begin: str, *, in_parts: bool) -> bool:
    """Whether a file names the parts of a checkpoint; where there is none, by its beginning."""
    if not dcp_names.PLAN_NAME.fullmatch(name):
        return False
    from preflight.formats.magic import head_of

    return in_parts or dcp_names.PLAN_MARK in (head_of(begin + name) or b"")


def _odd(path: str) -> str:
    """Say why it is no cached file what has the name of one: a link that is broken, or a pipe."""
    return "it is no regular file" if os.path.exists(path) else "leads to a file that is gone"


def is_for_torch(path: str) -> bool:
    """Whether a file whose suffix says little is meant for torch, by its name or its beginning."""
    if os.path.basename(path).startswith(_TORCH_NAMES):
        return True
    from preflight.formats.magic import head_of, what_is
    from preflight.formats.torch.legacy import legacy_start
    from preflight.formats.torch.torchfile import looks_like_torch

    head = head_of(path)
    if not head:
        return head is not None
    if not any(head):  # no format begins so; raw numbers, which may, are called otherwise
        return _OF_A_STATE.search(path.lower()) is not None
    return (
        legacy_start(head) is not None
        or looks_like_torch(head)
        or what_is(head) in ("HTML page", "Git LFS pointer")
        or _is_harmful_pickle(head)
    )


def _is_harmful_pickle(head: bytes) -> bool:
    """Whether a short pickle would run something: torch.load and pickle.load take any name."""
    from preflight.formats.bytes.damaged import DamagedError
    from preflight.formats.torch.pickle_globals import is_dangerous
    from preflight.formats.torch.pickles import walk_bytes

    try:
        return any(map(is_dangerous, walk_bytes(head).globals))
    except DamagedError:
        return False


def suffix_of(name: str) -> str:
    """Give the last suffix of a name, in small letters: `.pt`; `.pth` also of `best.pth.tar`."""
    at = name.rfind(".")
    if name[at:] in _SURE and name[at - 1 : at].isalnum():  # most of them, by far
        return name[at:]
    first, suffix = os.path.splitext(name.lower())
    return ".pth" if suffix == ".tar" and first.endswith(".pth") else suffix
