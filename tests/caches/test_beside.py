"""Files are held against those beside them: raw arrays and texts may have names of others."""

from __future__ import annotations

import hashlib
import io
import pickle
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import preflight

pytestmark = pytest.mark.usefixtures("at_hand")


def saved(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def latent(seed: int) -> bytes:
    return saved(np.random.default_rng(seed).normal(size=(4, 32, 32)).astype("<f4"))


def savez(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays or {"latent": np.zeros(4)})
    return stream.getvalue()


def objects() -> bytes:
    return saved(np.array([{"a": 1}, 2.5], dtype=object))


def png() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 64)).save(stream, "PNG")
    return stream.getvalue()


ONE = latent(5)
RANDOM = random.Random(3).randbytes(16_512)


def damaged(folder: Path, files: Mapping[str, bytes]) -> list[str]:
    for name, content in files.items():
        path = folder / "cache" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    report = preflight.run("cache=cache", folder=str(folder), select=["cache-damaged"])
    again = preflight.run("cache=cache", folder=str(folder), select=["cache-damaged"])
    (outcome,) = [one for one in report.checks if one.id == "cache-damaged"]
    told = [str(one.at.file).removeprefix("cache/") for one in report.findings]
    assert outcome.looked_at == len(files)
    assert [str(one.at.file).removeprefix("cache/") for one in again.findings] == told
    return sorted(told)


def beside(content: bytes) -> dict[str, bytes]:
    files = {f"{number:03}.npy": latent(number) for number in range(8)}
    return files | {"005.npy": content}


HEALTHY = {
    "whole arrays": beside(ONE),
    "raw arrays alone": {f"{number}.npy": RANDOM[number:] for number in range(8)},
    "raw arrays that begin with zeros": {
        f"{number}.npy": bytes(5000) + RANDOM[number:] for number in range(8)
    },
    "a raw array of another name": beside(ONE) | {"tokens.npy": RANDOM[128:]},
    "raw arrays with an index": {
        "data.npy": RANDOM,
        "ids.npy": saved(np.arange(9)),
        "labels.npy": saved(np.arange(9)),
        "sizes.npy": saved(np.arange(9)),
    },
    "raw arrays in a folder of their own": beside(ONE) | {"raw/001.npy": RANDOM},
    "one of each": {"0.npy": ONE, "1.npy": RANDOM[:900]},
    "one of each, called otherwise": {"a.npy": ONE, "b.npy": RANDOM[: len(ONE)]},
    "two raw ones": {"0.npy": RANDOM, "1.npy": RANDOM},
    "columns of a table, each of its type": {
        **{f"{name}.npy": saved(np.zeros(1000, "<f4")) for name in ("age", *"hmxyzt")},
        "label.npy": saved(np.zeros(1000, "<i4")),
        "time.npy": saved(np.zeros(500, "<i8")),
    },
    "raw masks beside arrays": {
        **{f"{number}.npy": latent(number) for number in range(4)},
        **{f"{number}.mask.npy": RANDOM[number:] for number in range(4)},
    },
    "two arrays in each": {f"{number}.npy": latent(number) * 2 for number in range(4)},
    "two arrays in one": beside(ONE + ONE),
    "objects alone": {f"{number}.npy": objects() for number in range(8)},
    "objects of another name": beside(ONE) | {"captions.npy": objects()},
    "objects in every third": {
        f"{number}.npy": latent(number) if number % 3 else objects() for number in range(9)
    },
    "bytes behind each": {f"{number}.npy": latent(number) + b"note" for number in range(4)},
    "signed and unsigned": beside(ONE)
    | {f"t{number}.npy": saved(np.arange(9, dtype="<i8")) for number in range(8)}
    | {"t3.npy": saved(np.arange(9, dtype="<u8"))},
}


@pytest.mark.parametrize("files", HEALTHY.values(), ids=HEALTHY)
def test_what_may_be_meant_is_left_alone(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert damaged(tmp_path, files) == []


WORDS = ("asp", "bear", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay")
HASHES = [hashlib.sha1(bytes([number])).hexdigest() for number in range(24)]
IN_FOLDERS = {
    "a folder each": {f"{word}/latent.npy": ONE for word in WORDS},
    "a numbered folder each": {f"{number:04}/latent.npy": ONE for number in range(10)},
    "several in a folder each": {
        f"{word}/{what}.npy": ONE for word in WORDS for what in ("latent", "text")
    },
    "folders of hashes": {f"{one[:2]}/{one}.npy": ONE for one in HASHES},
    "two levels of hashes": {f"{one[:2]}/{one[2:4]}/{one}.npy": ONE for one in HASHES},
}


@pytest.mark.parametrize("files", IN_FOLDERS.values(), ids=IN_FOLDERS)
@pytest.mark.parametrize("content", [RANDOM, ONE.replace(b"<f4", b"<i4"), ONE + b"junk"])
def test_files_of_one_sort_in_folders_of_their_own_are_held_against_each_other(
    tmp_path: Path, files: dict[str, bytes], content: bytes
) -> None:
    name = list(files)[4]
    for folder in ("whole", "odd"):
        (tmp_path / folder).mkdir()

    assert damaged(tmp_path / "whole", files) == []
    assert damaged(tmp_path / "odd", files | {name: content}) == [name]


def test_raw_arrays_of_one_sort_in_folders_of_their_own_are_left_alone(tmp_path: Path) -> None:
    raw = {f"{word}/data.npy": RANDOM[at:] for at, word in enumerate(WORDS)}

    assert damaged(tmp_path, raw | {f"{word}/ids.npy": ONE for word in WORDS}) == []


@pytest.mark.parametrize("many", [1, 6, 9, 10])
@pytest.mark.parametrize("name", ["{:03}.npy", "s{:03}/latent.npy"])
def test_many_that_are_no_arrays_are_each_told(tmp_path: Path, many: int, name: str) -> None:
    names = [name.format(number) for number in range(12)]
    real, hollow = latent(1), bytes(4096) + ONE[4096:]
    most = 24 if name.startswith("{") else 12  # in folders of their own, most have to be arrays

    told = damaged(tmp_path, {one: hollow if at < many else real for at, one in enumerate(names)})

    assert told == (names[:many] if 2 * many < most else [])


def test_one_of_a_few_folders_that_holds_no_array_is_told(tmp_path: Path) -> None:
    files = {f"{word}/latent.npy": latent(at) for at, word in enumerate(("asp", "bear", "cat"))}

    assert damaged(tmp_path / "a", files | {"dog/latent.npy": RANDOM}) == ["dog/latent.npy"]
    assert damaged(tmp_path / "b", {"a/x.npy": ONE, "b/x.npy": RANDOM, "c/x.npy": ONE}) == []


@pytest.mark.parametrize("content", [RANDOM[: len(ONE)], savez(), b"error 404"])
def test_one_of_two_that_are_numbered_is_told_where_it_is_no_raw_array(
    tmp_path: Path, content: bytes
) -> None:
    assert damaged(tmp_path, {"0.npy": ONE, "1.npy": content}) == ["1.npy"]


def test_a_raw_array_beside_one_is_left_alone(tmp_path: Path) -> None:
    assert damaged(tmp_path, {"0.npy": ONE, "1.npy": RANDOM[:1000]}) == []
    assert damaged(tmp_path / "b", {"dog.npy": ONE, "cat.npy": savez(), "a.npy": b"err"}) == []


DAMAGED = {
    "zeros in its first page": bytes(4096) + ONE[4096:],
    "random bytes": RANDOM,
    "a picture": png(),
    "a RAR archive": b"Rar!\x1a\x07\x01\x00" + RANDOM,
    "text": b"hello " * 900,
    "numbers of half the size": ONE.replace(b"<f4", b"<f2"),
    "numbers of twice the size": ONE.replace(b"<f4", b"<f8"),
    "whole numbers": ONE.replace(b"<f4", b"<i4"),
    "numbers turned round": ONE.replace(b"<f4", b">f4"),
    "a smaller shape": ONE.replace(b"(4, 32, 32)", b"(4, 16, 32)"),
    "a byte more in its header": ONE[:60] + b" " + ONE[60:],
    "bytes more in its array": ONE[:700] + b"abcd" + ONE[700:],
    "bytes fewer in its array": ONE[:700] + ONE[704:],
    "bytes behind it": ONE + b"junk",
    "objects": objects(),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_one_that_numpy_did_not_write_so_is_damaged(tmp_path: Path, content: bytes) -> None:
    try:
        loaded = np.load(io.BytesIO(content))
    except (ValueError, EOFError, OSError):
        loaded = None
    same = loaded is not None and np.array_equal(loaded, np.load(io.BytesIO(ONE)))

    assert damaged(tmp_path, beside(content)) == ["005.npy"]
    assert not same or content.endswith(b"junk")


@pytest.mark.parametrize("number", [3, 6])
@pytest.mark.parametrize("content", [png(), savez(), pickle.dumps([1, 2, 3])])
def test_a_picture_is_told_beside_a_few_arrays(tmp_path: Path, number: int, content: bytes) -> None:
    files = {f"{at:03}.npy": latent(at) for at in range(number)}

    assert damaged(tmp_path / "odd", files | {"paris.npy": content}) == ["paris.npy"]


NAMES = ("alpha", "beta", "delta", "gamma", "lambda", "omega", "sigma", "theta", "zeta")


@pytest.mark.parametrize("content", [RANDOM, bytes(4096) + ONE[4096:]])
@pytest.mark.parametrize("names", [NAMES[:3], NAMES[:5], NAMES[:7], ("1", "2", "3", "4")])
def test_what_is_as_long_as_a_few_arrays_with_their_headers_is_no_raw_one(
    tmp_path: Path, names: tuple[str, ...], content: bytes
) -> None:
    files = {f"{name}.npy": latent(at) for at, name in enumerate(names)}
    longer = {"kyoto.npy": saved(np.zeros((4, 32, 33), "<f4"))}

    assert damaged(tmp_path / "raw", files | {"paris.npy": content[128:]}) == []
    assert damaged(tmp_path / "varied", files | longer | {"paris.npy": content}) == []
    assert damaged(tmp_path / "odd", files | {"paris.npy": content}) == ["paris.npy"]


def test_raw_arrays_that_are_not_few_are_left_alone(tmp_path: Path) -> None:
    files = {f"{name}.npy": latent(1) for name in NAMES[:4]}

    assert damaged(tmp_path, files | {"a.npy": RANDOM, "b.npy": RANDOM}) == []


def test_an_archive_by_the_name_of_an_array_is_loaded_as_numpy_loads_it(tmp_path: Path) -> None:
    """It is told once where the others are arrays, and not at all where all are archives."""
    odd, all_alike = tmp_path / "odd", tmp_path / "alike"
    for folder in (odd, all_alike):
        folder.mkdir()
        for at in range(6):
            content = latent(at) if folder is odd and at != 3 else savez(latent=np.ones(4) * at)
            (folder / f"{at}.npy").write_bytes(content)

    report = preflight.run("cache=.", folder=str(odd), deep=True)
    assert [(one.check, str(one.at.file)) for one in report.findings] == [
        ("cache-damaged", "3.npy")
    ]
    report = preflight.run("cache=.", folder=str(all_alike), deep=True)
    assert (report.verdict, report.findings) == ("go", ())


@pytest.mark.parametrize("name", ["paris.npy", "x_05.npy"])
@pytest.mark.parametrize(
    "content", [bytes(4096) + ONE[4096:], RANDOM, b"404 Not Found", ONE + b"0"]
)
def test_one_that_is_called_otherwise_is_held_against_many_arrays_of_its_folder(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """What they hold may be another thing: labels are whole numbers beside latents."""
    many = {f"IMG_{number}.npy": latent(number) for number in range(9)}
    others = {"berlin.npy": ONE, "labels.npy": saved(np.arange(9)), "captions.npy": objects()}
    for folder in ("whole", "odd"):
        (tmp_path / folder).mkdir()

    assert damaged(tmp_path / "whole", many | others | {name: ONE}) == []
    assert damaged(tmp_path / "odd", many | others | {name: content}) == [name]


def test_one_that_is_of_another_format_than_its_name_and_the_others_is_named(
    tmp_path: Path,
) -> None:
    """numpy.load gives an array where the job asks for arrays by their names, and the reverse."""

    def zipped(seed: int) -> bytes:
        stream = io.BytesIO()
        np.savez(stream, a=np.full(9, seed))
        return stream.getvalue()

    archives = {f"z{number}.npz": zipped(number) for number in range(8)}
    files = {**beside(zipped(5)), **archives, "z3.npz": latent(3)}

    assert damaged(tmp_path, files) == ["005.npy", "z3.npz"]
    report = preflight.run("cache=cache", folder=str(tmp_path), select=["cache-damaged"])
    assert sorted(one.message for one in report.findings) == [
        "is a numpy array, and each of 7 files beside it is an archive of numpy.savez",
        "is an archive of numpy.savez, and each of 7 files beside it is a numpy array",
    ]


@pytest.mark.parametrize("content", [png(), b"Rar!\x1a\x07\x01\x00" + RANDOM], ids=["PNG", "RAR"])
def test_what_no_array_begins_with_is_damaged_by_itself(tmp_path: Path, content: bytes) -> None:
    assert damaged(tmp_path, {"a.npy": content}) == ["a.npy"]


def test_nothing_is_silent_at_any_place_of_the_structure(tmp_path: Path) -> None:
    """Zeros over a page, and bytes lost or put in, at each place up to the content."""
    files = {f"{number:03}.npy": latent(number) for number in range(600)}
    want = set()
    for number, at in enumerate(range(0, 128, 2)):
        for kind, content in enumerate((ONE[:at] + ONE[at + 2 :], ONE[:at] + b"ab" + ONE[at:])):
            name = f"{2 * number + kind:03}.npy"
            files[name] = content
            want.add(name)

    assert set(damaged(tmp_path, files)) == want


# --- files for torch by their names ---------------------------------------------------------------

TEXT = b"Um gato na praia.\n"


def tensor(number: int) -> bytes:
    stream = io.BytesIO()
    torch.save(torch.full((4,), number), stream)
    return stream.getvalue()


STRANGE = {
    "a text": TEXT,
    "a script": b"#!/usr/bin/env python3\nimport torch\n",
    "packed as no torch does": bytes.fromhex("28b52ffd") + bytes(60),
}


def looked_at(folder: Path, files: Mapping[str, bytes]) -> tuple[str, str, list[str]]:
    """Give the verdict, what was seen of the cache, and the messages; twice, of which one asks."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    first, again = (preflight.run("cache=.", folder=str(folder)) for _ in range(2))
    seen = [
        next(one.seen for one in each.coverage if one.part == "cache") for each in (first, again)
    ]
    assert (first.verdict, seen[0]) == (again.verdict, seen[1])
    return first.verdict, seen[0], [one.message for one in first.findings]


@pytest.mark.parametrize("content", STRANGE.values(), ids=STRANGE)
def test_what_is_for_torch_by_its_name_alone_is_no_go(tmp_path: Path, content: bytes) -> None:
    """Corpora in Portuguese end in .pt: they are no damage, and nobody has looked at them."""
    files = {"train.pt": content, "valid.pt": content}

    assert looked_at(tmp_path, files) == ("cannot-judge", "", [])


def test_what_is_for_torch_by_its_name_alone_is_counted_apart(tmp_path: Path) -> None:
    """Beside few files of other names, it may be what it is on purpose."""
    files = {"weights.pt": tensor(1), "notes.pt": TEXT}

    verdict, seen, messages = looked_at(tmp_path, files)

    assert (verdict, seen, messages) == ("go", "1 cache (1 of 2 files)", [])


def test_what_is_none_of_torch_s_among_its_like_is_damaged(tmp_path: Path) -> None:
    files = {f"{number:03}.pt": tensor(number) for number in range(6)} | {"003.pt": TEXT}

    verdict, _, messages = looked_at(tmp_path, files)

    assert verdict == "no-go"
    assert messages == ["is no file of torch.save, and each of 5 files beside it is one"]
