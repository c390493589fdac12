"""Where items lie is read from the opcodes of a pickle, as far as they say it."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.distcp import SavePlan, Stored, read_plan
from tests.distributed import save


def read(content: bytes) -> SavePlan:
    return read_plan(lambda offset, size: content[offset : offset + size], len(content))


def stored(items: dict[str, Any], **more: Any) -> Any:
    """Make what torch pickles, of paths, offsets and lengths by the names of items."""
    from torch.distributed.checkpoint.filesystem import _StorageInfo
    from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex

    data = {MetadataIndex(name): _StorageInfo(*where) for name, where in items.items()}
    return Metadata({}, storage_data=data, **more)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_where_items_lie_is_read_from_each_protocol(protocol: int) -> None:
    """The furthest of a file decides, wherever it stands."""
    plan = stored({"a": ("__0_0.distcp", 0, 5), "b": ("x", 5, 9), "c": ("__0_0.distcp", 0, 2)})

    assert read(pickle.dumps(plan, protocol)).files == {
        "__0_0.distcp": Stored(end=5, items=2, last="a"),
        "x": Stored(end=14, items=1, last="b"),
    }


def test_thousands_of_items_are_read() -> None:
    """A pickle gives a dict its items a thousand at a time."""
    plan = stored(
        {f"layer.{n}": (f"__{n % 8}_0.distcp", n * 100_000, 100_000) for n in range(5000)}
    )

    files = read(pickle.dumps(plan)).files

    assert {one.items for one in files.values()} == {625}
    assert files["__7_0.distcp"] == Stored(end=500_000_000, items=625, last="layer.4999")


def test_it_is_what_torch_reads(tmp_path: Path) -> None:
    """Of a real one, unpickled here for once."""
    folder = save(tmp_path / "one", thread_count=3)
    content = (folder / ".metadata").read_bytes()
    ends: dict[str, int] = {}
    for info in pickle.loads(content).storage_data.values():
        ends[info.relative_path] = max(ends.get(info.relative_path, 0), info.offset + info.length)

    assert {name: one.end for name, one in read(content).files.items()} == ends


def test_names_that_are_not_told_name_nothing() -> None:
    """A path that is too long to be held, or that is no text; an item without a name."""
    long = stored({"a": ("x" * 300, 0, 5), "b": (b"y", 0, 5), "n" * 300: ("z", 0, 5)})

    assert read(pickle.dumps(long)).files == {"z": Stored(end=5, items=1, last="")}


@pytest.mark.parametrize("other", [{"relative_path": "x"}, [("x", 0, 5)], None])
def test_another_pickle_names_nothing(other: object) -> None:
    assert read(pickle.dumps(other)) == SavePlan({}, ())


def test_what_makes_no_sense_is_damage() -> None:
    with pytest.raises(DamagedError):
        read(b"\x80\x04}(K\x01u.")
    with pytest.raises(DamagedError):
        read(b"\x80\x04b.")
