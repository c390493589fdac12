"""An image without its caption, or a caption without its image.

What it finds
    In a shard, samples (the files of one key, by webdataset's rule) that lack the caption or the
    image that the data set's rule asks for, or a field that a live loader takes, which overrules
    every guess; images of a shard without the caption that most of its data set have. In a folder,
    images without a caption file of the same stem, or without a line in a metadata.jsonl or
    metadata.csv, and the other way round. Also what is there and will not be read: an image whose
    extension the pipeline does not take, `img.v2.jpg` in a shard (the key ends at the first dot),
    `IMG1.jpg` beside `img1.txt`, `dog.jpg.txt`, `dog.txt.txt`. And such a table at which a reader
    raises.
    Where no rule was named, images lack a caption where half of all or more have one of one kind;
    where fewer have a text, that is one finding (a warning where JSON lies beside more of them, as
    it may hold their captions), and where none has any, nothing is said. By such a
    guess, and where a handler of a live loader goes on, what a tenth of all samples lacks is an
    error, and less a warning; so is a shard of which no image has one, which may be meant so, and
    one that has nothing of another field (`.json`, `.npz`) of most samples. Masks, regularisation
    images, caches and the files of trainers need no caption. Where a source asks whether a caption
    is there and goes on without, it is a warning.
    Links in a shard are shard-unsafe, samples whose files stand apart shard-split-sample, images
    and texts in two folders shard-foreign; they are not told here again.
    Of two folders side by side (`images`, `masks`) of which one has a file for half of the other's
    images or more, those for which it has none, and what belongs to no image: a warning, and a note
    of a detector's labels; an error where a source of the job that names the folder raises (an
    assertion, too) at an image for which it has none, and then also where it holds nothing.
    Where the rule itself fits nearly nothing that is there, that is one finding. What may stand
    behind the damage of a shard is not said to be missing. Other tables (csv, parquet) are not
    read: where they are what captions the images, the check is skipped and says so.

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
from collections.abc import Iterator, Sequence

from preflight.check import Foreign, check
from preflight.facts import DatasetCaptions, FolderFacts, Pairing, ShardFacts, Unpaired
from preflight.finding import Finding, Location, Severity
from preflight.formats.suffixes.images import SAME_FORMAT, is_image
from preflight.job import Job
from preflight.pairing.rules import PLAIN
from preflight.targets.file_types.suffixes import TABLES
from preflight.values.names import counted, first_of, shown

from . import _unpaired_beside as beside
from . import _unpaired_in_data as in_data
from . import _unpaired_names as names
from . import _unpaired_tables as tables
from ._unpaired_rule import (
    BY_RULE,
    base_of,
    extension_of,
    is_nearly_all,
    of_the_rule,
    said_in_file,
)

_TOLD_ELSEWHERE = frozenset({"link", "apart"})
"""By shard-unsafe, and by shard-split-sample or what else has parted the files of a sample."""

_TOLD_TOGETHER = frozenset({"mask", "folder", "row"})


def _is_left_out(facts: ShardFacts | FolderFacts | DatasetCaptions, _job: Job) -> str | None:
    if isinstance(facts, DatasetCaptions):
        return None
    if isinstance(facts, FolderFacts):
        return None if any(map(beside.is_odd, facts.beside)) else _tables_alone(facts)
    if facts.pairing is None or (facts.pairing.held and not _told_here(facts.pairing)):
        return "the shard is damaged; see shard-damaged"
    is_few = 2 * facts.pairing.whole > facts.pairing.samples
    if facts.decided_by and facts.all_came and facts.pairing.rule == "auto" and is_few:
        return Foreign(f"all samples come through {facts.decided_by}, which takes what it will")
    if any(one.kind == "folders" for one in facts.oddities):
        return "images and texts lie in two folders; see shard-foreign"
    if facts.pairing.rule == "table":
        return 'this version reads no tables of captions of shards (captions = "table")'
    return None


def _tables_alone(facts: FolderFacts) -> str | None:
    """Say so where the captions may stand in a table of a kind that is not read."""
    named = facts.pairing.rule != "auto" or 2 * facts.pairing.whole > facts.pairing.samples
    if (facts.pairing.looks_for and named) or any(table.damage for table in facts.tables):
        return None
    nameless = facts.nameless_tables
    if nameless and facts.pairing.rule in ("none", "auto", "table"):
        return (
            f"{first_of(nameless, len(nameless), most=1)} has no file_name, and so names no image"
        )
    reason = "of tables that may hold captions, only metadata.jsonl and metadata.csv are read"
    if facts.pairing.rule == "table":
        return f'{reason} (captions = "table")'
    if facts.pairing.rule in ("none", "auto") and facts.unread_tables:
        return f"{reason}: {first_of(facts.unread_tables, len(facts.unread_tables), most=1)}"
    return None


@check(
    over=(ShardFacts, FolderFacts, DatasetCaptions),
    title="image without its caption, or caption without its image",
    many="places where images and captions do not pair",
    severity=Severity.ERROR,
    skip=_is_left_out,
)
def sample_unpaired(
    facts: ShardFacts | FolderFacts | DatasetCaptions, job: Job
) -> Iterator[Finding]:
    """Tell what fails for one reason as one, and then each sample that lacks something."""
    found = sample_unpaired.found
    facts = in_data.to_tell(facts) if isinstance(facts, ShardFacts) else facts
    if isinstance(facts, DatasetCaptions):
        yield from in_data.by_data_set(found, facts)
        if facts.few > 1:
            yield in_data.of_a_few(found, facts.file, facts.few, facts.images, has_json=True)
    elif isinstance(facts, ShardFacts) and _is_otherwise(facts):
        yield from in_data.by_loader(found, facts)
    elif isinstance(facts, ShardFacts) and facts.lacking:
        yield from in_data.of_taken(_by_pairs(facts, job), facts)
    elif isinstance(facts, ShardFacts) and in_data.is_open(facts):
        yield from in_data.of_own_stage(_by_pairs(facts, job), facts)
    elif isinstance(facts, ShardFacts) and facts.given_whole_by:
        yield from in_data.of_whole_samples(_by_pairs(facts, job), facts)
    elif isinstance(facts, FolderFacts) and facts.asked_by and facts.pairing.rule == "auto":
        yield from in_data.of_asking(_by_pairs(facts, job), facts)
    else:
        yield from _by_pairs(facts, job)
    if isinstance(facts, FolderFacts):
        yield from beside.of_side_folders(found, facts)


def _by_pairs(facts: ShardFacts | FolderFacts, job: Job) -> Iterator[Finding]:
    pairing = facts.pairing
    if pairing is None:
        return  # nothing of the archive can be read: shard-damaged says so
    found, in_shard = sample_unpaired.found, isinstance(facts, ShardFacts)
    left = _told_here(pairing)
    together = {
        kind: [one for one in left if one.because == kind] for kind in sorted(_TOLD_TOGETHER)
    }
    left = tuple(one for one in left if one.because not in _TOLD_TOGETHER)
    if isinstance(facts, FolderFacts):
        if tables.is_cut_off(facts):
            left = tuple(one for one in left if one.expected not in TABLES)
        left = tuple(_by_its_table(one, facts) for one in left)
        yield from tables.of_tables(found, facts)
        yield from tables.of_rows(found, together["row"], facts)
    for told, finding in names.of_many(found, facts.file, left, pairing, in_shard=in_shard):
        left = tuple(one for one in left if one not in told)
        yield finding
    for lacks in ("image", "caption"):
        failing = [one for one in left if one.lacks == lacks and one.because in BY_RULE]
        if is_nearly_all(failing, pairing):
            told = frozenset(failing)
            left = tuple(one for one in left if one not in told)
            said = None if in_shard else said_in_file(facts.file, pairing, job)
            yield of_the_rule(found, facts.file, failing, pairing, said, in_shard=in_shard)
    few = _few_that_lack(left, pairing)
    for one in left:
        yield _of_one(one, left, facts, few)
    has_json = bool(pairing.looks_for)
    if pairing.few > 1 and not (in_shard and has_json):  # other shards may say what captions are
        yield in_data.of_a_few(found, facts.file, pairing.few, pairing.images, has_json=has_json)
    if together["mask"]:
        yield names.of_masks(found, facts.file, together["mask"])
    yield from names.of_folders(found, together["folder"])


def _is_otherwise(facts: ShardFacts) -> bool:
    """Whether a live loader takes other samples than those that were told by a guess."""
    told = () if facts.pairing is None else _told_here(facts.pairing)
    lacking = sum(one.samples for one in facts.lacking)
    return bool(facts.taken_by) and lacking != len(told)


def _told_here(pairing: Pairing) -> tuple[Unpaired, ...]:
    return tuple(one for one in pairing.unpaired if one.because not in _TOLD_ELSEWHERE)


# --- a few


def _few_that_lack(left: Sequence[Unpaired], pairing: Pairing) -> frozenset[str]:
    """Say of what so few samples lack theirs that it is no error where the rule is a guess."""
    counts = Counter(one.lacks for one in left if not one.because)
    mostly = 4 * pairing.whole >= pairing.images  # else most are not meant to have any
    is_tabled = bool(pairing.looks_for) and "/" in pairing.looks_for[0]  # read by imagefolder
    share = 0.5 if is_tabled else in_data.SHARE
    return frozenset(
        lacks
        for lacks, count in counts.items()
        if not mostly or share * (count + pairing.whole) > count
    )


# --- one sample


def _of_one(
    one: Unpaired, left: Sequence[Unpaired], facts: ShardFacts | FolderFacts, few: frozenset[str]
) -> Finding:
    pairing = facts.pairing
    assert pairing is not None  # noqa: S101  for the type checker
    in_shard, at = isinstance(facts, ShardFacts), Location(file=one.name)
    if in_shard:
        at = Location(file=facts.file, name=f"member {one.name}")
    message, fix, severity = _message, _fix, _severity(one, pairing, few, in_shard=in_shard)
    if one.because in names.NAMES:
        message, fix = names.message, names.rename
        severity = names.severity(one, pairing, in_shard=in_shard)
    return sample_unpaired.found(
        message(one),
        at=at,
        severity=severity,
        why=_why(one, left, pairing, in_shard=in_shard),
        fix=fix(one),
        evidence={"lacks": one.lacks, "expected": shown(one.expected)},
        about=one.lacks,
    )


def _by_its_table(one: Unpaired, facts: FolderFacts) -> Unpaired:
    """Have what no table names say which table there is."""
    if one.expected not in TABLES or not facts.tables:
        return one
    return one._replace(expected=base_of(facts.tables[0].file))


def _message(one: Unpaired) -> str:
    expected, instead = shown(base_of(one.expected)), shown(base_of(one.instead or ""))
    lacks = f"has no {one.lacks}"
    if one.expected in TABLES:
        return f"{lacks}: {expected} does not name it"
    if one.lacks == "image" and one.instead is not None and not is_image(one.instead):
        return f"has its image under another name: {instead}, and {expected} is what is read"
    if one.instead is not None:
        return f"{lacks}: {instead} is there, and {expected} is what is read"
    return f"{lacks}: there is no {expected}"


def _severity(one: Unpaired, pairing: Pairing, few: frozenset[str], *, in_shard: bool) -> Severity:
    """By what was asked for; by a guess, by how many lack it. A text too many harms no folder."""
    if one.because:
        return Severity.ERROR
    mild = one.lacks in few if pairing.rule == "auto" else False
    return Severity.WARNING if mild or (one.lacks == "image" and not in_shard) else Severity.ERROR


def _why(one: Unpaired, all_of: Sequence[Unpaired], pairing: Pairing, *, in_shard: bool) -> str:
    share = f"{len(all_of):,} of {counted(pairing.samples, 'sample')} here"
    if pairing.rule == "auto" and one.lacks == "caption" and one.because in BY_RULE:
        share += ", judged by the others: half of all images or more have one"
    if one.expected in TABLES:
        harm = "Hugging Face's imagefolder leaves them out, or raises in older versions"
    elif one.lacks == "key":
        harm = "nobody who reads an image and a caption of each sample ever sees them"
    elif in_shard:
        harm = "to_tuple raises at the first, or a handler drops each without a word"
    elif one.lacks == "image":
        harm = "they are passed over, and so may be images that were meant to be there"
    else:
        harm = "they are left out, or trained with an empty caption"
    return f"{share}: {harm}."


def _fix(one: Unpaired) -> str:
    expected, instead = shown(base_of(one.expected)), shown(base_of(one.instead or ""))
    if one.expected in TABLES:
        return f"Add a line for it to {expected}, or leave the image out."
    if one.instead is not None and _is_a_matter_of_names(one.expected, one.instead):
        return f"Rename {instead} to {expected}."
    if one.instead is not None and one.lacks == "image":
        there = shown(extension_of(one.instead))
        return f'Add "{there}" to images in preflight.toml if the job reads it; else convert it.'
    if one.lacks == "caption":
        return "Write the caption, or leave the image out."
    return "Take the image again from where it came from, or leave the caption out."


def _is_a_matter_of_names(expected: str, instead: str) -> bool:
    """Whether a file of the one extension may hold what the other one says; it may have none."""
    if expected.startswith(f"{instead}."):
        return True
    if is_image(expected) and not is_image(instead):
        return True  # known by its content
    both = {extension_of(expected).lower(), extension_of(instead).lower()}
    return len(both) == 1 or any(both <= kind for kind in (*SAME_FORMAT, PLAIN))
