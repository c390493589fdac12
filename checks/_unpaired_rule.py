"""Says of a rule for captions or images that fits nearly nothing that it is wrong, and not they."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from preflight.facts import Pairing, Unpaired
from preflight.finding import Finding, Location
from preflight.pairing.rules import PLAIN, TEXTS
from preflight.values.names import counted, joined, shown

Found: TypeAlias = Callable[..., Finding]

BY_RULE = frozenset({"", "extension", "case"})
_FEWEST = 2


def is_nearly_all(failing: Sequence[Unpaired], pairing: Pairing) -> bool:
    """Whether so many samples fail for one reason that the rule is wrong, and not they.

    Where some have what is asked for and the others have nothing in its place, they lack it.
    """
    if len(failing) < _FEWEST or (not all(one.instead for one in failing) and pairing.whole):
        return False
    if failing[0].lacks == "image" and not pairing.takes:
        return False
    return 10 * len(failing) >= 9 * (len(failing) + pairing.whole)


def of_the_rule(
    found: Found, file: str, failing: Sequence[Unpaired], pairing: Pairing, *, in_shard: bool
) -> Finding:
    """Tell all that fail for one reason as one."""
    lacks = failing[0].lacks
    if lacks == "image":
        written = (extension_of(one.instead or "") for one in failing)
        counts = Counter(map(str.lower, written) if in_shard else written)
        there = tuple(word for word, _ in counts.most_common(4))
        message = (
            f"has {counted(len(failing), 'image')} that are not taken: images = "
            f"{_listed(pairing.takes)} asks for {_said(pairing.takes)}, and they are {_said(there)}"
        )
        if in_shard:
            both = _listed((*pairing.takes, *there))
            fix = (
                f"Pack these again as {_said(pairing.takes[:1])}; or, if the job reads "
                f"{_said(there)} too, correct preflight.toml: images = {both}."
            )
        else:
            right = there if not pairing.whole else (*pairing.takes, *there)
            fix = f"Correct preflight.toml: images = {_listed(right)}."
    else:
        key = "caption_extension" if _is_named(pairing) else "captions"
        value = pairing.looks_for[0] if _is_named(pairing) else pairing.rule
        beside = f"beside them is {_said(pairing.beside)}" if pairing.beside else "none is there"
        extensions = [one for one in pairing.looks_for if "/" not in one]  # a table is no such file
        message = (
            f"has {counted(len(failing), 'image')} without a caption: {key} = "
            f'"{shown(value)}" asks for {_said(extensions)}, and {beside}'
        )
        fix = _right_captions(pairing)
    alone = "webdataset's to_tuple raises at the first, or a handler drops them all without a word."
    folder = (
        "None of these images is read."
        if lacks == "image"
        else ("All of these images are left out, or trained with an empty caption.")
    )
    return found(
        message,
        at=Location(file=file),
        why=alone if in_shard else folder,
        fix=fix,
        evidence={"lacks": lacks, "samples": len(failing)},
        about=f"rule of the {lacks}",
    )


def _is_named(pairing: Pairing) -> bool:
    """Whether the user named the extension: else the rule has its own ones."""
    return pairing.rule != "json" and pairing.looks_for != TEXTS


def _right_captions(pairing: Pairing) -> str:
    for extension in pairing.beside:
        if extension == "json":
            return 'Correct preflight.toml: captions = "json".'
        if extension in TEXTS and pairing.rule == "json":
            return 'Correct preflight.toml: captions = "textfile".'
        if extension.lower() in PLAIN:
            named = f'caption_extension = "{shown(extension)}"'
            textfile = 'captions = "textfile" and ' if pairing.rule == "json" else ""
            return f"Correct preflight.toml: {textfile}{named}."
    none = '"none" where images are meant to have none'
    return f"Write the captions, or correct captions in preflight.toml ({none})."


def _listed(extensions: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{shown(one)}"' for one in dict.fromkeys(extensions)) + "]"


def _said(extensions: Sequence[str]) -> str:
    return joined([f".{shown(one)}" for one in extensions])


def base_of(name: str) -> str:
    """Give a name without its folders."""
    return name.rpartition("/")[2]


def extension_of(name: str) -> str:
    """Give what stands behind the last dot of a name."""
    return base_of(name).rpartition(".")[2]
