"""Reads the data sets of kohya's scripts (sd-scripts): `--dataset_config dataset.toml`, or JSON.

What a subset does not say, its data set says, and then `[general]` (config_util.py:
generate_params_by_fallbacks).
"""

from __future__ import annotations

from collections.abc import Iterator

from preflight.settings.job import DataSettings, Trainer
from preflight.trainers.trainer_entries import Keys, TrainerEntry, line_of, number, tables, text

TRAINER = Trainer(file="", name="kohya's scripts", extension_key="caption_extension")

# Where nobody says another one (config_util.py: DreamBoothSubsetParams).
_EXTENSION = ".caption"


def is_of_kohya(tree: object) -> bool:
    """Whether a file names data sets, each of subsets with a folder or a table of images."""
    if not isinstance(tree, dict):
        return False
    subsets = [each for one in tables(tree.get("datasets")) for each in tables(one.get("subsets"))]
    return bool(subsets) and all(
        text(one, "image_dir") or text(one, "metadata_file") for one in subsets
    )


def data_of(tree: Keys, content: str) -> Iterator[TrainerEntry[DataSettings]]:
    """Give an entry for each folder of images."""
    general = tree.get("general")
    for data_set in tables(tree.get("datasets")):
        for subset in tables(data_set.get("subsets")):
            both = {**(general if isinstance(general, dict) else {}), **data_set, **subset}
            for key in ("image_dir", "conditioning_data_dir"):
                path = text(subset, key)
                if path is not None:
                    line = line_of(content, key, path)
                    yield TrainerEntry(settings=_entry(path, both, key), line=line, flat=True)


def _entry(path: str, both: Keys, key: str) -> DataSettings:
    repeats = number(both, "num_repeats")
    extension = text(both, "caption_extension")
    # Of an image without a text, the class tokens are the caption; and metadata_file has them all.
    needs = not (text(both, "class_tokens") or text(both, "metadata_file"))
    is_captioned = needs and key == "image_dir" and both.get("is_reg") is not True
    return DataSettings(
        path=path,
        captions="textfile" if is_captioned else "prompt",
        caption_extension=(extension or _EXTENSION) if is_captioned else None,
        repeats=repeats - 1 if repeats is not None and repeats > 0 else None,
        batch_size=number(both, "batch_size"),
    )
