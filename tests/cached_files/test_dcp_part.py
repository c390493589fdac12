"""Checkpoints in parts are read by their own bytes, and nothing in them is loaded or run."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from preflight.cached_files.cache_listing import list_cache
from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.file_access.facts import Damage
from preflight.file_access.large import WINDOW
from tests.archives import flipped
from tests.contents import HARM, Harm, of_torch
from tests.distributed import HOWS, save, save_by_ranks, state

PART = "__0_0.distcp"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One part of five items: two objects, and three tensors of 1,024 bytes."""
    return save(tmp_path_factory.mktemp("saved") / "step-1")


@pytest.fixture
def checkpoint(saved: Path, tmp_path: Path) -> Path:
    """The same, to be damaged."""
    return Path(shutil.copytree(saved, tmp_path / "step-1"))


def look(folder: Path, depth: str = "bytes") -> dict[str, CacheFacts]:
    facts = [
        read_cache(path, str(folder), lambda _: None, depth)
        for path in list_cache(str(folder)).files
    ]
    return {one.file: one for one in facts}


def damages(folder: Path, depth: str = "bytes") -> dict[str, Damage]:
    found = look(folder, depth)
    return {name: one.damage for name, one in found.items() if one.damage is not None}


def write(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def starts(path: Path) -> list[int]:
    headers = re.finditer(rb"(?s)PK\x03\x04.{26}archive/data\.pkl", path.read_bytes())
    return [one.start() for one in headers]


# --- what is healthy


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
@pytest.mark.parametrize(
    "options",
    [{}, {"thread_count": 2}, {"thread_count": 9}, {"single_file_per_rank": False}],
    ids=["one file", "threads", "more threads than items", "a file an item"],
)
def test_what_torch_writes_is_whole(tmp_path: Path, options: dict[str, Any], depth: str) -> None:
    """A thread that has nothing to write leaves an empty part."""
    found = look(save(tmp_path / "one", **options), depth)

    assert not [one for one in found.values() if one.damage or one.globals]
    parts = [one for one in found.values() if one.file != ".metadata" and one.size]
    assert {(one.format, one.verified) for one in parts} == {("torch zip", depth != "index")}


@pytest.mark.slow
@pytest.mark.parametrize("how", HOWS)
def test_what_ranks_write_is_whole(tmp_path: Path, how: str) -> None:
    """Sharded and replicated tensors of two ranks, saved aside, or by each rank for itself."""
    found = look(save_by_ranks(tmp_path / "ranks", how))

    assert not [one for one in found.values() if one.damage or one.globals]
    assert sum(one.verified for one in found.values()) == 2
    assert sum(one.format == "pickle" for one in found.values()) == (2 if how == "alone" else 1)


def test_parts_in_other_formats_are_left_alone(tmp_path: Path) -> None:
    """What is packed, what holds safetensors, and what a planner of one's own writes."""
    pytest.importorskip("zstandard")
    pytest.importorskip("safetensors")
    zstandard = of_torch("distributed.checkpoint._extension.ZStandard")
    formats = of_torch("distributed.checkpoint.filesystem.SerializationFormat")
    packed = save(tmp_path / "packed", _extensions=[zstandard()])
    tensors = save(tmp_path / "safe", serialization_format=formats.SAFETENSORS)
    own = save(tmp_path / "own")
    (own / PART).write_bytes(b"\x07 raw " * 9000 + (own / PART).read_bytes())

    for folder in (packed, tensors, own):
        assert damages(folder) == {}
        assert not look(folder)[PART].verified
    assert look(tensors)[PART].unread is None
    assert look(own)[PART].unread == "its bytes 0 to 54,000, which are no archive of torch.save"


def test_an_item_that_holds_an_archive_is_one_item(tmp_path: Path) -> None:
    """What stands in a text is no end, also where the ends have to be searched for."""
    inner = (save(tmp_path / "inner") / PART).read_bytes()
    folder = save(tmp_path / "outer", {"file": inner, "weight": state()["model"]["layer0"]})
    assert damages(folder) == {}
    os.truncate(folder / PART, (folder / PART).stat().st_size - 9)

    (damage,) = damages(folder).values()

    assert damage.text.startswith("ends at ")
    assert damage.text.endswith(f"inside the item that begins at {starts(folder / PART)[-1]:,}")


def test_a_large_item_is_read_by_itself(tmp_path: Path) -> None:
    """And what lies around it is read once."""
    import torch

    large = {f"t{n}": torch.full((size,), n, dtype=torch.uint8) for n, size in enumerate((9, 99))}
    large["large"] = torch.zeros(WINDOW + 5, dtype=torch.uint8)
    folder = save(tmp_path / "large", large)
    assert damages(folder) == damages(folder, "index") == {}
    assert look(folder)[PART].verified
    write(folder / PART, (folder / PART).stat().st_size // 2, b"\1")

    (damage,) = damages(folder).values()

    assert damage.kind == "checksum"
    assert damages(folder, "index") == {}


def test_archives_without_checksums_are_not_verified(tmp_path: Path) -> None:
    have_checksums = of_torch("serialization.set_crc32_options")
    have_checksums(compute_crc32=False)
    try:
        folder = save(tmp_path / "bare")
    finally:
        have_checksums(compute_crc32=True)

    part = look(folder)[PART]
    assert (part.damage, part.verified) == (None, False)


# --- what is damaged


def test_every_length_of_a_part_that_was_cut_is_told_once(checkpoint: Path) -> None:
    """By the part where that ends inside an item, else by the file that names its items."""
    part = checkpoint / PART
    content, begins = part.read_bytes(), starts(part)
    for length in (*range(0, len(content), 97), *begins, len(content) - 1):
        part.write_bytes(content[:length])
        for depth in ("bytes", "index"):
            (told,) = damages(checkpoint, depth).items()
            assert told[0] == (".metadata" if length in begins else PART)


def test_a_part_that_was_cut_says_where(checkpoint: Path) -> None:
    begins = starts(checkpoint / PART)
    os.truncate(checkpoint / PART, 4096)

    (damage,) = damages(checkpoint).values()

    inside = max(at for at in begins if at < 4096)
    assert damage.text == (
        f"ends at 4,096 bytes, inside the item that begins at {inside:,}: most likely killed in "
        "mid-write"
    )


def test_a_wrong_byte_in_any_item_is_found_or_harmless(checkpoint: Path) -> None:
    """Nothing is loaded that was not written, whatever the byte."""
    import torch

    part = checkpoint / PART
    content, begins = part.read_bytes(), starts(part)
    for place in range(3, len(content), 61):
        damaged = flipped(content, place, 0x55)
        part.write_bytes(damaged)
        if damages(checkpoint):
            continue
        for begin, end in zip(begins, [*begins[1:], len(content)], strict=True):
            inner = part.with_name("one.pt")
            inner.write_bytes(damaged[begin:end])
            whole = torch.load(inner)
            inner.write_bytes(content[begin:end])
            assert str(whole) == str(torch.load(inner)), place


def test_a_wrong_byte_says_in_which_item(checkpoint: Path) -> None:
    begins = starts(checkpoint / PART)
    write(checkpoint / PART, begins[3] + 900, b"\xff")

    (damage,) = damages(checkpoint).values()

    assert damage.kind == "checksum"
    assert damage.text == (
        f"holds an item at byte {begins[3]:,} that has wrong bytes in data/0 (its CRC differs)"
    )
    assert begins[3] < (damage.offset or 0) <= begins[3] + 900


def test_items_whose_beginnings_or_ends_are_lost_are_told(checkpoint: Path) -> None:
    begins = starts(checkpoint / PART)
    write(checkpoint / PART, begins[1], bytes(4))
    write(checkpoint / PART, begins[3] - 50, bytes(50))

    (damage,) = damages(checkpoint).values()

    assert damage.text.startswith(f"holds 2 damaged items of 5; the first at byte {begins[1]:,} ")


@pytest.mark.parametrize("length", [512, 1 << 22])
def test_a_part_of_zeros_is_told(checkpoint: Path, length: int) -> None:
    """Its content never reached the disk."""
    (checkpoint / PART).write_bytes(bytes(length))

    assert damages(checkpoint)[PART].kind == "zeros"


@pytest.mark.parametrize("name", [PART, ".metadata"])
def test_a_pointer_in_place_of_a_file_is_told(checkpoint: Path, name: str) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 12345\n"
    (checkpoint / name).write_text(pointer)

    assert damages(checkpoint)[name].kind == "not-fetched"


# --- what names the items


def test_a_part_that_is_not_there_is_told(checkpoint: Path) -> None:
    (checkpoint / PART).rename(checkpoint / "__1_0.distcp")

    assert damages(checkpoint) == {
        ".metadata": Damage(kind="absent", text="names __0_0.distcp, which is not there")
    }


def test_a_part_that_is_empty_is_told_where_it_should_hold_something(checkpoint: Path) -> None:
    size = (checkpoint / PART).stat().st_size
    (checkpoint / PART).write_bytes(b"")

    text = f"names items up to byte {size:,} (model.layer2) of __0_0.distcp, which is empty"
    assert damages(checkpoint) == {".metadata": Damage(kind="short", text=text)}


def test_a_part_of_another_save_is_told_where_its_items_lie_elsewhere(checkpoint: Path) -> None:
    """A job that saves into one folder again and again was killed before `.metadata`."""
    ends = (checkpoint / PART).stat().st_size
    values = state()
    values["model"]["layer0"] = values["model"]["layer0"].repeat(2, 1)
    save(checkpoint.parent / "later", values)
    (checkpoint.parent / "later" / PART).replace(checkpoint / PART)
    begin = starts(checkpoint / PART)[-1]

    text = (
        f"says that an item (model.layer2) ends at byte {ends:,} of __0_0.distcp, which is inside "
        f"of the one that begins there at {begin:,}: most likely they are of two saves"
    )
    assert damages(checkpoint) == {".metadata": Damage(kind="mixed", text=text)}


def test_what_stands_behind_the_items_of_a_part_is_no_other_save(checkpoint: Path) -> None:
    """Of an archive of its own, too."""
    for behind in (b"x" * 999, (checkpoint / PART).read_bytes()[: starts(checkpoint / PART)[1]]):
        with (checkpoint / PART).open("ab") as file:
            file.write(behind)
        assert damages(checkpoint) == {}


def test_a_packed_part_that_was_cut_is_told(tmp_path: Path) -> None:
    """Its own bytes say nothing of its end."""
    pytest.importorskip("zstandard")
    zstandard = of_torch("distributed.checkpoint._extension.ZStandard")
    folder = save(tmp_path / "packed", _extensions=[zstandard()])
    os.truncate(folder / PART, 1000)

    (damage,) = damages(folder).values()

    assert damage.text.endswith("of __0_0.distcp, which ends at 1,000")


@pytest.mark.parametrize(
    ("content", "kind"), [(b"", "empty"), (bytes(900), "zeros"), (b"\x80\x04\x95", "cut")]
)
def test_metadata_that_is_damaged_is_told(checkpoint: Path, content: bytes, kind: str) -> None:
    (checkpoint / ".metadata").write_bytes(content)

    assert damages(checkpoint)[".metadata"].kind == kind


def test_every_length_of_metadata_that_was_cut_is_told(checkpoint: Path) -> None:
    content = (checkpoint / ".metadata").read_bytes()
    for length in range(len(content)):
        (checkpoint / ".metadata").write_bytes(content[:length])
        assert damages(checkpoint)[".metadata"].kind in {"cut", "empty"}


def test_metadata_of_a_writer_of_ones_own_is_left_alone(checkpoint: Path) -> None:
    (checkpoint / ".metadata").write_text('{"storage_data": {}}')

    assert damages(checkpoint) == {}


# --- what is hostile


def test_what_would_run_is_named_and_not_run(checkpoint: Path, tmp_path: Path) -> None:
    """Objects of the trainer's own are none of that: items are loaded with weights_only=False."""
    import argparse

    harm = Harm(tmp_path / "harm")
    own = save(tmp_path / "own", {"args": argparse.Namespace(lr=1)})
    bad = save(tmp_path / "bad", {"args": [harm]})
    (checkpoint / ".metadata").write_bytes(pickle.dumps({"x": harm}))

    assert look(own)[PART].globals == ()
    assert look(bad)[PART].globals == (HARM,)
    assert look(checkpoint)[".metadata"].globals == (HARM,)
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    "name", ["/etc/gone", "../gone", "C:gone", "\\\\host\\share\\gone", "", "a\0b", "a/../../b"]
)
def test_a_path_that_leads_elsewhere_is_not_asked(checkpoint: Path, name: str) -> None:
    """It would be no part of this checkpoint."""
    import torch.distributed.checkpoint.filesystem as of_torch
    from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex

    info = of_torch._StorageInfo(name, 0, 99)
    plan = Metadata({}, storage_data={MetadataIndex("x"): info})
    (checkpoint / ".metadata").write_bytes(pickle.dumps(plan))

    assert damages(checkpoint) == {}


def test_only_beside_parts_a_file_is_taken_for_metadata(tmp_path: Path) -> None:
    (tmp_path / ".metadata").write_bytes(b"")

    assert look(tmp_path) == {}
