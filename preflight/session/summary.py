"""What a report says of the run itself: what each word was taken for, settings, versions."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from preflight.cached_files.facts import CacheFacts
from preflight.findings.judge import Judged
from preflight.findings.report import Named, Recalled, Setting
from preflight.host.facts import HostFacts
from preflight.images.facts import FolderFacts
from preflight.loaders.facts import Sent
from preflight.models.facts import Copied
from preflight.session.look import Survey
from preflight.session.questions import KINDS
from preflight.settings.job import UNREAD, Job
from preflight.shards.facts import ShardFacts
from preflight.sources.facts import SourceFacts
from preflight.targets import discover
from preflight.targets.targets import Built, CacheFolder, Folder, Missing, Remote, Shard, Target
from preflight.values.names import counted
from preflight.values.version import __version__
from preflight.values.wire import to_plain

PARTS = ("data", "cache", "loader", "model", "script")

AGAINST = "cache against data"
"""Whether each sample has its entry in a cache: only where the data set of a cache is named."""

_JUDGES: Mapping[str, frozenset[type]] = {
    "data": frozenset({ShardFacts, FolderFacts}),
    "cache": frozenset({CacheFacts}),
    "loader": frozenset({Sent}),
    "model": frozenset({Copied}),
    "script": frozenset({SourceFacts}),
}


# What is said of images that were not all decoded.
_HOW_DEEP = {"index": ("images by their ends",), "bytes": ("images not decoded",)}

# What is said of cached files that were not all read.
_OUTLINED = {"index": ("by their structure",)}


def not_judged(pairs: Iterable[tuple[str, Target]], survey: Survey) -> tuple[str, ...]:
    """Name the parts of a job that nobody was asked to look at."""
    known: set[type] = set()
    caches = apart = 0
    for _, target in pairs:
        if survey.seen.has(target):
            known |= set(_expected(target, survey))
            if isinstance(target, CacheFolder) and not target.checkpoint:
                caches += 1
                apart += not _is_compared(target.entry, survey.job)
    parts = [part for part in PARTS if known.isdisjoint(_JUDGES[part])]
    if caches and caches == apart and "data" not in parts:
        parts.append(AGAINST)
    return tuple(parts)


def _is_compared(entry: int | None, job: Job) -> bool:
    return entry is not None and (bool(job.cache[entry].of) or job.implies_data(entry))


def _expected(target: Target, survey: Survey) -> Iterable[type]:
    """Give the types of facts that a target stands for; of the user's code, those that came."""
    if not isinstance(target, Built):
        return KINDS[type(target)]
    if target.kind is not None:
        return (Sent if target.kind == "loader" else Copied,)
    return (survey.seen.gave(target) & {Sent, Copied}) or (Sent, Copied)


def named(found: discover.Discovered, survey: Survey) -> tuple[Named, ...]:
    """Say what each word was taken for, and what was seen of it."""
    groups: dict[tuple[str, str], list[Target]] = {}
    for word, target in found.pairs:
        groups.setdefault((word, _kind_of(target, survey)), []).append(target)
    counted_with: dict[Target, str] = {}
    found_as = []
    for (word, kind), targets in groups.items():
        caches = [target for target in targets if isinstance(target, CacheFolder)]
        others = {counted_with.setdefault(target, word) for target in caches} - {word}
        again = len(caches) == len(targets) and len(others) == 1
        text = f"counted with {others.pop()}" if again else _seen_of(targets, survey)
        found_as.append(Named(word=word, kind=kind, text=text))
    return tuple(found_as)


def _kind_of(target: Target, survey: Survey) -> str:
    """Say the kind of a target; what the user's code makes is known once it is made."""
    kind = discover.kind_of(target)
    gave = survey.seen.gave(target) & {Sent, Copied}
    if kind != "built" or not gave:
        return kind
    return "loader" if gave == {Sent} else "model" if gave == {Copied} else "built"


def _seen_of(targets: list[Target], survey: Survey) -> str:
    """Say what was seen of targets, or that nobody looked."""
    if all(isinstance(target, Missing) for target in targets):
        gaps = sum(1 + one.more for one in targets if isinstance(one, Missing) and one.pattern)
        return f"{counted(gaps, 'shard')} not there" if gaps else "not there"
    asked = any(survey.seen.has(target) for target in targets)
    if not asked and not any(isinstance(target, Remote) for target in targets):
        return "not looked at: no selected check is about it"
    counter = survey.seen.of(targets)
    seen = [counted(number, noun) for noun, number in counter.items()]
    if any(isinstance(target, (Shard, Folder)) for target in targets) and counter.total():
        seen += _HOW_DEEP.get(survey.job.look.depth, ())
    if any(isinstance(target, CacheFolder) for target in targets) and counter.total():
        seen += _OUTLINED.get(survey.job.look.depth, ())
    newest = survey.seen.newest(targets)
    if newest is not None:
        seen.append(newest)
    return ", ".join(seen)


def recalled(survey: Survey) -> tuple[Recalled, ...]:
    """Say which files were not read again, and how old what is known of them is."""
    memory = survey.memory
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
        yield f"{counted(count, noun + ' was', noun + 's were')} not looked at: {reason}."


def interpreter(job: Job, targets: Iterable[Target]) -> Iterable[str]:
    """Name the interpreter that ran the user's code, and warn where another one is active."""
    if not any(isinstance(target, Built) for target in targets):
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


def tool(machine: HostFacts | None) -> dict[str, str]:
    """Name the versions that a bug report needs."""
    import platform

    own = {"name": "preflight", "version": __version__, "python": platform.python_version()}
    return own if machine is None else {**own, **machine.packages}


def settings_of(job: Job) -> dict[str, Setting]:
    """Lay the settings out flat, each with where it came from."""
    flat: dict[str, Setting] = {}
    _flatten("", to_plain(job), job.origins, flat)
    return flat


def _flatten(prefix: str, value: Any, origins: Mapping[str, str], flat: dict[str, Setting]) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            if not (prefix == "" and key == "origins"):
                _flatten(f"{prefix}.{key}" if prefix else key, inner, origins, flat)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, inner in enumerate(value):
            _flatten(f"{prefix}.{index}", inner, origins, flat)
    elif prefix in origins or value not in (None, [], {}):
        flat[prefix] = Setting(value=value, origin=origins.get(prefix, "default"))
