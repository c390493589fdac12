"""What is this word: a path, a pattern, a name? Reads folders and sources, and imports nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from preflight import braces
from preflight.around import (
    CACHE_SUFFIXES,
    IMAGE_SUFFIXES,
    SHARD_SUFFIXES,
    holds_no_cache,
    look_around,
)
from preflight.job import DataSettings, Factory, Job
from preflight.names import name_of, shown
from preflight.spec import Spec, parse_spec
from preflight.targets import (
    Built,
    CacheFolder,
    CaptionRule,
    Folder,
    Host,
    Missing,
    Remote,
    Shard,
    Source,
    Target,
    Unread,
)

KINDS = ("data", "cache", "loader", "model", "source", "script", "checkpoint", "host")

SCRIPTS = "scripts cannot be run yet; say source={0} to have it read"


class UnknownWordError(ValueError):
    """A word that is no target; the text says what was tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The targets, and what each word was taken for."""

    targets: tuple[Target, ...]
    """Each once, however many words name it."""

    pairs: tuple[tuple[str, Target], ...]
    """Each word with each target that it names."""


def discover(words: Iterable[str], job: Job, folder: str) -> Discovered:
    """Find the targets that words name; with no word, those of the settings, or what lies around.

    Args:
        words: as on the command line.
        job: the settings.
        folder: the current folder, to which words are relative.

    Raises:
        UnknownWordError: a word that fits no rule, or names nothing.
    """
    words = tuple(words)
    pairs: list[tuple[str, Target]] = []
    if words:
        for word in words:
            pairs += [(word, target) for target in read_word(word, folder, python=job.python)]
    elif job.data or job.cache or job.loader or job.model:
        pairs += list(from_settings(job))
    else:
        pairs += [(target_name(target, folder), target) for target in look_around(folder)]
        if not pairs:
            raise UnknownWordError(
                f"nothing to look at was named, and {folder} holds no shards, images, cache files "
                "or sources. Name a target:  preflight run data/ train:make_loader"
            )
    targets = [target for _, target in pairs]
    targets += [Source(path=path, implied=True) for path in dict.fromkeys(_sources_of(targets))]
    if not job.launch.elsewhere and not any(isinstance(target, Host) for target in targets):
        targets.append(Host())
    return Discovered(targets=_once(targets), pairs=tuple(pairs))


def _once(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Keep the first of equal targets: a file named by two words is looked at once."""
    seen: dict[str, Target] = {}
    for target in targets:
        seen.setdefault(repr(target), target)
    return tuple(seen.values())


def _sources_of(targets: Iterable[Target]) -> Iterator[str]:
    """Give the files that hold the loaders and models, since what they read at start-up counts."""
    for target in targets:
        spec = parse_spec(target.spec) if isinstance(target, Built) else None
        path = _source_of(spec, target.folder or "") if spec is not None else None  # type: ignore[union-attr]
        if path is not None:
            yield path


def kind_of(target: Target) -> str:
    """Say the word for the kind of a target."""
    match target:
        case Shard() | Folder():
            return "data"
        case CacheFolder():
            return "cache"
        case Built():
            return target.kind or "built"
        case Source():
            return "source"
        case Host():
            return "host"
        case Remote():
            return "remote"
        case Missing():
            return "missing"
        case Unread():
            return "unread"


def target_name(target: Target, root: str) -> str:
    """Name a target for a report."""
    match target:
        case Shard() | Folder() | CacheFolder() | Source() | Missing() | Unread():
            return name_of(target.path, root)
        case Built():
            return target.name or target.spec
        case Remote():
            return target.address
        case Host():
            return "this machine" if target.recording is None else target.recording


# --- words ----------------------------------------------------------------------------------------


def read_word(word: str, folder: str, *, python: str | None = None) -> tuple[Target, ...]:
    """Read one word by the first rule that fits.

    Args:
        word: as on the command line.
        folder: the current folder.
        python: the job's interpreter, which may have other packages; None: ours.

    Raises:
        UnknownWordError: none fits, or what it names is not there.
    """
    if not word:
        raise UnknownWordError("an empty word is no target; was a variable not set?")
    kind, equals, value = word.partition("=")
    if equals and kind in KINDS:
        if not value:
            raise UnknownWordError(f"{word} names nothing; was a variable not set?")
        return _read_kind(kind, value, folder, python)
    path = os.path.join(folder, word)
    if os.path.lexists(path):
        return _read_path(word, path)
    if _is_remote(word):
        return (Remote(address=word),)
    spec = parse_spec(word)
    if spec is not None:
        return (_built(spec, word, folder, python),)
    if any(sign in word for sign in "*?[{") or "::" in word:
        return tuple(_read_pattern(word, folder, CaptionRule()))
    raise UnknownWordError(_what_was_tried(word, folder))


def _read_kind(kind: str, value: str, folder: str, python: str | None) -> tuple[Target, ...]:
    path = os.path.join(folder, value)
    if kind in {"loader", "model"}:
        spec = parse_spec(value)
        if spec is None:
            raise UnknownWordError(f"{kind}={value}: {value!r} is no module:name or file.py:name")
        return (replace(_built(spec, value, folder, python), kind=kind),)
    if kind == "host":
        return (Host(recording=None if value in {"", "here"} else _existing(path, kind, value)),)
    if kind == "script":
        raise UnknownWordError(f"script={value}: " + SCRIPTS.format(value))
    if kind == "data":
        return tuple(_read_data(value, folder, CaptionRule()))
    if kind == "source":
        return (Source(path=_existing(path, kind, value)),)
    _existing(path, kind, value)
    empty = holds_no_cache(path)
    if empty is not None:
        raise UnknownWordError(f"{kind}={value} {empty}")
    return (CacheFolder(path=path),)


def _existing(path: str, kind: str, value: str) -> str:
    if not os.path.exists(path):
        raise UnknownWordError(f"{kind}={value}: there is no such path{_nearest_path(path)}")
    return path


def _read_path(word: str, path: str) -> tuple[Target, ...]:
    """Take an existing path for what it is."""
    if os.path.isdir(path):
        found = look_around(path, whole=True)
        if not found:
            raise UnknownWordError(
                f"{word} holds no shards, images, cache files or sources; "
                f"data={word} or cache={word} has it looked at all the same"
            )
        return found
    lower = word.lower()
    if lower.endswith(SHARD_SUFFIXES):
        return (Shard(path=path),)
    if lower.endswith((*CACHE_SUFFIXES, ".bin")):
        return (CacheFolder(path=path),)
    if lower.endswith(IMAGE_SUFFIXES):
        return (Folder(path=path),)
    if lower.endswith(".py"):
        raise UnknownWordError(f"{word}: " + SCRIPTS.format(word))
    raise UnknownWordError(
        f"{word} is there, and is no shard, image, cache file or folder by its name; "
        f"data={word}, cache={word} or source={word} says what it is"
    )


def _is_remote(word: str) -> bool:
    scheme, separator, _ = word.partition("://")
    plain = len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum()
    return word.startswith("pipe:") or (bool(separator) and plain)


def _what_was_tried(word: str, folder: str) -> str:
    path = os.path.join(folder, word)
    tried = "no path of that name, no module:name or file.py:name, no pattern"
    kinds = f"; KIND= is one of {', '.join(KINDS)}" if "=" in word else ""
    return f"{word!r} is no target: {tried}{kinds}{_nearest_path(path)}"


def _nearest_path(path: str) -> str:
    """Say what lies beside a missing path and is called alike."""
    near = near_path(path)
    return f"; did you mean {shown(near)}?" if near else ""


def near_path(path: str) -> str | None:
    """Find a name like a missing path's own, in its folder."""
    import difflib

    folder, name = os.path.split(path.rstrip("/\\"))
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return None
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return found[0] if found else None


# --- patterns -------------------------------------------------------------------------------------


def _read_data(value: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    """Take a value for data, whatever its suffix."""
    path = os.path.join(folder, value)
    if os.path.isdir(path):
        found = [
            target if isinstance(target, Unread) else replace(target, captions=captions)
            for target in look_around(path, whole=True)
            if isinstance(target, (Shard, Folder, Unread))
        ]
        if not found:
            raise UnknownWordError(f"{value} holds no image and no shard")
        yield from found
    elif os.path.lexists(path):
        image = value.lower().endswith(IMAGE_SUFFIXES)
        yield (Folder if image else Shard)(path=path, captions=captions)
    elif _is_remote(value):
        yield Remote(address=value)
    elif any(sign in value for sign in "*?[{") or "::" in value:
        yield from _read_pattern(value, folder, captions)
    else:
        raise UnknownWordError(_what_was_tried(value, folder))


def _read_pattern(pattern: str, folder: str, captions: CaptionRule) -> Iterator[Target]:
    """Expand `::`, braces and wildcards; what a brace range names and is not there is `Missing`."""
    try:
        names = braces.expand(pattern)
    except braces.TooManyError as error:
        raise UnknownWordError(str(error)) from error
    for name in names:
        path = os.path.join(folder, name)
        if _is_remote(name):
            yield Remote(address=name)
        elif os.path.lexists(path):
            yield Shard(path=path, captions=captions)
        elif any(sign in name for sign in "*?["):
            found = sorted(_glob(path))
            if not found:
                raise UnknownWordError(f"the pattern {name!r} fits no file in {folder}")
            for one in found:
                if os.path.isdir(one) or not one.lower().endswith(SHARD_SUFFIXES):
                    yield from _read_path(one, one)
                else:
                    yield Shard(path=one, captions=captions)
        else:
            yield Missing(path=path, kind="shard", pattern=pattern)


def _glob(path: str) -> list[str]:
    import glob

    return glob.glob(path, recursive=True)


# --- the user's code, by name ---------------------------------------------------------------------


def _built(spec: Spec, word: str, folder: str, python: str | None) -> Built:
    """Hold a name against the source, as far as that can be done without running it.

    Raises:
        UnknownWordError: there is no such file, or its source binds no such name.
    """
    path = _source_of(spec, folder)
    if spec.module is not None and path is None and python is None:
        _expect_installed(word, spec.module.partition(".")[0], folder)
    if spec.file is not None and path is None:
        near = _nearest_path(os.path.join(folder, spec.file))
        raise UnknownWordError(f"{word}: there is no file {spec.file}{near}")
    if path is not None:
        from preflight.bound import bound_names

        names = bound_names(path)
        if names is not None and spec.name not in names:
            import difflib

            alike = difflib.get_close_matches(spec.name, names, n=1, cutoff=0.7)
            hint = f"; did you mean {alike[0]}?" if alike else ""
            raise UnknownWordError(f"{word}: {spec.home} has no {spec.name}{hint}")
    return Built(spec=word, folder=folder)


def _expect_installed(word: str, top: str, folder: str) -> None:
    """Refuse a module that neither lies here nor is installed; nothing is imported for it."""
    import importlib.util

    if os.path.isdir(os.path.join(folder, top)):
        return  # a package without __init__.py, or one that is compiled
    try:
        found = importlib.util.find_spec(top)
    except ValueError:  # loaded already, by something that left no trace of where it is
        return
    if found is None:
        near = _nearest_path(os.path.join(folder, top + ".py"))
        raise UnknownWordError(f"{word}: there is no module {top} in {folder}{near}")


def _source_of(spec: Spec, folder: str) -> str | None:
    if spec.file is not None:
        path = os.path.join(folder, spec.file)
        return path if os.path.isfile(path) else None
    stem = os.path.join(folder, *(spec.module or "").split("."))
    for path in (os.path.join(stem, "__init__.py"), stem + ".py"):
        if os.path.isfile(path):
            return path
    return None


# --- settings -------------------------------------------------------------------------------------


def from_settings(job: Job) -> Iterator[tuple[str, Target]]:
    """Give the targets that the settings name, each with the name of its entry."""
    for index, data in enumerate(job.data):
        yield from _named_data(job, data, f"data.{index}")
    for index, cache in enumerate(job.cache):
        path = os.path.join(job.root, cache.path)
        name = cache.name or cache.path
        absent = _missing(job, path, "cache", f"cache.{index}.path")
        if not os.path.exists(path):
            yield name, absent
        else:
            empty = holds_no_cache(path)
            yield name, CacheFolder(path=path) if empty is None else replace(absent, holds=empty)
    for kind, factories in (("loader", job.loader), ("model", job.model)):
        for factory in factories:
            yield factory.name or factory.call, _factory(job, kind, factory)


def _named_data(job: Job, data: DataSettings, key: str) -> Iterator[tuple[str, Target]]:
    captions = CaptionRule(
        rule=data.captions,
        extension=(data.caption_extension or "").lstrip(".") or None,
        images=tuple(extension.lstrip(".").lower() for extension in data.images),
    )
    for field, value in (("path", data.path), ("shards", data.shards)):
        if value is None:
            continue
        name = data.name or value
        try:
            for target in _read_data(value, job.root, captions):
                yield name, _placed(target, job, f"{key}.{field}")
        except UnknownWordError as error:
            path = os.path.join(job.root, value)
            absent = _missing(job, path, "data", f"{key}.{field}")
            holds = "holds no image and no shard" if os.path.isdir(path) else None
            if holds is None and os.path.lexists(path):
                holds = str(error)
            yield name, replace(absent, holds=holds)


def _placed(target: Target, job: Job, key: str) -> Target:
    """Say of what is missing where it is named."""
    if not isinstance(target, Missing):
        return target
    file, line = job.origin(key)
    return replace(target, named_in=file, named_at=line)


def _missing(job: Job, path: str, kind: str, key: str) -> Missing:
    file, line = job.origin(key)
    return Missing(path=path, kind=kind, named_in=file, named_at=line)


def _factory(job: Job, kind: str, factory: Factory) -> Built:
    spec = parse_spec(factory.call)
    if spec is None:
        raise UnknownWordError(f"{kind}.call: {factory.call!r} is no module:name or file.py:name")
    built = _built(spec, factory.call, job.root, job.python)
    return replace(
        built,
        kind=kind,
        name=factory.name,
        args=tuple(factory.args),
        kwargs=dict(factory.kwargs),
        pick=factory.pick,
    )


def plain_options(job: Job) -> Mapping[str, Any]:
    """Give what a process of ours is told of the job."""
    return {
        "root": job.root,
        "ranks": job.launch.ranks,
        "num_workers": job.launch.num_workers,
        "batch_size": job.launch.batch_size,
        "start_method": job.launch.start_method,
        "import_anyway": job.look.import_anyway,
        "timeout": job.look.timeout,
        "depth": job.look.depth,
    }
