"""One run from beginning to end: words to targets, processes to facts, facts to a report."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

from preflight.findings import gate, registry
from preflight.findings.check import Check
from preflight.findings.finding import Finding
from preflight.findings.judge import Judged, ask_checks
from preflight.findings.report import Report
from preflight.findings.stale import stale
from preflight.kinds.asked import MistypedError
from preflight.processes.rank import rank_number
from preflight.secrets.hiding import Secrets
from preflight.session import summary
from preflight.session.coverage import asked_for, covered, is_complete, of_repository
from preflight.session.earned import doubted, unasked, unearned, unreached
from preflight.session.look import Looks
from preflight.session.looked_in import LookedIn, is_again
from preflight.session.pictured import pictured, placed
from preflight.session.progress import Progress, Watch
from preflight.settings.job import NOTES, Job
from preflight.settings.merge import make_job
from preflight.settings.nearest import Nearest, nearest
from preflight.targets.words.data_files import with_data_files
from preflight.targets.words.discover import Discovered, discover
from preflight.targets.words.named_code import said_of_passed, said_of_settings
from preflight.values.code_name import command_for
from preflight.values.names import name_of
from preflight.values.state_folder import make_state, write_whole
from preflight.values.wire import to_wire

LAST = "last.json"


class UsageError(ValueError):
    """What was typed, or what the settings say, is not valid; nothing was looked at."""


def nobody_watches(_: Progress | Finding) -> None:
    """Let it pass."""


class _Understood(NamedTuple):
    """What a run was asked for, before anything is looked at."""

    job: Job
    checks: Mapping[str, Check]
    """Those that are selected, by their ids."""

    found: Discovered
    baseline: gate.Baseline
    """Findings that are accepted."""

    remarks: tuple[str, ...]
    """What is not looked at of what a trainer's own file names."""


def run(
    *words: str,
    folder: str | None = None,
    config: str | None = None,
    no_config: bool | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    watch: Watch = nobody_watches,
    command: str | None = None,
    **flags: Any,
) -> Report:
    """Look at everything that is named, and say GO, NO-GO or CANNOT JUDGE.

    Args:
        words: targets, as on the command line; none: those of the settings, or what lies around.
        folder: the current folder, to which words are relative; None: the process's own.
        config: the settings file; None: the nearest upward in the same repository.
        no_config: whether none is read.
        select: ids of checks, or prefixes of ids; empty: all.
        ignore: ids or prefixes of checks that are left out.
        watch: called with each step forward and each finding.
        command: what to type to look again; None: made of the words.
        flags: options of the command line by their names with `_`: `gpus=8`, `vram="80GB"`.

    Raises:
        UsageError: a word, a setting or an id is not valid.
    """
    begun, started, select, ignore = time.perf_counter(), now(), tuple(select), tuple(ignore)
    here = os.path.abspath(folder or os.getcwd())
    every, bad_plugins = registry.load()
    if config and no_config:
        raise UsageError("--config and --no-config exclude each other")
    settings = Nearest() if no_config else Nearest(config) if config else nearest(here)
    try:
        asked = _understood(words, every, here, settings.file, flags, select, ignore)
    except (ValueError, LookupError) as error:
        passed = () if words else said_of_passed(settings)
        raise UsageError(". ".join([str(error), *passed])) from error
    job, checks, found = asked.job, asked.checks, asked.found
    command = command or command_for(*words)
    hide = secrets_of(job, command)
    for line in () if config else said_of_settings(job, settings, found, typed=bool(words)):
        sys.stderr.write(hide.text(f"preflight: {line}\n"))
    sys.stderr.flush()

    def tell(news: Progress | Finding) -> None:
        if watch is not nobody_watches:
            watch(hide.plain(news))

    looking = Looks(job=job, checks=checks, watch=tell, select=select, hide=hide)

    def note(finding: Finding) -> None:
        looking.found.append(hidden := hide.plain(finding))
        watch(hidden)

    try:
        with contextlib.closing(looking.of(found.targets, found.apart)) as looks:
            judged = ask_checks(checks, job, looks, tell=note, words=summary.words)
    except MistypedError as error:
        raise UsageError(str(error)) from error
    machine = looking.machine
    complete = is_complete(judged, looking.counts, job) and not found.is_part
    known = LookedIn(
        every=every,
        chosen=checks if complete else (),
        counts=looking.counts,
        root=job.root,
        whole=complete and not (words or select or ignore),
    ).holds
    coverage = covered(found, looking.counts, here)
    report = report_of(
        job,
        checks,
        judged,
        baseline=asked.baseline.entries,
        unearned=(
            *unasked(every, checks, job),
            *(() if select else unearned(coverage, found, judged, words=bool(words))),
            *unreached(found, looking.counts, judged),
        ),
        select=select,
        complete=complete,
        coverage=coverage,
        not_judged=summary.not_judged(found, looking),
        started=started,
        seconds=round(time.perf_counter() - begun, 3),
        machine=None if machine is None else to_wire(machine),
        targets=summary.named(found, looking),
        remembered=summary.recalled(looking),
        steps=looking.steps,
        reasons=(
            *summary.left_out(judged),
            *pictured(job, looking.remarks),
            *summary.left_running(looking.survivors),
            *of_repository(found),
            *doubted(coverage, found, here),
            *asked.remarks,
            *summary.interpreter(job, found.targets),
            *(f"Plug-in {name}: {reason}" for name, reason in bad_plugins),
            *stale(
                job,
                judged,
                asked.baseline,
                known=known,
                again=complete
                and not (select or ignore)
                and is_again(found, asked.baseline, judged.findings),
                today=today(),
            ),
        ),
        command=command,
        unread=tuple(summary.unread(job)),
        tool=summary.tool(machine),
        told_to=looking.told_to,
    )
    return _leave_behind(report, job, hide, told=looking.memory.ledger.homeless)


def _understood(
    words: tuple[str, ...],
    every: Mapping[str, Check],
    here: str,
    file: str | None,
    flags: Mapping[str, Any],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
) -> _Understood:
    """Read settings, ids of checks and words.

    Raises:
        ValueError: one of them is not valid.
        LookupError: no check has such an id.
    """
    job = make_job(
        folder=here,
        file=file,
        search=False,
        flags=flags,
        environ=os.environ,
        plugins=[check_id.partition("/")[0] for check_id in every if "/" in check_id],
    )
    job = placed(job, here)
    checks = registry.chosen(every, select=select, ignore=ignore)
    for word in (*job.gate.require, *job.gate.may_skip, *(one.check for one in job.ignore)):
        registry.matching(word, every)
    job, named = with_data_files(words, job, here)
    found = discover(words, job, here, named)
    baseline = gate.Baseline()
    if job.gate.baseline is not None:
        baseline = gate.read_baseline(os.path.join(job.root, job.gate.baseline))
    return _Understood(job, checks, found, baseline, named.remarks)


# --- the report -----------------------------------------------------------------------------------


def report_of(
    job: Job,
    checks: Mapping[str, Check],
    judged: Judged,
    *,
    baseline: Collection[str] = (),
    unearned: tuple[str, ...] = (),
    select: Iterable[str] = (),
    reasons: Iterable[str],
    command: str,
    **more: Any,
) -> Report:
    """Hold what was found against the gate, and lay it out as a report with what `more` says.

    Whatever is made of it later, no secret is in it.

    The reasons are told beside those of the verdict; those in `unearned` make it one that cannot
    judge.
    """
    judgement = gate.judge(
        checks,
        judged,
        job,
        is_of_job=summary.is_of_job(checks, judged.looked, outcomes=judged.outcomes, select=select),
        baseline=baseline,
        unearned=unearned,
        asked_for=asked_for(checks, job),
        today=today(),
    )
    report = Report(
        verdict=judgement.verdict,
        verdict_by=judgement.verdict_by,
        interrupted=judged.interrupted,
        job=summary.settings_of(job),
        checks=judged.outcomes,
        findings=judgement.findings,
        more=judged.more,
        accepted=judgement.accepted,
        reasons=(*judgement.reasons, *reasons),
        fail_on=job.gate.fail_on,
        command=command,
        **more,
    )
    return secrets_of(job, command).plain(report)


def secrets_of(job: Job, *said: str) -> Secrets:
    """Know the secrets of the environment, of the settings, and of what was typed."""
    settings = {name: value for name, value in to_wire(job).items() if name not in NOTES}
    return Secrets.known(os.environ, said, settings)


def _leave_behind(report: Report, job: Job, hide: Secrets, *, told: bool) -> Report:
    """Keep the report under the job's folder, where `preflight report` finds it.

    Where it cannot be written, one line on stderr says so, unless that was told already.
    """
    state = os.path.join(job.root, job.look.state)
    rank = rank_number()
    name = f"last.rank{rank}.json" if rank else LAST
    path = os.path.join(state, name)
    report = dataclasses.replace(report, last=name_of(path, job.root))
    try:
        make_state(state)
        write_whole(path, hide.bytes_of(report.to_json()))
    except OSError as error:
        if not told:
            said = f"preflight: the report was not kept: {path}: {error.strerror}\n"
            sys.stderr.write(hide.text(said))
        return dataclasses.replace(report, last=None)
    return report


def today() -> date:
    """Say the day by UTC, until which what is accepted holds."""
    return datetime.now(tz=timezone.utc).date()


def now() -> str:
    """Say the time, as reports do."""
    # By itself `gmtime` reads a clock of ticks, which may be a second behind a file just written.
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time()))
