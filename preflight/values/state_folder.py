"""The folder in which a job's last report and its ledger are kept."""

from __future__ import annotations

import contextlib
import errno
import os

from preflight.values.listing import upward


def make_state(folder: str) -> None:
    """Make the folder where there is none; one of ours is ignored by git.

    A link to a folder is followed. One that leads nowhere is not: what it names was never ours to
    make.

    Raises:
        OSError: it cannot be made.
    """
    for place in upward(os.path.abspath(folder)):
        if os.path.islink(place) and not os.path.exists(place):
            raise FileNotFoundError(
                errno.ENOENT, f"{place} is a link to {os.readlink(place)}, which is not there"
            )
    ours = not os.path.isdir(folder)
    os.makedirs(folder, exist_ok=True)
    if ours:  # in a folder of the user's, git is the user's
        write_whole(os.path.join(folder, ".gitignore"), "*\n")


def write_whole(path: str, text: str) -> None:
    """Write under another name and rename, so that a reader meets the old file or the new one.

    Raises:
        OSError: it cannot be written.
    """
    temporary = os.path.join(os.path.dirname(path), f".writing-{os.urandom(8).hex()}")
    handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
