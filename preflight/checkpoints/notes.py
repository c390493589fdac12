"""Reads what trainers note beside the files of a checkpoint, and which of several they go on from.

Notes are small: `trainer_state.json`, the states of random numbers (`random_states_0.pkl`), and
`latest`, which names a folder. No pickle is loaded. The index of a model in pieces
(`model.safetensors.index.json`) says of each tensor in which file it lies; of safetensors the names
of the tensors are read, which stand at the beginning.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from preflight.checkpoints import state_names as names
from preflight.checkpoints.facts import Checkpoint
from preflight.values.listing import names_in
from preflight.values.names import name_of
from preflight.values.small_files import OddFileError, read_small

NOTES = (".json", ".pkl")
"""How the names of notes end."""

INDEX = ".index.json"
"""How the name of such a file ends."""

# The reader of safetensors takes no longer header.
_LONGEST_HEADER = 100_000_000

# Files that name the checkpoint to go on from: of DeepSpeed, Megatron, detectron2 and mmengine.
_POINTERS = ("latest", "latest_checkpointed_iteration.txt", "last_checkpoint")

# A name of one line; what is longer is another program's.
_LONGEST = 512

# A state of random numbers takes a few kilobytes.
_LARGEST_STATE = 1 << 24

# How the first pickle of a file of torch.save goes on, of the time before its archives.
_MAGIC_NUMBER = b"\x8a"

_ZIP, _ZIP_END, _SHORTEST_END = b"PK\3\4", b"PK\5\6", 22
_LONGEST_COMMENT = _SHORTEST_END + (1 << 16)

# More than characters have in any encoding.
_ZEROS = bytes(4)


class Pointer(NamedTuple):
    """A file or a link that names the checkpoint from which a job goes on."""

    name: str
    """The file's own."""

    to: str
    """What it names; empty where it says nothing."""

    is_link: bool = False
    """Whether it is a link, which leads nowhere."""


def pointer_in(folder: str) -> Pointer | None:
    """Find what names the newest checkpoint of a folder; a path of another machine is none."""
    for name in _POINTERS:
        path = os.path.join(folder, name)
        if os.path.islink(path) and not os.path.exists(path):
            return Pointer(name, os.path.basename(os.readlink(path)), is_link=True)
        try:
            if os.path.getsize(path) > _LONGEST:
                continue
            text = read_small(path).decode().strip("\0 \t\r\n")
        except (OSError, OddFileError, UnicodeDecodeError):
            continue
        is_absolute = os.path.isabs(text) or "\\" in text or re.match(r"[A-Za-z]:", text)
        if "\n" not in text and not is_absolute:
            return Pointer(name, text.rstrip("/"))
    return None


def taken(top: str, found: Iterable[str]) -> str:
    """Give which of these checkpoints `latest` in a folder names; empty where none is named."""
    pointer = pointer_in(top)
    return (pointed(pointer.to, found) if pointer is not None else None) or ""


def pointed(to: str, found: Iterable[str]) -> str | None:
    """Find the checkpoint that a file names, by its name or by its number alone."""
    for name in found:
        number = re.search(r"\d{1,18}$", name)
        if name == to or (to.isascii() and to.isdigit() and number and int(number[0]) == int(to)):
            return name
    return None


def astray(top: str, found: Iterable[Checkpoint]) -> tuple[str, str]:
    """Name what should say which checkpoint is the newest, and does not, and what it says.

    Two empty texts where it does, or where it may mean something else.
    """
    pointer = pointer_in(top)
    there = [one.name for one in found]
    members = [name for one in found for name in one.members]
    if pointer is None or not there or pointed(pointer.to, [*there, *members]) is not None:
        return "", ""
    if not pointer.to:
        return pointer.name, "is empty"
    if not pointer.is_link and os.path.lexists(os.path.join(top, pointer.to)):
        return "", ""
    kinds = {names.kind_of(name) for name in (*there, *members)}
    like = names.kind_of(pointer.to) in kinds or names.is_step(pointer.to)
    by_number = pointer.to.isdigit() and all(re.search(r"\d$", name) for name in there)
    if like or by_number or pointer.is_link:
        return pointer.name, f"names {pointer.to}, which is not there"
    return "", ""


def notes_of(folder: str, paths: Collection[str]) -> list[str]:
    """Name the notes in a checkpoint, and in its folders that hold cached files (`unet/`)."""
    places = {folder, *map(os.path.dirname, paths)}
    return sorted(
        name_of(os.path.join(place, one), folder)
        for place in places
        for one in names_in(place)
        if one.endswith(NOTES)
    )


def cut_note(path: str) -> str:
    """Say what a writer left of a note that was killed; empty where it has an end."""
    if path.endswith(".pkl"):
        return _cut_pickle(path)
    try:
        text = read_small(path)
    except (OSError, OddFileError):
        return ""
    if nothing := _nothing(text):
        return nothing
    if _ZEROS in text:
        return f"holds zero bytes, from {text.find(_ZEROS):,} on"
    ends = {b"{": b"}", b"[": b"]"}
    first, last = text.strip()[:1], text.strip()[-1:]
    is_cut = last != ends.get(first, last) or _goes_on(text)
    return f"ends in the middle, at {len(text):,} bytes" if is_cut else ""


def _goes_on(text: bytes) -> bool:
    """Whether JSON wants more where it ends; of other dialects, nobody can say."""
    if sum(map(text.count, (b"{", b"["))) <= sum(map(text.count, (b"}", b"]"))):
        return False  # most are whole, and some are long
    try:
        json.loads(whole := text.decode().rstrip())
    except json.JSONDecodeError as error:
        return error.pos >= len(whole) or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        return False
    return False


def _nothing(text: bytes) -> str:
    if not text.strip():
        return f"holds nothing in its {len(text):,} bytes" if text else "is empty"
    return "" if text.strip(b"\0") else f"holds nothing but zero bytes ({len(text):,})"


def _cut_pickle(path: str) -> str:
    """Say of a pickle, or of an archive of torch.save, that it has no end."""
    try:
        content = read_small(path) if os.path.getsize(path) <= _LARGEST_STATE else b"?"
    except (OSError, OddFileError):
        return ""
    if nothing := _nothing(content):
        return nothing
    if content.startswith(_ZEROS):  # no pickle does
        zeros = len(content) - len(content.lstrip(b"\0"))
        return f"begins with {zeros:,} zero bytes"
    if content.startswith(_ZIP):
        end = content[-_LONGEST_COMMENT:].rpartition(_ZIP_END)[2]
        has_end = len(end) + len(_ZIP_END) >= _SHORTEST_END and _ZIP_END in content
    else:  # of another program, it may be anything; torch of old put its tensors behind the pickle
        is_bare = content.startswith(b"\x80") and content[2:3] != _MAGIC_NUMBER
        has_end = not is_bare or content.endswith(b".")
    return "" if has_end else f"ends in the middle, at {len(content):,} bytes"


def held_against(index: str) -> tuple[list[str], list[str]]:
    """Give what an index names in vain: files, and tensors each with the file that lacks it.

    Of an index that cannot be read, nothing.
    """
    folder = os.path.dirname(index)
    by_file: dict[str, list[str]] = {}
    for tensor, file in _weights(index).items():
        if isinstance(file, str) and file and "\0" not in file and not os.path.isabs(file):
            by_file.setdefault(file, []).append(tensor)
    absent: list[str] = []
    without: list[str] = []
    for file, tensors in sorted(by_file.items()):
        path = os.path.join(folder, file)
        if not os.path.lexists(path):
            absent.append(file)
        elif file.endswith(".safetensors"):
            there = _tensors_in(path)
            if there is not None:
                without += [f"{one} in {file}" for one in tensors if one not in there]
    return absent, without


def _weights(index: str) -> Mapping[str, object]:
    try:
        said = json.loads(read_small(index))
    except (OSError, OddFileError, ValueError, RecursionError):
        return {}
    weights = said.get("weight_map") if isinstance(said, dict) else None
    return weights if isinstance(weights, dict) else {}


def _tensors_in(path: str) -> frozenset[str] | None:
    """Name the tensors of a file; None where it is damaged, which is told of the file itself."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(_LONGEST_HEADER, os.fstat(file.fileno()).st_size):
                return None
            header = json.loads(file.read(length))
    except (OSError, ValueError, RecursionError):
        return None
    return frozenset(header) if isinstance(header, dict) else None
