"""Moves damaged files aside, and brings them back: what `preflight quarantine` does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

import click

from preflight.command.output import OutputError, read_last, secrets_at_hand, to_stdout
from preflight.command.progress_bar import watching
from preflight.findings.exit_codes import EXIT_CANNOT_JUDGE, EXIT_GO
from preflight.findings.report import Report
from preflight.quarantine import manifest
from preflight.quarantine.away import move_away
from preflight.quarantine.back import bring_back, is_below, settle, waiting
from preflight.quarantine.plan import plan
from preflight.quarantine.quarantine_page import QuarantinePage, as_json, as_text
from preflight.quarantine.quarantined import State, exit_code
from preflight.session import run as session
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from preflight.values.names import counted, name_of, shown


def move(words: Sequence[str], *, yes: bool, copy: bool, pairs: bool, form: str) -> int:
    """List what the last report, or a look at these words now, names as damaged; then move it."""
    here = os.getcwd()
    job, report = _looked(words, here)
    state = os.path.join(job.root, job.look.state)
    planned = plan(report, root=job.root, state=state, here=here, copy=copy, pairs=pairs)
    told = QuarantinePage(planned.rows, about=f"the run of {report.started}", more=planned.more)
    to_move = [one for one in planned.rows if one.state is State.LISTED]
    if to_move and not yes and form == "terminal" and _on_a_terminal():
        _say(as_text(told), form)
        yes = click.confirm(f"Move {counted(len(to_move), 'file')}?", err=True)
        if not yes:
            return exit_code(told.rows, told.more)
    if to_move and yes:
        moved = move_away(planned.rows, root=job.root, state=state, report=report.started)
        gone = [os.path.dirname(one.path) for one in moved[0] if one.state is State.MOVED]
        outside = not all(is_below(one, [job.root]) for one in gone)
        told = told._replace(rows=moved[0], folder=moved[1], outside=outside)
    return _end(told, form)


def _looked(words: Sequence[str], here: str) -> tuple[Job, Report]:
    """Give the last report of the job here; with words, or where there is none, look now."""
    job = make_job(folder=here, environ=os.environ)
    saved = None if words else read_last([job])
    if saved is not None:
        return job, saved
    with watching() as watch:
        return job, session.run(*words, folder=here, watch=watch)


def restore(times: Sequence[str], *, yes: bool, copy: bool, form: str) -> int:
    """Bring back what the last quarantine that holds something holds, or those of these times.

    Raises:
        OutputError: there is no quarantine of a time, or its manifest cannot be read.
    """
    job = make_job(folder=os.getcwd(), environ=os.environ)
    every = manifest.quarantines(os.path.join(job.root, job.look.state))
    known = {os.path.basename(one): one for one in every}
    wrong = [one for one in times if one not in known]
    if wrong:
        there = ", ".join(known) or "none"
        raise OutputError(f"there is no quarantine {wrong[0]}; there is {there}")

    def may(outside: Sequence[str]) -> bool:
        if yes or form != "terminal" or not _on_a_terminal():
            return yes
        some = f"{counted(len(outside), 'file')} outside of {shown(job.root)}"
        return click.confirm(f"Bring back {some}, such as {shown(outside[0])}?", err=True)

    try:
        folders = [known[one] for one in times] or [*filter(waiting, every)][:1]
        rows = tuple(bring_back(folders, root=job.root, copy=copy, may=may))
        for one in every:
            settle(one, root=job.root)
    except manifest.ManifestError as error:
        raise OutputError(str(error)) from error
    names = ", ".join(name_of(one, job.root) for one in folders)
    return _end(QuarantinePage(rows, about=names, restores=True), form)


def _end(told: QuarantinePage, form: str) -> int:
    code = exit_code(told.rows, told.more)
    return EXIT_CANNOT_JUDGE if not _say_all(told, form) and code == EXIT_GO else code


def _say_all(told: QuarantinePage, form: str) -> bool:
    hide = secrets_at_hand()
    told = told._replace(rows=[replace(one, reason=hide.text(one.reason)) for one in told.rows])
    return _say(as_json(told) if form == "json" else as_text(told), form)


def _say(page: str, form: str) -> bool:
    encoding = "utf-8" if form == "json" else sys.stdout.encoding or "utf-8"
    return to_stdout(secrets_at_hand().bytes_of(page), encoding)


def _on_a_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
