"""What became of a run: outcomes, findings and verdict, one frozen value behind every page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from preflight.findings.finding import Finding, Location, Scalar
from preflight.findings.parts import Covered
from preflight.values.version import __version__
from preflight.values.wire import from_wire, to_wire

SCHEMA = 1
"""Of the JSON below. Raised when a field changes its meaning; new fields alone do not raise it."""

# Strict readers refuse lone surrogates, which is how Python keeps bytes that are no UTF-8.
_SURROGATE = "[\ud800-\udfff]"


class NoGo(Exception):  # noqa: N818  the verdict's own name
    """The report is no GO; its text is the list of what gates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Why targets were not looked at. A skip is not a pass."""

    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A target that could not be looked at, or a check that failed on it. Not a pass either."""

    at: Location
    error: str
    """Why, in one sentence."""

    fix: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one check."""

    id: str
    outcome: str
    """The first that applies of `broken`, `found`, `passed`, `skipped`."""

    scope: str
    title: str
    many: str = ""
    """The title of several findings, to stand behind their number."""

    targets: int
    """Things there are to look at."""

    looked_at: int
    """Of these, how many were looked at in this run."""

    remembered: int = 0
    """And how many have not changed since an earlier run, whose facts were judged again."""

    among: int = 0
    """Things in these targets of which each may be a finding, such as the images of folders."""

    found: int = 0
    skipped: tuple[Skip, ...] = ()
    broken: tuple[Broken, ...] = ()
    seconds: float = 0.0


NOT_LOOKED_AT = "not looked at"
"""With what is said of a word begins of which nothing was seen, for want of a check about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A word of the command line or an entry of the settings, and what it was taken for."""

    word: str
    kind: str
    """`data`, `cache`, `loader`, `model`, `source`, `host`, `missing`."""

    text: str
    """What was seen of it: `4 shards, 32 samples`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """Files of one kind that were not read again, since they have not changed."""

    noun: str
    """What they are, for people: `shard`, `cache file`, `image`."""

    count: int
    of: int
    """Files of the kind that the run was about."""

    age: float
    """Seconds since the first of all remembered files was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A finding that does not gate because somebody said so."""

    check: str
    at: Location
    fingerprint: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting as understood, and where it came from."""

    value: Any
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a run found out.

    Its fields are those of the JSON report, under the same names. `str(report)` is the terminal
    page.
    """

    # In the order in which they are written.
    schema: int = SCHEMA
    tool: Mapping[str, Scalar] = field(
        default_factory=lambda: {"name": "preflight", "version": __version__}
    )
    verdict: str
    """`go`, `no-go` or `cannot-judge`."""

    verdict_by: Mapping[str, str]
    """The same for the findings of scope `job` and of scope `machine` alone."""

    complete: bool
    """False where the run was interrupted, and where a sample, a budget or a depth left out some of
    what there is."""

    not_judged: tuple[str, ...]
    """Parts of a job that nobody was asked to look at: `loader`, `model`, `script`."""

    coverage: tuple[Covered, ...] = ()
    """Each part of a job, and how far it was looked at: what the verdict covers."""

    started: str
    """UTC, as ISO 8601."""

    seconds: float
    job: Mapping[str, Setting]
    machine: Mapping[str, Any] | None = None
    """As HostFacts; None where the job runs elsewhere."""

    checks: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    """In the order in which the job would meet them."""

    more: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Findings beyond the limit of each check, counted by file."""

    targets: tuple[Named, ...] = ()
    remembered: tuple[Recalled, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    steps: Mapping[str, float] = field(default_factory=dict)
    """Seconds that single steps took, such as `import torch`."""

    reasons: tuple[str, ...] = ()
    """Why the verdict is CANNOT JUDGE, or what a reader of a GO must know, a sentence each."""

    unread: tuple[str, ...] = ()
    """Settings that were given and that nothing in this version uses, each with its place."""

    command: str = "preflight run"
    """The command that looks at the same again."""

    fail_on: str = "error"
    interrupted: bool = False
    """Whether somebody stopped the run (Ctrl-C)."""

    last: str | None = None
    """Where the whole list was left: `.preflight/last.json`."""

    told_to: str | None = None
    """Of one of several ranks: the rank whose report has all of this, so that no page is shown."""

    page: ClassVar[Callable[[Report], str] | None] = None
    """Draws the terminal page. preflight.render, which lies above this file, sets it."""

    def to_json(self) -> str:
        r"""Give the report as JSON (schema 1) in one line of ASCII, without NaN or infinities.

        Bytes of a name that are no UTF-8 read `\xe9`.
        """
        return json.dumps(_readable(to_wire(self)), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Read a report back.

        Raises:
            ValueError: no JSON, or no report of a schema that this version knows.
        """
        try:
            plain = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(_no_json(text, error)) from error
        except RecursionError as error:
            raise ValueError("it is no preflight report") from error
        if not isinstance(plain, dict) or "schema" not in plain:
            raise ValueError("it is JSON, and no preflight report")
        if plain["schema"] != SCHEMA:
            raise ValueError(
                f"it is a report of schema {plain['schema']!r:.40}; "
                f"this version of preflight reads schema {SCHEMA}"
            )
        try:
            return from_wire(cls, plain)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "it is a damaged report: something in it is missing, or of another type"
            ) from error

    def raise_if_no_go(self) -> None:
        """Stop here unless the verdict is GO.

        Raises:
            NoGo: the verdict is NO-GO or CANNOT JUDGE.
        """
        if self.verdict != "go":
            lines = [f"{one.check}: {one.at}: {one.message}" for one in self.findings]
            verdict = self.verdict.upper().replace("-JUDGE", " JUDGE")
            raise NoGo("\n".join([verdict, *self.reasons, *lines]))

    def __str__(self) -> str:
        """Give the terminal page, without colour, 80 columns wide."""
        return type(self).page(self) if type(self).page else self.to_json()  # type: ignore[misc]


def _no_json(text: str, error: json.JSONDecodeError) -> str:
    """Say of what is no JSON whether it is empty, breaks off, or is something else."""
    if not text.strip("\0 \t\r\n"):
        return f"it holds no report, only {len(text):,} blank characters" if text else "it is empty"
    if error.msg.startswith("Unterminated") or not text[error.pos :].strip():
        return f"it is a report that breaks off after {len(text):,} characters"
    return f"it is no report in JSON from line {error.lineno}, column {error.colno} on"


def _readable(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else re.sub(_SURROGATE, _escaped, value)
    if isinstance(value, dict):
        return {_readable(key): _readable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return value


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"
