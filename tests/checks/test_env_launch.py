"""env-launch leaves every real launcher alone, and finds what no launcher would set."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.findings.finding import Finding, Location, Severity
from preflight.host.facts import Gpu, Gpus
from preflight.settings.job import Job, Launch
from preflight.sources.facts import SourceFacts
from preflight.targets.targets import Source
from preflight.testing import ask
from tests.asking import reason
from tests.hosts import host
from tests.read_sources import read_source

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
    "GROUP_RANK": "1",
    "MASTER_ADDR": "node-0",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
}
SRUN = {
    "SLURM_JOB_ID": "7",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS": "8",
    "SLURM_NNODES": "2",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_RANK": "3",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
}


def of_host(environment: dict[str, str], gpus: int = 0, job: Job | None = None) -> list[Finding]:
    """Ask the check about an environment, on a machine of so many GPUs."""
    seen = tuple(Gpu(index=index, cuda=index) for index in range(gpus))
    facts = host(Gpus(state="ok" if gpus else "no-driver", gpus=seen), environment)
    return ask("env-launch", facts, job)


def of_source(
    folder: Path, text: str, job: Job | None = None, environment: dict[str, str] | None = None
) -> list[Finding]:
    """Ask the check about a script."""
    (folder / "train.py").write_text(text, "utf-8")
    facts = read_source(Source(path="train.py"), str(folder), environment or {})
    return ask("env-launch", facts, job)


# --- environments ---------------------------------------------------------------------------------


LEFT_ALONE: dict[str, dict[str, str]] = {
    "nothing": {},
    "a rank of torchrun": TORCHRUN,
    "a task of srun": SRUN,
    "a rank of Open MPI": OPEN_MPI,
    "torchrun inside srun": TORCHRUN | SRUN,
    "a shell of salloc": {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "8", "SLURM_NNODES": "2"},
    "an sbatch script without a number of tasks": {
        "SLURM_JOB_ID": "7",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
    },
    "a heterogeneous Slurm job": {"SLURM_PROCID": "9", "SLURM_NTASKS": "8", "SLURM_HET_SIZE": "2"},
    "one process": {"WORLD_SIZE": "1"},
    "one rank": {"WORLD_SIZE": "1", "RANK": "0"},
    "an address in .bashrc": {"MASTER_ADDR": "node-0", "MASTER_PORT": "65535"},
    "a node of Lightning": {
        "MASTER_ADDR": "a",
        "MASTER_PORT": "1",
        "WORLD_SIZE": "8",
        "NODE_RANK": "1",
    },
    "not distributed, as -1": {"LOCAL_RANK": "-1", "RANK": "-1"},
    "emptied": {"RANK": "", "WORLD_SIZE": ""},
    "spaces": {"RANK": " 0 ", "WORLD_SIZE": "1"},
    "no GPUs": {"CUDA_VISIBLE_DEVICES": ""},
    "accelerate": {"ACCELERATE_MIXED_PRECISION": "bf16"},
}


@pytest.mark.parametrize("environment", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_launchers_and_people_set_is_left_alone(environment: dict[str, str]) -> None:
    assert of_host(environment) == []


CONTRADICTIONS = {
    "a rank beyond all": (TORCHRUN | {"RANK": "8"}, "RANK", "is 8, and WORLD_SIZE is 8"),
    "a local rank beyond all": (
        TORCHRUN | {"LOCAL_RANK": "4"},
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE is 4",
    ),
    "a word for a rank": (TORCHRUN | {"RANK": "first"}, "RANK", "is 'first', which is no number"),
    "a float for a size": (TORCHRUN | {"WORLD_SIZE": "8.0"}, "WORLD_SIZE", "which is no number"),
    "a service of Kubernetes that is called master": (
        TORCHRUN | {"MASTER_PORT": "tcp://10.0.0.1:2222"},
        "MASTER_PORT",
        "is 'tcp://10.0.0.1:2222', which is no number",
    ),
    "a port beyond all": (
        TORCHRUN | {"MASTER_PORT": "65536"},
        "MASTER_PORT",
        "is 65,536; ports end at 65,535",
    ),
    "a task beyond all": (SRUN | {"SLURM_PROCID": "8"}, "SLURM_PROCID", "SLURM_NTASKS is 8"),
    "a rank of Open MPI beyond all": (
        OPEN_MPI | {"OMPI_COMM_WORLD_RANK": "4"},
        "OMPI_COMM_WORLD_RANK",
        "is 4",
    ),
    "a rank of nothing": ({"RANK": "0"}, "RANK", "WORLD_SIZE is not set"),
}


@pytest.mark.parametrize(
    ("environment", "name", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS
)
def test_what_cannot_be_together_is_found(
    environment: dict[str, str], name: str, words: str
) -> None:
    (finding,) = of_host(environment)

    assert finding.at == Location(name=name)
    assert words in finding.message
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("environment", "name", "severity"),
    [
        ({"WORLD_SIZE": "8"}, "WORLD_SIZE", Severity.WARNING),
        ({"RANK": "1", "WORLD_SIZE": "8"}, "RANK", Severity.WARNING),
        ({"RANK": "1", "WORLD_SIZE": "8", "MASTER_ADDR": "a"}, "MASTER_ADDR", Severity.WARNING),
        ({"MASTER_PORT": "29500"}, "MASTER_PORT", Severity.NOTE),
        ({"SLURM_PROCID": "3"}, "SLURM_PROCID", Severity.WARNING),
    ],
    ids=["a size alone", "no address", "no port", "a port alone", "a task of nothing"],
)
def test_what_a_launcher_or_a_script_may_still_complete_does_not_gate(
    environment: dict[str, str], name: str, severity: Severity
) -> None:
    (finding,) = of_host(environment)

    assert (finding.at.name, finding.severity) == (name, severity)


@pytest.mark.parametrize(
    ("rank", "gpus", "expected"),
    [
        ("3", 2, [("is 3, and this job sees 2 GPUs of this machine", Severity.ERROR)]),
        ("1", 1, [("is 1, and this job sees 1 GPU of this machine", Severity.WARNING)]),
        ("1", 4, []),
    ],
    ids=["without its GPU", "shown its own alone, as by `srun --gpus-per-task=1`", "with its GPU"],
)
def test_a_local_rank_is_held_against_the_gpus(
    rank: str, gpus: int, expected: list[tuple[str, Severity]]
) -> None:
    found = of_host(TORCHRUN | {"LOCAL_RANK": rank}, gpus=gpus)

    assert [(one.message, one.severity) for one in found] == expected


def test_two_contradictions_of_one_variable_are_told_apart() -> None:
    found = of_host(TORCHRUN | {"LOCAL_RANK": "4"}, gpus=2)

    assert len({one.fingerprint for one in found}) == len(found) == 2


@pytest.mark.parametrize(
    ("launch", "environment"),
    [
        (Launch(), TORCHRUN),
        (Launch(world_size=8), TORCHRUN),
        (Launch(nodes=2, gpus=4), TORCHRUN),
        (
            Launch(nodes=2, gpus=8),
            {"WORLD_SIZE": "2", "RANK": "0"} | {"MASTER_ADDR": "a"} | {"MASTER_PORT": "1"},
        ),
    ],
    ids=["nothing said", "the same size", "the same product", "machines of an operator"],
)
def test_a_world_size_that_fits_the_settings_is_left_alone(
    launch: Launch, environment: dict[str, str]
) -> None:
    assert of_host(environment, job=Job(launch=launch)) == []


def test_a_world_size_that_is_not_the_settings_is_found_where_they_say_it() -> None:
    job = Job(launch=Launch(world_size=16), origins={"launch.world_size": "preflight.toml:3"})

    (finding,) = of_host(TORCHRUN, job=job)

    assert finding.at == Location(file="preflight.toml", line=3)
    assert finding.severity is Severity.ERROR
    assert "WORLD_SIZE is 8 in this environment, and the job is to have 16 ranks" in finding.message


def test_a_world_size_that_a_launcher_would_replace_does_not_gate() -> None:
    (finding,) = of_host(
        {"WORLD_SIZE": "4", "RANK": "0"} | {"MASTER_ADDR": "a", "MASTER_PORT": "1"},
        job=Job(launch=Launch(world_size=16)),
    )

    assert finding.severity is Severity.WARNING


def test_a_job_that_runs_elsewhere_is_not_judged_here() -> None:
    job = Job(launch=Launch(elsewhere=True))
    machine = host(Gpus(state="no-driver"))

    assert of_host({"RANK": "0"}, job=job) == []
    assert reason("env-launch", machine, job) == "the job will run on another machine"
    assert reason("env-launch", machine, Job()) is None


def test_what_is_set_cannot_move_the_page() -> None:
    (finding,) = of_host(TORCHRUN | {"RANK": "\x1b[2J"})

    assert "\x1b" not in finding.message


# --- sources --------------------------------------------------------------------------------------

FOUNDING = """\
import os


class Trainer:
    def setup_ddp(self, experiment_id, single_gpu=False):
        if not single_gpu:
            local_rank = int(os.environ.get("SLURM_LOCALID"))
            process_id = int(os.environ.get("SLURM_PROCID"))
            world_size = int(os.environ.get("SLURM_NNODES")) * 8
            print(local_rank, process_id, world_size)
"""


def test_slurms_variables_without_slurm_are_found(tmp_path: Path) -> None:
    found = of_source(tmp_path, FOUNDING)

    assert [(one.at, one.severity) for one in found] == [
        (Location(file="train.py", line=line), Severity.ERROR) for line in (7, 8, 9)
    ]
    assert found[0].message == (
        "reads SLURM_LOCALID, which is not set: "
        'int(os.environ.get("SLURM_LOCALID")) raises TypeError'
    )
    assert found[0].fix == "Start it with srun, or set SLURM_LOCALID=0 for one process."
    assert found[2].fix == "Start it with srun, or set SLURM_NNODES=1 for one process."


def test_what_it_finds_is_what_python_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same line, run without the variable."""
    (finding, *_) = of_source(tmp_path, FOUNDING)
    namespace: dict[str, type] = {}
    exec(compile(FOUNDING, "train.py", "exec"), namespace)

    monkeypatch.delenv("SLURM_LOCALID", raising=False)
    with pytest.raises(TypeError):
        namespace["Trainer"]().setup_ddp(0)  # type: ignore[attr-defined]
    assert "TypeError" in finding.message


def test_inside_slurm_nothing_is_missing(tmp_path: Path) -> None:
    assert of_source(tmp_path, FOUNDING, environment=SRUN) == []


def test_in_an_allocation_srun_will_set_them(tmp_path: Path) -> None:
    found = of_source(tmp_path, FOUNDING, environment={"SLURM_JOB_ID": "7", "SLURM_NNODES": "1"})

    assert {one.severity for one in found} == {Severity.NOTE}
    assert found[0].fix == "Start it with srun, which sets it in this allocation."


RANKS = 'import os\nrank = int(os.environ["RANK"])\n'


@pytest.mark.parametrize(
    ("launch", "severities"),
    [
        (Launch(gpus=8), []),
        (Launch(world_size=2), []),
        (Launch(), [Severity.NOTE]),
        (Launch(gpus=1), [Severity.WARNING]),
    ],
    ids=["eight GPUs", "two ranks", "nothing said", "one process"],
)
def test_what_torchrun_sets_is_missing_only_where_nobody_would_start_it(
    tmp_path: Path, launch: Launch, severities: list[Severity]
) -> None:
    found = of_source(tmp_path, RANKS, Job(launch=launch))

    assert [one.severity for one in found] == severities


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ('import os\nkey = os.environ["WANDB_API_KEY"]\n', Severity.ERROR),
        ('import os\ndef push():\n    return os.environ["HF_TOKEN"]\n', Severity.WARNING),
    ],
    ids=["at once", "in a function that may not be called"],
)
def test_other_variables_are_missing_too(tmp_path: Path, text: str, severity: Severity) -> None:
    (finding,) = of_source(tmp_path, text)

    assert finding.severity is severity
    assert "srun" not in (finding.fix or "")


def test_in_a_folder_not_every_file_need_be_the_jobs(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('import os\nos.environ["HF_TOKEN"]\n', "utf-8")
    text = 'import os\ndef push():\n    return os.environ["WANDB_API_KEY"]\n'
    (tmp_path / "b.py").write_text(text, "utf-8")

    found = ask("env-launch", read_source(Source(path="."), str(tmp_path), {}))

    assert [one.severity for one in found] == [Severity.WARNING, Severity.NOTE]


@pytest.mark.parametrize(
    "text",
    [
        'import os\nos.environ["HF_TOKEN"]\nif __name__ == "__main__":\n    pass\n',
        (
            'import os\ndef main():\n    return os.environ["HF_TOKEN"]\n'
            'if __name__ == "__main__":\n    main()\n'
        ),
    ],
    ids=["at once", "in its main"],
)
def test_a_folder_of_one_script_is_judged_as_that_script(tmp_path: Path, text: str) -> None:
    """Beside it, what it does not import stays a note."""
    (of_file,) = of_source(tmp_path, text)
    other = 'import os\ndef push():\n    return os.environ["WANDB_API_KEY"]\n'
    (tmp_path / "other.py").write_text(other, "utf-8")

    found = ask("env-launch", read_source(Source(path="."), str(tmp_path), {}))

    said = {one.at.file: one.severity for one in found}
    assert said == {"train.py": of_file.severity, "other.py": Severity.NOTE}


def test_a_folder_of_two_scripts_is_not_judged_as_either(tmp_path: Path) -> None:
    main = (
        'def main():\n    return os.environ["HF_TOKEN"]\nif __name__ == "__main__":\n    main()\n'
    )
    for name in ("train_a.py", "train_b.py"):
        (tmp_path / name).write_text(f"import os\n{main}", "utf-8")

    found = ask("env-launch", read_source(Source(path="."), str(tmp_path), {}))

    assert {one.severity for one in found} == {Severity.NOTE}


def test_one_variable_of_one_file_is_one_finding(tmp_path: Path) -> None:
    text = 'import os\na = os.environ["DATA"]\ndef f():\n    return os.environ["DATA"]\n'

    (finding,) = of_source(tmp_path, text)

    assert finding.at == Location(file="train.py", line=2)
    assert finding.also == (Location(file="train.py", line=4),)


def test_the_fingerprint_does_not_move_with_the_line(tmp_path: Path) -> None:
    here, moved = (of_source(tmp_path, text) for text in (FOUNDING, "\n\n" + FOUNDING))

    assert [one.fingerprint for one in here] == [one.fingerprint for one in moved]
    assert len({one.fingerprint for one in here}) == 3


def test_sources_for_elsewhere_are_read_against_nothing(tmp_path: Path) -> None:
    assert of_source(tmp_path, FOUNDING, Job(launch=Launch(elsewhere=True))) == []


def test_no_reads_are_no_findings() -> None:
    assert ask("env-launch", SourceFacts(file="train.py", files=1)) == []
