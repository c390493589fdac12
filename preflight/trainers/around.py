"""Finds the files in a folder by which a trainer, started there, would find its data."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from preflight.trainers import kohya, simpletuner
from preflight.trainers.data_file import Absence, DataFile, Place, text_in
from preflight.trainers.kohya import StartedWith
from preflight.trainers.simpletuner import TrainerConfig
from preflight.values.names import first_of, name_of

_FOLDERS = ("", "config", "configs")
_CONFIGS = ("config.json", "config.toml", "config.env")
_SCRIPTS = (".sh", ".bat", ".cmd", ".ps1", ".toml")
_MOST = 64

_NAMES_FILE = re.compile(r"dataset_config[\"']?(?:\s*=\s*|\s+)[\"']?([^\s\"'`^]+)")
_NAMES_EXTENSION = re.compile(r"caption_extension[\"']?(?:\s*=\s*|\s+)[\"']?([^\s\"'`^]+)")
_EXAMPLE = re.compile("example|sample|template")
_REMARK = re.compile(r"\s*(?:#|::|rem\b)", re.IGNORECASE)


class FilesAround(NamedTuple):
    """What was found, and what to say of what was not read."""

    files: tuple[DataFile, ...] = ()
    remarks: tuple[str, ...] = ()


def look_for_files(folder: str, place: Place) -> FilesAround:
    """Read the files that the trainers would read; of several, those that a start names."""
    found = [_of_kohya(folder, place), _of_simpletuner(folder, place)]
    return FilesAround(
        tuple(one for around in found for one in around.files),
        tuple(one for around in found for one in around.remarks),
    )


def file_at(path: str, place: Place, folder: str) -> DataFile | None:
    """Read a file that was named; None of one that is no trainer's."""
    name = os.path.basename(path).lower()
    if not name.endswith((".toml", ".json", ".env")) or not os.path.isfile(path):
        return None
    config = simpletuner.read_config(path)
    if config is not None:
        return _named_by(config, folder, place)
    started = _starts(folder).get(os.path.realpath(path))
    return kohya.read(path, place, folder, started) or simpletuner.read(
        path, place, _config_of(path, folder)
    )


# --- kohya


def _of_kohya(folder: str, place: Place) -> FilesAround:
    starts = _starts(folder)
    files: dict[str, DataFile] = {}
    for path in _candidates(folder):
        one = kohya.read(path, place, folder, starts.get(os.path.realpath(path)))
        if one is not None:
            files.setdefault(os.path.realpath(path), one)
    if len(files) > 1 and (started := [files[one] for one in starts if one in files]):
        files = {one.path: one for one in started}
    return _the_one(list(files.values()), folder)


def _candidates(folder: str) -> Iterator[str]:
    for below in _FOLDERS:
        names = _names_in(os.path.join(folder, below), _may_be_one)
        yield from (os.path.join(folder, below, one) for one in names[:_MOST])


def _may_be_one(name: str) -> bool:
    lower = name.lower()
    if _EXAMPLE.search(lower):
        return False
    return lower.endswith(".toml") or (lower.endswith(".json") and "dataset" in lower)


def _starts(folder: str) -> dict[str, StartedWith]:
    """Give the files that scripts start the trainer with, and what they say beside."""
    found: dict[str, StartedWith] = {}
    scripts = _names_in(folder, lambda name: name.lower().endswith(_SCRIPTS))
    for name in scripts[:_MOST]:
        path = os.path.join(folder, name)
        text = text_in(path) or ""
        if "dataset_config" not in text:
            continue
        lines = [one for one in text.splitlines() if not _REMARK.match(one)]
        said = "\n".join(lines)
        extension = _NAMES_EXTENSION.search(said)
        for match in _NAMES_FILE.finditer(said):
            file = os.path.realpath(os.path.join(folder, match[1]))
            value = extension[1] if extension is not None else None
            found.setdefault(file, StartedWith(value, path))
    return found


# --- SimpleTuner


def _of_simpletuner(folder: str, place: Place) -> FilesAround:
    configs = list(_configs(folder))
    if configs:
        named = [_named_by(one, folder, place) for one in configs]
        return _the_one([one for one in named if one is not None], folder)
    for below in ("config", ""):
        path = os.path.join(folder, below, simpletuner.LIST)
        if (one := simpletuner.read(path, place, TrainerConfig())) is not None:
            return FilesAround((one,))
    return FilesAround()


def _configs(folder: str) -> Iterator[TrainerConfig]:
    """Give the config that the trainer would take; of several environments, each."""
    names = ("SIMPLETUNER_ENVIRONMENT", "SIMPLETUNER_ENV", "ENV")
    chosen = next((os.environ[one] for one in names if os.environ.get(one)), "")
    for below in (os.path.join("config", chosen), "config", ""):
        if (one := _config_in(os.path.join(folder, below))) is not None:
            yield one
            return
    for name in _names_in(os.path.join(folder, "config"), lambda _: True)[:_MOST]:
        if (one := _config_in(os.path.join(folder, "config", name))) is not None:
            yield one


def _config_in(folder: str) -> TrainerConfig | None:
    paths = (os.path.join(folder, name) for name in _CONFIGS)
    return next(filter(None, map(simpletuner.read_config, paths)), None)


def _config_of(path: str, folder: str) -> TrainerConfig:
    """Give the config beside a list, or that which the trainer would take."""
    beside = _config_in(os.path.dirname(path))
    return beside or next(_configs(folder), None) or TrainerConfig()


def _named_by(config: TrainerConfig, folder: str, place: Place) -> DataFile | None:
    path = os.path.join(folder, config.backends or "")
    if not os.path.isfile(path):
        absent = Absence(path, None, config.path, config.line)
        return DataFile(path=path, absent=(absent,))
    one = simpletuner.read(path, place, config, named=True)
    return None if one is None else replace(one, named_in=config.path, named_at=config.line)


def _the_one(files: list[DataFile], folder: str) -> FilesAround:
    """Of several files, nobody knows which one the job reads."""
    if len(files) < 2:
        return FilesAround(tuple(files))
    names = [name_of(one.path, folder) for one in files]
    first = names[0]
    return FilesAround(
        (), (f"{first_of(names, len(names))} name data each; say which:  preflight run {first}",)
    )


def _names_in(folder: str, wanted: Callable[[str], bool]) -> list[str]:
    try:
        return sorted(filter(wanted, os.listdir(folder)))
    except OSError:
        return []
