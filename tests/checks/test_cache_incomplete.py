"""What `cache-incomplete` says of samples and entries that do not lead to each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import preflight
from preflight.findings.finding import Finding, Location, Severity
from preflight.keys.facts import CacheKeys, LackedKind, Respelled, SharedKey
from preflight.settings.job import Job
from preflight.testing import ask
from tests.archives import photo
from tests.asking import reason

WHOLE = CacheKeys(
    file="cache/vae",
    entry=0,
    of=("photos",),
    rule="stem",
    was_said=True,
    samples=2_392,
    entries=2_392,
    matched=2_392,
    dated=2_392,
)

OTHER = Respelled(
    samples=2_392,
    said="photos/dog.jpg",
    made="./photos/dog.jpg",
    folder="photos",
    other_folder="./photos",
)

LOST = replace(WHOLE, matched=0, missing=2_392, missing_names=("photos/a.jpg",), orphans=2_392)

PAIR = SharedKey(key="cat", samples=2, names=("photos/cat.jpg", "photos/cat.png"))

JOB = Job(origins={"cache.0.path": "preflight.toml:6", "cache.0.key": "preflight.toml:8"})


def tell(facts: CacheKeys) -> list[Finding]:
    return ask("cache-incomplete", facts, JOB)


def skip(facts: CacheKeys) -> str | None:
    return reason("cache-incomplete", facts, JOB)


@pytest.mark.parametrize(
    "facts",
    [
        WHOLE,
        replace(WHOLE, rule="md5(caption)", by_caption=True, entries=2_000, dated=0),
        replace(WHOLE, samples=0, entries=0, matched=0, dated=0),
        replace(WHOLE, samples=1_000, matched=1_000, orphans=1_392, unread=("data/7.tar",)),
        replace(WHOLE, uncaptioned=7),
    ],
    ids=["whole", "shared captions", "nothing at all", "samples that were not read", "no captions"],
)
def test_a_healthy_cache_is_left_alone(facts: CacheKeys) -> None:
    """Also where it cannot be known what an entry leads to."""
    assert tell(facts) == []


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (CacheKeys(file="cache/all.pt", is_file=True), "it is one file, and no folder of entries"),
        (replace(WHOLE, samples=0), "its data sets hold no sample"),
        (replace(WHOLE, samples=0, uncaptioned=1), "captions, and 1 sample has none"),
        (
            replace(WHOLE, entries=0, matched=0, stores=("data-0.arrow",)),
            "files such as data-0.arrow hold many entries, and are not looked into",
        ),
        (
            replace(WHOLE, rule=None, tried=("stem", "name")),
            "no rule leads from most samples to an entry; tried stem, name. Say which",
        ),
        (
            replace(
                WHOLE,
                rule=None,
                tried=("stem", "name", "md5(stem)"),
                tried_led=(3, 0, 40),
                tried_of=2_000,
            ),
            "to an entry; tried md5(stem) (40 of 2,000), stem (3 of 2,000), name (none). Say which",
        ),
    ],
)
def test_where_nothing_can_be_compared_it_says_so(facts: CacheKeys, reason: str) -> None:
    assert reason in (skip(facts) or "")


def test_what_can_be_compared_is_not_skipped() -> None:
    """Also where the cache is empty, and its rule was said."""
    assert skip(WHOLE) is None
    assert skip(replace(WHOLE, entries=0)) is None


def test_one_entry_for_two_samples_is_an_error() -> None:
    (one,) = tell(replace(WHOLE, shared=1, shared_samples=2, shared_keys=(PAIR,)))

    assert one.severity == Severity.ERROR
    assert one.message == (
        "has one entry for 2 samples: photos/cat.jpg and photos/cat.png both have the key cat"
    )
    assert one.also == (Location(file="preflight.toml", line=8),)
    assert "2 samples share 1 entry" in (one.why or "")


def test_what_tells_samples_apart_is_advised() -> None:
    """In two folders they have one name, and only the path is another."""
    apart = PAIR._replace(names=("a/cat.jpg", "b/cat.jpg"))
    told = [
        tell(replace(WHOLE, shared=1, shared_samples=2, shared_keys=(one,)))[0].fix
        for one in (PAIR, apart)
    ]

    assert [(one or "").rpartition("after ")[2] for one in told] == [
        "the whole name of a file.",
        "the whole path of a file.",
    ]


def test_more_shared_keys_are_counted() -> None:
    three = PAIR._replace(samples=3)
    (one,) = tell(replace(WHOLE, shared=8, shared_samples=17, shared_keys=(three, PAIR)))

    assert (
        "photos/cat.png and 1 more all have the key cat; so it is with 7 more keys" in one.message
    )
    assert one.evidence == {"keys": 8, "samples": 17}


def test_a_guessed_rule_is_said_to_be_one() -> None:
    """And where it does not explain all entries, the samples may have others."""
    shared = replace(WHOLE, was_said=False, shared=1, shared_samples=2, shared_keys=(PAIR,))
    (sure,) = tell(shared)
    unsure, _ = tell(replace(shared, orphans=1, orphan_names=("cat_1.pt",)))

    assert sure.message.endswith('(by key = "stem", which is a guess)')
    assert (sure.severity, unsure.severity) == (Severity.ERROR, Severity.WARNING)


def test_the_spelling_under_which_the_cache_was_made_is_told() -> None:
    """One finding for all that follows from it."""
    (one,) = tell(replace(LOST, rule="md5(path)", respelled=OTHER))

    assert one.severity == Severity.ERROR
    assert one.message == (
        'was made for ./photos; the job says photos: by key = "md5(path)", the entries of all '
        "2,392 samples are not found, and all are there"
    )
    assert (one.fix or "").startswith("Let the job, and preflight.toml, say ./photos; or have")


def test_a_spelling_of_the_file_is_told_by_one_of_them() -> None:
    other = OTHER._replace(samples=392, made="photos/dog.JPG", folder=None, other_folder=None)
    facts = replace(WHOLE, matched=1_990, missing=402, orphans=392, respelled=other)
    spelled, missing = tell(replace(facts, missing_names=("photos/a.jpg",)))

    assert "was made for photos/dog.JPG; the file is called photos/dog.jpg" in spelled.message
    assert "of 392 of 2,392 samples" in spelled.message
    assert missing.message == "lacks the entries of 10 of 2,392 samples"


def test_a_path_without_a_folder_is_said_in_words() -> None:
    (one,) = tell(replace(LOST, respelled=OTHER._replace(other_folder="", made="dog.jpg")))

    assert "was made for paths without a folder; the job says photos" in one.message


def test_entries_below_the_path_once_more_are_told_with_the_spelling() -> None:
    other = Respelled(samples=48, said="./pets", made="/data/pets", below="data/pets")
    facts = replace(LOST, samples=48, entries=48, missing=48, respelled=other)
    (one,) = tell(facts)
    (guess,) = tell(replace(facts, was_said=False))

    assert (one.severity, guess.severity) == (Severity.ERROR, Severity.WARNING)
    assert one.message == (
        "has the entries of all 48 samples below data/pets, which is the path of their data set "
        'once more: preflight.toml says ./pets, and by key = "stem" they are not looked for there'
    )
    assert one.fix == (
        "Let the job, and preflight.toml, say /data/pets, without ./ and doubled slashes, and move "
        "what is below data/pets to cache/vae; or have the cache made again."
    )


def test_a_folder_that_is_spelled_whole_is_told_to_be_spelled_as_its_files_are() -> None:
    other = Respelled(samples=48, said="/data/pets", made="/data/pets", below="data/pets")
    (one,) = tell(replace(LOST, samples=48, entries=48, missing=48, respelled=other))

    assert "once more: the folder is /data/pets, and by" in one.message
    assert (one.fix or "").startswith("Let the job, and preflight.toml, say it as the job lists")


def test_entries_in_folders_that_the_rule_does_not_name_are_a_warning() -> None:
    (one,) = tell(replace(WHOLE, elsewhere=("latents", "text")))

    assert one.severity == Severity.WARNING
    assert one.message == (
        'has its entries below latents and text, where key = "stem" does not lead: it names the '
        "cache itself, or the folder in which a sample lies below its data set"
    )
    assert one.fix == 'Where the job does look there, say so: key = "latents/{stem}.pt"'


def test_a_folder_that_is_called_as_the_data_set_is_a_note_where_no_rule_was_said() -> None:
    (one,) = tell(replace(WHOLE, elsewhere=("pets",), was_said=False))

    assert one.severity == Severity.NOTE
    assert one.message.startswith(
        "has its entries below pets, which is called as its data set, where stem (a guess) does not"
    )
    assert one.fix == 'Where the job does look there, say so: key = "pets/{stem}.pt"'


def test_where_nothing_leads_anywhere_it_is_one_warning() -> None:
    """With the rule that does fit, where one does."""
    lost = replace(LOST, orphan_names=("x.pt", "y.pt", "z.pt"))
    (plain,) = tell(lost)
    (other,) = tell(replace(lost, instead="sha256(stem)", instead_matched=2_392))

    assert plain.severity == other.severity == Severity.WARNING
    assert plain.message == (
        "has 2,392 entries, and none of 2,392 samples leads to one by "
        'key = "stem": it holds x.pt, y.pt and 2,390 more'
    )
    assert other.message.endswith("; by sha256(stem), all 2,392 samples do")
    assert 'key = "sha256(stem)"' in (other.fix or "")


def test_where_all_entries_lead_to_samples_that_need_more_the_samples_are_told() -> None:
    """Of captions of several lines, some lines have no entry."""
    (one,) = tell(replace(LOST, rule="md5(caption)", by_caption=True, orphans=0))

    assert one.message == "lacks the entries of all 2,392 samples: photos/a.jpg and 2,391 more"


def test_samples_without_an_entry_are_a_warning() -> None:
    names = ("photos/a.jpg", "photos/b.jpg")
    (one,) = tell(replace(WHOLE, matched=2_390, missing=2, missing_names=names))

    assert one.severity == Severity.WARNING
    assert one.message == ("lacks the entries of 2 of 2,392 samples: photos/a.jpg and photos/b.jpg")


TEXTS = LackedKind(
    kind="*_te_outputs.npz", have=2_389, samples=3, names=("photos/a.jpg", "photos/b.jpg")
)


@pytest.mark.parametrize(
    "lacking",
    [{"matched": 2_000, "missing": 392, "missing_names": ("a",)}, {"lacked": (TEXTS,)}],
    ids=["entries", "a kind"],
)
def test_a_cache_that_is_being_filled_is_a_note(lacking: dict[str, Any]) -> None:
    """What is missing now may be there by the time the job starts."""
    (one,) = tell(replace(WHOLE, **lacking, changed=True))

    assert one.severity == Severity.NOTE
    assert one.fix == "Look again once nobody writes to it."


def test_an_empty_cache_is_a_note() -> None:
    (one,) = tell(replace(WHOLE, entries=0, matched=0, missing=2_392))

    assert one.severity == Severity.NOTE
    assert one.message == "is empty: the entries of 2,392 samples are still to be made"


def test_an_empty_cache_of_which_nobody_says_more_is_a_note_too() -> None:
    facts = CacheKeys(file="cache/vae", is_unfilled=True)
    (one,) = tell(facts)

    assert skip(facts) is None
    assert (one.severity, one.message) == (
        Severity.NOTE,
        "is empty: all entries are still to be made",
    )


def test_an_empty_cache_whose_rule_nobody_said_is_a_note_too() -> None:
    """A job makes its entries at its first run; a shared key can be told before that."""
    empty = replace(WHOLE, rule=None, was_said=False, entries=0, matched=0)
    shared = replace(WHOLE, entries=0, matched=0, missing=2_392, shared=1, shared_keys=(PAIR,))

    assert skip(empty) is None
    assert [one.severity for one in tell(empty)] == [Severity.NOTE]
    assert [one.severity for one in tell(shared)] == [Severity.ERROR, Severity.NOTE]


def test_accents_that_are_written_in_two_ways_are_told_in_words() -> None:
    """Both look the same on a screen."""
    said, made = "photos/cafe\u0301.jpg", "photos/caf\xe9.jpg"
    other = Respelled(samples=2_392, said=said, made=made)
    (one,) = tell(replace(LOST, respelled=other))
    (back,) = tell(replace(LOST, respelled=other._replace(said=made, made=said)))

    assert one.message.startswith(
        "was made for names with accents as one character (NFC); the files have accents as two "
        "characters (NFD), such as photos/cafe"
    )
    assert "made for names with accents as two characters (NFD); the files have" in back.message


def test_paths_with_backslashes_are_told_as_those_of_windows() -> None:
    """No file can be called so here."""
    other = Respelled(samples=2_392, said="photos/a.jpg", made="photos\\a.jpg")
    (one,) = tell(replace(LOST, rule="md5(path)", respelled=other))

    assert one.message.startswith(
        "was made for paths with backslashes, as on Windows, such as photos\\a.jpg; here it is "
        "photos/a.jpg: by"
    )
    assert "Call the files" not in (one.fix or "")


def test_pairs_of_images_that_have_one_entry_by_a_guess_are_a_warning() -> None:
    """An image and its control image may be cached together on purpose."""
    pairs = replace(WHOLE, samples=60, matched=60, entries=30, dated=30, was_said=False)
    shared = replace(pairs, shared=30, shared_samples=60, shared_keys=(PAIR,))
    (guessed,) = tell(shared)
    (said,) = tell(replace(shared, was_said=True))

    assert (guessed.severity, said.severity) == (Severity.WARNING, Severity.ERROR)


def test_captions_that_may_have_a_text_before_them_are_told_how_to_say_so() -> None:
    """The most common reason why no caption leads to an entry."""
    lost = replace(LOST, rule="{md5(caption)}.pt", by_caption=True, orphan_names=("a.pt",))
    (one,) = tell(lost)

    assert "key = \"{md5('sks dog ' + caption)}.pt\"; else correct" in (one.fix or "")


def test_a_spelling_of_a_rule_that_nobody_said_is_a_warning() -> None:
    """The settings may spell the folder otherwise than the job does."""
    (one,) = tell(replace(LOST, rule="md5(path)", was_said=False, respelled=OTHER))

    assert one.severity == Severity.WARNING
    assert "as preflight.toml does" in (one.why or "")


def test_files_of_another_name_are_told() -> None:
    """A cache that was made for another model is not empty."""
    names = ("1-sdxl.pt", "2-sdxl.pt", "3-sdxl.pt")
    bare = replace(WHOLE, rule="{stem}-flux.pt", entries=0, matched=0, missing=2_392)
    (one,) = tell(replace(bare, others=3, other_names=names))

    assert one.severity == Severity.WARNING
    assert one.message == (
        'holds 3 cached files, and none is named by key = "{stem}-flux.pt": '
        "1-sdxl.pt, 2-sdxl.pt and 1 more"
    )
    assert "Correct key" in (one.fix or "")


def test_entries_without_a_sample_are_a_note_and_a_warning_where_samples_lack_theirs() -> None:
    """Where all samples have their entry, the others take room and do no harm."""
    few = replace(WHOLE, entries=2_400, orphans=8, orphan_names=("e.pt",))
    (note,) = tell(few)
    (many,) = tell(replace(few, entries=6_000, orphans=3_608))
    missing, warning = tell(replace(few, matched=300, missing=2_092, orphans=2_100))

    assert note.message == "has 8 entries of 2,400 that lead to no sample: e.pt and 7 more"
    severities = [one.severity for one in (note, many, missing, warning)]
    assert severities == [Severity.NOTE, Severity.NOTE, Severity.WARNING, Severity.WARNING]


def test_prompts_of_the_job_itself_are_no_finding() -> None:
    """SimpleTuner caches eighty validation prompts and the empty one beside twelve captions."""
    own = replace(WHOLE, by_caption=True, samples=12, matched=12, entries=94, orphans=82)
    changed = replace(own, matched=2, missing=10, missing_names=("a",), orphan_names=("b.pt",))

    assert tell(own) == []
    assert tell(replace(own, samples=9_000, matched=9_000, entries=9_900, orphans=900)) == []
    assert len(tell(replace(own, entries=1_000, orphans=988))) == 1
    (one,) = tell(changed)
    assert one.severity == Severity.WARNING
    assert one.message == (
        "lacks the entries of 10 of 12 samples: a and 9 more; 82 entries lead to no sample, as "
        "where captions were changed"
    )


@pytest.mark.parametrize(
    ("stale", "severity"),
    [(1, Severity.WARNING), (2_000, Severity.WARNING), (2_200, Severity.NOTE)],
)
def test_old_entries_are_a_warning_but_where_nearly_all_are(stale: int, severity: Severity) -> None:
    """A copy that did not keep times makes all of them old."""
    (one,) = tell(replace(WHOLE, stale=stale, stale_names=("dog.pt",), oldest=3 * 86_400.0))

    assert one.severity == severity
    assert f"by {'up to ' * (stale > 1)}3 days: dog.pt" in one.message


@pytest.mark.parametrize(
    ("entry", "end"),
    [("1f3b.pt", "1f3b.pt, made of photos/dog.jpg"), ("dog_512x512.npz", "dog_512x512.npz")],
)
def test_the_file_of_an_old_entry_is_named_where_its_own_name_does_not_tell(
    entry: str, end: str
) -> None:
    facts = replace(WHOLE, stale=1, stale_names=(entry,), oldest=60.0)
    (one,) = tell(replace(facts, younger=1, younger_names=("photos/dog.jpg",)))

    assert one.message.endswith(f": {end}")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3.5, "3 seconds"), (61, "1 minute"), (7_300, "2 hours"), (10**8, "1,157 days")],
)
def test_an_age_is_said_in_its_largest_unit(seconds: float, said: str) -> None:
    (one,) = tell(replace(WHOLE, stale=1, stale_names=("dog.pt",), oldest=seconds))

    assert f", by {said}:" in one.message


def test_each_kind_is_a_finding_of_its_own() -> None:
    facts = replace(
        WHOLE,
        matched=2_000,
        missing=392,
        missing_names=("photos/a.jpg",),
        orphans=5,
        orphan_names=("x.pt",),
        stale=1,
        stale_names=("y.pt",),
        oldest=60.0,
        shared=1,
        shared_samples=2,
        shared_keys=(PAIR,),
    )
    found = tell(facts)

    assert len(found) == len({one.fingerprint for one in found}) == 4
    assert {one.at for one in found} == {Location(file="cache/vae")}


def test_names_are_not_obeyed_by_a_console() -> None:
    odd = ("photos/\x1b[2J.jpg", "photos/\u202e.jpg")
    pair = SharedKey(key="\x1b", samples=2, names=odd)
    facts = replace(WHOLE, shared=1, shared_samples=2, shared_keys=(pair,), orphans=1)
    text = "".join(one.message for one in tell(replace(facts, orphan_names=odd[:1])))

    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_kind_that_a_few_lack_is_named_with_those_who_have_it() -> None:
    """Beside the samples that have no entry at all, which are another matter."""
    facts = replace(WHOLE, entries=4_781, missing=1, missing_names=("photos/z.jpg",))
    missing, one = tell(replace(facts, lacked=(TEXTS,), was_said=False))

    assert "photos/z.jpg" in missing.message
    assert one.severity == Severity.WARNING
    assert one.message == (
        "lacks *_te_outputs.npz for 3 samples with other entries: photos/a.jpg, photos/b.jpg and "
        '1 more; 2,389 have one (by key = "stem", which is a guess)'
    )
    assert one.evidence == {"missing": 3, "samples": 2_392, "kind": "*_te_outputs.npz"}
    assert one.fix == "Have the cache completed before the run, or leave these samples out."


def test_two_kinds_that_are_lacked_are_two_findings() -> None:
    other = TEXTS._replace(kind="*_*x*_sdxl.npz")
    found = tell(replace(WHOLE, lacked=(TEXTS, other)))

    assert len({one.fingerprint for one in found}) == len(found) == 2


def test_one_key_for_images_whose_sizes_may_differ_is_a_warning() -> None:
    """The entry of the second may only not be made yet."""
    sized = PAIR._replace(sized=True)
    (one,) = tell(replace(WHOLE, shared=1, shared_samples=2, shared_keys=(sized,)))

    assert one.severity == Severity.WARNING


def test_entries_below_the_name_of_their_data_set_are_told_with_a_rule_that_leads_there(
    tmp_path: Path,
) -> None:
    said = '[[data]]\nname = "pets"\npath = "photos"\n[[cache]]\npath = "vae"\nof = ["pets"]\n'
    for name in ("a/one", "a/two", "b/three"):
        image, entry = tmp_path / "photos" / f"{name}.jpg", tmp_path / "vae/pets" / f"{name}.npy"
        for path in (image, entry):
            path.parent.mkdir(parents=True, exist_ok=True)
        image.write_bytes(photo())
        np.save(entry, np.ones(4))
    (tmp_path / "preflight.toml").write_text(said + 'key = "stem"\n', encoding="utf-8")

    (found,) = preflight.run(folder=str(tmp_path), select=["cache-incomplete"]).findings
    rule = 'key = "pets/{key}.npy"'
    (tmp_path / "preflight.toml").write_text(f"{said}{rule}\n", encoding="utf-8")

    assert "below pets, and by" in found.message
    assert rule in (found.fix or "")
    assert preflight.run(folder=str(tmp_path), select=["cache-incomplete"]).findings == ()


@pytest.mark.parametrize("name", [".gitkeep", "x.pt.tmp", "0001.pt.part", "cache.lock"])
def test_a_cache_with_no_entry_yet_is_a_note_however_it_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / name).write_text("{}")
    typed = preflight.run("cache=cache", folder=str(tmp_path), select=["cache"])
    (tmp_path / "preflight.toml").write_text('[[cache]]\npath = "cache"\n')

    written = preflight.run(folder=str(tmp_path), select=["cache"])

    said = "is empty: all entries are still to be made"
    for report in (typed, written):
        assert [one.message for one in report.findings if one.check == "cache-incomplete"] == [said]
