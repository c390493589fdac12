"""Reads the data backends of SimpleTuner: `data_backend_config`, a list in a JSON file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from preflight.settings.job import CacheSettings, Captions, DataSettings, Trainer
from preflight.targets.folders import walk
from preflight.trainers.trainer_entries import Keys, TrainerEntry, line_of, number, tables, text

TRAINER = Trainer(file="", name="SimpleTuner")

_DATA = frozenset({"image", "video", "audio", "conditioning", "eval"})
_CACHES = frozenset({"text_embeds", "image_embeds", "conditioning_image_embeds"})
_KEYS = frozenset({"dataset_type", "instance_data_dir", "cache_dir_vae", "cache_dir"})

# By caption_strategy, where the captions are; textfile reads `.txt`, and a table is not read here.
_CAPTIONS: Mapping[str, Captions] = {
    "textfile": "textfile",
    "filename": "filename",
    "instanceprompt": "prompt",
}


def is_of_simpletuner(tree: object) -> bool:
    """Whether a file is a list of backends."""
    backends = tables(tree)
    return (
        isinstance(tree, list)
        and len(backends) == len(tree) > 0
        and all(text(one, "id") for one in backends)
        and any(not _KEYS.isdisjoint(one) for one in backends)
        and all(_type(one) in _DATA | _CACHES for one in backends)
    )


def data_of(tree: object, content: str) -> Iterator[TrainerEntry[DataSettings]]:
    """Give an entry for each backend of data in use; of one that lies elsewhere, an address."""
    for one in _in_use(tree):
        name, path = text(one, "id") or "", text(one, "instance_data_dir")
        if not _is_here(one):
            away = DataSettings(name=name, path=f"{text(one, 'type')}://{name}")
            yield TrainerEntry(settings=away, line=line_of(content, "id", name))
        elif path is not None and _type(one) in _DATA:
            line = line_of(content, "instance_data_dir", path)
            yield TrainerEntry(settings=_data(path, name, one), line=line)


def caches_of(tree: object, content: str, folder: str) -> Iterator[TrainerEntry[CacheSettings]]:
    """Give an entry for each cache that is there already; the run makes the others."""
    for one in filter(_is_here, _in_use(tree)):
        for key in ("cache_dir_vae", "cache_dir"):
            path = text(one, key)
            if path is not None and os.path.isdir(os.path.join(folder, path)):
                data = text(one, "instance_data_dir") or ""
                alike = _are_named_alike(os.path.join(folder, data), os.path.join(folder, path))
                of = (text(one, "id") or "",) if data and alike else ()
                line = line_of(content, key, path)
                yield TrainerEntry(settings=CacheSettings(path=path, of=of), line=line)


def _are_named_alike(data: str, cache: str) -> bool:
    """Whether an entry has the name of an image; where hash_filenames is set, none has."""
    entries = {_stem(name) for _, listed in walk(cache) for name in listed.names}
    return any(_stem(name) in entries for _, listed in walk(data) for name in listed.names)


def _stem(name: str) -> str:
    return os.path.splitext(name)[0]


def _in_use(tree: object) -> Iterator[Keys]:
    for one in tables(tree):
        if one.get("disabled") is not True and one.get("disable") is not True:
            yield one


def _is_here(backend: Keys) -> bool:
    return (text(backend, "type") or "local") in ("local", "memory")


def _type(backend: Keys) -> str:
    return text(backend, "dataset_type") or "image"


def _data(path: str, name: str, backend: Keys) -> DataSettings:
    strategy = text(backend, "caption_strategy") or ""
    captions: Captions = _CAPTIONS.get(strategy, "none" if strategy else "auto")
    if backend.get("only_instance_prompt") is True:
        captions = "prompt"
    elif _type(backend) not in ("image", "video"):
        captions = "none"
    return DataSettings(
        name=name,
        path=path,
        captions=captions,
        caption_extension=".txt" if captions == "textfile" else None,
        repeats=number(backend, "repeats"),
    )
