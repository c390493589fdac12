"""Reads the dataset config of kohya's sd-scripts (`--dataset_config`): TOML, or JSON of its shape.

Images lie directly in `image_dir`; what a subset does not say, its data set says, or `[general]`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from preflight.formats.suffixes.images import is_image
from preflight.settings.config_values import toml_reader
from preflight.settings.job import Captions, DataSettings
from preflight.settings.toml_file import line_numbers
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

_DEFAULT = ".caption"
_TAKEN = ("png", "jpg", "jpeg", "webp", "bmp", "avif", "jxl")
_TEXTS = (".txt", ".caption", ".tags")


class StartedWith(NamedTuple):
    """What a script that starts the trainer says beside the file."""

    caption_extension: str | None = None
    file: str | None = None
    line: int | None = None


class _Subset(NamedTuple):
    """A subset with all that it inherits, the nearest first."""

    own: Mapping[str, Any]
    levels: tuple[tuple[str, Mapping[str, Any]], ...]
    """Each with the key under which it stands in the file."""

    all_have: frozenset[str]
    """What each subset of its data set says."""

    lines: Mapping[str, int]

    def value(self, key: str) -> tuple[Any, int | None]:
        for at, level in self.levels:
            if level.get(key) is not None:
                return level[key], self.lines.get(f"{at}.{key}") or self.line
        return None, self.line

    @property
    def line(self) -> int | None:
        return next((self.lines[at] for at, _ in self.levels[:2] if at in self.lines), None)


def read(
    path: str, place: Place, folder: str, started: StartedWith | None = None
) -> DataFile | None:
    """Read what a file names, which the trainer would be started with in a folder.

    None of a file that is something else.
    """
    is_json = path.lower().endswith(".json")
    text = text_in(path, "utf-8" if is_json else "utf-8-sig")
    if text is None or not ("image_dir" in text or "metadata_file" in text):
        return None
    try:
        tree = json.loads(text) if is_json else toml_reader().loads(text)
    except (ValueError, RecursionError) as error:
        is_one = not is_json and "[[datasets" in text
        return broken(path, "TOML", error) if is_one else None
    lines = json_lines(text) if is_json else _toml_lines(text)
    subsets = list(_subsets(tree, lines))
    if not subsets:
        return None
    found = FoundInFile()
    for one in subsets:
        _take(one, found, path, place, folder, started or StartedWith())
    return found.file(path)


def _toml_lines(text: str) -> dict[str, int]:
    """Give lines by the same keys as of JSON; TOML's are counted over all data sets."""
    lines = line_numbers(text)
    starts = [lines[f"datasets.{at}"] for at in range(len(lines)) if f"datasets.{at}" in lines]
    named: dict[str, int] = {}
    for key, line in lines.items():
        at = sum(start <= line for start in starts) - 1
        if key.startswith("datasets.subsets.") and at >= 0:
            number, _, rest = key.removeprefix("datasets.subsets.").partition(".")
            before = sum(
                lines.get(f"datasets.subsets.{one}", line) < starts[at]
                for one in range(int(number))
            )
            key = f"datasets.{at}.subsets.{int(number) - before}"  # noqa: PLW2901
            key += f".{rest}" if rest else ""  # noqa: PLW2901
        named.setdefault(key, line)
    return named


def _subsets(tree: Any, lines: Mapping[str, int]) -> Iterator[_Subset]:
    if not isinstance(tree, dict):
        return
    general = tree.get("general")
    for at, data in enumerate(_tables(tree.get("datasets"))):
        subsets = _tables(data.get("subsets"))
        keys = [frozenset(one) for one in subsets]
        for number, one in enumerate(subsets):
            if path_of(one.get("image_dir")) is None and path_of(one.get("metadata_file")) is None:
                continue
            here = f"datasets.{at}"
            levels = [(f"{here}.subsets.{number}", one), (here, data)]
            if isinstance(general, dict):
                levels.append(("general", general))
            shared = frozenset.intersection(*keys)
            yield _Subset(own=one, levels=tuple(levels), all_have=shared, lines=lines)


def _tables(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _take(
    one: _Subset, found: FoundInFile, path: str, place: Place, folder: str, started: StartedWith
) -> None:
    images, metadata = (path_of(one.own.get(key)) for key in ("image_dir", "metadata_file"))
    repeats, _ = one.value("num_repeats")
    if isinstance(repeats, (int, float)) and repeats < 1:
        place_of_images = None if images is None else os.path.join(folder, images)
        told = f"{images or metadata} (num_repeats = {repeats})"
        found.leave(told, is_used=False, folder=place_of_images)
        return
    is_control = "conditioning_data_dir" in one.all_have
    at = {"path": one.value("image_dir")[1] or 1}
    if metadata is not None and not is_control:
        line = one.value("metadata_file")[1]
        table = os.path.join(folder, metadata)
        if not os.path.isfile(table):
            holds = "is a folder, and no file of captions" if os.path.isdir(table) else None
            found.absent.append(Absence(table, holds, path, line))
        there = None if images is None else os.path.join(folder, images)
        if images is not None and there is not None:
            if os.path.isdir(there) and not _holds_image(there):
                left = f"{images} (the images of {metadata} do not lie in it)"
                found.leave(left, is_used=True)
            else:
                found.add(NamedEntry(DataSettings(path=place(images), captions="none"), at))
        return
    if images is None:
        return
    rule, extension, line, spelled = _captions(one, os.path.join(folder, images), started)
    at |= {"caption_extension": line or at["path"]} if extension else {}
    settings = DataSettings(
        path=place(images),
        captions=rule,
        caption_extension=extension,
        images=_taken(os.path.join(folder, images)),
        subfolders=False,
    )
    found.add(NamedEntry(settings, at, {"caption_extension": spelled} if spelled else {}))
    control = path_of(one.own.get("conditioning_data_dir"))
    if is_control and control is not None:
        at = {"path": one.value("conditioning_data_dir")[1] or 1}
        settings = DataSettings(path=place(control), captions="none", subfolders=False)
        found.add(NamedEntry(settings, at))


def _captions(
    one: _Subset, folder: str, started: StartedWith
) -> tuple[Captions, str | None, int | None, str]:
    """Say where the captions of a subset are: the rule, the extension, its line, its words."""
    said, line = one.value("caption_extension")
    spelled = f'caption_extension = "{said}"'
    if not isinstance(said, str) or not said:
        said, spelled = _DEFAULT, f'caption_extension, "{_DEFAULT}" where it is not said,'
        if started.caption_extension:
            said = started.caption_extension
            spelled = f'caption_extension = "{said}" in {os.path.basename(started.file or "")}'
    extension = said if said.startswith(".") else f".{said}"
    needs_none = one.own.get("is_reg") is True or isinstance(one.value("class_tokens")[0], str)
    is_control = "conditioning_data_dir" in one.all_have
    # Captions are read where they are, and the class tokens or nothing taken where they lack.
    if needs_none and not is_control and not _are_meant(folder, extension):
        return "none", None, None, ""
    return "textfile", extension, line, spelled


def _are_meant(folder: str, extension: str) -> bool:
    """Whether each image has such a caption; or none has, and most have a text of another name."""
    names = set(_names_in(folder))
    stems = [os.path.splitext(name)[0] for name in names if is_image(name)]
    with_it = sum(stem + extension in names for stem in stems)
    others = max(sum(stem + one in names for stem in stems) for one in _TEXTS)
    return bool(stems) and (with_it == len(stems) or (not with_it and 2 * others > len(stems)))


def _taken(folder: str) -> tuple[str, ...]:
    """Give what the trainer takes for images, where others lie among them, which it passes over."""
    suffixes = {name.rpartition(".")[2] for name in _names_in(folder) if is_image(name)}
    others = {one for one in suffixes if one.lower() not in _TAKEN}
    are_small = all(one.islower() for one in suffixes - others)  # as the settings spell them
    return _TAKEN if others and are_small else ()


def _holds_image(folder: str) -> bool:
    return any(map(is_image, _names_in(folder)))


def _names_in(folder: str) -> Sequence[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()
