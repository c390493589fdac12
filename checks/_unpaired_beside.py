"""Tells masks, labels and the like of which one is missing in the folder beside the images."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.facts import FolderFacts, SideFolder
from preflight.finding import Finding, Location, Severity
from preflight.values.names import counted, first_of, shown

from ._unpaired_rule import Found


def is_odd(one: SideFolder) -> bool:
    """Whether a file of it is missing, or one too many."""
    return bool(one.lacking or one.alone)


def of_side_folders(found: Found, facts: FolderFacts) -> Iterator[Finding]:
    """Tell each folder that lacks a file for some image, or has one for none."""
    for one in filter(is_odd, facts.beside):
        images = shown(one.images)
        said = []
        if one.lacking:
            of = counted(one.pairs + one.lacking, "image")
            names = first_of(one.lacking_names, one.lacking)
            said.append(f"has nothing for {one.lacking:,} of {of} of {images}: {names}")
        if one.alone:
            names = first_of(one.alone_names, one.alone)
            said.append(f"has {counted(one.alone, 'file')} for no image of {images}: {names}")
        yield found(
            "; ".join(said),
            at=Location(file=one.file),
            severity=_severity(one),
            why=_why(one),
            fix="Add what is missing, and leave out what belongs to none.",
            evidence={"pairs": one.pairs, "lacking": one.lacking, "alone": one.alone},
            about="beside",
        )


def _severity(one: SideFolder) -> Severity:
    if one.needed_by:
        return Severity.ERROR
    return Severity.NOTE if one.are_labels else Severity.WARNING


def _why(one: SideFolder) -> str:
    if one.needed_by:
        return f"{one.needed_by} raises where one is not there: the run stops at the first."
    if one.are_labels:
        return "Detectors (YOLO) take an image without labels for one without objects."
    by_order = "where both folders are listed and taken by the same index, all behind the first"
    return (
        "A guess, by the names of the folders: a worker raises FileNotFoundError; or, "
        f"{by_order} are beside another image's."
    )
