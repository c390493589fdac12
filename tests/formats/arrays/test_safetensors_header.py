"""Headers are taken and refused as safetensors 0.8 takes and refuses them: each case was tried."""

from __future__ import annotations

import json
import random

import pytest

from preflight.formats.arrays import safetensors, safetensors_header, strict_json
from preflight.formats.bytes.damaged import TooMuchError
from tests.contents import damage_by, with_peak

FIELDS = '"dtype":"F32","shape":[1],"data_offsets":[0,4]'
TENSOR = "{" + FIELDS + "}"
WRONG = TENSOR.replace("[1]", "[9]").replace("4]", "36]")


def flaw_of(header: str | bytes, data: int = 4) -> str | None:
    """Put a header in front of so many bytes, and give what is found."""
    text = header if isinstance(header, bytes) else header.encode()
    content = len(text).to_bytes(8, "little") + text + bytes(data)
    return damage_by(safetensors.check, content)[1] or None


def extra(value: str) -> str:
    return '{"a":{' + FIELDS + ',"x":' + value + "}}"


def shaped(shape: str, length: int) -> str:
    return f'{{"a":{{"dtype":"F32","shape":{shape},"data_offsets":[0,{length}]}}}}'


def typed(dtype: str) -> str:
    return f'{{"a":{{"dtype":{dtype},"shape":[1],"data_offsets":[0,4]}}}}'


@pytest.mark.parametrize(
    ("header", "data"),
    [
        pytest.param(f'{{"a":{TENSOR},"a":{TENSOR}}}', 4, id="a name twice"),
        pytest.param(
            f'{{"a":{WRONG},"a":{TENSOR}}}', 4, id="a name twice, and the first would not fit"
        ),
        pytest.param(
            f'{{"__metadata__":{{"a":"1","a":"2"}},"a":{TENSOR}}}',
            4,
            id="a key of the metadata twice",
        ),
        pytest.param(f'{{"__metadata__":null,"a":{TENSOR}}}', 4, id="metadata of null"),
        pytest.param(f'{{"a":{TENSOR},"__metadata__":{{"k":"v"}}}}', 4, id="metadata last"),
        pytest.param('{"__metadata__":{}}', 0, id="metadata only"),
        pytest.param(
            extra('{"a":[1.5e3,null,true,false,-0,""],"b":{}}'), 4, id="a field of everything"
        ),
        pytest.param(extra("1e-99999999"), 4, id="a number next to nothing"),
        pytest.param(extra("0e999999999999"), 4, id="nothing with an exponent"),
        pytest.param(extra("[" * 125 + "]" * 125), 4, id="125 lists deep"),
        pytest.param(extra('{"a":' * 125 + "1" + "}" * 125), 4, id="125 objects deep"),
        pytest.param(extra('1,"x":2'), 4, id="an unknown field twice"),
        pytest.param('{"a":["F32",[1],[0,4]]}', 4, id="a description as a list"),
        pytest.param(typed('{"F32":null}'), 4, id="a type as an object"),
        pytest.param(typed('"\\u004632"'), 4, id="a type with an escape"),
        pytest.param(typed('"Q9_FUTURE"'), 4, id="a type of a later version"),
        pytest.param(
            typed('"F32"').replace("dtype", "\\u0064type"), 4, id="a field with an escape"
        ),
        pytest.param(
            '{"\\ud83d\\ude00\\/\\u0000\x7f":' + TENSOR + "}", 4, id="odd characters in a name"
        ),
        pytest.param(shaped("[0,9223372036854775808]", 0), 0, id="no elements of very many"),
        pytest.param(shaped("[0,9223372036854775808,2]", 0), 0, id="no elements, said first"),
        pytest.param(shaped("[" + "1," * 100_000 + "1]", 4), 4, id="100,000 dimensions"),
        pytest.param(' \n{ "a" :\t' + TENSOR + " } \r\n\t ", 4, id="space everywhere"),
        pytest.param(
            f'{{"a":{TENSOR},"b":{TENSOR.replace("[1]", "[0]").replace("4]", "0]")}}}',
            4,
            id="an empty tensor at the beginning of another",
        ),
    ],
)
def test_a_header_that_the_format_reads_is_left_alone(header: str, data: int) -> None:
    assert flaw_of(header, data) is None


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (f'{{"a":{TENSOR},"a":{WRONG}}}', "ends at"),
        (f'{{"a":7,"a":{TENSOR}}}', "not described"),
        (f'{{"a":{{"dtype":"F32",{FIELDS}}}}}', "not described"),
        (f'{{"__metadata__":5,"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":[],"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":"x","a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":{{"a":1}},"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":{{"a":null}},"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":{{"a":NaN}},"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":{{"\\ud800":"x"}},"a":{TENSOR}}}', "__metadata__ is no map"),
        (f'{{"__metadata__":{TENSOR}}}', "__metadata__ is no map"),
        ('{"__metadata__":null,"\\u005f_metadata__":null}', "two __metadata__"),
        (extra("NaN"), "not described"),
        (extra("-Infinity"), "not described"),
        (extra("1e999"), "not described"),
        (extra("9" * 5000), "not described"),
        (extra("-" + "9" * 500), "not described"),
        (extra("1."), "not described"),
        (extra("+1"), "not described"),
        (extra("[1,]"), "not described"),
        (extra("[1}"), "not described"),
        (extra('{"a" 1}'), "not described"),
        (extra('"\\ud800"'), "not described"),
        (extra('"\\ud83d\\u0041"'), "not described"),
        (extra('"\\q"'), "not described"),
        (extra('"\x01"'), "not described"),
        (extra("[" * 126 + "]" * 126), "not described"),
        ('{"a":["F32",[1],[0,4],1]}', "not described"),
        ('{"a":["F32",[1]]}', "not described"),
        ('{"a":null}', "not described"),
        (typed('{"F32":{}}'), "not described"),
        (typed('{"F32":null,"F16":null}'), "not described"),
        (typed("3"), "not described"),
        (shaped("[01]", 4), "not described"),
        (shaped("[-0]", 0), "not described"),
        (shaped("[1e0]", 4), "not described"),
        (shaped("[18446744073709551616]", 4), "not described"),
        (shaped("null", 4), "not described"),
        (shaped("[9223372036854775808,2,0]", 4), "more than 64 bits"),
        (shaped("[" + "2," * 69 + "2]", 4), "more than 64 bits"),
        ('{"a":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}}', "ends inside a byte"),
        ('{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}}', "not described"),
        ('{"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}}', "not described"),
        (f'{{"\\udc00":{TENSOR}}}', "no JSON object"),
        (f'{{"a\n":{TENSOR}}}', "no JSON object"),
        (f'{{"a":{TENSOR},}}', "no JSON object"),
        (f'{{"a":{TENSOR}}} x', "no JSON object"),
        (f'{{"a":{TENSOR}}}\0', "no JSON object"),
        (f'\ufeff{{"a":{TENSOR}}}', "no JSON object"),
        (f"{{true:{TENSOR}}}", "no JSON object"),
        ('{"a', "no JSON object"),
        ('{"\\', "no JSON object"),
        ("", "no JSON object"),
        (b'{"a\xed\xa0\x80":' + TENSOR.encode() + b"}", "no JSON object"),
        (b'{"__metadata__":{"a":"\xc3"}}', "no JSON object"),
    ],
    ids=lambda value: None if len(value) < 200 else "long",
)
def test_a_header_that_the_format_refuses_is_found(header: str | bytes, said: str) -> None:
    """Python's own json would take many of them."""
    assert said in (flaw_of(header) or "")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (b'{"a":[' + b"[]," * 1_500_000 + b"[]]}", "not described"),
        (b'{"a":[' + b"{" * 4_500_000, "not described"),
        (shaped("[" + "1," * 200_000 + "2]", 4).encode(), "not the 8 of its shape"),
        (b"{}" + b" " * 4_500_000, "goes on"),
        (b'{"__metadata__":{"a":"' + b"n" * 4_500_000 + b'"}}', "goes on"),
        (extra("[" + "[]," * 150_000 + "1").encode(), "not described"),
    ],
    ids=["lists", "braces", "a shape", "space", "a text", "an unknown field"],
)
def test_a_header_takes_little_more_memory_than_its_bytes(header: bytes, said: str) -> None:
    """One of 99 MB would take 2.6 GB as Python's values."""
    found, peak = with_peak(lambda: flaw_of(header))

    assert said in (found or "")
    assert peak < 4 * len(header) + 3_000_000


def test_a_header_of_more_words_than_are_read_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is told as something that could not be looked at; escapes count too."""
    monkeypatch.setattr(strict_json, "MOST_STEPS", 100)

    for header in (extra("[" + "1," * 99 + "1]"), extra('"' + "\\n" * 101 + '"')):
        with pytest.raises(TooMuchError, match=r"takes? too long to be looked at"):
            flaw_of(header)
    with pytest.raises(TooMuchError):
        flaw_of("{" + ",".join(f'"a":{TENSOR}' for _ in range(101)) + "}")


def test_a_header_of_more_tensors_than_are_held_is_not_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is a text that is very long, or a name that is long and has escapes."""
    monkeypatch.setattr(safetensors_header, "MOST_TENSORS", 2)
    tensors = [f'"{k}":{{"dtype":"U8","shape":[1],"data_offsets":[{k},{k + 1}]}}' for k in range(3)]

    assert flaw_of("{" + ",".join(tensors[:2]) + "}", 2) is None
    with pytest.raises(TooMuchError, match="more than 2 tensors"):
        flaw_of("{" + ",".join(reversed(tensors)) + "}", 3)
    with pytest.raises(TooMuchError, match="a name of"):
        flaw_of('{"\\n' + "n" * 70_000 + '":' + TENSOR + "}")
    with pytest.raises(TooMuchError, match="a text of"):
        flaw_of('{"__metadata__":{"a":"' + "n" * (1 << 24) + '"}}')


def test_tensors_may_be_described_in_any_order_and_any_style() -> None:
    """A thousand of them, as each of several writers puts them."""
    tensors = {
        f'layer.{k}"ü': {
            "dtype": "U16",
            "shape": [k, 1],
            "data_offsets": [k * (k - 1), k * (k + 1)],
        }
        for k in random.Random(1).sample(range(1000), 1000)
    }

    for style in ({}, {"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}):
        header = json.dumps(tensors, **style)  # type: ignore[arg-type]
        assert flaw_of(header, 999_000) is None
        assert flaw_of(header, 998_999) is not None


def test_random_headers_never_break_the_reader() -> None:
    """Whatever they are, they pass or are called damaged; what json refuses never passes."""
    whole = extra('{"a":[1.5e3,null,true,"\\u00fc\\n"]}')[:-1]
    whole += ',"__metadata__":{"k":"v"},"b":["U8",[0],[4,4]]}'
    pieces = [*(one.encode() for one in '"\\[]{},:-e'), b"\\u", b"9" * 30, b"", b"\xff"]
    assert flaw_of(whole) is None
    passed = 0
    for seed in range(5000):
        chance = random.Random(seed)
        content = bytearray(whole.encode())
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(content))
            content[at : at + chance.randrange(3)] = chance.choice(pieces)
        if flaw_of(bytes(content)) is None:
            passed += 1
            json.loads(content)

    assert passed
