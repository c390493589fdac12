"""An exception in one line, of which some go over pages."""

from __future__ import annotations

import re

# What torch says of a type that it does not load: the rest is advice, in colours.
_REFUSED = re.compile(
    r"Unsupported (?:global|operand|class)[^\n]*?(?:GLOBAL )?([\w.]+) was not an allowed"
)

_LONGEST = 300


def first_line(error: str) -> str:
    """Give its first line, without the sign at its end; of torch's, what it refuses."""
    refused = refused_by_torch(error)
    if refused:
        return f"{error.partition(':')[0]}: weights_only refuses {refused}"
    lines = [one for each in error.splitlines() if (one := each.strip())]
    if len(lines) > 1 and lines[0].endswith(":"):  # its text begins with a new line
        lines[0] = f"{lines[0]} {lines[1]}"
    return _cut(lines[0].rstrip(" .:")) if lines else "an exception"


def _cut(line: str) -> str:
    """Leave the middle out of a long line: what is raised stands at its begin, or at its end.

    Secrets before that: of an address that is cut in two, nobody sees where its password begins.
    """
    if len(line) <= _LONGEST:
        return line
    from preflight.secrets.hiding import Secrets

    line = Secrets().text(line)
    return f"{line[: _LONGEST * 2 // 3]} … {line[-_LONGEST // 3 :]}"


def in_full(error: str) -> dict[str, str]:
    """Give all of it as evidence, where its one line leaves something out."""
    return {"error": error} if len(error.strip()) > _LONGEST or "\n" in error.strip() else {}


def refused_by_torch(error: str) -> str:
    """Name the type that `torch.load` refuses; empty where it is about something else."""
    found = _REFUSED.search(error)
    if found is not None:
        return found[1]
    return "what is no tensor and no plain value" if "Weights only load failed" in error else ""
