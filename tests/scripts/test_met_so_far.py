"""What a script meets again and again is counted, and told now and then."""

from __future__ import annotations

import os
import sys

import pytest

from preflight.scripts.facts import Met
from preflight.scripts.met_so_far import MetSoFar
from preflight.users_code.facts import Frame
from preflight.values.this_process import this_process

LOADER = Met(what="loader", at=Frame(file="train.py", line=3, function="main", text=""))
SAVE = Met(what="save", name="last.pt")


def test_the_first_are_told_each_and_the_others_when_they_are_asked_for() -> None:
    so_far = MetSoFar()

    told = [one.met.count for _ in range(9) for one in so_far.add(LOADER)]
    (place,) = {one.place for one in so_far.add(SAVE)}
    later = [(one.place, one.met.count) for one in so_far.untold()]

    assert (told, place, later) == ([1, 2, 3, 4, 5], 1, [(0, 9)])
    assert so_far.untold() == []


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_forked_copy_is_another_process() -> None:
    reads, writes = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(writes, str(this_process()).encode())
        os._exit(0)
    os.waitpid(pid, 0)

    assert int(os.read(reads, 32)) == pid
    assert this_process() == os.getpid() != pid
    os.close(reads)
    os.close(writes)
