"""Reads `.metadata` of torch.distributed.checkpoint, and holds the parts against it.

Of the parts only their sizes are asked: their own bytes are looked at by dcp_part.py.
"""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable

from preflight.file_access.large import Large
from preflight.file_access.opened import reading
from preflight.formats.bytes import causes
from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.bytes.flaw import Flaw
from preflight.formats.magic import HEAD, is_lfs_pointer, what_is, with_article
from preflight.formats.stored import StoredFile
from preflight.formats.suffixes.dcp import PLAN, PLAN_NAME
from preflight.formats.torch.distcp import SavePlan, Stored, items_from_end, read_plan
from preflight.formats.zip.directory import END, END_MAGIC, MAGIC
from preflight.values.names import counted, first_of, shown

# Items at the end of a part that are looked at.
_MOST_ITEMS = 4_096


def is_plan(path: str) -> bool:
    """Whether a file names items of a checkpoint: then its own bytes do not say all of it."""
    return path.endswith(PLAN) and PLAN_NAME.fullmatch(os.path.basename(path)) is not None


def look_at_plan(descriptor: int, size: int, path: str, tell: Callable[[], None]) -> StoredFile:
    """Say what is wrong with the file that names the items, and which of them are not there.

    Raises:
        OSError: it cannot be read.
    """
    if not size:
        return StoredFile("unknown", Flaw(kind="empty", text="is empty", offset=0))
    with io.FileIO(descriptor, closefd=False) as file:
        read = Large(file, tell)
        head = bytes(read(0, HEAD))
        name = what_is(head)
        if name == "run of zero bytes":
            text = f"begins with zero bytes: its content {causes.NEVER_WRITTEN}"
            return StoredFile("unknown", Flaw(kind="zeros", text=text, offset=0))
        if is_lfs_pointer(head):
            text = f"is {with_article(str(name))}, not what names the items of a checkpoint"
            return StoredFile("unknown", Flaw(kind="foreign", text=text, offset=0))
        if head[:1] != b"\x80":
            return StoredFile("unknown")  # of a writer of the user's own
        try:
            plan = read_plan(read, size)
        except DamagedError as error:
            return StoredFile("pickle", error.flaw)
    return StoredFile("pickle", _lacking(os.path.dirname(path), plan), globals=plan.globals)


def _lacking(folder: str, plan: SavePlan) -> Flaw | None:
    """Say which parts are not there, do not reach as far as they should, or are others."""
    absent, short, other = [], [], []
    for name, stored in sorted(plan.files.items()):
        if not _is_plain(name):
            continue
        path = os.path.join(folder, name)
        try:
            size = os.stat(path).st_size
        except FileNotFoundError:
            absent.append(name)
            continue
        except OSError:
            continue  # it is told of the part itself
        if size < stored.end and not _says_so_itself(path, size):
            short.append((name, size, stored))
        if (begin := _item_around(path, size, stored.end)) is not None:
            other.append((name, begin, stored))
    are = "is" if len(absent) == 1 else "are"
    said = [f"names {first_of(absent, len(absent))}, which {are} not there"] if absent else []
    said += [_said_short(*short[0], len(short))] if short else []
    said += [_said_other(*other[0], len(other))] if other else []
    if not said:
        return None
    kind = "absent" if absent else "short" if short else "mixed"
    return Flaw(kind=kind, text=", and ".join(said))


def _said_short(name: str, size: int, stored: Stored, count: int) -> str:
    of = f" ({shown(stored.last)})" if stored.last else ""
    more = f"; {counted(count - 1, 'other part')} end too early, too" if count > 1 else ""
    there = f"ends at {size:,}" if size else "is empty"
    return f"names items up to byte {stored.end:,}{of} of {shown(name)}, which {there}{more}"


def _said_other(name: str, begin: int, stored: Stored, count: int) -> str:
    more = f"; so it is with {counted(count - 1, 'other part')}" if count > 1 else ""
    of = f" ({shown(stored.last)})" if stored.last else ""
    return (
        f"says that an item{of} ends at byte {stored.end:,} of {shown(name)}, which is inside of "
        f"the one that begins there at {begin:,}: most likely they are of two saves{more}"
    )


def _item_around(path: str, size: int, place: int) -> int | None:
    """Say where the archive begins in which a place of a part lies; None: in none, or unknown.

    Of the archives at its end so many are looked at.
    """
    if size <= place:
        return None
    try:
        with open(path, "rb", buffering=0) as file:
            for item in itertools.islice(items_from_end(reading(file, size), size), _MOST_ITEMS):
                if item.begin <= place:
                    return item.begin if item.begin < place < item.end else None
    except OSError:
        pass  # it is told of the part itself
    return None


def _is_plain(name: str) -> bool:
    """Whether a path leads to nowhere but below its folder."""
    parts = name.replace("\\", "/").split("/")
    return bool(name) and "\0" not in name and ":" not in name and not {"", ".."} & set(parts)


def _says_so_itself(path: str, size: int) -> bool:
    """Whether a part ends inside of an archive, which is then told of that."""
    try:
        with open(path, "rb") as file:
            begins = file.read(len(MAGIC)) == MAGIC
            file.seek(max(0, size - END.size))
            return begins and not file.read(END.size).startswith(END_MAGIC)
    except OSError:
        return True
