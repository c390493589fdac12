"""Launcher variables that contradict each other, or that the code reads and nobody sets.

What it finds
    In the environment: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and the like set only
    in part, or to values that cannot be together, such as a rank beyond the world size. In the
    sources: environment variables that are read without a default, and are not set, such as
    `int(os.environ.get("SLURM_LOCALID"))`; also by `init_process_group("nccl")`, which by itself
    takes rank, size and address from there.

Why it matters
    A job started without the launcher that it was written for stops in its first second with
    `int() argument must be a string … not 'NoneType'`, which names no variable. With variables left
    over from another launch it waits for ranks that nobody started, until the rendezvous times out.

What to do
    Start the job with the launcher whose variables it reads, or set them yourself; unset what is
    left over. In code, read with a default, or test first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.check import check
from preflight.facts import EnvironmentRead, HostFacts, SourceFacts
from preflight.finding import Finding, Location, Severity
from preflight.host.environment import launcher_of
from preflight.job import Job
from preflight.values.names import counted, shown

NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")

# A rank, and how many there are of it.
PAIRS = (
    ("RANK", "WORLD_SIZE"),
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
)

LEFT_OVER = "Unset what is left over from another launch, and start with one launcher."
STARTS = {"slurm": "srun", "mpi": "mpirun", "torchrun": "torchrun"}
_MOST_PLACES = 20


def _does_not_apply(_: HostFacts | SourceFacts, job: Job) -> str | None:
    return "the job will run on another machine" if job.launch.elsewhere else None


@check(
    over=(HostFacts, SourceFacts),
    title="launcher variables that are missing or contradict each other",
    many="launch variables are missing or contradict each other",
    severity=Severity.ERROR,
    skip=_does_not_apply,
)
def env_launch(facts: HostFacts | SourceFacts, job: Job) -> Iterator[Finding]:
    """Hold what launchers have set against itself, and what sources read against what is set."""
    if _does_not_apply(facts, job):
        return
    if isinstance(facts, SourceFacts):
        yield from _unset(facts, job)
        return
    # An empty value counts as unset, and so does -1: "not distributed" in many scripts.
    given = {name: value.strip() for name, value in facts.environment.items()}
    given = {name: value for name, value in given.items() if value not in ("", "-1")}
    numbers = {name: int(given[name]) for name in given if _is_number(given[name])}
    yield from _no_numbers(given, numbers)
    yield from _beyond(numbers, facts)
    yield from _half_set(given, numbers)
    yield from _other_size(given, numbers, job)


# --- the environment ------------------------------------------------------------------------------


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _no_numbers(given: Mapping[str, str], numbers: Mapping[str, int]) -> Iterator[Finding]:
    for name in NUMBERS:
        if name in given and name not in numbers:
            yield _contradiction(
                name,
                f"is '{shown(given[name][:80])}', which is no number",
                "Every rank reads it, and stops.",
                about="value",
            )
    if numbers.get("MASTER_PORT", 0) > 65_535:
        yield _contradiction(
            "MASTER_PORT",
            f"is {numbers['MASTER_PORT']:,}; ports end at 65,535",
            "No rank can meet the others there.",
            about="value",
        )


def _beyond(numbers: Mapping[str, int], facts: HostFacts) -> Iterator[Finding]:
    """Find ranks that are not below the number of ranks, which are counted from 0."""
    for rank, size in PAIRS:
        if rank.startswith("SLURM_") and "SLURM_HET_SIZE" in facts.environment:
            continue  # a heterogeneous job counts ranks over all of its parts, and tasks in each
        if rank in numbers and numbers[rank] >= numbers.get(size, numbers[rank] + 1):
            yield _contradiction(
                rank,
                f"is {numbers[rank]}, and {size} is {numbers[size]}; "
                f"ranks are counted from 0 to {numbers[size] - 1}",
                "The ranks wait for one that never comes, until the rendezvous times out.",
                about="beyond",
            )
    seen = [gpu for gpu in facts.gpus.gpus if gpu.visible]
    local = numbers.get("LOCAL_RANK", 0)
    if facts.gpus.state == "ok" and seen and local >= len(seen):
        yield _contradiction(
            "LOCAL_RANK",
            f"is {local}, and this job sees {counted(len(seen), 'GPU')} of this machine",
            f"torch.cuda.set_device({local}) stops with `invalid device ordinal`.",
            # Launchers that show each rank its own GPU alone are common, and so is code for them.
            severity=Severity.WARNING if len(seen) == 1 else Severity.ERROR,
            about="gpus",
        )


def _half_set(given: Mapping[str, str], numbers: Mapping[str, int]) -> Iterator[Finding]:
    if "RANK" in given and "WORLD_SIZE" not in given:
        yield _contradiction(
            "RANK",
            f"is {shown(given['RANK'][:80])}, and WORLD_SIZE is not set",
            "init_process_group stops: environment variable WORLD_SIZE expected, but not set.",
            about="half",
        )
    sizes = ("SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_NPROCS")
    if numbers.get("SLURM_PROCID", 0) > 0 and not any(name in given for name in sizes):
        # Rank 0 alone is what sbatch sets where nobody asked for a number of tasks.
        yield _contradiction(
            "SLURM_PROCID",
            f"is {numbers['SLURM_PROCID']}, and SLURM_NTASKS is not set",
            "A script that asks Slurm for the number of ranks finds none.",
            severity=Severity.WARNING,
            about="half",
        )
    ranks = ("RANK", "LOCAL_RANK", "NODE_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
    if numbers.get("WORLD_SIZE", 0) > 1 and not any(name in given for name in ranks):
        yield _contradiction(
            "WORLD_SIZE",
            f"is {numbers['WORLD_SIZE']}, and no rank is set",
            "Without a launcher this process would wait for the others.",
            severity=Severity.WARNING,
            about="half",
        )
    address, port = "MASTER_ADDR" in given, "MASTER_PORT" in given
    whole = "RANK" in given and numbers.get("WORLD_SIZE", 0) > 1
    if address != port or (whole and not address):
        lacking = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in given]
        beside = "MASTER_ADDR" if address else "MASTER_PORT" if port else "RANK"
        yield _contradiction(
            beside,
            f"is set, and {' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} not",
            f"init_process_group stops: environment variable {lacking[0]} expected, but not set; "
            "unless the launcher or the script sets it.",
            severity=Severity.WARNING if given.keys() & {"RANK", "WORLD_SIZE"} else Severity.NOTE,
            about="rendezvous",
        )


def _other_size(
    given: Mapping[str, str], numbers: Mapping[str, int], job: Job
) -> Iterator[Finding]:
    """Compare WORLD_SIZE with the ranks that the settings say, where they say any."""
    said = job.launch.world_size is not None or job.launch.gpus is not None
    size = numbers.get("WORLD_SIZE")
    if not said or size is None or size == job.launch.ranks:
        return
    in_a_rank = "RANK" in given and "LOCAL_RANK" in given
    if size == job.launch.nodes and not in_a_rank:
        return  # operators of clusters count machines with it, and torchrun then counts ranks
    key = "launch.world_size" if job.launch.world_size is not None else "launch.gpus"
    file, line = job.origin(key)
    yield env_launch.found(
        f"WORLD_SIZE is {size} in this environment, and the job is to have "
        f"{counted(job.launch.ranks, 'rank')}",
        at=Location(file=file, line=line) if file else Location(name="WORLD_SIZE"),
        severity=Severity.ERROR if in_a_rank else Severity.WARNING,
        why="Batch sizes and splits are worked out for another number of ranks.",
        fix="Unset WORLD_SIZE, or say in the settings how many ranks there are.",
        evidence={"world_size": size, "ranks": job.launch.ranks},
        about="WORLD_SIZE",
    )


def _contradiction(
    name: str, message: str, why: str, *, about: str, severity: Severity = Severity.ERROR
) -> Finding:
    return env_launch.found(
        message,
        at=Location(name=name),
        severity=severity,
        why=why,
        fix=LEFT_OVER,
        workaround="Not the environment it will run in? preflight run --elsewhere",
        about=about,
    )


# --- the sources ----------------------------------------------------------------------------------


def _unset(facts: SourceFacts, job: Job) -> Iterator[Finding]:
    """Give one finding for each variable of each file."""
    places: dict[tuple[str, str], list[EnvironmentRead]] = {}
    beside: dict[tuple[str, int, str], list[str]] = {}
    for read in facts.reads:
        if read.is_set or read.guarded or read.raises is None:
            continue
        # A process group asks for several; which is the first one, torch says.
        expression = beside.setdefault((read.file, read.line, read.code), [])
        expression.append(read.variable)
        if len(expression) == 1:
            places.setdefault((read.file, read.variable), []).append(read)
    for reads in places.values():
        judged = [(read, _severity(read, facts, job)) for read in reads]
        severity = max((one for _, one in judged if one is not None), default=None)
        if severity is None:
            continue
        first = next(read for read, one in judged if one == severity)
        others = [read for read in reads if read is not first]
        _, *rest = beside[first.file, first.line, first.code]
        nor = f" (nor {'is' if len(rest) == 1 else 'are'} {', '.join(rest)})" if rest else ""
        yield env_launch.found(
            f"reads {first.variable}, which is not set{nor}: {shown(first.code)} raises "
            f"{first.raises}",
            at=Location(file=first.file, line=first.line),
            severity=severity,
            also=tuple(Location(file=read.file, line=read.line) for read in others[:_MOST_PLACES]),
            why=_why(first, facts),
            fix=_fix(first, facts),
            workaround="Not the environment it will run in? preflight run --elsewhere",
            evidence={"variable": first.variable, "raises": first.raises or ""},
            about=first.variable,
            line_text=first.line_text,
        )


def _severity(read: EnvironmentRead, facts: SourceFacts, job: Job) -> Severity | None:
    """Say what becomes of the job; None: nothing that can be known from here."""
    if read.off is not None:
        return Severity.NOTE
    launcher = launcher_of(read.variable)
    if launcher == "torchrun":
        if job.launch.ranks > 1:
            return None  # whoever starts several ranks sets these for each
        said = job.launch.world_size is not None or job.launch.gpus is not None
        return Severity.WARNING if said else Severity.NOTE
    if launcher == "slurm" and facts.in_allocation:
        return Severity.NOTE  # srun sets it, once the job is started with it
    if launcher is not None:
        return Severity.WARNING if read.of_several else Severity.ERROR
    # Of a folder with one script, that is what is started, as if it had been named itself.
    is_named = read.file == facts.file or (facts.entries == (read.file,) and not read.of_several)
    if read.inside is None:
        is_perhaps = (facts.is_folder and not is_named and not read.by_imports) or read.is_lazy
        return Severity.WARNING if is_perhaps else Severity.ERROR
    return Severity.WARNING if is_named or read.is_called else Severity.NOTE


def _why(read: EnvironmentRead, facts: SourceFacts) -> str:
    launcher = launcher_of(read.variable)
    if read.off is not None:
        return f"Started as its defaults have it, the job does not come here: {read.off}."
    if read.inside is not None:
        when = f"when it calls {shown(read.inside)}()"
    else:
        is_first = read.file in (facts.file, *facts.entries) or read.stands.as_main
        when = "in its first second" if is_first else "when it imports this file"
    if read.of_several:
        script = shown(read.of_script) or "a script that comes here"
        when += f" where {script} is what is started, which is a guess"
    if launcher is None:
        return f"The job stops {when}."
    return f"Started without {STARTS[launcher]}, the job stops {when}."


def _fix(read: EnvironmentRead, facts: SourceFacts) -> str:
    launcher = launcher_of(read.variable)
    if launcher is None:
        return f"Set {read.variable}, or read it with a default."
    start = f"Start it with {STARTS[launcher]}"
    if launcher == "slurm" and facts.in_allocation:
        return f"{start}, which sets it in this allocation."
    one = "1" if read.variable.endswith(("SIZE", "NTASKS", "NNODES", "NPROCS")) else "0"
    numeric = read.variable != "MASTER_ADDR" and read.code.startswith(("int", "float"))
    return f"{start}, or set {read.variable}={one} for one process." if numeric else f"{start}."
