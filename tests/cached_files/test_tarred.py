"""Files of torch.save from before 2017, which are tar archives, are held against torch.load."""

from __future__ import annotations

import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch

from preflight.cached_files.read import read_cache
from preflight.formats.torch.pickle_globals import TARRED
from preflight.testing import ask

pytestmark = pytest.mark.filterwarnings("ignore")

NUMBERS = struct.pack("<12f", *range(12))


class _Naming(pickle.Pickler):
    """Names tensors by their keys, as that version of torch did."""

    def persistent_id(self, obj: Any) -> str | None:
        return "2" if obj == "a tensor" else None


def pickled(thing: object) -> bytes:
    stream = io.BytesIO()
    _Naming(stream, 2).dump(thing)
    return stream.getvalue()


def tarred(
    storage: type = torch.FloatStorage,
    tensor: type = torch.FloatTensor,
    *,
    elements: int = 12,
    sizes: tuple[int, ...] = (3, 4),
    steps: tuple[int, ...] = (4, 1),
    offset: int = 0,
    storages: int = 1,
    left_out: str = "",
) -> bytes:
    """Give a dict of one tensor, as torch wrote it: its parts in this order."""
    laid = struct.pack(f"<ii{2 * len(sizes) + 1}q", len(sizes), 0, *sizes, *steps, offset)
    held = pickled((1, "cpu", storage)) + struct.pack("<q", elements) + NUMBERS
    parts = {
        "sys_info": pickled({"protocol_version": 1000, "little_endian": True}),
        "pickle": pickled({"w": "a tensor"}),
        "tensors": pickled(1) + pickled((2, 1, tensor)) + laid,
        "storages": pickled(storages) + held + pickled([]),
    }
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in parts.items():
            if name != left_out:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def loads(path: Path) -> bool:
    """Whether torch.load gives the numbers that were saved."""
    try:
        found = torch.load(path, weights_only=False)["w"]
    except Exception:  # noqa: BLE001  whatever it is, the job stops at it
        return False
    return torch.equal(found, torch.arange(12.0).reshape(3, 4))


def test_a_whole_one_is_told_as_what_weights_only_refuses(tmp_path: Path) -> None:
    path = tmp_path / "old.pth"
    path.write_bytes(tarred())

    assert loads(path)
    if torch.__version__ >= "2.6":
        with pytest.raises(RuntimeError, match=r"legacy \.tar format"):
            torch.load(path, weights_only=True)
    facts = read_cache(str(path), str(tmp_path), lambda _: None)
    assert (facts.format, facts.damage, facts.globals) == ("torch legacy", None, (TARRED,))
    (finding,) = ask("cache-unsafe", facts)
    assert "the tar format from before 2017" in finding.message
    assert "weights_only=False" in (finding.fix or "")


WRONG = {
    "larger elements": tarred(torch.DoubleStorage),
    "smaller elements": tarred(torch.HalfStorage),
    "other numbers": tarred(torch.IntStorage),
    "more elements": tarred(elements=13),
    "fewer elements": tarred(elements=11),
    "a larger tensor": tarred(sizes=(4, 4)),
    "a later beginning": tarred(offset=1),
    "a step back": tarred(steps=(-4, 1)),
    "a storage more": tarred(storages=2),
    "no storages": tarred(left_out="storages"),
    "no pickle": tarred(left_out="pickle"),
    "a cut in its pickle": tarred()[:1800],
    "a cut in a header": tarred()[:1200],
    "zeros from some place on": tarred()[:3000] + bytes(8000),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "old.pt"
    path.write_bytes(content)

    assert not loads(path)
    assert read_cache(str(path), str(tmp_path), lambda _: None).damage is not None


@pytest.mark.parametrize("name", ["notes.pt", "best.pth.tar", "cache.bin"])
def test_an_archive_of_other_things_is_left_alone(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / name, "w") as archive:
        archive.addfile(tarfile.TarInfo("0001.txt"))

    facts = read_cache(str(tmp_path / name), str(tmp_path), lambda _: None)

    assert (facts.format, facts.damage, facts.globals) == ("unknown", None, ())
