"""Samples and entries lead to each other whatever a trainer calls them; what does not is named."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys
from preflight.keys.read import UsersKey, read_keys
from preflight.kinds.asked import CannotLookError
from preflight.targets.targets import CacheOf, CaptionRule, KeyedData
from preflight.values.wire import from_wire, to_wire
from tests.files import md5, put, sha256

Look = Callable[..., CacheKeys]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Hold cache/ against photos/."""

    def looked(key: str | None, *of: KeyedData, users: UsersKey | None = None) -> CacheKeys:
        data = of or (KeyedData(name="photos", folder="photos", spelled="photos"),)
        owed = CacheOf(path="cache", of=data, key=key)
        return read_keys(owed, str(tmp_path), lambda _: None, users)

    return looked


def photos(folder: Path, captions: Mapping[str, str]) -> None:
    for stem, caption in captions.items():
        put(folder / "photos", f"{stem}.jpg")
        (folder / "photos" / f"{stem}.txt").write_bytes(caption.encode())


def shard(path: Path, members: Mapping[str, str], *, packed: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    data = content.getvalue()
    path.write_bytes(gzip.compress(data) if packed else data)


def is_whole(facts: CacheKeys, samples: int) -> bool:
    faults = (facts.missing, facts.orphans, facts.stale, facts.shared, facts.respelled)
    return facts.matched == facts.samples == samples and not any(faults) and not facts.unread


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
def test_entries_are_found_wherever_a_trainer_puts_them(
    look: Look, tmp_path: Path, key: str, entry: str
) -> None:
    for stem in ("dog", "cat", "bird"):
        put(tmp_path / "photos" / "a", f"{stem}.jpg")
        put(tmp_path / "cache", entry.format(stem=stem))

    assert is_whole(look(key), 3)


def test_hashed_stems_in_mirrored_folders_are_found(look: Look, tmp_path: Path) -> None:
    """As SimpleTuner keeps latents: two images of one stem in two folders are two entries."""
    for place in ("a", "b"):
        put(tmp_path / "photos" / place, "dog.jpg")
        put(tmp_path / "cache" / place, f"{sha256('dog')}.pt")

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
def test_every_spelling_of_a_folder_gives_the_same_keys(
    look: Look, tmp_path: Path, spelled: str, key: str, entry: str
) -> None:
    put(tmp_path / "photos", "dog.JPG")
    put(tmp_path / "cache", f"{entry}.pt")
    data = KeyedData(folder="photos", spelled=spelled.format(root=tmp_path))

    assert is_whole(look(key, data), 1)


@pytest.mark.parametrize("spelled", ["photos", "./photos", "photos//"])
def test_a_path_that_is_opened_is_the_same_however_it_is_spelled(
    look: Look, tmp_path: Path, spelled: str
) -> None:
    """Where the key is a path itself, and no hash of one."""
    put(tmp_path / "photos", "dog.JPG")
    put(tmp_path / "cache" / "photos", "dog.JPG.pt")

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
    look: Look, tmp_path: Path, content: str, read: Callable[[str], list[str]]
) -> None:
    photos(tmp_path, {"one": content, "two": content + "2"})
    for text in [*read(content), *read(content + "2")]:
        put(tmp_path / "cache", f"{md5(text)}-flux.pt")

    facts = look("{md5(caption)}-flux.pt")

    assert (facts.matched, facts.missing, facts.orphans) == (2, 0, 0)
    assert look("md5(caption)").matched == 2
    assert look(None).rule == "md5(caption)"


def test_equal_captions_share_an_entry_on_purpose(look: Look, tmp_path: Path) -> None:
    """And where all entries are of the right kind, other kinds in the folder are not ours."""
    photos(tmp_path, {"one": "a dog", "two": "a dog"})
    put(tmp_path / "cache", f"{md5('a dog')}-flux.pt", f"{md5('a cat')}-sdxl.pt", "notes.json")

    facts = look("{md5(caption)}-flux.pt")

    assert is_whole(facts, 2)
    assert facts.by_caption


def test_kohyas_entries_lie_beside_their_images(look: Look, tmp_path: Path) -> None:
    """With the size of the image and the kind of the model behind its stem."""
    photos(tmp_path, {"dog": "x", "sub/cat": "y", "a_512x512_b": "z"})
    data = KeyedData(folder="photos", spelled="photos")
    for stem in ("dog", "sub/cat", "a_512x512_b"):
        put(tmp_path / "photos", f"{stem}_1024x0768_sdxl.npz", f"{stem}_te_outputs.npz")
        put(tmp_path / "photos", f"{stem}_flux_te.safetensors")
    owed = CacheOf(path="photos", of=(data,), key="stem")

    assert is_whole(read_keys(owed, str(tmp_path), lambda _: None), 3)


def test_sizes_tell_two_images_of_one_stem_from_each_other(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.jpg", "dog.png")
    put(tmp_path / "cache", "dog_1024x1024_sdxl.npz", "dog_0512x0768_sdxl.npz")

    assert is_whole(look("stem"), 2)


def test_two_data_sets_have_one_cache_and_one_folder_is_two_data_sets(
    look: Look, tmp_path: Path
) -> None:
    """A file that is listed twice shares its key with nobody."""
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "more", "cat.jpg")
    put(tmp_path / "cache", "dog.pt", "cat.pt")
    once = KeyedData(folder="photos", spelled="photos")

    facts = look("stem", once, KeyedData(folder="more", spelled="more"), once)

    assert is_whole(facts, 3)


def test_masks_need_no_entry(look: Look, tmp_path: Path) -> None:
    """What belongs to an image beside it is no sample; and a gas mask is one."""
    put(tmp_path / "photos", "dog.png", "dog-masklabel.png", "gas_mask.png")
    put(tmp_path / "cache", "dog.pt")

    facts = look("stem")

    assert facts.missing_names == ("photos/gas_mask.png",)
    assert facts.samples == 2


@pytest.mark.parametrize("place", ["masks", "reg", "a/conditioning"])
def test_pictures_in_a_folder_for_something_else_share_no_key(
    look: Look, tmp_path: Path, place: str
) -> None:
    put(tmp_path / "photos", "dog.jpg", "cat.jpg", f"{place}/dog.png", f"{place}/bird.png")
    put(tmp_path / "cache", "dog.pt", "cat.pt")

    facts = look("stem")

    assert (facts.shared, facts.missing, facts.orphans) == (0, 0, 0)


def test_masks_share_no_key_in_a_flat_cache(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "a/dog.jpg", "b/cat.jpg", "masks/dog.png")
    put(tmp_path / "cache", "dog.pt", "cat.pt")

    facts = look("stem")

    assert (facts.shared, facts.missing, facts.orphans) == (0, 0, 0)


def test_a_folder_of_old_entries_does_not_make_others_whole(look: Look, tmp_path: Path) -> None:
    """Where the rest of the cache is laid out otherwise."""
    put(tmp_path / "photos", "dog.jpg", "cat.jpg")
    put(tmp_path / "cache", "dog.pt", "old/cat.pt", "old/dog.pt")

    facts = look("stem")

    assert facts.missing_names == ("photos/cat.jpg",)
    assert facts.orphan_names == ("old/cat.pt", "old/dog.pt")


def test_one_stem_in_a_folder_below_is_another_sample(look: Look, tmp_path: Path) -> None:
    """It has no entry yet, which does not make that of the other one its own."""
    put(tmp_path / "photos", "dog.jpg", "cat.jpg", "sub/dog.jpg")
    put(tmp_path / "cache", "dog.pt", "cat.pt")

    facts = look("stem")

    assert (facts.shared, facts.missing_names) == (0, ("photos/sub/dog.jpg",))


def test_cached_files_of_another_name_are_counted_apart(look: Look, tmp_path: Path) -> None:
    """They belong to another model, or the rule is wrong."""
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "dog-sdxl.pt", "notes.txt")

    facts = look("{stem}-flux.pt")

    assert (facts.entries, facts.others, facts.other_names) == (0, 1, ("dog-sdxl.pt",))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_samples_of_shards_have_their_keys_and_captions(
    look: Look, tmp_path: Path, *, packed: bool
) -> None:
    """By headers alone, and the bytes of captions where they are needed."""
    members = {"a/1.jpg": "x", "a/1.txt": "one", "2.json": '{"caption": "two"}', "2.jpg": "y"}
    shard(tmp_path / "s.tar", {**members, "notes.txt": "no image"}, packed=packed)
    data = KeyedData(name="shards", shards=("s.tar",))
    put(tmp_path / "cache", f"{md5('one')}.pt", f"{md5('two')}.pt")

    assert is_whole(look("md5(caption)", data), 2)

    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    put(tmp_path / "cache", "a/1.pt", "2.pt")

    assert is_whole(look("key", data), 2)
    assert is_whole(look("stem", data), 2)


def test_captions_stand_in_tables_json_and_names(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "a/my_dog.jpg", "cat.jpg", "bird.jpg")
    row = json.dumps({"file_name": "a/my_dog.jpg", "text": "a dog"})
    put(tmp_path / "photos", "metadata.jsonl", content=f'{{"n": 1}}\nno json\n{row}\n'.encode())
    put(tmp_path / "photos", "cat.json", content=b'{"captions": ["a cat", "puss"]}')
    put(tmp_path / "cache", *(f"{md5(one)}.pt" for one in ("a dog", "a cat", "puss", "my dog")))

    facts = look("md5(caption)")
    named = CaptionRule(rule="filename")
    by_name = look("md5(caption)", KeyedData(folder="photos", captions=named))

    assert (facts.matched, facts.uncaptioned, facts.missing) == (2, 1, 0)
    assert facts.orphan_names == (f"{md5('my dog')}.pt",)
    assert (by_name.matched, by_name.missing) == (1, 2)


def test_a_clock_may_be_two_seconds_off(look: Look, tmp_path: Path) -> None:
    """And an entry that is made of a caption does not age with its image."""
    photos(tmp_path, {"dog": "a dog", "cat": "a cat"})
    put(tmp_path / "cache", "dog.pt", "cat_te_outputs.npz", f"{md5('a dog')}.pt")
    for name, age in (("dog.pt", 1.5), ("cat_te_outputs.npz", 900), (f"{md5('a dog')}.pt", 900)):
        then = (tmp_path / "photos" / "dog.jpg").stat().st_mtime - age
        os.utime(tmp_path / "cache" / name, (then, then))
    os.utime(tmp_path / "photos" / "cat.txt", (1, 1))

    assert look("stem").stale == 0
    assert look("md5(caption)").stale == 0


def test_one_file_is_no_folder_of_entries(tmp_path: Path) -> None:
    """Some trainers keep all latents of a data set in one."""
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "all.pt")
    owed = CacheOf(path="cache/all.pt", of=(KeyedData(folder="photos"),), key="stem")

    assert read_keys(owed, str(tmp_path), lambda _: None).is_file


def test_names_that_are_no_text_lead_to_each_other(look: Look, tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("such names are for Linux")
    for folder, suffix in (("photos", b".jpg"), ("cache", b".pt")):
        (tmp_path / folder).mkdir()
        for stem in (b"caf\xe9", b"a\nb", "\u00fc".encode()):
            with open(os.fsencode(tmp_path / folder) + b"/" + stem + suffix, "wb"):
                pass

    assert is_whole(look("stem"), 3)


def test_what_is_no_file_is_neither_sample_nor_entry_nor_caption(
    look: Look, tmp_path: Path
) -> None:
    """Opening a pipe would wait for ever."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no pipes with names")
    put(tmp_path / "photos", "dog.jpg")
    (tmp_path / "cache").mkdir()
    for name in ("photos/dog.txt", "photos/cat.jpg", "cache/dog.pt"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "cache" / "bird.pt").symlink_to("/nowhere")

    assert look("md5(caption)").uncaptioned == 1
    assert (look("stem").samples, look("stem").entries) == (1, 0)


def test_videos_are_samples_where_there_is_no_image(look: Look, tmp_path: Path) -> None:
    """With frames and size behind their stems, as musubi has it."""
    put(tmp_path / "photos", "v.mp4", "v.txt")
    put(tmp_path / "cache", "v_00000-049_0512x0320_wan.safetensors", "v_wan_te.safetensors")

    assert is_whole(look("stem"), 1)


def test_nothing_is_wrong_with_nothing(look: Look, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "cache").mkdir()

    assert look(None).rule is None
    assert is_whole(look("stem"), 0)

    put(tmp_path / "photos", "dog.jpg")

    assert (look("stem").missing, look("stem").entries) == (1, 0)
    assert look(None).rule is None


# --- faults ---------------------------------------------------------------------------------------


def test_two_images_of_one_stem_share_a_key(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "cat.jpg", "cat.png", "cat.webp", "dog.jpg", "sub/dog.jpg")
    put(tmp_path / "cache", "cat.pt", "dog.pt", "sub/dog.pt")

    facts = look("stem")

    (one,) = facts.shared_keys
    assert (facts.shared, facts.shared_samples) == (1, 3)
    assert (one.key, one.names[:2]) == ("cat", ("photos/cat.jpg", "photos/cat.png"))


def test_two_folders_share_keys_in_a_flat_cache(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "a/dog.jpg", "b/dog.jpg", "a/cat.jpg")
    put(tmp_path / "cache", "dog.pt", "cat.pt")

    (one,) = look("stem").shared_keys

    assert one.names == ("photos/a/dog.jpg", "photos/b/dog.jpg")


def test_samples_and_entries_without_each_other_are_counted_and_named(
    look: Look, tmp_path: Path
) -> None:
    """The first twenty in their order, whatever the order of a folder."""
    put(tmp_path / "photos", *(f"dog-{number:02}.jpg" for number in range(40)))
    put(tmp_path / "cache", *(f"dog-{number:02}.pt" for number in range(30, 70)))

    facts = look("stem")

    assert (facts.samples, facts.entries, facts.matched) == (40, 40, 10)
    assert (facts.missing, facts.orphans) == (30, 30)
    assert facts.missing_names == tuple(f"photos/dog-{number:02}.jpg" for number in range(20))
    assert facts.orphan_names == tuple(f"dog-{number:02}.pt" for number in range(40, 60))


def test_entries_older_than_their_image_are_named_with_the_worst_age(
    look: Look, tmp_path: Path
) -> None:
    put(tmp_path / "photos", "dog.jpg", "cat.jpg")
    put(tmp_path / "cache", "dog.pt", "cat.pt")
    os.utime(tmp_path / "photos" / "dog.jpg", (50_000, 50_000))
    os.utime(tmp_path / "cache" / "dog.pt", (10_000, 10_000))

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
def test_the_spelling_that_leads_back_is_told(
    look: Look, tmp_path: Path, said: str, made: str
) -> None:
    said, made = said.format(root=tmp_path), made.format(root=tmp_path)
    put(tmp_path / "photos" / "a", "dog.jpg")
    put(tmp_path / "cache", f"{md5(made)}.pt")

    facts = look("md5(path)", KeyedData(folder="photos", spelled=said))

    assert facts.matched == 0
    assert facts.respelled is not None
    assert facts.respelled.samples == 1
    assert facts.respelled.made == made
    assert facts.respelled.said == f"{said.rstrip('/')}/a/dog.jpg".replace(
        "photos/a", "photos//a" if said == "photos//" else "photos/a"
    )


def test_all_that_another_spelling_leads_back_are_counted(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    put(tmp_path / "cache", *(f"{md5(f'./photos/{one}.jpg')}.pt" for one in "abc"))
    put(tmp_path / "cache", f"{md5('photos/a.jpg')}.pt")

    facts = look("md5(path)")

    assert (facts.matched, facts.missing) == (1, 3)
    assert facts.respelled is not None
    assert (facts.respelled.samples, facts.respelled.other_folder) == (2, "./photos")


def test_an_extension_in_capitals_is_another_key(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.JPG")
    put(tmp_path / "cache", "dog.jpg.pt")

    other = look("name").respelled

    assert other is not None
    assert (other.said, other.made, other.folder) == ("photos/dog.JPG", "photos/dog.jpg", None)


def test_the_rule_that_fits_is_told_where_that_of_the_settings_fits_nothing(
    look: Look, tmp_path: Path
) -> None:
    """Whoever wrote the settings may be wrong."""
    put(tmp_path / "photos", "dog.jpg", "cat.jpg")
    put(tmp_path / "cache", f"{sha256('dog')}.pt", f"{sha256('cat')}.pt")

    facts = look("stem")

    assert (facts.instead, facts.instead_matched) == ("sha256(stem)", 2)
    assert look("auto").rule == "sha256(stem)"


def test_a_cache_of_something_else_fits_no_rule(look: Look, tmp_path: Path) -> None:
    photos(tmp_path, {"dog": "a dog", "cat": "a cat"})
    put(tmp_path / "cache", "model-00001.pt", "model-00002.pt")

    facts = look(None)

    assert facts.rule is None
    assert facts.tried[0] == "stem"
    assert facts.tried[-1] == "sha256(caption)"


def test_few_entries_of_many_samples_are_found(look: Look, tmp_path: Path) -> None:
    """Also those that a look at a few samples would have passed over."""
    shard(tmp_path / "s.tar", {f"{number:05}.jpg": "" for number in range(4_100)})
    put(tmp_path / "cache", f"{md5('00003.jpg')}.pt")

    assert look(None, KeyedData(shards=("s.tar",))).rule == "md5(name)"


# --- what changes, and what cannot be looked at ---------------------------------------------------


def test_a_shard_that_is_cut_or_gone_may_have_more_samples(look: Look, tmp_path: Path) -> None:
    shard(tmp_path / "s.tar", {"1.jpg": "x" * 600, "2.jpg": "y" * 600})
    (tmp_path / "s.tar").write_bytes((tmp_path / "s.tar").read_bytes()[:2_000])
    put(tmp_path / "cache", "1.pt", "2.pt")

    facts = look("stem", KeyedData(shards=("s.tar", "gone.tar")))

    assert (facts.matched, facts.orphans) == (1, 1)
    assert facts.unread == ("gone.tar", "s.tar")


def test_files_that_come_and_go_meanwhile_break_nothing(tmp_path: Path) -> None:
    """A job may be filling the cache."""
    photos(tmp_path, {f"dog-{number}": f"dog {number}" for number in range(1_200)})
    put(tmp_path / "cache", *(f"dog-{number}.pt" for number in range(1_200)))
    calls = 0

    def change(_name: str) -> None:
        nonlocal calls
        calls += 1
        put(tmp_path / "cache", f"new-{calls}.pt")
        put(tmp_path / "photos", f"new-{calls}.jpg")
        for name in (f"cache/dog-{calls}.pt", f"photos/dog-{calls}.jpg", f"photos/dog-{calls}.txt"):
            (tmp_path / name).unlink(missing_ok=True)

    data = (KeyedData(folder="photos", spelled="photos"),)
    for key in ("stem", "md5(caption)"):
        facts = read_keys(CacheOf(path="cache", of=data, key=key), str(tmp_path), change)

        assert facts.samples + facts.uncaptioned <= 1_200 + calls
        assert facts.changed
    assert calls > 4


def test_a_cache_that_nobody_writes_to_has_not_changed(look: Look, tmp_path: Path) -> None:
    """What others read in it changes nothing."""
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache" / "a", "dog.pt")

    assert not look("stem").changed


def test_a_folder_that_is_taken_away_meanwhile_is_passed_over(tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "dog.pt")
    (tmp_path / "cache" / "old").mkdir()

    def change(name: str) -> None:
        if name == "cache" and (tmp_path / "cache" / "old").exists():
            (tmp_path / "cache" / "old").rmdir()

    owed = CacheOf(path="cache", of=(KeyedData(folder="photos"),), key="stem")

    assert is_whole(read_keys(owed, str(tmp_path), change), 1)


def test_a_cache_that_is_gone_is_an_error(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.jpg")

    with pytest.raises(FileNotFoundError):
        look("stem")


@pytest.mark.skipif(sys.platform == "win32" or os.getuid() == 0, reason="root may list all")
def test_a_part_of_the_cache_that_cannot_be_listed_is_said(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache" / "a", "dog.pt")
    (tmp_path / "cache" / "a").chmod(0)

    with pytest.raises(CannotLookError, match="a cannot be listed"):
        look("stem")


def test_one_prompt_for_all_makes_no_key_that_is_known(look: Look, tmp_path: Path) -> None:
    """The settings do not say which prompt."""
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "x.pt")
    data = KeyedData(folder="photos", captions=CaptionRule(rule="prompt"))

    with pytest.raises(CannotLookError, match="one caption"):
        look("md5(caption)", data)
    assert look(None, data).tried[-1] == "sha256(path)"


def test_links_that_go_round_are_walked_once(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "dog.pt")
    for folder in ("photos", "cache"):
        (tmp_path / folder / "loop").symlink_to(tmp_path / folder, target_is_directory=True)

    assert is_whole(look("stem"), 1)


# --- the user's own function ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["dog.pt", "dog", "./dog.pt", "cache/dog.pt", "{root}/cache/dog.pt"],
)
def test_a_function_may_give_a_stem_a_name_or_a_path(
    look: Look, tmp_path: Path, given: str
) -> None:
    put(tmp_path / "photos", "dog.jpg")
    put(tmp_path / "cache", "dog.pt")
    key = UsersKey(make=lambda _path, _caption: given.format(root=tmp_path))

    assert is_whole(look("train:key", users=key), 1)


def test_facts_go_to_json_and_back(look: Look, tmp_path: Path) -> None:
    put(tmp_path / "photos", "cat.jpg", "cat.png")
    put(tmp_path / "cache", "cat.pt")
    if sys.platform == "linux":
        with open(os.fsencode(tmp_path / "cache") + b"/caf\xe9.pt", "wb"):
            pass
    facts = look("stem")

    assert from_wire(CacheKeys, json.loads(json.dumps(to_wire(facts)))) == facts
