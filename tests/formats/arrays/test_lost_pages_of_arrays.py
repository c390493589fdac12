"""Pages of zeros that an array has not of itself are found in `.npy`; its own zeros never."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from preflight.cached_files.read import read_cache
from preflight.formats.arrays.lost_pages import PAGE
from preflight.testing import ask
from tests.archives import zeroed
from tests.contents import kind_in, written

CHANCE = np.random.default_rng(12)

Array = np.ndarray[Any, Any]


def saved(*arrays: Array) -> bytes:
    """Write arrays as numpy does, one behind the other."""
    return b"".join(written(np.save, array) for array in arrays)


def kind_of(content: bytes) -> str:
    return kind_in(content, ".npy")


def noise(*shape: int, dtype: str = "float16") -> Array:
    return CHANCE.standard_normal(shape).astype(dtype)


def filled(array: Array, *places: slice) -> Array:
    array[places] = 0
    return array


def laid_out(number: int) -> Array:
    """An array of which so many rows are written by now, as of `numpy.memmap`."""
    return filled(noise(60, 4, 37, 29, dtype="float32"), slice(number, None))


def with_bars(number: int) -> Array:
    """Images with bars above and below, channels last."""
    images = noise(3, 224, 224, 3, dtype="float32")
    images[:, :number] = images[:, -number - 26 :] = 0
    return images


def with_silences(number: int, step: int = 160) -> Array:
    """Sound that is silent for so many times 10 ms, again and again."""
    sound = noise(60 * number * step, dtype="float32")
    for begin in range(number % 7 + 1, 60 * number, 50):
        sound[begin * step : (begin + 20 + begin % 13) * step] = 0
    return sound


def on_a_page(array: Array) -> bytes:
    """Write it as for memory maps, with a header of a whole page."""
    content = saved(array)
    header = content[10:128].rstrip() + b"\n"
    head = content[:8] + (PAGE - 10).to_bytes(2, "little") + header[:-1].ljust(PAGE - 11) + b"\n"
    return head + content[128:]


def bytes_as_they_are(array: Array) -> Array:
    """Put zeros where pages are, wherever those lie, into what is of no floating point."""
    content = array.view(np.uint8).reshape(-1)
    content[PAGE * 3 - 128 : PAGE * 5 - 128] = 0
    return array


ALL = slice(None)
HEALTHY: dict[str, Callable[[int], bytes]] = {
    "padded tokens": lambda n: saved(filled(noise(1, 77, 2048), ALL, slice(n, None))),
    "padded sound": lambda n: saved(filled(noise(40_000), slice(300 * n, None))),
    "an array that is being filled": lambda n: saved(laid_out(n)),
    "images with bars": lambda n: saved(with_bars(n)),
    "images with bars, of one channel": lambda n: saved(with_bars(n)[..., :1].copy()),
    "sound with silences": lambda n: saved(with_silences(n)),
    "sound of two channels": lambda n: saved(np.stack([with_silences(n), with_silences(n)])),
    "frames of a page, from a page on": lambda n: on_a_page(
        filled(noise(80 * 2048), slice(n * 2048, (n + 9) * 2048))
    ),
    "thirds of rows, from a page on": lambda n: on_a_page(
        filled(noise(70, 3 * 2048), n, slice(2048, 2 * 2048))
    ),
    "rows of a page": lambda n: saved(filled(noise(64, 2048), slice(n, n + 2))),
    "rows of a page, half of each": lambda n: saved(
        filled(noise(64, 2048), slice(n, n + 2), slice(n * 32, None))
    ),
    "columns first": lambda n: saved(
        np.asfortranarray(filled(noise(2048, 64), ALL, slice(n, n + 2)))
    ),
    "nothing but zeros": lambda n: saved(np.zeros((n, 4096), np.float16)),
    "whole numbers": lambda n: saved(bytes_as_they_are(CHANCE.integers(1, 9, 20_000 + n))),
    "fields": lambda n: saved(
        bytes_as_they_are(np.full(9_000 + n, 3, dtype=[("a", "f4"), ("b", "f4")]))
    ),
    "no numbers": lambda n: saved(np.zeros((0, n), np.float32)),
    "one number": lambda n: saved(np.float32(n)),
    "several arrays": lambda n: saved(noise(n, 64), np.zeros((n, 4096), np.float32), noise(n, 64)),
}


@pytest.mark.parametrize("make", list(HEALTHY.values()), ids=list(HEALTHY))
def test_zeros_that_arrays_have_of_themselves_are_left_alone(make: Callable[[int], bytes]) -> None:
    for number in range(1, 60):
        assert kind_of(make(number)) == "none", number


ARRAYS: dict[str, Callable[[], bytes]] = {
    "latents": lambda: saved(noise(4, 128, 128)),
    "latents of 32 bits": lambda: saved(noise(4, 64, 64, dtype="float32")),
    "embeddings": lambda: saved(noise(1, 77, 768)),
    "of 64 bits": lambda: saved(noise(50, 500, dtype="float64")),
    "big-endian": lambda: saved(noise(77, 768, dtype=">f4")),
    "complex": lambda: saved(noise(60, 700, dtype="complex64")),
    "columns first": lambda: saved(np.asfortranarray(noise(700, 77, dtype="float32"))),
}


@pytest.mark.parametrize("make", list(ARRAYS.values()), ids=list(ARRAYS))
def test_most_pages_that_were_lost_from_the_middle_are_found(make: Callable[[], bytes]) -> None:
    """But where one begins or ends with a row: that may be the array's own.

    So it is with all pages where rows are of 128 bytes, as long as numpy's header.
    """
    chance = random.Random(3)
    content = make()
    found = 0
    for _ in range(50):
        first = chance.randrange(1, len(content) // PAGE - 1)
        last = min(first + chance.randrange(1, 4), len(content) // PAGE)
        found += kind_of(zeroed(content, first * PAGE, last * PAGE)) == "pages"

    assert found >= 45


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """An array of which two pages were lost."""
    path = tmp_path / "latents.npy"
    path.write_bytes(zeroed(saved(noise(4, 128, 128)), 5 * PAGE, 7 * PAGE))
    return path


def test_a_finding_says_what_is_lost_and_that_it_is_a_guess(lost: Path) -> None:
    (finding,) = ask("cache-damaged", read_cache(str(lost), str(lost.parent), lambda _: None))

    assert finding.message == (
        "has 8,192 zero bytes from 20,480 on, inside a row of its array: whole pages that most "
        "likely never reached the disk"
    )
    assert (finding.why or "").startswith("numpy.load compares no checksums")


def test_at_depth_index_no_page_is_looked_for(lost: Path) -> None:
    assert read_cache(str(lost), str(lost.parent), lambda _: None, "index").damage is None
