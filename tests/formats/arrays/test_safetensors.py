"""safetensors carry no checksums: what can be judged is whether header and file fit together."""

from __future__ import annotations

import itertools
import json
import re
import struct

import pytest

from preflight.formats.arrays import safetensors
from tests.contents import damage_by


def made(header: object, data: int, *, pad: int = 0) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * pad
    return struct.pack("<Q", len(text)) + text + bytes(data)


def tensor(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def flaw_of(content: bytes) -> tuple[str, str]:
    return damage_by(safetensors.check, content)


WHOLE = {"a": tensor("F32", [2, 3], 0, 24), "b": tensor("BF16", [4], 24, 32)}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(made(WHOLE, 32), id="two tensors"),
        pytest.param(made(WHOLE, 32, pad=7), id="a padded header"),
        pytest.param(made({"b": WHOLE["b"], "a": WHOLE["a"]}, 32), id="in another order"),
        pytest.param(made({"__metadata__": {"format": "pt"}, **WHOLE}, 32), id="with metadata"),
        pytest.param(made({}, 0), id="no tensors"),
        pytest.param(made({"a": tensor("F32", [], 0, 4)}, 4), id="a scalar"),
        pytest.param(
            made({"a": tensor("F32", [0, 8], 0, 0), "b": tensor("U8", [3], 0, 3)}, 3),
            id="an empty tensor first",
        ),
        pytest.param(
            made({"b": tensor("U8", [3], 0, 3), "a": tensor("F32", [0], 3, 3)}, 3),
            id="an empty tensor last",
        ),
        pytest.param(made({"a": tensor("F4", [6], 0, 3)}, 3), id="4 bits each"),
        pytest.param(made({"a": tensor("F6_E2M3", [4], 0, 3)}, 3), id="6 bits each"),
        pytest.param(
            made({"a": tensor("Q3_FUTURE", [5], 0, 17)}, 17), id="a type of a later version"
        ),
        pytest.param(
            made({"": tensor("U8", [1], 0, 1), "日本": tensor("C64", [1], 1, 9)}, 9), id="odd names"
        ),
    ],
)
def test_a_whole_file_is_left_alone(content: bytes) -> None:
    assert flaw_of(content) == ("none", "")


def test_a_file_cut_anywhere_is_found() -> None:
    """At every length; behind the header, with the size that it should have."""
    content = made(WHOLE, 32)

    assert {flaw_of(content[:size])[0] for size in range(1, len(content))} == {"cut"}
    assert flaw_of(content[:-5])[1] == f"ends at {len(content) - 5:,} of {len(content):,} bytes"


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (made(WHOLE, 33), "trailing", "goes on for 1 byte behind its last tensor"),
        (made(b"[1, 2]", 0), "structure", "no JSON"),
        (made(b"{'a': 1}", 0), "structure", "no JSON"),
        (made(b'{"a\xff": 1}', 0), "structure", "no JSON"),
        (made(b'{"a":' + b"[" * 100_000, 0), "structure", "not described"),
        (made({"a": tensor("F32", [2], 4, 12)}, 12), "structure", "leaves a gap"),
        (
            made({"a": tensor("U8", [4], 0, 4), "b": tensor("U8", [4], 2, 6)}, 6),
            "structure",
            "overlaps",
        ),
        (made({"a": tensor("F32", [2], 0, 9)}, 9), "structure", "not the 8 of its shape"),
        (made({"a": tensor("F32", [-2], 0, 8)}, 8), "structure", "not described"),
        (made({"a": tensor("F32", [2], 8, 0)}, 8), "structure", "leaves a gap"),
        (
            made({"a": tensor("U8", [4], 0, 4), "b": tensor("Q3_FUTURE", [5], 4, 2)}, 2),
            "structure",
            "takes -2 bytes",
        ),
        (made({"a": {"dtype": "F32"}}, 8), "structure", "not described"),
        (made({"a": 7}, 8), "structure", "not described"),
        (made({"a": tensor("F32", [2.0], 0, 8)}, 8), "structure", "not described"),
        (made({"a": tensor("F32", [True], 0, 4)}, 4), "structure", "not described"),
        (struct.pack("<Q", 2**63) + b"{}", "structure", "the most is 100,000,000"),
    ],
    ids=[
        "bytes behind the end",
        "a list",
        "no JSON",
        "no UTF-8",
        "nested without end",
        "a gap",
        "an overlap",
        "another shape",
        "a negative shape",
        "backwards",
        "backwards, of a later version",
        "no offsets",
        "no tensor",
        "a shape of fractions",
        "a shape of truths",
        "a header without end",
    ],
)
def test_a_header_that_does_not_fit_is_found(content: bytes, kind: str, said: str) -> None:
    """The format's own reader refuses each of them."""
    found = flaw_of(content)

    assert found[0] == kind
    assert said in found[1]


def test_a_shorter_file_over_a_longer_one_is_guessed_at() -> None:
    """Some bytes too many may be anything."""
    assert flaw_of(made(WHOLE, 32 + 5000))[1].endswith("most likely written over a longer file")
    assert "likely" not in flaw_of(made(WHOLE, 33))[1]


@pytest.mark.parametrize("dtype", ["F32", "BF16", "BOOL", "F8_E4M3", "U8"])
def test_a_wrong_byte_in_the_name_of_a_type_is_found(dtype: str) -> None:
    """Wherever it makes no name that a later version may have for as many bits."""
    bits = {"F32": 32, "BF16": 16}.get(dtype, 8)
    for at, code in itertools.product(range(len(dtype)), b"\x1f !#59AGRZ^_az~"):
        name = dtype[:at] + chr(code) + dtype[at + 1 :]
        content = made({"a": tensor(name, [8], 0, bits)}, bits)
        later = re.fullmatch(r"(?:B|BF|C|F|I|Q|TF|U)(\d+)(?:_[A-Z0-9]+)?", name)
        fits = later is not None and int(later[1]) == bits
        said = "is of a type that the format does not have"
        assert (said not in flaw_of(content)[1]) == (name == dtype or fits), name


@pytest.mark.parametrize(
    ("name", "bits"), [("C32", 32), ("F8_E3M4", 8), ("I4", 4), ("MXFP4", 4), ("TF32", 19)]
)
def test_a_type_that_may_come_is_left_alone(name: str, bits: int) -> None:
    assert flaw_of(made({"a": tensor(name, [8], 0, bits)}, bits)) == ("none", "")


def test_a_file_is_known_by_its_beginning() -> None:
    content = made(WHOLE, 32)

    assert safetensors.is_safetensors(content[:64], len(content))
    assert not safetensors.is_safetensors(content[:64], 20)
    assert not safetensors.is_safetensors(b"PK\3\4" + bytes(60), 64)
    assert not safetensors.is_safetensors(b"", 0)
