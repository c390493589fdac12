"""Functions that write entries are tried by real processes, as three ranks would call them."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.kinds.asked import CannotLookError
from tests.storage.trying import BEGIN, NUMPY_OWN, TORCH, tried

pytestmark = pytest.mark.usefixtures("at_hand")

# --- those that are left alone --------------------------------------------------------------------

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


OF_THE_FIRST = (
    BEGIN
    + """
def save(path, value):
    with open(f"{path}.lock", "w"):
        if os.environ["RANK"] == "0":
            np.save(f"{path}.part.npy", value)
            os.replace(f"{path}.part.npy", path)
"""
)
FIRST_TIME = (
    BEGIN
    + """
written = []

def save(path, value):
    if not written:
        written.append(path)
        np.save(path, value)
"""
)


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


def test_rank_0_may_be_the_only_one_that_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And may leave the file of a lock beside what it writes."""
    found = tried(tmp_path, OF_THE_FIRST, monkeypatch, suffix=".npy")

    assert (found.reads.bad, found.left_damaged, found.raised, found.hung) == (0, 0, 0, 0)
    assert found.reads.reads > 0
    assert found.writers == 1


def test_a_function_that_writes_once_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CannotLookError, match="does not write each time it is called"):
        tried(tmp_path, FIRST_TIME, monkeypatch, suffix=".npy")


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
        time.sleep(0.005)  # as on a busy machine, where somebody else is let run here
    os.rename(own, path)
"""
)


@pytest.mark.parametrize(
    ("source", "suffix"),
    [(NUMPY_IN_PLACE, ".npy"), (TORCH_IN_PLACE, ".pt")],
    ids=["numpy", "torch"],
)
def test_a_writer_in_place_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, suffix: str
) -> None:
    found = tried(tmp_path, source, monkeypatch, suffix=suffix)

    assert found.reads.torn > 0
    assert "raises" in found.first_torn or "mixture" in found.first_torn
    assert found.raised == 0


def test_a_writer_that_leaves_alone_what_is_there_is_torn_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each rank finds no file at first."""
    found = tried(tmp_path, ONCE, monkeypatch, size=4_000_000)

    assert found.reads.torn > 0


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
