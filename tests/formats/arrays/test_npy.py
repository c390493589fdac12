"""A .npy file is judged by its header and size, without numpy; it carries no checksum."""

from __future__ import annotations

import io
import random
import re
import tokenize

import numpy as np
import pytest

from preflight.formats.arrays import npy
from preflight.formats.bytes.blocks import Block
from tests.archives import flipped
from tests.contents import damage_by, written

RECORD = np.dtype([("a", "<f4"), ("b", "<i8", (2, 3)), ("c", "S5")])
ARRAYS = {
    "plain": np.arange(1000.0),
    "a scalar": np.float32(3),
    "nothing": np.zeros((0, 3)),
    "fortran order": np.asfortranarray(np.arange(24).reshape(2, 3, 4)),
    "big-endian": np.arange(10, dtype=">i4"),
    "truths": np.array([True, False]),
    "complex": np.zeros(3, dtype=np.complex128),
    "half": np.zeros((3, 4), dtype=np.float16),
    "texts": np.array(["a", "日本語"]),
    "bytes": np.array([b"a", b"abc"]),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
    "spans": np.array([1], dtype="timedelta64[25s]"),
    "records": np.zeros(4, dtype=RECORD),
    "objects": np.array([{"a": 1}, None], dtype=object),
    "raw": np.zeros(3, dtype="V7"),
    "thirty-two dimensions": np.zeros([1] * 32),
}


def saved(array: object) -> bytes:
    return written(np.save, array)


def kind_of(content: bytes) -> str:
    return damage_by(npy.check, content)[0]


@pytest.mark.parametrize("array", list(ARRAYS.values()), ids=list(ARRAYS))
def test_every_array_that_numpy_writes_is_left_alone(array: object) -> None:
    """Also where a second one stands behind it, as `numpy.save` to an open file leaves them."""
    assert kind_of(saved(array)) == "none"
    assert kind_of(saved(array) + saved(ARRAYS["plain"])) == "none"


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=["1", "2", "3"])
def test_every_version_is_known(version: tuple[int, int]) -> None:
    out = io.BytesIO()
    np.lib.format.write_array(out, ARRAYS["plain"], version=version)

    assert kind_of(out.getvalue()) == "none"
    assert kind_of(out.getvalue()[:-1]) == "cut"


def test_a_header_of_python_2_is_known() -> None:
    """It wrote its numbers as longs."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header

    assert kind_of(start + bytes(24)) == "none"
    assert kind_of(start + bytes(23)) == "cut"


@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "nothing"], ids=str)
def test_an_array_cut_anywhere_is_found(name: str) -> None:
    content = saved(ARRAYS[name])

    kinds = {kind_of(content[:size]) for size in range(6, len(content))}
    assert kinds == {"cut"}


@pytest.mark.parametrize(
    ("at", "new"),
    [(6, b"\x09"), (7, b"\x01"), (10, b"\x00"), (8, b"\x08\x00")],
    ids=["of version 9", "of version 1.1", "no dict", "a header too short"],
)
def test_a_header_that_makes_no_sense_is_found(at: int, new: bytes) -> None:
    content = saved(ARRAYS["plain"])

    assert kind_of(content[:at] + new + content[at + len(new) :]) == "structure"


def said_of_header(content: bytes) -> str:
    """Tell what numpy makes of a header: `read`, `refused`, or `type` where it minds only that."""
    stream = io.BytesIO(content)
    np.lib.format.read_magic(stream)
    try:
        np.lib.format.read_array_header_1_0(stream)
    except tokenize.TokenError:
        return "refused"
    except ValueError as error:
        return "type" if re.search("descriptor|dtype|time|type|field", str(error)) else "refused"
    except (KeyError, SyntaxError, TypeError):
        return "type"
    return "read"


@pytest.mark.filterwarnings("ignore")  # numpy warns of headers of Python 2
@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in ("objects", "records")])
def test_every_wrong_bit_in_a_header_that_numpy_cannot_read_is_found(name: str) -> None:
    """What it reads all the same may be another type or shape, which nobody can know."""
    content = saved(ARRAYS[name])
    said: set[tuple[str, str]] = set()
    for at in range(10, content.index(b"\n")):
        for bit in range(8):
            wrong = flipped(content, at, 1 << bit)
            said.add((said_of_header(wrong), kind_of(wrong)))

    assert ("refused", "structure") in said
    assert not said & {("refused", "none"), ("read", "structure")}


@pytest.mark.filterwarnings("ignore")  # numpy warns of types that it will no longer take
@pytest.mark.parametrize("name", [name for name in ARRAYS if name != "objects"])
def test_a_wrong_byte_in_a_header_that_changes_how_much_is_read_is_found(name: str) -> None:
    """Numpy refuses the header or its type, or lacks bytes: most of all that, and nothing else."""
    content = saved(ARRAYS[name])
    told = refused = 0
    for at in range(10, content.index(b"}")):
        for bit in range(8):
            wrong = flipped(content, at, 1 << bit)
            found = kind_of(wrong) != "none"
            try:
                np.load(io.BytesIO(wrong))
            except (ValueError, KeyError, SyntaxError, TypeError, tokenize.TokenError):
                refused += 1
                told += found
            else:
                assert not found, wrong[:120]

    assert told >= 0.97 * refused > 100


def test_a_shape_made_to_exhaust_its_reader_exhausts_nothing() -> None:
    """Sixty-four dimensions of nineteen digits each, in a file of a kilobyte."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': ("

    assert kind_of(made(header + b"9999999999999999999, " * 64 + b")")) == "structure"


def made(header: bytes, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x02\x00" + len(header).to_bytes(4, "little") + header + data


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(b"9" * 1300 + b", ", id="a number of 1,300 digits"),
        pytest.param(b"9999999999999999999," * 300, id="three hundred numbers"),
        pytest.param(b"9" * 5000 + b",", id="a number of 5,000 digits"),
        pytest.param(b"4294967296, 4294967296", id="a product of 65 bits"),
    ],
)
def test_a_shape_that_no_array_has_is_found(shape: bytes) -> None:
    """Nor can Python write down how many bytes it would take: integers above 4,300 digits."""
    content = made(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + b"), }\n")

    assert kind_of(content + bytes(64)) == "structure"
    with pytest.raises((ValueError, OverflowError)):
        np.load(io.BytesIO(content + bytes(64)))


@pytest.mark.parametrize(
    "shape",
    [b"4294967296, 268435455, 0", b"0, 1152921504606846975", b"4294967296, 4294967296, 0"],
    ids=["zero last", "zero first", "too large without the zero"],
)
def test_a_shape_with_a_zero_takes_no_bytes(shape: bytes) -> None:
    """Numpy reads it where the product of the other numbers is one that it can hold."""
    content = made(b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + b"), }\n")

    try:
        loaded = np.load(io.BytesIO(content)).size
    except ValueError:
        assert kind_of(content) == "structure"
    else:
        assert loaded == 0
        assert kind_of(content) == "none"


def test_a_header_that_numpy_would_not_read_is_not_searched() -> None:
    """Above 10,000 bytes it reads one only if told to trust it; then the array is its business."""
    header = b"{'shape': (1,)," + b"'descr': '<f8[" * 80_000
    content = made(header)
    asked: list[int] = []

    def read(offset: int, size: int) -> Block:
        asked.append(size)
        return memoryview(content)[offset : offset + size]

    npy.check(read, len(content))

    assert max(asked) < 100
    with pytest.raises(ValueError, match="max_header_size"):
        np.load(io.BytesIO(content))


def test_a_long_header_that_numpy_itself_writes_is_left_alone() -> None:
    """A record of a thousand fields has one; numpy reads it with `max_header_size` or pickles."""
    record = np.dtype([(f"field_{number:04}", "<f4") for number in range(1000)])
    content = saved(np.zeros(2, dtype=record))

    assert kind_of(content) == "none"
    assert kind_of(content[:5000]) == "cut"
    assert np.load(io.BytesIO(content), max_header_size=1 << 20).shape == (2,)


def test_random_headers_never_break_the_reader() -> None:
    whole = [saved(array) for array in ARRAYS.values()]
    for seed in range(5000):
        chance = random.Random(seed)
        content = bytearray(chance.choice(whole)[:400])
        for _ in range(chance.randrange(1, 9)):
            at = chance.randrange(min(len(content), 140))
            piece = chance.choice(
                [b"9" * chance.randrange(1, 50), b"[", b"'descr':'", b"(", b"", bytes([at])]
            )
            content[at : at + chance.randrange(3)] = piece
        assert kind_of(bytes(content)) in ("none", "cut", "structure"), seed
