"""Loaders of an evaluation, by their names."""

from __future__ import annotations

import re

EVALUATES = re.compile(r"(?i)(?<![a-z])(val|valid|validation|eval|evaluation|test)(?![a-z])")

_PREDICTS = re.compile(r"(?i)(?<![a-z])(dev|predict|infer|inference)(?![a-z])")


def is_evaluation(name: str) -> bool:
    """Whether what the user called a loader says that nothing is trained on it."""
    spoken = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.rpartition(":")[2])
    return any(one.search(spoken) is not None for one in (EVALUATES, _PREDICTS))
