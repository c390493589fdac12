"""Judges what stands in a text behind a name, or in brackets: whether it is a secret."""

from __future__ import annotations

import re
from typing import NamedTuple

from preflight.secrets.naming import (
    Says,
    is_about,
    is_bare,
    is_no_word,
    is_of_data,
    is_variable,
    looks_random,
    may_be_secret,
    says,
)
from preflight.secrets.shapes import IN_BRACKETS, OPENS, SIGNING

# Characters in brackets that are looked through.
_LONGEST = 2_000

# Characters from which on a machine drew what stands behind `--key`, and behind `--image-key`.
_BARE, _OF_DATA = 12, 16


# Around `('name', 'value')`.
_PAIR = ("('", '("')
_ENDS = re.compile(r"[\"']?\)")

_ENTRY = re.compile(r"[ \t]*(?:-[ \t]+)?[\w.-]{1,80}:(?:[ \t].*)?")
"""Of a mapping in YAML."""

# Characters of the text around it in which its neighbours are looked for.
_LINE = 200


def in_query(match: re.Match[str]) -> bool:
    """Whether what a query, or an element of XML, gives to a name is one."""
    name, value = match["name"], match["secret"]
    said = Says.SECRET if name.lower().rpartition("-")[2] in SIGNING else says(name)
    return bool(said) and (may_be_secret if said is Says.SECRET else looks_random)(value)


def of_option(match: re.Match[str]) -> bool:
    """Whether the word behind an option is one."""
    said, value = says(match["name"]), match["secret"]
    if said is Says.PERHAPS:  # `--image-key caption_v2`, or the key of a service nobody knows
        least = _OF_DATA if is_of_data(match["name"]) else _BARE if is_bare(match["name"]) else 0
        return looks_random(value) and len(value) >= least
    return bool(said) and is_no_word(value)


def in_brackets(match: re.Match[str]) -> bool:
    """Whether what a name encloses is one."""
    return says(match["name"]) is Says.SECRET and looks_random(match["secret"])


def is_secret(named: re.Match[str], behind: re.Match[str]) -> bool:
    """Whether what stands behind a name is one; in a sentence, a mere key is a sample's."""
    name, between, quoted = named["name"], named["between"].strip(), behind["quoted"]
    value = behind["bare"] if quoted is None else quoted
    if not says(name) or behind["behind"] or value == name:
        return False
    if says(name) is Says.PERHAPS:
        is_known = quoted is not None and not (is_bare(name) or is_of_data(name))
        return is_known and looks_random(value)
    if between.endswith(",") and named[0].startswith("--"):  # an option in a list of words
        return is_no_word(value)
    if between.endswith(","):
        is_pair = named.string[: named.start()].endswith(_PAIR) and _ENDS.match(
            named.string, behind.end()
        )
        is_name = is_about(value) or _names_one(value)
        return looks_random(value) or bool(is_pair and not is_name and may_be_secret(value))
    if quoted is None and (between == ":" or value.isdigit()):
        return is_no_word(value) or (_is_entry(named, behind) and may_be_secret(value))
    if says(name.lower()) is not Says.SECRET:  # `SORT_KEY=name`
        return is_no_word(value)
    return may_be_secret(value)


def _is_entry(named: re.Match[str], behind: re.Match[str]) -> bool:
    """Whether it is an entry of YAML that has others beside it, and no word of a sentence."""
    before = named.string[max(0, named.start() - _LINE) : named.start()].split("\n")
    after = named.string[behind.end() : behind.end() + _LINE].split("\n")
    if before[-1].strip() not in ("", "-") or after[0].strip():
        return False
    return any(map(_ENTRY.fullmatch, (*before[-2:-1], *after[1:2])))


def _names_one(text: str) -> bool:
    """Whether a text is the name of a variable that holds one: `os.environ["API_KEY"]`."""
    return is_variable(text) and bool(says(text))


class InBrackets(NamedTuple):
    """What a name holds in brackets that must not be told."""

    places: tuple[tuple[int, int], ...] = ()
    end: int = 0
    """How far all texts were judged."""


def held_behind(text: str, named: re.Match[str]) -> InBrackets:
    """Find the texts that a name holds in brackets: `{'tokens': ['…', '…']}`.

    What stands there under a key of its own that tells of a secret (`user`) is none.
    """
    said, opened = says(named["name"]), OPENS.match(text, named.end())
    if opened is None or not said:
        return InBrackets()
    if opened["called"] and says(opened["called"]) is not Says.SECRET:
        return InBrackets()  # which `in_brackets` judges
    is_one = may_be_secret if said is Says.SECRET else looks_random
    depth, key, end, places = 1, "", opened.end(), []
    for one in IN_BRACKETS.finditer(text, opened.end(), opened.end() + _LONGEST):
        end = one.end()
        if one["bracket"]:
            depth += 1 if one["bracket"] in "([{" else -1
            if not depth:
                break
        elif one["key"] is not None:
            key = one["key"]
        else:
            is_name = is_about(key) or _names_one(one["text"])
            places += [] if is_name or not is_one(one["text"]) else [one.span("text")]
            key = ""
    return InBrackets(tuple(places), end if said is Says.SECRET else 0)
