"""Scripts are run as `python` would run them, in short; held against the same ones run plainly."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

import preflight
from preflight.findings.report import Report
from tests.conftest import START
from tests.scripts.rehearsing import contents

pytestmark = pytest.mark.usefixtures("copies")

ROOT = Path(__file__).parents[2]
PLAIN = ROOT / "fixtures" / "scripts" / "plain.py"
QUIETLY = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: PLW1510  its exit code is looked at
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, env=QUIETLY
    )


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: PLW1510  its exit code is looked at
        [sys.executable, "-c", START, "run", "--format", "json", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def surroundings(said: str) -> list[object]:
    line = next(one for one in said.splitlines() if one.startswith("surroundings "))
    seen: list[object] = json.loads(line.partition(" ")[2])
    return seen


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Run a healthy script with spawned workers, and hold its folder against what it was."""
    folder = tmp_path_factory.mktemp("healthy")
    shutil.copy(PLAIN, folder / "train.py")
    before = contents(folder)
    done = command(folder, "train.py", "--workers", "1", "--lr", "0.1", "-v", "--", "-m", "x.py")
    assert contents(folder) == before
    return done


def test_a_healthy_script_is_a_go(healthy: subprocess.CompletedProcess[str]) -> None:
    report = Report.from_json(healthy.stdout)

    assert (healthy.returncode, report.verdict) == (0, "go"), healthy.stderr
    script = next(one for one in report.coverage if one.part == "script")
    assert (script.state, script.seen) == ("part", "1 script (no save seen)")


def test_its_output_is_whole_and_on_stderr(healthy: subprocess.CompletedProcess[str]) -> None:
    assert [one for one in healthy.stderr.splitlines() if one.startswith("epoch")] == [
        "epoch 0: True",
        "epoch 1: True",
    ]
    assert "the end" in healthy.stderr


def test_it_sees_what_it_would_see_of_python(
    healthy: subprocess.CompletedProcess[str], tmp_path: Path
) -> None:
    """All words behind the script are its own, also those that we have a meaning for."""
    shutil.copy(PLAIN, tmp_path / "train.py")
    words = ("train.py", "--workers", "0", "--lr", "0.1", "-v", "--", "-m", "x.py")
    plain = surroundings(python(tmp_path, *words).stdout)
    here = json.dumps(surroundings(healthy.stderr)).replace(_folder_of(healthy), str(tmp_path))

    assert json.loads(here.replace('"--workers", "1"', '"--workers", "0"')) == plain


def _folder_of(done: subprocess.CompletedProcess[str]) -> str:
    seen = surroundings(done.stderr)
    return str(seen[2])


def test_no_process_is_left(healthy: subprocess.CompletedProcess[str]) -> None:
    folder = _folder_of(healthy)
    left = [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == folder]

    assert left == []


def test_what_was_met_and_what_was_not_is_told(healthy: subprocess.CompletedProcess[str]) -> None:
    (named,) = Report.from_json(healthy.stdout).targets

    assert "8 batches in 2 loops, 2 evaluations" in named.text
    assert "not rehearsed: no save seen" in named.text


# --- faults ---------------------------------------------------------------------------------------

Looked = Callable[[str], tuple[Report, str]]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Looked:
    """Give the report of a script with a fault, and what it says when it is run plainly."""

    @functools.cache
    def look(fault: str) -> tuple[Report, str]:
        folder = tmp_path_factory.mktemp(fault)
        shutil.copy(PLAIN, folder / "train.py")
        words = ("train.py", "--fault", fault)
        return preflight.run(*words, folder=str(folder)), python(folder, *words).stderr

    return look


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("shape", "script-stopped"),
        ("evaluation", "script-eval"),
        ("lock", "model-uncopyable"),
        ("thread", "script-stopped"),
        ("exit", "script-stopped"),
    ],
)
def test_a_fault_is_told_at_the_line_where_the_plain_script_dies(
    faulty: Looked, fault: str, check: str
) -> None:
    report, plain = faulty(fault)

    assert report.verdict == "no-go"
    assert [one.check for one in report.findings] == [check]
    (finding,) = report.findings
    if fault == "exit":
        assert str(finding.at) == "train.py"
        assert plain == "no checkpoint was made\n"
    elif fault == "lock":
        assert "cannot pickle '_thread.lock' object" in plain
        assert "average = copy.deepcopy(model)" in (finding.why or "")
    else:
        own = [one for one in plain.splitlines() if '/train.py", line' in one]
        assert own[-1].strip().endswith(f"in {_function(own[-1])}")
        assert f", line {finding.at.line}," in own[-1]


def _function(line: str) -> str:
    return line.rpartition(" in ")[2]


def test_what_a_loader_cannot_send_is_told_once_by_the_check_of_loaders(tmp_path: Path) -> None:
    """And the script, which stops at it, is not told again."""
    shutil.copy(PLAIN, tmp_path / "train.py")
    words = ("train.py", "--fault", "lambda", "--workers", "1")
    report = preflight.run(*words, folder=str(tmp_path))

    (finding,) = [one for one in report.findings if one.check == "loader-unpicklable"]
    assert not any(one.check.startswith("script") for one in report.findings)
    assert finding.at.name == "dataset.fault"
    assert finding.at.file == "train.py"


EVALUATED = """
import torch
from torch.utils.data import DataLoader, Dataset

CODE = ["lambda x: x * 2", "lambda x: x + 1"]

class Numbers(Dataset):
    def __init__(self):
        self.scale = eval(CODE[0])
        self.shift = eval(CODE[1])
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return self.shift(self.scale(torch.tensor(index)))

if __name__ == "__main__":
    for batch in DataLoader(Numbers(), num_workers=1, multiprocessing_context="spawn"):
        print(batch)
"""


def test_what_a_script_evaluates_is_placed_where_it_does(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(EVALUATED)
    report = preflight.run("train.py", folder=str(tmp_path))

    found = [one for one in report.findings if one.check == "loader-unpicklable"]
    assert [(one.at.file, one.at.line) for one in found] == [("train.py", 9), ("train.py", 10)]
    assert "`lambda x: x * 2`" in found[0].message


@pytest.mark.parametrize(
    ("leaving", "error"),
    [
        ("if torch.cuda.device_count() < 2: sys.exit()", "SystemExit"),
        ("if torch.cuda.device_count() < 2: sys.exit(3)", "SystemExit: 3"),
        ("sys.exit('it needs a GPU')", "SystemExit: it needs a GPU"),
    ],
)
def test_a_script_that_leaves_for_want_of_a_gpu_is_not_judged(
    leaving: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it told to run on the CPU: what asks for GPUs is told that there is none, too."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "train.py").write_text(f"import sys\nimport torch\n{leaving}\n")
    report = Report.from_json(command(tmp_path, "train.py").stdout)
    (broken,) = {one for outcome in report.checks for one in outcome.broken}

    assert report.verdict == "cannot-judge"
    assert broken.error == f"it needs a GPU, which is not here: {error} at train.py:3"
    assert broken.fix == "Run preflight where the job runs."


@pytest.mark.parametrize(
    ("variable", "started"),
    [
        ("LOCAL_RANK", "torchrun … -m preflight run …"),
        ("SLURM_PROCID", "srun … python -m preflight run …"),
        ("OMPI_COMM_WORLD_RANK", "mpirun … python -m preflight run …"),
    ],
)
def test_a_script_that_needs_a_launchers_variable_is_to_be_started_by_that(
    variable: str, started: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(f"import os\nrank = int(os.environ[{variable!r}])\n")
    report = Report.from_json(command(tmp_path, "train.py", "--elsewhere").stdout)
    (fix,) = {one.fix for outcome in report.checks for one in outcome.broken}

    assert fix == f"Start preflight as the job is started:  {started}"


@pytest.mark.parametrize(
    ("module", "package"), [("cv2", "opencv-python"), ("pkg_resources", "'setuptools<81'")]
)
def test_a_package_that_a_script_needs_is_told_as_it_is_installed(
    module: str, package: str, tmp_path: Path
) -> None:
    raises = f"raise ModuleNotFoundError('No module named {module!r}', name={module!r})\n"
    (tmp_path / "train.py").write_text(raises.replace("'No", '"No').replace("', name", '", name'))
    report = Report.from_json(command(tmp_path, "train.py").stdout)
    (broken,) = {one for outcome in report.checks for one in outcome.broken}

    assert (broken.fix or "").startswith(f"Install {package} for ")


def test_a_script_that_leaves_for_another_reason_is_as_ever(tmp_path: Path) -> None:
    text = (
        "import torch\nif not torch.cuda.is_available():\n    print('slow')\nraise SystemExit(3)\n"
    )
    (tmp_path / "train.py").write_text(text)
    report = Report.from_json(command(tmp_path, "train.py").stdout)

    assert [one.message.partition(" after")[0] for one in report.findings] == [
        "ends with exit code 3"
    ]
