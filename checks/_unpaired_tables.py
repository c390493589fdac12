"""Tells what is wrong with the tables (metadata.jsonl, metadata.csv) that caption images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from preflight.facts import Captioned, Damage, FolderFacts, Pairing, Unpaired
from preflight.finding import Finding, Location, Severity
from preflight.values.names import counted, first_of, shown

from ._unpaired_rule import Found

_FEWEST = 10

_FIXES = {
    "encoding": "Save it as UTF-8.",
    "form": "Save it as UTF-8, without packing it.",
    "commas": "Save it with commas between the values.",
    "quote": "Close the quote, or take it out.",
    "fields": "Put a value that has a comma in it in double quotes.",
    "empty": "Write a line for each image, or take the table away.",
    "outside": "Move the file below the table's folder, and name it relative to that.",
    "file_name": "Let file_name be the path of the image, relative to the table's folder.",
    "type": "Let it be of one type in all lines.",
    "unnamed": "Add its file_name, or take the line out.",
}


def is_beside(pairing: Pairing) -> bool:
    """Whether most images have captions of another kind, so that the table may be a leftover."""
    return pairing.rule == "auto" and bool(pairing.looks_for) and "/" not in pairing.looks_for[0]


def is_cut_off(facts: FolderFacts) -> bool:
    """Whether lines could not be read, so that what they name is not known."""
    return any(one.kind != "unnamed" for table in facts.tables for one in table.damage)


def of_tables(found: Found, facts: FolderFacts) -> Iterator[Finding]:
    """Tell each table that cannot be read to its end, and the captions that are empty in it."""
    graver = Severity.WARNING if is_beside(facts.pairing) else Severity.ERROR
    for table in facts.tables:
        raising = [one for one in table.damage if one.kind != "unnamed"]
        unnamed = [one for one in table.damage if one.kind == "unnamed"]
        if raising:
            yield _damaged(found, table, raising, graver)
        if unnamed:
            yield _unnamed(found, table, unnamed[0])
        if table.captioned and table.empty:
            yield _empty(found, table)


def _damaged(
    found: Found, table: Captioned, damage: Sequence[Damage], severity: Severity
) -> Finding:
    first = damage[0]
    more = table.damaged - 1
    others = f"; so {'is' if more == 1 else 'are'} {counted(more, 'more line')}" if more else ""
    return found(
        f"cannot be read as a table: {first.text}{others}",
        at=Location(file=table.file, line=first.line),
        severity=severity,
        why="Hugging Face's imagefolder reads it line by line, and raises here.",
        fix=_FIXES.get(first.kind, "Mend the line, or write the table again."),
        evidence={"lines": table.damaged, "rows": table.rows, "kind": first.kind},
        about="table",
    )


def _unnamed(found: Found, table: Captioned, damage: Damage) -> Finding:
    return found(
        f"has a line without a file: {damage.text}",
        at=Location(file=table.file, line=damage.line),
        severity=Severity.WARNING,
        why="Hugging Face's imagefolder gives None for its image.",
        fix=_FIXES["unnamed"],
        evidence={"lines": table.damaged, "rows": table.rows},
        about="unnamed",
    )


def _empty(found: Found, table: Captioned) -> Finding:
    folder = table.file.rpartition("/")[0]
    names = [name.removeprefix(f"{folder}/") for name in table.empty.split("\0")]
    return found(
        f"gives {counted(len(names), 'image')} no caption, or an empty one: "
        f"{first_of(names, len(names))}",
        at=Location(file=table.file),
        severity=Severity.WARNING,
        why="Training scripts raise where it is null, and train without a text where it is empty.",
        fix="Write these captions, or take the lines out.",
        evidence={"empty": len(names), "rows": table.rows},
        about="empty",
    )


def of_rows(found: Found, missing: Sequence[Unpaired], facts: FolderFacts) -> Iterator[Finding]:
    """Tell the files that tables name and that are not there: one by one, or nearly all as one."""
    severity = Severity.WARNING if is_beside(facts.pairing) else Severity.ERROR
    why = "Hugging Face's imagefolder raises FileNotFoundError when it comes to "
    lacking = Counter(one.table for one in missing)
    rows = {table.file: table.rows for table in facts.tables}
    whole = {
        file
        for file, count in lacking.items()
        if count >= _FEWEST and 10 * count >= 9 * rows.get(file or "", 0)
    }
    for file in sorted(one or "" for one in whole):
        names = [one.name for one in missing if one.table == file]
        yield found(
            f"names {counted(len(names), 'file')} that {'are' if len(names) > 1 else 'is'} not "
            f"there: {first_of(names, len(names))}",
            at=Location(file=file),
            severity=severity,
            why=f"{why}the first.",
            fix="Put the table beside its images, or correct the names in it.",
            evidence={"missing": len(names), "rows": rows.get(file, 0)},
            about="rows",
        )
    for one in missing:
        if one.table not in whole:
            yield found(
                "is named by the table, and is not there",
                at=Location(file=one.table, name=one.name),
                severity=severity,
                why=f"{why}it.",
                fix="Put the file there, or take its line out.",
                evidence={"lacks": "image", "expected": shown(one.expected)},
                about="row",
            )
