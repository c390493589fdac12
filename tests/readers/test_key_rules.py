"""A rule says of every sample what its entry is called, or where it goes wrong itself."""

from __future__ import annotations

import hashlib

import pytest

from preflight.readers.key_rules import (
    AUTO,
    AUTO_CAPTIONS,
    RuleError,
    is_function,
    mistake_in,
    parse_rule,
)

DOG = {
    "stem": "dog",
    "name": "dog.jpg",
    "relative": "a/dog.jpg",
    "path": "./photos/a/dog.jpg",
    "key": "a/dog",
    "caption": "a dog, ün chien",
}


def md5(text: str) -> str:
    """As SimpleTuner does."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


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
        ("sha256(stem)", hashlib.sha256(b"dog").hexdigest()),
        ("blake2b(stem)", hashlib.blake2b(b"dog").hexdigest()),
        ("md5( sha256( stem ) )", md5(hashlib.sha256(b"dog").hexdigest())),
        ("{md5(caption)}-flux.pt", f"{md5(DOG['caption'])}-flux.pt"),
        ("latents/{stem}_{md5(path)}", f"latents/dog_{md5(DOG['path'])}"),
        ("{stem}", "dog"),
    ],
)
def test_a_rule_gives_the_key_of_a_sample(rule: str, key: str) -> None:
    """A name, a hash of one, or a template."""
    assert parse_rule(rule).make(DOG) == key


@pytest.mark.parametrize(
    ("rule", "suffix", "placed", "by_caption"),
    [
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


def test_a_template_knows_its_own_entries() -> None:
    """Those of another model in the same folder are none of its business."""
    shape = parse_rule("{md5(caption)}-flux.pt").shape

    assert shape is not None
    assert shape.fullmatch(f"{md5('a')}-flux.pt")
    assert not shape.fullmatch(f"{md5('a')}-sdxl.pt")
    assert not shape.fullmatch("notes-flux.pt")


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
        ("md5(" * 30 + "stem" + ")" * 30, "deeper than 20 functions"),
    ],
)
def test_a_mistake_is_told_with_its_place(rule: str, said: str) -> None:
    """All that is typed wrong in the settings is told before anything is looked at."""
    with pytest.raises(RuleError) as told:
        parse_rule(rule)

    assert said in str(told.value)
    assert mistake_in(rule) == str(told.value)


@pytest.mark.parametrize("rule", ["stem", "train:key", "tools/keys.py:key", "{stem}:{name}"])
def test_what_means_something_is_no_mistake(rule: str) -> None:
    """A function of the user's is looked for later."""
    assert mistake_in(rule) is None


def test_a_part_of_a_function_is_a_mistake() -> None:
    """Which part of which call it would be, nobody can say."""
    assert "without a part" in (mistake_in("train:keys['a']") or "")


def test_functions_are_told_from_rules() -> None:
    """By their colon."""
    assert is_function("train:key")
    assert is_function("tools/keys.py:key")
    assert not any(map(is_function, (*AUTO, *AUTO_CAPTIONS, "{stem}:{name}.pt")))


@pytest.mark.parametrize("rule", [*AUTO, *AUTO_CAPTIONS])
def test_what_is_tried_by_itself_means_something(rule: str) -> None:
    """Each rule of the list is one."""
    assert parse_rule(rule).make(DOG)
