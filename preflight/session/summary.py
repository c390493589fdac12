"""What a report says of the run itself: what each word was taken for, settings, versions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from preflight.findings.check import Check
from preflight.findings.judge import Judged
from preflight.findings.registry import fits
from preflight.findings.report import NOT_LOOKED_AT, Named, Outcome, Recalled, Setting
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import kind_of_facts, kinds_of
from preflight.kinds.target import Target
from preflight.session.counts import by_row, may_come_of
from preflight.session.look import Looks
from preflight.settings.job import NOTES, UNREAD, Job
from preflight.targets.targets import Missing
from preflight.targets.words.discover import Discovered
from preflight.values.names import counted, many_of
from preflight.values.version import __version__
from preflight.values.wire import to_wire

PARTS = ("data", "cache", "loader", "model", "script")


def words(facts: type) -> str:
    """Say what facts of a type are about, for people."""
    row = kind_of_facts(facts)
    return facts.__name__ if row is None else row.facts[facts]


def is_of_job(
    checks: Mapping[str, Check],
    looked: Iterable[type],
    *,
    outcomes: Iterable[Outcome] = (),
    select: Iterable[str] = (),
) -> bool:
    """Whether anything of the job was judged: the host alone is not, unless only that was asked.

    Nor is that the job's code makes what it names, unless the check that says so was selected.
    """
    rows = [kind_of_facts(one) for one in looked]
    if any(row is None or row.of_job for row in rows):
        return True
    made = [one.id for one in outcomes if one.looked_at and _is_of_code(checks[one.id])]
    if any(fits(word, check_id) for word in select for check_id in made):
        return True
    asked = [one for one in checks.values() if not one.always]
    of_machine = {facts for row in rows if row is not None and row.machine for facts in row.facts}
    return bool(of_machine) and all(not of_machine.isdisjoint(one.over) for one in asked)


def _is_of_code(check: Check) -> bool:
    rows = map(kind_of_facts, check.over)
    return any(row is not None and row.runs_code for row in rows)


def not_judged(found: Discovered, looks: Looks) -> tuple[str, ...]:
    """Name the parts of a job that nobody was asked to look at."""
    known = {"data"} if looks.counts.divided(found.datasets) else set[str]()
    for _, target in found.pairs:
        if target in looks.counts.asked:
            rows = _rows(target, looks)
            known |= {one.part for one in rows if one.target or looks.counts.beside[one.part]}
    parts = [part for part in PARTS if part not in known]
    return (*parts, *(() if "data" in parts else looks.not_judged))


def _rows(target: Target, looks: Looks) -> Iterable[Kind]:
    """Give the rows that a target stands for; of the user's code, those of which facts came."""
    return {*kinds_of(type(target)), *(looks.counts.gave[target] or may_come_of(target))}


def named(found: Discovered, looks: Looks) -> tuple[Named, ...]:
    """Say what each word was taken for, and what was seen of it."""
    groups: dict[tuple[str, str], list[Target]] = {}
    for word, target in found.pairs:
        groups.setdefault((word, word_of(target, looks)), []).append(target)
    counted_with: dict[Target, str] = {}
    divided = looks.counts.divided(found.datasets)
    found_as = []
    for (word, kind), targets in groups.items():
        others = {counted_with.setdefault(one, word) for one in targets if _is_shared(one)} - {word}
        again = len(others) == 1 and all(map(_is_shared, targets))
        own = [one for one in divided if one.is_made_of(targets)]
        text = f"counted with {others.pop()}" if again else _seen_of(targets, own, looks)
        found_as.append(Named(word=word, kind=kind, text=text))
    return tuple(found_as)


def _is_shared(target: Target) -> bool:
    """Whether several words that lead to it are told of one another."""
    return any(one.part == "cache" for one in kinds_of(type(target)))


def word_of(target: Target, looks: Looks) -> str:
    """Say the word for a target; what the user's code makes is known once it is made."""
    rows = kinds_of(type(target))
    if rows[0].part == rows[0].word:
        return rows[0].word
    came = {one.word for one in looks.counts.gave[target] if one.word}
    return came.pop() if len(came) == 1 else rows[0].word


def _seen_of(targets: list[Target], divided: Iterable[Target], looks: Looks) -> str:
    """Say it of what a word names, and of data sets that it makes up."""
    if all(isinstance(target, Missing) for target in targets):
        gaps = sum(1 + one.more for one in targets if isinstance(one, Missing) and one.pattern)
        return f"{counted(gaps, 'shard')} not there" if gaps else "not there"
    rows = [row for target in targets for row in kinds_of(type(target))]
    if not any(one in looks.counts.asked for one in targets) and not any(
        row.always for row in rows
    ):
        rest = "what is in it was not read" if divided else NOT_LOOKED_AT
        said = looks.counts.remarks(divided)
        return ", ".join([*said, f"{rest}: no selected check is about it"])
    counter = looks.counts.of(targets)
    seen = [one for row, those in by_row(targets) for one in looks.counts.shares(row, those)]
    if counter.total():
        depth = looks.job.look.depth
        seen += dict.fromkeys(row.depths[depth] for row in rows if depth in row.depths)
    return ", ".join([*seen, *looks.counts.remarks(dict.fromkeys((*targets, *divided)))])


def recalled(looks: Looks) -> tuple[Recalled, ...]:
    """Say which files were not read again, and how old what is known of them is."""
    memory = looks.memory
    if memory.oldest is None:
        return ()
    age = round(max(0.0, time.time() - memory.oldest), 3)
    return tuple(
        Recalled(noun=noun, count=count, of=memory.asked[noun], age=age)
        for noun, count in memory.known.items()
        if count
    )


def left_out(judged: Judged) -> Iterable[str]:
    """Say how much was not looked at, and why: a GO holds for the rest alone."""
    for (noun, reason), count in judged.left.items():
        yield f"{counted(count, noun + ' was', many_of(noun) + ' were')} not looked at: {reason}."


def left_running(processes: tuple[str, ...]) -> Iterable[str]:
    """Say what the user's code has started, and is running still."""
    if processes:
        them = "process" if len(processes) == 1 else "processes"
        yield (
            f"Your code has started {them} {', '.join(processes)}, which preflight could not end: "
            "look at what still runs."
        )


def interpreter(job: Job, targets: Iterable[Target]) -> Iterable[str]:
    """Name the interpreter that ran the user's code, and warn where another one is active."""
    if not any(row.runs_code for target in targets for row in kinds_of(type(target))):
        return
    if job.python is not None:
        yield f"Your code was run by {job.python}."
        return
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = os.environ.get(variable)
        if active and os.path.realpath(active) != os.path.realpath(sys.prefix):
            yield (
                f"Your code was run by {sys.executable}, and {variable} is {active}: "
                "--python EXE runs it by the interpreter of the job."
            )
            return


def unread(job: Job) -> Iterable[str]:
    """Name the settings that were given and that nobody looks at."""
    for key, origin in job.origins.items():
        bare = ".".join(part for part in key.split(".") if not part.isdigit())
        if bare.removeprefix("job.") in UNREAD:
            yield f"{bare} ({origin})"


def tool(machine: Any) -> dict[str, str]:
    """Name the versions that a bug report needs."""
    import platform

    own = {"name": "preflight", "version": __version__, "python": platform.python_version()}
    return own if machine is None else {**own, **machine.packages}


def settings_of(job: Job) -> dict[str, Setting]:
    """Lay the settings out flat, each with where it came from."""
    flat: dict[str, Setting] = {}
    _flatten("", to_wire(job), job.origins, flat)
    return flat


def _flatten(prefix: str, value: Any, origins: Mapping[str, str], flat: dict[str, Setting]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if prefix or key not in NOTES:
                _flatten(f"{prefix}.{key}" if prefix else key, inner, origins, flat)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, inner in enumerate(value):
            _flatten(f"{prefix}.{index}", inner, origins, flat)
    elif prefix in origins or value not in (None, [], {}):
        flat[prefix] = Setting(value=value, origin=origins.get(prefix, "default"))
