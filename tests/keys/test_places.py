"""A stem leads to the cache, or to its own folder below it; an entry elsewhere is none of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys
from preflight.keys.read import read_keys
from preflight.targets.targets import CacheOf, KeyedData
from tests.files import put, sha256

DATA, CACHE = Path("data/pets"), Path("cache/vae/pets")
KEYS = ("stem", "{key}.pt", "sha256(stem)")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def look(key: str | None, *of: KeyedData, path: Path = CACHE) -> CacheKeys:
    owed = CacheOf(path=str(path), of=of or (pets(),), key=key)
    return read_keys(owed, str(Path.cwd()), str)


def pets(spelled: str = "data/pets") -> KeyedData:
    return KeyedData(name="pets", folder=os.path.normpath(spelled), spelled=spelled)


def images(*names: str) -> None:
    put(DATA, *names)


def fill(spelled: str, listed: str, key: str, names: tuple[str, ...]) -> Path:
    """Name entries as a trainer does: the folder's text is taken out of the path of each file."""
    for name in names:
        folder, file = os.path.split(os.path.join(listed, name))
        below = folder.replace(spelled, "").lstrip("/")
        stem = os.path.splitext(file)[0]
        stem = sha256(stem) if key.startswith("sha") else stem
        put(CACHE, f"{below}/{stem}.pt".lstrip("/"))
    return CACHE / below


NESTED = tuple(f"{folder}/{folder}_{one}.jpg" for folder in "ab" for one in range(3))
FLAT = tuple(f"img_{one}.jpg" for one in range(5))
ODD = (
    ("./data/pets", "data/pets"),
    ("./data/pets", "{root}/data/pets"),
    ("data/pets//", "data/pets"),
    ("{root}/data/pets//", "{root}/data/pets"),
    ("data/pets", "{root}/data/pets"),
    ("{root}/data/pets", "data/pets"),
)


@pytest.mark.parametrize("spelled", ["data/pets", "data/pets/", "{root}/data/pets"])
@pytest.mark.parametrize("names", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("key", KEYS[:2])
def test_a_folder_that_is_spelled_as_its_files_are_listed_is_left_alone(
    spelled: str, names: tuple[str, ...], key: str
) -> None:
    said = spelled.format(root=Path.cwd())
    images(*names)
    fill(said.rstrip("/"), said.rstrip("/"), key, names)

    facts = look(key, pets(said))

    assert (facts.matched, facts.missing, facts.orphans) == (len(names), 0, 0)
    assert facts.respelled is None


@pytest.mark.parametrize(("spelled", "listed"), ODD)
@pytest.mark.parametrize("names", [NESTED, FLAT], ids=["nested", "flat"])
@pytest.mark.parametrize("key", KEYS)
def test_entries_below_the_path_once_more_are_found_with_the_spelling_as_the_reason(
    spelled: str, listed: str, names: tuple[str, ...], key: str
) -> None:
    said = spelled.format(root=Path.cwd())
    images(*names)
    last = fill(said, listed.format(root=Path.cwd()), key, names)

    facts = look(key, pets(said))

    assert (facts.matched, facts.missing) == (0, len(names))
    assert facts.respelled is not None
    assert facts.respelled.samples == len(names)
    assert facts.respelled.said == said
    top = last.parent if names is NESTED else last
    assert facts.respelled.below == top.relative_to(CACHE).as_posix()
    assert facts.instead is None


def test_half_a_cache_below_the_path_once_more_is_told_beside_the_other_half() -> None:
    images(*NESTED)
    fill("data/pets", "data/pets", "stem", NESTED[:3])
    fill("./data/pets", "data/pets", "stem", NESTED[3:])

    facts = look("stem")

    assert (facts.matched, facts.missing) == (3, 3)
    assert facts.respelled is not None
    assert (facts.respelled.samples, facts.respelled.below) == (3, "data/pets")


@pytest.mark.parametrize("of_another_machine", ["home/me/pets", "mnt/data/pets", "data/pets"])
def test_a_path_of_another_machine_is_one_too(of_another_machine: str) -> None:
    images(*FLAT)
    put(CACHE / of_another_machine, *(f"{Path(one).stem}.pt" for one in FLAT))

    facts = look("stem")

    assert facts.matched == 0
    assert facts.respelled is not None
    assert facts.respelled.below == of_another_machine


def test_where_nobody_has_said_the_rule_it_is_told_as_a_guess() -> None:
    images(*NESTED)
    fill("./data/pets", f"{Path.cwd()}/data/pets", "stem", NESTED)

    facts = look(None, pets("./data/pets"))

    assert (facts.rule, facts.was_said, facts.matched) == ("stem", False, 0)
    assert facts.respelled is not None
    assert facts.respelled.samples == len(NESTED)


@pytest.mark.parametrize("kind", ["by-model", "512x512", "latents/flux"])
def test_folders_of_kinds_may_stand_around_those_of_the_samples(kind: str) -> None:
    images(*NESTED)
    put(CACHE / kind, *(f"{one.removesuffix('.jpg')}.pt" for one in NESTED))

    assert look("stem").matched == len(NESTED)


@pytest.mark.parametrize(
    ("folder", "told"),
    [("pets", ("pets",)), ("512x512", ()), ("", ())],
)
def test_where_no_rule_is_said_a_folder_called_as_the_data_set_is_told(
    folder: str, told: tuple[str, ...]
) -> None:
    """As a trainer puts it there that spells the path of its data as ./data/pets."""
    images(*NESTED)
    put(Path("cache/vae") / folder, *(f"{one.removesuffix('.jpg')}.pt" for one in NESTED))

    facts = look(None, path=Path("cache/vae"))

    assert (facts.matched, facts.was_said, facts.elsewhere) == (len(NESTED), False, told)


def test_each_data_set_may_have_a_folder_of_its_own() -> None:
    """And of two images of one stem, each has its entry."""
    names = tuple(f"{one}.jpg" for one in range(4))
    put(Path("data/dogs"), *names)
    images(*names)
    for name in ("dogs", "pets"):
        put(CACHE / name, *(f"{one}.pt" for one in range(4)))

    for key in ("stem", None):
        facts = look(key, KeyedData(name="dogs", folder="data/dogs"), pets())

        assert (facts.matched, facts.missing, facts.orphans) == (8, 0, 0)
    assert facts.elsewhere == ()


def test_an_entry_of_another_data_set_stands_for_no_sample() -> None:
    names = tuple(f"{one}.jpg" for one in range(4))
    put(Path("data/dogs"), *names)
    images(*names)
    put(CACHE / "dogs", *(f"{one}.pt" for one in range(4)))

    facts = look("stem", KeyedData(name="dogs", folder="data/dogs"), pets())

    assert (facts.matched, facts.missing) == (4, 4)
    assert facts.missing_names == tuple(f"data/pets/{one}" for one in names)


@pytest.mark.parametrize("above", ["", "flux/"])
def test_an_entry_of_another_folder_stands_for_no_sample(above: str) -> None:
    images(*(f"{folder}/{one}.jpg" for folder in "ab" for one in range(4)))
    put(CACHE, *(f"{above}a/{one}.pt" for one in range(4)))

    facts = look("stem")

    assert (facts.matched, facts.missing) == (4, 4)
    assert facts.missing_names == tuple(f"data/pets/b/{one}.jpg" for one in range(4))


def test_an_entry_of_a_folder_stands_for_no_sample_beside_it() -> None:
    images(*(f"{place}{one}.jpg" for place in ("", "a/") for one in range(4)))
    put(CACHE, *(f"flux/a/{one}.pt" for one in range(4)))

    facts = look("stem")

    assert (facts.matched, facts.missing) == (4, 4)
    assert facts.missing_names == tuple(f"data/pets/{one}.jpg" for one in range(4))


@pytest.mark.parametrize("key", ["{key}.pt", "relative", "md5(path)", "absolute"])
def test_a_rule_that_knows_folders_is_not_said_to_become_one_that_does_not(key: str) -> None:
    """It would hide what is wrong: by their stems, entries of any folder would do."""
    images(*NESTED)
    put(CACHE, *(f"{Path(one).stem}.pt" for one in NESTED))

    facts = look(key)

    assert (facts.matched, facts.instead) == (0, None)


def test_a_rule_may_become_one_that_tells_more_apart() -> None:
    images(*NESTED)
    put(CACHE, *(f"{sha256(one)}.pt" for one in NESTED))

    facts = look("stem")

    assert (facts.matched, facts.instead) == (0, "sha256(relative)")


@pytest.mark.parametrize("names", [NESTED, FLAT], ids=["nested", "flat"])
def test_the_name_of_the_data_set_below_a_cache_that_is_called_so_is_its_path_once_more(
    names: tuple[str, ...],
) -> None:
    """Nobody has said the rule, so it is told as a guess."""
    images(*names)
    put(CACHE / "pets", *(f"{Path(one).with_suffix('.pt')}" for one in names))

    facts = look(None)

    assert (facts.was_said, facts.matched) == (False, 0)
    assert facts.respelled is not None
    assert (facts.respelled.samples, facts.respelled.below) == (len(names), "pets")


@pytest.mark.parametrize("names", [NESTED, FLAT], ids=["nested", "flat"])
def test_below_a_cache_of_another_name_it_is_meant_for_the_data_set(names: tuple[str, ...]) -> None:
    images(*names)
    put(CACHE.parent / "pets", *(f"{Path(one).with_suffix('.pt')}" for one in names))

    facts = look(None, path=CACHE.parent)

    assert (facts.matched, facts.respelled) == (len(names), None)
