"""Loaders of an evaluation, by their names."""

from __future__ import annotations

import re

_EVALUATES = re.compile(
    r"(?:^|[^a-z])(?:val|valid|validation|eval|evaluation|test|dev|predict|infer|inference)"
    r"(?:$|[^a-z])",
    re.IGNORECASE,
)


def is_evaluation(name: str) -> bool:
    """Whether what the user called a loader says that nothing is trained on it."""
    spoken = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.rpartition(":")[2])
    return _EVALUATES.search(spoken) is not None
