"""Headers as every writer writes them are read in one go, and never otherwise than closely."""

from __future__ import annotations

import random

import pytest

from preflight.formats.arrays import safetensors
from preflight.formats.arrays.safetensors_header import read_header
from preflight.formats.arrays.safetensors_usual import end_of_usual, is_whole

FEW = (
    b'{"__metadata__":{"format":"pt","a":"b"},'
    b'"mask":{"dtype":"BOOL","shape":[77],"data_offsets":[0,77]},'
    b'"embeds":{"dtype":"BF16","shape":[1,77,64],"data_offsets":[77,9933]},'
    b'"scale":{"dtype":"F32","shape":[],"data_offsets":[9933,9937]}}   '
)
SPACED = (
    b'{"a": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, '
    b'"b": {"dtype": "F4", "shape": [6], "data_offsets": [12, 15]}}'
)


def closely(header: bytes) -> int | None:
    """Give where the tensors end, read word by word; None: something is wrong."""
    try:
        return safetensors.end_of_tensors(read_header(header))
    except OSError:
        raise
    except Exception:  # noqa: BLE001  whatever is wrong with it
        return None


def test_what_every_writer_writes_is_read_in_one_go() -> None:
    assert end_of_usual(FEW) == 9937
    assert end_of_usual(SPACED) == 15
    assert is_whole(len(FEW).to_bytes(8, "little") + FEW, 8 + len(FEW) + 9937)


def test_what_torch_saves_is_read_in_one_go() -> None:
    """With and without words of its own, in every type, and a thousand tensors."""
    torch = pytest.importorskip("torch")
    writer = pytest.importorskip("safetensors.torch")
    kinds = [torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.uint8]
    few = {f"{kind}/ü": torch.zeros(2, 3, dtype=kind) for kind in kinds}
    many = {f"blocks.{number}.weight": torch.zeros(3, 3) for number in range(1_000)}

    for tensors, metadata in ((few, None), (few, {"format": "pt"}), (many, {"a": "b", "c": "d"})):
        content = writer.save(tensors, metadata)
        assert is_whole(content, len(content))
        assert not is_whole(content[:-1], len(content) - 1)
        assert not is_whole(content + b"\0", len(content) + 1)


@pytest.mark.parametrize(
    "header",
    [
        FEW.replace(b"[77,9933]", b"[78,9934]"),
        FEW.replace(b"[77,9933]", b"[76,9932]"),
        FEW.replace(b'"mask"', b'"embeds"'),
        FEW.replace(b'"mask"', b'"__metadata__"'),
        FEW.replace(b"BF16", b"F32"),
        FEW.replace(b"BF16", b"Q3_LATER"),
        FEW.replace(b"mask", b"\xffask"),
        FEW.replace(b"mask", b"\xed\xa0\x80"),
        FEW.replace(b"mask", b"ma\\u0073k"),
        FEW.replace(b"mask", b"\x01ask"),
        FEW.replace(b"},", b"};", 2),
        FEW.replace(b'"mask"', b'x"mask"'),
        FEW.replace(b"}}   ", b"}}  ,"),
        FEW.replace(b"}}   ", b"},}  "),
        FEW.replace(b"}}   ", b"}    "),
        FEW.replace(b"[1,77,64]", b"[01,77,64]"),
        FEW[1:],
        b"[" + FEW[1:],
        b"{}",
        b"{",
        b"",
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
        b'{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[%d,%d],"data_offsets":[0,4]}}' % ((10**19 - 1,) * 2),
    ],
)
def test_whatever_is_not_as_usual_is_left_to_the_close_reader(header: bytes) -> None:
    """It knows what may stand there, and says what is wrong."""
    assert end_of_usual(header) is None


def test_a_head_that_holds_only_part_of_the_header_says_nothing() -> None:
    content = len(FEW).to_bytes(8, "little") + FEW

    assert not is_whole(content[:-1], len(content) + 9937)
    assert not is_whole(b"", 0)
    assert not is_whole(b"\xff" * 8, 8)


def test_what_it_calls_whole_the_close_reader_does_and_says_the_same() -> None:
    """Where the quick way says anything: bytes are changed, left out, and put in, at random."""
    chance = random.Random(5)
    letters = b'{}[]",:0123456789 \n\\aBF_\xff\x00'
    agreed = 0
    for _ in range(20_000):
        header = bytearray(chance.choice((FEW, SPACED)))
        for _ in range(chance.randrange(1, 3)):
            at = chance.randrange(len(header))
            header[at : at + chance.randrange(3)] = bytes([chance.choice(letters)])
        end = end_of_usual(bytes(header))
        if end is not None:
            agreed += 1
            assert closely(bytes(header)) == end, bytes(header)
    assert agreed > 500


def test_a_long_hostile_header_takes_no_time() -> None:
    tensor = b'"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}'
    for header in (
        b"{" + tensor * 14_000,
        b"{" + b'"__metadata__":{' + b'"a":"b",' * 100_000,
        b"{" + b'"' * 1_000_000,
        b"{" + b"1," * 500_000,
    ):
        assert end_of_usual(header) is None
