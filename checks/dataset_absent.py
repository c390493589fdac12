"""A list of a data set names images that are not there, or is damaged itself.

What it finds
    Lists (CSV, TSV, JSON, JSON Lines, texts with a name in each line; Parquet where pyarrow is
    installed) in a folder of images, above it in the job's folder, in the folders below that hold
    little, or in one called `annotations`, `splits` or the like, of which a column names images
    that are there, and others that are not. A name is there if an image is whose path ends in it,
    so that it does not matter from where the job means it; of names without an extension, half of
    all have to be there, in the folders that they name or else in any. Lists of addresses, and of
    what is left out (`missing.txt`, `skipped.csv`) are passed over, and so are larger ones than 16
    MiB. Of a list of which less than a tenth is there, a warning says so where the folder that it
    has its images in, or that is called as it is (`val2017` of `instances_val2017.json`), holds
    no file; or where a source of the job writes out its name, and the job runs on this machine: it
    may be one of before the images were moved. `metadata.csv` and `metadata.jsonl` are read by
    sample-unpaired.

    Also such a list that is cut (JSON without an end), empty, or of which only a pointer of Git LFS
    or an HTML page is here; of JSON and JSON Lines whatever their size.

    Where lists and folders of several splits are called alike (`instances_val.json`,
    `images/val`), each list is held against its own folder, as a guess, which is a warning. An
    error where a source writes out the list's name; else a warning, as a guess, and a note
    where more are gone than there. A warning, too, where a source goes on without a file that
    is not there, and either names the list, or is imported by what is started; a note where
    another column sets those rows apart (`split = test`).

Why it matters
    A data set that is made of the list raises FileNotFoundError in a worker, in the middle of an
    epoch, when it comes to the first of them.

What to do
    Copy the images that are missing, or take their lines out of the list.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import FileList
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import counted, first_of, shown

_MANY = 0.5


@check(
    over=FileList,
    title="list of a data set that names images which are not there",
    many="lists name images that are not there, or are damaged",
    severity=Severity.ERROR,
)
def dataset_absent(facts: FileList, _job: Job) -> Iterator[Finding]:
    """Tell how many of the names of a column lead to no image."""
    column = facts.column
    if facts.damage:
        yield _damaged(facts)
    if not column.missing:
        return
    of = f" ({shown(column.name)})" if column.name else ""
    apart = f"; all of them have {shown(column.apart)}" if column.apart else ""
    there = f"in {shown(column.within)}" if column.within else "there"
    yield dataset_absent.found(
        f"{column.missing:,} of {counted(column.names, 'image')} that it names{of} "
        f"{'is' if column.missing == 1 else 'are'} not {there}: "
        f"{first_of(column.first, column.missing)}{apart}",
        at=Location(file=facts.file),
        severity=_severity(facts),
        why=_why(facts),
        fix="Copy what is missing, or take its lines out of the list."
        if column.empty or not column.others
        else "Write the list anew for where the images are now, or copy them to where it has them.",
        evidence={"missing": column.missing, "of": column.names},
        about=column.name or None,
    )


def _damaged(facts: FileList) -> Finding:
    said = f"{facts.read_by} names the list" if facts.read_by else "Where the job reads the list"
    return dataset_absent.found(
        facts.damage,
        at=Location(file=facts.file),
        severity=Severity.ERROR if facts.read_by else Severity.WARNING,
        why=f"{said}{':' if facts.read_by else ','} its reader raises before the first sample.",
        fix="Copy or make the list again.",
        about="damage",
    )


def _severity(facts: FileList) -> Severity:
    column = facts.column
    if column.others:
        return Severity.WARNING
    if column.apart or (not facts.read_by and column.missing > _MANY * column.names):
        return Severity.NOTE
    if not facts.read_by or facts.asked_by or column.stems or column.within:
        return Severity.WARNING
    return Severity.ERROR


def _why(facts: FileList) -> str:
    if facts.column.empty:
        return (
            f"{shown(facts.column.empty)} holds no file: where the job reads the list, it stops at "
            "the first."
        )
    if facts.column.others:
        here = f"; {shown(facts.column.here)} is here" if facts.column.here else ""
        return (
            f"{facts.read_by} names the list: unless the job puts another folder before these (a "
            f"guess), it stops at the first{here}."
        )
    if facts.asked_by:
        return f"{facts.asked_by} goes on where a file is not there: they may be left out there."
    named = f"{facts.read_by} names the list" if facts.read_by else "Where the job reads the list"
    if facts.column.within:
        named += " for the folder that is called as it is (a guess)"
    joint = ": " if facts.read_by else ", "
    return f"{named}{joint}a worker raises FileNotFoundError at the first that it comes to."
