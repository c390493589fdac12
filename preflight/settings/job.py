"""The job: the training run the user is about to start, as settings understood, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from preflight.settings.how_to_look import Gate, Ignore, Look, SettingsTable

StartMethod = Literal["fork", "spawn", "forkserver"]
Captions = Literal["auto", "textfile", "filename", "prompt", "json", "table", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch(SettingsTable):
    """How the job is started, and what it needs to start."""

    nodes: int = 1
    """Machines that the job runs on."""

    gpus: int | None = None
    """GPUs that the job needs on each node."""

    vram: int | None = None
    """Free memory that the job needs on each of its GPUs, in bytes."""

    world_size: int | None = None
    """Ranks in all; where it is not said, `nodes * gpus`."""

    num_workers: int | None = None
    """Workers of each DataLoader; where it is not said, the loader's own number."""

    batch_size: int | None = None
    """Samples in a batch of each rank."""

    grad_accum: int | None = None
    """Batches whose gradients make one step of the optimizer."""

    start_method: StartMethod | None = None
    """How workers are started; where it is not said, as the platform and the loader have it."""

    elsewhere: bool = False
    """The job will run on another machine, so this one is not judged."""

    @property
    def ranks(self) -> int:
        """Ranks in all, at least one."""
        return self.world_size or self.nodes * (self.gpus or 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSettings(SettingsTable):
    """One data set: a folder of images, or shards."""

    name: str | None = None
    """By which `of` of a cache, and the page, name it."""

    path: str | None = None
    """A folder of images, shards, videos or audio; or one file."""

    shards: str | None = None
    """Shards, by a range or a pattern: `data/train-{000..099}.tar`."""

    captions: Captions = "auto"
    """Where captions are. `auto`: what most images have; `textfile`: a text of the same stem;
    `json`: a `.json` of the same stem, or a table; `table`: metadata.jsonl or metadata.csv;
    `filename`, `prompt` and `none`: beside no image."""

    caption_extension: str | None = None
    """Of the texts with captions, such as `.txt`, which each image then needs; where it is not
    said, txt or caption."""

    images: tuple[str, ...] = ()
    """Extensions that the pipeline takes for images, such as `["jpg", "png"]`; empty: every one."""

    subfolders: bool = True
    """Whether the images below its folder are read too, and not only those that lie in it."""

    resolution: int | None = None
    """Pixels of a side that images are brought to."""

    ratios: tuple[str, ...] = ()
    """Ratios of width to height that images are sorted into."""

    minimum_size: int | None = None
    """Pixels of a side below which an image is left out."""

    caption_limit: int | None = None
    """Tokens after which a caption is cut."""

    repeats: int | None = None
    """Passes over the data that each epoch makes after the first."""

    batch_size: int | None = None
    """Samples in a batch, where it is not that of the launch."""

    split: str | tuple[str, ...] | None = None
    """How the ranks divide its samples, or its shards: `contiguous`, `strided`, `split_by_node`, …,
    or a function of yours, `module:split`; of several, each divides what the one before gave."""

    sample: str | None = None
    """How much of it is looked at: `500` shards or images, or `10%`; else as `look.sample` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings(SettingsTable):
    """One folder of cached embeddings or latents."""

    path: str
    """The folder, or one file."""

    name: str | None = None
    """What the cache is called."""

    of: tuple[str, ...] = ()
    """The data sets of whose samples it has entries: name, path or shards of each."""

    key: str | None = None
    """How entries are named after samples; where it is not said, the usual ways are tried."""

    checkpoints: bool = False
    """Whether it is a folder of checkpoints, of which the job takes the newest."""

    split: str | tuple[str, ...] | None = None
    """How the ranks divide the work of caching; as of a data set."""

    writer: str | None = None
    """What writes an entry, `module:save` or `file.py:save`, called as `save(path, value)` or
    `save(value, path)`: tried with several processes."""

    written: bool | None = None
    """Whether the job writes to it, so that the storage is tried with files of ours; where it is
    not said, a cache with a `writer` is written to."""

    atomic: bool | None = None
    """Whether entries are written under another name and renamed."""

    @property
    def is_written(self) -> bool:
        """Whether the settings say that the job writes to it."""
        return bool(self.written or (self.written is None and self.writer is not None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Factory(SettingsTable):
    """How a loader or a model is made: `module:name` or `file.py:name`, and with what."""

    call: str
    """`module:name` or `file.py:name`: a function, a class or a partial is called."""

    name: str | None = None
    """What the page calls it."""

    args: tuple[Any, ...] = ()
    """What it is called with."""

    kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What it is called with, by name."""

    pick: str | None = None
    """A part of what is returned: `[0]`, `['val']`, `.loader`."""

    unpack: str | None = None
    """How the loop takes a batch of a loader apart: `images, labels`, or `batch["image"]`."""

    split: str | tuple[str, ...] | None = None
    """How the ranks divide its shards, or its samples; as of a data set."""

    optimizer: str | None = None
    """What makes the optimizer."""

    step: str | None = None
    """What makes one step."""

    process_group: str | None = None
    """What makes the process group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings(SettingsTable):
    """Python sources of the job, which are read and never run."""

    path: str
    """A file, or a folder with all below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptSettings(SettingsTable):
    """A training script, which a run with these settings runs in short."""

    run: str
    """The script and its arguments, as behind `python`: `train.py --lr 1e-4`, `-m pkg.train`."""

    name: str | None = None
    """What the page calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(SettingsTable):
    """The settings as understood."""

    name: str | None = None
    """What the job is called."""

    root: str = "."
    """The job's folder, absolute. Reports name files relative to it."""

    python: str | None = None
    """The job's interpreter, which runs the child; where it is not said, ours."""

    launch: Launch = field(default_factory=Launch)
    data: tuple[DataSettings, ...] = ()
    cache: tuple[CacheSettings, ...] = ()
    loader: tuple[Factory, ...] = ()
    model: tuple[Factory, ...] = ()
    source: tuple[SourceSettings, ...] = ()
    script: tuple[ScriptSettings, ...] = ()
    look: Look = field(default_factory=Look)
    gate: Gate = field(default_factory=Gate)
    ignore: tuple[Ignore, ...] = ()
    plugins: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """The tables of plug-ins, each under the plug-in's name."""

    data_files: tuple[str, ...] = ()
    """The files of trainers that data sets and caches were read from."""

    spelled: Mapping[str, str] = field(default_factory=dict, hash=False)
    """How such a file says what stands here in our words."""

    origins: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Where each setting came from: `launch.gpus` -> `preflight.toml:4` or `--gpus`."""

    def origin(self, key: str) -> tuple[str | None, int | None]:
        """Say where a setting came from, as a file and a line; both None where it was a flag."""
        file, _, line = self.origins.get(key, "").rpartition(":")
        return (file, int(line)) if file and line.isdigit() else (None, None)

    @property
    def names_targets(self) -> bool:
        """Whether the settings say what there is to look at."""
        return self.names_more_than_sources or bool(self.source)

    @property
    def names_more_than_sources(self) -> bool:
        """Whether they say more of it than which sources are read."""
        return any((self.data, self.cache, self.loader, self.model, self.script))

    def implies_data(self, entry: int) -> bool:
        """Whether a cache was made of the only data set, since it says how entries are named."""
        cache = self.cache[entry]
        says_only_how = cache.key is not None and not (cache.of or cache.checkpoints)
        return says_only_how and len(self.data) == 1

    def said_in(self, place: str) -> str:
        """Say for people where a setting of `[launch]` was made; any other place is given back."""
        if not place.startswith("launch."):
            return place
        return self.origins.get(place) or "the job's settings"


UNREAD = frozenset(
    {
        "name",
        *(f"data.{key}" for key in ("resolution", "ratios", "minimum_size", "caption_limit")),
        *(f"loader.{key}" for key in ("optimizer", "step", "process_group")),
        *(f"model.{key}" for key in ("unpack", "split", "optimizer", "step", "process_group")),
    }
)
"""Settings that are valid and that no reader and no check of this version uses."""

NOTES = frozenset({"origins", "spelled"})
"""Fields of a job that tell of its settings, and are none."""
