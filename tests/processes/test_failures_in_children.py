"""Code of ours that fails in a child, among code of the job, is told as a bug of preflight.

Each fault is planted in the file that has it, in a real process.
"""

from __future__ import annotations

import pickle
import re
import sys
import traceback
from pathlib import Path

import pytest

import preflight
from preflight.batches import tracebacks
from preflight.batches.child import drawing
from preflight.findings.our_failures import ElsewhereError
from preflight.findings.report import Report
from preflight.flow import counting
from preflight.loaders.workers import fresh
from preflight.scripts.failing import has_failed
from preflight.scripts.watch import TOLD, Watch
from preflight.values.own_files import PACKAGE
from tests.warming import copies

pytestmark = pytest.mark.usefixtures("at_hand")

# Has a function of ours raise, in the process that imports it, as if its own line did so.
PLANTS = """
import os, sys, importlib.util
module, _, name = os.environ["FAULT"].partition(":")
*path, last = name.split(".")

def plant(made):
    owner = made
    for one in path:
        owner = getattr(owner, one)
    error = os.environ.get("RAISES", "KeyError")
    text = f"def {last}(*given, **named):\\n    raise {error}('planted')\\n"
    space = {}
    exec(compile(text, made.__file__, "exec"), space)
    whole = getattr(owner, last)
    setattr(owner, last, space[last])
    for known, other in list(sys.modules.items()):
        if known.startswith("preflight.") and vars(other).get(last) is whole:
            setattr(other, last, space[last])

class Finder:
    def find_spec(self, wanted, path=None, target=None):
        if wanted != module or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(wanted)
        run = spec.loader.exec_module
        def exec_module(made):
            run(made)
            plant(made)
        spec.loader.exec_module = exec_module
        return spec
if module in sys.modules:  # a copy begins with it
    plant(sys.modules[module])
else:
    sys.meta_path.insert(0, Finder())
"""

BARE = """
import os, subprocess, sys
try:
    with open("made.txt", "w") as file:
        file.write("text")
except Exception:
    sys.exit("caught")
print("the end")
"""

SWALLOWS = """
import os
open("made.txt", "w").close()
for remove, odd in [(os.remove, "made.txt"), *((open, one) for one in (None, "\\0", "no", "."))]:
    try:
        remove(odd)
    except Exception as error:
        print("the script goes on", error)
"""

LOADER = """
import copy, torch
from torch.utils.data import DataLoader, TensorDataset

def make_loader():
    return DataLoader(TensorDataset(torch.randn(8, 2)), batch_size=2)

def make_model():
    return torch.nn.Linear(2, 1)

if __name__ == "__main__":
    model = copy.deepcopy(make_model())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        for (batch,) in make_loader():
            try:
                model(batch).sum().backward()
                optimizer.step()
            except Exception as error:
                print("the script goes on", error)
    torch.save(model.state_dict(), "model.pt")
"""


class Unloadable:
    """One of the job's, whose state it does not take."""

    def __reduce__(self) -> tuple[object, ...]:
        return eval, ("[][0]",)


IN_SCRIPTS = (
    "preflight.overlay.layer:Layer.writing",
    "preflight.scripts.surroundings.as_main:make_room",
    "preflight.scripts.inside:_points",
    "preflight.scripts.watch:Watch.tell",
)
# Among torch's own calls; the last of these fails when all of the script has ended.
AMONG_TORCHS = (
    "preflight.scripts.met.loops.passes:Passes.begin",
    "preflight.training.trained:Trained.look",
    "preflight.scripts.saving.log:Log.read_back",
)
IN_OTHERS = {
    "the loader": ("preflight.loaders.travel:travel", "loader=job:make_loader"),
    "its batches": ("preflight.batches.child.drawing:_drawn", "loader=job:make_loader"),
    "its epochs": ("preflight.batches.child.passing:run_epoch", "loader=job:make_loader"),
    "a rank": ("preflight.ranks.made.epoch_items:told_of_epoch", "loader=job:make_loader"),
    "the model": ("preflight.models.read:copy_model", "model=job:make_model"),
    "what counts": ("preflight.flow.fitting:Fitting.stream", "loader=job:make_loader"),
}


def look(
    folder: Path, patch: pytest.MonkeyPatch, fault: str, text: str, word: str, **flags: object
) -> Report:
    (folder / "path").mkdir()
    (folder / "path" / "sitecustomize.py").write_text(PLANTS)
    (folder / "job.py").write_text(text)
    patch.setenv("PYTHONPATH", str(folder / "path"))
    patch.setenv("FAULT", fault)
    return preflight.run(word, folder=str(folder), elsewhere=True, no_ledger=True, **flags)


def is_told_as_ours(report: Report, error: str = "KeyError: 'planted'") -> None:
    broken = {one for outcome in report.checks for one in outcome.broken}
    assert (report.verdict, report.findings) == ("cannot-judge", ())
    assert broken
    for one in broken:
        assert one.error.startswith(f"a bug of preflight: {error}")
        assert (one.fix or "").endswith("preflight report")


@pytest.mark.parametrize("fault", IN_SCRIPTS)
def test_a_failure_around_a_script_is_ours(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    fault: str,
) -> None:
    is_told_as_ours(look(tmp_path, monkeypatch, fault, BARE, "script=job.py"))

    assert "KeyError: 'planted'" in capfd.readouterr().err


def test_a_failure_of_the_layer_is_ours_where_the_script_catches_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what the layer refuses, as Python's own functions do, is the script's to catch."""
    fault = "preflight.overlay.layer:Layer.remove"
    is_told_as_ours(look(tmp_path, monkeypatch, fault, SWALLOWS, "script=job.py"))

    monkeypatch.setenv("RAISES", "OSError")
    same = preflight.run("script=job.py", folder=str(tmp_path), elsewhere=True, no_ledger=True)
    is_told_as_ours(same, "OSError: planted")

    monkeypatch.setenv("FAULT", "preflight.no_such_module:name")
    sound = preflight.run("script=job.py", folder=str(tmp_path), elsewhere=True)
    assert [one.check for one in sound.findings] == ["script-idle"]
    assert not any(outcome.broken for outcome in sound.checks)


@pytest.mark.slow
@pytest.mark.parametrize("fault", AMONG_TORCHS)
def test_a_failure_among_calls_of_torch_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Also where the script catches all exceptions around them, and where it has ended."""
    is_told_as_ours(look(tmp_path, monkeypatch, fault, LOADER, "script=job.py"))


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "word"), IN_OTHERS.values(), ids=list(IN_OTHERS))
def test_a_failure_in_another_child_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, word: str
) -> None:
    # As all copies have it: no rank is made anew for the sake of another one.
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    is_told_as_ours(look(tmp_path, monkeypatch, fault, LOADER, word, world_size=2))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "word"),
    [
        *(IN_OTHERS[one] for one in ("the model", "its batches", "a rank")),
        *((one, "script=job.py") for one in (IN_SCRIPTS[2], AMONG_TORCHS[1])),
    ],
)
def test_an_exit_of_ours_is_a_failure_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, word: str
) -> None:
    """The job did not call for it, whose own `sys.exit` is told as its own."""
    monkeypatch.setenv("PYTHONHASHSEED", "2")
    monkeypatch.setenv("RAISES", "SystemExit")
    report = look(tmp_path, monkeypatch, fault, LOADER, word, world_size=2)

    is_told_as_ours(report, "SystemExit: planted")


EXITS = """
import sys, torch

class Net(torch.nn.Linear):
    def __deepcopy__(self, memo):
        sys.exit(4)

def make_model():
    if "{}":
        sys.exit(4)
    return Net(2, 1)
"""


@pytest.mark.parametrize(
    ("calls", "check"), [("yes", "target-unbuildable"), ("", "model-uncopyable")]
)
def test_an_exit_of_the_job_is_its_own(tmp_path: Path, calls: str, check: str) -> None:
    """In the factory, and in its own code that runs while we look at what that gave."""
    (tmp_path / "job.py").write_text(EXITS.format(calls))

    word = "model=job:make_model"
    report = preflight.run(word, folder=str(tmp_path), elsewhere=True, no_ledger=True)

    assert [one.check for one in report.findings] == [check]
    assert not any(outcome.broken for outcome in report.checks)


JOBS = {
    "a file that is not there": ("open('absent.txt')", "FileNotFoundError"),
    "a folder that is there": ("os.mkdir('.')", "FileExistsError"),
    "no mode": ("open('a', 'zz')", "ValueError"),
    "no arguments": ("open()", "TypeError"),
    "an exit code of a child": ("subprocess.run(['false'], check=True)", "CalledProcessError"),
    "no such program": ("subprocess.run(['no-such-program'])", "FileNotFoundError"),
    "a stack that is too deep": ("f = lambda: print(f()); f()", "RecursionError"),
    "what it prints": ("print('a', file=sys.stdout.buffer)", "TypeError"),
    "a tree that is not there": ("__import__('shutil').rmtree('absent')", "FileNotFoundError"),
    "no Python": ("x = = 1", "SyntaxError"),
}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Have each job run, by one command."""
    folder = tmp_path_factory.mktemp("jobs")
    words = []
    for number, (line, _) in enumerate(JOBS.values()):
        (folder / f"job{number}.py").write_text(f"import os, subprocess, sys\n\n{line}\n")
        words.append(f"script=job{number}.py")
    with copies():
        return preflight.run(*words, folder=str(folder), elsewhere=True, no_ledger=True)


@pytest.mark.parametrize("job", JOBS)
def test_what_the_job_raises_through_lines_of_ours_is_its_own(job: str, jobs: Report) -> None:
    """Whoever calls what we stand around is told of it at his own line."""
    number, (_, error) = [*JOBS].index(job), JOBS[job]

    assert jobs.verdict == "no-go", jobs.checks
    found = [one for one in jobs.findings if one.at.file == f"job{number}.py"]
    (one,) = (one for one in found if one.check == "script-stopped")
    assert (error in one.message, one.at.line) == (True, 3)


def test_a_failure_in_a_worker_of_the_round_trip_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given the text of our code, which has no file there."""
    whole = fresh.inspect.getsource
    head = re.compile(r"(?<=\ndef _load\()[^\n]*:\n")
    planted = "stream, order, place):\n    order[9]\n"
    monkeypatch.setattr(fresh.inspect, "getsource", lambda module: head.sub(planted, whole(module)))
    around = fresh.Surroundings(timeout=60, alive=lambda: None, path=sys.path, files={})
    worker = fresh.start("spawn", around)
    worker.order(roots=0, slowly=False)

    with pytest.raises(ElsewhereError, match=r"a bug of preflight: KeyError: 9 \(in a worker\)"):
        worker.answer()

    worker.end()


@pytest.mark.parametrize(("function", "is_ours"), [("swallowed", True), ("__next__", False)])
def test_a_failure_of_what_counts_in_a_worker_is_ours(
    tmp_path: Path, function: str, *, is_ours: bool
) -> None:
    """Torch hands on what a worker has printed; what only calls the job's stage is the job's."""
    place = f'  File "{counting.__file__}", line 70, in {function}\n    a line\n'
    error = RuntimeError(
        "Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call "
        f"last):\n{place}KeyError: 'a'\n"
    )

    if is_ours:
        with pytest.raises(ElsewhereError, match="a bug of preflight: KeyError: 'a'"):
            drawing.raised(error, ".", ())
    else:
        assert drawing.raised(error, ".", ())["error"] == "KeyError: 'a'"

    options: dict[str, object] = {"root": str(tmp_path), "wants": ()}
    scratch, folder = str(tmp_path), str(tmp_path)
    watch = Watch(root=folder, scratch=scratch, folder=folder, batches=2, epochs=2, options=options)
    assert has_failed(error, watch) is is_ours
    told = (tmp_path / TOLD).read_text() if is_ours else ""
    assert ("a bug of preflight: KeyError: 'a' (preflight/flow/counting.py:70" in told) is is_ours


@pytest.mark.parametrize(
    ("broken", "by"), [("_LOAD", "[][0]"), ("_OWN", f"{PACKAGE}no-file.py"), ("", "")]
)
def test_a_worker_that_ends_as_it_loads_what_counts_has_failed_by_us(
    monkeypatch: pytest.MonkeyPatch, broken: str, by: str
) -> None:
    """Torch is told that it ended, and what it has printed says the rest."""
    if broken:
        monkeypatch.setattr(counting, broken, by)
    sent = pickle.dumps(
        counting.Tap(counting.StageCounts("", 0, ()), 0) if broken else Unloadable()
    )
    monkeypatch.delitem(sys.modules, counting._NAME, raising=False)

    with pytest.raises(Exception) as seen:  # noqa: PT011  whatever it is
        pickle.loads(sent)
    text = "".join(traceback.format_exception(seen.value))

    ours = tracebacks.our_failure(tracebacks.printed(text)[-1], text)
    assert (ours is not None) is bool(broken)
