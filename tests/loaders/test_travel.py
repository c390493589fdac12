"""What a loader sends is loaded in real workers, and what these cannot load is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import preflight
from preflight.loaders.facts import Loaded
from preflight.values.wire import from_wire
from tests.loaders.test_loaded_in_runs import TOP as NUMBERS
from tests.warming import CAN_COPY, start_copies

pytestmark = pytest.mark.waits

ROOT = Path(__file__).parents[2]

TOP = """
import functools, os, signal, sys, threading, time, types

class Fussy:
    def __new__(cls, *given):
        assert given, "give me something"
        return super().__new__(cls)

class Dying:
    def __setstate__(self, state):
        os._exit(7)
    def __getstate__(self):
        return {"a": 1}

class Killed(Dying):
    def __setstate__(self, state):
        os.kill(os.getpid(), signal.SIGKILL)

class Slow(Dying):
    def __setstate__(self, state):
        time.sleep(600)

class Unequal:
    def __init__(self):
        self.labels = numpy.ones(1 << 18)
    def __setstate__(self, state):
        assert state["labels"].all(), "a label is zero"
        self.__dict__.update(state)
"""

LOOK = """
import json, sys
import preflight.processes.child; sys.path.pop(0)
from preflight.values.wire import to_wire
from preflight.loaders.travel import travel
from preflight.loaders.sent import Known
from preflight.loaders.workers.fresh import Surroundings
import psutil
sys.path[:1] = [{folder!r}]
import job

loader = DataLoader = job.make()
around = Surroundings(timeout={timeout}, alive=lambda: None, path=sys.path[:], files={{}})
sent, loaded = travel(loader, Known("loader", {folder!r}, start_method="spawn"), around)
if "torch_template" in sys.modules:
    sys.modules["torch_template"].Template.ours.end()
left = [one.cmdline() for one in psutil.Process().children(recursive=True)]
left = [one for one in left if not hasattr(job, "kept") or "resource_tracker" not in one[-1]]
print("FACTS" + json.dumps({{"loaded": to_wire(loaded), "left": left}}))
"""


def look(folder: Path, code: str, *, timeout: float = 60, fresh: bool = False) -> Loaded:
    """Look at the loader that `make` gives, in a process as a run has one; nothing is left over.

    Where `fresh`, each worker imports torch itself.
    """
    (folder / "job.py").write_text(NUMBERS + TOP + textwrap.dedent(code), encoding="utf-8")
    text = LOOK.format(folder=str(folder), timeout=timeout)
    with pytest.MonkeyPatch.context() as patch:
        if not fresh:
            start_copies(patch)
        done = subprocess.run(
            [sys.executable, "-c", text],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.partition("FACTS")[2])
    assert facts["left"] == []
    return from_wire(Loaded, facts["loaded"])


def outcomes(loaded: Loaded) -> list[str]:
    """Say how each way ended."""
    return [trip.outcome for trip in loaded.trips]


def test_a_healthy_loader_is_loaded_by_both(tmp_path: Path) -> None:
    """With tensors, arrays large and small, partials, cycles; and no process stays behind."""
    loaded = look(
        tmp_path,
        """
        def add(a, b):
            return a + b
        def make():
            shared = torch.arange(10)
            ring = []
            ring.append(ring)
            big = torch.zeros(1 << 20)
            return DataLoader(Numbers(
                shared, shared[2:], big, big.view(2, -1), big.bfloat16(), torch.zeros(0),
                torch.nn.Parameter(torch.ones(2)), torch.nn.Linear(2, 2), torch.float16,
                numpy.zeros(1 << 18), numpy.zeros((4, 4), order="F"),
                numpy.array(["a", None], object),
                numpy.rec.array(numpy.zeros(1 << 18, [("a", "i4")])), functools.partial(add, b=3),
                ring, bytes(1 << 21), bytearray(1 << 21), "x" * (1 << 21), threading.Thread,
                torch.sparse_coo_tensor([[0]], [1.0], (4,)), torch.Generator().get_state(),
            ), num_workers=2)
        """,
        fresh=True,
    )

    assert outcomes(loaded) == ["loaded", "loaded"]
    assert loaded.objects == ()
    assert loaded.weight is not None
    assert loaded.weight.bytes > 9 << 20
    assert 4 << 20 <= loaded.weight.shared_bytes < 16 << 20
    assert all(trip.seconds_to_start and trip.seconds_to_start > 0 for trip in loaded.trips)


def test_without_workers_nothing_is_started(tmp_path: Path) -> None:
    loaded = look(tmp_path, "def make(): return DataLoader(Numbers(Fussy(1)))")

    assert (loaded.trips, loaded.objects, loaded.weight) == ((), (), None)


def test_the_innermost_object_is_named_with_all_its_paths(tmp_path: Path) -> None:
    loaded = look(
        tmp_path,
        """
        class Trainer:
            def __init__(self):
                self.config = Fussy(1)
            def collate(self, batch):
                return batch
        def make():
            trainer = Trainer()
            return DataLoader(Numbers({"a": [trainer]}), num_workers=1, collate_fn=trainer.collate)
        """,
    )

    (one,) = loaded.objects
    assert one.type == "job.Fussy"
    assert one.paths == ("dataset.held[0]['a'][0].config", "collate_fn.__self__.config")
    assert one.error == "AssertionError: give me something"
    assert (one.defined.file, one.raised.file) == ("job.py", "job.py")
    assert one.raised.line_text == 'assert given, "give me something"'
    assert outcomes(loaded) == ["refused", "refused"]


def test_all_of_them_are_named_in_one_look(tmp_path: Path) -> None:
    """Also beside what cannot be sent at all, and those that come after a death."""
    loaded = look(
        tmp_path,
        """
        def needs(value, *, unit):
            return value
        class Reduced:
            def __reduce__(self):
                return needs, (1,)
        def make():
            held = [Fussy(1), lambda x: x, Dying(), Reduced()]
            return DataLoader(Numbers(*held), num_workers=1)
        """,
    )

    named = {one.paths[0]: one.error for one in loaded.objects}
    assert named.keys() == {"dataset.held[0]", "dataset.held[2]", "dataset.held[3]"}
    assert named["dataset.held[2]"] == "the worker ended by itself with exit status 7"
    assert "unit" in named["dataset.held[3]"]
    assert loaded.unsendable == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_a_worker_that_is_killed_is_put_down_to_its_object(tmp_path: Path) -> None:
    loaded = look(tmp_path, "def make(): return DataLoader(Numbers(1, Killed()), num_workers=1)")

    (one,) = loaded.objects
    assert one.paths == ("dataset.held[1]",)
    assert "SIGKILL" in one.error
    assert outcomes(loaded) == ["died", "died"]


def test_a_worker_that_never_comes_back_is_put_down_to_its_object(tmp_path: Path) -> None:
    code = "def make(): return DataLoader(Numbers(1, Slow()), num_workers=1)"

    loaded = look(tmp_path, code, timeout=4 if CAN_COPY else 13)

    (one,) = loaded.objects
    assert one.paths == ("dataset.held[1]",)
    assert "said nothing for" in one.error
    assert one.how == "stuck"
    assert (one.raised.file, one.raised.line_text) == ("job.py", "time.sleep(600)")
    assert outcomes(loaded) == ["late", "late"]


def test_what_a_worker_looks_for_in_vain_is_named(tmp_path: Path) -> None:
    """A module that was never on disk, and a function that is only there in the first process."""
    loaded = look(
        tmp_path,
        """
        def make():
            module = types.ModuleType("conjured")
            exec("def crop(x): return x", module.__dict__)
            sys.modules["conjured"] = module
            def here(x):
                return x
            here.__qualname__ = "late_comer"
            globals()["late_comer"] = here
            return DataLoader(Numbers(module.crop, here), num_workers=1)
        """,
    )

    assert {one.paths[0]: one.missing for one in loaded.objects} == {
        "dataset.held[0]": "conjured",
        "dataset.held[1]": "job.late_comer",
    }


def test_instances_of_a_class_that_is_not_found_are_one_object(tmp_path: Path) -> None:
    loaded = look(
        tmp_path,
        """
        def make():
            kind = type("Conjured", (), {"__module__": "job"})
            globals()["Conjured"] = kind
            return DataLoader(Numbers(kind(), [kind(), kind]), num_workers=1)
        """,
    )

    (one,) = loaded.objects
    assert one.missing == "job.Conjured"
    assert one.paths == ("dataset.held[0]", "dataset.held[1][0]", "dataset.held[1][1]")


@pytest.mark.skipif(sys.platform != "linux", reason="tensors are shared by name there")
def test_a_tensor_that_is_gone_before_the_worker_starts_is_named(tmp_path: Path) -> None:
    """Its memory goes by a descriptor, which is closed with it."""
    if not hasattr(torch.Generator, "graphsafe_get_state"):
        pytest.skip(f"torch {torch.__version__} pickles no generator")
    loaded = look(
        tmp_path,
        """
        class Doubles:
            kept = torch.ones(4)
            def __getstate__(self):
                return {"doubled": self.kept * 2}
        def make():
            held = [torch.ones(4), torch.Generator(), {"a": Doubles()}]
            return DataLoader(Numbers(*held), num_workers=1)
        """,
    )

    assert {one.paths[0]: one.how for one in loaded.objects} == {
        "dataset.held[1]": "gone",
        "dataset.held[2]['a']": "gone",
    }
    assert outcomes(loaded) == ["refused", "refused"]


def test_what_only_misses_what_was_left_out_is_not_blamed(tmp_path: Path) -> None:
    """The lambda is left out for the look; its holder asks for it and is sound with it."""
    loaded = look(
        tmp_path,
        """
        class Holder:
            def __init__(self):
                self.function = lambda x: x
            def __setstate__(self, state):
                assert callable(state["function"])
                self.__dict__.update(state)
        def make():
            return DataLoader(Numbers(Holder()), num_workers=1)
        """,
    )

    assert loaded.objects == ()
    assert outcomes(loaded) == ["unsent", "unsent"]


def test_a_module_that_starts_processes_at_import_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "unguarded.py").write_text(
        textwrap.dedent(
            """
            import multiprocessing
            def crop(x):
                return x
            def idle():
                pass
            process = multiprocessing.get_context("spawn").Process(target=idle)
            if getattr(multiprocessing.current_process(), "_inheriting", False):
                process.start()
            """
        ),
        encoding="utf-8",
    )

    loaded = look(
        tmp_path,
        """
        def make():
            import unguarded
            return DataLoader(Numbers(unguarded.crop), num_workers=1)
        """,
    )

    assert loaded.started_work == "unguarded.py:9"
    assert loaded.objects == ()  # it is sound, and nobody came to it
    assert outcomes(loaded) == ["refused", "refused"]


def test_a_real_culprit_beside_large_data_is_no_guess(tmp_path: Path) -> None:
    loaded = look(
        tmp_path,
        """
        class Raises:
            def __setstate__(self, state):
                raise ValueError("never")
            def __getstate__(self):
                return {"a": 1}
        def make():
            return DataLoader(Numbers(numpy.zeros(300 << 20, "u1"), Raises()), num_workers=1)
        """,
    )

    assert [(one.paths[0], one.guess) for one in loaded.objects] == [("dataset.held[1]", False)]


ARRIVING = {
    "data that minds zeros in its place, and is sent once more": """
        def make():
            return DataLoader(Numbers(Unequal()), num_workers=1)
        """,
    "locks and pipes, which travel while a process starts only": """
        import multiprocessing
        def make():
            spawn = multiprocessing.get_context("spawn")
            global kept
            kept = [spawn.Lock(), spawn.Queue(), spawn.Value("i", 3), spawn.Array("d", 10),
                    spawn.Event(), spawn.SimpleQueue(), *spawn.Pipe()]
            return DataLoader(Numbers(*kept), num_workers=1)
        """,
    "beside a start method that is chosen later, and would raise were it settled": """
        import atexit, multiprocessing
        atexit.register(multiprocessing.set_start_method, "forkserver")
        def make():
            return DataLoader(Numbers(), num_workers=1)
        """,
    "what looks for a parent and a number, which a worker that starts has not": """
        import multiprocessing
        class Curious:
            def __setstate__(self, state):
                me = multiprocessing.current_process()
                assert multiprocessing.parent_process() is None
                assert me._identity == () and me._inheriting
            def __getstate__(self):
                return {"a": 1}
        def make():
            return DataLoader(Numbers(Curious()), num_workers=1)
        """,
    "what starts a process that inherits our pipes, and outlives its worker": """
        kept = True
        class Forks:
            def __setstate__(self, state):
                if os.fork() == 0:
                    time.sleep(5)
                    os._exit(0)
            def __getstate__(self):
                return {"a": 1}
        def make():
            return DataLoader(Numbers(Forks()), num_workers=1)
        """,
}


@pytest.mark.parametrize("case", ARRIVING)
def test_it_is_loaded_by_both(tmp_path: Path, case: str) -> None:
    code = ARRIVING[case]
    if "os.fork" in code and sys.platform == "win32":
        pytest.skip("there is no fork")
    loaded = look(tmp_path, code)

    assert outcomes(loaded) == ["loaded", "loaded"]
    assert loaded.objects == ()


# --- a look from the caller's own process ---------------------------------------------------------

SCRIPT = """
import sys
sys.path.append({root!r})
import preflight
from torch.utils.data import DataLoader

class Fussy:
    def __new__(cls, *given):
        assert given
        return super().__new__(cls)
    def __call__(self, batch):
        return batch

{guard}:
    report = preflight.inspect(
        loader=DataLoader([1], collate_fn=Fussy(1), num_workers=1), start_method="spawn"
    )
    with open("report.json", "a", encoding="utf-8") as file:
        file.write(report.to_json())
"""


def ran(folder: Path, text: str, **variables: str) -> tuple[int, str, str]:
    """Run a script: its exit status, and what it says."""
    (folder / "script.py").write_text(text, encoding="utf-8")
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def inspected(folder: Path, guard: str) -> preflight.Report:
    """Run a script that looks at its own loader."""
    assert ran(folder, SCRIPT.format(root=str(ROOT), guard=guard)) == (0, "", "")
    return preflight.Report.from_json((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.usefixtures("at_hand")
def test_a_guarded_script_is_told_the_same(tmp_path: Path) -> None:
    """The worker imports the script as its main module, and finds the class there."""
    report = inspected(tmp_path, 'if __name__ == "__main__"')

    found = [one for one in report.findings if one.check == "loader-unloadable"]
    assert [one.at.name for one in found] == ["collate_fn"]
    assert "Fussy" in found[0].message


@pytest.mark.usefixtures("at_hand")
def test_no_worker_is_started_from_a_main_module_without_a_guard(tmp_path: Path) -> None:
    report = inspected(tmp_path, "if True")

    assert report.findings == ()
    (outcome,) = (one for one in report.checks if one.id == "loader-unloadable")
    assert outcome.outcome == "skipped"
    assert "line" in outcome.skipped[0].reason and "not guarded" in outcome.skipped[0].reason
    assert any("No worker was started" in one for one in report.reasons)


ASKING = {
    "a test": """
        if preflight.inspect(loader=loader).verdict == "no-go":
            raise SystemExit
        """,
    "a loop": """
        for one in [preflight.inspect(loader=loader)]:
            pass
        """,
    "a decorator": """
        def run(function):
            return function()
        @run
        def look():
            return preflight.inspect(loader=loader)
        """,
    "a class body": """
        class Look:
            report = preflight.inspect(loader=loader)
        """,
    "a thread": """
        import threading
        thread = threading.Thread(target=preflight.inspect, kwargs={"loader": loader})
        thread.start()
        thread.join()
        """,
}
ASKED = """
import sys
sys.path.append({root!r})
print("runs", flush=True)
import preflight
from torch.utils.data import DataLoader
loader = DataLoader([1], num_workers=1)
"""


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize("way", ASKING)
def test_a_script_is_not_run_again_by_looking_at_it(tmp_path: Path, way: str) -> None:
    text = ASKED.format(root=str(ROOT)) + textwrap.dedent(ASKING[way])

    assert ran(tmp_path, text) == (0, "runs\n", "")


LEFT_ALONE = """
import os, random, sys
sys.path.append({root!r})
import multiprocessing, tempfile
import preflight
from torch.utils.data import DataLoader

def state():
    return {{
        "fds": len(os.listdir("/proc/self/fd")),
        "method": multiprocessing.get_start_method(allow_none=True),
        "path": sys.path[:],
        "random": random.getstate(),
        "tempdir": multiprocessing.current_process()._config.get("tempdir"),
        "files": sorted(os.listdir(tempfile.gettempdir())),
        "name": multiprocessing.Process().name,
    }}

if __name__ == "__main__":
    preflight.inspect(loader=DataLoader([1]))
    before = state()
    report = preflight.inspect(loader=DataLoader([1], num_workers=2))
    after = state()
    assert report.verdict == "go", report
    assert before.pop("name") == "Process-1" and after.pop("name") == "Process-2"
    assert before == after, (before, after)
    multiprocessing.set_start_method("spawn")
"""


@pytest.mark.usefixtures("at_hand")
@pytest.mark.skipif(sys.platform != "linux", reason="it counts descriptors in /proc")
def test_the_callers_process_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    text = LEFT_ALONE.format(root=str(ROOT))

    assert ran(tmp_path, text, TMPDIR=str(tmp_path / "tmp")) == (0, "", "")


def test_what_one_line_keeps_and_one_line_refuses_is_told_once(tmp_path: Path) -> None:
    """The text of an error may name the object, and is not what tells them apart."""
    loaded = look(
        tmp_path,
        """
        class Numbered(Dying):
            def __init__(self, number):
                self.number = number
            def __getstate__(self):
                return self.number
            def __setstate__(self, number):
                raise ValueError(f"no {number}")
        class Other(Numbered):
            pass
        def make():
            return DataLoader(Numbers(*map(Numbered, range(3)), [Other(3)]), num_workers=1)
        """,
    )

    assert [(one.type, one.alike, one.paths[0]) for one in loaded.objects] == [
        ("job.Numbered", 3, "dataset.held[0]"),
        ("job.Other", 1, "dataset.held[3][0]"),
    ]


def test_methods_of_what_is_left_out_are_left_out_with_it(tmp_path: Path) -> None:
    """A queue has conditions, which keep `acquire` and `release` of its lock."""
    loaded = look(
        tmp_path,
        """
        import queue
        def make():
            return DataLoader(Numbers(*(queue.Queue() for _ in range(5))), num_workers=1)
        """,
    )

    assert loaded.objects == ()
