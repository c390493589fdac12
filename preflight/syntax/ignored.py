"""What git leaves out of a folder: copies and builds that are no sources of the job."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

# git's own settings can name a command that tells what has changed; it is the folder's, not ours.
_LIST = (
    "git",
    "-c",
    "core.fsmonitor=false",
    "ls-files",
    "-z",
    "--others",
    "--ignored",
    "--exclude-standard",
    "--directory",
)

# After this many seconds the folder counts as one without git.
_PATIENCE = 10


def ignored_by_git(folder: str) -> frozenset[str]:
    """Give the files and folders below a folder that git ignores, by their paths.

    A folder that is ignored as a whole lies in somebody else's repository, and nothing of it is
    given; nor where there is no git, or no repository that it would look into.
    """
    if not _is_in_repository(folder):
        return frozenset()
    try:
        listed = subprocess.run(
            _LIST,
            cwd=folder,
            env={**_without_git(os.environ), "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=True,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    names = [os.fsdecode(one) for one in listed.split(b"\0") if one]
    if "./" in names:
        return frozenset()
    return frozenset(os.path.join(folder, *name.rstrip("/").split("/")) for name in names)


def _without_git(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave out what names another repository, as git itself sets it for its hooks."""
    return {name: each for name, each in environment.items() if not name.startswith("GIT_")}


def _is_in_repository(folder: str) -> bool:
    here = os.path.realpath(folder)
    while not os.path.exists(os.path.join(here, ".git")):
        above = os.path.dirname(here)
        if above == here:
            return False
        here = above
    return True
