"""An image without its caption, or a caption without its image.

What it finds
    In a shard, samples (the files of one key, by webdataset's rule) that lack the caption or the
    image that the data set's rule asks for; in a folder, images without a caption file of the same
    stem, and the other way round. Also what is there and will not be read: an image whose extension
    the pipeline does not take. Where no rule was named, only where more than half of all images
    have a caption. Links in a shard are shard-unsafe, samples whose files stand apart
    shard-split-sample, images and texts in two folders shard-foreign; they are not told here again.
    Where the rule itself fits nearly nothing that is there, that is one finding. What may stand
    behind the damage of a shard is not said to be missing.

Why it matters
    webdataset's `to_tuple("jpg;png", "txt")` raises on such a sample, or drops it without a word
    where a handler goes on. Trainers that read folders leave the image out, or train on it with an
    empty caption.

What to do
    Write the missing caption, take the image again from where it came from, or rename what is
    there. Where images are meant to have none, say `captions = "none"` in preflight.toml.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from preflight.check import check
from preflight.facts import FolderFacts, Pairing, ShardFacts, Unpaired
from preflight.finding import Finding, Location, Severity
from preflight.formats.images import SAME_FORMAT
from preflight.job import Job
from preflight.names import counted, shown

_TOLD_ELSEWHERE = frozenset({"link", "apart"})
"""By shard-unsafe, and by shard-split-sample or what else has parted the files of a sample."""

_TEXTS = frozenset({"txt", "caption", "tags", "text", "cap", "prompt"})
"""Extensions of captions that are plain text, so that one can be renamed to another."""


def _is_cut_off(facts: ShardFacts | FolderFacts, _job: Job) -> str | None:
    """Say so where whatever seems to be missing may stand behind the shard's damage."""
    if not isinstance(facts, ShardFacts):
        return None
    if facts.pairing is None or (facts.pairing.held and not _told_here(facts.pairing)):
        return "the shard is damaged; see shard-damaged"
    if any(one.kind == "folders" for one in facts.oddities):
        return "images and texts lie in two folders; see shard-foreign"
    return None


@check(
    over=(ShardFacts, FolderFacts),
    title="image without its caption, or caption without its image",
    many="places where images and captions do not pair",
    severity=Severity.ERROR,
    skip=_is_cut_off,
)
def sample_unpaired(facts: ShardFacts | FolderFacts, _job: Job) -> Iterator[Finding]:
    """Tell a rule that fits nothing as one, and then each sample that lacks something."""
    pairing = facts.pairing
    if pairing is None:
        return  # nothing of the archive can be read: shard-damaged says so
    in_shard = isinstance(facts, ShardFacts)
    left = _told_here(pairing)
    for lacks in ("image", "caption"):
        failing = [one for one in left if one.lacks == lacks and one.because in _BY_RULE]
        if _is_nearly_all(failing, pairing):
            told = frozenset(failing)
            left = tuple(one for one in left if one not in told)
            yield _of_the_rule(facts.file, failing, pairing, in_shard=in_shard)
    for one in left:
        yield sample_unpaired.found(
            _message(one),
            at=Location(file=facts.file, name=f"member {one.name}")
            if in_shard
            else Location(file=one.name),
            severity=_severity(one, pairing, in_shard=in_shard),
            why=_why(one, left, pairing, in_shard=in_shard),
            fix=_fix(one),
            evidence={"lacks": one.lacks, "expected": shown(one.expected)},
            about=one.lacks,
        )


def _told_here(pairing: Pairing) -> tuple[Unpaired, ...]:
    return tuple(one for one in pairing.unpaired if one.because not in _TOLD_ELSEWHERE)


# --- the rule itself

_BY_RULE = frozenset({"", "extension", "case"})
_FEWEST = 2


def _is_nearly_all(failing: Sequence[Unpaired], pairing: Pairing) -> bool:
    """Whether so many samples fail for one reason that the rule is wrong, and not they.

    Where some have what is asked for and the others have nothing in its place, they lack it.
    """
    if len(failing) < _FEWEST or (not all(one.instead for one in failing) and pairing.whole):
        return False
    if failing[0].lacks == "image" and not pairing.takes:
        return False
    return 10 * len(failing) >= 9 * (len(failing) + pairing.whole)


def _of_the_rule(
    file: str, failing: Sequence[Unpaired], pairing: Pairing, *, in_shard: bool
) -> Finding:
    lacks = failing[0].lacks
    if lacks == "image":
        written = (_extension(one.instead or "") for one in failing)
        there = _commonest(map(str.lower, written) if in_shard else written)
        message = (
            f"has {counted(len(failing), 'image')} that {_are(failing)} not taken: images = "
            f"{_listed(pairing.takes)} asks for {_said(pairing.takes)}, and "
            f"{_they(failing)} {_said(there)}"
        )
        right = there if not pairing.whole else (*pairing.takes, *there)
        fix = f"Correct preflight.toml: images = {_listed(right)}."
    else:
        key = "caption_extension" if _is_named(pairing) else "captions"
        value = pairing.looks_for[0] if _is_named(pairing) else pairing.rule
        beside = f"beside them is {_said(pairing.beside)}" if pairing.beside else "none is there"
        message = (
            f"has {counted(len(failing), 'image')} without a caption: {key} = "
            f'"{shown(value)}" asks for {_said(pairing.looks_for)}, and {beside}'
        )
        fix = _right_captions(pairing)
    alone = "webdataset's to_tuple raises at the first, or a handler drops them all without a word."
    folder = (
        "None of these images is read."
        if lacks == "image"
        else ("All of these images are left out, or trained with an empty caption.")
    )
    return sample_unpaired.found(
        message,
        at=Location(file=file),
        why=alone if in_shard else folder,
        fix=fix,
        evidence={"lacks": lacks, "samples": len(failing)},
        about=f"rule of the {lacks}",
    )


def _is_named(pairing: Pairing) -> bool:
    """Whether the user named the extension: else the rule has its own ones."""
    return pairing.rule != "json" and pairing.looks_for != ("txt", "caption")


def _right_captions(pairing: Pairing) -> str:
    """Say what to write in preflight.toml, by what is there."""
    for extension in pairing.beside:
        if extension == "json":
            return 'Correct preflight.toml: captions = "json".'
        if extension in ("txt", "caption") and pairing.rule == "json":
            return 'Correct preflight.toml: captions = "textfile".'
        if extension.lower() in _TEXTS:
            named = f'caption_extension = "{shown(extension)}"'
            textfile = 'captions = "textfile" and ' if pairing.rule == "json" else ""
            return f"Correct preflight.toml: {textfile}{named}."
    none = '"none" where images are meant to have none'
    return f"Write the captions, or correct captions in preflight.toml ({none})."


def _commonest(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word, _ in Counter(words).most_common(4))


def _listed(extensions: Iterable[str]) -> str:
    """As a settings file has it: `["jpg", "png"]`."""
    return "[" + ", ".join(f'"{shown(one)}"' for one in dict.fromkeys(extensions)) + "]"


def _said(extensions: Sequence[str]) -> str:
    words = [f".{shown(one)}" for one in extensions]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _are(failing: Sequence[Unpaired]) -> str:
    return "is" if len(failing) == 1 else "are"


def _they(failing: Sequence[Unpaired]) -> str:
    return "it is" if len(failing) == 1 else "they are"


# --- one sample


def _message(one: Unpaired) -> str:
    expected, instead = shown(_base(one.expected)), shown(_base(one.instead or ""))
    lacks = f"has no {one.lacks}"
    if one.instead is not None:
        return f"{lacks}: {instead} is there, and {expected} is what is read"
    return f"{lacks}: there is no {expected}"


def _severity(one: Unpaired, pairing: Pairing, *, in_shard: bool) -> Severity:
    """In a folder a guess, or a text that captions nothing, leaves the job alive."""
    if in_shard or one.because:
        return Severity.ERROR
    guessed = pairing.rule == "auto" or one.lacks == "image"
    return Severity.WARNING if guessed else Severity.ERROR


def _why(one: Unpaired, all_of: Sequence[Unpaired], pairing: Pairing, *, in_shard: bool) -> str:
    share = f"{len(all_of):,} of {counted(pairing.samples, 'sample')} here"
    if pairing.rule == "auto" and one.lacks == "caption" and one.because in _BY_RULE:
        share += ", judged by the other images, most of which have one"
    if not in_shard:
        does = "is left out, or trained with an empty caption"
        if one.lacks == "image":
            does = "is passed over, and so may be an image that was meant to be there"
        return f"It {does}: {share}."
    return f"to_tuple raises here, or a handler drops the sample without a word: {share}."


def _fix(one: Unpaired) -> str:
    expected, instead = shown(_base(one.expected)), shown(_base(one.instead or ""))
    if one.instead is not None and _is_a_matter_of_names(one.expected, one.instead):
        return f"Rename {instead} to {expected}."
    if one.instead is not None and one.lacks == "image":
        there = shown(_extension(one.instead))
        return f'Add "{there}" to images in preflight.toml if the job reads it; else convert it.'
    if one.lacks == "caption":
        return f"Write {expected}, or leave the image out."
    return "Take the image again from where it came from, or leave the caption out."


def _is_a_matter_of_names(expected: str, instead: str) -> bool:
    """Whether a file of the one extension may hold what the other one says."""
    both = {_extension(expected).lower(), _extension(instead).lower()}
    return len(both) == 1 or any(both <= kind for kind in (*SAME_FORMAT, _TEXTS))


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _extension(name: str) -> str:
    return _base(name).rpartition(".")[2]
