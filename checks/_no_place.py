"""What to do where a file cannot be written: its folder is not there, is not ours, or is full."""

from __future__ import annotations

import posixpath
import re

from preflight.values.names import name_of, shown

# As torch, Python, safetensors and pandas say it.
_NO_FOLDER = re.compile(
    r"Parent directory .+ does not exist|No such file or directory|non-existent directory"
)
_REFUSED = re.compile(r"Permission denied|Read-only file system")

_PATH = re.compile(r"(?:directory: |error: )'([^']+)'")

# Lines that write, and that raise for want of a folder alone.
_WRITES = re.compile(
    r"\bopen\([^)]*,\s*(?:mode\s*=\s*)?[\"'][wax]"
    r"|(?:\.|\b)(?:save\w*|imwrite|imsave|to_(?:csv|json|parquet|pickle)|write_(?:text|bytes))\("
)

# What such a line may look for, too, and not find.
_READS = re.compile(r"(?:open|load\w*|read\w*|imread|copy\w*)\(")


def to_write(error: str, file: str) -> str | None:
    """Give the fix of an error while a file was written, by its name; None: it is another one."""
    if _NO_FOLDER.search(error):
        folder = file if "non-existent" in error else posixpath.dirname(file)
        made = f':  os.makedirs("{shown(folder)}", exist_ok=True)' if folder else "."
        return f"Make its folder before this line{made}"
    if _REFUSED.search(error):
        return "Write to a folder that the job may write to."
    if "No space left" in error:
        return "Make room on this disk, or write to another one."
    return None


def to_write_at(line: str, error: str, root: str) -> str | None:
    """Give the fix of an error of a line that writes; None where it does not, or tells no path."""
    rest, writes = _WRITES.subn("", line)
    path = _PATH.search(error) if writes and not _READS.search(rest) else None
    return None if path is None else to_write(error, name_of(path[1], root))
