"""Holds the index of a model in pieces against them: which are not there, and what they lack.

`model.safetensors.index.json` says of each tensor in which file it lies. Of safetensors the names
of the tensors are read, which stand at the beginning; nothing else of a piece is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from preflight.values.small_files import OddFileError, read_small

INDEX = ".index.json"
"""How the name of such a file ends."""

# The reader of safetensors takes no longer header.
_LONGEST_HEADER = 100_000_000


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
