"""Who says how many processes a job has, as its machine and its folder tell."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from preflight.facts import HostFacts, LaunchCommand, NumberSaid
from preflight.finding import Location
from preflight.host.process_counts import positive
from preflight.job import Job

ACCELERATE = "accelerate launch"
TORCHRUN = "torchrun"
SIMPLE_TUNER = "SimpleTuner"
NOT_ACCELERATE = "The job is not started with accelerate? preflight run --ignore world-size"
ONE_ALONE = "distributed_type = NO"


class Said(NamedTuple):
    """A number of processes, and who says it."""

    name: str
    processes: int
    by: str
    """Who takes it from there; of the job's settings: where they were made."""

    file: str | None = None
    source: NumberSaid | None = None


def agreeing(taken: Said, first: Said, settings: Said | None) -> str:
    """Say how all come to one number: the one for which the job is judged, where that is said."""
    wanted = first.processes if settings is None else settings.processes
    if wanted == taken.processes:
        return f"Say {wanted:,} for {first.name}, too, or leave it out."
    if taken.source is not None and taken.source.starts_one:
        return (
            f"Say distributed_type: MULTI_GPU and num_processes: {wanted:,} there, or start it by "
            f"accelerate launch --multi_gpu --num_processes {wanted}"
        )
    return f"Say {wanted:,} there, too, or on the command line of the launcher."


def is_launched(facts: HostFacts) -> bool:
    """Whether a launcher has started this very process as one of several."""
    return {"RANK", "LOCAL_RANK", "WORLD_SIZE"} <= facts.environment.keys()


def has_default_file(facts: HostFacts) -> bool:
    """Whether accelerate's file may be taken, since nothing that is known here overrules it."""
    by_accelerate = [one for one in facts.commands if one.launcher == "accelerate"]
    if by_accelerate:
        return any(one.number is None and one.config is None for one in by_accelerate)
    return not facts.commands or of_trainer(facts) is not None


def of_trainer(facts: HostFacts) -> Said | None:
    """Give the number of SimpleTuner: a file of its variables comes before the environment."""
    if facts.trainer is not None:
        said = facts.trainer
        by = SIMPLE_TUNER if said.name.startswith("TRAINING") else "its trainer"
        return Said(said.name, said.processes, by, said.file, said)
    number = _number(facts, "TRAINING_NUM_PROCESSES")
    if number is None:
        return None
    machines = _number(facts, "TRAINING_NUM_MACHINES") or 1
    name = "TRAINING_NUM_PROCESSES"
    source = NumberSaid(file="", name=name, processes=number, machines=machines)
    return Said(name, number, SIMPLE_TUNER, None, source)


def of_torchrun(facts: HostFacts) -> Said | None:
    """Give what torchrun takes from the environment where it is given no flag."""
    each = _number(facts, "PET_NPROC_PER_NODE")
    nodes = _number(facts, "PET_NNODES") or 1
    by_torchrun = [one for one in facts.commands if one.launcher == "torchrun"]
    given = any(one.number for one in by_torchrun) or (facts.commands and not by_torchrun)
    # As many machines as come: `2:4`.
    if each is None or given or ":" in facts.environment.get("PET_NNODES", ""):
        return None
    name = "PET_NPROC_PER_NODE"
    source = NumberSaid(file="", name=name, processes=each * nodes, machines=nodes)
    return Said(name, each * nodes, TORCHRUN, None, source)


def of_scripts(facts: HostFacts) -> LaunchCommand | None:
    """Give the first launch script, where all that there are start as many processes."""
    commands = [as_started(one, facts) for one in facts.commands]
    numbers = {one.processes for one in commands}
    return commands[0] if len(numbers) == 1 and None not in numbers else None


def as_started(one: LaunchCommand, facts: HostFacts) -> LaunchCommand:
    """Give a command with one process where accelerate's own file is of a type that starts one."""
    is_one = facts.accelerate is not None and facts.accelerate.starts_one
    by_file = one.launcher == "accelerate" and not (one.config or one.starts_several)
    return replace(one, processes=1, each=1) if is_one and by_file and one.processes else one


def of_slurm(facts: HostFacts, job: Job) -> Said | None:
    """Give the tasks of a Slurm script or step that are no tasks of this job.

    One task, or one for each machine, starts torchrun or the like; a shell of salloc, which has
    no place among the tasks, keeps the variables of whatever runs in it.
    """
    ranks, machines = job.launch.ranks, _number(facts, "SLURM_NNODES")
    tasks, name = (
        _number(facts, "SLURM_STEP_NUM_TASKS") or _number(facts, "SLURM_NTASKS"),
        "SLURM_NTASKS",
    )
    each = _number(facts, "SLURM_NTASKS_PER_NODE")
    if tasks is None and each is not None:
        tasks, name = each * (machines or 1), "SLURM_NTASKS_PER_NODE x SLURM_NNODES"
    if tasks is None or "SLURM_PROCID" not in facts.environment or ranks == 1:
        return None
    if tasks in (1, machines, job.launch.nodes, ranks):
        return None
    return Said(name, tasks, "srun")


def of_nobody(facts: HostFacts) -> Said | None:
    """Give a NUM_PROCESSES of the environment, which a script may hand over, and nobody else."""
    number = _number(facts, "NUM_PROCESSES")
    return None if number is None else Said("NUM_PROCESSES", number, "the environment")


def _number(facts: HostFacts, name: str) -> int | None:
    return positive(facts.environment.get(name, "").strip())


def is_a_guess(taken: Said, facts: HostFacts) -> bool:
    """Whether nothing but accelerate's file tells that the job is started with accelerate."""
    return taken.by == ACCELERATE and not facts.commands and of_trainer(facts) is None


def place_of(said: Said) -> tuple[Location, str]:
    """Say where it stands, and what there."""
    if said.name == ONE_ALONE and said.source is not None:
        written = said.source.processes
        number = f"num_processes = {written:,} and " if written > 1 else ""
        return Location(file=said.file), f"says {number}{ONE_ALONE}"
    if said.file:
        return Location(file=said.file), f"says {said.name} = {said.processes:,}"
    return Location(name=said.name), f"is {said.processes:,}"
