"""Cached files are loaded as torch and numpy load them, and every number of them is looked at."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import pickle
import random
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
import torch

from preflight.file_access.place import HERE
from preflight.kinds.asked import CannotLookError
from preflight.processes.results import Answer
from preflight.tensors import read as cache_content
from preflight.tensors.facts import CachedTensor, Content
from preflight.tensors.kind import CONTENT
from preflight.tensors.numbers import PIECE, pieces_of
from preflight.tensors.read import read_content
from preflight.values.wire import from_wire, to_wire
from tests import contents
from tests.conftest import said_by
from tests.contents import of_torch
from tests.distributed import in_a_group
from tests.questions import ask, questions

pytestmark = [
    pytest.mark.usefixtures("at_hand"),
    pytest.mark.filterwarnings("ignore"),  # torch warns of what is new or old in it
]

NAN, INF = float("nan"), float("inf")

Save: TypeAlias = Callable[..., Content]


def read(path: Path, **options: Any) -> Content:
    """Look into a file; what is seen survives the way through JSON."""
    options = {"trust_caches": True, **options}  # without which torch before 2.6 loads nothing
    content = read_content(str(path), str(path.parent), options, lambda _: None)
    assert from_wire(Content, json.loads(json.dumps(to_wire(content)))) == content
    return content


def quantized() -> torch.Tensor:
    of_torch("serialization.set_crc32_options")  # an older one loads none with weights_only
    return torch.quantize_per_tensor(torch.zeros(9), 0.1, 0, torch.qint8)


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    def save(thing: Any, **options: Any) -> Content:
        torch.save(thing, tmp_path / "a.pt", **options)
        return read(tmp_path / "a.pt")

    return save


def only(content: Content) -> CachedTensor:
    assert content.skipped is None
    (one,) = content.tensors
    return one


def counts(one: CachedTensor) -> tuple[int, int, int, bool]:
    return one.nan, one.infinite, one.negative, one.zero


# --- numbers --------------------------------------------------------------------------------------

FLOATS = ["float64", "float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"]


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_are_counted_as_torch_counts_them(saved: Save, dtype: str) -> None:
    chance = torch.Generator().manual_seed(3)
    for odd in (0, 1, 9, 5000):
        tensor = torch.randn(5000, generator=chance)
        for value in (NAN, -NAN, INF, -INF, 0.0, -0.0):
            tensor[torch.randint(5000, (odd,), generator=chance)] = value
        tensor = tensor.to(getattr(torch, dtype))
        back = tensor.float()

        one = only(saved(tensor))

        assert (one.dtype, one.shape, one.elements) == (dtype, (5000,), 5000)
        assert one.nan == int(back.isnan().sum())
        assert one.infinite == int((back == INF).sum())
        assert one.negative == int((back == -INF).sum())
        assert not one.zero


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_number_of_16_bits_or_less_is_told_rightly(saved: Save, dtype: str) -> None:
    """All there are, one by one, where there are not too many."""
    width = getattr(torch, dtype).itemsize
    if width > 2:
        bits = torch.randint(0, 256, (65_536 * width,), dtype=torch.uint8)
    else:
        bits = torch.from_numpy(np.arange(1 << (8 * width), dtype=f"<u{width}").view("u1").copy())
    tensor = bits.view(getattr(torch, dtype))

    one = only(saved(tensor))

    back = tensor.double()
    assert one.nan == int(back.isnan().sum())
    assert one.infinite + one.negative == int(back.isinf().sum())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.0, 0.0], "zero"),
        ([0.0, -0.0], "zero"),
        ([0.0, 1e-40], "not"),
        ([0.0, -INF], "zero"),
        ([0.0, NAN], "not"),
        ([], "not"),
        ([1.0], "not"),
    ],
)
def test_zero_is_what_holds_no_other_finite_number(
    saved: Save, values: list[float], said: str
) -> None:
    """The smallest number is one; nothing at all is not."""
    assert only(saved(torch.tensor(values))).zero == (said == "zero")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.zeros(9, dtype=torch.int64),
        lambda: torch.zeros(9, dtype=torch.bool),
        lambda: torch.zeros(9, dtype=torch.uint8),
        quantized,
        lambda: torch.zeros(9, device="meta"),
        lambda: torch.zeros(9, 9).to_sparse(),
    ],
    ids=["ids", "a mask", "bytes", "quantized", "of no storage", "sparse"],
)
def test_what_is_zero_by_nature_is_not_told(saved: Save, make: Callable[[], torch.Tensor]) -> None:
    assert counts(only(saved(make()))) == (0, 0, 0, False)


def test_complex_numbers_are_looked_at_in_both_parts(saved: Save) -> None:
    """A conjugate that was not worked out is another way to save the same."""
    tensor = torch.complex(torch.tensor([NAN, 1.0]), torch.tensor([1.0, -INF]))

    assert counts(only(saved(tensor))) == (1, 0, 1, False)
    assert counts(only(saved(tensor.conj()))) == (1, 1, 0, False)


# --- tensors of every kind ------------------------------------------------------------------------

BAD = torch.tensor([[NAN, 1.0, 0.0], [0.0, INF, 0.0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda: BAD,
        lambda: torch.nn.Parameter(BAD.clone()),
        BAD.t,
        BAD.to_sparse,
        BAD.to_sparse_csr,
        lambda: torch.nested.nested_tensor([BAD[0], BAD[1, :2]]),
        lambda: torch.nested.nested_tensor([BAD[0], BAD[1, :2]], layout=torch.jagged),
        lambda: BAD.expand(1000, 1000, 2, 3),
    ],
    ids=["plain", "parameter", "turned", "sparse", "by rows", "nested", "ragged", "repeated"],
)
def test_numbers_are_found_in_every_kind_of_tensor(
    saved: Save, make: Callable[[], torch.Tensor], tmp_path: Path
) -> None:
    """Each is counted once, however often it is repeated; but where this torch refuses it."""
    tensor = make()
    content = saved(tensor)
    if tensor.is_nested and _is_refused(tmp_path / "a.pt"):
        assert content.skipped == cache_content.UNSAFE
        return
    one = only(content)

    assert (one.nan, one.infinite) == (1, 1)
    assert one.shape == (None if tensor.is_nested else tuple(tensor.shape))


def _is_refused(path: Path) -> bool:
    """Whether torch stops at a file, now that all is imported that it asks for: torch 2.15 does."""
    try:
        torch.load(path, weights_only=True)
    except pickle.UnpicklingError:
        return True
    return False


@pytest.mark.parametrize("way", ["as it is", "turned"])
def test_a_view_is_looked_at_and_not_what_lies_between(saved: Save, way: str) -> None:
    """What is saved along with it is nobody's number."""
    whole = torch.full((600, 700, 3), NAN)
    whole[:, :, 1] = 1.0
    whole[5, 6, 1] = INF
    view = whole[:, :, 1]

    assert counts(only(saved(view.t() if way == "turned" else view))) == (0, 1, 0, False)


def test_no_piece_of_a_view_is_large() -> None:
    """It is copied, piece by piece, where there is something between its numbers."""
    view = torch.arange(9_000_000.0).view(3000, 3000)[:, ::2].t()
    pieces = list(pieces_of(view))

    assert max(piece.numel() * piece.element_size() for piece in pieces) <= PIECE
    assert sum(float(piece.double().sum()) for piece in pieces) == float(view.double().sum())


def test_a_tensor_that_overlaps_itself_is_looked_at_once(saved: Save) -> None:
    """A million windows over a million numbers are a million numbers."""
    numbers = torch.randn(2_000_000)
    numbers[7] = NAN
    begun = time.perf_counter()

    one = only(saved(numbers.as_strided((1_000_000, 1_000_000), (1, 1))))

    assert one.nan == 1
    assert time.perf_counter() - begun < 60


def test_a_file_made_to_be_looked_at_for_ever_is_given_up(tmp_path: Path) -> None:
    """Thousands of tensors that share what they are made of, each a little further on."""
    whole = torch.zeros(3_000_000)
    torch.save([whole[number:] for number in range(3000)], tmp_path / "a.pt")
    begun = time.perf_counter()

    with pytest.raises(CannotLookError, match="many times the size of the file"):
        read(tmp_path / "a.pt")
    assert time.perf_counter() - begun < 60


def test_a_distributed_tensor_is_looked_at_in_its_own_part(tmp_path: Path) -> None:
    """As FSDP leaves them; loaded without the group that made them, if torch can."""
    path = tmp_path / "a.pt"
    in_a_group(
        tmp_path,
        "tensor = torch.tensor([[float('nan'), 1.0], [0.0, 1.0]])\n"
        f"torch.save({{'w': distribute_tensor(tensor, mesh, [Shard(0)])}}, {str(path)!r})\n",
    )
    look = (
        "from preflight.tensors.read import read_content\n"
        f"one, = read_content({str(path)!r}, '.', {{}}, lambda _: None).tensors\n"
        "print(one.shape, one.nan)\n"
    )

    assert said_by(look) == "(2, 2) 1"


def test_a_view_drags_its_storage_along(saved: Save) -> None:
    """The bytes of both are told; a storage that is used up by several drags nothing."""
    whole = torch.randn(1000, 100)

    assert (only(saved(whole[3])).storage, only(saved(whole[3])).used) == (400_000, 400)
    assert only(saved(whole)).used == 400_000
    parts = saved(list(whole.split(100))).tensors
    assert {(one.storage, one.used) for one in parts} == {(400_000, 400_000)}
    assert [one.used for one in saved([whole[3], whole[3]]).tensors] == [400, 400]


# --- objects --------------------------------------------------------------------------------------


def test_tensors_are_named_by_their_places(saved: Save) -> None:
    """In order, through dicts, lists and tuples; keys are told without the entries of lists."""
    thing = {"b": [torch.ones(1), {"c": torch.ones(2)}], "a": (None, torch.ones(3)), 7: "text"}

    content = saved(thing)

    assert content.kind == "dict"
    assert [one.path for one in content.tensors] == ["['b'][0]", "['b'][1]['c']", "['a'][1]"]
    assert content.keys == ("['a']", "['b']", "['b'][*]['c']")


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (torch.ones(1), "tensor"),
        (OrderedDict(a=torch.ones(1)), "dict"),
        ([1, 2], "list"),
        ((), "tuple"),
        ({}, "dict"),
        (None, "NoneType"),
        ("text", "str"),
    ],
)
def test_a_file_is_of_a_kind(saved: Save, thing: Any, kind: str) -> None:
    assert saved(thing).kind == kind


def test_an_object_that_holds_itself_is_walked_once(saved: Save) -> None:
    thing: list[Any] = [torch.ones(1)]
    thing.append(thing)

    assert [one.path for one in saved(thing).tensors] == ["[0]"]


def test_a_deep_object_is_walked_without_recursion(saved: Save) -> None:
    thing: Any = torch.ones(1)
    for _ in range(200):
        thing = [thing]

    assert only(saved(thing)).path == "[0]" * 200


def test_the_rest_of_many_tensors_is_counted_and_looked_at(saved: Save) -> None:
    """One in the middle of thousands is found all the same."""
    tensors = [torch.ones(2) for _ in range(3000)]
    tensors[2500][0] = NAN

    content = saved(tensors)

    assert len(content.tensors) == cache_content.MOST_NAMED + 1
    assert content.more == 2799
    assert (content.tensors[-1].path, content.tensors[-1].nan) == ("[2500]", 1)


def test_too_many_keys_are_not_compared(saved: Save) -> None:
    """A dict by captions is as long as the data set."""
    assert saved({f"caption {number}": number for number in range(1000)}).keys is None


def test_long_and_hostile_keys_are_harmless(saved: Save) -> None:
    """They are shown in reports."""
    (first, second) = saved({"\x1b[31m": torch.ones(1), "x" * 900: torch.ones(1)}).tensors

    assert "\x1b" not in first.path
    assert len(second.path) < 100


# --- formats --------------------------------------------------------------------------------------


def test_legacy_packed_and_large_files_are_loaded(tmp_path: Path) -> None:
    """As trainers keep them."""
    path = tmp_path / "a.pt"
    torch.save({"a": BAD}, path, _use_new_zipfile_serialization=False)
    assert only(read(path)).nan == 1
    torch.save({"a": BAD}, path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert only(read(path)).nan == 1
    large = torch.ones(20_000_000)
    large[-1] = NAN
    torch.save(large, path)
    assert only(read(path)).nan == 1


def test_numpy_arrays_are_read_piece_by_piece(tmp_path: Path) -> None:
    """In either order of bytes and of dimensions, packed or not."""
    values = BAD.numpy()
    for kind in ("<f4", ">f4", "<f8", ">f2"):
        for order in "CF":
            array = np.asarray(values, dtype=kind, order=order)  # type: ignore[call-overload]
            np.save(tmp_path / "a.npy", array)
            np.savez_compressed(tmp_path / "a.npz", x=array, y=np.arange(3))

            one, other = read(tmp_path / "a.npz").tensors
            assert (one.path, other.path) == ("['x']", "['y']")
            for found in (one, only(read(tmp_path / "a.npy"))):
                assert counts(found) == (1, 1, 0, False)
                assert (found.shape, found.dtype) == ((2, 3), np.dtype(kind).name)


def test_arrays_of_fields_and_texts_are_looked_at_as_far_as_they_can_be(tmp_path: Path) -> None:
    """Their numbers are not."""
    for array in (np.zeros(3, dtype=[("a", "<f4")]), np.array(["a"]), np.zeros(3, np.longdouble)):
        np.save(tmp_path / "a.npy", array)
        assert counts(only(read(tmp_path / "a.npy"))) == (0, 0, 0, False)


def write(path: Path, array: Any) -> None:
    """Write numbers in the format that the name says."""
    if path.suffix == ".pt":
        torch.save({"a": torch.from_numpy(array)}, path)
    elif path.suffix == ".npy":
        np.save(path, array)
    elif path.suffix == ".npz":
        np.savez(path, a=array)
    else:
        path.write_bytes(contents.safetensors(a=("F32", [len(array)], array.tobytes())))


def test_safetensors_are_read_without_their_library(tmp_path: Path) -> None:
    half = BAD.bfloat16().view(torch.uint8).numpy().tobytes()
    path = tmp_path / "a.safetensors"
    path.write_bytes(contents.safetensors(a=("BF16", [2, 3], half), b=("I64", [1], bytes(8))))

    content = read(path)

    assert content.keys == ("['a']", "['b']")
    assert 0 < HERE.at < HERE.size == path.stat().st_size
    first, second = content.tensors
    assert (first.dtype, first.shape, *counts(first)) == ("bfloat16", (2, 3), 1, 1, 0, False)
    assert (second.dtype, *counts(second)) == ("int64", 0, 0, 0, False)


@pytest.mark.parametrize("suffix", [".pt", ".npy", ".npz", ".safetensors"])
def test_memory_does_not_grow_with_a_file(tmp_path: Path, suffix: str) -> None:
    """What numpy and Python hold at a time is a piece; torch maps large files."""
    array = np.ones(30_000_000, dtype=np.float32)
    path = tmp_path / f"a{suffix}"
    if suffix == ".pt":
        torch.save(torch.from_numpy(array).view(3, -1).t(), path)
    else:
        write(path, array)
    del array

    assert contents.with_peak(lambda: read(path))[1] < 30_000_000


# --- what is not loaded ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.pt", "a.npz", "a.npy", "a.safetensors"])
@pytest.mark.parametrize("kept", [0, 3, 100, 3000, 30_000, 70_000, -1])
def test_a_damaged_file_is_left_to_cache_damaged(tmp_path: Path, name: str, kept: int) -> None:
    """Whatever torch and numpy say of it: the job has one problem, and is told it once."""
    path = tmp_path / name
    write(path, np.arange(20_000, dtype="<f4"))
    path.write_bytes(path.read_bytes()[:kept])

    assert read(path).skipped == "it is damaged; see cache-damaged"


@pytest.mark.parametrize(
    "thing", [argparse.Namespace(a=1), np.float32(1)], ids=["settings", "a number of numpy"]
)
def test_what_torch_refuses_is_left_to_cache_unsafe(saved: Save, thing: Any) -> None:
    content = saved({"a": torch.ones(1), "b": thing})

    assert content.skipped == "torch.load refuses what it names (weights_only)"


def test_what_is_no_file_for_torch_is_passed_over(tmp_path: Path) -> None:
    script, raw, objects = tmp_path / "s.pt", tmp_path / "r.pt", tmp_path / "o.npy"
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), script)
    raw.write_bytes(pickle.dumps([1.0, 2.0]))
    np.save(objects, np.array([{}], dtype=object))
    np.savez(tmp_path / "o.npz", np.array([{}], dtype=object))

    assert read(script).skipped == "it is TorchScript, which holds code"
    assert read(raw).skipped == "it is no file of torch.save (format: pickle)"
    assert read(objects).skipped == "it holds Python objects, which are not loaded"
    assert read(tmp_path / "o.npz").skipped == "it holds Python objects, which are not loaded"


def test_nothing_is_run(tmp_path: Path) -> None:
    """A file that leaves another behind when it is loaded leaves none."""
    trace = tmp_path / "was-run"
    harm = contents.Harm(trace)
    torch.save({"a": harm}, tmp_path / "a.pt")
    torch.save({"a": harm}, tmp_path / "b.pt", _use_new_zipfile_serialization=False)
    (tmp_path / "c.pt").write_bytes(pickle.dumps(harm))
    (tmp_path / "d.npy").write_bytes(pickle.dumps(harm))
    np.save(tmp_path / "e.npy", np.array([harm], dtype=object))
    np.savez(tmp_path / "f.npz", np.array([harm], dtype=object))
    (tmp_path / "g.pt").write_bytes(gzip.compress((tmp_path / "a.pt").read_bytes()))
    for path in sorted(tmp_path.iterdir()):
        assert read(path).skipped, path

    assert not trace.exists()


def test_an_old_torch_is_refused_unless_the_files_are_trusted(
    saved: Save, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 2.6 a file could make it run code with weights_only; numpy's files are no matter."""
    saved(BAD)
    np.save(tmp_path / "a.npy", BAD.numpy())
    monkeypatch.setattr(torch, "__version__", "2.5.1+cu124")

    with pytest.raises(CannotLookError, match=r"torch 2\.5\.1\+cu124 run code") as caught:
        read(tmp_path / "a.pt", trust_caches=False)
    assert "--trust-caches" in (caught.value.fix or "")
    assert only(read(tmp_path / "a.pt", trust_caches=True)).nan == 1
    assert only(read(tmp_path / "a.npy", trust_caches=False)).nan == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX has pipes in the file system")
def test_what_is_no_file_cannot_be_looked_at(tmp_path: Path) -> None:
    """Opening a pipe would wait for ever."""
    os.mkfifo(tmp_path / "a.pt")

    with pytest.raises(OSError, match="no regular file"):
        read(tmp_path / "a.pt")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "b.pt")


def test_random_damage_breaks_nothing(tmp_path: Path) -> None:
    """Every file is either loaded, or left to another check, or said to be beyond loading."""
    whole = contents.saved({"a": torch.arange(20_000.0)})
    content = whole[:1500] + whole[-1500:]
    small = contents.saved({"a": torch.arange(20.0), "b": [torch.ones(3)]})
    for seed in range(150):
        chance = random.Random(seed)
        damaged = bytearray(small if seed % 2 else content)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path = tmp_path / f"{seed}.pt"
        path.write_bytes(damaged)
        try:
            found = read(path)
        except (CannotLookError, MemoryError):
            continue
        assert found.skipped or found.kind, seed


# --- in a process of ours -------------------------------------------------------------------------


def told(folder: Path, *names: str) -> list[Mapping[str, Any]]:
    """Give what a process answers about each of these files."""
    of_torch("serialization.set_crc32_options")  # an older one is asked for trust
    plains = [{"path": str(folder / name)} for name in names]
    answers = ask(questions(CONTENT, plains, folder), folder)
    return [one.told[0] for one in answers if isinstance(one, Answer)]


def test_a_process_answers_with_what_it_loaded(tmp_path: Path) -> None:
    """Torch fits into it, and so does a file that is larger than its limit leaves room for."""
    torch.save({"a": BAD}, tmp_path / "a.pt")
    np.save(tmp_path / "b.npy", np.ones(3, dtype=np.float32))

    first, _ = told(tmp_path, "a.pt", "b.npy")

    assert first["type"] == "Content"
    assert CachedTensor(*first["tensors"][0]).nan == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory holds on Linux")
def test_a_file_that_asks_for_all_memory_is_stopped(tmp_path: Path) -> None:
    """And the next one is looked at as if nothing had been."""
    torch.save(torch.ones(100_000), tmp_path / "a.pt", _use_new_zipfile_serialization=False)
    content = (tmp_path / "a.pt").read_bytes()
    count = b"J" + struct.pack("<i", 100_000)
    assert content.count(count) == 2
    hostile = content.replace(count, b"J" + struct.pack("<i", 2**31 - 1))
    (tmp_path / "a.pt").write_bytes(hostile)
    torch.save(torch.ones(3), tmp_path / "b.pt")

    first, second = told(tmp_path, "a.pt", "b.pt")

    assert first["skipped"] == "it is damaged; see cache-damaged"
    assert second["kind"] == "tensor"
