"""The report as an issue that can be posted: an allow-list of fields, each without what is private.

Left out are settings other than the launch's, commands, sources, advice, and words of the command
line. Everything that is let in passes the redaction, and so does the finished text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from preflight.findings.finding import Finding, Location
from preflight.findings.report import Outcome, Report
from preflight.render.groups import groups
from preflight.render.redaction import Redaction
from preflight.values.byte_sizes import format_size
from preflight.values.names import counted, shown

_LAUNCH = (
    "nodes",
    "gpus",
    "vram",
    "world_size",
    "num_workers",
    "batch_size",
    "grad_accum",
    "start_method",
    "elsewhere",
)
_TOOL = ("version", "python", "torch", "webdataset", "pillow", "cuda")

# Launcher variables whose values are counts. Addresses, node lists and tokens are not among them.
_ENVIRONMENT = re.compile(
    r"""(?:(?:LOCAL|GROUP|NODE|ROLE)_)?RANK
    |(?:(?:LOCAL|GROUP)_)?WORLD_SIZE
    |MASTER_PORT|CUDA_VISIBLE_DEVICES|CUDA_DEVICE_ORDER|OMP_NUM_THREADS
    |SLURM_(?:PROCID|LOCALID|NODEID|NTASKS|NNODES|NPROCS|JOB_NUM_NODES|CPUS_PER_TASK)
    |SLURM_(?:GPUS|GPUS_ON_NODE|NTASKS_PER_NODE)
    |OMPI_COMM_WORLD_(?:LOCAL_)?(?:RANK|SIZE)
    |PMI_(?:RANK|SIZE)""",
    re.VERBOSE,
)
_COUNTS = re.compile(r"[0-9][0-9,x()]{0,40}|PCI_BUS_ID|FASTEST_FIRST|")
_VERSION = re.compile(r"[\w.+-]{1,40}")
_WHEN = re.compile(r"[0-9T:.Z+-]{1,40}")
_KEY = re.compile(r"[A-Za-z][\w -]{0,40}")

_PLACES = 5  # of one check
_FINDINGS = 60
_LONGEST = 400  # characters of a sentence
_LONGEST_READ = 10 * _LONGEST  # and as many are looked through for what is private


def render(report: Report, *, private: Iterable[str] = ()) -> str:
    """Give the report as Markdown for an issue.

    Private words are left out besides those that the report itself tells of.
    """
    hide = Redaction.of(report, private)
    parts = [
        ("Machine", _machine(report, hide)),
        ("Launch", _launch(report, hide)),
        ("Looked at", _targets(report, hide)),
        ("Coverage", _coverage(report, hide)),
        ("Checks", _checks(report, hide)),
        ("Findings", _findings(report, hide)),
    ]
    lines = list(_opening(report, hide))
    for heading, said in parts:
        block = list(said)
        if block:
            lines += ["", f"### {heading}", "", *_fenced(block)]
    return hide.text("\n".join(lines)) + "\n"


def _opening(report: Report, hide: Redaction) -> Iterator[str]:
    yield f"## preflight: {_word(report.verdict)}"
    yield ""
    yield "What I expected, and what happened instead:"
    yield ""
    yield "(write here; then read what stands below: names of files and of code are in it)"
    yield ""
    versions = [
        f"{'preflight' if name == 'version' else name} {value}"
        for name in _TOOL
        if _VERSION.fullmatch(value := str(report.tool.get(name, "")))
    ]
    yield f"- {', '.join(versions) or 'preflight'}"
    by = [f"{scope} {_word(report.verdict_by[scope])}" for scope in ("job", "machine")
          if scope in report.verdict_by]  # fmt: skip
    yield f"- {', '.join(['verdict ' + _word(report.verdict), *by])}"
    when = report.started if _WHEN.fullmatch(report.started) else "an unknown time"
    yield f"- {when}, {report.seconds:.1f} s, {'complete' if report.complete else 'cut short'}"
    if report.accepted:
        yield f"- {counted(len(report.accepted), 'finding')} accepted"
    for name, seconds in report.steps.items():
        yield f"- step {_inline(name, hide)}: {seconds:.1f} s"
    for reason in report.reasons:
        yield f"- reason {_inline(reason, hide)}"


def _machine(report: Report, hide: Redaction) -> Iterator[str]:
    machine = report.machine
    if machine is None:
        yield "not looked at, or the job runs elsewhere"
        return
    yield f"{_said(machine.get('system'), hide)}, Python {_said(machine.get('python'), hide)}"
    sizes = [
        f"{name.replace('_', ' ')} {format_size(value)}"
        for name in ("memory", "available", "disk_free")
        if isinstance(value := machine.get(name), int)
    ]
    yield ", ".join([f"cpus {_said(machine.get('cpus'), hide)}", *sizes])
    gpus = machine.get("gpus")
    if isinstance(gpus, Mapping):
        yield from _gpus(gpus, hide)
    environment = machine.get("environment")
    if isinstance(environment, Mapping):
        for name in sorted(filter(_ENVIRONMENT.fullmatch, environment)):
            value = str(environment[name])
            yield f"{name}={value}" if _COUNTS.fullmatch(value) else f"{name} is set"


def _gpus(gpus: Mapping[str, Any], hide: Redaction) -> Iterator[str]:
    driver = f", driver {_said(gpus['driver'], hide)}" if gpus.get("driver") else ""
    yield f"NVIDIA: {_said(gpus.get('state'), hide)}{driver}"
    for one in gpus.get("gpus") or ():
        sizes = [
            f"{format_size(value)} {name}"
            for name in ("total", "free")
            if isinstance(value := one.get(name), int)
        ]
        held = counted(len(one.get("processes") or ()), "process", "processes")
        index, name = _said(one.get("index"), hide), _said(one.get("name"), hide)
        yield ", ".join([f"GPU {index}: {name}", *sizes, held])


def _launch(report: Report, hide: Redaction) -> Iterator[str]:
    for key in _LAUNCH:
        setting = report.job.get(f"launch.{key}")
        if setting is not None and setting.value is not None:
            value = str(setting.value)
            yield f"{key} = {hide.text(value)}" if _VERSION.fullmatch(value) else f"{key} is set"


def _targets(report: Report, hide: Redaction) -> Iterator[str]:
    for one in report.targets:
        seen = f": {_said(one.text, hide)}" if one.text else ""
        yield f"{_said(one.kind, hide)}{seen}"
    if report.not_judged:
        yield f"not judged: {', '.join(_said(one, hide) for one in report.not_judged)}"


def _coverage(report: Report, hide: Redaction) -> Iterator[str]:
    """Say of each part how far it was looked at; what is typed to look further is a command."""
    for one in report.coverage:
        said = [f"{one.looked_at:,} of {one.of:,} looked at"] if one.of else []
        said += [_said(one.seen, hide)] if one.seen else []
        if one.unread:
            said.append(f"not read: {_files(one.unread, hide)} ({format_size(one.unread_bytes)})")
        if one.if_named:
            said.append(f"read if named: {_files(one.if_named, hide)}")
        yield f"{_said(one.part, hide)}: {_said(one.state, hide)}" + (
            f" ({'; '.join(said)})" if said else ""
        )


def _files(by_suffix: Mapping[str, int], hide: Redaction) -> str:
    return ", ".join(f"{count:,} {_said(end, hide)}" for end, count in by_suffix.items())


def _checks(report: Report, hide: Redaction) -> Iterator[str]:
    idle = [one for one in report.checks if one.outcome == "skipped" and not one.targets]
    told: dict[tuple[str, str], str] = {}
    for one in report.checks:
        if one in idle:
            continue
        said = [f"{one.looked_at:,} of {one.targets:,} looked at", f"{one.seconds:.2f} s"]
        said += [f"{one.remembered:,} remembered"] if one.remembered else []
        said += [counted(one.found, "finding")] if one.found else []
        yield f"{_said(one.id, hide)}: {_said(one.outcome, hide)} ({', '.join(said)})"
        yield from _not_looked_at(one, told, hide)
    if idle:
        yield f"had nothing to look at: {', '.join(_said(one.id, hide) for one in idle)}"


def _not_looked_at(
    one: Outcome, told: dict[tuple[str, str], str], hide: Redaction
) -> Iterator[str]:
    """Say why; what a check above says of the same place already is not said again."""
    for skip in one.skipped:
        yield f"  skipped {skip.count:,}: {_said(skip.reason, hide)}"
    for broken in one.broken[:_PLACES]:
        place = _place(broken.at, hide)
        first = told.setdefault((place, broken.error), one.id)
        error = _said(broken.error, hide) if first == one.id else f"as {_said(first, hide)}"
        yield f"  broken at {place}: {error}"
    if len(one.broken) > _PLACES:
        yield f"  and {len(one.broken) - _PLACES:,} more broken"


def _findings(report: Report, hide: Redaction) -> Iterator[str]:
    told = 0
    for group in groups(report):
        shown_of_group = group.findings[: max(min(_PLACES, _FINDINGS - told), 0)]
        told += len(shown_of_group)
        for one in shown_of_group:
            yield from _finding(one, hide)
        if group.total > len(shown_of_group):
            left = group.total - len(shown_of_group)
            yield f"{_said(group.check, hide)}: {left:,} more"


def _finding(one: Finding, hide: Redaction) -> Iterator[str]:
    yield (
        f"{one.severity.word} {_said(one.check, hide)} at {_place(one.at, hide)}: "
        f"{_said(one.message, hide)}"
    )
    for row in one.rows:
        at = f" ({_place(row.at, hide)})" if row.at else ""
        yield f"  {'?' if row.count is None else row.count} {_said(row.text, hide)}{at}"
    measured = [
        f"{key}={_said(value, hide)}" for key, value in one.evidence.items() if _KEY.fullmatch(key)
    ]
    if measured:
        yield f"  {', '.join(measured)}"


def _place(at: Location, hide: Redaction) -> str:
    file = hide.path(shown(at.file[-_LONGEST_READ:])) if at.file is not None else ""
    line = f":{at.line}" if at.line is not None else ""
    name = _said(at.name, hide) if at.name else ""
    return ", ".join(part for part in (f"{file}{line}", name) if part) or "this job"


def _said(value: object, hide: Redaction) -> str:
    """Say a value in one line, without what is private; `?` where it is not known."""
    if value is None:
        return "?"
    # Redacted before it is cut and escaped: half a token, or one with a backslash in it, would not
    # be recognised.
    said = shown(hide.text(str(value)[:_LONGEST_READ]))
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."


def _inline(text: str, hide: Redaction) -> str:
    return f"`{_said(text, hide).replace('`', chr(39))}`"


def _word(verdict: str) -> str:
    return verdict if verdict in ("go", "no-go", "cannot-judge") else "unknown"


def _fenced(lines: list[str]) -> Iterator[str]:
    """Set lines as they are; the fence is longer than any row of backticks in them."""
    longest = max(len(run) for run in [*re.findall("`+", "\n".join(lines)), "``"])
    fence = "`" * (longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
