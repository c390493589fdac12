"""Judges what stands in a text behind a name, or in brackets: whether it is a secret."""

from __future__ import annotations

import re

from preflight.secrets.naming import Says, is_no_word, looks_random, may_be_secret, says
from preflight.secrets.shapes import SIGNING

# Characters from which on a machine drew what stands behind an option that may be a secret's.
_DRAWN = 16


def in_query(match: re.Match[str]) -> bool:
    """Whether what a query gives to a name is one."""
    name, value = match["name"], match["secret"]
    said = Says.SECRET if name.lower().rpartition("-")[2] in SIGNING else says(name)
    return bool(said) and (may_be_secret if said is Says.SECRET else looks_random)(value)


def of_option(match: re.Match[str]) -> bool:
    """Whether the word behind an option is one."""
    said, value = says(match["name"]), match["secret"]
    if said is Says.PERHAPS:  # `--image-key caption_v2`, or the key of a service nobody knows
        return len(value) >= _DRAWN and looks_random(value)
    return bool(said) and is_no_word(value)


def in_brackets(match: re.Match[str]) -> bool:
    """Whether what a name encloses is one."""
    return says(match["name"]) is Says.SECRET and looks_random(match["secret"])


def is_secret(named: re.Match[str], behind: re.Match[str]) -> bool:
    """Whether what stands behind a name is one; in a sentence, a mere key is a sample's."""
    name, between, quoted = named["name"], named["between"].strip(), behind["quoted"]
    value = behind["bare"] if quoted is None else quoted
    if says(name) is not Says.SECRET or behind["behind"] or value == name:
        return False
    if between.endswith(","):
        return looks_random(value)
    if quoted is None and (between == ":" or value.isdigit()):
        return is_no_word(value)
    if says(name.lower()) is not Says.SECRET:  # `SORT_KEY=name`
        return is_no_word(value)
    return may_be_secret(value)
