"""Live objects to a report, in the process of whoever hands them over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from preflight.findings import registry
from preflight.findings.judge import ask_checks
from preflight.findings.looks import Left, Look, Looked
from preflight.findings.parts import NOT_NAMED, PARTS, WHOLE, Covered
from preflight.findings.report import Named, Report
from preflight.kinds.asked import MistypedError
from preflight.kinds.gather import Run
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kinds, load
from preflight.ledger.recall import Memory
from preflight.session import summary
from preflight.session.run import UsageError, nobody_watches, now, report_of
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from preflight.settings.toml_file import SettingsError
from preflight.values.names import counted


def inspect(*, loader: object = None, model: object = None, **flags: Any) -> Report:
    """Look at live objects in this process, and say GO, NO-GO or CANNOT JUDGE.

    Runs no code of theirs but what pickle and deepcopy themselves call, and `len()` of the data
    set. What the loader sends is loaded in two fresh workers, which end with the look; from a main
    module that is not under `if __name__ == "__main__":` none is started, and the checks that would
    judge it are skipped.

    Args:
        loader: a DataLoader, or whatever hands out batches and has `dataset` and `collate_fn`; or
            what holds loaders. A LightningDataModule and a Trainer are asked for theirs, which runs
            their own code.
        model: an `nn.Module`.
        flags: options of the command line by their names with `_`: `start_method="spawn"`.

    Raises:
        UsageError: a flag is not valid, or neither a loader nor a model was given.
    """
    begun, started = time.perf_counter(), now()
    things = {"loader": loader, "model": model}
    given = {word: thing for word, thing in things.items() if thing is not None}
    if not given:
        raise UsageError("inspect() was given neither a loader nor a model")
    checks = registry.chosen(registry.load()[0])
    looks: list[Look] = []
    more: list[Look] = []
    numbers: dict[str, int] = {}
    try:
        job = make_job(folder=os.getcwd(), flags=flags, environ=os.environ)
        for kind in kinds():
            if kind.live and kind.word in given:
                seen = tuple(load(kind.live)(given[kind.word], job))
                looks += seen
                numbers[kind.word] = _number_of(kind, seen)
                more += _put_together(kind, seen, job)
    except (SettingsError, MistypedError) as error:
        raise UsageError(str(error)) from error
    judged = ask_checks(checks, job, [*looks, *more], tell=nobody_watches, words=summary.words)
    return report_of(
        job,
        checks,
        judged,
        complete=True,
        coverage=tuple(
            Covered(
                part=word,
                state=WHOLE,
                looked_at=numbers[word],
                of=numbers[word],
                seen=counted(numbers[word], word),
            )
            if word in numbers
            else Covered(part=word, state=NOT_NAMED)
            for word in PARTS
        ),
        not_judged=tuple(word for word in summary.PARTS if word not in given),
        started=started,
        seconds=round(time.perf_counter() - begun, 3),
        targets=tuple(Named(word=word, kind=word, text="a live object") for word in given),
        reasons=[f"No worker was started: {one.reason}." for one in looks if isinstance(one, Left)],
        command="preflight.inspect(...)",
    )


def _number_of(kind: Kind, looks: Sequence[Look]) -> int:
    """Count what was handed over: what holds several is taken apart, and each has its name."""
    facts = (one.facts for one in looks if isinstance(one, Looked))
    return len({getattr(one, "name", None) for one in facts if type(one) in kind.facts}) or 1


def _put_together(kind: Kind, looks: Sequence[Look], job: Job) -> Iterator[Look]:
    """Give what follows from what was seen, as far as no file has to be read for it."""
    silent = replace(job, look=replace(job.look, no_ledger=True))
    run = Run(
        job=job,
        memory=Memory(job=silent),
        targets=(),
        wants=lambda _facts: False,
        tell=lambda _target, _facts: None,
        passed=lambda _number: None,
    )
    rows = [row for row in kinds() if kind.target in row.led_to_by and not row.reader]
    for gather in [load(row.gather)(row, run) for row in rows]:
        for look in looks:
            if isinstance(look, Looked):
                gather.hear(look.target, look.facts)
        for _ in gather.then_questions():
            continue  # what it leads to is in files, and is told as not read
        yield from gather.finish()
