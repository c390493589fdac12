"""A process that is a copy is as one that was started: what it sees is compared in full."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import preflight
from tests.warming import CAN_COPY, start_copies

pytestmark = pytest.mark.skipif(not CAN_COPY, reason="processes are started as ever here")

TEMPLATE = "torch_template"

LOOK = """
import json, multiprocessing, os, resource, signal, sys, threading, warnings
import mmap, multiprocessing.resource_tracker, multiprocessing.spawn  # as a newer torch does
import torch.utils.data

def kinds():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}").partition(":")[0]
        except OSError:
            pass  # the folder itself

def told():
    with open("/proc/self/environ", encoding="utf-8") as file:
        return sorted(one for one in file.read().split("\\0") if one)

def look(channel, parent):
    channel.send(state(parent))
    sys.exit(3)

def state(parent):
    me, main = multiprocessing.current_process(), sys.modules["__main__"]
    return {
        "is a copy": "torch_template" in sys.modules,
        "descriptors": sorted(kinds()),
        "environment": dict(os.environ),
        "environment as told": told(),
        "folder": os.getcwd(),
        "path": sys.path,
        "words": sys.argv,
        # Python keeps what is said of byte code twice, and a copy can set the one that it goes by.
        "flags": repr(sys.flags).replace("dont_write_bytecode=1", "dont_write_bytecode=0"),
        "keeps no byte code": sys.dont_write_bytecode,
        "modules": sorted(set(sys.modules) - {"torch_template"}),
        "main": (main.__name__, main.__file__),
        "names": sorted(name for name in vars(main) if name[:2] != "__"),
        "method": multiprocessing.get_start_method(allow_none=True),
        "process": (me.name, me.daemon, me.authkey.hex(), os.getpid() == me.pid),
        "a child": (os.getppid() == parent, os.getpid() == os.getpgid(0)),
        "of its session": os.getsid(0) == os.getsid(parent),
        "signals": [str(signal.getsignal(one)) for one in signal.Signals],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "limits": [resource.getrlimit(number) for number in range(10)],
        "threads": [one.name for one in threading.enumerate()],
        "torch's": torch.get_num_threads(),
        "warnings": repr(warnings.filters),
        "streams": [one.encoding for one in (sys.stdin, sys.stdout, sys.stderr)],
    }

def seen(method):
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=look, args=(theirs, os.getpid()), daemon=True)
    process.start()
    theirs.close()
    told = ours.recv()
    process.join()
    if method == "forkserver":
        multiprocessing.forkserver._forkserver._stop()
    return {**told, "status": process.exitcode}

if __name__ == "__main__":
    multiprocessing.current_process().authkey = b"the same"
    found = [state(os.getppid())]
    if len(sys.argv) == 1:
        print(json.dumps(found))
        sys.exit()
    os.environ["LATER"] = "1"
    os.chdir("elsewhere")
    sys.path.append("/from/the/job")
    multiprocessing.process._process_counter = iter([1, 1])
    found.append(seen(sys.argv[1]))
    if "torch_template" in sys.modules:
        sys.modules["torch_template"].Template.ours.end()
    print(json.dumps([*found, seen(sys.argv[1])]))
"""


# What starts another, as the command does.
STARTER = """
import subprocess, sys
if __name__ == "__main__":
    known = sys.modules["torch_template"]
    subprocess.Popen._execute_child = known.starting_by(lambda: known.Template.ours)
    sys.exit(subprocess.run([sys.executable, *sys.argv[1:]], start_new_session=True).returncode)
"""


def run(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Run it, and give what it has seen, and its workers, where it is told how to start them."""
    (folder / "starter.py").write_text(STARTER, encoding="utf-8")
    (folder / "look.py").write_text(LOOK, encoding="utf-8")
    (folder / "elsewhere").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(folder / "more"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    return list(json.loads(done.stdout))


@pytest.mark.parametrize("before", [[], ["starter.py"]], ids=["ours", "that of one of ours"])
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_sees_what_a_fresh_one_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, before: list[str]
) -> None:
    """The first is a copy, and the second is started, since the template is gone."""
    start_copies(monkeypatch, also=())

    _, first, second = run(tmp_path, *before, "look.py", method)

    assert (first.pop("is a copy"), second.pop("is a copy")) == (True, False)
    assert first == second


@pytest.mark.parametrize(("seed", "is_a_copy"), [("2", True), ("1", False)])
def test_sets_are_ordered_by_the_seed_that_is_said(
    seed: str, *, is_a_copy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each template has a seed, and none of its copies can have another."""

    def told(code: str) -> str:
        return subprocess.check_output([sys.executable, "-c", code], text=True)

    monkeypatch.setenv("PYTHONHASHSEED", seed)
    fresh = told("print(hash('a name'))")
    monkeypatch.delenv("PYTHONHASHSEED")
    start_copies(monkeypatch, also=())
    monkeypatch.setenv("PYTHONHASHSEED", seed)

    assert told("print(hash('a name'))") == fresh
    assert told("import sys; print('torch_template' in sys.modules)") == f"{is_a_copy}\n"


def test_a_process_sees_what_a_fresh_one_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the line to its own template."""
    (fresh,) = run(tmp_path, "look.py")
    start_copies(monkeypatch, also=())
    (copy,) = run(tmp_path, "look.py")

    assert (copy.pop("is a copy"), fresh.pop("is a copy")) == (True, False)
    copy["descriptors"].remove("socket")
    assert copy == fresh


def test_what_preflight_starts_is_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The process of the user's code, and its scripts: else each of them imports torch anew."""
    tell = f"import sys\nprint('a copy:', {TEMPLATE!r} in sys.modules, file=sys.stderr)\n"
    (tmp_path / "job.py").write_text(f"{tell}import torch\ndef make(): return torch.nn.ReLU()\n")
    (tmp_path / "train.py").write_text(tell)
    start_copies(monkeypatch)

    preflight.run("job:make", "train.py", folder=str(tmp_path), select=["model-", "script-"])

    told = re.findall(r"a copy: (\w+)", capfd.readouterr().err)
    assert len(told) > 1
    assert {*told} == {"True"}


_NEXT = Path("/proc/sys/kernel/ns_last_pid")
"""What Linux gives the next process that is started follows this number."""

ALIKE = """
import ctypes, os, threading
import torch_template

kept = (ctypes.c_int * 2).from_address(threading.get_ident())
half = kept[1]  # of the first address there
for _ in range(200):
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
        file.write(str(half - 1))
    if not (child := os.fork()):
        if os.getpid() != half:
            os._exit(9)
        at = ctypes.addressof(torch_template._thread_number()) - threading.get_ident()
        os._exit(at < 24)  # three addresses are the first there
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status != 9:
        break
print(status)
"""


@pytest.mark.skipif(not os.access(_NEXT, os.W_OK), reason="only root says which number comes next")
def test_half_of_an_address_is_not_taken_for_the_number_of_a_thread() -> None:
    """A copy wrote over that what told it where the memory of its threads lies, and died of it."""
    told = subprocess.run(
        [sys.executable, "-c", ALIKE],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if told.stdout == "9\n":
        pytest.skip("others have started processes all the while")

    assert (told.stdout, told.stderr) == ("0\n", "")
