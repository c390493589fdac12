"""One layer for all ranks on a machine: what rank 0 saves, the others load."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator

from preflight.processes.rank import Rank


@contextlib.contextmanager
def common_layer(rank: Rank) -> Iterator[str | None]:
    """Give the folder that all ranks of a launch have on this machine; the last one removes it.

    None where there is something in its place that is not ours.
    """
    user = str(getattr(os, "getuid", lambda: "")())
    name = hashlib.sha256(f"{user}/{rank.launch}".encode()).hexdigest()[:24]
    folder = os.path.join(tempfile.gettempdir(), f"preflight-ranks-{name}")
    present = os.path.join(folder, "present")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    if not _is_ours(folder):
        yield None
        return
    os.makedirs(present, exist_ok=True)
    mark = os.path.join(present, str(rank.number))
    with open(mark, "w", encoding="utf-8"):
        pass
    try:
        yield os.path.join(folder, "layer")
    finally:
        with contextlib.suppress(OSError):
            os.unlink(mark)
            os.rmdir(present)  # which is refused while others are there
            shutil.rmtree(folder, ignore_errors=True)


def _is_ours(folder: str) -> bool:
    """Whether it is a folder of this user's, and no link that somebody else has laid."""
    if os.path.islink(folder) or not os.path.isdir(folder):
        return False
    return not hasattr(os, "getuid") or os.stat(folder).st_uid == os.getuid()
