"""What git leaves out of a folder: copies and builds that are no sources of the job."""

from __future__ import annotations

import os
import subprocess

from preflight.values.listing import upward

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
    above = upward(os.path.realpath(folder))
    if not any(os.path.exists(os.path.join(one, ".git")) for one in above):
        return frozenset()
    # What names another repository, as git itself sets it for its hooks, is left out.
    own = {name: each for name, each in os.environ.items() if not name.startswith("GIT_")}
    try:
        listed = subprocess.run(
            _LIST,
            cwd=folder,
            env={**own, "GIT_OPTIONAL_LOCKS": "0"},
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
