"""Functions that write entries may raise, hang, end their process, or be none: each is said so."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.storage import trial
from tests.storage.trying import BEGIN, NUMPY_OWN, tried

pytestmark = pytest.mark.usefixtures("at_hand")

HANGS_WITH_OTHERS = (
    BEGIN
    + """
import time

def save(path, value):
    if "turn-" in str(path):
        held = os.open(os.path.join(os.path.dirname(path), "..", "lock"), os.O_CREAT | os.O_RDWR)
        import fcntl
        fcntl.flock(held, fcntl.LOCK_EX)
    np.save(path, value)
    if "turn-" in str(path):
        time.sleep(3600)
"""
)


def test_a_writer_that_never_comes_back_is_ended_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "_LATE", 1.0)

    found = tried(tmp_path, HANGS_WITH_OTHERS, monkeypatch)

    assert found.hung == 3
    assert found.saves == 0


def test_a_writer_that_kills_its_process_is_told_as_one_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine a writer may be kept from all of one turn, and not from all that are left.
    source = NUMPY_OWN + (
        "    turn = path.partition('turn-')[2].partition(os.sep)[0]\n"
        "    if turn and int(turn) > 2 and os.environ['RANK'] == '1':\n        os._exit(7)\n"
    )

    found = tried(tmp_path, source, monkeypatch)

    assert (found.raised, found.first_raised) == (1, "ends its process with 7")
    assert (found.hung, found.reads.bad) == (0, 0)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "def save(path, value):\n    return {}[3]",
            "storing:save raises KeyError: 3 in storing.py:2",
        ),
        ("def save(path, value):\n    pass", "leaves 0 files where it is given the path of one"),
        ("def save(a, b, c):\n    pass", "wants more than a path and a value: a, b, c"),
        ("save = 3", "save of storing is no function"),
        ("import nowhere_at_all", "importing storing raises ModuleNotFoundError"),
    ],
    ids=["raises", "writes nothing", "wants more", "no function", "no import"],
)
def test_what_cannot_be_called_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    with pytest.raises(CannotLookError, match="storing") as caught:
        tried(tmp_path, source, monkeypatch)

    assert said in str(caught.value)


def test_a_name_that_is_not_there_is_mistyped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MistypedError, match="storing has no save"):
        tried(tmp_path, "def safe(path, value):\n    pass", monkeypatch)


def test_a_writer_that_hangs_alone_is_given_up_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import time\ndef save(path, value):\n    time.sleep(3600)"

    with pytest.raises(CannotLookError, match=r"calling storing:save: .* said nothing for 4 s"):
        tried(tmp_path, source, monkeypatch, timeout=4.0)


def test_a_module_that_would_start_the_training_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = NUMPY_OWN + "\ndef main():\n    open('ran', 'w')\n\nmain()\n"

    with pytest.raises(CannotLookError, match="would start the training"):
        tried(tmp_path, source, monkeypatch)

    assert not (tmp_path / "ran").exists()
