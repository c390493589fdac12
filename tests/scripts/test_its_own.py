"""Input, signals and exit code of a script are its own, as when it is run plainly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from preflight.findings.report import Report
from tests.conftest import ROOT, START, Run

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="/proc")]

TRAIN = '''\
"""Trains a line at the rate that it reads from its input."""

import argparse
import os
import signal
import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

IGNORED = []
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--code", type=int, default=0)


def main():
    args = parser.parse_args()
    rate = float(input("rate? "))
    rest = sys.stdin.read()
    came = []
    for one in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
        assert signal.getsignal(one) == (signal.SIG_IGN if one in IGNORED else signal.SIG_DFL), one
        signal.signal(one, lambda number, frame: came.append(number))
        os.kill(os.getpid(), one)
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        came.append(signal.SIGINT)
    print("read", rate, repr(rest), len(came), sys.stdin.isatty())
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    if args.resume:
        saved = torch.load(args.resume)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    data = TensorDataset(torch.randn(8, 3), torch.randn(8, 1))
    for x, y in DataLoader(data, batch_size=4):
        loss = (model(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
    sys.exit(args.code)


if __name__ == "__main__":
    main()
'''

INPUT = "0.1\nand a rest\nof two lines"
# Who ignores a signal, such as a job in the background of a shell, leaves that to what it starts.
SIGNALS = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
IGNORED = [int(one) for one in SIGNALS if signal.getsignal(one) == signal.SIG_IGN]
CAME = 4 if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else 5
READ = rf"read 0.1 'and a rest\nof two lines' {CAME} False"


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TRAIN.replace("IGNORED = []", f"IGNORED = {IGNORED}"), encoding="utf-8")
    return path


def plainly(path: Path, *words: str, given: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, path.name, *words]
    return subprocess.run(
        command, cwd=path.parent, input=given, text=True, capture_output=True, check=False
    )


def test_what_is_piped_to_it_is_read_by_both_of_its_runs(preflight: Run, train: Path) -> None:
    """And the signals that it sends itself come to its own handlers."""
    done = preflight("run", "--format", "json", "train.py", input=INPUT)
    report = Report.from_json(done.stdout)
    plain = plainly(train, given=INPUT)

    assert (plain.returncode, plain.stdout) == (0, f"rate? {READ}\n")
    assert (done.returncode, report.verdict) == (0, "go"), done.stdout
    assert done.stderr.count(READ) == 2
    assert "resumed with --resume last.pt" in report.targets[0].text


def test_a_file_for_its_input_is_read_and_its_exit_code_told(preflight: Run, train: Path) -> None:
    (train.parent / "rate.txt").write_text(INPUT, encoding="utf-8")
    with (train.parent / "rate.txt").open() as file:
        done = preflight("run", "--format", "json", "train.py", "--code", "3", stdin=file)
    report = Report.from_json(done.stdout)

    assert plainly(train, "--code", "3", given=INPUT).returncode == 3
    assert READ in done.stderr
    assert done.returncode == 1
    assert [one.message.partition(" after")[0] for one in report.findings] == [
        "ends with exit code 3"
    ]


def test_without_any_it_reads_an_end_as_it_would_plainly(preflight: Run, train: Path) -> None:
    done = preflight("run", "--format", "json", "train.py", stdin=subprocess.DEVNULL)
    (finding,) = Report.from_json(done.stdout).findings

    assert "EOFError" in plainly(train, given="").stderr
    assert "raises EOFError: EOF when reading a line" in finding.message


def test_input_that_it_does_not_read_is_left_to_others(preflight: Run, tmp_path: Path) -> None:
    """As in a loop of a shell, whose list stands on the same input."""
    (tmp_path / "train.py").write_text("print('nothing')\n", encoding="utf-8")
    (tmp_path / "list.txt").write_text("one\ntwo\n", encoding="utf-8")
    with (tmp_path / "list.txt").open() as file:
        preflight("run", "--format", "json", "train.py", stdin=file)

        assert file.read() == "one\ntwo\n"


SAVES = """
import os, signal, time, torch
torch.save({}, "last.pt")
print("script", os.getpid(), flush=True)
time.sleep(600)
"""

# Also where the tests run in the background of a shell, which has them ignore an interrupt.
INTERRUPTED = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_end_we_leave_nothing_of_it(tmp_path: Path, number: signal.Signals) -> None:
    """As Slurm asks at the end of a job's time, and torchrun where another rank has died."""
    job, temporary = tmp_path / "job", tmp_path / "temporary"
    for folder in (job, temporary):
        folder.mkdir()
    (job / "train.py").write_text(SAVES, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED + START, "run", "--format", "json", "train.py"],
        cwd=job,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said = next(one for one in process.stderr if one.startswith("script "))
        assert list(temporary.glob("preflight-*/files/**/last.pt"))
        process.send_signal(number)
        page, _ = process.communicate(timeout=60)
    report = Report.from_json(page)

    assert process.returncode == (-number if number == signal.SIGTERM else 130)
    assert (report.verdict, report.interrupted) == ("cannot-judge", True)
    assert not is_alive(int(said.split()[1]))
    assert list(temporary.glob("preflight-*")) == []
    assert [one.name for one in job.iterdir() if one.name != ".preflight"] == ["train.py"]


LONG = """\
import time
import torch
from torch.utils.data import DataLoader

for x in DataLoader(torch.zeros(0, 1), batch_size=4):
    pass
for x in DataLoader(torch.zeros(8, 1), batch_size=4):
    print("waits", flush=True)
    time.sleep(600)
"""


@pytest.mark.usefixtures("at_hand")
def test_what_was_seen_of_loaders_is_told_where_a_long_run_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(LONG, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED + START, "run", "--format", "json", "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert any(one == "waits\n" for one in process.stderr)
        time.sleep(1.0)  # what was met is on its way
        process.send_signal(signal.SIGINT)
        page, _ = process.communicate(timeout=60)
    report = Report.from_json(page)

    assert (report.verdict, report.interrupted) == ("no-go", True)
    assert [(one.check, one.at.line) for one in report.findings] == [("loader-end", 5)]


def is_alive(pid: int) -> bool:
    """Say whether a process is still there, and not only its number."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
