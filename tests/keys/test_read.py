"""Samples and entries lead to each other whatever a trainer calls them; what does not is named."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys, SharedKey
from preflight.keys.read import UsersKey, read_keys
from preflight.kinds.asked import CannotLookError
from preflight.targets.targets import CacheOf, CaptionRule, KeyedData
from preflight.values.wire import from_wire, to_wire
from tests.archives import tarred
from tests.files import md5, put, sha256

PHOTOS, CACHE, SHARD = Path("photos"), Path("cache"), Path("s.tar")
DATA = KeyedData(name="photos", folder="photos", spelled="photos")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def look(
    key: str | None,
    *of: KeyedData,
    path: str = "cache",
    tell: Callable[[str], object] = str,
    users: UsersKey | None = None,
) -> CacheKeys:
    """Hold cache/ against photos/."""
    owed = CacheOf(path=path, of=of or (DATA,), key=key)
    return read_keys(owed, str(Path.cwd()), tell, users)


def photos(captions: Mapping[str, str]) -> None:
    for stem, caption in captions.items():
        put(PHOTOS, f"{stem}.jpg")
        (PHOTOS / f"{stem}.txt").write_bytes(caption.encode())


def shard(members: Mapping[str, str], *, packed: bool = False) -> None:
    data = tarred({name: text.encode() for name, text in members.items()})
    SHARD.write_bytes(gzip.compress(data) if packed else data)


def whole(samples: int) -> dict[str, object]:
    """Say what is told of a cache that has what it should have, and nothing else."""
    none = dict.fromkeys(("missing", "orphans", "stale", "shared"), 0)
    return {"matched": samples, "samples": samples, **none, "respelled": None, "unread": ()}


def is_whole(facts: CacheKeys, samples: int) -> bool:
    return all(getattr(facts, name) == value for name, value in whole(samples).items())


# --- healthy ones ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("stem", "a/{stem}.pt"),
        ("stem", "{stem}.safetensors"),
        ("stem", "by-model/{stem}.npz"),
        ("name", "a/{stem}.jpg.pt"),
        ("relative", "a/{stem}.jpg.pt"),
        ("{stem}.latent", "a/{stem}.latent"),
        ("latents/{stem}.pt", "latents/{stem}.pt"),
        ("{path}.pt", "photos/a/{stem}.jpg.pt"),
    ],
)
def test_entries_are_found_wherever_a_trainer_puts_them(key: str, entry: str) -> None:
    for stem in ("dog", "cat", "bird"):
        put(PHOTOS / "a", f"{stem}.jpg")
        put(CACHE, entry.format(stem=stem))

    assert is_whole(look(key), 3)


def test_hashed_stems_in_mirrored_folders_are_found() -> None:
    """As SimpleTuner keeps latents: two images of one stem in two folders are two entries."""
    for place in ("a", "b"):
        put(PHOTOS / place, "dog.jpg")
        put(CACHE / place, f"{sha256('dog')}.pt")

    assert is_whole(look("sha256(stem)"), 2)
    assert is_whole(look(None), 2)


@pytest.mark.parametrize("spelled", ["photos", "./photos", "photos/", "photos//", "{root}/photos"])
@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("stem", "dog"),
        ("name", "dog.JPG"),
        ("relative", "dog.JPG"),
        ("sha256(stem)", sha256("dog")),
    ],
)
def test_every_spelling_of_a_folder_gives_the_same_keys(spelled: str, key: str, entry: str) -> None:
    put(PHOTOS, "dog.JPG")
    put(CACHE, f"{entry}.pt")
    data = KeyedData(folder="photos", spelled=spelled.format(root=Path.cwd()))

    assert is_whole(look(key, data), 1)


@pytest.mark.parametrize("spelled", ["photos", "./photos", "photos//"])
def test_a_path_that_is_opened_is_the_same_however_it_is_spelled(spelled: str) -> None:
    """Where the key is a path itself, and no hash of one."""
    put(PHOTOS, "dog.JPG")
    put(CACHE / "photos", "dog.JPG.pt")

    assert is_whole(look("{path}.pt", KeyedData(folder="photos", spelled=spelled)), 1)


@pytest.mark.parametrize(
    "content",
    ["a dog", "a dog\n", "  a dog \r\n", "a dog\nof mine\n", "a dog\r\nof mine\r\n"],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda text: [text],
        lambda text: [text.replace("\r\n", "\n")],
        lambda text: [text.strip()],
        lambda text: [line for line in text.split("\n") if line],
        lambda text: [text.replace("\r\n", "\n").split("\n")[0].strip()],
    ],
    ids=["as it is", "as Python reads lines", "stripped", "each line", "the first line"],
)
def test_captions_are_read_as_trainers_read_them(
    content: str, read: Callable[[str], list[str]]
) -> None:
    photos({"one": content, "two": content + "2"})
    for text in [*read(content), *read(content + "2")]:
        put(CACHE, f"{md5(text)}-flux.pt")

    facts = look("{md5(caption)}-flux.pt")

    assert (facts.matched, facts.missing, facts.orphans) == (2, 0, 0)
    assert look("md5(caption)").matched == 2
    assert look(None).rule == "md5(caption)"


def several_lines(number: int) -> dict[str, str]:
    return {f"dog{one}": f"a dog {one}\nof mine {one}\n" for one in range(number)}


def test_of_several_lines_each_has_its_entry_in_all_samples_or_in_none() -> None:
    """How captions are read is settled for a cache: one line without an entry is missed."""
    photos(several_lines(8))
    for one in range(8):
        put(CACHE, *(f"{md5(text)}.pt" for text in (f"a dog {one}", f"of mine {one}")))
    assert is_whole(look("md5(caption)"), 8)
    for one in range(3):
        (CACHE / f"{md5(f'of mine {one}')}.pt").unlink()

    facts = look("md5(caption)")

    assert (facts.matched, facts.missing, facts.orphans) == (5, 3, 0)
    assert facts.missing_names == tuple(f"photos/dog{one}.jpg" for one in range(3))


@pytest.mark.parametrize("read", [lambda text: text.splitlines()[0], str.strip])
@pytest.mark.parametrize("strays", [1, 3])
def test_a_few_lines_that_have_an_entry_are_no_way_for_all(
    read: Callable[[str], str], strays: int
) -> None:
    """An earlier run read them so, say."""
    texts = several_lines(8)
    photos(texts)
    put(CACHE, *(f"{md5(read(text))}.pt" for text in texts.values()))
    put(CACHE, *(f"{md5(f'of mine {one}')}.pt" for one in range(strays)))

    facts = look("md5(caption)")

    assert (facts.matched, facts.missing) == (8, 0)


def test_of_each_line_a_cache_is_read_so_while_it_is_being_filled() -> None:
    photos(several_lines(10))
    put(
        CACHE, *(f"{md5(text)}.pt" for one in (0, 1) for text in (f"a dog {one}", f"of mine {one}"))
    )

    facts = look("md5(caption)")

    assert (facts.matched, facts.missing, facts.orphans) == (2, 8, 0)


@pytest.mark.parametrize("first", [True, False], ids=["the first line", "the whole text"])
def test_entries_of_one_way_are_whole_beside_captions_of_one_line(*, first: bool) -> None:
    texts = {**several_lines(5), "cat": "a cat", "bird": "\ufeffa bird"}
    photos(texts)
    for text in (one.removeprefix("\ufeff") for one in texts.values()):
        put(CACHE, f"{md5(text.splitlines()[0] if first else text)}.pt")

    assert is_whole(look("md5(caption)"), 7)


def test_an_entry_of_another_way_stands_for_no_sample() -> None:
    """Of seven the whole text has one, and of the eighth only its first line."""
    texts = several_lines(8)
    photos(texts)
    put(CACHE, *(f"{md5(text)}.pt" for text in list(texts.values())[1:]), f"{md5('a dog 0')}.pt")

    facts = look("md5(caption)")

    assert (facts.matched, facts.missing_names) == (7, ("photos/dog0.jpg",))
    assert facts.orphan_names == (f"{md5('a dog 0')}.pt",)


def test_equal_captions_share_an_entry_on_purpose() -> None:
    """And where all entries are of the right kind, other kinds in the folder are not ours."""
    photos({"one": "a dog", "two": "a dog"})
    put(CACHE, f"{md5('a dog')}-flux.pt", f"{md5('a cat')}-sdxl.pt", "notes.json")

    facts = look("{md5(caption)}-flux.pt")

    assert is_whole(facts, 2)
    assert facts.by_caption


def test_kohyas_entries_lie_beside_their_images() -> None:
    """With the size of the image and the kind of the model behind its stem."""
    photos({"dog": "x", "sub/cat": "y", "a_512x512_b": "z"})
    for stem in ("dog", "sub/cat", "a_512x512_b"):
        put(PHOTOS, f"{stem}_1024x0768_sdxl.npz", f"{stem}_te_outputs.npz")
        put(PHOTOS, f"{stem}_flux_te.safetensors")

    assert is_whole(look("stem", path="photos"), 3)


def test_two_data_sets_have_one_cache_and_one_folder_is_two_data_sets() -> None:
    """A file that is listed twice shares its key with nobody."""
    put(PHOTOS, "dog.jpg")
    put(Path("more"), "cat.jpg")
    put(CACHE, "dog.pt", "cat.pt")
    once = KeyedData(folder="photos", spelled="photos")

    facts = look("stem", once, KeyedData(folder="more", spelled="more"), once)

    assert is_whole(facts, 3)


NOTHING_ELSE = {"shared": 0, "missing": 0, "orphans": 0}


@pytest.mark.parametrize(
    ("samples", "entries", "expected"),
    [
        (
            "dog.jpg dog.png",
            "dog_1024x1024_sdxl.npz dog_0512x0768_sdxl.npz",
            whole(2),
        ),
        (
            "v.mp4 v.txt",
            "v_00000-049_0512x0320_wan.safetensors v_wan_te.safetensors",
            whole(1),
        ),
        (
            "dog.png dog-masklabel.png gas_mask.png",
            "dog.pt",
            {"missing_names": ("photos/gas_mask.png",), "samples": 2},
        ),
        ("dog.jpg cat.jpg masks/dog.png masks/bird.png", "dog.pt cat.pt", NOTHING_ELSE),
        ("dog.jpg cat.jpg reg/dog.png reg/bird.png", "dog.pt cat.pt", NOTHING_ELSE),
        (
            "dog.jpg cat.jpg a/conditioning/dog.png a/conditioning/bird.png",
            "dog.pt cat.pt",
            NOTHING_ELSE,
        ),
        ("a/dog.jpg b/cat.jpg masks/dog.png", "dog.pt cat.pt", NOTHING_ELSE),
        (
            "dog.jpg cat.jpg",
            "dog.pt old/cat.pt old/dog.pt",
            {
                "missing_names": ("photos/cat.jpg",),
                "orphan_names": ("old/cat.pt", "old/dog.pt"),
            },
        ),
        (
            "dog.jpg cat.jpg sub/dog.jpg",
            "dog.pt cat.pt",
            {"shared": 0, "missing_names": ("photos/sub/dog.jpg",)},
        ),
        (
            "a/dog.jpg b/dog.jpg a/cat.jpg",
            "dog.pt cat.pt",
            {
                "shared_keys": (
                    SharedKey(key="dog", samples=2, names=("photos/a/dog.jpg", "photos/b/dog.jpg")),
                )
            },
        ),
    ],
    ids=[
        "sizes tell two images of one stem from each other",
        "videos are samples where there is no image",
        "what belongs to an image beside it is no sample, and a gas mask is one",
        *("masks share no key", "regularisation images share none", "conditions share none"),
        "masks share no key in a flat cache",
        "a folder of old entries does not make others whole, whose layout is another",
        "one stem in a folder below is another sample, and the entry of the other not its own",
        "two folders share keys in a flat cache",
    ],
)
def test_samples_lead_to_entries_by_their_stems(
    samples: str, entries: str, expected: dict[str, object]
) -> None:
    put(PHOTOS, *samples.split())
    put(CACHE, *entries.split())

    facts = look("stem")

    assert {name: getattr(facts, name) for name in expected} == expected


def test_cached_files_of_another_name_are_counted_apart() -> None:
    """They belong to another model, or the rule is wrong."""
    put(PHOTOS, "dog.jpg")
    put(CACHE, "dog-sdxl.pt", "notes.txt")

    facts = look("{stem}-flux.pt")

    assert (facts.entries, facts.others, facts.other_names) == (0, 1, ("dog-sdxl.pt",))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_samples_of_shards_have_their_keys_and_captions(*, packed: bool) -> None:
    """By headers alone, and the bytes of captions where they are needed."""
    members = {"a/1.jpg": "x", "a/1.txt": "one", "2.json": '{"caption": "two"}', "2.jpg": "y"}
    shard({**members, "notes.txt": "no image"}, packed=packed)
    data = KeyedData(name="shards", shards=("s.tar",))
    put(CACHE, f"{md5('one')}.pt", f"{md5('two')}.pt")

    assert is_whole(look("md5(caption)", data), 2)

    for file in CACHE.iterdir():
        file.unlink()
    put(CACHE, "a/1.pt", "2.pt")

    assert is_whole(look("key", data), 2)
    assert is_whole(look("stem", data), 2)


def test_captions_stand_in_tables_json_and_names() -> None:
    put(PHOTOS, "a/my_dog.jpg", "cat.jpg", "bird.jpg")
    row = json.dumps({"file_name": "a/my_dog.jpg", "text": "a dog"})
    put(PHOTOS, "metadata.jsonl", content=f'{{"n": 1}}\nno json\n{row}\n'.encode())
    put(PHOTOS, "cat.json", content=b'{"captions": ["a cat", "puss"]}')
    put(CACHE, *(f"{md5(one)}.pt" for one in ("a dog", "a cat", "puss", "my dog")))

    facts = look("md5(caption)")
    named = CaptionRule(rule="filename")
    by_name = look("md5(caption)", KeyedData(folder="photos", captions=named))

    assert (facts.matched, facts.uncaptioned, facts.missing) == (2, 1, 0)
    assert facts.orphan_names == (f"{md5('my dog')}.pt",)
    assert (by_name.matched, by_name.missing) == (1, 2)


def test_a_clock_may_be_two_seconds_off() -> None:
    """And an entry that is made of a caption does not age with its image."""
    photos({"dog": "a dog", "cat": "a cat"})
    put(CACHE, "dog.pt", "cat_te_outputs.npz", f"{md5('a dog')}.pt")
    for name, age in (("dog.pt", 1.5), ("cat_te_outputs.npz", 900), (f"{md5('a dog')}.pt", 900)):
        then = (PHOTOS / "dog.jpg").stat().st_mtime - age
        os.utime(CACHE / name, (then, then))
    os.utime(PHOTOS / "cat.txt", (1, 1))

    assert look("stem").stale == 0
    assert look("md5(caption)").stale == 0


def test_one_file_is_no_folder_of_entries() -> None:
    """Some trainers keep all latents of a data set in one."""
    put(PHOTOS, "dog.jpg")
    put(CACHE, "all.pt")

    assert look("stem", path="cache/all.pt").is_file


def test_names_that_are_no_text_lead_to_each_other() -> None:
    if sys.platform != "linux":
        pytest.skip("such names are for Linux")
    for folder, suffix in (("photos", b".jpg"), ("cache", b".pt")):
        Path(folder).mkdir()
        for stem in (b"caf\xe9", b"a\nb", "\u00fc".encode()):
            with open(os.fsencode(folder) + b"/" + stem + suffix, "wb"):
                pass

    assert is_whole(look("stem"), 3)


def test_what_is_no_file_is_neither_sample_nor_entry_nor_caption() -> None:
    """Opening a pipe would wait for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    put(PHOTOS, "dog.jpg")
    CACHE.mkdir()
    for name in ("photos/dog.txt", "photos/cat.jpg", "cache/dog.pt"):
        os.mkfifo(name)
    (CACHE / "bird.pt").symlink_to("/nowhere")

    assert look("md5(caption)").uncaptioned == 1
    assert (look("stem").samples, look("stem").entries) == (1, 0)


def test_nothing_is_wrong_with_nothing() -> None:
    PHOTOS.mkdir()
    CACHE.mkdir()

    assert look(None).rule is None
    assert is_whole(look("stem"), 0)

    put(PHOTOS, "dog.jpg")

    assert (look("stem").missing, look("stem").entries) == (1, 0)
    assert look(None).rule is None


# --- faults ---------------------------------------------------------------------------------------


def test_two_images_of_one_stem_share_a_key() -> None:
    put(PHOTOS, "cat.jpg", "cat.png", "cat.webp", "dog.jpg", "sub/dog.jpg")
    put(CACHE, "cat.pt", "dog.pt", "sub/dog.pt")

    facts = look("stem")

    (one,) = facts.shared_keys
    assert (facts.shared, facts.shared_samples) == (1, 3)
    assert (one.key, one.names[:2]) == ("cat", ("photos/cat.jpg", "photos/cat.png"))


def test_samples_and_entries_without_each_other_are_counted_and_named() -> None:
    """The first twenty in their order, whatever the order of a folder."""
    put(PHOTOS, *(f"dog-{number:02}.jpg" for number in range(40)))
    put(CACHE, *(f"dog-{number:02}.pt" for number in range(30, 70)))

    facts = look("stem")

    assert (facts.samples, facts.entries, facts.matched) == (40, 40, 10)
    assert (facts.missing, facts.orphans) == (30, 30)
    assert facts.missing_names == tuple(f"photos/dog-{number:02}.jpg" for number in range(20))
    assert facts.orphan_names == tuple(f"dog-{number:02}.pt" for number in range(40, 60))


def test_entries_older_than_their_image_are_named_with_the_worst_age() -> None:
    put(PHOTOS, "dog.jpg", "cat.jpg")
    put(CACHE, "dog.pt", "cat.pt")
    os.utime(PHOTOS / "dog.jpg", (50_000, 50_000))
    os.utime(CACHE / "dog.pt", (10_000, 10_000))

    facts = look("stem")

    assert (facts.stale, facts.stale_names, facts.dated) == (1, ("dog.pt",), 2)
    assert (facts.younger, facts.younger_names) == (1, ("photos/dog.jpg",))
    assert facts.oldest == pytest.approx(40_000)


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("photos", "./photos/a/dog.jpg"),
        ("photos", "photos//a/dog.jpg"),
        ("photos", "{root}/photos/a/dog.jpg"),
        ("./photos", "photos/a/dog.jpg"),
        ("photos//", "photos/a/dog.jpg"),
        ("{root}/photos", "photos/a/dog.jpg"),
        ("photos", "a/dog.jpg"),
        ("photos", "photos/a/dog.JPG"),
        ("photos", "./photos/a/dog.JPG"),
    ],
)
def test_the_spelling_that_leads_back_is_told(said: str, made: str) -> None:
    said, made = said.format(root=Path.cwd()), made.format(root=Path.cwd())
    put(PHOTOS / "a", "dog.jpg")
    put(CACHE, f"{md5(made)}.pt")

    facts = look("md5(path)", KeyedData(folder="photos", spelled=said))

    assert facts.matched == 0
    assert facts.respelled is not None
    assert (facts.respelled.samples, facts.respelled.made) == (1, made)
    assert facts.respelled.said == f"{said.rstrip('/')}/a/dog.jpg".replace(
        "photos/a", "photos//a" if said == "photos//" else "photos/a"
    )


def test_all_that_another_spelling_leads_back_are_counted() -> None:
    put(PHOTOS, "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    put(CACHE, *(f"{md5(f'./photos/{one}.jpg')}.pt" for one in "abc"))
    put(CACHE, f"{md5('photos/a.jpg')}.pt")

    facts = look("md5(path)")

    assert (facts.matched, facts.missing) == (1, 3)
    assert facts.respelled is not None
    assert (facts.respelled.samples, facts.respelled.other_folder) == (2, "./photos")


def test_an_extension_in_capitals_is_another_key() -> None:
    put(PHOTOS, "dog.JPG")
    put(CACHE, "dog.jpg.pt")

    other = look("name").respelled

    assert other is not None
    assert (other.said, other.made, other.folder) == ("photos/dog.JPG", "photos/dog.jpg", None)


def test_the_rule_that_fits_is_told_where_that_of_the_settings_fits_nothing() -> None:
    """Whoever wrote the settings may be wrong."""
    put(PHOTOS, "dog.jpg", "cat.jpg")
    put(CACHE, f"{sha256('dog')}.pt", f"{sha256('cat')}.pt")

    facts = look("stem")

    assert (facts.instead, facts.instead_matched) == ("sha256(stem)", 2)
    assert look("auto").rule == "sha256(stem)"


def test_a_cache_of_something_else_fits_no_rule() -> None:
    photos({"dog": "a dog", "cat": "a cat"})
    put(CACHE, "model-00001.pt", "model-00002.pt")

    facts = look(None)

    assert facts.rule is None
    assert facts.tried[0] == "stem"
    assert facts.tried[-1] == "sha256(caption)"


def test_where_no_rule_fits_it_is_told_how_far_each_came() -> None:
    for one in range(4):
        put(PHOTOS, f"dog{one}.jpg")
    put(CACHE, "dog1.pt", f"{sha256('dog2')}.pt", f"{sha256('dog3')}.pt", "x.pt", "y.pt", "z.pt")

    facts = look(None)

    assert facts.rule is None
    led = dict(zip(facts.tried, facts.tried_led, strict=True))
    assert {rule: most for rule, most in led.items() if most} == {"stem": 1, "sha256(stem)": 2}
    assert facts.tried_of == 4


def test_captions_count_as_read_in_the_one_way_that_is_settled_where_no_rule_fits() -> None:
    """Half of a cache has an entry a line, and half an entry a caption."""
    texts = [f"a dog {one}\na cat {one}" for one in range(12)]
    photos({f"dog{place}": text for place, text in enumerate(texts)})
    keys = texts[:6] + [line for text in texts[6:] for line in text.split("\n")]
    put(CACHE, *(f"{sha256(one)}.pt" for one in keys))

    assert furthest(look(None)) == {"sha256(caption)": 6}


def furthest(facts: CacheKeys) -> dict[str, int]:
    """Give the rules that led anywhere, where none fits."""
    assert facts.rule is None
    return {rule: led for rule, led in zip(facts.tried, facts.tried_led, strict=True) if led}


@pytest.mark.parametrize(
    ("behind", "rule"),
    [("_flux", "stem + _flux"), ("-1024px.sd3", "stem + -1024px.sd3"), ("_17", "stem + a number")],
)
def test_what_stands_behind_the_keys_of_some_is_told_where_no_rule_fits(
    behind: str, rule: str
) -> None:
    for one in range(12):
        put(PHOTOS, f"dog {one}.jpg")
    put(CACHE, *(f"dog {one}{behind}.pt" for one in range(5)), *(f"x{one}.pt" for one in range(7)))

    facts = look(None)

    assert furthest(facts) == {rule: 5}
    assert facts.tried_of == 12


def test_endings_that_differ_in_numbers_are_one() -> None:
    for one in range(12):
        put(PHOTOS, f"dog {one}.jpg")
    put(CACHE, *(f"dog {one}_{one}00px.pt" for one in range(5)), *(f"x{n}.pt" for n in range(7)))

    assert furthest(look(None)) == {"stem + _#px": 5}


def test_one_entry_by_chance_is_no_ending() -> None:
    photos({"dog": "a dog", "cat": "a cat"})
    put(CACHE, "dog_notes.pt", "model-00001.pt", "model-00002.pt")

    assert furthest(look(None)) == {}


def test_other_spellings_that_lead_some_to_an_entry_are_told_where_no_rule_fits() -> None:
    for one in range(8):
        put(PHOTOS, f"dog {one}.jpg")
    paths = [str(Path(PHOTOS, f"dog {one}.jpg").absolute()) for one in range(3)]
    put(CACHE, *(f"{md5(one)}.pt" for one in paths), *(f"x{one}.pt" for one in range(5)))

    assert furthest(look(None)) == {f"md5(path) of {paths[0]}": 3}


def test_few_entries_of_many_samples_are_found() -> None:
    """Also those that a look at a few samples would have passed over."""
    shard({f"{number:05}.jpg": "" for number in range(4_100)})
    put(CACHE, f"{md5('00003.jpg')}.pt")

    assert look(None, KeyedData(shards=("s.tar",))).rule == "md5(name)"


# --- what changes, and what cannot be looked at ---------------------------------------------------


def test_a_shard_that_is_cut_or_gone_may_have_more_samples() -> None:
    shard({"1.jpg": "x" * 600, "2.jpg": "y" * 600})
    SHARD.write_bytes(SHARD.read_bytes()[:2_000])
    put(CACHE, "1.pt", "2.pt")

    facts = look("stem", KeyedData(shards=("s.tar", "gone.tar")))

    assert (facts.matched, facts.orphans) == (1, 1)
    assert facts.unread == ("gone.tar", "s.tar")


def test_files_that_come_and_go_meanwhile_break_nothing() -> None:
    """A job may be filling the cache."""
    photos({f"dog-{number}": f"dog {number}" for number in range(1_200)})
    put(CACHE, *(f"dog-{number}.pt" for number in range(1_200)))
    calls = 0

    def change(_name: str) -> None:
        nonlocal calls
        calls += 1
        put(CACHE, f"new-{calls}.pt")
        put(PHOTOS, f"new-{calls}.jpg")
        for name in (f"cache/dog-{calls}.pt", f"photos/dog-{calls}.jpg", f"photos/dog-{calls}.txt"):
            Path(name).unlink(missing_ok=True)

    for key in ("stem", "md5(caption)"):
        facts = look(key, tell=change)

        assert facts.samples + facts.uncaptioned <= 1_200 + calls
        assert facts.changed
    assert calls > 4


def test_a_cache_that_nobody_writes_to_has_not_changed() -> None:
    """What others read in it changes nothing."""
    put(PHOTOS, "dog.jpg")
    put(CACHE / "a", "dog.pt")

    assert not look("stem").changed


def test_a_folder_that_is_taken_away_meanwhile_is_passed_over() -> None:
    put(PHOTOS, "dog.jpg")
    put(CACHE, "dog.pt")
    (CACHE / "old").mkdir()

    def change(name: str) -> None:
        if name == "cache" and (CACHE / "old").exists():
            (CACHE / "old").rmdir()

    assert is_whole(look("stem", tell=change), 1)


def test_a_cache_that_is_gone_is_an_error() -> None:
    put(PHOTOS, "dog.jpg")

    with pytest.raises(FileNotFoundError):
        look("stem")


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="root may list all")
def test_a_part_of_the_cache_that_cannot_be_listed_is_said() -> None:
    put(PHOTOS, "dog.jpg")
    put(CACHE / "a", "dog.pt")
    (CACHE / "a").chmod(0)

    with pytest.raises(CannotLookError, match="a cannot be listed"):
        look("stem")


def test_one_prompt_for_all_makes_no_key_that_is_known() -> None:
    """The settings do not say which prompt."""
    put(PHOTOS, "dog.jpg")
    put(CACHE, "x.pt")
    data = KeyedData(folder="photos", captions=CaptionRule(rule="prompt"))

    with pytest.raises(CannotLookError, match="one caption"):
        look("md5(caption)", data)
    assert look(None, data).tried[-1] == "sha256(path)"


def test_links_that_go_round_are_walked_once() -> None:
    put(PHOTOS, "dog.jpg")
    put(CACHE, "dog.pt")
    for folder in ("photos", "cache"):
        Path(folder, "loop").symlink_to(Path(folder).resolve(), target_is_directory=True)

    assert is_whole(look("stem"), 1)


# --- the user's own function ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["dog.pt", "dog", "./dog.pt", "cache/dog.pt", "{root}/cache/dog.pt"],
)
def test_a_function_may_give_a_stem_a_name_or_a_path(given: str) -> None:
    put(PHOTOS, "dog.jpg")
    put(CACHE, "dog.pt")
    key = UsersKey(make=lambda _path, _caption: given.format(root=Path.cwd()))

    assert is_whole(look("train:key", users=key), 1)


def test_facts_go_to_json_and_back() -> None:
    put(PHOTOS, "cat.jpg", "cat.png")
    put(CACHE, "cat.pt")
    if sys.platform == "linux":
        with open(os.fsencode(CACHE) + b"/caf\xe9.pt", "wb"):
            pass
    facts = look("stem")

    assert from_wire(CacheKeys, json.loads(json.dumps(to_wire(facts)))) == facts
