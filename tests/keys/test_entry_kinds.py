"""A sample may have several entries, each of a kind: what most have beside others, all should."""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from pathlib import Path

import pytest

from preflight.keys.facts import CacheKeys
from preflight.keys.index import endings_of, kind_of
from preflight.keys.read import read_keys
from preflight.targets.targets import CacheOf, KeyedData
from tests.files import md5, put, sha256

PHOTOS, CACHE = Path("photos"), Path("cache")

STEMS = tuple(f"dog_{number:02}" for number in range(20))


@pytest.fixture(autouse=True)
def _photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for stem in STEMS:
        put(PHOTOS, f"{stem}.jpg")
        (PHOTOS / f"{stem}.txt").write_text(f"a photo of {stem}", encoding="utf-8")


def look(key: str | None = None, path: str = "cache") -> CacheKeys:
    """Hold cache/ against photos/, or photos/ against itself."""
    data = KeyedData(name="photos", folder="photos", spelled="photos")
    return read_keys(CacheOf(path=path, of=(data,), key=key), str(Path.cwd()), str)


def fill(folder: Path, *endings: str, stems: Iterable[str] = STEMS) -> None:
    put(folder, *(f"{stem}{ending}" for stem in stems for ending in endings))


def is_whole(facts: CacheKeys) -> bool:
    faults = (facts.missing, facts.orphans, facts.stale, facts.shared, facts.respelled)
    return facts.matched == facts.samples == len(STEMS) and not any(faults) and not facts.lacked


def base64(text: str) -> str:
    digest = hashlib.md5(text.encode(), usedforsecurity=False).digest()
    return urlsafe_b64encode(digest).decode().rstrip("=")


# --- kinds ----------------------------------------------------------------------------------------

PAIRS = [
    ("_0512x0768_sdxl.npz", "_te_outputs.npz"),
    ("_1024x1024_flux.npz", "_flux_te.npz"),
    ("_0512x0512_hv.safetensors", "_hv_te.safetensors"),
    ("_00000-025_0512x0512_wan.safetensors", "_wan_te.safetensors"),
    (".npz", "_te_outputs.npz"),
]


@pytest.mark.parametrize("endings", PAIRS)
@pytest.mark.parametrize("path", ["cache", "photos"])
def test_latents_and_texts_of_all_are_whole(endings: tuple[str, str], path: str) -> None:
    """In a folder of their own, or beside their images."""
    fill(Path(path), *endings)

    assert is_whole(look(path=path))


@pytest.mark.parametrize("endings", PAIRS)
@pytest.mark.parametrize("lacking", [1, 9])
@pytest.mark.parametrize("which", [0, 1])
def test_a_few_that_lack_one_of_the_two_are_named(
    endings: tuple[str, str], lacking: int, which: int
) -> None:
    fill(CACHE, *endings)
    for stem in STEMS[:lacking]:
        (CACHE / f"{stem}{endings[which]}").unlink()

    facts = look()

    (one,) = facts.lacked
    assert (one.samples, one.have) == (lacking, 20 - lacking)
    assert one.names == tuple(f"photos/{stem}.jpg" for stem in STEMS[:lacking])
    assert one.kind == "*" + endings[which]
    assert (facts.matched, facts.missing, facts.orphans) == (20, 0, 0)


def test_a_sample_without_any_entry_is_told_once() -> None:
    fill(CACHE, "_0512x0768_sdxl.npz", "_te_outputs.npz", stems=STEMS[1:])

    facts = look()

    assert (facts.missing, facts.lacked) == (1, ())


@pytest.mark.parametrize(
    ("all_have", "some_have"),
    [
        (("_0512x0768_sdxl.npz",), ("_te_outputs.npz",)),
        (("_0512x0768_sdxl.npz", "_te_outputs.npz"), ("_0512x0768_flux.npz", "_flux_te.npz")),
        (("_0512x0512.npz",), ("_1024x1024.npz",)),
        ((".pt",), ("_0.pt", "_1.pt")),
    ],
    ids=["texts of an earlier run", "two models", "sizes", "crops"],
)
def test_what_half_of_the_samples_have_nobody_lacks(
    all_have: tuple[str, ...], some_have: tuple[str, ...]
) -> None:
    """Nobody knows whether the others should have it, too."""
    fill(CACHE, *all_have)
    fill(CACHE, *some_have, stems=STEMS[:10])

    assert is_whole(look())


def test_what_is_no_text_may_be_lacked_by_some() -> None:
    """Masks are not made of every image."""
    fill(CACHE, "_latent.pt")
    fill(CACHE, "_vae.pt", stems=STEMS[:16])

    assert is_whole(look("stem"))


def test_one_kind_may_stand_in_place_of_another() -> None:
    """Latents lie in folders by their shape, or have another suffix since the trainer is newer."""
    for number, stem in enumerate(STEMS):
        shape = "wide" if number == 3 else "square"
        put(CACHE, f"{shape}/{stem}.pt", f"text/{stem}.pt")

    assert is_whole(look())


def test_a_kind_that_has_a_folder_of_its_own_is_lacked() -> None:
    """`clip/` and `t5/`: one folder for each text encoder."""
    for stem in STEMS:
        put(CACHE, f"clip/{stem}.pt", f"t5/{stem}.pt")
    (CACHE / "t5" / f"{STEMS[7]}.pt").unlink()

    (one,) = look().lacked

    assert one.kind == "t5/*.pt"
    assert one.names == (f"photos/{STEMS[7]}.jpg",)


# --- what is learnt -------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "stem"])
@pytest.mark.parametrize(
    "endings",
    [
        (".npz", "_flip.npz"),
        ("_clip_l.pt", "_clip_g.pt", "_t5.pt"),
        (".effnet.npy", ".clip.pt"),
        ("-latents-512.pt", "-latents-1024.pt"),
        ("_0512x0768_sdxl.npz", "_te_outputs.npz", "_mask.npz"),
    ],
)
def test_what_stands_behind_the_keys_of_most_is_understood(
    key: str | None, endings: tuple[str, ...]
) -> None:
    """Also what no trainer that is known puts there."""
    fill(CACHE, *endings)
    whole = look(key)
    for ending in endings:
        (CACHE / f"{STEMS[2]}{ending}").unlink()
    torn = look(key)

    assert is_whole(whole)
    assert torn.missing_names == (f"photos/{STEMS[2]}.jpg",)
    assert torn.orphans == 0


@pytest.mark.parametrize("key", [None, "stem"])
def test_hashes_behind_stems_are_understood(key: str | None) -> None:
    """As ai-toolkit has them, one for each size; also where one of them begins with a dash."""
    for stem in STEMS:
        put(CACHE, *(f"{stem}_{base64(f'{stem}{n}')}.safetensors" for n in range(2)))
    put(CACHE, f"{STEMS[0]}_-aB3_efghijklm-opqrstu.safetensors")

    assert is_whole(look(key))


def test_entries_that_lead_to_nobody_are_not_explained_away() -> None:
    """Where most lead to no sample at all, nothing is learnt of them."""
    fill(CACHE, ".pt", stems=[*STEMS, *(f"gone_{number}_x" for number in range(30))])

    assert look().orphans == 30


def test_a_sample_of_a_longer_name_has_its_own_entry() -> None:
    """`dog_01_flip.jpg` is a sample, too."""
    put(PHOTOS, *(f"{stem}_flip.jpg" for stem in STEMS))
    fill(CACHE, ".pt", "_flip.pt")
    (CACHE / f"{STEMS[0]}_flip.pt").unlink()

    assert look().missing_names == (f"photos/{STEMS[0]}_flip.jpg",)


@pytest.mark.parametrize(
    ("ending", "kind"),
    [
        (".pt", ".pt"),
        ("_0512x0768_sdxl.npz", "_#x#_sdxl.npz"),
        ("_3fa9c2d1.npz", "_*.npz"),
        (f"_{base64('a')}.safetensors", "_*.safetensors"),
        ("_te_outputs.npz", "_te_outputs.npz"),
        ("_facade_decade.pt", "_facade_decade.pt"),
    ],
)
def test_kinds_leave_out_what_varies(ending: str, kind: str) -> None:
    assert kind_of(ending) == kind


def test_a_name_is_parted_behind_its_first_letter() -> None:
    assert list(endings_of("a/_b-c.d_7")) == [
        ("a/_b", "-c.d_#"),
        ("a/_b-c", ".d_#"),
        ("a/_b-c.d", "_#"),
    ]


# --- one key for two, and ages --------------------------------------------------------------------


def test_latents_of_one_size_are_those_of_one_of_two_images() -> None:
    """However many other entries stand beside them."""
    put(PHOTOS, f"{STEMS[0]}.png")
    fill(CACHE, "_0512x0768_sdxl.npz", "_te_outputs.npz")
    told = look()
    put(CACHE, f"{STEMS[0]}_0640x0640_sdxl.npz")

    (one,) = told.shared_keys
    assert one.sized
    assert one.names == (f"photos/{STEMS[0]}.jpg", f"photos/{STEMS[0]}.png")
    assert look().shared == 0


def test_texts_of_one_stem_are_of_one_caption() -> None:
    """`dog.jpg` and `dog.png` have `dog.txt`, both."""
    put(PHOTOS, f"{STEMS[0]}.png")
    fill(CACHE, "_flux_te.npz")

    assert look().shared == 0


def test_texts_are_as_old_as_the_files_of_their_captions() -> None:
    """A caption that was changed is not what was encoded; an image that was is no matter."""
    fill(CACHE, "_0512x0768_sdxl.npz", "_te_outputs.npz")
    now = (PHOTOS / f"{STEMS[0]}.jpg").stat().st_mtime
    for file in CACHE.iterdir():
        os.utime(file, (now + 60, now + 60))
    os.utime(PHOTOS / f"{STEMS[3]}.txt", (now + 3_600, now + 3_600))
    os.utime(PHOTOS / f"{STEMS[4]}.jpg", (now + 3_600, now + 3_600))

    facts = look()

    assert facts.stale_names == (
        f"{STEMS[3]}_te_outputs.npz",
        f"{STEMS[4]}_0512x0768_sdxl.npz",
    )
    assert facts.dated == 40


@pytest.mark.parametrize("key", [None, "sha256(stem)"])
def test_texts_in_a_folder_of_latents_lead_back_by_their_captions(key: str | None) -> None:
    """One folder for all that SimpleTuner caches."""
    for stem in STEMS:
        latents = sha256(stem)
        text = md5(f"a photo of {stem}")
        put(CACHE, f"vae/{latents}.pt", f"text/{text}-flux.pt")
    whole = look(key)
    (CACHE / f"text/{text}-flux.pt").unlink()

    (one,) = look(key).lacked

    assert is_whole(whole)
    assert (one.kind, one.names) == ("an entry by md5(caption)", (f"photos/{STEMS[-1]}.jpg",))


def test_kinds_are_called_as_they_are_written_unless_that_varies() -> None:
    """`*_t5.pt`, and `*_*x*_sdxl.npz` where sizes differ."""
    for number, stem in enumerate(STEMS):
        put(CACHE, f"{stem}_{512 + number}x768_sdxl.npz", f"{stem}_t5.pt")
    (CACHE / f"{STEMS[0]}_t5.pt").unlink()
    (CACHE / f"{STEMS[1]}_513x768_sdxl.npz").unlink()

    assert {one.kind for one in look().lacked} == {"*_t5.pt", "*_*x*_sdxl.npz"}


@pytest.mark.parametrize("below", ["cache", "a/.cache"])
def test_images_in_a_cache_below_the_images_are_no_samples(below: str) -> None:
    """Previews of latents, for whoever looks at them."""
    fill(PHOTOS / below, ".pt", "_preview.png")

    assert is_whole(look(path=f"photos/{below}"))


def test_a_caption_that_is_not_there_has_no_text() -> None:
    """Some trainers encode nothing then; the latents of the others are asked for as ever."""
    fill(CACHE, "_0512x0768_flux.npz", "_flux_te.npz")
    (PHOTOS / f"{STEMS[0]}.txt").unlink()
    (PHOTOS / f"{STEMS[1]}.txt").write_text(" ", encoding="utf-8")
    for stem in STEMS[:3]:
        (CACHE / f"{stem}_flux_te.npz").unlink()

    (one,) = look().lacked

    assert one.names == (f"photos/{STEMS[2]}.jpg",)


def test_kinds_of_one_caption_are_kinds_as_others_are() -> None:
    """One entry for each text encoder."""
    for stem in STEMS:
        text = md5(f"a photo of {stem}")
        put(CACHE, f"{text}-clip.pt", f"{text}-t5.pt")
    whole = look()
    (CACHE / f"{text}-t5.pt").unlink()

    (one,) = look().lacked

    assert is_whole(whole)
    assert (one.kind, one.names) == ("*-t5.pt", (f"photos/{STEMS[-1]}.jpg",))


def test_hashes_in_folders_of_kinds_are_left_out_of_them() -> None:
    """Latents and texts, each in a folder of one cache."""
    for stem in STEMS:
        put(CACHE, *(f"{kind}/{stem}_{base64(stem + kind)}.pt" for kind in ("l", "t")))
    (CACHE / f"t/{STEMS[0]}_{base64(STEMS[0] + 't')}.pt").unlink()

    (one,) = look().lacked

    assert one.kind == "t/*_*.pt"


def put_in_two_folders() -> None:
    for image in PHOTOS.glob("*.jpg"):
        put(PHOTOS, f"a/{image.name}", f"b/{image.name}")
        image.unlink()


@pytest.mark.parametrize("inside", ["{kind}/{folder}", "{folder}/{kind}"])
def test_folders_of_kinds_may_hold_the_folders_of_the_samples(inside: str) -> None:
    """Or the other way round; images of one name in two folders have an entry each."""
    put_in_two_folders()
    for folder in "ab":
        for kind in ("latents", "text"):
            place = inside.format(kind=kind, folder=folder)
            fill(CACHE / place, ".pt")

    facts = look()

    assert (facts.matched, facts.missing, facts.orphans, facts.lacked) == (40, 0, 0, ())
    assert facts.shared == 0


def test_a_text_that_is_lacked_is_that_of_one_of_two_images_of_a_name() -> None:
    """`a/dog_00.jpg` has none, and `b/dog_00.jpg` has one."""
    put_in_two_folders()
    for folder in "ab":
        (PHOTOS / folder / f"{STEMS[0]}.txt").write_text("a dog", encoding="utf-8")
        for kind in ("latents", "text"):
            fill(CACHE / kind / folder, ".pt")
    (CACHE / "text" / "a" / f"{STEMS[0]}.pt").unlink()

    (one,) = look().lacked

    assert (one.kind, one.names) == ("text/*.pt", (f"photos/a/{STEMS[0]}.jpg",))


@pytest.mark.parametrize("key", [None, "stem"])
def test_endings_are_learnt_in_folders_of_kinds_too(key: str | None) -> None:
    for kind in ("clip", "t5"):
        fill(CACHE / kind, "_pooled.pt", "_hidden.pt")

    assert is_whole(look(key))
