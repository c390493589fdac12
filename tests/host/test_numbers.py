"""The number of processes is read where launchers and trainers read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import LaunchCommand, NumberSaid
from preflight.host.launch_scripts import launch_commands
from preflight.host.process_counts import accelerate_config, of_trainer

WRITTEN = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
gpu_ids: 0,1
num_machines: 2
num_processes: 8
use_cpu: false
"""


def config(folder: Path, text: str, *, under: str = "hf") -> NumberSaid | None:
    """Read such a file, in the folder that HF_HOME says."""
    path = folder / under / "accelerate" / "default_config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, "utf-8")
    return accelerate_config({"HF_HOME": under}, str(folder), home=False)


def test_what_accelerate_config_writes_is_read(tmp_path: Path) -> None:
    assert config(tmp_path, WRITTEN) == NumberSaid(
        file="hf/accelerate/default_config.yaml",
        name="num_processes",
        processes=8,
        machines=2,
        on_gpus=True,
        gpu_ids=("0", "1"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 8\n",
        "num_processes: [\n",
        "distributed_type: MULTI_GPU\n",
        "distributed_type: MULTI_GPU\nnum_processes: -1\n",
        "distributed_type: MULTI_GPU\nnum_processes: many\n",
        "compute_environment: AMAZON_SAGEMAKER\nnum_processes: 8\n",
        "distributed_type: MULTI_CPU\nuse_cpu: true\nnum_processes: 2\n",  # one is started
        "distributed_type: MULTI_CPU\nnum_processes: 2\nmpirun_config: {mpirun_hostfile: ''}\n",
    ],
)
def test_a_file_that_says_no_number_is_none(tmp_path: Path, text: str) -> None:
    assert config(tmp_path, text) is None


def test_processes_on_cpus_are_started_by_mpirun(tmp_path: Path) -> None:
    hosts = "mpirun_config:\n  mpirun_hostfile: hosts\n"
    said = config(tmp_path, f"distributed_type: MULTI_CPU\nnum_processes: 2\n{hosts}")

    assert said is not None
    assert said.processes == 2


def test_one_process_need_not_be_said(tmp_path: Path) -> None:
    said = config(tmp_path, "distributed_type: 'NO'\n")

    assert said is not None
    assert (said.processes, said.on_gpus, said.starts_one) == (1, False, True)


@pytest.mark.parametrize(("kind", "is_one"), [("'NO'", True), ("NO", True), ("MULTI_GPU", False)])
def test_a_type_that_starts_one_is_known_also_as_yaml_reads_it(
    tmp_path: Path, kind: str, *, is_one: bool
) -> None:
    said = config(tmp_path, f"distributed_type: {kind}\nnum_processes: 2\n")

    assert said is not None
    assert (said.processes, said.starts_one) == (2, is_one)


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        ({}, "~/.cache/huggingface/accelerate/default_config.yaml"),
        ({"XDG_CACHE_HOME": "~/xdg"}, "~/xdg/huggingface/accelerate/default_config.yaml"),
        ({"HF_HOME": "~/hf", "XDG_CACHE_HOME": "/x"}, "~/hf/accelerate/default_config.yaml"),
        ({"ACCELERATE_CONFIG_PATH": "~/mine.yaml", "HF_HOME": "/hf"}, "~/mine.yaml"),
    ],
)
def test_it_is_looked_for_where_accelerate_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], place: str
) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    path = tmp_path / "home" / place.removeprefix("~/")
    path.parent.mkdir(parents=True)
    path.write_text(WRITTEN, "utf-8")

    assert accelerate_config(environment, str(tmp_path), home=True) is not None
    if not environment:
        assert accelerate_config({}, str(tmp_path), home=False) is None


def test_the_variables_of_simple_tuner_are_read(tmp_path: Path) -> None:
    path = tmp_path / "config" / "config.env"
    path.parent.mkdir()
    text = "TRAINING_NUM_PROCESSES='8'  # all\n# TRAINING_NUM_PROCESSES=2\n"
    path.write_text(text, "utf-8-sig")  # as editors of Windows begin it

    said = of_trainer({}, str(tmp_path))

    assert said is not None
    assert (said.file, said.processes, said.machines) == ("config/config.env", 8, 1)


def test_the_environment_of_simple_tuner_has_a_folder_of_its_own(tmp_path: Path) -> None:
    for folder, number in (("config", 1), ("config/large", 8)):
        (tmp_path / folder).mkdir()
        text = f"TRAINING_NUM_PROCESSES={number}\nTRAINING_NUM_MACHINES=2\n"
        (tmp_path / folder / "config.env").write_text(text, "utf-8")

    said = of_trainer({"ENV": "large"}, str(tmp_path))

    assert said is not None
    assert (said.file, said.processes, said.machines) == ("config/large/config.env", 8, 2)


@pytest.mark.parametrize(
    "text", ["", "TRAINING_NUM_PROCESSES=$GPUS\n", "TRAINING_NUM_PROCESSES=0\n"]
)
def test_variables_that_say_no_number_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.env").write_text(text, "utf-8")

    assert of_trainer({}, str(tmp_path)) is None


def test_launch_scripts_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(
        "#!/bin/bash\n# accelerate launch old.py\necho accelerate launch\n"
        "accelerate launch \\\n  --mixed_precision bf16 \\\n  --num_processes=${N} train.py\n",
        "utf-8",
    )
    (tmp_path / "b.sbatch").write_text(
        "srun torchrun --nproc-per-node 4 t.py\n"
        "torchrun --nnodes 2 --nproc_per_node=8 t.py\n"
        "torchrun --nnodes=1:4 --nproc-per-node 8 t.py\n"
        "python -m accelerate.commands.launch --config_file ds.yaml t.py\n",
        "utf-8",
    )
    (tmp_path / "c.py").write_text("'torchrun t.py'\n", "utf-8")

    (tmp_path / "ds.yaml").write_text("distributed_type: DEEPSPEED\nnum_processes: 2\n", "utf-8")

    assert list(launch_commands(str(tmp_path), {})) == [
        LaunchCommand(file="a.sh", line=4, launcher="accelerate", number="${N}"),
        LaunchCommand(
            file="b.sbatch", line=1, launcher="torchrun", number="4", processes=4, each=4
        ),
        LaunchCommand(
            file="b.sbatch", line=2, launcher="torchrun", number="8", processes=16, each=8
        ),
        LaunchCommand(file="b.sbatch", line=3, launcher="torchrun", number="8", each=8),
        LaunchCommand(
            file="b.sbatch", line=4, launcher="accelerate", config="ds.yaml", processes=2, each=2
        ),
    ]


@pytest.mark.parametrize(
    ("text", "environment", "processes"),
    [
        ("accelerate launch --num_processes $NUM_PROCESSES t.py", {"NUM_PROCESSES": "8"}, 8),
        ("accelerate launch --num_processes ${NUM_PROCESSES:-4} t.py", {"NUM_PROCESSES": "8"}, 8),
        ("accelerate launch --num_processes ${NUM_PROCESSES:-4} t.py", {}, 4),
        ("export GPUS=2\ntorchrun --nnodes $NODES --nproc_per_node=$GPUS t.py", {"NODES": "3"}, 6),
        ("GPUS=${GPUS:-2}\ntorchrun --nproc_per_node='${GPUS}' t.py", {}, 2),
        ("GPUS=${GPUS:-2}\ntorchrun --nproc_per_node=${GPUS} t.py", {"GPUS": "4"}, 4),
        ("GPUS=2\ntorchrun --nproc_per_node=$GPUS t.py", {"GPUS": "4"}, 2),
        ("GPUS=2\nGPUS=4\ntorchrun --nproc_per_node=$GPUS t.py", {}, None),
        ("GPUS=$(nvidia-smi -L | wc -l)\ntorchrun --nproc_per_node=$GPUS t.py", {}, None),
        ("GPUS=$#\ntorchrun --nproc_per_node=$GPUS t.py", {}, None),
        ("torchrun --nproc_per_node=$GPUS t.py", {}, None),
        ("torchrun --nproc_per_node=${GPUS%%,*} t.py", {"GPUS": "4"}, None),
    ],
)
def test_a_variable_of_a_script_is_its_number(
    tmp_path: Path, text: str, environment: dict[str, str], processes: int | None
) -> None:
    """Given by the script, or by its environment; nothing where that is not sure."""
    (tmp_path / "run.sh").write_text(text + "\n", "utf-8")

    (one,) = launch_commands(str(tmp_path), environment)

    assert one.processes == processes


ASKS = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4  # one each\n"


@pytest.mark.parametrize(
    ("text", "launcher", "processes"),
    [
        ("deepspeed --num_gpus 4 t.py --lr 1", "deepspeed", 4),
        ("nohup deepspeed --num_gpus=4 --num_nodes 2 t.py", "deepspeed", 8),
        ("deepspeed t.py --deepspeed ds.json", "deepspeed", None),
        ("deepspeed --hostfile others --num_gpus 4 t.py", "deepspeed", None),
        ("deepspeed --include localhost:0,1@w2:3 t.py", "deepspeed", 3),
        ("deepspeed --include w1 t.py", "deepspeed", None),
        ("deepspeed --exclude localhost:0 t.py", "deepspeed", None),
        ("deepspeed --hostfile hosts t.py", "deepspeed", 6),
        ("deepspeed -H hosts --include w1@w2:0 t.py", "deepspeed", 5),
        ("deepspeed --hostfile=hosts --exclude w1:0,1 t.py", "deepspeed", 4),
        ("deepspeed --hostfile hosts --num_nodes 1 --num_gpus 3 t.py", "deepspeed", 3),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed t.py", "deepspeed", 2),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 4 t.py", "deepspeed", 4),
        ("srun -n 8 python t.py -n 3", "srun", 8),
        ("srun -n8 --mpi=pmix python t.py", "srun", 8),
        (f"{ASKS}srun python -u t.py", "srun", 8),
        (f"{ASKS}srun --ntasks=1 python prepare.py", "srun", 1),
        ("#SBATCH --ntasks 6\nsrun ./env/bin/python3.11 t.py", "srun", 6),
        ("#SBATCH -n 6\nsrun python t.py", "srun", 6),
        ("#SBATCH -n 6\n#SBATCH -n 4\nsrun python t.py", "srun", 4),
        (f"{ASKS}srun -n 2 python t.py", "srun", 2),
        (f"{ASKS}cd code\n#SBATCH --ntasks=3\nsrun python t.py", "srun", 8),
        ("#SBATCH --nodes=2-4\n#SBATCH --ntasks-per-node=4\nsrun python t.py", "srun", None),
        (f"{ASKS}srun torchrun --nnodes 2 --nproc-per-node gpu t.py", "torchrun", None),
        ("GPUS=4\nmpirun -np $GPUS -x PATH python t.py", "mpirun", 4),
        ("torchrun t.py --nothing", "torchrun", 1),
        ("torchrun --nnodes 2 --standalone -m titan.train", "torchrun", 2),
        ("torchrun $ARGS t.py", "torchrun", None),
        ("torchrun --nproc-per-node auto t.py", "torchrun", None),
    ],
)
def test_each_launcher_has_its_own_words_for_a_number(
    tmp_path: Path, text: str, launcher: str, processes: int | None
) -> None:
    (tmp_path / "run.sh").write_text(text + "\n", "utf-8")
    (tmp_path / "hosts").write_text("# all\nw1 slots=4\nw2 slots=2\n", "utf-8")

    (one,) = launch_commands(str(tmp_path), {})

    assert (one.launcher, one.processes) == (launcher, processes)


@pytest.mark.parametrize(
    ("name", "text", "processes", "gpus"),
    [
        ("run.sh", "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node 4 t.py", 4, 2),
        ("run.sh", "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc-per-node gpu t.py", 2, 2),
        ("run.sh", "export CUDA_VISIBLE_DEVICES=3\ntorchrun --nproc_per_node 2 t.py", 2, 1),
        ("run.sh", "CUDA_VISIBLE_DEVICES=3 python a.py\ntorchrun --nproc_per_node 2 t.py", 2, None),
        ("run.sh", "CUDA_VISIBLE_DEVICES= torchrun --nproc_per_node 2 t.py", 2, None),
        ("run.sh", "CUDA_VISIBLE_DEVICES=$1 torchrun --nproc_per_node 2 t.py", 2, None),
        (
            "run.sh",
            "CUDA_VISIBLE_DEVICES=0 accelerate launch --cpu --num_processes 2 t.py",
            2,
            None,
        ),
        ("run.sh", "accelerate launch --gpu_ids 0,1 --num_processes 4 t.py", 4, 2),
        ("Makefile", "GPUS ?= 8\ntrain:\n\t@torchrun --nproc_per_node=$(GPUS) t.py", 8, None),
        ("Makefile", "export CUDA_VISIBLE_DEVICES := 0,1\nt:\n\ttorchrun -m t.py", 1, 2),
        ("Dockerfile", 'CMD ["torchrun", "--nproc_per_node", "8", "t.py"]', 8, None),
        ("Dockerfile", "ENV GPUS 4\nCMD torchrun --nproc_per_node=$GPUS t.py", 4, None),
        ("a.Dockerfile", 'ENTRYPOINT ["deepspeed", "--num_gpus", "2", "t.py"]', 2, None),
    ],
)
def test_a_launch_is_told_with_the_gpus_that_it_shows(
    tmp_path: Path, name: str, text: str, processes: int, gpus: int | None
) -> None:
    """In a Makefile and a Dockerfile, too, each with its own way to say a variable."""
    (tmp_path / name).write_text(text + "\n", "utf-8")

    (one,) = launch_commands(str(tmp_path), {})

    assert (one.processes, one.gpus) == (processes, gpus)


@pytest.mark.parametrize(
    "text",
    [
        *("pip install deepspeed", "accelerate config --use_deepspeed t.py", "srun nvidia-smi"),
        *("srun hostname", "# deepspeed t.py", "python t.py --deepspeed ds.json", "python t.py"),
        *("which mpirun", "squeue; sbatch run.slurm"),
    ],
)
def test_what_only_names_a_launcher_starts_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.sh").write_text(text + "\n", "utf-8")

    assert list(launch_commands(str(tmp_path), {})) == []


def test_torchrun_that_a_variable_tells_a_number_is_told_none_here(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("torchrun t.py\n", "utf-8")

    (one,) = launch_commands(str(tmp_path), {"PET_NPROC_PER_NODE": "4"})

    assert one.processes is None


def test_scripts_in_a_folder_for_them_are_read_where_there_are_no_others(tmp_path: Path) -> None:
    for folder in ("scripts", "docs", "launch"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.sh").write_text("torchrun --nproc_per_node 4 t.py\n", "utf-8")

    found = [one.file for one in launch_commands(str(tmp_path), {})]
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 8 t.py\n", "utf-8")
    (one,) = launch_commands(str(tmp_path), {})

    assert found == ["launch/train.sh", "scripts/train.sh"]
    assert (one.file, one.processes) == ("run.sh", 8)


def test_the_number_of_another_trainer_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.env").write_text("NUM_PROCESSES=8\nNUM_MACHINES=2\nNUM_X=3\n", "utf-8")

    said = of_trainer({}, str(tmp_path))

    assert said is not None
    assert (said.name, said.processes, said.machines) == ("NUM_PROCESSES", 8, 2)
