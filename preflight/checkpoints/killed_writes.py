"""Finds the checkpoints of which a killed writer left nothing that can be loaded."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from preflight.cached_files.cache_listing import is_left_over
from preflight.checkpoints import state_names as names
from preflight.checkpoints.notes import NOTES
from preflight.targets.folders import CHECKPOINT, is_begun
from preflight.values.listing import names_in

# States of programs that are not read here: of JAX, TensorFlow and others.
_OTHER_STATES = (".msgpack", ".h5", ".hdf5", ".keras", ".onnx", ".gguf", ".index", ".zarray")

# What trainers and people put beside the tensors of a state.
_LOGS = re.compile(
    r".*\.(?:log|out|err|txt|md|csv|jsonl|ya?ml|toml|cfg|ini|lock)|events\.out\.tfevents\..*|[^.]+",
    re.IGNORECASE,
)


def begun_in(top: str, found: Collection[str]) -> frozenset[str]:
    """Name the folders whose writer was killed before their first cached file was at its end."""
    like = {kind for kind in map(names.kind_of, found) if "#" in kind}
    return frozenset(
        name
        for name in set(names_in(top)).difference(found)
        if (names.kind_of(name) in like and _is_begun(os.path.join(top, name)))
        or is_begun(os.path.join(top, name))
    )


def _is_begun(folder: str) -> bool:
    """Whether nothing in a folder says that it is something else than a state of the run.

    Trainers take one by its name, whatever is in it. Under names that others have, too, pictures
    may lie there, or results.
    """

    def stop(error: OSError) -> None:
        raise error

    is_other = _is_of_others if CHECKPOINT.fullmatch(os.path.basename(folder)) else _is_result
    try:
        return os.path.isdir(folder) and not any(
            is_other(file) and not is_left_over(file)
            for _, _, files in os.walk(folder, onerror=stop)
            for file in files
        )
    except OSError:
        return False


def _is_of_others(name: str) -> bool:
    return name.lower().endswith(_OTHER_STATES)


def _is_result(name: str) -> bool:
    return not (name.endswith(NOTES) or _LOGS.fullmatch(name))
