"""world-size tells whose number of processes is taken, and leaves one number, or none, alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from preflight.facts import Gpu, Gpus, HostFacts, LaunchCommand, NumberSaid
from preflight.finding import Finding, Severity
from preflight.job import Job, Launch
from preflight.testing import ask
from tests.asking import reason
from tests.hosts import host

PORT = ("--main_process_port", "0")  # any that is free
NO_GPUS = Gpus(state="no-driver", detail="NVML Shared Library Not Found")
FILE = "/home/u/.cache/huggingface/accelerate/default_config.yaml"
OTHER_FILE = LaunchCommand(file="run.sh", line=1, launcher="accelerate", config="ds.yaml")
PLAIN = LaunchCommand(file="run.sh", line=1, launcher="accelerate")
NUMBERED = LaunchCommand(file="run.sh", line=1, launcher="accelerate", number="$GPUS")
TORCHRUN = LaunchCommand(file="run.sh", line=1, launcher="torchrun", number="8")
SBATCH = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NNODES": "2"}


def some(number: int) -> Gpus:
    """Make this many GPUs, all of them seen."""
    seen = tuple(Gpu(index=index, cuda=index) for index in range(number))
    return Gpus(state="ok", gpus=seen)


def file_of(processes: int, **change: Any) -> NumberSaid:
    """Make what `accelerate config` writes."""
    said: dict[str, Any] = {"file": FILE, "name": "num_processes", "on_gpus": True, **change}
    return NumberSaid(processes=processes, **said)


def trainer(processes: int, machines: int = 1) -> NumberSaid:
    """Make config/config.env of SimpleTuner."""
    name = "TRAINING_NUM_PROCESSES"
    return NumberSaid(file="config/config.env", name=name, processes=processes, machines=machines)


def machine(gpus: int = 0, *commands: LaunchCommand, **told: Any) -> HostFacts:
    """Make a machine, and what files on it say."""
    environment = told.pop("environment", {})
    known = host(some(gpus) if gpus else NO_GPUS, environment)
    return replace(known, commands=commands, **told)


def job(**launch: Any) -> Job:
    """Make a job, with its settings in preflight.toml."""
    origins = {f"launch.{key}": f"preflight.toml:{line}" for line, key in enumerate(launch, 2)}
    return Job(launch=Launch(**launch), origins=origins)


def look(facts: HostFacts, of: Job | None = None) -> list[Finding]:
    """Ask the check."""
    return ask("world-size", facts, of or Job())


HEALTHY: dict[str, tuple[HostFacts, Job]] = {
    "nothing is said": (machine(), Job()),
    "a machine of GPUs and nothing said": (machine(8), Job()),
    "accelerate's file alone": (machine(4, accelerate=file_of(4)), Job()),
    "the file and the settings agree": (machine(4, accelerate=file_of(4)), job(world_size=4)),
    "all three agree": (machine(4, accelerate=file_of(4), trainer=trainer(4)), job(gpus=4)),
    "fewer processes than GPUs": (machine(8, PLAIN, accelerate=file_of(2)), Job()),
    "two machines of four": (
        machine(4, PLAIN, accelerate=file_of(8, machines=2)),
        job(nodes=2, gpus=4),
    ),
    "the file is for the CPU": (machine(1, PLAIN, accelerate=file_of(4, on_gpus=False)), Job()),
    "CI without a GPU": (machine(0, PLAIN, accelerate=file_of(4)), job(world_size=4)),
    "CI that judges eight ranks": (machine(), job(world_size=8)),
    "a script that says the number itself": (
        machine(2, NUMBERED, accelerate=file_of(4)),
        job(world_size=2),
    ),
    "a script with another file": (machine(2, OTHER_FILE, accelerate=file_of(4)), job(gpus=2)),
    "torchrun alone, and the file of another project": (
        machine(8, TORCHRUN, accelerate=file_of(1, on_gpus=False)),
        job(world_size=8),
    ),
    "a rank of torchrun": (
        machine(
            8,
            accelerate=file_of(2),
            environment={"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "8"},
        ),
        job(world_size=8),
    ),
    "machines that nobody has counted": (machine(4), job(world_size=16, gpus=4)),
    "a node of a job of several": (machine(4), job(world_size=16)),
    "one rank that has several GPUs": (machine(8), job(world_size=1, gpus=8)),
    "fewer GPUs than asked for, which gpu-count tells": (machine(4), job(world_size=8, gpus=8)),
    "srun with a task for each rank": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS": "8"}),
        job(world_size=8, nodes=2),
    ),
    "sbatch with one task a machine, for torchrun": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS": "2"}),
        job(world_size=8, nodes=2),
    ),
    "a shell of salloc": (
        machine(4, environment={"SLURM_NTASKS": "4", "SLURM_NNODES": "1"}),
        job(world_size=2),
    ),
    "one process in a larger Slurm job": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS": "4"}),
        job(world_size=1),
    ),
    "Slurm, and nobody says a number": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS": "4"}),
        Job(),
    ),
    "sbatch with so many tasks a machine": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS_PER_NODE": "4"}),
        job(world_size=8, nodes=2),
    ),
    "sbatch with one task a machine, said so": (
        machine(4, environment=SBATCH | {"SLURM_NTASKS_PER_NODE": "1"}),
        job(world_size=8, nodes=2),
    ),
    "a variable that says as much": (
        machine(8, environment={"NUM_PROCESSES": "8"}),
        job(world_size=8),
    ),
    "a variable, and nobody says a number": (
        machine(8, environment={"NUM_PROCESSES": "4"}),
        Job(),
    ),
    "a script that says the number, and a variable of something else": (
        machine(8, replace(TORCHRUN, processes=8), environment={"NUM_PROCESSES": "4"}),
        job(world_size=8),
    ),
    "torchrun's variable with words": (
        machine(4, environment={"PET_NPROC_PER_NODE": "gpu", "PET_NNODES": "1:2"}),
        job(world_size=8, nodes=2),
    ),
    "torchrun's variable, and a script that starts accelerate": (
        machine(4, NUMBERED, environment={"PET_NPROC_PER_NODE": "4"}),
        job(world_size=8, nodes=2),
    ),
    "as many machines as come": (
        machine(4, environment={"PET_NPROC_PER_NODE": "4", "PET_NNODES": "1:2"}),
        job(world_size=8, nodes=2),
    ),
    "scripts for one GPU, and for all": (
        machine(8, replace(TORCHRUN, processes=8), replace(TORCHRUN, processes=1)),
        job(world_size=8),
    ),
    "scripts of which one has its number from elsewhere": (
        machine(8, replace(TORCHRUN, processes=4), NUMBERED),
        job(world_size=8),
    ),
    "torchrun's variables on two machines": (
        machine(4, environment={"PET_NPROC_PER_NODE": "4", "PET_NNODES": "2"}),
        job(gpus=4, nodes=2),
    ),
}


def test_a_script_that_hides_gpus_from_its_processes_is_told() -> None:
    script = replace(TORCHRUN, number="4", processes=8, each=4)
    (one,) = look(machine(0, replace(script, gpus=2)))

    assert one.message == "starts 4 processes on a machine by torchrun, and shows them 2 GPUs"
    assert one.severity.word == "warning"
    assert look(machine(0, replace(script, gpus=4))) == []


@pytest.mark.parametrize("name", HEALTHY)
def test_what_agrees_or_is_not_taken_is_left_alone(name: str) -> None:
    assert look(*HEALTHY[name]) == []


def test_accelerates_file_comes_before_the_variables_of_simple_tuner() -> None:
    (one,) = look(machine(8, accelerate=file_of(2), trainer=trainer(8)), job(gpus=8))

    assert one.severity is Severity.WARNING
    assert one.at.file == FILE
    assert one.message == (
        "says num_processes = 2, and so many are started; TRAINING_NUM_PROCESSES says 8, "
        "and is passed over"
    )
    assert [(row.count, row.text) for row in one.rows] == [
        (2, "num_processes (accelerate launch): taken"),
        (8, "TRAINING_NUM_PROCESSES (SimpleTuner): passed over"),
        (8, "gpus (preflight.toml:2): passed over"),
    ]


def test_the_variable_in_the_environment_is_passed_over_as_well() -> None:
    environment = {"TRAINING_NUM_PROCESSES": "8"}

    (one,) = look(machine(8, accelerate=file_of(2), environment=environment))

    assert "TRAINING_NUM_PROCESSES says 8, and is passed over" in one.message


@pytest.mark.parametrize(
    ("size", "fix"),
    [
        (8, "Say 8 for NUM_PROCESSES, too, or leave it out."),
        (2, "Say 2 there, too, or on the command line of the launcher."),
    ],
)
def test_the_number_that_the_settings_say_is_advised(size: int, fix: str) -> None:
    """And not that of a variable which alone says another one."""
    facts = machine(8, accelerate=file_of(8), environment={"NUM_PROCESSES": "4"})

    (one,) = look(facts, job(world_size=size))

    assert one.fix == fix


def test_a_script_that_hands_the_variable_over_is_taken_by_it() -> None:
    """As SimpleTuner's train.sh does, up to its version 1."""
    facts = machine(8, NUMBERED, accelerate=file_of(2), trainer=trainer(8))

    assert look(facts, job(gpus=8)) == []


def test_slurm_starts_so_many_tasks_on_each_machine() -> None:
    facts = machine(4, environment=SBATCH | {"SLURM_NTASKS_PER_NODE": "2"})

    (one,) = look(facts, job(world_size=8, nodes=2))

    assert one.at.name == "SLURM_NTASKS_PER_NODE x SLURM_NNODES"
    assert one.message.startswith("is 4: srun starts so many, and world_size says 8 ranks")


def test_a_variable_that_no_launcher_reads_is_a_note() -> None:
    """Where a script hands it over, it is the script that says so."""
    environment = {"NUM_PROCESSES": "4"}

    (one,) = look(machine(8, environment=environment), job(world_size=8))
    (other,) = look(machine(8, PLAIN, accelerate=file_of(8), environment=environment))

    assert (one.at.name, one.severity) == ("NUM_PROCESSES", Severity.NOTE)
    assert one.message.startswith("is 4, and world_size says 8")
    assert "NUM_PROCESSES says 4, and is passed over" in other.message


@pytest.mark.parametrize(("commands", "severity"), [((PLAIN,), "warning"), ((), "note")])
def test_a_file_that_nobody_is_known_to_take_is_a_note(
    commands: tuple[LaunchCommand, ...], severity: str
) -> None:
    (one,) = look(machine(8, *commands, accelerate=file_of(2)), job(world_size=8))

    assert one.severity.word == severity
    assert (one.workaround is not None) == (severity == "note")


def test_the_number_of_a_trainer_is_held_against_the_settings() -> None:
    (one,) = look(machine(8, trainer=trainer(1)), job(world_size=8))

    assert one.severity is Severity.WARNING
    assert one.at.file == "config/config.env"
    assert "says TRAINING_NUM_PROCESSES = 1" in one.message


def test_what_torchrun_takes_from_the_environment_is_held_against_the_settings() -> None:
    facts = machine(8, environment={"PET_NPROC_PER_NODE": "4"})

    (one,) = look(facts, job(gpus=8))

    assert (one.at.name, one.severity) == ("PET_NPROC_PER_NODE", Severity.WARNING)
    assert one.message.startswith("is 4, and so many are started; gpus says 8")


def test_a_script_that_starts_another_number_is_a_note() -> None:
    """There may be other scripts, of which nobody knows."""
    facts = machine(8, replace(TORCHRUN, processes=4))

    (one,) = look(facts, job(gpus=8))

    assert (one.at.file, one.at.line, one.severity) == ("run.sh", 1, Severity.NOTE)
    assert one.message == "starts 4 processes by torchrun; gpus says 8, and is passed over"
    assert look(facts, job(gpus=4)) == []


def test_slurm_starts_another_number_of_tasks() -> None:
    facts = machine(4, environment=SBATCH | {"SLURM_NTASKS": "4"})

    (one,) = look(facts, job(world_size=8, nodes=2))

    assert (one.at.name, one.severity) == ("SLURM_NTASKS", Severity.WARNING)
    assert "srun starts so many, and world_size says 8 ranks" in one.message


@pytest.mark.parametrize(
    ("facts", "severity"),
    [
        (machine(2, PLAIN, accelerate=file_of(4)), "error"),
        (machine(8, PLAIN, accelerate=file_of(4, gpu_ids=("0", "1"))), "error"),
        (machine(2, accelerate=file_of(4)), "note"),
        (machine(2, trainer=trainer(4)), "error"),
        (machine(1, trainer=trainer(4)), "warning"),
        (machine(2, environment={"PET_NPROC_PER_NODE": "4"}), "warning"),
    ],
)
def test_more_processes_than_gpus_stop(facts: HostFacts, severity: str) -> None:
    """An error only where accelerate is known to start one on each."""
    (one,) = look(facts)

    assert one.severity.word == severity
    assert "4 processes on this machine" in one.message


@pytest.mark.parametrize(
    ("launch", "severity"),
    [
        ({"world_size": 8, "gpus": 4, "nodes": 1}, "error"),
        ({"world_size": 8, "nodes": 1}, "warning"),
        ({"world_size": 7, "gpus": 4}, "warning"),
        ({"world_size": 6}, "warning"),
    ],
)
def test_more_ranks_than_gpus_are_sure_to_stop_only_where_all_was_said(
    launch: dict[str, int], severity: str
) -> None:
    (one,) = look(machine(4), job(**launch))

    assert one.severity.word == severity
    ranks = launch["world_size"]
    assert one.message == (
        f"world_size is {ranks}: {ranks} ranks on each machine (nodes = 1), for 4 GPUs"
    )
    assert (one.at.file, one.fix) == ("preflight.toml", "Say nodes = 2, or 4 ranks.")


def test_a_job_that_runs_elsewhere_is_not_judged_here() -> None:
    there = Job(launch=Launch(world_size=8, elsewhere=True))

    assert look(machine(4), there) == []
    assert reason("world-size", machine(4), there) == "the job will run on another machine"


CONFIG = "compute_environment: LOCAL_MACHINE\ndistributed_type: {kind}\nnum_processes: {number}\n"


@pytest.mark.parametrize(
    "flags",
    [[], ["--num_processes", "3"], ["--multi_gpu"], ["--multi_gpu", "--num_processes", "3"]],
)
@pytest.mark.parametrize("kind", ["MULTI_GPU", "FSDP", "'NO'"])
def test_accelerate_itself_takes_the_same_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, flags: list[str]
) -> None:
    """Its own parser, with such a file in its place, for the job's script."""
    launch = pytest.importorskip("accelerate.commands.launch")
    config_args = pytest.importorskip("accelerate.commands.config.config_args")
    from preflight.host.launch_scripts import launch_commands
    from preflight.host.process_counts import accelerate_config

    path = tmp_path / "accelerate" / "default_config.yaml"
    path.parent.mkdir()
    path.write_text(CONFIG.format(kind=kind, number=2), "utf-8")
    for module in (launch, config_args):
        monkeypatch.setattr(module, "default_config_file", str(path))
    (tmp_path / "run.sh").write_text(f"accelerate launch {' '.join(flags)} train.py\n", "utf-8")

    args = launch.launch_command_parser().parse_args([*flags, "train.py"])
    launch._validate_launch_command(args)
    said = accelerate_config({"HF_HOME": str(tmp_path)}, str(tmp_path), home=False)
    facts = machine(0, *launch_commands(str(tmp_path), {}), accelerate=said)
    told = look(facts, job(world_size=7))

    several = args.multi_gpu or args.use_fsdp
    assert said is not None
    if not flags:
        assert said.on_gpus == several
    taken = [one.evidence["taken"] for one in told if "said" in one.evidence]
    assert taken == [args.num_processes if several else 1]
    ignored = [one.evidence["asked"] for one in told if "asked" in one.evidence]
    assert ignored == ([] if several or not flags else [args.num_processes])


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (2, "says num_processes = 2 and distributed_type = NO, and 1 process is started"),
        (1, "says distributed_type = NO, and 1 process is started"),
    ],
)
def test_a_type_that_starts_one_is_named_with_the_number_that_it_passes_over(
    written: int, said: str
) -> None:
    alone = replace(file_of(written), on_gpus=False, starts_one=True)

    (told,) = look(machine(0, accelerate=alone), job(world_size=4))
    assert told.message == f"{said}; world_size says 4, and is passed over"
    assert "accelerate launch --multi_gpu --num_processes 4" in (told.fix or "")
    assert look(machine(0, accelerate=alone), job(world_size=1)) == []


def test_a_command_that_names_a_file_of_its_own_goes_by_that_one(tmp_path: Path) -> None:
    from preflight.host.launch_scripts import launch_commands

    alone = replace(file_of(2), on_gpus=False, starts_one=True)
    (tmp_path / "one.yaml").write_text(CONFIG.format(kind="'NO'", number=2), "utf-8")
    (tmp_path / "several.yaml").write_text(CONFIG.format(kind="MULTI_GPU", number=2), "utf-8")
    for file, number in (("one", 1), ("several", 3)):
        command = f"accelerate launch --config_file {file}.yaml --num_processes 3 train.py\n"
        (tmp_path / "run.sh").write_text(command, "utf-8")

        (one,) = launch_commands(str(tmp_path), {})
        assert one.processes == number
        assert look(machine(0, one, accelerate=alone), job(world_size=number)) == []


@pytest.mark.parametrize(
    ("flags", "worlds"),
    [(["--num_processes", "2"], [""]), (["--multi_gpu", "--num_processes", "2"], ["2", "2"])],
)
def test_what_is_advised_starts_as_many_and_a_number_alone_does_not(
    tmp_path: Path, flags: list[str], worlds: list[str]
) -> None:
    pytest.importorskip("accelerate.commands.launch")
    file = tmp_path / "accelerate" / "default_config.yaml"
    file.parent.mkdir()
    file.write_text(CONFIG.format(kind="'NO'", number=2), "utf-8")
    lines = ["import os", "print('world=' + os.environ.get('WORLD_SIZE', '') + '.', flush=True)"]
    (tmp_path / "train.py").write_text("\n".join(lines), "utf-8")

    started = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *PORT, *flags, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "HF_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert re.findall(r"world=(\d*)\.", started.stdout) == worlds
