"""Reads SimpleTuner's list of data backends, and its config, which names that list.

Paths are taken from the folder where the trainer starts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from preflight.settings.config_values import toml_reader
from preflight.settings.job import CacheSettings, Captions, DataSettings
from preflight.trainers.data_file import (
    Absence,
    DataFile,
    FoundInFile,
    NamedEntry,
    Place,
    broken,
    path_of,
    text_in,
)
from preflight.trainers.json_lines import json_lines

LIST = "multidatabackend.json"

_LOCAL = frozenset({"local", "memory"})
_TOLD_BY = frozenset(
    {
        *("instance_data_dir", "cache_dir", "cache_dir_vae", "dataset_type", "caption_strategy"),
        *("metadata_backend", "aws_bucket_name", "dataset_name"),
    }
)
_DATA = frozenset({"image", "video", "audio", "conditioning", "eval"})
_CACHES = frozenset({"text_embeds", "image_embeds", "conditioning_image_embeds"})

# What leaves images out, so that not each of them has latents.
_FILTERS = (
    *("minimum_image_size", "maximum_image_size", "minimum_aspect_ratio", "maximum_aspect_ratio"),
    "max_num_samples",
)

# An option of the trainer, or a variable of config.env.
_ENV = {"DATALOADER_CONFIG": "data_backend_config", "OUTPUT_DIR": "output_dir"}
_ASSIGNED = re.compile(r"\s*(?:export\s+)?(\w+)=[\"']?([^\"'#\s]*)")
_HOLE = re.compile(r"\{([^{}]+)\}")


class TrainerConfig(NamedTuple):
    """What is known of the trainer's config."""

    values: Mapping[str, Any] = {}
    path: str | None = None
    line: int | None = None
    """Where it names the list."""

    @property
    def backends(self) -> str | None:
        """The list that it names."""
        return path_of(self.values.get("data_backend_config"))


def read_config(path: str) -> TrainerConfig | None:
    """Read a config; None of a file that is something else, or names no list."""
    text = text_in(path)
    name = os.path.basename(path).lower()
    if text is None or not ("data_backend_config" in text or "DATALOADER_CONFIG" in text):
        return None
    try:
        tree = dict(_assigned(text)) if name.endswith(".env") else _parsed(name, text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(tree, dict):
        return None
    values = {key.lstrip("-"): value for key, value in tree.items()}
    lines = enumerate(text.splitlines(), start=1)
    names = ("data_backend_config", "DATALOADER_CONFIG")
    line = next((at for at, one in lines if any(name in one for name in names)), None)
    config = TrainerConfig(values, path, line)
    return None if config.backends is None else config


def _parsed(name: str, text: str) -> Any:
    return json.loads(text) if name.endswith(".json") else toml_reader().loads(text)


def _assigned(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if (match := _ASSIGNED.match(line)) is not None:
            yield _ENV.get(match[1], match[1].lower()), match[2]


def read(path: str, place: Place, config: TrainerConfig, *, named: bool = False) -> DataFile | None:
    """Read what a list names; None of a file that is something else, unless a config names it."""
    text = text_in(path)
    if text is None:
        return None
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        return broken(path, "JSON", error) if named or os.path.basename(path) == LIST else None
    backends = tree if isinstance(tree, list) else []
    if not any(isinstance(one, dict) and _is_backend(one) for one in backends):
        return None
    lines, found = json_lines(text), FoundInFile()
    for at, one in enumerate(backends):
        if isinstance(one, dict):
            _Backend(_filled(one, config), f"{at}", lines, config).add(found, path, place)
    return found.file(path)


def _is_backend(one: Mapping[str, Any]) -> bool:
    return "id" in one and not _TOLD_BY.isdisjoint(one)


def _filled(one: Mapping[str, Any], config: TrainerConfig) -> dict[str, Any]:
    """Fill in what a path says in braces, as the trainer does; what nobody says stays."""
    known = {key: config.values.get(key) for key in ("model_family", "output_dir")}
    known |= {"id": one.get("id")}

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("env:"):
            return os.environ.get(name[4:], "")
        return str(known.get(name) or match[0])

    return {
        key: _HOLE.sub(value, text) if isinstance(text, str) else text for key, text in one.items()
    }


class _Backend(NamedTuple):
    says: Mapping[str, Any]
    at: str
    lines: Mapping[str, int]
    config: TrainerConfig

    def line(self, key: str) -> int:
        return self.lines.get(f"{self.at}.{key}") or self.lines.get(self.at) or 1

    def add(self, found: FoundInFile, path: str, place: Place) -> None:
        name = str(self.says.get("id"))
        kind = str(self.says.get("dataset_type") or "image").strip().lower()
        backend = str(self.says.get("type") or "local")
        if self.says.get("disabled") or self.says.get("disable"):
            folder = path_of(self.says.get("instance_data_dir"))
            there = None if folder is None else place(folder)
            found.leave(f"{name} (disabled)", is_used=False, folder=there)
        elif backend not in _LOCAL:
            found.leave(f"{name} (type {backend})", is_used=True)
        elif kind in _CACHES:
            self._add_cache(found, "cache_dir", place)
        elif kind in _DATA:
            self._add_data(found, kind, path, place)
        else:
            found.leave(f"{name} (dataset_type {kind})", is_used=True)

    def _add_data(self, found: FoundInFile, kind: str, path: str, place: Place) -> None:
        key = "instance_data_dir" if "instance_data_dir" in self.says else "instance_data_root"
        folder = path_of(self.says.get(key))
        if folder is None:
            holds = f"says no instance_data_dir for {self.says.get('id')}"
            found.absent.append(Absence(path, holds, path, self.line("id")))
            return
        if _HOLE.search(folder):
            left = f"{self.says.get('id')} (what stands in {folder} is not known)"
            found.leave(left, is_used=True)
            return
        captions, extension, line = self._captions(kind)
        settings = DataSettings(path=place(folder), captions=captions, caption_extension=extension)
        at = {"path": self.line(key), "caption_extension": line}
        spelled = {"caption_extension": 'caption_strategy = "textfile"'} if extension else {}
        found.add(NamedEntry(settings, at, spelled))
        self._add_cache(found, "cache_dir_vae", place, of=settings.path)

    def _captions(self, kind: str) -> tuple[Captions, str | None, int]:
        line = self.line("caption_strategy")
        if kind == "conditioning":
            return "none", None, line
        if self.says.get("only_instance_prompt"):
            return "prompt", None, self.line("only_instance_prompt")
        of_config = self.config.values.get("caption_strategy")
        strategy = self.says.get("caption_strategy") or of_config or "filename"
        if strategy == "textfile":
            return "textfile", ".txt", line
        known: dict[str, Captions] = {"instanceprompt": "prompt", "instance_prompt": "prompt"}
        return (
            known.get(str(strategy), "filename" if strategy == "filename" else "none"),
            None,
            line,
        )

    def _add_cache(self, found: FoundInFile, key: str, place: Place, of: str | None = None) -> None:
        folder = path_of(self.says.get(key))
        if folder is None or _HOLE.search(folder):
            return
        says = {**self.config.values, **self.says}
        whole = of is not None and not any(float(_number(says.get(one))) for one in _FILTERS)
        hashed = self.says.get("hash_filenames")
        rule = None if hashed is None else "sha256(stem)" if hashed else "stem"
        settings = CacheSettings(
            path=place(folder),
            of=(of,) if whole and of is not None else (),
            key=rule if whole else None,
        )
        found.add(NamedEntry(settings, {"path": self.line(key), "of": self.line(key)}))


def _number(value: Any) -> float:
    try:
        return float(value or 0)
    except (TypeError, ValueError):
        return 1.0
