"""What samples are made of, and how long their captions are, is told in bounded memory."""

from __future__ import annotations

import gzip
from array import array
from collections import Counter
from pathlib import Path

import pytest

from preflight.pairing.facts import CaptionLengths, Length
from preflight.pairing.rules import Groups
from preflight.shards.facts import Field, FieldSet, SampleFields, ShardFacts
from preflight.shards.fields import MOST, FieldCounts, fields_of
from preflight.values.wire import from_wire, to_brief
from tests.archives import photo, samples, shard_facts, tarred

Files = list[tuple[str, bytes]]


def read(
    folder: Path,
    files: Files | dict[str, bytes] | bytes,
    depth: str = "bytes",
    **captions: str,
) -> ShardFacts:
    """Read files as a shard; it is the same when it has travelled."""
    content = files if isinstance(files, bytes) else tarred(files)
    facts = shard_facts(folder, content, depth, **captions)
    assert from_wire(ShardFacts, to_brief(facts)) == facts
    return facts


MIXED: Files = [
    ("a/1.jpg", photo()),
    ("a/1.txt", b"a dog"),
    ("a/1.seg.png", photo("PNG")),
    ("a/2.JPG", photo()),
    ("a/2.txt", b"a"),
    ("a/3.jpg", photo()),
    ("a/4.cls", b"7"),
    ("a/4.txt", b"a bird"),
]


@pytest.mark.parametrize("depth", ["index", "bytes", "decode"])
def test_fields_are_counted_as_webdataset_calls_them(tmp_path: Path, depth: str) -> None:
    jpeg, png = len(photo()), len(photo("PNG"))
    assert read(tmp_path, MIXED, depth).fields == SampleFields(
        fields=(
            Field("cls", 1, 1, 1, 1, ("a/4.cls",), ("a/4.cls",)),
            Field("jpg", 3, 3 * jpeg, jpeg, jpeg, *[("a/1.jpg", "a/2.JPG", "a/3.jpg")] * 2),
            Field("seg.png", 1, png, png, png, *[("a/1.seg.png",)] * 2),
            Field("txt", 3, 12, 1, 6, ("a/2.txt",), ("a/4.txt",)),
        ),
        sets=(
            FieldSet(("cls", "txt"), 1),
            FieldSet(("jpg",), 1),
            FieldSet(("jpg", "seg.png", "txt"), 1),
            FieldSet(("jpg", "txt"), 1),
        ),
    )


def test_a_shard_without_samples_has_no_fields(tmp_path: Path) -> None:
    for files in ({}, {"__meta__/a.jpg": b"x"}, {"README": b"x"}):
        facts = read(tmp_path, files)
        assert (facts.fields, facts.captions) == (SampleFields(), CaptionLengths())
        assert facts.pictures.images == 0


def test_the_sample_that_damage_breaks_is_not_counted(tmp_path: Path) -> None:
    whole = tarred(samples(4))
    facts = read(tmp_path, whole[: 3 * 2560 + 700])

    assert facts.samples == 3
    assert facts.fields.sets == (FieldSet(("jpg", "txt"), 3),)


@pytest.mark.parametrize("number", [1, 3, 200, 2_000])
def test_however_samples_are_mixed_each_file_is_counted_once(number: int) -> None:
    """Against a count of one file after the other."""
    kinds = [("jpg", "txt"), ("jpg",), ("jpg", "JPG", "cls"), ("png", "txt")]
    made_of = [kinds[place * place % 4 if place % 9 else 0] for place in range(number)]
    groups = Groups([f"{place:05}" for place in range(number)], made_of)
    files = [suffix.lower() for suffixes in made_of for suffix in suffixes]
    contents = array("Q", [place * 7_919 % 10_007 for place in range(len(files) + 2)])

    told = fields_of(groups, contents)

    for one in told.fields:
        sizes = [size for name, size in zip(files, contents, strict=False) if name == one.name]
        assert one[1:5] == (len(sizes), sum(sizes), min(sizes), max(sizes))
    assert sum(one.files for one in told.fields) == len(files)
    sets = Counter(tuple(sorted({name.lower() for name in one})) for one in made_of)
    assert {one.fields: one.samples for one in told.sets} == sets


def test_a_name_each_is_bounded_and_nothing_is_lost() -> None:
    number = 3_000
    made_of = [(f"{place % 1_500:04}",) for place in range(number)]
    groups = Groups([f"{place}" for place in range(number)], made_of)

    told = fields_of(groups, array("Q", range(number)))

    assert [one.name for one in told.fields] == [f"{place:04}" for place in range(MOST)]
    assert sum(one.files for one in told.fields) + told.more_fields == number
    assert sum(one.samples for one in told.sets) + told.more_sets == number
    again = FieldCounts()
    again.add(told)
    again.add(told)
    assert again.told().more_sets == 2 * told.more_sets
    assert again.told().fields[0].files == 2 * told.fields[0].files


CAPTIONS: Files = [
    ("1.txt", b"  a dog \n"),
    ("2.txt", "ein Bär, schön".encode()),
    ("3.txt", b" \n"),
    ("4.txt", b"caf\xe9"),
    ("5.txt", b""),
    ("6.txt", b"x" * 20_000),
    ("7.jpg.txt", b"not what webdataset would read as txt"),
    ("8.json", b'{"text": "not parsed"}'),
]


@pytest.mark.parametrize("depth", ["bytes", "decode"])
@pytest.mark.parametrize("packed", [False, True])
def test_captions_are_measured_in_characters(tmp_path: Path, depth: str, *, packed: bool) -> None:
    content = tarred(CAPTIONS)
    found = read(tmp_path, gzip.compress(content) if packed else content, depth).captions

    assert (found.captions, found.empty, found.unread, found.others) == (6, 2, 0, 0)
    assert found.bytes == sum(len(text) for name, text in CAPTIONS[:6])
    assert (found.undecodable, found.undecodable_names) == (1, ("4.txt",))
    assert found.longest == Length(20_000, 1, ("6.txt",))
    assert found.shortest == Length(0, 2, ("3.txt", "5.txt"))
    assert found.lengths[1:3] == (Length(14, 1, ("2.txt",)), Length(5, 1, ("1.txt",)))


def test_at_the_index_no_caption_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, CAPTIONS, "index").captions == CaptionLengths()


@pytest.mark.parametrize(
    ("rule", "captions"),
    [
        ({"rule": "none"}, 0),
        ({"rule": "json"}, 0),
        ({"rule": "textfile"}, 6),
        ({"rule": "textfile", "extension": ".cap"}, 0),
        ({"rule": "auto", "extension": ".json"}, 0),
    ],
)
def test_what_is_a_caption_is_what_the_settings_say(
    tmp_path: Path, rule: dict[str, str], captions: int
) -> None:
    assert read(tmp_path, CAPTIONS, **rule).captions.captions == captions


def test_a_text_of_more_than_a_megabyte_is_not_read(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.txt": b"x" * ((1 << 20) + 1), "b.txt": b"a dog"}).captions

    assert (found.captions, found.unread) == (1, 1)


def test_a_hundred_thousand_lengths_are_bounded(tmp_path: Path) -> None:
    files = {f"{place:05}.txt": b"x" * (place % 1_500) for place in range(3_000)}
    found = read(tmp_path, files).captions

    assert len(found.lengths) == 1_010
    assert sum(one.captions for one in found.lengths) + found.others == found.captions == 3_000
    assert found.longest == Length(1_499, 2, ("01499.txt", "02999.txt"))
    assert found.shortest == Length(0, 2, ("00000.txt", "01500.txt"))
