"""A zip archive of images that cannot be read whole, or whose labels are not of its images.

What it finds
    Zip archives of images that are named, such as the data sets of StyleGAN: an archive without its
    directory, as a copy leaves it that was cut; images in it whose bytes do not agree with their
    checksum, or that do not decode; a `dataset.json` that is no JSON, and images of which it says
    nothing, where it has labels of others. Files of macOS (`._dog.jpg`) are a warning, and names in
    `dataset.json` of which there is no image are a note.

Why it matters
    The archive is opened in each worker, and what is damaged raises there when its turn comes. A
    data set with labels raises KeyError at an image that has none.

What to do
    Make the archive again, or copy it anew; leave out of it what is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from preflight.check import check
from preflight.facts import ImageZip
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown


@check(
    over=ImageZip,
    title="zip of images that is damaged, or whose labels do not fit",
    many="places in zips of images are damaged, or have labels that do not fit",
    severity=Severity.ERROR,
    more=attrgetter("more_damaged"),
)
def image_zip(facts: ImageZip, _job: Job) -> Iterator[Finding]:
    """Tell what of an archive of images cannot be read, or has no label."""
    at = Location(file=facts.file)
    if facts.damage:
        yield image_zip.found(
            facts.damage,
            at=at,
            why="Whatever reads it raises zipfile.BadZipFile at the start.",
            fix="Copy it anew, or make it again.",
            about="archive",
        )
        return
    for one in facts.damaged:
        yield image_zip.found(
            one.text,
            at=Location(file=facts.file, name=f"member {one.name}"),
            severity=Severity.WARNING if one.kind in ("huge", "leftover") else Severity.ERROR,
            why=f"A worker stops at it: {one.raises or 'or part of the picture is wrong'}.",
            fix="Make the archive again without it, or with the whole of it.",
            evidence={"kind": one.kind, "bytes": one.bytes},
        )
    if facts.left_behind:
        yield image_zip.found(
            f"holds {counted(facts.left_behind, 'file')} of macOS that are named as images, such "
            f"as {shown(facts.left_behind_name)}",
            at=at,
            severity=Severity.WARNING,
            why="Whoever takes all images by their names takes these too, and Pillow raises "
            "UnidentifiedImageError on each.",
            fix="Make the archive again without them, whose names begin with ._",
            about="left behind",
        )
    if facts.unlabelled:
        names = first_of(facts.unlabelled_names, facts.unlabelled)
        yield image_zip.found(
            f"{facts.labels} has no label of {counted(facts.unlabelled, 'image')} of "
            f"{facts.images:,}: {names}",
            at=at,
            why="A data set that is read with labels raises KeyError at the first of them.",
            fix=f"Make the archive again with a label of each, or with none in {facts.labels}.",
            about="unlabelled",
        )
    if facts.absent:
        yield image_zip.found(
            f"{facts.labels} has labels of {counted(facts.absent, 'image')} that it does not hold: "
            f"{first_of(facts.absent_names, facts.absent)}",
            at=at,
            severity=Severity.NOTE,
            why="Nobody asks for them; they were there when the labels were written.",
            fix="Copy what is missing into it, if it is missed.",
            about="absent",
        )
