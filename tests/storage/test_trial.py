"""Functions that write entries are tried by real processes, as three ranks would call them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.storage import trial
from preflight.storage.facts import WriterTrial
from preflight.storage.trial import try_writer

pytestmark = pytest.mark.usefixtures("at_hand")

BEGIN = "import os, uuid\nimport numpy as np\n"
TORCH = "import os, uuid\nimport torch\n"


@contextlib.contextmanager
def _step(_name: str) -> Iterator[None]:
    yield


def tried(
    folder: Path, source: str, monkeypatch: pytest.MonkeyPatch, *, suffix: str = ".npy", **more: Any
) -> WriterTrial:
    """Try `save` of a source for a cache with one entry of this suffix."""
    (folder / "storing.py").write_text(source, encoding="utf-8")
    (folder / "cache").mkdir()
    (folder / "cache" / f"one{suffix}").write_bytes(bytes(100_000))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(trial, "_RACE", 0.8)
    monkeypatch.setattr(trial, "_FEWEST_TURNS", 2)
    told = {"path": str(folder / "cache"), "entry": 0, "writer": "storing:save"}
    options = {"root": str(folder), "timeout": 60.0, "import_anyway": False, **more}
    try:
        return try_writer(told, options, lambda: None, _step)
    finally:
        assert sorted(one for one in os.listdir(folder) if one.startswith(".preflight")) == []
        assert os.listdir(folder / "cache") == [f"one{suffix}"]


# --- those that are left alone --------------------------------------------------------------------

NUMPY_OWN = (
    BEGIN
    + """
def save(path, value):
    own = f"{path}.{uuid.uuid4().hex}"
    with open(own, "wb") as file:
        np.save(file, value)
    os.replace(own, path)
"""
)
TORCH_OWN = (
    TORCH
    + """
def save(value, path):
    own = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    torch.save({"latents": value}, own)
    own.replace(path)
"""
)
OF_RANK = (
    TORCH
    + """
import torch.distributed as dist

def save(latents, filename, metadata=None):
    own = f"{filename}.{dist.get_rank()}-{os.environ['RANK']}"
    torch.save(latents, own)
    os.replace(own, filename)
    print("saved", filename, flush=True)
    os.write(1, b"and from C")
"""
)
SAFE = """
import os, uuid
from safetensors.torch import save_file

def save(tensors, path):
    own = f"{path}.{uuid.uuid4().hex}"
    save_file(tensors, own)
    os.replace(own, path)
"""
TEXT = """
import os, uuid

def save(where, content):
    own = f"{where}.{uuid.uuid4().hex}"
    with open(own, "wb") as file:
        file.write(content)
    os.replace(own, where)
"""


@pytest.mark.parametrize(
    ("source", "suffix", "called_as", "value", "read_by"),
    [
        (NUMPY_OWN, ".npy", "save(path, value)", "an array", "numpy.load"),
        (TORCH_OWN, ".pt", "save(value, path) with a pathlib.Path", "a tensor", "torch.load"),
        (OF_RANK, ".pt", "save(value, path)", "a tensor", "torch.load"),
        (SAFE, ".safetensors", "save(value, path)", "a dict of a tensor", "safetensors"),
        (TEXT, ".ckpt", "save(path, value)", "an array", "their bytes"),
    ],
    ids=["numpy", "a Path", "of ranks that print", "safetensors", "bytes"],
)
def test_a_writer_with_names_of_its_own_is_left_alone(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    suffix: str,
    called_as: str,
    value: str,
    read_by: str,
) -> None:
    """However it is called, and whatever it writes."""
    found = tried(tmp_path, source, monkeypatch, suffix=suffix)

    assert (found.reads.bad, found.left_damaged, found.raised, found.hung) == (0, 0, 0, 0)
    assert min(found.reads.reads, found.saves, found.files) > 0
    assert (found.called_as, found.read_by) == (called_as, read_by)
    assert found.value == f"{value} of 100,000 bytes"
    assert found.suffix == suffix


# --- those that are torn --------------------------------------------------------------------------

NUMPY_IN_PLACE = BEGIN + "\ndef save(path, value):\n    np.save(path, value)\n"
TORCH_IN_PLACE = TORCH + "\ndef save(path, value):\n    torch.save(value, path)\n"
SHARED_NAME = (
    TORCH
    + """
def save(path, value):
    torch.save(value, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)
"""
)
ONCE = (
    BEGIN
    + """
def save(path, value):
    if not os.path.exists(path):
        np.save(path, value)
"""
)
UNLINKED = (
    BEGIN
    + """
def save(path, value):
    own = f"{path}.{uuid.uuid4().hex}"
    with open(own, "wb") as file:
        np.save(file, value)
    if os.path.exists(path):
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
    os.rename(own, path)
"""
)


@pytest.mark.parametrize(
    ("source", "suffix"),
    [(NUMPY_IN_PLACE, ".npy"), (TORCH_IN_PLACE, ".pt"), (ONCE, ".npy")],
    ids=["numpy", "torch", "only where it is not there"],
)
def test_a_writer_in_place_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, suffix: str
) -> None:
    found = tried(tmp_path, source, monkeypatch, suffix=suffix)

    assert found.reads.torn > 0
    assert "raises" in found.first_torn or "mixture" in found.first_torn
    assert found.raised == 0


def test_a_temporary_name_that_all_share_is_torn_or_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One renames what another is writing, whose own rename then finds nothing."""
    found = tried(tmp_path, SHARED_NAME, monkeypatch, suffix=".pt")

    assert found.raised > 0
    assert found.first_raised.startswith("raises FileNotFoundError")
    assert "storing.py:" in found.first_raised


def test_an_entry_that_is_removed_first_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tried(tmp_path, UNLINKED, monkeypatch)

    assert found.reads.absent > 0
    assert found.reads.torn == 0


# --- those that do something else -----------------------------------------------------------------

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
    source = (
        NUMPY_OWN + "    if 'turn-3' in path and os.environ['RANK'] == '1':\n        os._exit(7)\n"
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
