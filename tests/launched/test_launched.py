"""Each rank rehearses a script; rank 0 tells of all of them. Held against the plain ranks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.findings.report import Report
from tests.conftest import ROOT, START
from tests.launched.starting import Done, as_ranks, preflight
from tests.scripts.rehearsing import line_of, planted
from tests.warming import CAN_COPY

pytestmark = [pytest.mark.slow, pytest.mark.waits]

COMMAND = preflight("train.py")

TORCHRUN = ("-m", "torch.distributed.run")

ILL = (
    "        for inputs, labels in loader:\n",
    """        for inputs, labels in loader:
            if rank == 1 and epoch == 1:
                raise ValueError('it is ill')
""",
)
FEWER = (
    "    samples = 40\n",
    "    samples = 40 if rank == 0 else 20\n",
)
JOINED = (
    "def main():\n",
    """def joined(model, loader):
    with model.join():
        yield from loader


def main():
""",
)

# In a copy of a process that has torch: the ranks that it starts are such copies, too.
COPYING_TORCHRUN = """
import subprocess
import torch_template
from torch.distributed.run import main

template = torch_template.Template.ours
subprocess.Popen._execute_child = torch_template.starting_by(lambda: template)
main()
"""
NOT_SHARED = ("(data, seed=1)", "(data, num_replicas=1, rank=0)")


def script(folder: Path, *changes: tuple[str, str]) -> Path:
    path = planted(folder, "ranks.py", *changes)
    return path.rename(folder / "train.py")


def by_torchrun(folder: Path) -> subprocess.CompletedProcess[str]:
    """Have it start the command; as copies where that can be, and else as a user does."""
    torchrun, words = TORCHRUN, ("-m", "preflight")
    if CAN_COPY:
        torchrun, words = ("-c", COPYING_TORCHRUN), ("--no-python", sys.executable, "-c", START)
    launch = [*torchrun, "--standalone", "--nproc-per-node", "2", *words]
    return subprocess.run(
        [sys.executable, *launch, "run", "--format", "json", "train.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def told(ranks: list[Done]) -> tuple[Report, list[str]]:
    """Give the report of rank 0, and its findings in short; the others print none."""
    first, *others = ranks
    assert [(one.code, one.stdout) for one in others] == [(0, "")] * len(others), ranks
    assert all("rank 0 tells of this rank, too" in one.stderr for one in others)
    report = Report.from_json(first.stdout)
    places = [f"{one.check} {one.at.file}:{one.at.line}" for one in report.findings]
    return report, places


HERE = {"LOCAL_WORLD_SIZE": "2"}


@pytest.mark.usefixtures("at_hand")
def test_ranks_of_torchrun_go_on_together_from_what_rank_0_saved(tmp_path: Path) -> None:
    """Its store still holds where the ranks were to be found in their first run."""
    planted(tmp_path, "ranks_resume.py").rename(tmp_path / "train.py")
    done = by_torchrun(tmp_path)
    report = Report.from_json(done.stdout)

    assert (done.returncode, report.verdict, report.findings) == (0, "go", ()), done.stderr
    said = [one for one in done.stderr.splitlines() if one.startswith("goes on")]
    assert sorted(said) == ["goes on 0", "goes on 1"]
    assert "resumed with --resume last.pt" in report.targets[0].text
    assert sorted(one.name for one in tmp_path.iterdir()) == [".preflight", "train.py"]


NEWEST = (
    ('parser.add_argument("--resume")', 'parser.add_argument("--resume", action="store_true")'),
    (
        "saved = torch.load(args.resume)",
        "saved = torch.load(sorted(__import__('glob').glob('epoch-*.pt'))[-1])",
    ),
    ('"goes on {rank}', '"goes on {rank} at {first}'),
    ('"last.pt"', 'f"epoch-{epoch}.pt"'),
)


@pytest.mark.usefixtures("at_hand")
def test_ranks_that_look_for_the_newest_checkpoint_find_the_first(tmp_path: Path) -> None:
    """As after a crash there: from the last one they would have no step to take."""
    planted(tmp_path, "ranks_resume.py", *NEWEST).rename(tmp_path / "train.py")
    done = by_torchrun(tmp_path)
    report = Report.from_json(done.stdout)

    assert (done.returncode, report.verdict, report.findings) == (0, "go", ()), done.stderr
    said = [one for one in done.stderr.splitlines() if one.startswith("goes on")]
    assert sorted(said) == ["goes on 0 at 1", "goes on 1 at 1"]
    assert "resumed with --resume: " in report.targets[0].text


@pytest.mark.usefixtures("at_hand")
def test_a_rank_that_does_not_go_on_is_told_at_its_line(tmp_path: Path) -> None:
    ill = ('sys.stderr.write(f"goes on', 'assert not rank; sys.stderr.write(f"goes on')
    path = planted(tmp_path, "ranks_resume.py", ill).rename(tmp_path / "train.py")
    report, places = told(as_ranks(tmp_path, [COMMAND] * 2, **HERE))
    plain = as_ranks(tmp_path, [["train.py"]] * 2)
    again = as_ranks(tmp_path, [["train.py", "--resume", "last.pt"]] * 2)
    line = line_of(path, "assert not rank")

    assert [one.code for one in plain] == [0, 0]
    assert f"line {line}, in main" in again[1].stderr
    assert places[0] == f"world-unlike train.py:{line}"
    assert "on rank 1 of 2 (script-resume)" in report.findings[0].message


BY_VARIABLE = (
    ('    parser.add_argument("--resume")\n', ""),
    ("if args.resume:", "if resume := __import__('os').environ.get('RESUME_FROM'):"),
    ("torch.load(args.resume)", "torch.load(resume)"),
)


@pytest.mark.usefixtures("at_hand")
def test_ranks_that_go_on_by_a_variable_do_so_together(tmp_path: Path) -> None:
    planted(tmp_path, "ranks_resume.py", *BY_VARIABLE).rename(tmp_path / "train.py")
    ranks = as_ranks(tmp_path, [COMMAND] * 2, **HERE)
    report, places = told(ranks)

    assert (report.verdict, places) == ("go", [])
    assert all("goes on" in one.stderr for one in ranks)
    assert "resumed with RESUME_FROM=last.pt" in report.targets[0].text


@pytest.mark.usefixtures("at_hand")
def test_healthy_ranks_of_torchrun_are_a_go(tmp_path: Path) -> None:
    """And what rank 0 has saved, the others load, from a folder that stays as it was."""
    script(tmp_path)
    done = by_torchrun(tmp_path)
    report = Report.from_json(done.stdout)

    assert (done.returncode, report.verdict) == (0, "go"), done.stderr
    assert sorted(one for one in done.stderr.splitlines() if one.startswith("trained")) == [
        "trained 0 2",
        "trained 1 2",
    ]
    assert "compared on 2 ranks" in report.targets[0].text
    assert sorted(one.name for one in tmp_path.iterdir()) == [".preflight", "train.py"]
    assert (tmp_path / ".preflight" / "last.rank1.json").is_file()


@pytest.mark.usefixtures("at_hand")
def test_a_rank_whose_script_dies_is_named_at_its_line(tmp_path: Path) -> None:
    path = script(tmp_path, ILL)
    plain = as_ranks(tmp_path, [["train.py"]] * 2)
    _, places = told(as_ranks(tmp_path, [COMMAND] * 2))
    line = line_of(path, "it is ill")

    assert f"line {line}, in main" in plain[1].stderr
    assert plain[0].code != 0
    assert places[0] == f"world-unlike train.py:{line}"
    # What rank 0 itself has lost stands behind it.
    assert [one.partition(" ")[0] for one in places[1:]] == ["script-stopped"]


@pytest.mark.usefixtures("at_hand")
def test_what_only_rank_0_does_wrong_is_told_once(tmp_path: Path) -> None:
    """That the others have lost it is no fault of theirs."""
    path = script(tmp_path, (ILL[0], ILL[1].replace("rank == 1", "rank == 0")))
    _, places = told(as_ranks(tmp_path, [COMMAND] * 2))

    assert places == [f"script-stopped train.py:{line_of(path, 'it is ill')}"]


@pytest.mark.usefixtures("at_hand")
def test_ranks_with_other_batches_packages_and_variables_are_told(tmp_path: Path) -> None:
    """Plainly, the rank with fewer waits at the barrier, and the other in its all-reduce."""
    path = script(tmp_path, FEWER, NOT_SHARED)
    other = ["-c", "import os; os.environ['NCCL_DEBUG'] = 'INFO'\n" + COMMAND[1], *COMMAND[2:]]
    report, _ = told(as_ranks(tmp_path, [COMMAND, other]))
    plain = as_ranks(tmp_path, [["train.py"]] * 2, patience=8)
    said = {str(one.at): one.message for one in report.findings}

    assert report.verdict == "no-go"
    assert said == {
        f"train.py:{line_of(path, 'in loader')}": "batches of an epoch: 10 batches of 40 samples "
        "on rank 0; 5 batches of 20 samples on rank 1",
        "ranks": "NCCL_DEBUG: not set on rank 0; INFO on rank 1",
    }
    assert [one.code for one in plain] != [0, 0]


@pytest.mark.usefixtures("at_hand")
def test_ranks_that_join_may_have_other_batches(tmp_path: Path) -> None:
    """Plainly, such ranks come to their end."""
    joins = ("in loader:\n", "in joined(model, loader):\n")
    path = script(tmp_path, FEWER, NOT_SHARED, joins, JOINED)
    plain = as_ranks(tmp_path, [["train.py"]] * 2)
    (tmp_path / "last.pt").unlink()
    report, places = told(as_ranks(tmp_path, [COMMAND] * 2))

    assert [one.code for one in plain] == [0, 0]
    assert places == [f"world-unlike train.py:{line_of(path, 'yield from loader')}"]
    assert report.findings[0].severity.word == "warning"
    assert report.verdict == "go"


@pytest.mark.usefixtures("at_hand")
def test_a_rank_that_never_comes_is_named(tmp_path: Path) -> None:
    """Whether the script of the others, which waits for it, counts as stuck is another matter."""
    script(tmp_path)
    quick = preflight("--timeout", "4", "train.py")
    done = as_ranks(tmp_path, [quick], of=2)[0]
    report = Report.from_json(done.stdout)
    (broken,) = next(one for one in report.checks if one.id == "world-unlike").broken

    assert report.verdict != "go"
    assert done.code in {1, 3}
    assert str(broken.at) == "rank 1"
    assert "it has told nothing, 8 s after rank 0 was done" in broken.error
