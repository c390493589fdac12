"""Has scripts run, each with a scratch folder of ours that is removed when all is over."""

from __future__ import annotations

import contextlib
import os
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.batches.facts import CountedInScript
from preflight.built.missing import always_helps, as_the_job_is_started, installable
from preflight.findings.finding import Severity
from preflight.findings.looks import Failed, Look
from preflight.kinds.gather import Gather, Run
from preflight.kinds.kind import Kind
from preflight.kinds.question import Question
from preflight.kinds.rooms import facts_of
from preflight.kinds.target import Target
from preflight.pipelines.facts import Reads
from preflight.processes.rank import rank_here
from preflight.resuming.facts import Resumed
from preflight.scripts.common_layer import common_layer
from preflight.scripts.facts import Ended, Rehearsal
from preflight.scripts.surroundings.standard_input import path_of_ours
from preflight.settings.job import Job
from preflight.settings.options import OPTIONS
from preflight.targets.targets import Script
from preflight.users_code.facts import ASKED_FOR, Lack
from preflight.values.code_name import module_command
from preflight.values.exit_status import ending
from preflight.values.names import name_of, shown

_IMAGES = "image-damaged"

_FOR_REAL = "Try it in a copy of the folder, in which it writes for real:  --allow-writes"


class Scripts(Gather):
    """All scripts of a run."""

    def __init__(self, kind: Kind, run: Run) -> None:
        super().__init__(kind, run)
        self._scratch = contextlib.ExitStack()
        self._reads: list[Reads] = []

        self._held: list[tuple[Question, Rehearsal, float | None]] = []
        """Those that such an image has stopped: judged when it is known whether it is told."""

    def hear(self, _target: Target, facts: Any) -> None:
        """Take in what a loader lists."""
        if isinstance(facts, Reads):
            self._reads.append(facts)

    def wire(self, target: Script) -> Mapping[str, Any]:
        """Give what is run, and where it may leave what we keep of it for a while."""
        own = tempfile.TemporaryDirectory(prefix="preflight-", ignore_cleanup_errors=True)
        folder, rank = self._scratch.enter_context(own), rank_here()
        common = None if rank is None else self._scratch.enter_context(common_layer(rank))
        return {
            **super().wire(target),
            "scratch": folder,
            "layer": common or folder,
            "stdin": path_of_ours(),
            "rank": 0 if rank is None else rank.number,
            "ranks": 1 if rank is None else rank.size,
            "is_one_machine": rank is None or (common is not None and rank.is_one_machine),
        }

    def seen(
        self,
        question: Question,
        told: Iterable[Mapping[str, Any]],
        *,
        read_at: float | None = None,
    ) -> Iterator[Look]:
        """Give what was seen; of a script that nobody could judge, why."""
        for one in map(facts_of, told):
            why = _why_not_judged(one, self.run.job)
            if isinstance(one, Reads):
                one = _still_there(one, self.run.job.root)  # noqa: PLW2901
            if isinstance(one, CountedInScript):  # judged when it is known what else tells of it
                self.run.tell(question.target, one)
            elif isinstance(one, Rehearsal) and one.ended.raised and one.ended.raised.is_of_image:
                self._held.append((question, one, read_at))
            elif why is not None:
                error, fix = why
                yield Failed(at=question.at, error=error, kinds=(type(one),), fix=fix)
            else:
                yield from self.judged(question, one, read_at)

    def finish(self) -> Iterator[Look]:
        """Give those that an image has stopped, which is told once where its file was looked at."""
        found = self.run.so_far.found
        files = {
            one.at.file
            for one in (found if self._held else ())
            if one.check == _IMAGES and one.severity is Severity.ERROR
        }
        paths = (path for one in self._reads if files for path in (*one.files, *one.shards))
        told_by = _IMAGES if any(name_of(one, self.run.job.root) in files for one in paths) else ""
        for question, one, read_at in self._held:
            raised = one.ended.raised and replace(one.ended.raised, told_by=told_by)
            facts = replace(one, ended=replace(one.ended, raised=raised))
            yield from self.judged(question, facts, read_at)

    def close(self) -> None:
        """Remove the scratch folders."""
        self._scratch.close()


def _still_there(reads: Reads, root: str) -> Reads:
    """Leave out what lay among temporary files, and is gone now that the script has ended."""
    place = tempfile.gettempdir()
    places = tuple(
        os.path.join(one, "") for one in (os.path.abspath(place), os.path.realpath(place))
    )
    own = os.path.join(os.path.abspath(root), "")

    def stays(path: str) -> bool:
        is_passing = path.startswith(places) and not path.startswith(own)
        return not is_passing or os.path.exists(path)

    files, shards = (tuple(filter(stays, those)) for those in (reads.files, reads.shards))
    gone = len(reads.files) - len(files)
    made = reads.made + gone + len(reads.shards) - len(shards)
    return replace(reads, files=files, shards=shards, listed=reads.listed - gone, made=made)


# --- what could not be judged -------------------------------------------------------------------


def _why_not_judged(facts: object, job: Job) -> tuple[str, str | None] | None:
    """Give the reason and what to do; None where it can be judged."""
    if isinstance(facts, Resumed) and facts.unasked and job.look.resume_with is not None:
        return (
            f"the resume that was asked for is not rehearsed: {facts.unasked}",
            "Give --resume-with what the script takes, with {checkpoint} where the path stands.",
        )
    return _why_not_rehearsed(facts, job) if isinstance(facts, Rehearsal) else None


def _other_arguments(name: str, refused: str) -> str:
    """Say with what to start a script instead: options of ours that it refused go before it."""
    before, _, rest = refused.partition("unrecognized arguments: ")
    taken, words = rest.split(), shlex.split(name)
    options = {one.partition("=")[0] for one in taken if one.startswith("-")}
    place = next((at for at in range(len(words)) if words[at : at + len(taken)] == taken), 0)
    are_ours = bool(options) and options <= {f"--{one.name}" for one in OPTIONS}
    if are_ours and place and not before:
        typed = shlex.join([*taken, *words[:place], *words[place + len(taken) :]])
        return f"Write options of preflight before the script:  preflight run {typed}"
    return f"Give it the arguments with which the job starts it:  preflight run {name} …"


def _why_not_rehearsed(facts: Rehearsal, job: Job) -> tuple[str, str | None] | None:
    ended = facts.ended
    if ended.how == "late":
        return _late(ended, job)
    if ended.how == "died":
        return (
            f"it {ending(ended.code or 0)} and said nothing of why",
            "Look at what it has printed.",
        )
    started = next((one.at for one in facts.met if one.what == "process"), None)
    if facts.is_idle and started is not None:
        place = f"{started.file}:{started.line}"
        reason = f"it trains in processes of its own, if at all, which are not watched: {place}"
        return reason, "Name what they run:  preflight run script.py …"
    raised = ended.raised
    if raised is None or raised.lacks is None or _is_fault(raised.lacks, job):
        return None
    inner = raised.frames[-1] if raised.frames else None
    place = f" at {inner.file}:{inner.line}" if inner is not None else ""
    name = shown(raised.lacks.name)
    if raised.lacks.kind == "arguments":
        fix = _other_arguments(facts.name, raised.lacks.name)
        return f"it does not take this command line: {name}{place}", fix
    if raised.lacks.kind == "apart":
        reason = "a program that it starts may not find what was written apart from the job"
        return f"{reason}: {shown(raised.error)}{place}", _FOR_REAL
    if raised.lacks.kind == "name":
        reason = f"it has a module {name} of its own, and so has preflight, which runs beside it"
        return reason, f"Rename {name} in a copy of the folder, and rehearse that."
    lies = "not on its path" if raised.lacks.folder else "not here"
    what = f"{name}, which is {lies}"
    if raised.lacks.version:
        what = f"another version of {name} than {shown(raised.lacks.version)}, which is here"
    reason = f"it needs {what}: {shown(raised.error)}{place}"
    if raised.lacks.folder and raised.lacks.name.partition(".")[0] == facts.file.partition("/")[0]:
        module = module_command(facts.file)
        return reason, f"Start it as a module of the package that it lies in:  {module}"
    return reason, _fix(raised.lacks, job, facts.name)


def _is_fault(lack: Lack, job: Job) -> bool:
    """Whether the job would miss it as well, started here as it is."""
    return lack.kind == "variable" and not job.launch.elsewhere


def _late(ended: Ended, job: Job) -> tuple[str, str]:
    own = next((one.frames[-1] for one in ended.waiting if one.frames), None)
    place = "" if own is None else f" at {own.file}:{own.line}"
    reason = f"it was at work{place} for {ended.silent:.0f} s without a batch, a step or a print"
    return reason, f"Give it longer:  --timeout {job.look.timeout * 5:g}"


def _fix(lack: Lack, job: Job, script: str) -> str:
    # Whoever asks whether there is a GPU is told no on the CPU, too.
    if lack.kind in ("gpu", "nccl") and job.look.device is None and lack.name != ASKED_FOR:
        # An entry of the settings has a name of its own, which may hold any character.
        typed = script if script.startswith("-m ") or ".py" in script else "…"
        return f"Have it run on the CPU, in small:  preflight run --device cpu {typed}"
    if lack.kind in ("gpu", "nccl", "stand-in"):
        return "Run preflight where the job runs."
    if lack.kind == "package" and lack.folder:
        where = "this folder" if lack.folder == "." else shown(lack.folder)
        return f"Add {where} to PYTHONPATH, or install what lies there, as the job has it."
    if lack.kind == "package":
        what = installable(lack)
        return f"Install {what} for {lack.python}, or name the job's --python EXE."
    started = as_the_job_is_started(lack.name)
    return always_helps(lack) or f"Start preflight as the job is started:  {started}"
