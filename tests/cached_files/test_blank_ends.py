"""Last pages of zeros are told where no file beside has them; what may be padding is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import preflight
from preflight.findings.finding import Finding

pytestmark = pytest.mark.usefixtures("at_hand")

RANDOM = np.random.default_rng(7)


def noise(*shape: int) -> Any:
    return RANDOM.standard_normal(shape).astype(np.float16)


def as_npy(path: Path, array: Any) -> Path:
    np.save(path.with_suffix(".npy"), array)
    return path.with_suffix(".npy")


def as_safetensors(path: Path, array: Any) -> Path:
    save_file({"latents": array}, path.with_suffix(".safetensors"))
    return path.with_suffix(".safetensors")


WRITERS = {"npy": as_npy, "safetensors": as_safetensors}
SHAPES = {"latents": (16, 64, 64), "pooled": (12_345,), "embeddings": (77, 771)}


def lose_end(path: Path, pages: int = 2) -> None:
    """Leave of a file its length, and zeros in place of its last pages, as a crash does."""
    content = bytearray(path.read_bytes())
    end = len(content) - (len(content) % 4096 or 4096) - 4096 * (pages - 1)
    content[end:] = bytes(len(content) - end)
    path.write_bytes(content)


def found(folder: Path) -> list[Finding]:
    report = preflight.run("cache=cache", folder=str(folder), no_ledger=True)
    return [one for one in report.findings if one.check == "cache-damaged"]


def write(
    folder: Path, save: Callable[[Path, Any], Path], arrays: list[Any], name: str = "{:03}"
) -> list[Path]:
    (folder / "cache").mkdir()
    return [
        save(folder / "cache" / name.format(number), array) for number, array in enumerate(arrays)
    ]


@pytest.mark.parametrize("save", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("pages", [2, 3])
def test_a_lost_end_is_told_where_others_end_in_numbers(
    tmp_path: Path, save: Callable[[Path, Any], Path], shape: tuple[int, ...], pages: int
) -> None:
    files = write(tmp_path, save, [noise(*shape) for _ in range(6)])
    assert found(tmp_path) == []
    lose_end(files[3], pages)

    told = found(tmp_path)

    assert [one.at.file for one in told] == [f"cache/{files[3].name}"]
    by_itself = "inside a row of" in told[0].message
    assert by_itself or "none of 5 files beside it ends so" in told[0].message


def padded(shape: tuple[int, ...], kept: int) -> Any:
    array = noise(*shape)
    array[..., kept:] = 0
    return array


def letterboxed(rows: int) -> Any:
    array = noise(16, 64, 64)
    array[:, rows:] = 0
    return array


HEALTHY = {
    "padded, each in its own way": lambda: [padded((30_000,), 2048 * n + 1984) for n in range(6)],
    "one row of tokens alone is padding": lambda: [
        *(noise(77, 768) for _ in range(5)),
        np.concatenate([noise(32, 768), np.zeros((45, 768), np.float16)]),
    ],
    "a black bottom in every channel": lambda: [
        *(noise(16, 64, 64) for _ in range(5)),
        letterboxed(32),
    ],
    "an empty last channel": lambda: [
        *(noise(16, 64, 64) for _ in range(5)),
        np.concatenate([noise(15, 64, 64), np.zeros((1, 64, 64), np.float16)]),
    ],
    "whole numbers": lambda: [
        *(RANDOM.integers(1, 9, 30_000) for _ in range(5)),
        np.concatenate([RANDOM.integers(1, 9, 20_464), np.zeros(9_536, int)]),
    ],
    "nothing but zeros": lambda: [*(noise(9_000) for _ in range(5)), np.zeros(9_000, np.float16)],
}


@pytest.mark.parametrize("save", WRITERS.values(), ids=WRITERS)
@pytest.mark.parametrize("arrays", HEALTHY.values(), ids=HEALTHY)
def test_zeros_that_arrays_have_of_themselves_are_left_alone(
    tmp_path: Path, save: Callable[[Path, Any], Path], arrays: Callable[[], list[Any]]
) -> None:
    write(tmp_path, save, arrays())

    assert found(tmp_path) == []


@pytest.mark.parametrize(("files", "is_told"), [(4, False), (5, True)])
def test_a_few_files_say_nothing_of_each_other(
    tmp_path: Path, files: int, *, is_told: bool
) -> None:
    written = write(tmp_path, as_npy, [noise(16, 64, 64) for _ in range(files)])
    lose_end(written[0])

    assert bool(found(tmp_path)) is is_told


def test_two_that_end_so_are_no_exception(tmp_path: Path) -> None:
    files = write(tmp_path, as_npy, [noise(16, 64, 64) for _ in range(6)])
    lose_end(files[1])
    lose_end(files[4])

    assert found(tmp_path) == []


def test_files_of_another_sort_say_nothing_of_it(tmp_path: Path) -> None:
    """Neither those of another format, nor those of another folder."""
    files = write(tmp_path, as_safetensors, [noise(16, 64, 64) for _ in range(6)])
    (tmp_path / "cache/other").mkdir()
    for number in range(6):
        as_npy(tmp_path / f"cache/other/{number}", noise(16, 64, 64))
    lose_end(as_npy(tmp_path / "cache/one", noise(16, 64, 64)))

    assert found(tmp_path) == []
    assert files
