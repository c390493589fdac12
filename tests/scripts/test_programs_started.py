"""Programs that a script starts find what it has written, or nobody says that it is broken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.scripts.facts import in_words
from tests.scripts.rehearsing import contents, line_of, rehearse

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("copies"),
    pytest.mark.skipif(sys.platform == "win32", reason="cat and cp"),
]

TRAIN = """\
import os, pathlib, subprocess, sys
import torch

out = pathlib.Path("runs") / "a"
out.mkdir(parents=True)
model = torch.nn.Linear(4, 1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 4), 2):
    model(batch).sum().backward()
subprocess.run(["touch", "begun.txt"], cwd=out, check=True)
torch.save(model.state_dict(), out / "model.pt")
MEASURE = "import os, sys; print(os.path.getsize(sys.argv[1]), file=open(sys.argv[2], 'w'))"
subprocess.run([sys.executable, "-c", MEASURE, out / "model.pt", f"{out}/size.txt"], check=True)
os.system(f"cp {out}/model.pt {out}/best.pt")
(out / "all.txt").write_text(subprocess.check_output(f"cat {out}/size.txt", shell=True, text=True))
assert sorted(os.listdir(out)) == ["all.txt", "begun.txt", "best.pt", "model.pt", "size.txt"]
os.chdir(out)
subprocess.run(["cat", "all.txt", "../../train.py"], check=True, stdout=subprocess.DEVNULL)
print("size", int(open("all.txt").read()) == os.path.getsize("best.pt"))
"""

FAILING = "subprocess.run([sys.executable, '-c', 'raise SystemExit(3)'], check=True)"


def _rehearsed(folder: Path, text: str) -> preflight.Report:
    (folder / "train.py").write_text(text, encoding="utf-8")
    before = contents(folder)
    seen = preflight.run("train.py", folder=str(folder), select=["script-stopped", "script-idle"])
    assert contents(folder) == before
    return seen


def test_programs_find_what_a_script_has_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen = _rehearsed(tmp_path, TRAIN)

    assert (seen.verdict, seen.findings) == ("go", ())
    assert "size True" in capfd.readouterr().err
    plain = subprocess.check_output([sys.executable, "train.py"], cwd=tmp_path, text=True)
    assert plain == "size True\n"


def test_a_program_that_may_have_missed_what_was_written_is_not_judged(tmp_path: Path) -> None:
    """Of what it is told within a text of its own, nobody knows."""
    reads = 'import os; os.path.getsize(os.sep.join(["runs", "a", "model.pt"]))'
    line = f"subprocess.run([sys.executable, '-c', {reads!r}, out / 'model.pt'], check=True)"
    seen = _rehearsed(tmp_path, TRAIN.replace("os.chdir(out)", line))

    assert (seen.verdict, seen.findings) == ("cannot-judge", ())
    (error,) = {one.error for outcome in seen.checks for one in outcome.broken}
    assert "a program that it starts may not find what was written apart" in error
    assert error.endswith(f"at train.py:{line_of(tmp_path / 'train.py', line)}")


def test_a_program_that_fails_by_itself_stops_the_script(tmp_path: Path) -> None:
    seen = _rehearsed(tmp_path, TRAIN.replace("os.chdir(out)", FAILING))

    (found,) = seen.findings
    assert (found.check, found.at.line) == (
        "script-stopped",
        line_of(tmp_path / "train.py", FAILING),
    )


def test_a_program_that_nobody_waits_for_is_told_as_not_watched(tmp_path: Path) -> None:
    """What it raises stops nothing, in a plain run either."""
    line = "subprocess.run([sys.executable, '-c', 'raise SystemExit(3)'])"
    (tmp_path / "job").mkdir()
    path = tmp_path / "job" / "train.py"
    path.write_text(TRAIN.replace("os.chdir(out)", f"{line}\nos.chdir(out)"), encoding="utf-8")
    seen = rehearse(path)

    assert seen.told == []
    said = f"not watched: what is started at train.py:{line_of(path, 'touch')}, "
    assert said in str(in_words([seen.rehearsal]))


ASKS = """\
import subprocess, sys

def start():
    subprocess.run([sys.executable, "-c", "pass"])

start()
"""


@pytest.mark.parametrize(("last", "told"), [(4, []), (5, [5])])
def test_what_packages_and_python_ask_the_system_is_nothing_that_a_script_starts(
    tmp_path: Path, last: int, told: list[int]
) -> None:
    """As torch asks `ldconfig` for the libraries of CUDA while it is imported."""
    packages, job = tmp_path / "packages", tmp_path / "job"
    packages.mkdir()
    job.mkdir()
    (packages / "asking.py").write_text(ASKS, encoding="utf-8")
    lines = [
        "import ctypes.util, sys",
        f"sys.path.insert(0, {str(packages)!r})",
        "import asking",
        "ctypes.util.find_library('of no name that is there')",
        "asking.start()",
    ]
    (job / "train.py").write_text("\n".join(lines[:last]), encoding="utf-8")

    seen = rehearse(job / "train.py").rehearsal

    assert [one.at and one.at.line for one in seen.met if one.what == "process"] == told
    assert ("not watched" in str(in_words([seen]))) is bool(told)


RUNS = """\
import os, subprocess, sys
import torch

os.mkdir("runs")
model = torch.nn.Linear(4, 1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 4), 2):
    model(batch).sum().backward()
torch.save(model.state_dict(), "runs/model.pt")
for words in (["-u", "-m", "measure", "--to", "runs"], ["measure.py", "--to", "runs"]):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    print(done.args == [sys.executable, *words], done.returncode, done.stdout, done.stderr)
print(sorted(os.listdir("runs")))
"""

MEASURES = """\
import os, sys

print(__name__, sys.argv[1:], os.getcwd() == os.path.dirname(__file__) == sys.path[0])
with open(os.path.join(sys.argv[2], "size.txt"), "a") as file:
    file.write(str(os.path.getsize("runs/model.pt")))
open("log.txt", "a").close()
raise SystemExit(3) if len(open("runs/size.txt").read()) < 6 else ValueError("twice")
"""


def test_another_script_of_the_job_writes_where_this_one_does(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It ends as it would by itself, and prints what it would."""
    (tmp_path / "measure.py").write_text(MEASURES, encoding="utf-8")
    seen = _rehearsed(tmp_path, RUNS)

    assert (seen.verdict, seen.findings) == ("go", ())
    rehearsed = capfd.readouterr().err
    plain = subprocess.check_output([sys.executable, "train.py"], cwd=tmp_path, text=True)
    assert "True 3 __main__ ['--to', 'runs'] True" in plain
    assert "ValueError: twice" in plain
    assert plain in rehearsed
    assert (tmp_path / "log.txt").is_file()  # of the plain run
