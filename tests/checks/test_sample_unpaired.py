"""sample-unpaired names each sample that lacks its image or its caption."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import preflight
from preflight.file_access.facts import Damage
from preflight.findings.finding import Finding, Location, Severity
from preflight.images.facts import FolderFacts
from preflight.pairing.facts import Captioned, Pairing, Unpaired
from preflight.pipelines.arrived import Lacking
from preflight.shards.facts import ShardFacts
from preflight.testing import ask
from tests.archives import photo, shard_facts, tarred
from tests.asking import reason

pytestmark = pytest.mark.usefixtures("at_hand")

NO_CAPTION = Unpaired(name="dog.jpg", lacks="caption", expected="dog.txt")
TO_IMAGES = "to images in preflight.toml if the job reads it"
NO_IMAGE = Unpaired(name="dog.txt", lacks="image", expected="dog.jpg")


def pairing_of(*unpaired: Unpaired, rule: str = "textfile", **more: Any) -> Pairing:
    return Pairing(rule=rule, samples=32, images=30, unpaired=unpaired, **{"captions": 30, **more})


def shard(pairing: Pairing | None, *damage: Damage) -> ShardFacts:
    return ShardFacts(file="x.tar", size=1, damage=damage, members=64, samples=32, pairing=pairing)


def folder(pairing: Pairing, **more: Any) -> FolderFacts:
    return FolderFacts(file="data", files=60, pairing=pairing, images=30, **more)


def in_shard(*unpaired: Unpaired, rule: str = "textfile") -> list[Finding]:
    return ask("sample-unpaired", shard(pairing_of(*unpaired, rule=rule)))


def in_folder(*unpaired: Unpaired, rule: str = "textfile") -> list[Finding]:
    return ask("sample-unpaired", folder(pairing_of(*unpaired, rule=rule)))


def test_pairs_are_left_alone() -> None:
    assert in_shard() == []
    assert in_folder() == []


def test_a_shard_of_which_nothing_can_be_read_is_left_to_shard_damaged() -> None:
    facts = shard(None, Damage(kind="empty", text="is empty (0 bytes)"))

    assert ask("sample-unpaired", facts) == []


def test_an_image_without_its_caption_is_found_in_a_shard() -> None:
    (finding,) = in_shard(NO_CAPTION)

    assert finding == Finding(
        check="sample-unpaired",
        severity=Severity.ERROR,
        message="has no caption: there is no dog.txt",
        at=Location(file="x.tar", name="member dog.jpg"),
        why="1 of 32 samples here: to_tuple raises at the first, or a handler drops each without a "
        "word.",
        fix="Write the caption, or leave the image out.",
        evidence={"lacks": "caption", "expected": "dog.txt"},
        fingerprint=finding.fingerprint,
    )


@pytest.mark.parametrize("of", [shard, folder], ids=["shard", "folder"])
def test_what_is_the_same_for_all_samples_is_said_in_the_same_words(
    of: Callable[[Pairing], ShardFacts | FolderFacts],
) -> None:
    """The message has the name already; the share comes first, and is that of all."""
    lacking = [
        NO_CAPTION._replace(name=f"{number}.jpg", expected=f"{number}.txt") for number in range(6)
    ]

    found = ask("sample-unpaired", of(pairing_of(*lacking, whole=26)))

    ((why, fix),) = {(one.why, one.fix) for one in found}
    assert len(found) == len(lacking)
    assert (why or "").startswith("6 of 32 samples here: ")
    assert fix == "Write the caption, or leave the image out."


def test_in_a_folder_the_file_itself_is_the_place() -> None:
    (finding,) = in_folder(NO_CAPTION._replace(name="data/dog.jpg", expected="data/dog.txt"))

    assert finding.at == Location(file="data/dog.jpg")
    assert finding.message == "has no caption: there is no dog.txt"


@pytest.mark.parametrize(
    ("one", "rule", "severity"),
    [
        (NO_CAPTION, "textfile", Severity.ERROR),
        (NO_CAPTION, "auto", Severity.WARNING),
        (NO_IMAGE, "textfile", Severity.WARNING),
    ],
    ids=["asked for", "a guess", "a text without an image"],
)
def test_in_a_folder_what_leaves_the_job_alive_is_milder(
    one: Unpaired, rule: str, severity: Severity
) -> None:
    (finding,) = in_folder(one, rule=rule)

    assert finding.severity is severity


def test_an_image_and_a_caption_of_one_name_are_two_findings() -> None:
    first, second = in_shard(NO_CAPTION, NO_IMAGE)

    assert first.fingerprint != second.fingerprint


TEXTFILE, JSON = {"rule": "textfile"}, {"rule": "json"}


@pytest.mark.parametrize(
    ("suffixes", "rule", "asks", "fix"),
    [
        (
            "jpg txt",
            {"images": ("png",)},
            'images = ["png"] asks for .png, and they are .jpg',
            (
                "Pack these again as .png; or, if the job reads .jpg too, correct preflight.toml: "
                'images = ["png", "jpg"].'
            ),
        ),
        (
            "JPEG txt",
            {"images": ("png", "webp")},
            'images = ["png", "webp"] asks for .png and .webp, and they are .jpeg',
            (
                "Pack these again as .png; or, if the job reads .jpeg too, correct preflight.toml: "
                'images = ["png", "webp", "jpeg"].'
            ),
        ),
        (
            "jpg txt",
            JSON,
            'captions = "json" asks for .json, and beside them is .txt',
            'Correct preflight.toml: captions = "textfile".',
        ),
        (
            "jpg json",
            TEXTFILE,
            'captions = "textfile" asks for .txt and .caption, and beside them is .json',
            'Correct preflight.toml: captions = "json".',
        ),
        (
            "jpg txt",
            {**TEXTFILE, "extension": "tags"},
            'caption_extension = "tags" asks for .tags, and beside them is .txt',
            'Correct preflight.toml: caption_extension = "txt".',
        ),
        (
            "jpg tags",
            JSON,
            'captions = "json" asks for .json, and beside them is .tags',
            'Correct preflight.toml: captions = "textfile" and caption_extension = "tags".',
        ),
        (
            "jpg",
            TEXTFILE,
            'captions = "textfile" asks for .txt and .caption, and none is there',
            (
                'Write the captions, or correct captions in preflight.toml ("none" where '
                "images are meant to have none)."
            ),
        ),
    ],
    ids=[
        *("images", "large letters in a shard", "json", "no json", "another extension", "tags"),
        "no captions",
    ],
)
def test_a_rule_that_fits_no_sample_is_one_finding(
    tmp_path: Path, suffixes: str, rule: dict[str, Any], asks: str, fix: str
) -> None:
    names = [f"{number}.{suffix}" for number in range(20) for suffix in suffixes.split()]

    (finding,) = ask("sample-unpaired", shard_facts(tmp_path, names, **rule))

    lacks = "that are not taken" if "images" in rule else "without a caption"
    assert (finding.message, finding.fix) == (f"has 20 images {lacks}: {asks}", fix)
    assert finding.at == Location(file="x.tar")
    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(("fitting", "findings"), [(2, 1), (3, 18)], ids=["18 of 20", "18 of 21"])
def test_a_rule_that_fits_some_samples_is_not_to_blame(
    tmp_path: Path, fitting: int, findings: int
) -> None:
    names = [f"{n}.{'png' if n < fitting else 'jpg'}" for n in range(18 + fitting)]
    names += [f"{n}.txt" for n in range(18 + fitting)]
    names.sort(key=lambda name: name.partition(".")[0])

    found = ask("sample-unpaired", shard_facts(tmp_path, names, images=("png",)))

    assert len(found) == findings
    if findings == 1:
        assert 'correct preflight.toml: images = ["png", "jpg"].' in (found[0].fix or "")


@pytest.mark.parametrize("because", ["link", "apart"])
def test_what_another_check_tells_is_left_to_it(because: str) -> None:
    assert in_shard(NO_CAPTION._replace(instead="dog.txt", because=because)) == []


def test_where_a_few_have_captions_the_others_lack_theirs_one_by_one() -> None:
    """Somebody is at work on them; the list is what is needed."""
    lacking = [NO_CAPTION._replace(name=f"{number}.jpg") for number in range(27)]
    pairing = pairing_of(*lacking, captions=3, whole=3, looks_for=("txt", "caption"))

    assert len(ask("sample-unpaired", folder(pairing))) == 27


def test_files_in_the_order_of_a_folder_stand_apart_and_lack_nothing(tmp_path: Path) -> None:
    names = [f"{number}.jpg" for number in range(8)] + [f"{number}.txt" for number in range(8)]

    assert ask("sample-unpaired", shard_facts(tmp_path, names, rule="textfile")) == []


def test_images_and_texts_in_two_folders_are_left_to_another_check(tmp_path: Path) -> None:
    names = [f"images/{n}.jpg" for n in range(8)] + [f"texts/{n}.txt" for n in range(8)]

    assert "shard-foreign" in (
        reason("sample-unpaired", shard_facts(tmp_path, names, rule="textfile")) or ""
    )


@pytest.mark.parametrize(
    ("lacking", "expected", "instead", "fix"),
    [
        (NO_IMAGE, "a.jpg", "a.jpeg", "Rename a.jpeg to a.jpg."),
        (NO_IMAGE, "a.jpg", "a.JPG", "Rename a.JPG to a.jpg."),
        (NO_IMAGE, "a.TIFF", "a.tif", "Rename a.tif to a.TIFF."),
        (NO_IMAGE, "a.png", "a.jpg", f'Add "jpg" {TO_IMAGES}; else convert it.'),
        (NO_CAPTION, "dog.json", "dog.txt", "Write the caption, or leave the image out."),
    ],
    ids=["jpeg", "large letters", "tif", "an image of another kind", "a text, and no JSON"],
)
def test_a_file_is_renamed_only_where_it_stays_what_it_is(
    lacking: Unpaired, expected: str, instead: str, fix: str
) -> None:
    one = lacking._replace(expected=expected, instead=instead, because="extension")

    assert in_shard(one)[0].fix == fix


@pytest.mark.parametrize(
    ("one", "is_guess"),
    [
        (NO_CAPTION, True),
        (NO_IMAGE, False),
        (NO_IMAGE._replace(instead="dog.jpeg", because="extension"), False),
    ],
    ids=["no caption", "no image", "an image of another extension"],
)
def test_only_what_was_judged_by_other_images_says_so(one: Unpaired, *, is_guess: bool) -> None:
    (finding,) = in_shard(one, rule="auto")

    assert ("judged by the others" in (finding.why or "")) is is_guess


@pytest.mark.parametrize("kept", [0, 1], ids=["nothing else", "something else"])
def test_a_damaged_shard_is_passed_over_where_all_is_in_doubt(kept: int) -> None:
    """What has been seen is told nevertheless."""
    seen = NO_CAPTION._replace(instead="dog.TXT", because="case")
    facts = shard(pairing_of(*[seen][:kept], held=1), Damage(kind="cut", text="ends"))

    assert (reason("sample-unpaired", facts) is None) is bool(kept)
    assert len(ask("sample-unpaired", facts)) == kept


# --- names that are read otherwise than they are meant


NOT_READ = "whose captions are not read as they are named"
KEY_ENDS = "for the key ends at the first dot"
MISNAMED = NO_CAPTION._replace(instead="dog.jpg.txt", because="double")


@pytest.mark.parametrize(
    ("one", "message", "fix"),
    [
        (
            NO_IMAGE._replace(instead="dog.jpeg", because="extension"),
            "has no image: dog.jpeg is there, and dog.jpg is what is read",
            "Rename dog.jpeg to dog.jpg.",
        ),
        (
            MISNAMED,
            "has no caption: dog.jpg.txt is there, and dog.txt is what is read",
            "Rename dog.jpg.txt to dog.txt.",
        ),
        (
            NO_CAPTION._replace(instead="Dog.txt", because="letters"),
            "has no caption: Dog.txt is there, and dog.txt is what is read",
            "Rename Dog.txt to dog.txt.",
        ),
        (
            Unpaired(
                name="a/caf\u00e9.jpg",
                lacks="caption",
                expected="a/caf\u00e9.txt",
                instead="a/cafe\u0301.txt",
                because="unicode",
            ),
            (
                "has no caption: cafe\u0301.txt is there, its letters composed in another way "
                "(Unicode NFD, here NFC), which is another name on Linux"
            ),
            'Rename "cafe\\u0301.txt" to "caf\\xe9.txt", which is NFC.',
        ),
        (
            NO_IMAGE._replace(instead="dog.v2.jpg", because="dots"),
            "has no image: dog.v2.jpg is there, and dog.jpg is what is read",
            "Rename dog.v2.jpg to dog.jpg.",
        ),
        (
            Unpaired(name="a/dog.v2.jpg", lacks="key", expected="a/dog_v2.jpg", because="dots"),
            f"is no sample of its own: it is read as v2.jpg of a sample dog, {KEY_ENDS}",
            "Pack dog.v2.jpg as dog_v2.jpg, and what belongs to it alike.",
        ),
    ],
    ids=[
        *("another extension", "jpg.txt", "large letters", "letters composed otherwise", "dots"),
        "a hidden pair",
    ],
)
def test_each_name_is_told_with_the_one_that_mends_it(
    one: Unpaired, message: str, fix: str
) -> None:
    (finding,) = in_shard(one)

    assert (finding.message, finding.fix) == (message, fix)
    assert finding.severity is Severity.ERROR


def test_in_a_folder_a_name_is_a_guess_where_nobody_asked_for_captions() -> None:
    assert in_folder(MISNAMED)[0].severity is Severity.ERROR
    assert in_folder(MISNAMED, rule="auto")[0].severity is Severity.WARNING


@pytest.mark.parametrize(
    ("names", "rule", "message", "fix", "severity"),
    [
        (
            ["#.jpg", "#.jpg.txt"],
            "auto",
            f"{NOT_READ}: 0.jpg.txt is there, and 0.txt is what is read",
            "Rename 0.jpg.txt to 0.txt",
            Severity.WARNING,
        ),
        (
            ["IMG#.jpg", "img#.txt"],
            "textfile",
            f"{NOT_READ}: img0.txt is there, and IMG0.txt is what is read",
            "Rename img0.txt to IMG0.txt",
            Severity.ERROR,
        ),
        (
            ["a_0.#.jpg", "a_0.#.txt"],
            "auto",
            f"with dots in their names: a_0.0.jpg is read as 0.jpg of a sample a_0, {KEY_ENDS}",
            "Pack a_0.0.jpg as a_0_0.jpg",
            Severity.ERROR,
        ),
    ],
    ids=["jpg.txt", "large letters", "dots"],
)
def test_names_that_are_all_wrong_in_one_way_are_one_finding(
    tmp_path: Path, names: list[str], rule: str, message: str, fix: str, severity: Severity
) -> None:
    written = [name.replace("#", str(number)) for number in range(20) for name in names]

    (finding,) = ask("sample-unpaired", shard_facts(tmp_path, written, rule=rule))

    assert finding.message == f"has 20 images {message}, and so on"
    assert finding.fix == f"{fix}, and all others alike."
    assert (finding.at, finding.severity) == (Location(file="x.tar"), severity)


def test_masks_that_are_samples_of_a_shard_are_one_hint(tmp_path: Path) -> None:
    written = [f"{n}{end}" for n in range(8) for end in (".jpg", ".txt", "-masklabel.png")]

    (finding,) = ask("sample-unpaired", shard_facts(tmp_path, written, rule="textfile"))

    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("has 8 samples that by their names are masks of others")
    assert "0-masklabel.png as 0.masklabel.png" in (finding.fix or "")


def test_a_folder_without_captions_is_one_note() -> None:
    """Regularisation images need none."""
    bare = [
        Unpaired(name=f"data/b/{n}.jpg", lacks="caption", expected="x", because="folder")
        for n in range(3)
    ]

    (finding,) = in_folder(*bare, rule="auto")

    assert (finding.at, finding.severity) == (Location(file="data/b"), Severity.NOTE)
    assert finding.message == "has 3 images and no caption, unlike the other folders here"


# --- tables


def with_table(
    table: Captioned, *unpaired: Unpaired, looks_for: tuple[str, ...] = ("jsonl/", "txt")
) -> list[Finding]:
    pairing = pairing_of(*unpaired, rule="auto", captions=3, whole=3, looks_for=looks_for)
    return ask("sample-unpaired", folder(pairing, tables=(table,)))


SOUND = Captioned(file="data/metadata.jsonl", rows=3, captioned="data/0.jpg\0data/1.jpg")
CUT = Damage(kind="json", text="line 3 is no JSON: Expecting value in column 9", line=3)


def row(name: str) -> Unpaired:
    return Unpaired(name=name, lacks="image", expected=name, because="row", table=SOUND.file)


def test_a_sound_table_is_left_alone() -> None:
    assert with_table(SOUND) == []


@pytest.mark.parametrize(
    ("looks_for", "severity"),
    [
        (("jsonl/", "txt"), Severity.ERROR),
        ((), Severity.ERROR),
        (("txt", "jsonl/"), Severity.WARNING),
    ],
    ids=["it captions the images", "nothing does", "texts do"],
)
def test_a_table_at_which_a_reader_raises_is_told_with_its_line(
    looks_for: tuple[str, ...], severity: Severity
) -> None:
    (finding,) = with_table(replace(SOUND, damage=(CUT,), damaged=3), looks_for=looks_for)

    assert finding.at == Location(file="data/metadata.jsonl", line=3)
    assert finding.message == (
        "cannot be read as a table: line 3 is no JSON: Expecting value in column 9; "
        "so are 2 more lines"
    )
    assert finding.severity is severity


def test_what_stands_behind_a_damage_is_not_said_to_be_missing() -> None:
    lacking = Unpaired(name="data/3.jpg", lacks="caption", expected="metadata.jsonl")

    (finding,) = with_table(replace(SOUND, damage=(CUT,), damaged=1), lacking)
    (alone,) = with_table(SOUND, lacking)

    assert finding.message.startswith("cannot be read as a table")
    assert alone.message == "has no caption: metadata.jsonl does not name it"
    assert alone.fix == "Add a line for it to metadata.jsonl, or leave the image out."


def test_lines_without_a_file_and_captions_without_a_text_are_warnings() -> None:
    unnamed = Damage(kind="unnamed", text="line 2 names no file", line=2)
    table = replace(SOUND, damage=(unnamed,), damaged=1, empty="data/2.jpg")

    found = with_table(table)

    assert [one.message for one in found] == [
        "has a line without a file: line 2 names no file",
        "gives 1 image no caption, or an empty one: 2.jpg",
    ]
    assert {one.severity for one in found} == {Severity.WARNING}


def test_a_row_without_its_file_is_told_at_the_table() -> None:
    (finding,) = with_table(SOUND, row("data/9.jpg"))

    assert finding.at == Location(file="data/metadata.jsonl", name="data/9.jpg")
    assert finding.message == "is named by the table, and is not there"
    assert finding.severity is Severity.ERROR


def test_a_table_away_from_its_images_is_one_finding() -> None:
    missing = [row(f"data/{n}.jpg") for n in range(20)]

    (finding,) = with_table(replace(SOUND, rows=20), *missing)

    assert finding.message == (
        "names 20 files that are not there: data/0.jpg, data/1.jpg, data/2.jpg and 17 more"
    )
    assert finding.at == Location(file="data/metadata.jsonl")


@pytest.mark.parametrize(
    ("rule", "unread", "said"),
    [
        ("table", (), 'only metadata.jsonl and metadata.csv are read (captions = "table")'),
        (
            "table",
            ("data/captions.csv",),
            'only metadata.jsonl and metadata.csv are read (captions = "table")',
        ),
        (
            "none",
            ("data/captions.csv",),
            "only metadata.jsonl and metadata.csv are read: data/captions.csv",
        ),
        ("none", (), None),
    ],
    ids=["asked for", "asked for, and there", "there", "neither"],
)
def test_tables_that_are_not_read_are_no_pass_in_silence(
    rule: str, unread: tuple[str, ...], said: str | None
) -> None:
    facts = folder(pairing_of(rule=rule, captions=0), unread_tables=unread)
    why = reason("sample-unpaired", facts)
    assert why is None if said is None else (why or "").endswith(said)
    assert ask("sample-unpaired", facts) == []


def test_tables_of_shards_are_not_read_and_it_is_said(tmp_path: Path) -> None:
    facts = shard_facts(tmp_path, ("0.jpg", "1.jpg"), rule="table")

    assert "no tables" in (reason("sample-unpaired", facts) or "")


def written(tmp_path: Path, images: int, captions: int, *, shard: bool, jsons: bool = False) -> str:
    """Write so many images, of which some have a caption; give the word for it."""
    files = {f"{number:04}.jpg": photo() for number in range(images)}
    files |= {f"{number:04}.json": b'{"width": 8}' for number in range(images if jsons else 0)}
    files |= {f"{number:04}.txt": b"a dog" for number in range(captions)}
    if shard:
        (tmp_path / "x.tar").write_bytes(tarred(sorted(files.items())))
        return "x.tar"
    (tmp_path / "data").mkdir()
    for name, content in files.items():
        (tmp_path / "data" / name).write_bytes(content)
    return "data"


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
@pytest.mark.parametrize(
    ("images", "captions", "severity", "findings"),
    [
        (30, 0, None, 0),
        (30, 30, None, 0),
        (30, 1, None, 0),
        (30, 2, Severity.NOTE, 1),
        (30, 3, Severity.WARNING, 1),
        (30, 8, Severity.ERROR, 1),
        (30, 15, Severity.ERROR, 15),
        (30, 21, Severity.ERROR, 9),
        (30, 28, Severity.WARNING, 2),
    ],
)
def test_one_rule_says_of_a_guess_how_bad_it_is_in_shards_and_folders(
    tmp_path: Path,
    images: int,
    captions: int,
    severity: Severity | None,
    findings: int,
    *,
    shard: bool,
) -> None:
    word = written(tmp_path, images, captions, shard=shard)

    report = preflight.run(word, folder=str(tmp_path), elsewhere=True, select=["sample-unpaired"])

    assert len(report.findings) == findings
    assert {one.severity for one in report.findings} == ({severity} if severity else set())


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
@pytest.mark.parametrize(
    ("captions", "severity", "findings"),
    [
        (0, None, 0),
        (30, None, 0),
        (2, Severity.NOTE, 1),
        (8, Severity.WARNING, 1),
        (14, Severity.WARNING, 1),
        (15, Severity.ERROR, 15),
        (28, Severity.WARNING, 2),
    ],
)
def test_json_beside_each_image_does_not_hide_captions_that_are_lacking(
    tmp_path: Path, captions: int, severity: Severity | None, findings: int, *, shard: bool
) -> None:
    """Tools of download write it beside each; where it holds the captions, settings say so."""
    word = written(tmp_path, 30, captions, shard=shard, jsons=True)

    report = preflight.run(word, folder=str(tmp_path), elsewhere=True, select=["sample-unpaired"])

    assert len(report.findings) == findings
    assert {one.severity for one in report.findings} == ({severity} if severity else set())
    settings = f'[[data]]\n{"shards" if shard else "path"} = "{word}"\ncaptions = "json"\n'
    (tmp_path / "preflight.toml").write_text(settings)
    meant = preflight.run(folder=str(tmp_path), elsewhere=True, select=["sample-unpaired"])
    assert meant.findings == ()


def test_folders_of_classes_stay_silent_beside_one_with_captions(tmp_path: Path) -> None:
    for place, captioned in (("cats", False), ("cows", False), ("dogs", True)):
        (tmp_path / "data" / place).mkdir(parents=True)
        for number in range(4):
            (tmp_path / "data" / place / f"{number}.jpg").write_bytes(photo())
            if captioned:
                (tmp_path / "data" / place / f"{number}.txt").write_bytes(b"a dog")

    report = preflight.run("data", folder=str(tmp_path), elsewhere=True)

    assert report.findings == ()


@pytest.mark.parametrize("shard", [True, False], ids=["shard", "folder"])
def test_what_the_settings_ask_for_is_an_error_however_few_lack_it(
    tmp_path: Path, *, shard: bool
) -> None:
    word = written(tmp_path, 30, 29, shard=shard)
    settings = f'[[data]]\npath = "{word}"\ncaptions = "textfile"\n'
    (tmp_path / "preflight.toml").write_text(settings)

    (finding,) = preflight.run(folder=str(tmp_path), elsewhere=True).findings

    assert finding.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("lacking", "instead", "how", "severity"),
    [
        (1, "", "goes-on", Severity.WARNING),
        (1, "", "raises", Severity.ERROR),
        (2, "", "goes-on", Severity.ERROR),
        (6, "caption", "goes-on", Severity.WARNING),
        (20, "caption", "goes-on", Severity.ERROR),
    ],
)
def test_what_a_loader_asks_for_is_judged_alike_whether_a_guess_knows_of_it_or_not(
    tmp_path: Path, lacking: int, instead: str, how: str, severity: Severity
) -> None:
    for field in ("txt",) if instead else ("txt", "cls"):
        each = [("jpg", field if n >= lacking else instead, "json") for n in range(20)]
        names = [f"{n:02}.{end}" for n, ends in enumerate(each) for end in ends if end]
        short = Lacking((field,), lacking, ("00",), how, f'to_tuple("jpg", "{field}")')
        facts = replace(shard_facts(tmp_path, names), taken_by="train:make", lacking=(short,))

        found = ask("sample-unpaired", facts)

        assert {one.severity for one in found} == {severity}, field
        assert all("train:make asks for it" in (one.why or "") for one in found)


@pytest.mark.parametrize(
    ("lacking", "have"), [(1, "1 of 4 samples has no"), (2, "2 of 4 samples have no")]
)
def test_how_many_lack_what_a_loader_takes_is_said_by_the_number(
    tmp_path: Path, lacking: int, have: str
) -> None:
    short = Lacking(("cls",), lacking, ("00",), "raises", 'to_tuple("jpg", "cls")')
    names = [f"{n:02}.{end}" for n in range(4) for end in ("jpg", "txt")]
    facts = replace(shard_facts(tmp_path, names), taken_by="train:make", lacking=(short,))

    assert [one.message.partition(" .")[0] for one in ask("sample-unpaired", facts)] == [have]


ADVICE = {
    "some lack it": (
        ["0.jpg", "0.txt", "1.jpg", "1.txt"],
        1,
        "Add the .cls, or have the loader ask for",
    ),
    "all lack it": (["0.jpg", "0.txt"], 1, "Have the loader ask for what is there (.jpg and .txt)"),
    "dots": (["a.0.jpg", "a.0.txt", "a.1.jpg"], 1, "Pack it again without dots in its names"),
    "files apart": (["0.jpg", "1.jpg", "0.txt", "1.txt"], 4, "Pack it again with the files of a"),
}


@pytest.mark.parametrize("name", ADVICE)
def test_what_is_advised_fits_what_the_samples_of_a_loader_lack(tmp_path: Path, name: str) -> None:
    names, lacking, advice = ADVICE[name]
    short = Lacking(("cls",), lacking, ("0",), "raises", 'to_tuple("jpg", "cls")')
    facts = replace(shard_facts(tmp_path, names), taken_by="train:make", lacking=(short,))

    (found,) = [one for one in ask("sample-unpaired", facts) if ".cls" in one.message]
    assert (found.fix or "").startswith(advice)


def test_an_image_under_a_name_of_another_kind_is_renamed(tmp_path: Path) -> None:
    """Pillow reads it by its content; what may be an image by its name is not called missing."""
    for number in range(9):
        (tmp_path / f"a{number}.jpg").write_bytes(photo())
        (tmp_path / f"a{number}.txt").write_text("a dog on a beach")
    for name in ("b.dat", "c.jpg_large", "d", "e.fits", "f.targa"):
        (tmp_path / name).write_bytes(photo())
        (tmp_path / f"{name.partition('.')[0]}.txt").write_text("a cat")
    (tmp_path / "g.txt").write_text("a cat")
    (tmp_path / "g.npy").write_bytes(b"\x93NUMPY")

    report = preflight.run(".", folder=str(tmp_path), select=["sample-unpaired"])

    assert {str(one.at.file): one.fix for one in report.findings} == {
        "b.txt": "Rename b.dat to b.jpg.",
        "c.txt": "Rename c.jpg_large to c.jpg.",
        "d.txt": "Rename d to d.jpg.",
        "g.txt": "Take the image again from where it came from, or leave the caption out.",
    }


def test_a_shard_of_json_captions_tells_each_image_once(tmp_path: Path) -> None:
    for number in range(3):
        names = [f"{number}_{at:03}" for at in range(12)]
        files = {f"{name}.jpg": photo() for name in names}
        files |= {f"{name}.json": b'{"a": 1}' for at, name in enumerate(names) if at % 3}
        (tmp_path / f"{number}.tar").write_bytes(tarred(dict(sorted(files.items()))))

    report = preflight.run(".", folder=str(tmp_path), select=["sample-unpaired"])

    assert len(report.findings) == 12
    assert len({one.at for one in report.findings}) == 12
