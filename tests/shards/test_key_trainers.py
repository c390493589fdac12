"""The names that trainers really give to their entries lead back, however a folder is spelled."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unicodedata import normalize

import pytest

from preflight.keys.entries import Entries
from preflight.keys.facts import CacheKeys
from preflight.keys.layouts import ways_of
from preflight.keys.read import read_keys
from preflight.settings.key_rule import parse_rule
from preflight.targets.targets import CacheOf, CaptionRule, KeyedData
from tests import files
from tests.files import md5, sha256

Look = Callable[..., CacheKeys]

STEMS = ("dog_1", "dog_2", "Käse und Brot", "cat")


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Hold cache/ against photos/, as the settings spell it."""

    def looked(key: str | None, spelled: str = "photos", rule: str = "auto") -> CacheKeys:
        data = KeyedData(
            name="my-dataset",
            folder=os.path.normpath(tmp_path / spelled),
            spelled=spelled,
            captions=CaptionRule(rule=rule),
        )
        owed = CacheOf(path="cache", of=(data,), key=key)
        return read_keys(owed, str(tmp_path), lambda _: None)

    return looked


@pytest.fixture(autouse=True)
def photos(tmp_path: Path) -> Path:
    """Four images with captions, in two folders."""
    for place in ("a", "b"):
        (tmp_path / "photos" / place).mkdir(parents=True)
    for number, stem in enumerate(STEMS):
        image = tmp_path / "photos" / "ab"[number % 2] / f"{stem}.jpg"
        image.touch()
        image.with_suffix(".txt").write_text(f"a photo of {stem}", encoding="utf-8")
    return tmp_path / "photos"


def put(folder: Path, *names: str) -> None:
    files.put(folder / "cache", *names)


def relatives() -> list[str]:
    return [f"{'ab'[number % 2]}/{stem}.jpg" for number, stem in enumerate(STEMS)]


def is_whole(facts: CacheKeys, samples: int = 4) -> bool:
    faults = (facts.missing, facts.orphans, facts.stale, facts.shared, facts.respelled)
    return facts.matched == facts.samples == samples and not any(faults)


# --- SimpleTuner ----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "md5(caption)", "{md5(caption)}-flux.pt"])
def test_text_embeddings_are_named_by_their_captions(
    look: Look, tmp_path: Path, key: str | None
) -> None:
    """Beside those of the empty prompt, of the negative one and of validation prompts."""
    own = ["", "blurry, cropped, ugly", "a pig sits at a typewriter"]
    put(tmp_path, *(f"{md5(text)}-flux.pt" for text in (f"a photo of {one}" for one in STEMS)))
    put(tmp_path, *(f"{md5(text)}-flux.pt" for text in own[: 3 if key else 1]))

    facts = look(key)

    assert (facts.matched, facts.missing, facts.by_caption) == (4, 0, True)


def test_captions_behind_a_prompt_for_all_are_said_with_that_prompt(
    look: Look, tmp_path: Path
) -> None:
    """As prepend_instance_prompt has them."""
    put(tmp_path, *(f"{md5(f'sks dog a photo of {one}')}-sdxl.pt" for one in STEMS))

    assert is_whole(look("{md5('sks dog ' + caption)}-sdxl.pt"))
    assert look("{md5(caption)}-sdxl.pt").matched == 0


def test_one_prompt_for_all_is_one_entry_for_all(look: Look, tmp_path: Path) -> None:
    """As instance_prompt has it; no sample is trained on in place of another."""
    put(tmp_path, f"{md5('a photo of sks dog')}-flux.pt")
    os.utime(tmp_path / "cache" / f"{md5('a photo of sks dog')}-flux.pt", (1, 1))

    facts = look("{md5('a photo of sks dog')}-flux.pt", rule="prompt")

    assert is_whole(facts)
    assert facts.by_caption


def test_captions_of_file_names_have_spaces_for_underscores(look: Look, tmp_path: Path) -> None:
    """As caption_strategy = filename reads them."""
    put(tmp_path, *(f"{md5(one.replace('_', ' '))}-flux.pt" for one in STEMS))

    assert is_whole(look("{md5(caption)}-flux.pt", rule="filename"))


@pytest.mark.parametrize("hashed", [True, False])
@pytest.mark.parametrize("key", [None, "said"])
def test_latents_lie_in_the_folders_of_their_images(
    look: Look, tmp_path: Path, *, hashed: bool, key: str | None
) -> None:
    """With hash_filenames, and without."""
    for one in relatives():
        place, _, name = one.partition("/")
        stem = os.path.splitext(name)[0]
        put(tmp_path, f"{place}/{sha256(stem) if hashed else stem}.pt")

    assert is_whole(look(key and ("sha256(stem)" if hashed else "stem")))


@pytest.mark.parametrize("spelled", ["photos", "./photos", "photos//", "photos/", "{root}/photos"])
def test_whole_paths_are_the_same_however_a_folder_is_spelled(
    look: Look, tmp_path: Path, spelled: str
) -> None:
    """Embeddings of models that see the image, too: named by its path from the root on."""
    root = str(tmp_path)
    put(tmp_path, *(f"{md5(f'{root}/photos/{one}')}-flux.pt" for one in relatives()))

    assert is_whole(look("{md5(absolute)}-flux.pt", spelled.format(root=root)))


@pytest.mark.parametrize("resolved", [True, False])
def test_whole_paths_may_follow_links_or_not(look: Look, tmp_path: Path, *, resolved: bool) -> None:
    """As `Path.resolve` does, and as `os.path.abspath` does."""
    (tmp_path / "link").symlink_to("photos")
    folder = f"{tmp_path}/{'photos' if resolved else 'link'}"
    put(tmp_path, *(f"{md5(f'{folder}/{one}')}.pt" for one in relatives()))

    assert is_whole(look("md5(absolute)", "link"))


def test_a_path_behind_the_name_of_its_data_set_leads_back(look: Look, tmp_path: Path) -> None:
    """As the newest versions name them."""
    put(tmp_path, *(f"{md5(f'my-dataset:{one}')}-flux.pt" for one in relatives()))

    assert is_whole(look("{md5(dataset + ':' + relative)}-flux.pt"))
    assert is_whole(look("{md5('my-dataset:' + relative)}-flux.pt"))


@pytest.mark.parametrize("made", ["photos/", "./photos/", "photos//", "{root}/photos/"])
@pytest.mark.parametrize("spelled", ["photos", "./photos", "photos//", "{root}/photos"])
@pytest.mark.parametrize("function", [md5, sha256])
def test_the_spelling_of_which_entries_were_made_is_told(
    look: Look, tmp_path: Path, made: str, spelled: str, function: Callable[[str], str]
) -> None:
    """Whether the rule was said or not."""
    made, spelled = made.format(root=tmp_path), spelled.format(root=tmp_path)
    put(tmp_path, *(f"{function(made + one)}-flux.pt" for one in relatives()))
    is_same = made in (f"{spelled}/", spelled)

    said = look(f"{function.__name__}(path)", spelled)
    guessed = look(None, spelled)

    assert said.rule == guessed.rule == f"{function.__name__}(path)"
    assert (said.was_said, guessed.was_said) == (True, False)
    for facts in (said, guessed):
        assert facts.matched == (4 if is_same else 0)
        assert (facts.respelled is None) == is_same
        if facts.respelled is not None:
            assert facts.respelled.samples == 4
            assert facts.respelled.made.startswith(made)
            assert facts.respelled.said.startswith(spelled)


# --- other systems --------------------------------------------------------------------------------


def test_paths_with_backslashes_are_told_and_are_as_good_on_windows(
    look: Look, tmp_path: Path
) -> None:
    """A cache that was made on Windows."""
    windows = [f"photos/{one}".replace("/", "\\") for one in relatives()]
    put(tmp_path, *(f"{md5(one)}.pt" for one in windows))

    other = look("md5(path)").respelled
    entries = Entries(str(tmp_path / "cache"), None, lambda _: None)
    ways = ways_of(parse_rule("md5(path)"), entries, nested=False, separator="\\")

    assert other is not None
    assert other.made == "photos\\a\\Käse und Brot.jpg"
    assert [way.spelling.slash for way in ways] == ["/", "\\"]
    assert len(ways_of(parse_rule("md5(name)"), entries, nested=False, separator="\\")) == 1


@pytest.mark.parametrize(("ours", "theirs"), [("NFC", "NFD"), ("NFD", "NFC")])
@pytest.mark.parametrize("key", ["stem", "sha256(stem)", "{md5(path)}.pt"])
def test_accents_in_another_form_are_told(
    look: Look, tmp_path: Path, photos: Path, ours: str, theirs: str, key: str
) -> None:
    """Names that a Mac wrote, and a cache that was made of them elsewhere."""
    for one in photos.rglob("*.*"):
        one.unlink()
    name = "Käse"
    stems = {form: normalize(form, name) for form in (ours, theirs)}  # type: ignore[arg-type]
    (photos / "a" / f"{stems[ours]}.jpg").touch()
    stem = stems[theirs]
    made = {"stem": stem, "sha256(stem)": sha256(stem), "{md5(path)}.pt": f"photos/a/{stem}.jpg"}
    put(tmp_path, f"{md5(made[key]) if '{' in key else made[key]}.pt")

    facts = look(key)
    if facts.matched:
        pytest.skip("this file system makes no difference between the two")

    assert look(None).respelled == facts.respelled is not None
    assert facts.respelled.made == f"photos/a/{stem}.jpg"
    assert facts.respelled.said == f"photos/a/{stems[ours]}.jpg"


# --- other caches ---------------------------------------------------------------------------------


def test_entries_of_another_cache_in_a_folder_below_are_its_own(tmp_path: Path) -> None:
    """`cache` for latents, and `cache/text` for captions."""
    put(tmp_path, *(f"{one}.pt" for one in STEMS), *(f"text/{md5(one)}.pt" for one in STEMS))
    data = KeyedData(folder=f"{tmp_path}/photos", spelled="photos")

    def looked(*others: str) -> CacheKeys:
        owed = CacheOf(path="cache", of=(data,), key="stem", others=others)
        return read_keys(owed, str(tmp_path), lambda _: None)

    assert is_whole(looked("cache/text"))
    assert is_whole(looked("cache/text", "cache", "gone", "."))
    assert looked().orphans == 4


# --- entries that are not one to one --------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "stem"])
@pytest.mark.parametrize("behind", ["_{}", "-{}", ".{}", "_{:03}"])
def test_several_entries_of_a_sample_are_told_from_each_other_by_numbers(
    look: Look, tmp_path: Path, key: str | None, behind: str
) -> None:
    """One for each crop or frame."""
    for stem in STEMS:
        put(tmp_path, *(f"{stem}{behind.format(number)}.pt" for number in range(3)))

    assert is_whole(look(key))


def test_numbers_in_the_names_of_samples_are_their_own(look: Look, tmp_path: Path) -> None:
    """Where entries are named by the whole stem, `cat_1` is none of `cat`."""
    put(tmp_path, "dog_1.pt", "dog_2.pt", "Käse und Brot.pt", "cat_1.pt")

    facts = look("stem")

    assert (facts.matched, facts.missing, facts.orphan_names) == (3, 1, ("cat_1.pt",))


@pytest.mark.parametrize(
    "name",
    [
        *("empty_prompt", "null", "negative-prompt", "uncond", "negative_prompt_embeds"),
        *("empty", "neg", "aggregate"),
    ],
)
def test_entries_of_no_caption_are_of_no_sample(look: Look, tmp_path: Path, name: str) -> None:
    """Every job has them."""
    put(tmp_path, *(f"{one}.pt" for one in STEMS), f"{name}.pt")

    assert is_whole(look("stem"))


@pytest.mark.parametrize("name", ["negation", "emptyhanded", "nullarbor", "mean_dog"])
def test_other_names_that_begin_like_them_are_told(look: Look, tmp_path: Path, name: str) -> None:
    """They are entries like others."""
    put(tmp_path, *(f"{one}.pt" for one in STEMS), f"{name}.pt")

    assert look("stem").orphan_names == (f"{name}.pt",)


@pytest.mark.parametrize("caption", ["", " \n", "\ufeff"])
def test_an_empty_caption_needs_no_entry_and_may_have_one(
    look: Look, tmp_path: Path, photos: Path, caption: str
) -> None:
    """Some jobs drop such captions, others encode them."""
    (photos / "b" / "cat.txt").write_text(caption, encoding="utf-8")
    put(tmp_path, *(f"{md5(f'a photo of {one}')}-flux.pt" for one in STEMS[:3]))

    without = look("{md5(caption)}-flux.pt")
    put(tmp_path, f"{md5('')}-flux.pt")
    with_one = look("{md5(caption)}-flux.pt")

    assert (without.matched, without.missing, without.uncaptioned) == (3, 0, 1)
    assert with_one.missing == with_one.orphans == 0


def test_tables_of_entries_are_named_and_are_no_entries(look: Look, tmp_path: Path) -> None:
    """A cache in tables is not empty, and nobody looks into them."""
    put(tmp_path, "data-00000-of-00001.arrow", "state.json")

    facts = look(None)

    assert (facts.entries, facts.stores) == (0, ("data-00000-of-00001.arrow",))
