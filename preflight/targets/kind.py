"""The rows of what is named and cannot be looked at."""

from __future__ import annotations

from preflight.kinds.kind import Kind
from preflight.targets.facts import Absent
from preflight.targets.targets import Columnar, Missing, Remote, Unlistable

MISSING = Kind(
    name="missing",
    noun="path",
    word="missing",
    target=Missing,
    facts={Absent: "path to hold against the disk"},
    of_job=False,
    always=True,
    gather="preflight.targets.gather:MissingTargets",
)


def _out_of_reach(name: str, noun: str, target: type) -> Kind:
    return Kind(
        name=name,
        noun=noun,
        word=name,
        target=target,
        always=True,
        gather="preflight.targets.gather:OutOfReach",
    )


KINDS = (
    MISSING,
    _out_of_reach("remote", "address", Remote),
    _out_of_reach("columnar", "set of rows", Columnar),
    _out_of_reach("unread", "folder", Unlistable),
)
