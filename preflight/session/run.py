"""One run from beginning to end: words to targets, processes to facts, facts to a report."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from preflight.findings import judge as runner
from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.findings.judge import Left, Look, Looked
from preflight.findings.report import Named, Report
from preflight.loaders.facts import Loaded
from preflight.render import renderer
from preflight.session.look import Survey
from preflight.session.progress import Progress, Watch
from preflight.settings import merge as settings
from preflight.settings.file import SettingsError
from preflight.settings.job import Job
from preflight.targets import discover
from preflight.targets.targets import MistypedError
from preflight.values.names import name_of
from preflight.values.state_folder import make_state, write_whole
from preflight.values.wire import to_plain

if TYPE_CHECKING:
    import datetime

LAST = "last.json"


class UsageError(ValueError):
    """What was typed, or what the settings say, is not valid; nothing was looked at."""


def _nobody_watches(_: Progress | Finding) -> None:
    """Let it pass."""


def run(
    *words: str,
    folder: str | None = None,
    config: str | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    watch: Watch = _nobody_watches,
    command: str | None = None,
    **flags: Any,
) -> Report:
    """Look at everything that is named, and say GO, NO-GO or CANNOT JUDGE.

    Args:
        words: targets, as on the command line; none: those of the settings, or what lies around.
        folder: the current folder, to which words are relative; None: the process's own.
        config: the settings file; None: the nearest upward.
        select: ids of checks, or prefixes of ids; empty: all.
        ignore: ids or prefixes of checks that are left out.
        watch: called with each step forward and each finding.
        command: what to type to look again; None: made of the words.
        flags: options of the command line by their names with `_`: `gpus=8`, `vram="80GB"`.

    Raises:
        UsageError: a word, a setting or an id is not valid.
    """
    begun, started = time.perf_counter(), _now()
    here = os.path.abspath(folder or os.getcwd())
    every, bad_plugins = registry.load()
    try:
        job = settings.make_job(
            folder=here,
            file=config,
            flags=_read_flags(flags),
            environ=os.environ,
            plugins=[check_id.partition("/")[0] for check_id in every if "/" in check_id],
        )
        checks = registry.chosen(every, select=select, ignore=ignore)
        for word in (*job.gate.require, *job.gate.may_skip, *(one.check for one in job.ignore)):
            registry.matching(word, every)
        found = discover.discover(words, job, here)
        baseline = _baseline(job)
    except (ValueError, LookupError) as error:
        raise UsageError(str(error)) from error
    survey = Survey(job=job, checks=checks, watch=watch)
    try:
        with contextlib.closing(survey.looks(found.targets, datasets=found.datasets)) as looks:
            judged = runner.run(checks, job, looks, tell=watch)
    except MistypedError as error:
        raise UsageError(str(error)) from error
    from preflight.findings import gate
    from preflight.session import summary as account

    judgement = gate.judge(
        checks,
        judged.outcomes,
        judged.findings,
        job,
        looked=judged.looked,
        baseline=baseline,
        complete=judged.complete,
        today=_today(),
    )
    report = Report(
        verdict=judgement.verdict,
        verdict_by=judgement.verdict_by,
        complete=judged.complete,
        not_judged=account.not_judged(found.pairs, survey),
        started=started,
        seconds=round(time.perf_counter() - begun, 3),
        job=account.settings_of(job),
        machine=None if judged.machine is None else to_plain(judged.machine),
        checks=judged.outcomes,
        findings=judgement.findings,
        more=judged.more,
        targets=account.named(found, survey),
        remembered=account.recalled(survey),
        accepted=judgement.accepted,
        steps=survey.steps,
        reasons=(
            *judgement.reasons,
            *account.left_out(judged),
            *account.interpreter(job, found.targets),
            *(f"Plug-in {bad.name}: {bad.reason}" for bad in bad_plugins),
        ),
        command=command or _typed(words),
        unread=tuple(account.unread(job)),
        fail_on=job.gate.fail_on,
        tool=account.tool(judged.machine),
    )
    return _leave_behind(report, job, told=survey.memory.ledger.homeless)


def inspect(*, loader: object = None, model: object = None, **flags: Any) -> Report:
    """Look at live objects in this process, and say GO, NO-GO or CANNOT JUDGE.

    Runs no code of theirs but what pickle and deepcopy themselves call. What the loader sends is
    loaded in two fresh workers, which end with the look; from a main module that is not under
    `if __name__ == "__main__":` none is started, and the checks that would judge it are skipped.

    Args:
        loader: a DataLoader, or whatever hands out batches and has `dataset` and `collate_fn`.
        model: an `nn.Module`.
        flags: options of the command line by their names with `_`: `start_method="spawn"`.

    Raises:
        UsageError: a flag is not valid, or neither a loader nor a model was given.
    """
    from preflight.loaders import walk as loaders
    from preflight.models import read as models

    begun, started = time.perf_counter(), _now()
    here = os.getcwd()
    if loader is None and model is None:
        raise UsageError("inspect() was given neither a loader nor a model")
    if loader is not None and not loaders.is_loader(loader):
        raise UsageError(f"inspect(loader=…): {type(loader).__qualname__} is no DataLoader")
    if model is not None and not models.is_model(model):
        raise UsageError(f"inspect(model=…): {type(model).__qualname__} is no nn.Module")
    checks = registry.chosen(registry.load()[0])
    try:
        job = settings.make_job(folder=here, flags=_read_flags(flags), environ=os.environ)
    except SettingsError as error:
        raise UsageError(str(error)) from error
    looks = [] if loader is None else _looks_at_loader(loader, job)
    if model is not None:
        copied = models.copy_model(model, name="model", root=job.root, factory=None, sources=())
        looks.append(Looked(facts=copied))
    judged = runner.run(checks, job, looks, tell=_nobody_watches)
    from preflight.findings import gate
    from preflight.session import summary as account

    judgement = gate.judge(
        checks,
        judged.outcomes,
        judged.findings,
        job,
        looked=judged.looked,
        today=_today(),
    )
    named = [word for word, thing in (("loader", loader), ("model", model)) if thing is not None]
    return Report(
        verdict=judgement.verdict,
        verdict_by=judgement.verdict_by,
        complete=judged.complete,
        not_judged=tuple(word for word in account.PARTS if word not in named),
        started=started,
        seconds=round(time.perf_counter() - begun, 3),
        job=account.settings_of(job),
        checks=judged.outcomes,
        findings=judgement.findings,
        more=judged.more,
        targets=tuple(Named(word=word, kind=word, text="a live object") for word in named),
        accepted=judgement.accepted,
        reasons=(
            *judgement.reasons,
            *(f"No worker was started: {one.reason}." for one in looks if isinstance(one, Left)),
        ),
        command="preflight.inspect(...)",
        fail_on=job.gate.fail_on,
    )


def _looks_at_loader(loader: object, job: Job) -> list[Look]:
    """Walk it, and load what it sends in fresh workers, where this process may start some."""
    from preflight.loaders import travel as loaded
    from preflight.loaders import walk as loaders
    from preflight.loaders import workers
    from preflight.users_code import main_module

    given: dict[str, Any] = {
        "name": "loader",
        "root": job.root,
        "factory": None,
        "num_workers": job.launch.num_workers,
        "start_method": job.launch.start_method,
    }
    reason = main_module.why_no_worker()
    if reason is not None:
        sent = loaders.walk_loader(loader, **given)
        return [Looked(facts=sent), Left(reason=reason, kinds=(Loaded,))]
    surroundings = workers.Surroundings(
        timeout=job.look.timeout, alive=lambda: None, path=sys.path, files={}
    )
    both = loaded.travel(loader, **given, surroundings=surroundings)
    return [Looked(facts=one) for one in both]


# --- the report -----------------------------------------------------------------------------------


def _read_flags(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Take options as Python has them: names with `_`, sizes as text, lists of words.

    Raises:
        SettingsError: an unknown name, or a value that is not valid.
    """
    read: dict[str, Any] = {}
    mistakes = []
    for name, value in flags.items():
        if value is None or value in ([], ()):
            continue
        option = name.replace("_", "-")
        flag = settings.FLAGS.get(option)
        if flag is None:
            mistakes.append(f"there is no option {name}")
            continue
        try:
            read[option] = flag.read(value) if isinstance(value, str) else value
        except ValueError as error:
            mistakes.append(f"--{option}: {error}")
    if mistakes:
        raise SettingsError(mistakes)
    return read


def _baseline(job: Job) -> frozenset[str]:
    if job.gate.baseline is None:
        return frozenset()
    from preflight.findings import gate

    return gate.read_baseline(os.path.join(job.root, job.gate.baseline))


def _leave_behind(report: Report, job: Job, *, told: bool) -> Report:
    """Keep the report under the job's folder, where `preflight report` finds it.

    Where it cannot be written, one line on stderr says so, and the verdict stays.

    Args:
        report: what is kept.
        job: the settings.
        told: whether that line was written already.
    """
    import dataclasses

    state = os.path.join(job.root, job.look.state)
    rank = os.environ.get("RANK", "0")
    first = not rank.isdigit() or int(rank) == 0
    name = LAST if first else f"last.rank{int(rank)}.json"
    path = os.path.join(state, name)
    report = dataclasses.replace(report, last=name_of(path, job.root))
    try:
        make_state(state)
        write_whole(path, renderer("json")(report))
    except OSError as error:
        if not told:
            sys.stderr.write(f"preflight: the report was not kept: {path}: {error.strerror}\n")
        return dataclasses.replace(report, last=None)
    return report


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _today() -> datetime.date:
    import datetime

    return datetime.datetime.now(tz=datetime.timezone.utc).date()


def _typed(words: Iterable[str]) -> str:
    import shlex

    return shlex.join(["preflight", "run", *words])
