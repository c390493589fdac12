"""Tells captions and samples whose names will be read otherwise than they are meant."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

from preflight.facts import Pairing, Unpaired
from preflight.finding import Finding, Location, Severity
from preflight.values.names import counted, first_of, shown

from ._unpaired_rule import Found, base_of, extension_of

NAMES = frozenset({"letters", "unicode", "double", "dots"})
"""Why a name is read otherwise than meant; the file is there."""

_FEWEST = 2


def of_many(
    found: Found, file: str, left: Sequence[Unpaired], pairing: Pairing, *, in_shard: bool
) -> Iterator[tuple[frozenset[Unpaired], Finding]]:
    """Tell names that are wrong in one way nearly everywhere as one, with those that it tells."""
    for because in sorted(NAMES):
        those = [one for one in left if one.because == because]
        if len(those) < _FEWEST or 10 * len(those) < 9 * (len(those) + pairing.whole):
            continue
        first = those[0]
        told = found(
            f"has {counted(len(those), 'image')} {_wrong(first)}, and so on",
            at=Location(file=file),
            severity=severity(first, pairing, in_shard=in_shard),
            why=_lost(first, in_shard=in_shard),
            fix=f"{_as_said(first)}, and all others alike.",
            evidence={"names": because, "samples": len(those)},
            about=f"names: {because}",
        )
        yield frozenset(those), told


def _wrong(one: Unpaired) -> str:
    if one.lacks == "key":
        return f"with dots in their names: {shown(base_of(one.name))} {_field(one)}"
    whose = "captions are" if one.lacks == "caption" else "names are"
    return f"whose {whose} not read as they are named: {_there(one)}"


def _lost(one: Unpaired, *, in_shard: bool) -> str:
    if in_shard:
        return "webdataset's to_tuple raises, or a handler drops them all without a word."
    if one.because == "double":
        extension = shown(extension_of(one.expected))
        return (
            f"Trainers (sd-scripts, OneTrainer, SimpleTuner) put .{extension} in the place of the "
            "image's extension: these captions are not read."
        )
    return "Linux takes them for other names: these captions are not read."


def severity(one: Unpaired, pairing: Pairing, *, in_shard: bool) -> Severity:
    """Say how bad a name is: where nobody said that there are captions, it is a guess."""
    sure = one.because == "dots" or pairing.rule != "auto" or (in_shard and pairing.whole)
    return Severity.ERROR if sure else Severity.WARNING


def message(one: Unpaired) -> str:
    """Say of one sample what is there, and what is read."""
    if one.lacks == "key":
        return f"is no sample of its own: it {_field(one)}"
    return f"has no {one.lacks}: {_there(one)}"


def _there(one: Unpaired) -> str:
    expected, instead = base_of(one.expected), base_of(one.instead or "")
    if one.because == "unicode":
        return (
            f"{shown(instead)} is there, its letters composed in another way (Unicode "
            f"{_form(instead)}, here {_form(base_of(one.name))}), which is another name on Linux"
        )
    return f"{shown(instead)} is there, and {shown(expected)} is what is read"


def _field(one: Unpaired) -> str:
    key, _, suffix = base_of(one.name).partition(".")
    return f"is read as {shown(suffix)} of a sample {shown(key)}, for the key ends at the first dot"


def rename(one: Unpaired) -> str:
    """Say how the file should be called."""
    return f"{_as_said(one)}{', and what belongs to it alike' if one.lacks == 'key' else ''}."


def _as_said(one: Unpaired) -> str:
    expected = base_of(one.expected)
    if one.lacks == "key":
        return f"Pack {shown(base_of(one.name))} as {shown(expected)}"
    instead = base_of(one.instead or "")
    if one.because == "unicode":
        form = _form(base_of(one.name))
        return f'Rename "{_escaped(instead)}" to "{_escaped(expected)}", which is {form}'
    return f"Rename {shown(instead)} to {shown(expected)}"


def _form(name: str) -> str:
    return "NFC" if unicodedata.is_normalized("NFC", name) else "NFD"


def _escaped(name: str) -> str:
    """Write a name so that its two spellings look different."""
    return name.encode("ascii", "backslashreplace").decode("ascii")


def of_masks(found: Found, file: str, masks: Sequence[Unpaired]) -> Finding:
    """Tell the masks in a shard that are samples of their own."""
    names, first = [base_of(one.name) for one in masks], masks[0]
    return found(
        f"has {counted(len(masks), 'sample')} that by their names are masks of others, and have no "
        f"caption: {first_of(names, len(names))}",
        at=Location(file=file),
        severity=Severity.WARNING,
        why="webdataset makes each a sample of its own: to_tuple raises, or a handler drops it.",
        fix=f"Pack {shown(base_of(first.name))} as {shown(base_of(first.expected))}, and the "
        "others alike: then each is a field of its image's sample.",
        evidence={"masks": len(masks)},
        about="masks",
    )


def of_folders(found: Found, bare: Sequence[Unpaired]) -> Iterator[Finding]:
    """Tell folders of which no image has a caption, where the images of others have."""
    folders = Counter(one.name.rpartition("/")[0] for one in bare)
    for place, count in folders.items():
        yield found(
            f"has {counted(count, 'image')} and no caption, unlike the other folders here",
            at=Location(file=place or "."),
            severity=Severity.NOTE,
            why="Where they are meant to have captions, these images are left out, or trained with "
            "an empty one; regularisation images need none.",
            fix="Write the captions, or leave it as it is where its images need none.",
            evidence={"images": count},
            about="folder",
        )
