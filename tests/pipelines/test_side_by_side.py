"""Lists of files that a data set takes by the same index, and that are out of step, or are not."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.pipelines.facts import Shifted
from preflight.pipelines.side_by_side import out_of_step
from tests.asking import by_loader


def names(folder: str, form: str = "img_{:03}.png", without: tuple[int, ...] = ()) -> list[str]:
    return [f"/{folder}/{form.format(one)}" for one in range(30) if one not in without]


def as_listed(files: list[str]) -> list[str]:
    return sorted(files, key=lambda one: hashlib.sha256(one.encode()).digest())


class Paired:
    """A data set that takes both by the same index."""

    def __init__(self, images: list[str], masks: list[str]) -> None:
        self.images, self.masks = images, masks

    def __getitem__(self, index: int) -> Any:
        return self.images[index], self.masks[index]


class ByName(Paired):
    """One that looks for the mask of an image's name."""

    def __getitem__(self, index: int) -> Any:
        image = self.images[index]
        return image, next(one for one in self.masks if Path(one).stem == Path(image).stem)


class InRows:
    """One that keeps pairs."""

    def __init__(self, images: list[str], masks: list[str]) -> None:
        self.samples = list(zip(images, masks, strict=False))


class InDicts:
    """One that keeps them in dicts."""

    def __init__(self, images: list[str], masks: list[str]) -> None:
        pairs = zip(images, masks, strict=False)
        self.samples = [{"image": Path(one), "mask": other} for one, other in pairs]


@pytest.mark.parametrize("kind", [Paired, InRows, InDicts])
@pytest.mark.parametrize("form", ["img_{:03}.png", "img_{:03}_mask.png", "mask{:03}.jpg"])
def test_what_lies_behind_a_missing_file_is_out_of_step(
    kind: Callable[[list[str], list[str]], object], form: str
) -> None:
    """However the files are named, and whether they stand in two lists or in the rows of one."""
    found = out_of_step(kind(names("images"), names("masks", form, without=(11,))))

    assert found is not None
    assert (found.pairs, found.wrong, found.at) == (29, 18, 11)
    assert found.alone == found.file == "/images/img_011.png"
    assert found.beside == f"/masks/{form.format(12)}"


def test_lists_may_come_into_step_again() -> None:
    """Where each lacks a file, only what is between them is beside another one's."""
    found = out_of_step(Paired(names("a", without=(5,)), names("b", without=(20,))))

    assert found == Shifted(
        one="images",
        other="masks",
        pairs=29,
        wrong=15,
        at=5,
        file="/a/img_006.png",
        beside="/b/img_005.png",
        alone="/b/img_005.png",
    )


@pytest.mark.parametrize(
    "dataset",
    [
        Paired(names("a"), names("b")),
        Paired(names("a"), names("b", "img_{:03}_gt.png")),
        Paired(names("a"), names("b", without=(29,))),  # the last one alone lacks its mask
        Paired(names("a"), names("b")[::-1]),
        Paired(names("a")[:-1], names("a")[1:]),  # each frame beside the one behind it
        Paired(names("a")[:-1], names("b")[1:]),
        Paired(names("a"), names("b", "{:03}_of_another_kind.png")[15:]),
        Paired(names("a")[:4], names("b")[1:4]),
        ByName(names("a"), names("b", without=(11,))),
        InRows(names("a"), names("b")),
        InRows(names("a"), as_listed(names("b"))),  # a table of pairs
    ],
)
def test_what_is_in_step_or_out_of_it_on_purpose_is_left_alone(dataset: object) -> None:
    assert out_of_step(dataset) is None


def plain_numbers(folder: str, form: str = "img_{}.png") -> list[str]:
    return [f"/{folder}/{form.format(one)}" for one in range(30)]


class ByMethods(Paired):
    """One that hands the index on."""

    def _image(self, number: int) -> str:
        return self.images[number]

    def _mask(self, number: int) -> str:
        return self.masks[number]

    def __getitem__(self, index: int) -> Any:
        return self._image(index), self._mask(index)


class WoundBack(Paired):
    """One that begins again behind its end."""

    def __getitem__(self, index: int) -> Any:
        return self.images[index % len(self.images)], self.masks[index % len(self.masks)]


@pytest.mark.parametrize(
    ("dataset", "sorts", "guess"),
    [
        (Paired(sorted(plain_numbers("a")), plain_numbers("b", "img_{}.txt")), True, False),
        (Paired(plain_numbers("a"), sorted(plain_numbers("b", "{}_mask.png"))), True, False),
        (Paired(names("a"), as_listed(names("b", "img_{:03}.txt"))), False, False),
        (Paired(as_listed(names("a")), as_listed(names("b", "img_{:03}.json"))), False, False),
        (Paired(names("a"), as_listed(names("b", "img_{:03}.txt", (3,)))), False, False),
        (Paired(names("a"), as_listed(names("b"))), False, True),
        (ByMethods(names("a"), as_listed(names("b", "img_{:03}.txt"))), False, False),
        (WoundBack(plain_numbers("a"), sorted(plain_numbers("b", "img_{}.txt"))), True, False),
        (InRows(names("a"), as_listed(names("b", "img_{:03}.txt"))), False, True),
    ],
)
def test_lists_that_are_sorted_otherwise_are_out_of_step(
    dataset: object, *, sorts: bool, guess: bool
) -> None:
    found = out_of_step(dataset)

    assert found is not None
    assert (found.sorts, found.guess, found.alone) == (sorts, guess, "")
    assert found.wrong > 20


def test_lists_of_which_one_lacks_the_first_file_are_out_of_step() -> None:
    """A guess: what belongs to a frame and the one behind it may be called by the later one."""
    found = out_of_step(Paired(names("a"), names("b", without=(0,))))

    assert found is not None
    assert (found.at, found.wrong, found.alone, found.guess) == (0, 29, "/a/img_000.png", True)


def test_a_file_of_another_name_puts_a_list_out_of_step_from_its_begin_on() -> None:
    found = out_of_step(Paired(["/a/cover.png", *names("a")], names("b")))

    assert found is not None
    assert (found.at, found.wrong, found.alone) == (0, 30, "/a/cover.png")


class Negatives(Paired):
    """Each image beside the text of another one, too."""

    def __init__(self) -> None:
        super().__init__(names("a"), names("b", "img_{:03}.txt"))
        self.others = as_listed(self.masks)

    def __getitem__(self, index: int) -> Any:
        return self.images[index], self.masks[index], self.others[index]


def test_a_list_that_is_there_twice_is_in_another_order_on_purpose() -> None:
    assert out_of_step(Negatives()) is None


JOB = """
import glob
from torch.utils.data import ConcatDataset, DataLoader, Dataset, Subset

class Files(Dataset):
    def __init__(self, masks):
        self.images, self.masks = sorted(glob.glob("images/*")), sorted(glob.glob(masks + "/*"))
    def __len__(self):
        return min(len(self.images), len(self.masks))
    def __getitem__(self, index):
        return open(self.images[index]).read(), open(self.masks[index]).read()

def make():
    whole, lacking = Files("whole"), Files("lacking")
    return {
        "plain": DataLoader(lacking, batch_size=4),
        "joined": DataLoader(ConcatDataset([whole, lacking]), batch_size=4),
        "behind": DataLoader(Subset(lacking, range(9, 20)), batch_size=4),
        "before": DataLoader(Subset(lacking, range(6)), batch_size=4),
        "whole": DataLoader(whole, batch_size=4),
    }
"""


def test_it_is_told_of_the_loaders_that_take_such_pairs(copies: None, tmp_path: Path) -> None:
    """And not of a part of the data set that lies before it."""
    (tmp_path / "train.py").write_text(JOB, "utf-8")
    for folder in ("images", "whole"):
        (tmp_path / folder).mkdir()
        for number in range(20):
            (tmp_path / folder / f"{number:03}.png").write_text(str(number))
    shutil.copytree(tmp_path / "whole", tmp_path / "lacking")
    (tmp_path / "lacking" / "007.png").unlink()
    report = preflight.run("train:make", folder=str(tmp_path), select=["loader-contract"])
    told = by_loader(report)

    assert told.keys() == {"plain", "joined", "behind"}
    assert told["plain"][0].message == (
        "takes images and masks by the same index, and 12 of 19 pairs do not belong together: from "
        "7 on, where 007.png is beside 008.png"
    )
    assert told["plain"][0].severity.word == "error"
