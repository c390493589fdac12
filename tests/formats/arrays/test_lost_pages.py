"""Pages of zeros that no tensor has of itself are found in safetensors; its own zeros never."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from preflight.cached_files.read import read_cache
from preflight.findings.finding import Finding, Severity
from preflight.formats.arrays.lost_pages import PAGE, ZeroPages
from preflight.testing import ask
from tests.archives import zeroed
from tests.contents import kind_in, safetensors

CHANCE = np.random.default_rng(11)
NAMES = {"float16": "F16", "float32": "F32", "float64": "F64", "uint8": "U8", "int64": "I64"}


def saved(**arrays: np.ndarray) -> bytes:  # type: ignore[type-arg]
    kinds = {name: NAMES[str(array.dtype)] for name, array in arrays.items()}
    return safetensors(
        **{name: (kinds[name], one.shape, one.tobytes()) for name, one in arrays.items()}
    )


def kind_of(content: bytes) -> str:
    return kind_in(content, ".safetensors")


def noise(*shape: int, dtype: str = "float16") -> np.ndarray:  # type: ignore[type-arg]
    return CHANCE.standard_normal(shape).astype(dtype)


# --- healthy --------------------------------------------------------------------------------------


ALL = slice(None)


def filled(array: np.ndarray, *places: slice) -> np.ndarray:  # type: ignore[type-arg]
    array[places] = 0
    return array


HEALTHY: dict[str, Callable[[int], bytes]] = {
    "padded tokens": lambda n: saved(embeds=filled(noise(1, 64, 2048), ALL, slice(n, None))),
    "padded tokens, wide": lambda n: saved(
        embeds=filled(noise(32, 1024, dtype="float32"), slice(n // 2, None)), pooled=noise(64)
    ),
    "padded sound": lambda n: saved(sound=filled(noise(40_000), slice(300 * n, None))),
    "padded sound, two channels": lambda n: saved(
        sound=filled(noise(2, 40_000), ALL, slice(300 * n, None))
    ),
    "padded width": lambda n: saved(
        pixels=filled(noise(16, 4, 4096), ALL, ALL, slice(n * 30, None))
    ),
    "an empty channel": lambda n: saved(a=filled(noise(16, 32, 128), slice(n % 16, n % 16 + 2))),
    "empty kernels": lambda n: saved(a=filled(noise(64, 256, 3, 3), slice(n, n + 3)), b=noise(9)),
    "a black bottom": lambda n: saved(pixels=filled(noise(1, 256, 256), ALL, slice(n, None))),
    "nothing but zeros": lambda n: saved(a=np.zeros((n, 4096), np.float16), b=noise(3)),
    "a part that begins at zero": lambda n: saved(
        down=noise(8, 64 * n), up=np.zeros((64 * n, 8), np.float16)
    ),
    "sparse": lambda n: saved(a=noise(64, 1024) * (CHANCE.random((64, 1024)) < 0.5 / n)),
    "one of many": lambda n: saved(a=np.eye(300)[CHANCE.permutation(300)], b=noise(n)),
    "a causal mask": lambda n: saved(
        a=np.triu(np.full((256, 256), -1e4, np.float16), 1), b=noise(n)
    ),
    "whole numbers": lambda n: saved(a=zero_pages(n)),
}


def zero_pages(number: int) -> np.ndarray:  # type: ignore[type-arg]
    """Make numbers that are all zero where a page is, wherever that lies."""
    array = CHANCE.integers(1, 9, 1 << 18, dtype=np.uint8)
    array[PAGE * number : PAGE * (number + 3)] = 0
    return array


@pytest.mark.parametrize("make", list(HEALTHY.values()), ids=list(HEALTHY))
def test_zeros_that_tensors_have_of_themselves_are_left_alone(make: Callable[[int], bytes]) -> None:
    """Wherever they begin and end, by the length of the header too."""
    for number in range(1, 60):
        assert kind_of(make(number)) == "none", number


@pytest.mark.parametrize("make", list(HEALTHY.values()), ids=list(HEALTHY))
def test_they_are_left_alone_where_the_tensors_begin_on_a_page(
    make: Callable[[int], bytes],
) -> None:
    """Some writers fill the header up to one, so that files can be mapped."""
    for number in range(1, 60):
        content = make(number)
        length = int.from_bytes(content[:8], "little")
        text = content[8 : 8 + length] + b" " * (-(8 + length) % PAGE)
        aligned = len(text).to_bytes(8, "little") + text + content[8 + length :]

        assert kind_of(aligned) == "none", number


# --- lost -----------------------------------------------------------------------------------------

TENSORS = {
    "latents": lambda: saved(latents=noise(16, 64, 64)),
    "embeddings": lambda: saved(embeds=noise(1, 77, 768), pooled=noise(1, 768)),
    "of 32 bits": lambda: saved(a=noise(77, 768, dtype="float32"), b=noise(3_000, dtype="float32")),
    "a layer": lambda: saved(weight=noise(64, 32, 3, 3), bias=noise(64)),
}


@pytest.mark.parametrize("make", list(TENSORS.values()), ids=list(TENSORS))
def test_most_pages_that_were_lost_from_the_middle_are_found(make: Callable[[], bytes]) -> None:
    """But where one begins or ends with a row: that may be the tensor's own."""
    chance = random.Random(3)
    content = make()
    found = 0
    for _ in range(100):
        begin = chance.randrange(1, len(content) // PAGE - 1) * PAGE
        end = min(begin + chance.choice((1, 1, 2, 5)) * PAGE, (len(content) - 1) // PAGE * PAGE)
        found += kind_of(zeroed(content, begin, end)) == "pages"

    assert found >= 90


def test_an_end_that_was_lost_is_found_where_it_takes_more_than_one_part() -> None:
    """A channel and part of another, or a tensor and part of another."""
    latents, two = TENSORS["latents"](), TENSORS["embeddings"]()
    for content, page in itertools.product((latents, two), range(2, 28)):
        assert kind_of(zeroed(content, page * PAGE, len(content))) == "pages", page


def test_a_large_file_is_looked_at_in_the_same_way(tmp_path: Path) -> None:
    """By two threads, piece by piece, wherever the pieces end."""
    content = saved(a=noise(1_000, 3_001), b=noise(1_000, 3_001))
    path = tmp_path / "a.safetensors"
    for begin, end in ((9 << 19, 10 << 19), (2 << 20, (2 << 20) + PAGE), (5 << 20, len(content))):
        path.write_bytes(zeroed(content, begin, end))
        damage = read_cache(str(path), str(tmp_path), lambda _: None).damage
        assert damage and (damage.kind, damage.offset) == ("pages", begin)
    path.write_bytes(content)
    assert read_cache(str(path), str(tmp_path), lambda _: None).damage is None


def test_a_finding_says_what_is_lost_and_that_it_is_a_guess(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(zeroed(saved(latents=noise(16, 64, 64)), 5 * PAGE, 7 * PAGE))

    (found,) = ask("cache-damaged", read_cache(str(path), str(tmp_path), lambda _: None))

    assert isinstance(found, Finding)
    assert found.severity is Severity.ERROR
    assert found.message == (
        "has 8,192 zero bytes from 20,480 on, inside a row of latents: whole pages that most "
        "likely never reached the disk"
    )
    assert found.why == "safetensors has no checksums: it is loaded without a word."


def test_runs_are_put_together_from_pieces_in_any_order() -> None:
    """Pieces need not begin on a page, and the last page of a file may be short."""
    content = bytearray(noise(50_000).tobytes().replace(b"\0", b"\1"))
    wanted = [(PAGE, 4 * PAGE), (9 * PAGE, 10 * PAGE), (24 * PAGE, len(content))]
    for begin, end in wanted:
        content[begin:end] = bytes(end - begin)
    pages = ZeroPages(len(content))
    cuts = [0, 3 * PAGE, 8 * PAGE, 20 * PAGE, len(content)]
    for begin, end in reversed(list(itertools.pairwise(cuts))):
        pages.look(memoryview(content)[begin:end], begin)

    assert pages.runs() == wanted


def test_a_file_full_of_runs_is_not_judged() -> None:
    """There zeros are nothing special."""
    content = noise(64, 9_001, dtype="float32").tobytes()
    for page in range(1, 300, 2):
        content = zeroed(content, page * PAGE, (page + 1) * PAGE)
    pages = ZeroPages(len(content))
    pages.look(content, 0)

    assert pages.runs() == []
