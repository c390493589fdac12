"""Asks a check as a run does, about facts or a source that a test writes, and reads reports."""

from __future__ import annotations

from pathlib import Path

from preflight.findings.finding import Finding
from preflight.findings.registry import built_in
from preflight.findings.report import Outcome, Report
from preflight.settings.job import Job
from preflight.targets.targets import Source
from preflight.testing import ask
from tests.read_sources import read_source


def reason(check: str, facts: object, job: Job | None = None) -> str | None:
    """Say why a check does not apply."""
    skip = built_in()[check].skip
    assert skip is not None
    return skip(facts, job or Job())


def told(check: str, facts: object, job: Job | None = None) -> list[Finding]:
    """Ask a check, where it applies."""
    return [] if reason(check, facts, job) else ask(check, facts, job or Job())


def of_source(check: str, folder: Path, text: str, path: str = "train.py") -> list[Finding]:
    """Ask a check about a file of this text, or about what lies in another one."""
    (folder / "train.py").write_text(text, "utf-8")
    return ask(check, read_source(Source(path=path), str(folder), {}))


def of(report: Report, check: str) -> Outcome:
    """Give what became of a check."""
    return next(one for one in report.checks if one.id == check)


def by_loader(report: Report) -> dict[str, list[Finding]]:
    """Give what was found of a dict of loaders, by their keys."""
    by_name: dict[str, list[Finding]] = {}
    for one in report.findings:
        by_name.setdefault(str(one.at.name).partition("[")[2].strip("'\"]"), []).append(one)
    return by_name
