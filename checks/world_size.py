"""Several places that say how many processes the job has, and not the same.

What it finds
    The settings of the job (`world_size`, or `nodes` and `gpus`) held against who starts the
    processes: the file that `accelerate config` has written, and that `accelerate launch` takes by
    itself; TRAINING_NUM_PROCESSES of SimpleTuner, or NUM_PROCESSES of another trainer, in the
    environment or in config/config.env; torchrun's PET_NPROC_PER_NODE; the number of tasks of a
    Slurm job, or of those on each of its nodes. Where they differ: which one is taken, and which
    are passed over. And more processes on a machine than it has GPUs.

    Shell scripts, a Makefile and a Dockerfile in the job's folder, or in a `scripts`, `launch` or
    `slurm` below it where it has none, tell which launcher it is: what they give on the command
    line (`--num_processes`, `--config_file`; `srun -n`, or what `#SBATCH` asks for above the first
    command; deepspeed's `--include`, or its hostfile), also by a variable that they or their
    environment give a number, comes before the file, and where they start the job with torchrun,
    deepspeed, srun or mpirun alone, the file is nobody's. Where all of them start as many
    processes, and the settings say another number, that is a note. One that starts more on a
    machine than the GPUs that it shows them (`CUDA_VISIBLE_DEVICES=0,1`, `--gpu_ids`) is a warning.
    Where accelerate's file says `distributed_type: NO`, one process is started, whatever number it
    says, or the command line without `--multi_gpu`. In a process that a launcher has started all is
    decided; see env-launch.

Why it matters
    The job starts on two GPUs of eight, or on eight of which two are its own, and no launcher says
    so: accelerate's file is passed over or taken without a word. A process without a GPU of its own
    stops with `invalid device ordinal`, or NCCL with `Duplicate GPU detected`.

What to do
    Say the number in one place: `accelerate launch --num_processes N`, or the file alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import HostFacts, LaunchCommand
from preflight.finding import Finding, Location, Row, Severity
from preflight.job import Job
from preflight.values.names import counted

from ._gpus_for_processes import hidden, more_than_asked, without_gpus
from ._launched import (
    ACCELERATE,
    NOT_ACCELERATE,
    ONE_ALONE,
    Said,
    agreeing,
    as_started,
    has_default_file,
    is_a_guess,
    is_launched,
    of_nobody,
    of_scripts,
    of_slurm,
    of_torchrun,
    of_trainer,
    place_of,
)

_STARTED = "in a process that a launcher has started, all is decided"


def _does_not_apply(facts: HostFacts, job: Job) -> str | None:
    if job.launch.elsewhere:
        return "the job will run on another machine"
    return _STARTED if is_launched(facts) else None


@check(
    over=HostFacts,
    title="places that say different numbers of processes, or more than there are GPUs",
    many="places say different numbers of processes",
    severity=Severity.ERROR,
    skip=_does_not_apply,
)
def world_size(facts: HostFacts, job: Job) -> Iterator[Finding]:
    """Say which number is taken, which are passed over, and whether there are GPUs for it."""
    if _does_not_apply(facts, job):
        return
    taken, settings = _taken(facts), _of_settings(job)
    slurm, script = of_slurm(facts, job), of_scripts(facts)
    if taken is not None:
        yield from _passed_over(taken, facts, settings)
    elif settings is not None and script is not None and script.processes != settings.processes:
        yield _of_script(script, settings)
    elif settings is not None and script is None:
        yield from _of_variable(of_nobody(facts), settings)
    if settings is not None and slurm is not None:
        yield _of_slurm(slurm, settings)
    yield from _one_of_several(facts)
    yield from hidden(world_size.found, facts)
    lacking = taken and without_gpus(world_size.found, taken, facts, job)
    if lacking:
        yield lacking
    else:
        yield from more_than_asked(world_size.found, facts, job)


# --- which one is taken ---------------------------------------------------------------------------


def _taken(facts: HostFacts) -> Said | None:
    """Give the number with which the job is likely to be started."""
    said = facts.accelerate
    if said is not None and has_default_file(facts):
        is_one = said.starts_one and not any(one.starts_several for one in facts.commands)
        if is_one:
            return Said(ONE_ALONE, 1, ACCELERATE, said.file, said)
        return Said(said.name, said.processes, ACCELERATE, said.file, said)
    return of_trainer(facts) or of_torchrun(facts)


def _of_settings(job: Job) -> Said | None:
    launch = job.launch
    if launch.world_size is None and launch.gpus is None:
        return None
    name = "gpus" if launch.world_size is None else "world_size"
    return Said(name, launch.ranks, job.origins.get(f"launch.{name}", "the job's settings"))


def _passed_over(taken: Said, facts: HostFacts, settings: Said | None) -> Iterator[Finding]:
    """Find numbers that somebody has said, and that nobody takes."""
    said = (of_trainer(facts), of_nobody(facts), settings)
    others = [one for one in said if one is not None and one != taken]
    wrong = [one for one in others if one.processes != taken.processes]
    if not wrong:
        return
    first, (at, text) = wrong[0], place_of(taken)
    so_many, order = "so many are started", "; a number on its command line comes first"
    if taken.name == ONE_ALONE:
        so_many, order = "1 process is started", ""
    guess = is_a_guess(taken, facts)
    yield world_size.found(
        f"{text}, and {so_many}; {first.name} says {first.processes:,}, and is passed over",
        at=at,
        about="passed over",
        severity=Severity.NOTE if guess else Severity.WARNING,
        rows=tuple(
            Row(count=one.processes, text=f"{one.name} ({one.by}): {_verdict(one, taken)}")
            for one in (taken, *others)
        ),
        why=f"{taken.by} takes its number from there, and says nothing of the other, for which "
        f"batch sizes and splits may be worked out{order}.",
        fix=agreeing(taken, first, settings),
        workaround=NOT_ACCELERATE if guess else None,
        evidence={"taken": taken.processes, "said": first.processes},
    )


def _of_script(script: LaunchCommand, settings: Said) -> Finding:
    number = script.processes or 0
    return world_size.found(
        f"starts {counted(number, 'process', 'processes')} by {script.launcher}; {settings.name} "
        f"says {settings.processes:,}, and is passed over",
        at=Location(file=script.file, line=script.line),
        about="script",
        severity=Severity.NOTE,
        why="What stands on the command line of a launcher comes before all else, and this job is "
        "judged for another number.",
        fix=f"Say {settings.processes:,} there, or judge for what it starts: --world-size {number}",
        workaround="It starts something else than this job? preflight run --ignore world-size",
        evidence={"taken": number, "said": settings.processes},
    )


def _of_variable(said: Said | None, settings: Said) -> Iterator[Finding]:
    """Find a variable that says another number, of which nobody is known to take it."""
    if said is not None and said.processes != settings.processes:
        yield world_size.found(
            f"is {said.processes:,}, and {settings.name} says {settings.processes:,}; no launcher "
            "reads it by itself",
            at=Location(name=said.name),
            about="variable",
            severity=Severity.NOTE,
            why="A script of the job may hand it to its launcher, and this job is judged for "
            "another number then.",
            fix=f"Say {settings.processes:,} there, or judge for --world-size {said.processes}",
            evidence={"taken": settings.processes, "said": said.processes},
        )


def _one_of_several(facts: HostFacts) -> Iterator[Finding]:
    """Find commands that ask accelerate for several processes, where its file starts one."""
    for one in facts.commands:
        number = one.processes or 0
        if facts.accelerate is None or as_started(one, facts).processes == one.processes:
            continue
        yield world_size.found(
            f"asks for {counted(number, 'process', 'processes')} by accelerate launch, which "
            "starts 1",
            at=Location(file=one.file, line=one.line),
            about="one of several",
            severity=Severity.WARNING,
            why=f"{facts.accelerate.file} says distributed_type = NO, which comes before a number "
            "on the command line; nothing is said of it.",
            fix=f"Say --multi_gpu --num_processes {number} there.",
            also=(Location(file=facts.accelerate.file),),
            evidence={"asked": number, "taken": 1},
        )


def _verdict(one: Said, taken: Said) -> str:
    if one is taken:
        return "taken"
    return "the same" if one.processes == taken.processes else "passed over"


def _of_slurm(slurm: Said, settings: Said) -> Finding:
    return world_size.found(
        f"is {slurm.processes:,}: srun starts so many, and {settings.name} says "
        f"{counted(settings.processes, 'rank')}",
        at=Location(name=slurm.name),
        about="slurm",
        severity=Severity.WARNING,
        why="A script that takes its place among the ranks from Slurm has another number of them; "
        "torchrun in each task starts its own number for each.",
        fix=f"Ask for --ntasks={settings.processes}, or for one task on each machine where "
        "torchrun or accelerate starts the processes.",
        evidence={"taken": slurm.processes, "said": settings.processes},
    )
