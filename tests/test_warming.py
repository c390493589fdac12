"""A worker that was at hand is as one that was started: what it sees is compared in full."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warming import warm

pytestmark = pytest.mark.skipif(not warm(1), reason="workers are started as ever here")

LOOK = """
import json, multiprocessing, os, resource, signal, sys, threading, warnings
import torch.utils.data

def kinds():
    for number in os.listdir("/proc/self/fd"):
        try:
            yield os.readlink(f"/proc/self/fd/{number}").partition(":")[0]
        except OSError:
            pass  # the folder itself

def look(channel, parent):
    me, main = multiprocessing.current_process(), sys.modules["__main__"]
    channel.send({
        "at hand": hasattr(sys.modules.get("sitecustomize"), "warm_up"),
        "descriptors": sorted(kinds()),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
        "words": sys.argv,
        "flags": repr(sys.flags),
        "modules": sorted(set(sys.modules) - {"sitecustomize"}),
        "main": (main.__name__, main.__file__, sorted(vars(main))),
        "method": multiprocessing.get_start_method(allow_none=True),
        "process": (me.name, me.daemon, me.authkey.hex(), os.getpid() == me.pid),
        "a child": (os.getppid() == parent, os.getpid() == os.getpgid(0)),
        "signals": [str(signal.getsignal(one)) for one in signal.Signals],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "limits": [resource.getrlimit(number) for number in range(10)],
        "threads": [one.name for one in threading.enumerate()],
        "torch's": torch.get_num_threads(),
        "warnings": repr(warnings.filters),
        "streams": [one.encoding for one in (sys.stdin, sys.stdout, sys.stderr)],
    })
    sys.exit(3)

def seen(method):
    context = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=look, args=(theirs, os.getpid()), daemon=True)
    process._config["authkey"] = multiprocessing.process.AuthenticationString(b"the same")
    process.start()
    theirs.close()
    told = ours.recv()
    process.join()
    if method == "forkserver":
        multiprocessing.forkserver._forkserver._stop()
    return {**told, "status": process.exitcode}

if __name__ == "__main__":
    os.environ["LATER"] = "1"
    os.chdir("elsewhere")
    sys.path.append("/from/the/job")
    multiprocessing.process._process_counter = iter([1, 1])
    print(json.dumps([seen(sys.argv[1]), seen(sys.argv[1])]))
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_it_sees_what_a_fresh_one_sees(tmp_path: Path, method: str) -> None:
    """The first was at hand, and the second is started, since there is no other."""
    (tmp_path / "look.py").write_text(LOOK, encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run(
        [sys.executable, "look.py", method],
        cwd=tmp_path,
        env={**os.environ, **warm(1)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    first, second = json.loads(done.stdout)
    assert (first.pop("at hand"), second.pop("at hand")) == (True, False)
    assert first == second
