"""A rule says of every sample what its entry is called, or where it goes wrong itself."""

from __future__ import annotations

import hashlib

import pytest

from preflight.settings.key_rule import (
    AUTO,
    AUTO_CAPTIONS,
    RuleError,
    mistake_in,
    parse_rule,
)
from preflight.values.code_name import is_code_name
from tests.files import md5, sha256

DOG = {
    "stem": "dog",
    "name": "dog.jpg",
    "relative": "a/dog.jpg",
    "path": "./photos/a/dog.jpg",
    "absolute": "/data/photos/a/dog.jpg",
    "key": "a/dog",
    "caption": "a dog, ün chien",
    "dataset": "my-photos",
}


@pytest.mark.parametrize(
    ("rule", "key"),
    [
        ("stem", "dog"),
        (" stem ", "dog"),
        ("name", "dog.jpg"),
        ("relative", "a/dog.jpg"),
        ("path", "./photos/a/dog.jpg"),
        ("key", "a/dog"),
        ("md5(caption)", md5(DOG["caption"])),
        ("sha1(stem)", hashlib.sha1(b"dog", usedforsecurity=False).hexdigest()),
        ("sha256(stem)", sha256("dog")),
        ("blake2b(stem)", hashlib.blake2b(b"dog").hexdigest()),
        ("md5( sha256( stem ) )", md5(sha256("dog"))),
        ("{md5(caption)}-flux.pt", f"{md5(DOG['caption'])}-flux.pt"),
        ("latents/{stem}_{md5(path)}", f"latents/dog_{md5(DOG['path'])}"),
        ("{stem}", "dog"),
        ("absolute", "/data/photos/a/dog.jpg"),
        ("md5('sks dog ' + caption)", md5("sks dog " + DOG["caption"])),
        ("{md5('sks dog ' + caption)}-flux.pt", f"{md5('sks dog ' + DOG['caption'])}-flux.pt"),
        ('{ md5( caption + ", 4k" ) }.pt', f"{md5(DOG['caption'] + ', 4k')}.pt"),
        ("md5(dataset + ':' + relative)", md5("my-photos:a/dog.jpg")),
        ("md5('it' + \"'\" + 's')", md5("it's")),
        ("md5('{a} }{' + stem)", md5("{a} }{dog")),
        ("{md5('}' + stem)}.pt", f"{md5('}dog')}.pt"),
        ("sha256(path)[:16]", sha256(DOG["path"])[:16]),
        ("{md5(caption)[:8]}-{stem}.pt", f"{md5(DOG['caption'])[:8]}-dog.pt"),
        ("md5(sha256(stem)[ : 10 ])", md5(sha256("dog")[:10])),
        ("{stem + '_0'}.pt", "dog_0.pt"),
        ("stem + '_' + caption", f"dog_{DOG['caption']}"),
    ],
)
def test_a_rule_gives_the_key_of_a_sample(rule: str, key: str) -> None:
    assert parse_rule(rule).make(DOG) == key


@pytest.mark.parametrize(
    ("rule", "suffix", "placed", "by_caption"),
    [
        ("md5('a/b' + absolute)", None, False, False),
        ("'text/' + stem", None, True, False),
        ("md5('x ' + caption)[:9]", None, False, True),
        ("stem", None, False, False),
        ("relative", None, True, False),
        ("md5(relative)", None, False, False),
        ("{md5(caption)}-flux.pt", ".pt", False, True),
        ("{md5(caption)}-flux", None, False, True),
        ("text/{stem}.safetensors", ".safetensors", True, False),
    ],
)
def test_a_rule_says_how_much_of_the_name_it_settles(
    rule: str,
    suffix: str | None,
    placed: bool,  # noqa: FBT001  a column of the table
    by_caption: bool,  # noqa: FBT001  a column of the table
) -> None:
    """An expression stands for the stem of an entry, whatever its suffix and folder."""
    found = parse_rule(rule)

    assert (found.suffix, found.placed, found.by_caption) == (suffix, placed, by_caption)


@pytest.mark.parametrize(
    ("rule", "own", "others"),
    [
        ("{md5(caption)}-flux.pt", f"{md5('a')}-flux.pt", [f"{md5('a')}-sdxl.pt", "notes-flux.pt"]),
        ("{md5('x' + caption)[:8]}_{stem}.pt", "0123abcd_dog.pt", ["0123abcdef_dog.pt"]),
    ],
)
def test_a_template_knows_its_own_entries(rule: str, own: str, others: list[str]) -> None:
    """Those of another model in the same folder are none of its business."""
    shape = parse_rule(rule).shape

    assert shape is not None
    assert shape.fullmatch(own)
    assert not any(map(shape.fullmatch, others))


@pytest.mark.parametrize(
    ("rule", "is_shared"),
    [
        ("md5(caption)", True),
        ("{md5('a photo of sks dog')}-flux.pt", True),
        ("md5(dataset)", True),
        ("md5(dataset + stem)", False),
        ("stem", False),
    ],
)
def test_a_rule_says_whether_samples_share_an_entry_on_purpose(
    rule: str,
    is_shared: bool,  # noqa: FBT001  a column of the table
) -> None:
    """Those of one caption do, and all where one prompt is trained on for all."""
    assert parse_rule(rule).is_shared == is_shared


def test_bytes_of_a_name_that_are_no_text_are_hashed_as_they_are() -> None:
    """As a trainer hashes them with os.fsencode."""
    key = parse_rule("md5(name)").make({"name": "caf\udce9.jpg"})

    assert key == hashlib.md5(b"caf\xe9.jpg", usedforsecurity=False).hexdigest()


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("", "at character 1 a name is expected, and nothing stands there"),
        ("md5(captoin)", "at character 5 there is no name captoin; did you mean caption?"),
        ("md6(stem)", "at character 1 there is no function md6; did you mean md5?"),
        ("md5(stem", "at character 9 a ) is missing"),
        ("md5()", "at character 5 a name is expected, and ')' stands there"),
        ("stem.pt", "at character 5 belongs to no expression; in a template"),
        ("{stem", "at character 6 a } is missing"),
        ("stem}", "at character 5 no brace is open"),
        ("{}.pt", "at character 2 a name is expected, and '}.pt' stands there"),
        ("md5('a ' + )", "at character 12 a name is expected, and ')' stands there"),
        ("md5('a + caption)", "at character 5 a text begins that has no end: ' is missing"),
        ("md5('a' caption)", "at character 9 a ) is missing"),
        ("md5(stem)[3:]", "at character 10 [:N] is expected, with N from 1 to 32"),
        ("{sha1(stem)[:41]}", "at character 12 [:N] is expected, with N from 1 to 40"),
        ("md5(stem)[:0]", "with N from 1 to 32"),
        ("{md5(path)", "at character 11 a } is missing"),
        ("md5(" * 30 + "stem" + ")" * 30, "deeper than 20 functions"),
    ],
)
def test_a_mistake_is_told_with_its_place(rule: str, said: str) -> None:
    """All that is typed wrong in the settings is told before anything is looked at."""
    with pytest.raises(RuleError) as told:
        parse_rule(rule)

    assert said in str(told.value)
    assert mistake_in(rule) == str(told.value)


@pytest.mark.parametrize(
    "rule", ["stem", "train:key", "tools/keys.py:key", "{stem}:{name}", "md5('a:' + stem)"]
)
def test_what_means_something_is_no_mistake(rule: str) -> None:
    """A function of the user's is looked for later."""
    assert mistake_in(rule) is None


def test_a_part_of_a_function_is_a_mistake() -> None:
    """Which part of which call it would be, nobody can say."""
    assert "without a part" in (mistake_in("train:keys['a']") or "")


def test_functions_are_told_from_rules() -> None:
    assert is_code_name("train:key")
    assert is_code_name("tools/keys.py:key")
    assert not any(map(is_code_name, (*AUTO, *AUTO_CAPTIONS, "{stem}:{name}.pt")))
    assert not any(
        map(is_code_name, ("md5('a:' + stem)", "md5(dataset + ':' + relative)", "'a:b'"))
    )


@pytest.mark.parametrize("rule", [*AUTO, *AUTO_CAPTIONS])
def test_what_is_tried_by_itself_means_something(rule: str) -> None:
    assert parse_rule(rule).make(DOG)
