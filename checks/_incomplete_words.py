"""Words for what `cache-incomplete` finds."""

from __future__ import annotations

import posixpath
from unicodedata import is_normalized, normalize

from preflight.facts import CacheKeys, Respelled
from preflight.finding import Location
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

# Why entries that are missing matter, and what to do about them.
LACKING = (
    (
        "Missing entries are made when the job starts, while its GPUs wait; a job that only reads "
        "the cache stops at the first of them."
    ),
    "Have the cache completed before the run, or leave these samples out.",
)
CHANGED = (
    "Somebody wrote to it meanwhile: it may be complete by now.",
    "Look again once nobody writes to it.",
)

# Prompts of its own that a job caches beside captions (SimpleTuner brings some eighty along), and
# one of how many entries they may be where these are more.
_PROMPTS = 200
_SHARE = 10


def of_spelling(facts: CacheKeys, other: Respelled, who: str) -> tuple[str, str]:
    """Say where entries are in place of where the job looks for them, and what to do."""
    if other.below:
        return _put_below(facts, other)
    said, made, fix = _spelled(other, who)
    message = (
        f"was made for {made}; {said}: by {rule_of(facts)}, the entries of "
        f"{of_all(other.samples, facts.samples)} are not found, and all are there"
    )
    return message, fix


def _spelled(other: Respelled, who: str) -> tuple[str, str, str]:
    """Say how paths are spelled now, how they were, and what to do."""
    again = "or have the cache made again."
    if other.folder is not None and other.other_folder is not None:
        said, made = shown(other.folder), shown(other.other_folder) or "paths without a folder"
        return f"{who} says {said}", made, f"Let the job, and preflight.toml, say {made}; {again}"
    if other.made.replace("\\", "/") == other.said:
        made = f"paths with backslashes, as on Windows, such as {shown(other.made)}"
        fix = f"Let the job make its keys of paths as they were written on Windows; {again}"
        return f"here it is {shown(other.said)}", made, fix
    fix = f"Call the files as they were called when it was made; {again}"
    if normalize("NFC", other.said) == normalize("NFC", other.made):
        ways = ["accents as one character (NFC)", "accents as two characters (NFD)"]
        made, said = ways if is_normalized("NFC", other.made) else reversed(ways)
        return f"the files have {said}, such as {shown(other.said)}", f"names with {made}", fix
    return f"the file is called {shown(other.said)}", shown(other.made), fix


def _put_below(facts: CacheKeys, other: Respelled) -> tuple[str, str]:
    """Say where entries lie for a folder that is spelled otherwise than its files, and what to do.

    A trainer that takes the folder's text out of the paths of its files is left with all of a path
    where the two are spelled in two ways.
    """
    said, whole = shown(other.said), shown(other.made)
    of = of_all(other.samples, facts.samples)
    if not _ends_alike(other.made, other.below or ""):
        return _in_another_folder(facts, other, of)
    spelling = f"preflight.toml says {said}" if said != whole else f"the folder is {whole}"
    message = (
        f"has the entries of {of} below {shown(other.below)}, which is the path of their data set "
        f"once more: {spelling}, and by {rule_of(facts)} they are not looked for there"
    )
    plain = whole if said != whole else "it as the job lists its files"
    fix = (
        f"Let the job, and preflight.toml, say {plain}, without ./ and doubled slashes, and move "
        f"what is below {shown(other.below)} to {shown(facts.file)}; or have the cache made again."
    )
    return message, fix


def _ends_alike(whole: str, below: str) -> bool:
    """Whether two folders are called alike, as one and its path on another machine are."""
    one, other = (posixpath.basename(text.rstrip("/")) for text in (whole, below))
    return one == other


def _in_another_folder(facts: CacheKeys, other: Respelled, of: str) -> tuple[str, str]:
    """Say where entries lie that is no part of their data set's path, as its name is."""
    below = shown(other.below)
    suffix = posixpath.splitext(facts.orphan_names[0])[1] if facts.orphan_names else ".pt"
    message = (
        f"has the entries of {of} below {below}, and by {rule_of(facts)} they are not looked for "
        "there"
    )
    fix = (
        f'Where the job does look there, say so: key = "{below}/{{key}}{shown(suffix)}"; else move '
        f"what is below {below} to {shown(facts.file)}, or have the cache made again."
    )
    return message, fix


def made_of(facts: CacheKeys) -> str:
    """Name the files of entries that are old, where the names of these do not tell."""
    if not facts.younger_names:
        return ""
    stem = posixpath.splitext(posixpath.basename(facts.younger_names[0]))[0]
    if any(stem in name for name in facts.stale_names):
        return ""
    return f", made of {first_of(facts.younger_names, facts.younger)}"


def how_far(facts: CacheKeys) -> str:
    """Name the rules that were tried, with how far each came: the furthest first."""
    if not facts.tried_led:
        return ", ".join(facts.tried)
    led = sorted(zip(facts.tried, facts.tried_led, strict=True), key=lambda one: -one[1])
    said = [f"{rule} ({most:,} of {facts.tried_of:,})" for rule, most in led if most]
    none = [rule for rule, most in led if not most]
    return ", ".join(said + [f"{', '.join(none)} (none)"] * bool(none))


def entries(number: int) -> str:
    """Count entries."""
    return counted(number, "entry", "entries")


def rule_of(facts: CacheKeys) -> str:
    """Say the rule as it stands in the settings."""
    return f'key = "{shown(facts.rule or "")}"'


def named_below(facts: CacheKeys) -> str:
    """Give a rule as a template, with the folder of the cache in it."""
    if facts.elsewhere_rule == "":
        return "key can name folders, and be a function of the job (module:function)."
    rule, folder = facts.rule or "", shown(facts.elsewhere[0])
    written = f"{folder}/{shown(rule if '{' in rule else f'{{{rule}}}.pt')}"
    return f'key = "{shown(facts.elsewhere_rule or written)}"'


def guessed(facts: CacheKeys) -> str:
    """Say that the rule is a guess, where it is one."""
    return "" if facts.was_said else f" (by {rule_of(facts)}, which is a guess)"


def of_all(number: int, total: int) -> str:
    """Count samples among all."""
    return (
        f"all {counted(total, 'sample')}"
        if number == total
        else f"{number:,} of {counted(total, 'sample')}"
    )


def is_said(facts: CacheKeys) -> bool:
    """Whether nothing more is to be said of entries without a sample.

    Of captions, those of samples that lack theirs are told beside them; the others may be prompts
    that a job has of its own: of its validation, the empty and the negative one.
    """
    few = facts.orphans <= max(_PROMPTS, facts.entries // _SHARE)
    return facts.by_caption and (few or facts.missing > 0)


def settings_of(facts: CacheKeys, job: Job) -> tuple[Location, ...]:
    """Give the line of the settings that says the rule, or the cache."""
    for key in ("key", "path"):
        file, line = job.origin(f"cache.{facts.entry}.{key}")
        if file is not None:
            return (Location(file=file, line=line),)
    return ()
