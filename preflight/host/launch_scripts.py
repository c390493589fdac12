"""Which launchers the scripts of a job call, and how many processes these start."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from preflight.host.facts import LaunchCommand
from preflight.host.process_counts import ONE, positive, text_of
from preflight.settings.config_values import read_config

_SCRIPT = re.compile(
    r".+\.(?:sh|bash|sbatch|slurm|dockerfile)|(?:GNU)?Makefile|Dockerfile(?:\..+)?", re.IGNORECASE
)

# Where they are if not beside the code.
_FOLDERS = frozenset({"bin", "jobs", "launch", "launchers", "run", "scripts", "slurm"})

_MOST_SCRIPTS = 50

_LAUNCHERS = re.compile(
    r"\b(?P<accelerate>accelerate[ \t]+launch|accelerate\.commands\.launch)\b"
    r"|\b(?P<torchrun>torchrun|torch\.distributed\.(?:run|launch))\b"
)
_NUMBER = re.compile(r"--(?:num[_-]processes|nproc[_-]per[_-]node)(?:[= \t]+)[\"']?([^\s\"']+)")
# Launchers that take a number by another name, and may start another launcher in each task.
_OUTER = re.compile(
    r"(?P<srun>\bsrun\b)|(?P<mpirun>\b(?:mpirun|mpiexec|horovodrun)\b)"
    r"|(?:^|[;&|(@]|\b(?:exec|nohup|CMD|ENTRYPOINT|RUN)\b)[ \t]*(?:\w+=\S*[ \t]+)*"
    r"(?P<deepspeed>deepspeed)(?=[ \t])"
)
_PYTHON = re.compile(r"\bpython[\d.]*\b|\.py\b")
_RUNS = re.compile(r"\.py\b|[ \t](?:-m|--module)[ \t]")
_OF_OUTER = {
    "srun": re.compile(r"(?:^|\s)(?:-n[ \t]*|--ntasks[= \t]+)([^\s\"']+)"),
    "mpirun": re.compile(r"(?:^|\s)(?:-np|-n|--np)[= \t]+([^\s\"']+)"),
    "deepspeed": re.compile(r"--num_gpus[= \t]+([^\s\"']+)"),
}
_OUTER_NODES = re.compile(r"--num_nodes[= \t]+([^\s\"']+)")
# What deepspeed goes by before it counts: `localhost:0,1@other`, a file of `host slots=8`.
_BY_HOSTS = re.compile(
    r"(?:^|\s)--?(?P<by>hostfile|H|include|i|exclude|e)[= \t]+[\"']?(?P<hosts>[^\s\"']+)"
)
_HOST = re.compile(r"^(?P<host>[^\s#]+)[ \t]+slots=(?P<slots>\d+)", re.MULTILINE)
_ASKED_OF_SLURM = re.compile(r"^#SBATCH[ \t]+(?P<asked>[^#\n]*)", re.MULTILINE)
_HEAD = re.compile(r"(?:[ \t]*(?:#.*)?\n)*")
_TASKS_OF_EACH = re.compile(r"--ntasks-per-node[= \t]+(\d+)")
_MACHINES = re.compile(r"(?:^|\s)(?:-N[ \t]*|--nodes[= \t]+)(\d+)(?!\S)")
_NODES = re.compile(r"--(?:nnodes|num[_-]machines)(?:[= \t]+)[\"']?([^\s\"']+)")
_VARIABLE = re.compile(
    r"\$\$?(?P<brace>[{(])?(?P<name>\w+)(?(brace)(?::?-(?P<otherwise>[^}]*))?[})])"
)
# As a shell, make or a Dockerfile gives it.
_GIVEN = re.compile(
    r"^[ \t]*(?P<all>(?:export|ENV|ARG)[ \t]+)?(?P<name>\w+)(?:[ \t]*[:?]?=[ \t]*|[ \t]+(?=\d))"
    r"""["']?(?P<value>[^\s"';]*)""",
    re.MULTILINE,
)
_SHOWN = re.compile(r"""\bCUDA_VISIBLE_DEVICES=["']?([^\s"';]*)|--gpu[_-]ids[= \t]+["']?([\d,]+)""")
_ON_CPU = re.compile(r"--(?:use[_-])?cpu\b")
_SEVERAL = re.compile(r"--(?:multi[_-]gpu|tpu|use[_-](?:deepspeed|fsdp|megatron[_-]lm))\b")
_EXEC_FORM = re.compile(r"[ \t]*(?:CMD|ENTRYPOINT|RUN)[ \t]+(\[.*\])[ \t]*")
_CONFIG = re.compile(r"--config[_-]file(?:[= \t]+)[\"']?([^\s\"']+)")


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
    names = [one for one in _listed(os.path.join(root, below)) if _SCRIPT.fullmatch(one)]
    for name in (f"{below}{one}" for one in names[:_MOST_SCRIPTS]):
        script = _Script(root, text_of(os.path.join(root, name)), environment)
        for line, command in _commands(script.text):
            found = _LAUNCHERS.search(command)
            outer = _OUTER.search(command) if found is None and _PYTHON.search(command) else None
            if outer is not None:
                yield script.by_outer(outer.lastgroup or "", command, name, line)
            if found is not None:
                yield script.by_launcher(found.lastgroup or "", command, name, line)


class _Script(NamedTuple):
    """A script, and what its variables are."""

    root: str
    text: str
    environment: Mapping[str, str]

    def by_launcher(self, launcher: str, command: str, file: str, line: int) -> LaunchCommand:
        """Say what torchrun or accelerate starts."""
        number, config, nodes = (one.search(command) for one in (_NUMBER, _CONFIG, _NODES))
        one = LaunchCommand(
            file=file,
            line=line,
            launcher=launcher,
            number=number and number[1],
            config=config and config[1],
            starts_several=_SEVERAL.search(command) is not None,
        )
        shown = self._shown(command)
        plain = self._put(one.number) or self._by_itself(one, command)
        if shown and plain == "gpu":
            plain = str(shown)
        config_says = _read(self.root, one.config) if one.config else {}
        if config_says.get("distributed_type") in ONE and not one.starts_several:
            plain = "1"
        said = config_says if plain is None else {}
        machines = positive(self._put(nodes[1]) if nodes else said.get("num_machines", 1))
        whole = each = positive(said.get("num_processes", plain))
        if launcher == "torchrun":
            whole = each and machines and each * machines
        elif whole and machines:
            each = -(-whole // machines)
        is_on_cpu = _ON_CPU.search(command) or said.get("use_cpu")
        return replace(one, processes=whole, each=each, gpus=None if is_on_cpu else shown)

    def _put(self, said: str | None) -> str | None:
        """Put the number of a variable in its place, as the script gives it or its environment.

        `$GPUS`, `${GPUS}`, `${GPUS:-8}`; where the script gives it several, it is none of them.
        """
        found = _VARIABLE.fullmatch(said or "")
        if found is None:
            return said
        name = found["name"]
        given = {one["value"] for one in _GIVEN.finditer(self.text) if one["name"] == name}
        if len(given) > 1:
            return said
        inner = _VARIABLE.fullmatch(next(iter(given), ""))
        if given and (inner is None or inner["name"] != name):
            return given.pop()
        return self.environment.get(name) or (inner or found)["otherwise"] or said

    def _by_itself(self, one: LaunchCommand, command: str) -> str | None:
        """Give the number that torchrun takes where it is told none, be it by a variable."""
        is_told = "$" in command or "PET_NPROC_PER_NODE" in self.environment
        is_counted = one.launcher == "torchrun" and one.number is None and not is_told
        return "1" if is_counted and _RUNS.search(command) else None

    def _shown(self, command: str) -> int | None:
        """Count the GPUs that a command shows its processes; None: it does not say."""
        found = _SHOWN.search(command)
        said = found and (found[2] or found[1])
        if found is None:
            exported = {
                one["value"]
                for one in _GIVEN.finditer(self.text)
                if one["all"] and one["name"] == "CUDA_VISIBLE_DEVICES"
            }
            said = exported.pop() if len(exported) == 1 else None
        ids = [*filter(None, (self._put(said) or "").split(","))]
        return len(ids) if ids and "$" not in "".join(ids) and "-1" not in ids else None

    def by_outer(self, launcher: str, command: str, file: str, line: int) -> LaunchCommand:
        """Say what srun, mpirun or deepspeed starts; srun also by what is asked of Slurm above."""
        command, whole = _PYTHON.split(command, maxsplit=1)[0], command
        found = _OF_OUTER[launcher].search(command)
        number = found and found[1]
        processes = positive(self._put(number))
        if launcher == "deepspeed":
            processes = self._of_hosts(command, processes)
            if number is None and not _BY_HOSTS.search(command):
                processes = self._shown(whole)
        if launcher == "srun" and number is None:
            processes = _tasks(command, self.text)
        return LaunchCommand(
            file=file, line=line, launcher=launcher, number=number, processes=processes
        )

    def _of_hosts(self, command: str, each: int | None) -> int | None:
        """Count what deepspeed starts on its hosts: it takes GPUs by number, or by these."""
        nodes = _OUTER_NODES.search(command)
        machines = positive(self._put(nodes[1])) if nodes else None
        by = {one["by"][0].lower(): one["hosts"] for one in _BY_HOSTS.finditer(command)}
        if not by:
            return each and (machines or (None if nodes else 1)) and each * (machines or 1)
        listed = text_of(os.path.join(self.root, by.get("h", ""))) if "h" in by else ""
        slots = {one["host"]: int(one["slots"]) for one in _HOST.finditer(listed)}
        if "i" in by:
            counts = [_slots(one, slots) for one in by["i"].split("@")]
            is_other = each or machines or None in counts
            return None if is_other else sum(filter(None, counts))
        if not slots or each or machines:
            hosts = len(slots) if machines is None else machines
            return each * hosts if each and slots else None
        less = [_slots(one, slots) or 0 for one in by.get("e", "").split("@")]
        return sum(slots.values()) - sum(less) or None


def _slots(said: str, slots: Mapping[str, int]) -> int | None:
    """Count the GPUs of a host, as `worker:0,1` or `worker` names them."""
    host, colon, ids = said.partition(":")
    return len(ids.split(",")) if colon else slots.get(host)


def _tasks(command: str, text: str) -> int | None:
    """Count the tasks that are asked of Slurm; None: by something else.

    What stands below the first command of a script, Slurm does not read; the last word counts.
    """
    asked = [one["asked"] for one in _ASKED_OF_SLURM.finditer(_HEAD.match(text)[0])]  # type: ignore[index]
    plain = " ".join([command, *reversed(asked)])
    whole, each, machines = (
        one.search(plain) for one in (_OF_OUTER["srun"], _TASKS_OF_EACH, _MACHINES)
    )
    if whole is not None:
        return positive(whole[1])
    return int(each[1]) * int(machines[1]) if each and machines else None


def _read(root: str, config: str) -> Mapping[str, Any]:
    said = read_config(os.path.join(root, config))
    return said if isinstance(said, dict) else {}


def _commands(text: str) -> Iterator[tuple[int, str]]:
    """Give each command of a script with its line; one may go over several."""
    begun, whole = 1, ""
    for number, line in enumerate(text.splitlines(), 1):
        begun = begun if whole else number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        whole += line
        if not whole.lstrip().startswith(("#", "echo ")):
            listed = _EXEC_FORM.fullmatch(whole)
            yield begun, " ".join(re.findall(r'"([^"]*)"', listed[1])) if listed else whole
        whole = ""
