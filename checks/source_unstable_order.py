"""A list that is made of a set, and then split, zipped or numbered by its order.

What it finds
    `list(set(captions))` and the like, where the list is then cut into parts, handed to something
    that splits, taken by a rank's numbers (`if i % world_size == rank`), zipped with another list,
    or numbered with `enumerate`, and nothing sorts it before; also where an attribute keeps the set
    or the list for another method, which may ask for places in it (`self.classes.index(label)`).
    Sets of numbers, as far as names tell, sets of one process that nobody counts through, and
    `sorted(set(…))` are left alone.

Why it matters
    A set of strings has another order in every process, unless PYTHONHASHSEED is set. Ranks that
    each take their part of such a list split different lists: some samples belong to nobody,
    others to several. Numbers that are given to labels or tokens in this order are others after
    the next start, while the checkpoint still holds the old ones.

What to do
    `sorted(set(…))`, or `list(dict.fromkeys(…))`, which keeps the order of the first ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.check import check
from preflight.facts import SourceFacts, UnstableOrder
from preflight.finding import Finding, Location, Severity
from preflight.job import Job
from preflight.values.names import shown

_WHY = {
    "split": "Each process, and each start, cuts it into other parts",
    "picked": "Each process, and each start, finds something else in this place",
    "zipped": "Each process, and each start, makes other pairs",
    "numbered": "Each process, and each start, gives other numbers, which a checkpoint outlives",
}


@check(
    over=SourceFacts,
    title="order of a set that decides who gets what",
    many="lists have the order of a set, and are split or numbered by it",
    severity=Severity.ERROR,
)
def source_unstable_order(facts: SourceFacts, job: Job) -> Iterator[Finding]:
    """Give each list with the first use that its order decides."""
    for number, one in enumerate(facts.flaws.orders):
        before = facts.flaws.orders[:number]
        which = sum((other.file, other.text) == (one.file, one.text) for other in before)
        yield source_unstable_order.found(
            f"`{shown(one.code)}` has the order of a set, and is {_used(one)} in "
            f"line {one.used.line}: `{shown(one.used.code)}`",
            at=Location(file=one.file, line=one.line),
            severity=_severity(one, facts),
            also=(Location(file=one.file, line=one.used.line),),
            why=_why(one, job),
            fix="Write sorted(set(…)), or list(dict.fromkeys(…)) to keep the first order.",
            workaround="PYTHONHASHSEED=0 in the environment of every rank gives all the same "
            "order.",
            evidence={"how": one.how, "by_rank": one.by_rank},
            about=f"{one.how} {which}",
            line_text=one.text,
        )


def _used(one: UnstableOrder) -> str:
    words = {"split": "split", "picked": "taken from by rank"}
    return words.get(one.how, one.how)


def _severity(one: UnstableOrder, facts: SourceFacts) -> Severity:
    is_certain = one.by_rank and one.of_text and not facts.is_folder
    return Severity.ERROR if is_certain else Severity.WARNING


def _why(one: UnstableOrder, job: Job) -> str:
    if one.by_rank:
        ranks = f"Each of the {job.launch.ranks} ranks" if job.launch.ranks > 1 else "Each rank"
        begin = f"{ranks} takes its part of another list, so that some items belong to nobody, "
        begin += "and others to several"
    else:
        begin = _WHY[one.how]
    return f"{begin}: strings in a set are ordered by PYTHONHASHSEED, which is random by default."
