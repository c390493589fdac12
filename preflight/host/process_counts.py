"""Who says how many processes a job has: files of launchers and of trainers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from preflight.host.facts import NumberSaid
from preflight.settings.config_values import read_config
from preflight.values.names import name_of

_LARGEST = 1 << 18

# accelerate's `DistributedType`s of which each process takes a GPU of its own.
_ON_GPUS = frozenset({"MULTI_GPU", "DEEPSPEED", "FSDP", "MEGATRON_LM"})

ONE = ("NO", False)
"""Its type of which one process is started, whatever else the file says; as YAML has it, too."""

_TRAINERS = {"TRAINING_NUM_PROCESSES": "TRAINING_NUM_MACHINES", "NUM_PROCESSES": "NUM_MACHINES"}
"""What a trainer's file calls its processes, and the machines on which they are."""

_ASSIGNED = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?((?:TRAINING_)?NUM_\w+)=["']?(\d{1,9})["']?[ \t]*(?:#.*)?$""",
    re.MULTILINE,
)


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
    processes = positive(said.get("num_processes", 1 if kind in ONE else None))
    if processes is None or (kind == "MULTI_CPU" and not _by_mpirun(said)):
        return None  # who starts it has to say; without mpirun, accelerate starts one on CPUs
    ids = str(said.get("gpu_ids") or "all")
    return NumberSaid(
        file=name_of(os.path.join(root, path), root),
        name="num_processes",
        processes=processes,
        starts_one=kind in ONE,
        machines=positive(said.get("num_machines")) or 1,
        on_gpus=kind in _ON_GPUS and not said.get("use_cpu"),
        gpu_ids=() if ids == "all" else tuple(one.strip() for one in ids.split(",")),
    )


def _by_mpirun(said: Mapping[str, Any]) -> bool:
    mpirun = said.get("mpirun_config")
    return bool(mpirun.get("mpirun_hostfile") if isinstance(mpirun, dict) else mpirun)


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
        text = text_of(os.path.join(root, name))
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


def text_of(path: str) -> str:
    """Read a small text; empty: there is none."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return ""
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


def positive(said: Any) -> int | None:
    """Give a number of processes; None: it is none."""
    text = str(said)
    return int(text) if text.isascii() and text.isdigit() and int(text[:10]) > 0 else None
