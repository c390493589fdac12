"""Process groups and wrapped models of a script, and what becomes of those that do not work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preflight.scripts.facts import Met
from tests.launched.starting import free_port
from tests.scripts.rehearsing import Seen, line_of, planted, rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("at_hand")]

COPIED = ("    optimizer =", "    average = copy.deepcopy(model)\n    optimizer =")
IMPORTED = ("import os\n", "import copy\nimport os\n")
HOLDS_GROUP = (
    "    optimizer =",
    "    model.module.group = distributed.group.WORLD\n    optimizer =",
)


def met(seen: Seen, what: str) -> list[tuple[str, int]]:
    """Give the names of what was met, and the script's lines."""
    return [(one.name, _line(one)) for one in seen.rehearsal.met if one.what == what]


def _line(one: Met) -> int:
    assert one.at is not None
    return one.at.line


def last_line(stderr: str, path: Path) -> int:
    return int(re.findall(rf'{re.escape(path.name)}", line (\d+)', stderr)[-1])


def test_the_group_and_the_wrapped_model_are_told_at_their_lines(tmp_path: Path) -> None:
    """And a copy of the wrapped model, for an average of its weights, is healthy."""
    finds = ("(Net())", "(module=Net(), find_unused_parameters=True)")
    path = planted(tmp_path, "replicated.py", IMPORTED, finds, COPIED)
    seen = rehearse(path, wants=["Copied"])
    plain = run_plainly(path)

    assert (plain.returncode, seen.told) == (0, [])
    assert met(seen, "group") == [("gloo", line_of(path, "init_process_group"))]
    assert met(seen, "wrap") == [
        (
            "DistributedDataParallel of Net, find_unused_parameters",
            line_of(path, "(module=Net(), find"),
        )
    ]


def test_a_backend_that_is_not_the_one_asked_for_is_told_as_such(tmp_path: Path) -> None:
    nccl, on_gpu = ('"gloo", f"', '"nccl", f"'), ("(Net())", "(Net().cuda(), [0], 0)")
    path = planted(tmp_path, "replicated.py", nccl, on_gpu)
    seen = rehearse(path, device="cpu")

    assert seen.told == []
    assert met(seen, "group") == [
        ("nccl asked for, gloo opened", line_of(path, "init_process_group"))
    ]


def test_a_group_for_which_no_backend_was_asked_is_told_by_what_it_has(tmp_path: Path) -> None:
    path = planted(tmp_path, "replicated.py", ('"gloo", f"', 'None, f"'))
    if run_plainly(path).returncode:
        pytest.skip("this torch opens no such group without a GPU")

    ((name, _),) = met(rehearse(path), "group")
    assert "gloo" in name
    assert "undefined" not in name


def test_a_copy_of_a_model_that_holds_its_process_group_is_told_by_its_path(
    tmp_path: Path,
) -> None:
    """As Open-Sora did for its average."""
    path = planted(tmp_path, "replicated.py", IMPORTED, HOLDS_GROUP, COPIED)
    seen = rehearse(path, wants=["Copied"])
    plain = run_plainly(path)
    (found,) = seen.found

    assert "cannot pickle 'torch._C._distributed_c10d.ProcessGroup' object" in plain.stderr
    assert last_line(plain.stderr, path) == line_of(path, "copy.deepcopy")
    assert found.check == "model-uncopyable"
    assert "module.group" in (found.at.name or "")
    assert f"replicated.py:{line_of(path, 'copy.deepcopy')}" in (found.why or "")


def test_a_model_without_anything_to_train_stops_where_it_is_wrapped(tmp_path: Path) -> None:
    frozen = ("(Net())", "(Net().requires_grad_(False))")
    path = planted(tmp_path, "replicated.py", frozen)
    seen = rehearse(path)
    plain = run_plainly(path)
    line = line_of(path, "requires_grad_")

    assert "is not needed when a module doesn't have any parameter" in plain.stderr
    assert last_line(plain.stderr, path) == line
    assert seen.told == [f"error script-stopped replicated.py:{line}"]


def test_a_model_on_another_device_than_it_is_wrapped_for_stops_there(tmp_path: Path) -> None:
    elsewhere = ("(Net())", "(Net().to('meta'), device_ids=[0])")
    path = planted(tmp_path, "replicated.py", elsewhere)
    seen = rehearse(path)
    plain = run_plainly(path)
    line = line_of(path, "device_ids")

    assert plain.returncode == 1
    assert last_line(plain.stderr, path) == line
    assert seen.told == [f"error script-stopped replicated.py:{line}"]


def test_a_group_that_was_destroyed_ends_with_the_process_and_its_port_is_free(
    tmp_path: Path,
) -> None:
    """Its end may hang just after its last work."""
    port = str(free_port())
    at_port = ('f"file://{store}"', f'"tcp://127.0.0.1:{port}"')
    ended = (
        "    distributed.destroy_process_group()\n",
        f"""    import sys, weakref
    distributed.destroy_process_group()
    distributed.init_process_group("gloo", "tcp://127.0.0.1:{port}", rank=0, world_size=1)
    groups = [weakref.ref(distributed.group.WORLD), weakref.ref(distributed.new_group([0]))]
    distributed.destroy_process_group()
    assert [one() is None for one in groups] == [sys.argv[1:] == ["plain"]] * 2
""",
    )
    path = planted(tmp_path, "replicated.py", at_port, ended)

    assert run_plainly(path, "plain").returncode == 0
    assert rehearse(path).told == []
