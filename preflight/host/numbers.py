"""Who says how many processes a job has: files of launchers and trainers, and launch scripts."""

from __future__ import annotations

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

_TRAINER = "TRAINING_NUM_PROCESSES"
_ASSIGNED = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?(TRAINING_NUM_\w+)=["']?(\d{1,9})["']?[ \t]*(?:#.*)?$""",
    re.MULTILINE,
)

_SCRIPTS = (".sh", ".bash", ".sbatch", ".slurm")
_MOST_SCRIPTS = 50
_LARGEST = 1 << 18

_LAUNCHERS = re.compile(
    r"\b(?P<accelerate>accelerate[ \t]+launch|accelerate\.commands\.launch)\b"
    r"|\b(?P<torchrun>torchrun|torch\.distributed\.(?:run|launch))\b"
)
_NUMBER = re.compile(r"--(?:num[_-]processes|nproc[_-]per[_-]node)(?:[= \t]+)[\"']?([^\s\"']+)")
_NODES = re.compile(r"--nnodes(?:[= \t]+)[\"']?([^\s\"']+)")
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
    """Read the number out of the variables of a trainer: SimpleTuner's config/config.env."""
    env = environment.get("ENV")
    places = [f"config/{env}/config.env"] if env and env != "default" else []
    for name in (*places, "config/config.env", "config.env"):
        text = _text(os.path.join(root, name))
        given = {key: int(value) for key, value in _ASSIGNED.findall(text)}
        if given.get(_TRAINER):
            return NumberSaid(
                file=name,
                name=_TRAINER,
                processes=given[_TRAINER],
                machines=given.get("TRAINING_NUM_MACHINES") or 1,
            )
    return None


def launch_commands(root: str) -> Iterator[LaunchCommand]:
    """Find the launchers that the shell scripts in the job's folder call."""
    try:
        names = sorted(one for one in os.listdir(root) if one.endswith(_SCRIPTS))
    except OSError:
        return
    for name in names[:_MOST_SCRIPTS]:
        for line, command in _commands(_text(os.path.join(root, name))):
            found = _LAUNCHERS.search(command)
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
                yield replace(one, processes=_started_by(one, nodes and nodes[1], root))


def _started_by(one: LaunchCommand, nodes: str | None, root: str) -> int | None:
    """Say how many processes a command starts in all; None: it does not say so in plain numbers."""
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
