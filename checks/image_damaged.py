"""An image that does not decode, or only in part.

What it finds
    Images, in shards and folders, that are empty, are something else (a web page, a pointer that
    Git LFS has not fetched), stop early, hold runs of zero bytes where a page was lost, or do not
    decode. By default every byte is looked at: the markers of a JPEG, the checksums of a PNG, the
    chunks of a WebP; what looks odd, and every other format, is decoded, JPEGs with libjpeg's
    warnings on, which Pillow keeps to itself. `--depth index` looks at both ends only; `--depth
    decode` decodes every image, and finds more of the changed bytes that leave the structure whole.
    A warning, not an error: images too large for Pillow, JPEGs that decode with bytes left over,
    and a GIF or TIFF of several pictures that stops behind the first; images of a format that
    nothing here decodes, under the name of another (a HEIC named `.jpg`); the `._dog.jpg` that
    macOS puts beside images, unless a source lists the folder without names that begin with a dot;
    and the few files among images that are none (`Thumbs.db`, `notes.txt`), where a data set of the
    job's takes every file of a folder. Nothing is said of a shard whose loader takes no images, and
    decodes none.

Why it matters
    Some of these raise in a worker after hours, and take the run with them; those are a warning
    where a handler of the loader drops such samples, and they are fewer than one in a hundred. The
    others are worse: Pillow opens a JPEG with a lost page without complaint, part of it gray or
    shifted, and the job trains on it in every epoch.

What to do
    Take the image again from where it came from, or leave it out, with its caption. What Git LFS
    keeps: git lfs pull.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter

from preflight.check import Foreign, check
from preflight.facts import FolderFacts, ImageDamage, ShardFacts, Undecoded
from preflight.finding import Aside, Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, lfs_pull, shown

from ._aside import PACKED
from ._handler_words import dropped

_WHY = {
    "cut": "Pillow opens it without complaint; what was behind its last byte is not in it.",
    "zeros": "Pillow opens it without complaint, and part of the picture is wrong.",
    "undecodable": "Pillow opens it without complaint, and part of the picture may be wrong.",
    "leftover": "It is often sound; but a damaged spot further up leaves the same trace.",
    "frames": "Its first picture is whole, and all that most trainers read; what goes through all "
    "of them stops there, or misses the rest without a word.",
}

_TOO_MANY_PIXELS = "Pillow raises DecompressionBombError on more than 178,956,970 pixels."
_NOT_DECODED = (
    "It was not decoded, so that nobody knows whether it is whole; a worker holds all of it."
)

_GIVES_WHAT_IS_THERE = frozenset({"JPEG image", "PNG image"})
"""Formats of which Pillow decodes a part where LOAD_TRUNCATED_IMAGES is set."""

_EVERYWHERE = frozenset({".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"})
"""Suffixes of what every Pillow decodes."""

_OUT = "{} takes it out, or the job copes with it (a guess): an epoch was run to its end."
_AGAIN = "Take it again from where it came from, or leave it out."
_DOWNLOAD = "Download the image itself: this is what Git LFS keeps in its place."
_PACK_AGAIN = "Run git lfs pull where the shard was packed, and pack it again."
_FIX = {
    "huge": "Scale it down before the run, or leave it out.",
    "leftover": "Look at it; take it again from where it came from if it is not as it should be.",
}


def _is_without(facts: ShardFacts | FolderFacts, _job: Job) -> str | None:
    if not (facts.images or facts.damaged_images or facts.more_damaged):
        return Foreign("there is no image")
    if isinstance(facts, ShardFacts) and facts.use_of_images == "left":
        return Foreign(f"{facts.taken_by} takes no images")
    return None


@check(
    over=(ShardFacts, FolderFacts),
    title="image that does not decode, or only in part",
    many="images do not decode, or only in part",
    severity=Severity.ERROR,
    skip=_is_without,
    more=attrgetter("more_damaged"),
    among=attrgetter("images"),
)
def image_damaged(facts: ShardFacts | FolderFacts, _job: Job) -> Iterator[Finding]:
    """Tell each damaged image."""
    number = sum(bool(one.raises) for one in facts.damaged_images) + facts.more_damaged
    for one in facts.damaged_images:
        use = "taken"
        if isinstance(facts, ShardFacts):
            use = facts.use_of(one.name, facts.use_of_images)
        if use == "left" or (use == "decoded" and not one.raises):
            continue  # of a picture that goes no further
        coped = _coped_with(one, facts, number)
        yield image_damaged.found(
            one.text,
            at=Location(file=facts.file, name=f"member {one.name}")
            if isinstance(facts, ShardFacts)
            else Location(file=one.name),
            severity=Severity.WARNING if _is_mild(one) or coped else Severity.ERROR,
            why=coped or _why(one),
            fix=_fix(one, in_shard=isinstance(facts, ShardFacts)),
            aside=_aside(one, facts),
            evidence={"kind": one.kind, "bytes": one.bytes},
        )
    if not isinstance(facts, ShardFacts) or facts.use_of_images in ("taken", "decoded"):
        yield from map(partial(_misnamed, facts), filter(_is_misnamed, facts.pictures.undecoded))
    if isinstance(facts, FolderFacts) and facts.left_behind:
        yield _left_behind(facts)
    if isinstance(facts, FolderFacts) and facts.foreign and facts.taken_by:
        yield _foreign(facts)


def _is_mild(one: ImageDamage) -> bool:
    return one.kind in ("huge", "leftover", "frames")


def _coped_with(one: ImageDamage, facts: ShardFacts | FolderFacts, number: int) -> str:
    """Say how a job comes past an image that raises, of so many; empty: nobody knows of a way."""
    if not (one.raises and isinstance(facts, ShardFacts)):
        return ""
    if why := dropped(facts.drops(one.name), number, facts.samples):
        return why
    return _OUT.format(facts.chosen_by) if facts.is_run_through and facts.chosen_by else ""


def _is_misnamed(one: Undecoded) -> bool:
    """Whether a name says that every Pillow opens it, where the one that is here does not."""
    return one.suffix in _EVERYWHERE


def _misnamed(facts: ShardFacts | FolderFacts, one: Undecoded) -> Finding:
    """Tell images of a format that nothing here decodes, under the name of another."""
    those = "is" if one.images == 1 else "are"
    return image_damaged.found(
        f"{one.images:,} of {counted(facts.pictures.images, 'image')} {those} {one.format} named "
        f"{one.suffix}",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why="Its name says that any Pillow opens it, so that no trainer leaves it out: the one "
        "that is here raises UnidentifiedImageError on it, in a worker.",
        fix=f"Save it as what its name says, or have the job load what decodes {one.format}.",
        about=f"{one.format} as {one.suffix}",
    )


def _foreign(facts: FolderFacts) -> Finding:
    """Tell what a source takes for an image that is none."""
    number = len(facts.foreign)
    none = "is no image" if number == 1 else "are no images"
    return image_damaged.found(
        f"holds {counted(number, 'file')} that {none}: {first_of(facts.foreign, number)}",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why=f"{facts.taken_by} takes every file of its folder, whatever it is called: if that is "
        "this one (a guess), it stops at what is no image.",
        fix="Move it out of the folder, or choose images by their suffix.",
        about="foreign",
    )


def _left_behind(facts: FolderFacts) -> Finding:
    """Tell what macOS has put beside images, and whether a source is known to take it for some."""
    them = f"{facts.listed_by} takes" if facts.listed_by else "os.listdir() and Path.glob() give"
    return image_damaged.found(
        f"holds {counted(facts.left_behind, 'file')} of macOS that are named as images, such as "
        f"{shown(facts.left_behind_name)}",
        at=Location(file=facts.file),
        severity=Severity.WARNING,
        why=f"{them} all names of a folder, these too, and Pillow raises UnidentifiedImageError on "
        "each, in a worker.",
        fix="Remove these files, which macOS has put beside what it copied; their names begin "
        "with ._",
        about="left behind",
    )


def _aside(one: ImageDamage, facts: ShardFacts | FolderFacts) -> tuple[Aside, ...]:
    """Give the file that is of no use; one that may be sound, or can be fetched, is none."""
    if one.kind in ("huge", "leftover", "not-fetched") or _is_pointer(one):
        return ()
    if isinstance(facts, ShardFacts):
        return (Aside(file=facts.file, bytes=facts.size, stays=PACKED),)
    return (Aside(file=one.name, bytes=one.bytes),)


def _is_pointer(one: ImageDamage) -> bool:
    return one.fetch is not None or (one.kind == "foreign" and "Git LFS pointer" in one.text)


def _why(one: ImageDamage) -> str | None:
    if one.kind == "huge":
        return _TOO_MANY_PIXELS if one.text.endswith(" pixels") else _NOT_DECODED
    if not one.raises:
        return _WHY.get(one.kind)
    why = f"Pillow raises {one.raises} on it, in a worker"
    if one.kind == "cut" and one.format in _GIVES_WHAT_IS_THERE:
        return f"{why}; with LOAD_TRUNCATED_IMAGES the job trains on part of it."
    return f"{why}."


def _fix(one: ImageDamage, *, in_shard: bool) -> str:
    if one.fetch is not None:
        return f"Fetch it:  {lfs_pull(one.fetch)}"
    if _is_pointer(one):
        return _PACK_AGAIN if in_shard else _DOWNLOAD
    return _FIX.get(one.kind, _AGAIN)
