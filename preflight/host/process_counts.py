"""Who says how many processes a job has: files of launchers and trainers, and launch scripts."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from preflight.host.facts import LaunchCommand, NumberSaid
from preflight.syntax.config_files import read_config
from preflight.values.names import name_of

# accelerate's `DistributedType`s of which each process takes a GPU of its own.
_ON_GPUS = frozenset({"MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM"})

_TRAINERS = {"TRAINING_NUM_PROCESSES": "TRAINING_NUM_MACHINES", "NUM_PROCESSES": "NUM_MACHINES"}
"""What a trainer's file calls its processes, and the machines on which they are."""

_ASSIGNED = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?((?:TRAINING_)?NUM_\w+)=["']?(\d{1,9})["']?[ \t]*(?:#.*)?$""",
    re.MULTILINE,
)

_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")

# Where they are if not beside the code.
_FOLDERS = frozenset({"bin", "jobs", "launch", "launchers", "run", "scripts", "slurm"})

_MOST_SCRIPTS = 50
_LARGEST = 1 << 18

_LAUNCHERS = re.compile(
    r"\b(?P<accelerate>accelerate[ \t]+launch|accelerate\.commands\.launch)\b"
    r"|\b(?P<torchrun>torchrun|torch\.distributed\.(?:run|launch))\b"
)
_NUMBER = re.compile(r"--(?:num[_-]processes|nproc[_-]per[_-]node)(?:[= \t]+)[\"']?([^\s\"']+)")
# Launchers that take a number by another name, and may start another launcher in each task.
_OUTER = re.compile(
    r"(?P<srun>\bsrun\b)|(?P<mpirun>\b(?:mpirun|mpiexec|horovodrun)\b)"
    r"|(?:^|[;&|(]|\bexec\b|\bnohup\b)[ \t]*(?P<deepspeed>deepspeed)(?=[ \t])"
)
_PYTHON = re.compile(r"\bpython[\d.]*\b|\.py\b")
_RUNS = re.compile(r"\.py\b|[ \t](?:-m|--module)[ \t]")
_OF_OUTER = {
    "srun": re.compile(r"(?:^|\s)(?:-n[ \t]*|--ntasks[= \t]+)([^\s\"']+)"),
    "mpirun": re.compile(r"(?:^|\s)(?:-np|-n|--np)[= \t]+([^\s\"']+)"),
    "deepspeed": re.compile(r"--num_gpus[= \t]+([^\s\"']+)"),
}
_OUTER_NODES = re.compile(r"--num_nodes[= \t]+([^\s\"']+)")
# What deepspeed goes by before it counts.
_BY_HOSTS = re.compile(r"--(?:hostfile|include|exclude)\b")
_ASKED_OF_SLURM = re.compile(r"^#SBATCH[ \t]+(?P<asked>[^#\n]*)", re.MULTILINE)
_TASKS_OF_EACH = re.compile(r"--ntasks-per-node[= \t]+(\d+)")
_MACHINES = re.compile(r"(?:^|\s)(?:-N[ \t]*|--nodes[= \t]+)(\d+)(?!\S)")
_NODES = re.compile(r"--nnodes(?:[= \t]+)[\"']?([^\s\"']+)")
_VARIABLE = re.compile(r"\$(?P<brace>\{)?(?P<name>\w+)(?(brace)(?::?-(?P<otherwise>[^}]*))?\})")
_GIVEN = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(?P<name>\w+)=["']?(?P<value>[^\s"';]*)""", re.MULTILINE
)
_CONFIG = re.compile(r"--config[_-]file(?:[= \t]+)[\"']?([^\s\"']+)")


def accelerate_config(
    environment: Mapping[str, str], root: str, *, home: bool
) -> NumberSaid | None:
    """Read what `accelerate config` has written, where `accelerate launch` looks for it.

    With `home`, the user's folder is where it lies if the environment says nothing else.
    """
    path = _place(environment, home=home)
    said = path and read_config(os.path.join(root, path))
    if not path or not isinstance(said, dict):
        return None
    if said.get("compute_environment", "LOCAL_MACHINE") != "LOCAL_MACHINE":
        return None
    kind = said.get("distributed_type")
    processes = _positive(said.get("num_processes", 1 if kind == "NO" else None))
    if processes is None:
        return None  # who starts it has to say
    ids = str(said.get("gpu_ids") or "all")
    return NumberSaid(
        file=name_of(os.path.join(root, path), root),
        name="num_processes",
        processes=processes,
        machines=_positive(said.get("num_machines")) or 1,
        on_gpus=kind in _ON_GPUS and not said.get("use_cpu"),
        gpu_ids=() if ids == "all" else tuple(one.strip() for one in ids.split(",")),
    )


def _place(environment: Mapping[str, str], *, home: bool) -> str | None:
    """Say where the file is, by accelerate's rule; SimpleTuner has a variable that comes first."""
    named = environment.get("ACCELERATE_CONFIG_PATH")
    if named:
        return os.path.expanduser(named)
    hugging_face = environment.get("HF_HOME")
    if not hugging_face:
        caches = environment.get("XDG_CACHE_HOME") or ("~/.cache" if home else None)
        hugging_face = caches and f"{caches}/huggingface"
    if not hugging_face:
        return None
    return os.path.join(os.path.expanduser(hugging_face), "accelerate", "default_config.yaml")


def of_trainer(environment: Mapping[str, str], root: str) -> NumberSaid | None:
    """Read the number out of the variables of a trainer: config/config.env, as of SimpleTuner."""
    env = environment.get("ENV")
    places = [f"config/{env}/config.env"] if env and env != "default" else []
    for name in (*places, "config/config.env", "config.env"):
        text = _text(os.path.join(root, name))
        given = {key: int(value) for key, value in _ASSIGNED.findall(text)}
        for processes, machines in _TRAINERS.items():
            if given.get(processes):
                return NumberSaid(
                    file=name,
                    name=processes,
                    processes=given[processes],
                    machines=given.get(machines) or 1,
                )
    return None


def launch_commands(root: str, environment: Mapping[str, str]) -> Iterator[LaunchCommand]:
    """Find the launchers that the shell scripts in the job's folder call; or those in `scripts/`.

    Beside scripts of the folder itself, those below it may be of something else.
    """
    here = [*_of_folder(root, "", environment)]
    yield from here
    for folder in [] if here else [one for one in _listed(root) if one.lower() in _FOLDERS]:
        yield from _of_folder(root, f"{folder}/", environment)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _of_folder(root: str, below: str, environment: Mapping[str, str]) -> Iterator[LaunchCommand]:
    names = [one for one in _listed(os.path.join(root, below)) if one.endswith(_SCRIPTS)]
    for name in (f"{below}{one}" for one in names[:_MOST_SCRIPTS]):
        text = _text(os.path.join(root, name))
        for line, command in _commands(text):
            found = _LAUNCHERS.search(command)
            outer = _OUTER.search(command) if found is None and _PYTHON.search(command) else None
            if outer is not None:
                yield _by_outer(name, line, outer.lastgroup or "", command, text, environment)
            if found is not None:
                number, config = _NUMBER.search(command), _CONFIG.search(command)
                one = LaunchCommand(
                    file=name,
                    line=line,
                    launcher="accelerate" if found["accelerate"] else "torchrun",
                    number=number and number[1],
                    config=config and config[1],
                )
                nodes = _NODES.search(command)
                put = functools.partial(_put, text, environment)
                plain = replace(
                    one, number=put(one.number) or _by_itself(one, command, environment)
                )
                started = _started_by(plain, put(nodes and nodes[1]), root)
                yield replace(one, processes=started)


def _by_itself(one: LaunchCommand, command: str, environment: Mapping[str, str]) -> str | None:
    """Give the number that torchrun takes where it is told none, be it by a variable."""
    is_told = "$" in command or "PET_NPROC_PER_NODE" in environment
    is_counted = one.launcher == "torchrun" and one.number is None and not is_told
    return "1" if is_counted and _RUNS.search(command) else None


def _by_outer(
    name: str, line: int, launcher: str, command: str, text: str, environment: Mapping[str, str]
) -> LaunchCommand:
    """Say what srun, mpirun or deepspeed starts; srun also by what is asked of Slurm above it."""
    put = functools.partial(_put, text, environment)
    command = _PYTHON.split(command, maxsplit=1)[0]
    found, nodes = _OF_OUTER[launcher].search(command), _OUTER_NODES.search(command)
    number = found and found[1]
    processes = _positive(put(number))
    if launcher == "deepspeed":
        machines = _positive(put(nodes[1]) if nodes else 1)
        is_counted = not _BY_HOSTS.search(command)
        processes = processes and machines and processes * machines if is_counted else None
    if launcher == "srun" and number is None:
        asked = "\n".join(one["asked"] for one in _ASKED_OF_SLURM.finditer(text))
        processes = _tasks(f"{command}\n{asked}")
    return LaunchCommand(
        file=name, line=line, launcher=launcher, number=number, processes=processes
    )


def _tasks(asked: str) -> int | None:
    """Count the tasks that are asked of Slurm; None: by something else."""
    whole, each, machines = (
        one.search(asked) for one in (_OF_OUTER["srun"], _TASKS_OF_EACH, _MACHINES)
    )
    if whole is not None:
        return _positive(whole[1])
    return int(each[1]) * int(machines[1]) if each and machines else None


def _put(text: str, environment: Mapping[str, str], said: str | None) -> str | None:
    """Put the number of a variable in its place, as the script gives it or its environment.

    `$GPUS`, `${GPUS}`, `${GPUS:-8}`; where the script gives it several, it is none of them.
    """
    found = _VARIABLE.fullmatch(said or "")
    if found is None:
        return said
    name = found["name"]
    given = {one["value"] for one in _GIVEN.finditer(text) if one["name"] == name}
    if len(given) > 1:
        return said
    inner = _VARIABLE.fullmatch(next(iter(given), ""))
    if given and (inner is None or inner["name"] != name):
        return given.pop()
    return environment.get(name) or (inner or found)["otherwise"] or said


def _started_by(one: LaunchCommand, nodes: str | None, root: str) -> int | None:
    """Say how many processes a command starts in all; None: it does not say so in numbers."""
    if one.launcher == "torchrun":
        each, machines = _positive(one.number), _positive(nodes or 1)
        return each and machines and each * machines
    if one.number is None and one.config is not None:
        said = read_config(os.path.join(root, one.config))
        return _positive(said.get("num_processes")) if isinstance(said, dict) else None
    return _positive(one.number)


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Give each command of a script with its line; one may go over several."""
    begun, whole = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        begun = begun if whole else number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        if not (whole + line).lstrip().startswith(("#", "echo ")):
            yield begun, whole + line
        whole = ""


def _text(path: str) -> str:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return ""
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


def _positive(said: Any) -> int | None:
    text = str(said)
    return int(text) if text.isascii() and text.isdigit() and int(text[:10]) > 0 else None
