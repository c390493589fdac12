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

REMOTE = Kind(
    name="remote",
    noun="address",
    word="remote",
    target=Remote,
    always=True,
    gather="preflight.targets.gather:OutOfReach",
)

COLUMNAR = Kind(
    name="columnar",
    noun="set of rows",
    word="columnar",
    target=Columnar,
    always=True,
    gather="preflight.targets.gather:OutOfReach",
)

UNREAD = Kind(
    name="unread",
    noun="folder",
    word="unread",
    target=Unlistable,
    always=True,
    gather="preflight.targets.gather:OutOfReach",
)

KINDS = (MISSING, REMOTE, COLUMNAR, UNREAD)
