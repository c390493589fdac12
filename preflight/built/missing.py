"""Says what the user's code needs that is not here, and what helps."""

from __future__ import annotations

from preflight.host.environment import launcher_of
from preflight.settings.job import Job
from preflight.targets.targets import Built
from preflight.users_code.facts import Lack, Unbuilt
from preflight.values.code_name import command_for
from preflight.values.names import shown

_ONE_RANK = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "LOCAL_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
"""What torchrun sets for a job of one rank."""

_STARTS = {"torchrun": "torchrun", "slurm": "srun", "mpi": "mpirun"}

NETWORK = (
    "Run preflight where it can be reached, or have what is loaded from there in its cache here "
    "first."
)

_DISTRIBUTIONS = {
    "PIL": "pillow",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "git": "gitpython",
    "hydra": "hydra-core",
    "open_clip": "open-clip-torch",
    "pkg_resources": "'setuptools<81'",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""Where what is installed is called otherwise than what is imported."""


def is_no_fault(facts: Unbuilt, job: Job) -> bool:
    """Whether nobody can judge the code, since something is not here that the job may well have.

    What this machine lacks, a check tells where the job is to run on it.
    """
    if facts.lacks is None:
        return False
    if facts.lacks.kind in ("gpu", "variable", "file"):
        return job.launch.elsewhere
    return True


def why_not_made(facts: Unbuilt, built: Built, job: Job) -> tuple[str, str]:
    """Say what is not here, with the line that asks for it, and what to do."""
    assert facts.lacks is not None  # noqa: S101  for the type checker
    inner = facts.frames[-1] if facts.frames else None
    place = f" at {inner.file}:{inner.line}" if inner is not None else ""
    what = _what(facts.lacks)
    error = f"it needs {what}, so it was not made and not judged: {shown(facts.error)}{place}"
    return error, _fix(facts.lacks, built, job)


def as_the_job_is_started(variable: str) -> str:
    """Write how the launcher that sets a variable starts preflight on each rank."""
    by = _STARTS.get(launcher_of(variable) or "", "torchrun")
    return f"{by} … {'' if by == 'torchrun' else 'python '}-m preflight run …"


def _what(lack: Lack) -> str:
    name = shown(lack.name)
    if lack.kind == "stand-in":
        return f"{name}, for which the CPU stood in until it raised"
    if lack.kind == "package" and lack.folder:
        return f"the module {name}, which is not on the path"
    if lack.kind == "package" and lack.version:
        return f"another version of {name} than {shown(lack.version)}, which is here"
    if lack.kind == "package":
        return f"{name}, which is absent here or not the version that it was written for"
    if lack.kind == "library":
        return f"the shared library {name}, which is not here"
    if lack.kind == "arguments":
        return f"arguments of a command line ({name}), of which a factory is given none"
    if lack.kind == "network":
        return f"{name}, which cannot be reached from here"
    launcher = _STARTS.get(launcher_of(lack.name) or "")
    by = f"{launcher} sets and which " if lack.kind in ("launch", "group") and launcher else ""
    return f"{name}, which {by}is not here"


def _fix(lack: Lack, built: Built, job: Job) -> str:
    if lack.kind in ("gpu", "stand-in"):
        return on_the_cpu(lack, built.spec, built.kind)
    if lack.kind == "package" and lack.folder:
        return f"Add {shown(lack.folder)} to PYTHONPATH, as the job has it: {lack.name} lies there."
    if lack.kind == "package":
        by = (
            "" if job.python is not None else ", or name the interpreter of the job by --python EXE"
        )
        return f"Install {installable(lack)}, as the job has it, for {lack.python}{by}."
    always = always_helps(lack)
    if always is not None:
        return always
    if lack.kind == "file":
        return "Run preflight where it lies, or have some of it there on this machine, too."
    if lack.kind == "arguments":
        return (
            "Name what makes it of plain arguments, or the script itself, with its own arguments."
        )
    launcher = launcher_of(lack.name)
    if lack.kind == "launch" and launcher != "torchrun":
        by = _STARTS.get(launcher or "", "the launcher")
        return f"Set {lack.name} here as {by} sets it for the first rank."
    if job.launch.ranks > 1:
        return "Run preflight where the job runs, as one of its ranks."
    alone = _ONE_RANK.get(lack.name) if lack.kind == "launch" else None
    elsewhere = ("--elsewhere",) if job.launch.elsewhere else ()
    two = again(built, "--world-size", "2", *elsewhere)
    beside = "" if alone is None else f"; or, for one rank, set {lack.name}={alone} here"
    return (
        f"Say how many ranks the job has{beside}. Of two or more, preflight stands for the first, "
        f"with all that torchrun sets; of two:  {two}"
    )


def again(built: Built, *options: str) -> str:
    """Give the command that has it made again; what the settings give to it, a word does not."""
    is_bare = not (built.args or built.kwargs or built.pick)
    return command_for(*([built.spec] if is_bare else []), *options)


def on_the_cpu(lack: Lack, spec: str, kind: str | None = None) -> str:
    """Say how something is made without a GPU, or where it can be judged."""
    if not lack.takes_device:
        return (
            "Run preflight where the job runs, or let the factory take its device as an argument."
        )
    table = kind or ("loader" if "load" in spec.lower() else "model")
    return (
        "Have it made on the CPU here, by a line in preflight.toml:  "
        f'{table} = [{{ call = "{spec}", kwargs = {{ device = "cpu" }} }}]'
    )


def installable(lack: Lack) -> str:
    """Say what is to be installed where a module is not here."""
    top = lack.name.partition(".")[0]
    if not top.isidentifier() and not lack.version:
        return "what it asks for"
    named = _DISTRIBUTIONS.get(top, top)
    return f"the version of {named} that this line asks for" if lack.version else named


def always_helps(lack: Lack) -> str | None:
    """Say what to do for what is missed in the same way whatever is looked at."""
    return {
        "library": f"Install the package of this system that has {lack.name} (on Debian, apt-file "
        f"search {lack.name} names it), or run preflight where the job runs.",
        "variable": f"Set {lack.name} here as it is where the job starts.",
        "network": NETWORK,
    }.get(lack.kind)
