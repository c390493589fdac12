"""Captions and tokens are written below what they belong to, in letters that are at hand."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

from preflight.sheets.column import Column, Stats, in_words, number
from preflight.sheets.columns import columns_of
from preflight.sheets.draw import draw_sheet, take
from preflight.sheets.lettering import Lettering
from preflight.sheets.tokens import Tokenizer, decode, tokenizer_of

WORDS = ("[PAD]", "[CLS]", "a", "dog", "runs")


class Words:
    """A tokenizer of five words."""

    def decode(self, ids: list[int]) -> str:
        """Give the words."""
        return " ".join(WORDS[one] for one in ids)


class Encoder(Words):
    """One that can encode, too, as those do that are not called tokenizers."""

    def encode(self, text: str) -> list[int]:
        """Give their places."""
        return [WORDS.index(one) for one in text.split()]


class Collates:
    """A collate function with a tokenizer."""

    def __init__(self, **given: Any) -> None:
        vars(self).update(given)

    def __call__(self, rows: Any) -> Any:
        """Give samples as they are."""
        return rows

    def collate(self, rows: Any) -> Any:
        """Do the same by a method."""
        return rows


def collate(rows: Any, tokenizer: Any = None) -> Any:
    return rows


def closure() -> Any:
    my_tokenizer = Words()
    return lambda rows: (my_tokenizer, rows)


TOKENIZER = Words()


def of_module(rows: Any) -> Any:
    return TOKENIZER.decode(rows)


class Pipeline:
    """A data set whose samples are decoded, by a method with the name of a tokenizer's."""

    def decode(self, *how: Any) -> Any:
        """Fail."""
        raise AssertionError("nobody was to call it")


@pytest.mark.parametrize(
    "parts",
    [
        {"collate_fn": Collates(tokenizer=Words())},
        {"collate_fn": Collates(processor=Words())},
        {"collate_fn": Collates(processor=Collates(tokenizer=Words()))},
        {"collate_fn": Collates(tokenizer=Words()).collate},
        {"collate_fn": functools.partial(collate, tokenizer=Words())},
        {"collate_fn": functools.partial(collate, Encoder())},
        {"collate_fn": closure()},
        {"collate_fn": collate, "dataset": Collates(tokenizer=Words())},
        {"collate_fn": None, "dataset": Collates(dataset=Collates(tokenizer=Words()))},
        {"collate_fn": Encoder()},
    ],
    ids=range(10),
)
def test_a_tokenizer_is_found_where_jobs_keep_it(parts: dict[str, Any]) -> None:
    column = Column(name="input_ids", about="", ids=[[1, 2, 3], [1, 3, 4, 0]])
    said = decode(column, tokenizer_of(parts))

    assert column.texts == ["[CLS] a dog", "[CLS] dog runs [PAD]"]
    assert said.startswith("decoded by ")
    assert said.endswith(("of collate_fn", "of dataset"))


def test_a_tokenizer_of_the_module_is_found_by_its_name() -> None:
    assert tokenizer_of({"collate_fn": of_module}) is not None


class Nasty:
    """It raises whatever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"collate_fn": collate},
        {"dataset": Pipeline()},
        {"dataset": Nasty()},
        {"collate_fn": Collates(tokenizer="bert")},
    ],
    ids=range(5),
)
def test_without_a_tokenizer_the_ids_are_written(parts: dict[str, Any]) -> None:
    text = Column(name="input_ids", about="", ids=[[1, 2, 3] * 3])
    labels = Column(name="labels", about="", ids=[[1, 2, 3]])
    tokenizer = tokenizer_of(parts)

    assert decode(text, tokenizer) == "not decoded, for want of a tokenizer"
    assert decode(labels, tokenizer) == ""
    assert text.texts == ["1, 2, 3, 1, 2, 3, 1, 2, 3"]
    assert labels.texts == ["1, 2, 3"]


def test_where_a_tokenizer_raises_the_ids_are_written() -> None:
    column = Column(name="input_ids", about="", ids=[[1, 2, 30_000]])
    said = decode(column, Tokenizer(Words().decode, "Words of collate_fn"))

    assert said == "not decoded, since Words of collate_fn raises IndexError"
    assert column.texts == ["1, 2, 30000"]


def test_what_a_loss_leaves_out_is_left_out_of_the_text() -> None:
    column = Column(name="labels", about="", ids=[[-100, -100, 3, 4]])
    decode(column, Tokenizer(Words().decode, ""))

    assert column.texts == ["dog runs"]


def test_ids_are_told_from_masks_and_labels() -> None:
    batch = {
        "input_ids": torch.tensor([[1, 2, 3], [1, 3, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1], [1, 1, 0]]),
        "position_ids": torch.tensor([[0, 1, 2], [0, 1, 2]]),
        "label": torch.tensor([4, 2]),
        "score": torch.tensor([0.5, 0.25]),
        "text": ["a dog", "dog"],
        "ragged": [[1, 2], [1, 2, 3]],
    }
    columns = {one.name: one for one in columns_of(batch, is_batched=True)}

    assert [name for name, one in columns.items() if one.ids] == ["input_ids", "ragged"]
    assert columns["label"].texts == ["4", "2"]
    assert columns["score"].texts == ["0.50", "0.25"]
    assert columns["text"].texts == ["a dog", "dog"]


def drawn(batch: Any, folder: Path, parts: dict[str, Any]) -> Any:
    wanted = {"file": str(folder / "text.png"), "run": os.urandom(4).hex()}
    assert draw_sheet("train:make", take(batch, is_batched=True), parts, wanted).reason == ""
    with Image.open(folder / "text.png") as image:
        return image.convert("RGB").copy()


def test_a_batch_of_text_is_written_as_it_is_read(tmp_path: Path) -> None:
    """The same pixels as if a list of texts had come, but for the words above them."""
    ids = torch.tensor([[1, 2, 3], [1, 3, 4]])
    decoded = drawn(ids, tmp_path, {"collate_fn": Collates(tokenizer=Words())})
    texts = drawn(["[CLS] a dog", "[CLS] dog runs"], tmp_path, {})
    below = (0, 95, decoded.width, decoded.height)

    assert decoded.size == texts.size
    assert decoded.crop(below).tobytes() == texts.crop(below).tobytes()


def test_pictures_have_their_own_captions_below_them(tmp_path: Path) -> None:
    images = torch.zeros(2, 3, 64, 64)
    one = drawn([images, ["a dog", "a cat"]], tmp_path, {})
    other = drawn([images, ["a dog", "a cow"]], tmp_path, {})
    from PIL import ImageChops

    left, top, _, _ = ImageChops.difference(one, other).getbbox()

    assert left > 16 + 256  # in the second column, below its picture
    assert top > 256


WRAPPED: dict[str, Callable[[Lettering], list[str]]] = {
    "short": lambda one: one.wrap("a dog", 256, 4),
    "words": lambda one: one.wrap("a dog runs " * 40, 256, 4),
    "one-word": lambda one: one.wrap("x" * 10_000, 256, 4),
    "narrow": lambda one: one.wrap("dogs", 1, 9),
    "empty": lambda one: one.wrap("", 256, 4),
    "lines": lambda one: one.wrap("a\n\tb\0c", 256, 4),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_texts_are_broken_into_lines_that_fit(name: str) -> None:
    letters = Lettering(13)
    lines = WRAPPED[name](letters)

    if name != "narrow":
        assert all(letters.width(line) <= 256 for line in lines)
    assert len(lines) == {"short": 1, "empty": 0, "lines": 1}.get(name, 4)
    if name in ("words", "one-word"):
        assert lines[-1].endswith("...")
    if name == "lines":
        assert lines == ["a b\\x00c"]


def test_a_secret_in_a_caption_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its value, or by its shape; what only looks like one is."""
    monkeypatch.setenv("MY_DSN", "drawn0123canary")
    letters = Lettering(13)

    assert letters.sayable("by drawn0123canary") == "by <redacted>"
    assert letters.sayable("from https://ada:pw@h/1.jpg") == "from https://ada:<redacted>@h/1.jpg"
    assert letters.sayable("the key of a secret garden") == "the key of a secret garden"


def test_letters_that_no_font_has_are_escaped() -> None:
    """What is written is either what it was, or says which letter it was."""
    letters = Lettering(13)
    unassigned = "\U000e1234\uf8ff"

    assert letters.sayable("a dog größer") == "a dog größer"
    assert letters.sayable(unassigned) == "\\U000e1234\\uf8ff"
    for text in ("红色的球", "красный мяч", "🎈", "كلب", "a\u0301"):
        said = letters.sayable(text)
        assert all(one in said or f"{ord(one):04x}" in said for one in text)
        assert letters.width(said) > 0


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (255.0, "255"), (-2.1179, "-2.12"), (0.00123, "0.00123"), (1e9, "1e+09")],
)
def test_numbers_have_the_digits_that_are_compared(value: float, said: str) -> None:
    assert number(value) == said


def test_ranges_are_told_in_the_words_that_stand_below_a_picture() -> None:
    """Those of a picture that was normalised once, and of one of a single value."""
    usual = Stats(low=-2.1179, high=2.64, mean=-0.03, means=(-0.1, 0.02, -0.01))

    assert in_words(usual) == "-2.12 to 2.64, mean -0.03"
    assert in_words(usual, by_channel=True).endswith("; by channel -0.10, 0.02, -0.01")
    assert in_words(Stats(low=0.0, high=0.0, mean=0.0)) == "all 0"
    assert in_words(Stats(nan=3)) == "nothing finite"
