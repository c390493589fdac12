"""Files from before the zip format are left alone; what torch.load trips over in one is told."""

from __future__ import annotations

import io
import pickle
import struct
import sys
import warnings
from collections import OrderedDict
from collections.abc import Iterator

import pytest
import torch

from tests import contents
from tests.contents import flaw_in, kind_in

NUMBERS = torch.arange(12.0).reshape(3, 4)


def legacy(thing: object, **options: object) -> bytes:
    return contents.saved(thing, _use_new_zipfile_serialization=False, **options)


def kind_of(content: bytes) -> str:
    return kind_in(content, ".pt")


def loaded(content: bytes) -> object:
    return torch.load(io.BytesIO(content), weights_only=True)


# Before 2.6, with weights_only, whatever is raised comes as this; and nothing quantized is taken.
OLD = not hasattr(torch.serialization, "set_crc32_options")


def is_refused(content: bytes) -> bool:
    try:
        loaded(content)
    except pickle.UnpicklingError:
        if not OLD:
            raise
        return True
    except (RuntimeError, EOFError, ValueError, TypeError, AttributeError, AssertionError):
        return True
    return False


def swapped(content: bytes, old: bytes, new: bytes, count: int = 1) -> bytes:
    assert content.count(old) == count, (old, content.count(old))
    return content.replace(old, new)


def healthy() -> Iterator[tuple[str, object]]:
    """Give what people save."""
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.uint8):
        yield str(kind), torch.ones(5, 3, dtype=kind)
    for kind in (torch.int8, torch.int16, torch.int32, torch.int64, torch.bool):
        yield str(kind), torch.ones(7, dtype=kind)
    yield "complex", [torch.ones(3, dtype=torch.complex64), torch.ones(3, dtype=torch.complex128)]
    yield "views", [NUMBERS, NUMBERS[1:, :2], NUMBERS.t(), NUMBERS[2, 3], NUMBERS[::2]]
    yield "expanded", torch.ones(1).expand(1000, 1000)
    yield "end of a storage", NUMBERS.flatten()[12:]
    yield "empty", [torch.empty(0), torch.empty(3, 0, 5), torch.empty(0, dtype=torch.int64)]
    yield "empty with large strides", torch.empty(0).as_strided((0, 3), (100, 1), 0)
    yield "one number", torch.tensor(3.5)
    yield "ten dimensions", torch.ones(2, 1, 1, 2, 1, 1, 1, 2, 1, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield "sparse", [torch.eye(4).to_sparse(), torch.eye(4).to_sparse_csr()]
    yield "parameter", torch.nn.Parameter(NUMBERS.clone())
    yield "frozen", torch.nn.Parameter(torch.ones(3, dtype=torch.int64), requires_grad=False)
    yield "gradient", torch.ones(3, requires_grad=True)
    yield "conjugate", torch.ones(3, dtype=torch.complex64).conj()
    tied = torch.nn.Linear(4, 4)
    yield "tied", OrderedDict(a=tied.weight, b=tied.weight, c=tied.bias)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    yield "state", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 7}
    if OLD:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scales, zeros = torch.ones(3), torch.zeros(3)
        yield "quantized", torch.quantize_per_tensor(NUMBERS, 0.1, 0, torch.qint8)
        yield "in 32 bits", torch.quantize_per_tensor(NUMBERS, 0.1, 0, torch.qint32)
        channels = torch.quantize_per_channel(NUMBERS, scales, zeros, 0, torch.quint8)
        yield "quantized by channels", channels


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_what_people_save_is_left_alone(protocol: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a type names no module, pickle asks each for it, and these import others then.
    for name in [one for one in sys.modules if one.partition(".")[0] == "transformers"]:
        monkeypatch.delitem(sys.modules, name)
    for name, thing in healthy():
        content = legacy(thing, pickle_protocol=protocol)
        assert not is_refused(content), name
        assert kind_of(content) == "none", (name, flaw_in(content, ".pt"))
        assert kind_of(content + legacy(NUMBERS)) == "none", f"{name}, and another one behind it"
        assert kind_of(contents.saved(thing, pickle_protocol=protocol)) == "none", (
            f"{name}, in an archive"
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(b"K\x03K\x04\x86", b"K\x04K\x04\x86", id="a longer side"),
        pytest.param(b"K\x04K\x01\x86", b"K\x05K\x01\x86", id="a longer step"),
        pytest.param(b"QK\x00K\x03", b"QK\x01K\x03", id="a later beginning"),
        pytest.param(b"K\x04K\x01\x86", b"K\x04\x85", id="a step too few"),
        pytest.param(b"K\x03K\x04\x86", b"K\x03", id="a number for sizes"),
        pytest.param(b"K\x04K\x01\x86", b"K\x04", id="a number for steps"),
        pytest.param(b"K\x04K\x01\x86", b"J\xff\xff\xff\xffK\x01\x86", id="a step back"),
        pytest.param(b"K\x0cN", b"K\x0dN", id="one element more"),
        pytest.param(b"torch\nFloatS", b"torch\nDoubleS", id="larger elements"),
    ],
)
def test_a_tensor_that_does_not_fit_its_storage_is_found(old: bytes, new: bytes) -> None:
    """As torch.load has it, which makes the storage larger and then misses its bytes."""
    wrong = swapped(legacy(NUMBERS), old, new)

    assert is_refused(wrong)
    assert kind_of(wrong) in ("storage", "cut")


@pytest.mark.parametrize("name", ["Half", "BFloat16", "Short", "Byte", "Bool", "Char"])
def test_elements_that_are_said_to_be_smaller_are_found(name: str) -> None:
    """torch.load reads a part of the storage, and gives other numbers without a word."""
    wrong = swapped(legacy(NUMBERS), b"torch\nFloatS", f"torch\n{name}S".encode())
    got = loaded(wrong)

    assert isinstance(got, torch.Tensor)
    assert got.dtype != NUMBERS.dtype
    assert kind_of(wrong) == "storage"
    flaw = flaw_in(wrong, ".pt")
    assert f"as if that had elements of 4 bytes, and not of type {name}" in flaw.text


def test_any_type_in_the_place_of_any_other_is_found_where_its_size_differs() -> None:
    """Also where other storages follow."""
    names = {"Half": 2, "Float": 4, "Double": 8, "Long": 8, "Byte": 1, "ComplexDouble": 16}
    for own in (torch.float16, torch.float64, torch.int64, torch.complex128, torch.uint8):
        for thing in (torch.ones(6, dtype=own), [torch.ones(n, dtype=own) for n in (5, 6)]):
            content = legacy(thing)
            at = content.index(b"ctorch\n") + len(b"ctorch\n")
            at = content.index(b"Storage\n", at)
            begin = content.rindex(b"\n", 0, at) + 1
            for name, size in names.items():
                if size != torch.empty(0, dtype=own).element_size():
                    wrong = content[:begin] + name.encode() + content[at:]
                    assert kind_of(wrong) in ("storage", "cut"), (own, name)


@pytest.mark.parametrize("thing", [torch.nn.Parameter(NUMBERS), torch.ones(3, requires_grad=True)])
def test_whole_numbers_that_need_a_gradient_are_found(thing: torch.Tensor) -> None:
    wrong = swapped(legacy(thing), b"torch\nFloatS", b"torch\nIntS")

    assert is_refused(wrong)
    assert "needs a gradient, and its storage is of type Int" in flaw_in(wrong, ".pt").text


@pytest.mark.filterwarnings("ignore")
def test_a_quantized_tensor_of_plain_elements_is_found() -> None:
    content = legacy(torch.quantize_per_tensor(NUMBERS, 0.1, 0, torch.qint8))
    wrong = swapped(content, b"torch\nQInt8S", b"torch\nCharS")

    assert is_refused(wrong)
    odd = swapped(legacy(NUMBERS), b"torch\nFloatS", b"torch\nQInt32S")
    assert kind_of(odd) == "storage", "torch.load gives a tensor that cannot even be printed"
    assert "is quantized, and its storage is of type Char" in flaw_in(wrong, ".pt").text


def keys_of(content: bytes) -> tuple[int, list[bytes]]:
    """Give where the list of a file's storages begins, and what is in it."""
    at = content.rindex(b"\x80\x02]q\x00(")
    keys, place = [], at + 6
    while content[place : place + 1] == b"X":
        (length,) = struct.unpack("<I", content[place + 1 : place + 5])
        keys.append(content[place + 5 : place + 5 + length])
        place = content.index(b"q", place + 5 + length) + 2
    return at, keys


def test_storages_in_the_place_of_each_other_are_found() -> None:
    """torch.save sorts them by their keys; where two are swapped, torch.load swaps the numbers."""
    thing = {"a": torch.zeros(4), "b": torch.ones(4), "c": torch.arange(4.0)}
    content = legacy(thing)
    at, keys = keys_of(content)
    assert keys == sorted(keys)
    assert len({len(one) for one in keys}) == 1

    first, second, third = keys
    for turned in ((second, first, third), (first, third, second), (first, first, third)):
        behind = content[at:]
        for old, mark in zip(keys, (b"@1", b"@2", b"@3"), strict=True):
            behind = swapped(behind, old, mark)
        for new, mark in zip(turned, (b"@1", b"@2", b"@3"), strict=True):
            behind = behind.replace(mark, new)
        wrong = content[:at] + behind
        got = loaded(wrong)
        assert isinstance(got, dict)
        assert not all(torch.equal(got[name], thing[name]) for name in thing)
        assert kind_of(wrong) in ("storage", "structure")


def old_view(content: bytes, offset: int, size: int) -> bytes:
    """Say of a tensor's storage that it is a view of it, as old versions of torch did."""
    view = b"X\x04\x00\x00\x00viewK" + bytes([offset]) + b"K" + bytes([size]) + b"\x87"
    return swapped(content, b"K\x0cNt", b"K\x0c" + view + b"t")


def test_the_view_of_a_storage_is_as_large_as_it_says() -> None:
    """Versions before 1.0 wrote where a view begins, and how many elements it has."""
    whole = old_view(legacy(NUMBERS), 0, 12)
    part = old_view(legacy(NUMBERS.flatten()[:8]), 4, 8)

    assert torch.equal(loaded(whole), NUMBERS)  # type: ignore[arg-type]
    assert torch.equal(loaded(part), NUMBERS.flatten()[4:])  # type: ignore[arg-type]
    assert (kind_of(whole), kind_of(part)) == ("none", "none")
    for size in (8, 12):
        wrong = old_view(legacy(NUMBERS), 4, size)
        assert is_refused(wrong)
        assert kind_of(wrong) == "storage"


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_a_storage_without_a_type_is_one_that_torch_writes_and_cannot_read() -> None:
    """A storage itself, and tensors of the newer types."""
    for thing in (torch.zeros(3).untyped_storage(), torch.zeros(3).to(torch.float8_e5m2)):
        content = legacy(thing)
        assert is_refused(content)
        assert kind_of(content) == "untyped"
        loaded(contents.saved(thing))  # as it is said to be saved instead
    assert kind_of(legacy(NUMBERS.storage())) == "none"


def test_a_type_of_storage_that_torch_does_not_have_is_found() -> None:
    """As one wrong bit makes it: there are no checksums in this format."""
    wrong = swapped(legacy(NUMBERS), b"torch\nFloatS", b"torch\nFloapS")

    with pytest.raises((AttributeError, pickle.UnpicklingError)):
        torch.load(io.BytesIO(wrong), weights_only=False)
    assert kind_of(wrong) == "structure"
