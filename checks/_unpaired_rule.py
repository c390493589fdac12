"""Says of a rule for captions or images that fits nearly nothing that it is wrong, and not they."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from preflight.facts import Pairing, Unpaired
from preflight.finding import Finding, Location
from preflight.job import Job
from preflight.pairing.rules import PLAIN, TEXTS
from preflight.values.names import counted, joined, name_of, path_below, shown

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


class SaidInFile(NamedTuple):
    """How a trainer's own file says where the captions of a folder are."""

    text: str
    """`caption_extension = ".txt"`."""

    place: Location


def said_in_file(file: str, pairing: Pairing, job: Job) -> SaidInFile | None:
    """Find what a trainer's own file says of the captions of a folder."""
    for at, one in enumerate(job.data):
        key = f"data.{at}.caption_extension"
        extension = (one.caption_extension or "").lstrip(".")
        same = one.path is not None and name_of(path_below(job.root, one.path), job.root) == file
        if same and key in job.spelled and extension in pairing.looks_for:
            there, line = job.origin(key)
            return SaidInFile(job.spelled[key], Location(file=there or file, line=line, name=file))
    return None


def of_the_rule(
    found: Found,
    file: str,
    failing: Sequence[Unpaired],
    pairing: Pairing,
    said: SaidInFile | None = None,
    *,
    in_shard: bool,
) -> Finding:
    """Tell all that fail for one reason as one, where a trainer's own file says it: there."""
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
        rule = f'{key} = "{shown(value)}"' if said is None else shown(said.text)
        message = (
            f"has {counted(len(failing), 'image')} without a caption: {rule} asks for "
            f"{_said(extensions)}, and {beside}"
        )
        fix = _right_captions(pairing) if said is None else _right_in_file(pairing, said)
    alone = "webdataset's to_tuple raises at the first, or a handler drops them all without a word."
    folder = (
        "None of these images is read."
        if lacks == "image"
        else "All of these images are left out, or trained with an empty caption."
        if said is None
        else "All of these images are trained without their captions, or the job stops at one."
    )
    return found(
        message,
        at=Location(file=file) if said is None or lacks == "image" else said.place,
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


def _right_in_file(pairing: Pairing, said: SaidInFile) -> str:
    there = next((one for one in pairing.beside if one.lower() in PLAIN), None)
    file = shown(said.place.file or "")
    if there is None:
        return f"Write the captions, or have {file} say what these images have in their place."
    if "caption_extension" in said.text:
        return f'Say caption_extension = ".{shown(there)}" in {file}.'
    return f"Rename them to {_said(pairing.looks_for[:1])}: the trainer reads no others."


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
