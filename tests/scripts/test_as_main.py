"""A script sees what it would see of Python; how it ends is told as it ended. None needs torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.facts import Rehearsal
from preflight.findings.report import Report
from tests.files import put

SEES = b"""\
import atexit, json, multiprocessing, os, sys, threading

here = [
    sys.argv, sys.path[0], os.getcwd(), os.path.abspath(__file__), __name__, __package__,
    __spec__ and __spec__.name, sys.modules["__main__"].__dict__ is globals(),
    threading.current_thread() is threading.main_thread(), sys.stdin.read(),
]


def double(number):
    return number * 2


if __name__ == "__main__":
    atexit.register(print, "at its exit", file=sys.stderr)
    if __spec__ is None or not __spec__.name.endswith("__main__"):  # Python itself cannot
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            here.append(pool.map(double, [21]))
    with open(os.environ["SEEN"], "w") as file:
        json.dump(here, file)
"""


def seen_by_python(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setenv("SEEN", str(folder / "plain.json"))
    subprocess.run([sys.executable, *words], cwd=folder, stdin=subprocess.DEVNULL, check=True)
    return json.loads((folder / "plain.json").read_text("utf-8"))


def look(folder: Path, *words: str, **options: object) -> Report:
    return preflight.run(*words, folder=str(folder), select=["script"], **options)


WORDS = [
    ("job/train.py", "--lr", "1", "--", "-m", "x.py", "data=1"),
    ("-m", "job.train", "--config", "a.py"),
    ("-m", "job"),
]


@pytest.mark.parametrize("words", WORDS, ids=["path", "module", "package"])
def test_it_sees_what_it_sees_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    put(tmp_path, "job/__init__.py", content=b"")
    put(tmp_path, "job/train.py", content=SEES)
    put(tmp_path, "job/__main__.py", content=SEES)
    plain = seen_by_python(tmp_path, monkeypatch, *words)
    monkeypatch.setenv("SEEN", str(tmp_path / "ours.json"))

    report = look(tmp_path, *words, allow_writes=True)

    assert json.loads((tmp_path / "ours.json").read_text("utf-8")) == plain
    assert report.verdict != "go"  # it trains nothing


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    "script",
    [
        (
            "import argparse\np = argparse.ArgumentParser()\n"
            "p.add_argument('--data', required=True)\np.parse_args()"
        ),
        (
            "import argparse\np = argparse.ArgumentParser()\np.add_argument('n', type=int)\n"
            "p.parse_args(['many'])"
        ),
        "import click\n@click.command()\n@click.argument('data')\ndef main(data): 1\nmain()",
    ],
)
def test_a_command_line_that_it_does_not_take_is_no_fault_of_the_script(
    tmp_path: Path, script: str
) -> None:
    put(tmp_path, "train.py", content=script.encode())

    report = look(tmp_path, "train.py")

    assert report.verdict == "cannot-judge"
    assert report.findings == ()
    assert "Give it the arguments with which the job starts it" in " ".join(str(report).split())


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("script", "helps"),
    [
        ("titan/train.py", "preflight run -m titan.train"),
        ("scripts/train.py", "Add this folder to PYTHONPATH, or install what lies there"),
    ],
)
def test_a_package_of_the_job_that_a_script_does_not_find_is_no_line_to_mend(
    tmp_path: Path, script: str, helps: str
) -> None:
    """Python puts the folder of the script on its path, and not the one that it is started in."""
    put(tmp_path, "titan/parts.py", content=b"SEED = 1\n")
    put(tmp_path, script, content=b"from titan.parts import SEED\nprint(SEED)\n")

    report = look(tmp_path, script)

    assert report.verdict == "cannot-judge"
    assert report.findings == ()
    assert helps in " ".join(str(report).split())


@pytest.mark.usefixtures("at_hand")
def test_what_stands_before_it_are_targets_and_options(tmp_path: Path) -> None:
    """`--` begins a script as well, and `script=` names one with its arguments in a word."""
    put(tmp_path, "my train.py", content=b"import sys; sys.exit(len(sys.argv) - 1)")

    for words in (("--", "my train.py", "a", "b"), ("script='my train.py' a b",)):
        (finding,) = look(tmp_path, *words).findings
        assert finding.message.startswith("ends with exit code 2 ")
    (finding,) = look(tmp_path, "script=my train.py").findings
    assert finding.check == "script-idle"


@pytest.mark.usefixtures("at_hand")
def test_settings_name_it_and_a_bare_run_without_them_runs_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "train.py", content=b"import sys; sys.exit(3)")

    assert look(tmp_path).findings == ()

    put(tmp_path, "preflight.toml", content=b'[[script]]\nrun = "train.py --lr 1"\n')
    (finding,) = look(tmp_path).findings
    assert "exit code 3" in finding.message
    assert "makes this run: train.py --lr 1" in capfd.readouterr().err


ENDS = {
    "raises": (b"def f():\n    raise ValueError('no')\nf()\n", "script-stopped", 2),
    "does not parse": (b"x = 1\nx = = 2\n", "script-stopped", 2),
    "raises in a handler": (
        b"try:\n    1 / 0\nexcept Exception:\n    x\n",
        "script-stopped",
        4,
    ),
    "raises in a thread": (
        b"import threading\ndef f():\n    x\nt = threading.Thread(target=f)\nt.start()\nt.join()\n",
        "script-stopped",
        3,
    ),
    "says that it failed": (b"raise SystemExit('no data')\n", "script-stopped", None),
    "ends at once": (b"def main():\n    pass\n", "script-idle", None),
    "ends without a word": (b"import os\nos._exit(3)\n", "script-stopped", None),
}


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(("text", "check", "line"), ENDS.values(), ids=ENDS)
def test_its_end_is_told_at_its_own_line(
    tmp_path: Path, text: bytes, check: str, line: int | None
) -> None:
    put(tmp_path, "train.py", content=text)

    found = [one for one in look(tmp_path, "train.py").findings if one.check == check]

    assert [(one.at.file, one.at.line) for one in found] == [("train.py", line)]


OWN_NAME = """\
import threading
import preflight
from preflight{0} import RATE


def work():
    raise OSError(RATE)


if __name__ == "__main__":
    import multiprocessing
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print("rates", RATE, pool.map(preflight.twice, [RATE]))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raise preflight.Error(preflight.__file__)
"""
MODULE = b"RATE = 7\ntwice = (2).__mul__\n\n\nclass Error(Exception):\n    pass\n"


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize("within", ["", ".rates"], ids=["module", "package"])
def test_a_module_that_is_called_as_ours_is_the_scripts_own(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], within: str
) -> None:
    """In its main process and in one that is spawned; and it ends where it ends of Python."""
    put(tmp_path, "train.py", content=OWN_NAME.format(within).encode())
    put(tmp_path, "preflight/__init__.py" if within else "preflight.py", content=MODULE)
    if within:
        put(tmp_path, "preflight/rates.py", content=b"RATE = 7\n")
    plain = subprocess.run(  # noqa: PLW1510  its exit code is looked at
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True
    )
    report = look(tmp_path, "train.py")

    assert plain.stdout == "rates 7 [14]\n"
    assert plain.stdout in capfd.readouterr().err
    thread, main = report.findings
    assert "raises OSError: 7" in thread.message
    assert main.message == f"raises {plain.stderr.splitlines()[-1]}"
    assert (thread.at.line, main.at.line) == (7, 17)


@pytest.mark.usefixtures("at_hand")
def test_a_package_that_is_called_as_ours_within_as_well_is_told(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import preflight.scripts\n")
    put(tmp_path, "preflight/__init__.py", content=b"")
    put(tmp_path, "preflight/scripts.py", content=b"")

    report = look(tmp_path, "train.py")

    assert report.verdict == "cannot-judge"
    (why,) = {one.error for check in report.checks for one in check.broken}
    assert why.startswith("it has a module preflight.scripts of its own, and so has preflight")


@pytest.mark.usefixtures("at_hand")
def test_a_script_that_is_killed_could_not_be_judged(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import os\nos.kill(os.getpid(), 9)\n")

    assert look(tmp_path, "train.py").verdict == "cannot-judge"


@pytest.mark.usefixtures("at_hand")
def test_what_it_lacks_here_is_no_fault(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=b"import nothing_of_that_name\n")
    report = look(tmp_path, "train.py")

    assert report.verdict == "cannot-judge"
    (why,) = {one.error for check in report.checks for one in check.broken}
    assert "it needs nothing_of_that_name" in why


# Each a name that somebody asks for by it, and what the file of the job's has.
IN_THE_WAY = {
    "one of Python's that preflight knows, too": ("logging", b"", "train.py:2"),
    "one of Python's that says what it lacks": ("numbers", b"", "train.py:2"),
    "one that a package looks for": ("cuda", b"import torch.nn\n", "cuda.py:1"),
}


@pytest.mark.fresh
@pytest.mark.parametrize(("name", "text", "at"), IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_a_file_of_the_jobs_in_place_of_a_librarys_is_told_where_python_stops_at_it(
    tmp_path: Path, name: str, text: bytes, at: str
) -> None:
    put(tmp_path, f"{name}.py", content=text)
    put(tmp_path, "train.py", content=b"import json\nimport torch\n")
    plain = subprocess.run(  # noqa: PLW1510  its exit code is looked at
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True
    )
    if not plain.returncode:
        pytest.skip(f"this torch does not look for {name}")
    (finding,) = look(tmp_path, "train.py").findings

    file, _, line = at.partition(":")
    own = [one for one in plain.stderr.splitlines() if f'File "{tmp_path}' in one]
    assert own[-1].startswith(f'  File "{tmp_path / file}", line {line}, ')
    assert (finding.check, str(finding.at)) == ("script-stopped", at)
    assert finding.message[len("raises ") :][:80] in plain.stderr


def test_what_it_prints_of_exceptions_has_no_line_of_ours(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Caught, in a thread, and not caught: all as Python alone prints them."""
    text = b"""\
import copy, logging, threading, traceback

class Own:
    def __deepcopy__(self, memo):
        raise ValueError("not this")

def work():
    copy.deepcopy(Own())

for tell in (traceback.print_exc, lambda: logging.exception("so"), traceback.print_stack):
    try:
        work()
    except ValueError:
        tell()
thread = threading.Thread(target=work)
thread.start()
thread.join()
try:
    work()
except ValueError as error:
    raise RuntimeError("of it came") from error
"""
    put(tmp_path, "train.py", content=text)
    plain = subprocess.run(  # noqa: PLW1510  its exit code is looked at
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True
    )
    capfd.readouterr()
    look(tmp_path, "train.py")

    said = capfd.readouterr().err
    assert said[said.index("Traceback") : said.rindex("of it came")] in plain.stderr


@pytest.mark.usefixtures("at_hand")
def test_one_that_trains_in_processes_of_its_own_could_not_be_judged(tmp_path: Path) -> None:
    text = b"import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'pass'])\n"
    put(tmp_path, "launch.py", content=text)
    report = look(tmp_path, "launch.py")

    assert report.verdict == "cannot-judge"
    (why,) = {one.error for check in report.checks for one in check.broken}
    assert why.endswith("which are not watched: launch.py:2")


@pytest.mark.usefixtures("at_hand")
@pytest.mark.skipif(sys.platform == "win32", reason="stacks are asked for by a signal")
def test_one_that_waits_is_told_from_one_that_works(tmp_path: Path) -> None:
    put(
        tmp_path,
        "wait.py",
        content=b"import threading\nprint(1)\nthreading.Lock().acquire()\n"
        b"threading.Event().wait()\n",
    )
    put(tmp_path, "work.py", content=b"while True:\n    pass\n")
    (finding,) = look(tmp_path, "wait.py", timeout=3.0).findings
    busy = look(tmp_path, "work.py", timeout=2.0)

    assert (finding.check, str(finding.at)) == ("script-stuck", "wait.py:4")
    assert busy.verdict == "cannot-judge"
    (why,) = {one.error for check in busy.checks for one in check.broken}
    assert why.startswith("it was at work at work.py:")


def test_facts_go_to_json_and_back() -> None:
    from preflight.facts import Ended, Frame, Met, Raised
    from preflight.kinds.rooms import facts_of
    from preflight.values.wire import to_brief

    line = Frame(file="train.py", line=3, function="main", text="x")
    facts = Rehearsal(
        name="train.py a b",
        file="train.py",
        ended=Ended(how="raised", raised=Raised(error="E", frames=(line,))),
        met=(Met(what="loader", at=line, count=2, epochs=1),),
    )

    assert facts_of({"type": "Rehearsal", **to_brief(facts)}) == facts
