"""Questions to processes of ours, as a run asks them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from preflight.findings import registry
from preflight.findings.finding import Location
from preflight.findings.judge import ask_checks
from preflight.findings.looks import Looked
from preflight.findings.report import Outcome
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.ledger.recall import Memory
from preflight.processes import ask as asking
from preflight.processes import results
from preflight.session.summary import words
from preflight.settings.job import Job
from preflight.settings.to_child import told_of
from preflight.targets.targets import Host


def run_of(root: object, *targets: object) -> Run:
    """Give a run that wants everything and tells nobody."""
    job = Job(root=str(root))
    return Run(
        job=job,
        memory=Memory(job=job),
        targets=targets,  # type: ignore[arg-type]
        wants=lambda _: True,
        tell=lambda *_: None,
        passed=lambda _: None,
    )


def questions(
    kind: Kind, plains: Iterable[Mapping[str, Any]], root: object, **more: Any
) -> tuple[Question, ...]:
    gather = Gather(kind, run_of(root))
    return tuple(
        Question(
            kind=kind,
            wire=plain,
            target=Host(),
            at=Location(file=plain.get("path")),
            gives=(),
            gather=gather,
            **more,
        )
        for plain in plains
    )


def ask(
    batch: tuple[Question, ...], root: object, *, timeout: float = 60, **options: Any
) -> list[results.Result]:
    """Ask one process, and give all that it says but how long its steps took.

    And but for what it may have left: that may be of any test which runs at the same time.
    """
    told = {**told_of(Job(root=str(root))), **options}
    how = asking.Asking(options=told, python=None, jobs=1, timeout=timeout)
    heard = asking.ask([batch], how)
    steps = results.Began, results.Took
    return [one for one in heard if not isinstance(one, steps) and not _may_be_another(one)]


def _may_be_another(one: results.Result) -> bool:
    return isinstance(one, results.Survived) and all(two.endswith("maybe") for two in one.processes)


def outcome_of(check: str, facts: object, job: Job) -> Outcome:
    """Ask one check about one thing, as a run does, and give what became of it."""
    checks = {check: registry.built_in()[check]}
    looks = [Looked(facts=facts)]
    (outcome,) = ask_checks(checks, job, looks, tell=lambda _: None, words=words).outcomes
    return outcome
