"""Takes out of a text what is nobody's business: homes, names of people and of machines.

The second line of defence. The first is that a bug report is made of an allow-list of fields; and
secrets are taken out of every report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from preflight.findings.report import Report
from preflight.render.groups import root_of
from preflight.secrets.hiding import REDACTED, Secrets

ELSEWHERE = "<...>"
"""Stands for the folders of a path that is not below the job's."""

_ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]+)://([^\s'\"<>()\[\],;]+)", re.IGNORECASE)
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_IP = re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!\D)|(?![\w.]))){4}")

# Where systems keep homes; the part behind is a person's name.
_HOMES = r"(?:/home|/Users|/export/home|/var/home|[a-z]:[\\/]+Users)[\\/]+"
_HOME = re.compile(
    rf"{_HOMES}([^\s\\/:'\"<>|,;()\[\]]+)([\\/][^\s:'\"<>|,;()\[\]]*)?", re.IGNORECASE
)
_HOME_ALONE = re.compile(rf"{_HOMES}([^\\/]+)", re.IGNORECASE)
_PATH = re.compile(
    r"""(?<![\w.:/\\<>~\ue000\ue001-])
        (?:/|~[^/\s]*/|[A-Za-z]:[\\/]|\\\\)[^\s'"<>|,;:()\[\]]+""",
    re.VERBOSE,
)
_FOREIGN = re.compile(r"/|\\\\|[A-Za-z]:[\\/]|~|[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PUBLIC = frozenset({"/dev/shm", "/dev/null"})  # noqa: S108  the same on every machine

# Variables whose values name machines and people, where a launcher has set them.
_NAMING = re.compile(
    r"""HOME|HOST(?:NAME)?|LOGNAME|MASTER_ADDR|USER(?:NAME|PROFILE)?
    |SLURM_(?:CLUSTER_NAME|LAUNCH_NODE_IPADDR|NODELIST|SUBMIT_DIR|SUBMIT_HOST|TOPOLOGY_ADDR)
    |SLURM_JOB_(?:ACCOUNT|NAME|NODELIST|PARTITION|USER)|SLURMD_NODENAME""",
    re.VERBOSE,
)
# Names that everybody has, and that tell nothing of anybody.
_ORDINARY = frozenset(
    {
        *("127.0.0.1", "0.0.0.0", "::1", "localhost"),  # noqa: S104  names, no bindings
        *("admin", "home", "root", "runner", "shared", "ubuntu", "user", "users"),
    }
)

_STRANGERS = 50

# Stand in for the two marks while a text is worked on; names.shown lets neither in.
_STAR, _DOTS = "\ue000", "\ue001"

# By their names and shapes; the values that are known are out of the report already.
_SECRETS = Secrets(mark=_STAR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What is private to one report's machine and user, and is left out wherever it stands."""

    root: str | None
    """The job's folder, absolute; what lies below it is named relative to it."""

    names: tuple[str, ...]
    """Of people, machines and homes; the longest first."""

    @classmethod
    def of(cls, report: Report, private: Iterable[str] = ()) -> Redaction:
        """Learn from a report which words are private."""
        sure, unsure = set(private), set()
        for value in _of_the_user(report):
            for text in _strings(value):
                sure |= {match[1] for match in _HOME.finditer(text)}
                sure |= {match[1] for match in [_HOME_ALONE.match(text)] if match}
        for text in _of_findings(report):
            unsure |= {match[1] for match in _HOME.finditer(text)}
        environment = (report.machine or {}).get("environment") or {}
        sure |= {str(value) for name, value in environment.items() if _NAMING.fullmatch(name)}
        sure |= {name.partition(".")[0] for name in sure if not name[:1].isdigit()}
        # Archives can hold homes without end; of strangers' names, some are enough.
        names = sure | set(sorted(unsure - sure)[:_STRANGERS])
        kept = {name for name in names if len(name) > 2 and name.lower() not in _ORDINARY}
        return cls(
            root=root_of(report), names=tuple(sorted(kept, key=lambda name: (-len(name), name)))
        )

    def text(self, text: str) -> str:
        """Take everything private out of a sentence, a name or a whole report."""
        text = text.replace(_STAR, "").replace(_DOTS, "")
        text = _SECRETS.text(text)
        if self.root:
            below = r"[\\/]+".join(map(re.escape, re.split(r"[\\/]+", self.root)))
            text = re.sub(rf"(?<![\w/\\]){below}[\\/]+", "", text)
            text = re.sub(rf"(?<![\w/\\]){below}(?![\w.-])", ".", text)
        for name in self.names:
            pattern = rf"(?<![^\W_]){re.escape(name)}(?![^\W_])"
            text = re.sub(pattern, _STAR, text, flags=re.IGNORECASE)
        text = _ADDRESS.sub(lambda match: f"{match[1]}://{_below(match[2])}", text)
        text = _HOME.sub(lambda match: _below(match[2] or ""), text)
        text = _PATH.sub(lambda match: match[0] if match[0] in _PUBLIC else _below(match[0]), text)
        text = _MAIL.sub(_STAR, text)
        text = _IP.sub(lambda match: match[0] if match[0] in _ORDINARY else _STAR, text)
        return text.replace(_STAR, REDACTED).replace(_DOTS, ELSEWHERE)

    def path(self, path: str) -> str:
        """Name a file: as it is below the job's folder, elsewhere by its last part only."""
        if self.root and path.startswith(f"{self.root}/"):
            path = path[len(self.root) + 1 :]
        if _FOREIGN.match(path):
            if _HOME_ALONE.fullmatch(path):
                return ELSEWHERE
            last = re.split(r"[\\/]+", path.partition("?")[0].rstrip("/\\"))[-1]
            return f"{ELSEWHERE}/{self.text(last)}"
        return self.text(path)


def _of_the_user(report: Report) -> Iterator[Any]:
    yield from (one.value for one in report.job.values())
    yield from (one.origin for one in report.job.values())
    yield from (one.word for one in report.targets)
    yield from (report.command, report.last, report.machine)


def _of_findings(report: Report) -> Iterator[str]:
    for one in report.findings:
        yield from (one.at.file or "", one.at.name or "", one.message)
        yield from (row.text for row in one.rows)
    for outcome in report.checks:
        for broken in outcome.broken:
            yield from (broken.at.file or "", broken.error)


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, (list, tuple)):
            waiting += one


def _below(path: str) -> str:
    """Keep the last part of a path; the rest are names of servers, buckets, homes and projects."""
    _, slash, last = path.partition("?")[0].rstrip("/\\").replace("\\", "/").rpartition("/")
    return f"{_DOTS}/{last}" if slash and last else _DOTS
