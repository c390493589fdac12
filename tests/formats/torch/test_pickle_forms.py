"""A pickle of a known form is read as if it had been walked."""

from __future__ import annotations

import io
import pickle
import random
import zipfile
from typing import Any

import pytest
import torch

from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickle_forms import Forms
from preflight.formats.torch.pickles import walk_bytes
from tests.archives import flipped
from tests.contents import saved


def pickle_of(thing: Any, protocol: int = 2) -> bytes:
    with zipfile.ZipFile(io.BytesIO(saved(thing, pickle_protocol=protocol))) as archive:
        return archive.read("archive/data.pkl")


def embedding(tokens: int, words: int) -> dict[str, Any]:
    """Make what a trainer caches for one caption."""
    return {
        "prompt_embeds": torch.zeros(tokens, 64, dtype=torch.bfloat16),
        "mask": torch.ones(words, dtype=torch.bool),
        "crop": (tokens, -words),
        "large": 1 << 40,
    }


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_numbers_are_those_of_each_pickle(protocol: int) -> None:
    """Small ones take a byte, larger ones two or four; each width is a form of its own."""
    forms = Forms()
    chance = random.Random(protocol)
    for _ in range(300):
        tokens = chance.choice([0, 1, 3, 200, 255, 256, 1000, 1024, 5000])
        content = pickle_of(embedding(tokens, chance.choice([1, 77, 300, 70_000])), protocol)

        assert forms.walk(content) == walk_bytes(content)

    assert forms._known > 200, "most of them are of a form that came before"


def test_whatever_else_differs_is_read_as_if_it_were_the_first_of_its_kind() -> None:
    """Every bit, also where it makes no sense any more; a text, a type, a name, a place."""
    forms = Forms()
    plain = pickle_of({"a": torch.zeros(5), "b": [1, 2.5, None, True, "text", b"bytes"]})
    two = pickle_of({"a": torch.zeros(5), "b": torch.zeros(6), "text": "abc"})
    others = [flipped(plain, at, 1 << bit) for at in range(len(plain)) for bit in range(8)]
    others += [
        two.replace(b"abc", b"abd"),
        two.replace(b"FloatStorage", b"ShortStorage"),
        two.replace(b"torch._utils", b"torch_utils2"),
        two.replace(b"h\x02(", b"h\x03("),
    ]

    def read(walk: Any, content: bytes) -> Any:
        try:
            return walk(content)
        except DamagedError as error:
            return str(error)

    forms.walk(plain)
    forms.walk(two)
    for other in others:
        assert other not in (plain, two)
        assert read(forms.walk, other) == read(walk_bytes, other)


def test_what_is_kept_is_bounded() -> None:
    """A folder may hold a million pickles, each with a text of its own."""
    forms = Forms()
    for number in range(3000):
        forms.walk(pickle.dumps({"name": "x" * (number % 700), "n": number}, 2))

    assert sum(len(alike) for alike in forms._by_length.values()) < 600
    assert forms._learned < 200, "where no form comes again, none is learned"


def test_a_count_that_is_no_number_of_its_own_is_not_learned() -> None:
    """Such as one of more than four bytes, whose length decides on what follows."""
    content = (
        b"\x80\x02(X\x07\x00\x00\x00storagectorch\nByteStorage\nX\x01\x00\x00\x000"
        b"X\x03\x00\x00\x00cpu\x8a\x05\x00\x00\x00\x00\x01tQ."
    )
    forms = Forms()

    assert forms.walk(content) == forms.walk(content) == walk_bytes(content)
    assert forms.walk(content).storages[0].elements == 1 << 32
    assert not forms._by_length


def test_a_tensor_that_fits_says_nothing_of_the_next_one() -> None:
    """Nor does one that does not; two tensors of a pickle may lie in stretches that are alike."""
    forms = Forms()
    plain = pickle_of({"a": torch.zeros(5), "b": torch.zeros(5)})
    first = plain.index(b"K\x05\x85")
    beyond = [
        plain[:at] + b"K\x09\x85" + plain[at + 3 :]
        for at in (first, plain.index(b"K\x05\x85", first + 1))
    ]
    other = plain[:first].replace(b"K\x05", b"K\x09") + plain[first:]

    for content in (plain, other, *beyond) * 3:
        forms._whole.clear()
        assert forms.walk(content) == walk_bytes(content)
        assert len(forms.walk(content).misfits) == (content in beyond)
