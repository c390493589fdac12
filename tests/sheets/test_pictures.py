"""What lies in a batch is seen on its sheet: colours where they belong, black as black."""

from __future__ import annotations

import dataclasses
import itertools
from collections import UserDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from PIL import Image

from preflight.sheets.column import Column
from preflight.sheets.columns import columns_of
from preflight.sheets.draw import draw_sheet, take
from preflight.sheets.facts import Sheet
from preflight.sheets.pixels import ODD, drawn, scale_of

RED, GREEN, BLUE, BLACK, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255,) * 3


def flag(high: float, low: float = 0.0) -> torch.Tensor:
    """Give a picture that is red, green and blue from left to right, and black below."""
    picture = torch.full((3, 12, 18), low, dtype=torch.float64)
    for channel in range(3):
        picture[channel, :8, 6 * channel : 6 * channel + 6] = high
    return picture


def seen(batch: Any, *, is_batched: bool = True) -> list[Any]:
    """Give the pictures of the first part of a batch that has some."""
    column = pictured(batch, is_batched=is_batched)
    scale = scale_of(column)
    return [drawn(one, scale) for one in column.pictures]


def pictured(batch: Any, *, is_batched: bool = True) -> Column:
    return next(one for one in columns_of(batch, is_batched=is_batched) if one.pictures)


def colours(image: Any) -> list[Any]:
    """Give the colours at the middles of the four fields of a flag."""
    width, height = image.size
    thirds = [image.getpixel((width * (2 * n + 1) // 6, height // 3)) for n in range(3)]
    return [*thirds, image.getpixel((width // 2, height * 5 // 6))]


FLAG = [RED, GREEN, BLUE, BLACK]
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.mark.parametrize("order", ["CHW", "HWC"])
@pytest.mark.parametrize(
    ("dtype", "high"),
    [*itertools.product((*FLOATS, torch.int16, torch.int64), (1, 255)), (torch.uint8, 255)],
)
def test_colours_are_where_they_belong(order: str, dtype: torch.dtype, high: int) -> None:
    batch = torch.stack([flag(high)] * 2).to(dtype)
    batch = batch if order == "CHW" else batch.permute(0, 2, 3, 1)
    images = seen([batch, torch.arange(2)])

    assert [colours(one) for one in images] == [FLAG, FLAG]
    assert images[0].size == (18 * 14, 12 * 14)  # by whole pixels, up to 256


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, ">f4", np.int32])
def test_arrays_are_seen_as_tensors_are(dtype: Any) -> None:
    array = (flag(255)[None].numpy()).astype(dtype)

    assert colours(seen({"image": array})[0]) == FLAG
    assert colours(seen({"image": array.transpose(0, 2, 3, 1)[:, :, :, ::-1]})[0])[0] == BLUE


def test_swapped_channels_meet_the_eye() -> None:
    assert colours(seen(flag(1)[[2, 1, 0]][None])[0]) == [BLUE, GREEN, RED, BLACK]


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(0, torch.uint8), (0, torch.float32), (0, torch.int64), (0, torch.bool), (-1, torch.float32)],
)
@pytest.mark.parametrize("channels", [1, 3])
def test_black_stays_black(value: int, dtype: torch.dtype, channels: int) -> None:
    """Also where values lie from -1 to 1."""
    image = seen(torch.full((2, channels, 16, 16), value).to(dtype))[0]

    assert image.getextrema() == ((0, 0),) * 3


def test_dark_pictures_are_not_stretched() -> None:
    dim = seen(torch.full((1, 3, 16, 16), 10, dtype=torch.uint8))[0]
    share = seen(torch.full((1, 3, 16, 16), 0.2))[0]
    nearly = seen(torch.ones((1, 3, 16, 16), dtype=torch.uint8))[0]  # shares that lost their digits

    assert dim.getpixel((0, 0)) == (10, 10, 10)
    assert share.getpixel((0, 0)) == (51, 51, 51)
    assert nearly.getpixel((0, 0)) == (1, 1, 1)


def test_other_values_are_stretched_alike_in_all_of_a_batch() -> None:
    """A dark one among them stays dark, and is told by its own range."""
    batch = torch.stack([flag(2.64, -2.12), torch.full((3, 12, 18), -2.12, dtype=torch.float64)])
    column = pictured(batch)

    assert scale_of(column).said == "shown from -2.12 to 2.64"
    assert colours(seen(batch)[0]) == FLAG
    assert seen(batch)[1].getextrema() == ((0, 0),) * 3
    assert column.pictures[1].stats.high == pytest.approx(-2.12)


def test_values_of_minus_one_to_one_go_from_black_to_white() -> None:
    assert colours(seen(flag(1, -1)[None])[0]) == FLAG


def test_the_figures_are_those_of_the_whole_batch() -> None:
    batch = torch.randn(40, 3, 20, 20) * 2 + torch.tensor([0.0, 1.0, 5.0])[:, None, None]
    stats = pictured(batch).stats

    assert stats is not None
    assert (stats.low, stats.high) == (float(batch.min()), float(batch.max()))
    assert stats.mean == pytest.approx(float(batch.double().mean()), rel=1e-4)
    assert stats.means == pytest.approx(batch.double().mean(dim=(0, 2, 3)).tolist(), abs=1e-4)


def test_what_is_no_number_is_painted_and_counted() -> None:
    batch = flag(1)[None].clone()
    batch[0, 1, :4, :4] = float("nan")
    batch[0, 2, 8:, 10:] = float("inf")
    column = pictured(batch)
    image = seen(batch)[0]

    assert column.stats is not None
    assert (column.stats.nan, column.stats.inf) == (16, 32)
    assert (column.stats.low, column.stats.high) == (0, 1)
    assert image.getpixel((0, 0)) == ODD
    assert image.getpixel((251, 167)) == ODD
    assert image.getpixel((4 * 14, 4 * 14)) == RED


def test_one_odd_value_of_a_large_picture_is_seen() -> None:
    batch = torch.zeros(1, 3, 2000, 1500)
    batch[0, 0, 777, 333] = float("nan")
    image = seen(batch)[0]

    assert image.size == (192, 256)
    assert ODD in [colour for _, colour in image.getcolors()]


def test_a_batch_of_nothing_finite_is_drawn() -> None:
    assert seen(torch.full((1, 3, 9, 9), float("nan")))[0].getcolors() == [(252 * 252, ODD)]


def test_of_a_video_the_first_frame_is_seen() -> None:
    frames = torch.stack([flag(1), torch.ones(3, 12, 18), torch.ones(3, 12, 18)]).double()
    both = (frames[None], frames.movedim(0, 1)[None], frames.permute(0, 2, 3, 1)[None])

    for batch in both[:1] + both[2:]:
        assert colours(seen(batch)[0]) == FLAG
        assert pictured(batch).note == "frame 1 of 3"
    of_eight = torch.cat([frames, torch.ones(5, 3, 12, 18)]).movedim(0, 1)[None]
    assert colours(seen(of_eight)[0]) == FLAG  # channels first
    assert pictured(of_eight).note == "frame 1 of 8"


@pytest.mark.parametrize("channels", [4, 16])
def test_of_latents_the_first_channels_are_stretched_and_that_is_told(channels: int) -> None:
    latents = torch.full((2, channels, 12, 18), 100.0)
    latents[:, :3] = flag(3, -3)
    column = pictured(latents)

    assert colours(seen(latents)[0]) == FLAG
    assert column.note == f"channels 1 to 3 of {channels}"
    assert scale_of(column).said == "shown from -3 to 3"


def test_of_four_colours_transparency_is_left_out_and_that_is_told() -> None:
    batch = torch.cat([flag(255), torch.zeros(1, 12, 18)])[None].to(torch.uint8)

    assert colours(seen(batch)[0]) == FLAG
    assert pictured(batch).note == "channels 1 to 3 of 4"


@pytest.mark.parametrize(("mode", "said"), [("RGB", FLAG), ("RGBA", FLAG), ("P", FLAG)])
def test_pictures_of_pillow_are_seen_as_they_are(mode: str, said: list[Any]) -> None:
    image = Image.fromarray(flag(255).permute(1, 2, 0).numpy().astype("uint8")).convert(mode)

    assert colours(seen([image, image])[0]) == said
    assert colours(seen({"image": image, "label": 3}, is_batched=False)[0]) == said


@pytest.mark.parametrize(("mode", "value"), [("L", 130), ("1", 255), ("F", 130), ("I;16", 130)])
def test_grey_pictures_of_pillow_are_seen(mode: str, value: int) -> None:
    image = Image.new(mode, (20, 30), value)

    assert seen([image])[0].size == (160, 240)


def test_masks_are_seen_beside_pictures() -> None:
    """Classes of pixels are stretched; true and false are black and white."""
    classes = torch.zeros(1, 32, 32, dtype=torch.int64)
    classes[0, :16] = 5
    column = pictured(classes)

    assert seen(classes)[0].getpixel((0, 0)) == WHITE
    assert scale_of(column).said == "shown from 0 to 5"
    assert seen(classes > 0)[0].getpixel((0, 0)) == WHITE
    assert seen(classes > 0)[0].getpixel((0, 255)) == BLACK


class Pair(NamedTuple):
    """A batch, or a sample of one."""

    image: Any
    label: Any


@dataclasses.dataclass
class Sample:
    """The same as a dataclass."""

    image: Any
    label: Any


def sample(number: int) -> torch.Tensor:
    return torch.full((3, 16, 16), number, dtype=torch.uint8)


FOUR = torch.stack([*map(sample, range(4))])
LABELS = torch.tensor([9, 8, 7, 6])


@pytest.mark.parametrize(
    "batch",
    [
        (FOUR, LABELS),
        [FOUR, LABELS],
        [FOUR, LABELS.tolist()],
        {"image": FOUR, "label": LABELS},
        UserDict(image=FOUR, label=LABELS),
        {"inputs": {"image": FOUR}, "label": LABELS.numpy()},
        Pair(FOUR, LABELS),
        Sample(FOUR, LABELS),
        [(sample(n), 9 - n) for n in range(4)],
        [[sample(n), 9 - n] for n in range(4)],
        [{"image": sample(n), "label": 9 - n} for n in range(4)],
        [Pair(sample(n), 9 - n) for n in range(4)],
        [Sample(sample(n), torch.tensor(9 - n)) for n in range(4)],
        ([sample(n) for n in range(4)], LABELS),
        ([sample(n)[:, :, : 12 + n] for n in range(4)], LABELS),
    ],
    ids=range(15),
)
def test_whatever_holds_pictures_and_labels_is_taken_apart(batch: Any) -> None:
    columns = columns_of(batch, is_batched=True)
    pictures = [one for one in columns if one.pictures]
    labels = [one for one in columns if one.texts]

    assert [int(one.data[0, 0, 0]) for one in pictures[0].pictures] == [0, 1, 2, 3]
    assert [one.texts for one in labels] == [["9", "8", "7", "6"]]
    assert {one.total for one in columns} == {4}


def test_a_sample_alone_is_one_picture() -> None:
    """As a loader gives it that makes no batches."""
    columns = columns_of((flag(1), 5), is_batched=False)

    assert len(columns[0].pictures) == 1
    assert columns[1].texts == ["5"]


def test_embeddings_and_masks_of_tokens_are_told_in_figures_only() -> None:
    batch = {"emb": torch.randn(4, 77, 768), "mask": torch.ones(4, 77, dtype=torch.int64)}
    columns = columns_of(batch, is_batched=True)

    assert all(not (one.pictures or one.texts or one.ids) for one in columns)
    assert all(one.stats is not None for one in columns)


class Refuses:
    """It does not want to be asked for anything."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __len__(self) -> int:
        raise RuntimeError


@dataclasses.dataclass
class Half:
    """It does not want to be asked for its picture."""

    image: Any

    def __getattribute__(self, name: str) -> Any:
        if name == "image":
            raise KeyError(name)
        return super().__getattribute__(name)


ANYTHING: dict[str, Callable[[], Any]] = {
    "refuses": Refuses,
    "refuses-in-a-dict": lambda: {"a": Refuses(), "image": FOUR},
    "refuse-in-a-list": lambda: [Refuses(), Refuses()],
    "half": lambda: Half(FOUR),
    "halves": lambda: [Half(FOUR), Half(FOUR)],
    "none": lambda: None,
    "empty-dict": dict,
    "empty-list": list,
    "no-sample": lambda: torch.zeros(0, 3, 8, 8),
    "one-number": lambda: torch.tensor(3.5),
    "scalars": lambda: {"loss": 0.5, "step": 3, "done": True, "z": 1j},
    "sparse": lambda: torch.eye(4).to_sparse(),
    "objects": lambda: np.array([None, "a"], dtype=object),
    "words": lambda: np.array(["a", "b"]),
    "complex": lambda: torch.zeros(2, 2, dtype=torch.complex64),
    "text": lambda: "text",
    "bytes": lambda: b"\xff",
}


@pytest.mark.parametrize("name", ANYTHING)
def test_whatever_came_a_sheet_is_written(name: str, tmp_path: Path) -> None:
    shown = sheet(ANYTHING[name](), tmp_path)

    assert shown.reason == ""
    with Image.open(tmp_path / "batch.png") as image:
        assert image.width > 1_000
        assert image.convert("L").getextrema()[0] < 100


def sheet(batch: Any, folder: Path, name: str = "train:make", run: str = "a") -> Sheet:
    wanted = {"file": str(folder / "batch.png"), "run": run}
    return draw_sheet(name, take(batch, is_batched=True), {}, wanted)


def test_a_sheet_shows_sixteen_samples_and_says_of_how_many(tmp_path: Path) -> None:
    batch = {"image": torch.zeros(40, 3, 32, 32), "mask": torch.ones(40, 1, 32, 32)}
    shown = sheet(batch, tmp_path)

    assert shown == Sheet(samples=16, of=40)
    with Image.open(tmp_path / "batch.png") as image:
        black = {colour: n for n, colour in image.getcolors(1 << 24)}[BLACK]
        assert 16 * 256 * 256 <= black < 16 * 256 * 256 + 20_000  # and letters
    assert (tmp_path / "batch.png").stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["batch.png"]


def test_sheets_of_one_run_stand_below_one_another_and_those_of_others_are_replaced(
    tmp_path: Path,
) -> None:
    heights = []
    for name, run in (("old", "a"), ("new", "b"), ("newer", "b")):
        sheet(FOUR, tmp_path, name, run)
        with Image.open(tmp_path / "batch.png") as image:
            heights.append(image.height)

    assert heights == [heights[0], heights[0], 2 * heights[0]]


def test_torch_starts_no_thread_for_it(tmp_path: Path) -> None:
    """Workers that are forked later would wait for threads that they do not have."""
    before = torch.get_num_threads()
    sheet(torch.randn(16, 3, 256, 256), tmp_path)

    assert torch.get_num_threads() == before
