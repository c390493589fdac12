"""Looks around a folder and writes preflight.toml; sources are read, and nothing is imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from preflight.kinds.target import PathTarget, Target
from preflight.scaffold.caches import caches
from preflight.scaffold.data_sets import data_sets
from preflight.scaffold.known import known_of
from preflight.scaffold.of_data_files import entries_of
from preflight.scaffold.toml_entries import can_be_said, spelled, table
from preflight.settings.job import DataSettings, Job
from preflight.settings.nearest import nearest
from preflight.settings.toml_file import FILE, SettingsError
from preflight.sources.makers.factories import Maker, factories_in, worth_offering
from preflight.sources.makers.offers import scripts_in
from preflight.targets.folders import look_around
from preflight.targets.targets import CacheFolder, Folder, Shard, Source, Unlistable
from preflight.targets.words.data_files import absent_in, beside, with_data_files
from preflight.targets.words.discover import discover, of_no_use_alone
from preflight.values.names import counted, name_of

_HEAD = """\
# What `preflight run` looks at, in this folder. Every line is a guess made by looking around:
# take out what is no part of the job, and add what is missing.

[launch]
# gpus = 8                 # GPUs that the job needs on this machine
# vram = "80GB"            # free memory that it needs on each of them
# world_size = 8           # ranks in all
# batch_size = 32          # samples in a batch of each rank
# num_workers = 4          # workers of each DataLoader
# start_method = "spawn"   # where the platform's own is not meant
"""

_ONLY_SHOWN = "few pictures beside code: data, if the job trains on them"
_OF_WEIGHTS = "weights of models: a cache, if the job trains on them\n"

# Functions of each kind that are written out; of a library, there may be hundreds.
_MOST_MAKERS = 20

_MADE = """\
# Functions of your code that seem to make a {0}. They stand here commented out: looking at one
# runs your code, and makes the {0} in its full size. Take the "# " away from what the job uses.
"""

_RUN = """\
# Scripts of yours that seem to start a training. Naming one runs it, with a few batches of each
# loader; its arguments stand behind it. Take the "# " away, and add them.
"""


def write(folder: str, *, force: bool) -> str:
    """Write the settings file, and give a sentence on what stands in it.

    A run that names nothing looks at no more than the file names. Of a file that is there already,
    all stays that it says, and what it does not name is added.

    Raises:
        SettingsError: there is one already, there is nothing to name, or it cannot be written.
    """
    path = os.path.join(folder, FILE)
    before, job = _said_already(folder, force=force)
    root = job.root if job is not None else folder
    targets = look_around(root)
    read, files = with_data_files((), job or Job(root=root), root)
    for _, one in absent_in(files, root):
        name = name_of(one.path, root)
        at = f"{one.named_in or name}:{one.named_at or 1}"
        wrong = one.holds or "is not there"
        said = wrong if name == one.named_in else f"names {name}, which {wrong}"
        raise SettingsError([f"{at}: {said}; mend it first, or no entry can be written of it"])
    if not targets and not files.files:
        text = f"{root} holds no shards, images, cache files or sources"
        raise SettingsError([f"{text}: there is nothing to name, and no {FILE} was written"])
    new = known_of(job, root).without(targets) if job is not None else targets
    if files.files:
        new = tuple(beside(new, discover((), read, root).targets, files.unused(root)))
    made = () if job is not None and (job.loader or job.model) else tuple(_made_in(root))
    made += () if job is not None and job.script else tuple(_scripts_in(root))
    known = read if files.files else job
    tables = [*entries_of(read, files), *_tables(new, root, known)]
    tables += (one for one in made if one not in before)
    if before and not tables:
        return f"{FILE} names all that lies around already."
    text = "\n".join([before.rstrip("\n") + "\n" if before else _HEAD, *tables])
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise SettingsError([f"{FILE} cannot be written: {error.strerror}"]) from error
    done = f"Added {counted(len(new), 'thing')} to {FILE}" if before else f"Wrote {FILE}"
    return f"{done}. Read it through, then:  preflight run"


def _said_already(folder: str, *, force: bool) -> tuple[str, Job | None]:
    """Give the settings that hold for a folder, as text and as understood; empty where none do.

    Raises:
        SettingsError: they are to be left as they are.
    """
    holding = nearest(folder).file
    if holding is None:
        return "", None
    if os.path.dirname(holding) != folder:
        if force:
            return "", None
        other = name_of(holding, folder)
        text = f"{other} holds in this folder too; --force writes a {FILE} of its own"
        raise SettingsError([text])
    if os.path.basename(holding) != FILE:
        name = os.path.basename(holding)
        text = f"{name} has [tool.preflight], and a {FILE} beside it would hold in its place"
        raise SettingsError([f"{text}: add to that table, or move it to a {FILE}"])
    if not force:
        raise SettingsError([f"{FILE} is there already; --force adds what it does not name"])
    return _kept(holding, folder)


def _kept(path: str, folder: str) -> tuple[str, Job | None]:
    """Give what a settings file says; of one that no run takes, nothing."""
    from preflight.findings import registry
    from preflight.settings.merge import make_job

    every, _ = registry.load()
    plugins = [name.partition("/")[0] for name in every if "/" in name]
    try:
        job = make_job(folder=folder, file=path, environ={}, plugins=plugins)
        with open(path, encoding="utf-8-sig") as file:
            return file.read(), job
    except (SettingsError, OSError):
        return "", None


def _tables(targets: Sequence[Target], folder: str, job: Job | None) -> Iterator[str]:
    """Write an entry for each thing that lies around."""
    doubtful = of_no_use_alone(targets, folder)
    sure = [one for one in targets if one not in doubtful]
    data = data_sets(sure, folder)
    for one in data:
        entry = table("data", remark=one.remark, **{one.key: one.value})
        yield entry + ("" if one.subfolders else "subfolders = false\n")
    earns = bool(data) or any(isinstance(one, CacheFolder) for one in sure)
    for shown in data_sets(doubtful, folder):
        entry = table("data", remark=_ONLY_SHOWN, **{shown.key: shown.value})
        # Where they are all that there is, an entry of their own would make a GO of them.
        yield entry if earns else "".join(f"# {line}" for line in _lines([entry]))
    named = [one for one in (job.data if job else ()) if one.path or one.shards]
    open_ones = [
        DataSettings(path=one.value) if one.key == "path" else DataSettings(shards=one.value)
        for one in data
        if one.remark is None or one.key == "shards"
    ]
    yield from caches(targets if earns else sure, folder, [*named, *open_ones])
    if not earns:
        for entry in caches(doubtful, folder, ()):
            yield "".join(f"# {line}" for line in _lines([_OF_WEIGHTS, entry]))
    for target in targets:
        if isinstance(target, Source):
            remark = "read, and never run"
            yield table("source", path=spelled(target.path, folder), remark=remark)
        elif isinstance(target, PathTarget) and not isinstance(
            target, (Shard, Folder, CacheFolder, Unlistable)
        ):
            yield f"# {spelled(target.path, folder)} is looked at where it is named as a word\n"


def _made_in(folder: str) -> Iterator[str]:
    """Write what makes loaders and models as entries that are commented out."""
    makers = worth_offering(factories_in(folder))
    for kind in ("loader", "model"):
        of_kind = [one for one in makers if one.kind == kind]
        if of_kind:
            yield _MADE.format(kind)
            yield from map(_offered, of_kind[:_MOST_MAKERS])
        if len(of_kind) > _MOST_MAKERS:
            yield f"# ... and {len(of_kind) - _MOST_MAKERS:,} more functions like these.\n"


def _scripts_in(folder: str) -> Iterator[str]:
    """Write what seems to start a training as entries that are commented out."""
    scripts = [one for one in scripts_in(folder) if can_be_said(one)]
    if scripts:
        yield _RUN
    for script in scripts[:_MOST_MAKERS]:
        yield "".join(f"# {line}" for line in _lines([table("script", run=script)]))


def _offered(maker: Maker) -> str:
    remark = f"{maker.what}, {maker.file}:{maker.line}"
    entry = table(maker.kind, call=maker.call, remark=remark)
    needs = [f"kwargs.{name} = ...\n" for name in maker.needs]
    return "".join(f"# {line}" for line in _lines([entry, *needs]))


def _lines(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from text.splitlines(keepends=True)
