"""Counts the files in what was named, or around, that are not read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from preflight.cached_files.cache_listing import is_for_torch, is_left_over
from preflight.formats.suffixes.images import is_image
from preflight.kinds.target import Target
from preflight.targets.file_types.if_named import IfNamed, NamedAs
from preflight.targets.file_types.suffixes import (
    CACHE_SUFFIXES,
    IMAGE_SUFFIXES,
    SHARD_SUFFIXES,
    TABLES,
)
from preflight.targets.folders import is_shard, told_by_suffix, walk
from preflight.targets.reading import Reading
from preflight.targets.repository import TESTS
from preflight.targets.targets import CacheFolder, Folder, Shard
from preflight.values.byte_sizes import format_size
from preflight.values.names import first_of, name_of

_EXAMPLES = 3
_MOST_TOLD = 4

_MOST_SUFFIXES = 100
OTHERS = "others"
"""What stands for the suffixes beyond the first hundred."""

_SMALL = 1 << 20
"""Bytes of a file which is rather about something than the data itself."""

# What belongs to code, to documents, to an editor or a system, wherever it lies.
_NO_DATA = frozenset(
    {
        *("py", "pyi", "pyc", "pyo", "pyd", "pyx", "pxd", "typed", "ipynb", "so", "dll", "o", "a"),
        *("c", "cc", "cpp", "cu", "cuh", "h", "hpp", "rs", "go", "js", "ts", "tsx", "jsx", "vue"),
        *("mjs", "cjs", "prisma"),
        *("java", "lua", "r", "jl", "m", "css", "scss", "ico", "woff"),
        *("woff2", "ttf", "otf", "eot", "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "slurm"),
        *("sbatch", "qsub", "md", "mdx", "rst", "bib", "cff", "yaml", "yml", "toml"),
        *("cfg", "ini", "conf", "env", "example", "template", "jinja", "j2", "lock"),
        *("log", "err", "pid", "mk", "cmake", "dockerfile", "nix", "editorconfig"),
        *("orig", "rej", "bak", "patch", "diff", "whl", "egg", "po", "pot", "mo", "gin"),
        *("md5", "sha1", "sha256", "sha512", "sum", "crc", "url", "webloc"),
        *("lnk", "desktop", "properties", "iml", "code-workspace", "http"),
    }
)

# The same beside code, and where there is little of it; elsewhere somebody's data: pages, drawings.
_PERHAPS = frozenset(
    {*("html", "htm", "svg", "tex", "pdf", "sample", "out", "in", "map", "idx", "index"), ""}
)
_LITTLE = 1 << 18
"""Bytes of all files of such a suffix, or without any, in a tree that holds code."""

# What is about other files where it is small, and data where it is not.
_NOTES = frozenset({"txt", "json", "caption", "captions", "tags", "xmp", "meta", "xml", "db"})
_TABLES = frozenset({"csv", "tsv", "jsonl", "parquet"})

# What trainers and hubs put beside the tensors of a model or of a checkpoint.
_OF_MODELS = frozenset({"pkl", "model", "msgpack", "jinja", "vocab", "spm", "tiktoken", "metadata"})

_OF_SHARDS = frozenset({"idx", "index"})

# Behind the name of a shard or an image: a download that has not come to its end, or a copy.
_LEFT = frozenset(
    {
        *("part", "partial", "tmp", "temp", "aria2", "crdownload", "filepart", "download"),
        *("bak", "orig"),
    }
)

_FOLDERS = re.compile(
    r"conf(?:ig)?s?|accelerate|wandb|mlruns|lightning_logs|logs?|tb_logs|tensorboard|"
    r"licen[cs]es?|@eaDir|\w+\.egg-info|examples?|scripts?",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"readme.*|licen[cs]e.*|copying|notice|authors|citation|version|notes?|todo|changelog.*|index|"
    r"(?:.*_)?(?:meta|metadata|info|infos|stats|config|settings)|"
    r"sizes|class(?:es)?|labels?|names|requirements.*|.*\.index",
    re.IGNORECASE,
)
_LOGS = re.compile(r"events\.out\.tfevents\..*")
_READ = frozenset({*IMAGE_SUFFIXES, *CACHE_SUFFIXES}) - {".ckpt"}
_LAST_OF_STORED = frozenset(one[one.rfind(".") :] for one in (*CACHE_SUFFIXES, *SHARD_SUFFIXES))
_PACKED = frozenset({"gz", "bz2", "xz", "zst", "lz4"})
_SUFFIX = re.compile(r"[a-z_][\w-]{0,11}|\d?[a-z]\w{0,10}", re.IGNORECASE)


class UnreadFiles(NamedTuple):
    """The files of one suffix."""

    suffix: str
    """In small letters, with its dot: `.jsonl`, `.jsonl.gz`; empty of files that have none."""

    files: int
    bytes: int
    names: tuple[str, ...] = ()
    """Of the first few, as reports name them."""

    part: str = "data"
    """Of which part of the job they are: `data`, or `cache` or `checkpoint` beside its files."""

    named_as: NamedAs | None = None
    """The word that has the first of them read; None of those that no reader reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFolder:
    """What lies in one folder, with all below it, and is not read as it lies there."""

    folder: str
    """As reports name it."""

    files: tuple[UnreadFiles, ...] = ()
    """By suffix, that of the most bytes first."""

    pictures: int = 0
    """Images that are there for a repository's documents, and are no data set."""

    of_code: int = 0
    """Tensors and shards that a repository's code or its tests bring along."""

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.files or self.pictures or self.of_code)

    def in_words(self) -> str:
        """Say how much no reader reads: `12 .jsonl (1.2 GB) and 3 .bin (4.0 MB)`; or nothing."""
        said = [
            f"{one.files:,} {one.suffix or 'without a suffix'} ({format_size(one.bytes)})"
            for one in self.files
            if one.named_as is None
        ]
        return first_of(said, len(said), _MOST_TOLD)


@dataclass(slots=True)
class _Count:
    """The files of one suffix, as far as a walk has come."""

    files: int = 0
    bytes: int = 0
    names: list[str] = field(default_factory=list)
    named_as: NamedAs | None = None


def unread_in(
    folder: str, targets: Iterable[Target], root: str, *, of_any_kind: bool
) -> UnreadFolder:
    """Count what is not read in a folder, in memory that does not grow with its files.

    Whoever named it as one kind has left others out on purpose; else what nobody takes for data is
    a repository's own.
    """
    found = Reading(targets)
    counts: dict[tuple[str, str, str], _Count] = {}
    packages: set[str] = set()
    pictures = of_code = 0
    is_without_code = True
    if_named = IfNamed(os.path.normpath(folder))
    top_of_job = folder if os.path.normpath(folder) == os.path.normpath(root) else None
    for place, listed in walk(folder):
        spelled = listed.suffixes()
        has_code = ".py" in spelled
        is_without_code = is_without_code and not has_code
        is_package = has_code and (
            "__init__.py" in listed.files or TESTS.fullmatch(os.path.basename(place)) is not None
        )
        if place != folder and (is_package or os.path.dirname(place) in packages):
            packages.add(place)
        about = has_code or place in packages or place == top_of_job
        if of_any_kind and not found.reads(Folder, place):
            pictures += sum(map(is_image, listed.files))
        if of_any_kind and any(one.lower() in _LAST_OF_STORED for one in spelled):
            of_code += _stored_unread(place, listed.files, found)
        part = found.part_of(place, top_of_job)
        for name in _unread_of(place, listed.files, spelled, folder, found):
            suffix = suffix_in(name)
            path = os.path.join(place, name)
            size = _size_of(path)
            named_as = if_named.word_for(path, suffix)
            if named_as is None and _is_note(name, suffix, size, beside_code=about):
                continue
            kind = "" if named_as is None else named_as.kind
            if (suffix, part, kind) not in counts and len(counts) >= _MOST_SUFFIXES:
                suffix = OTHERS
            count = counts.setdefault((suffix, part, kind), _Count(named_as=named_as))
            count.files += 1
            count.bytes += size
            if count.files <= _EXAMPLES:
                count.names.append(name_of(path, root))
    told = (
        UnreadFiles(suffix, one.files, one.bytes, tuple(one.names), part, one.named_as)
        for (suffix, part, _), one in counts.items()
        if one.named_as is not None
        or is_without_code
        or one.bytes >= _LITTLE
        or suffix[1:] not in _PERHAPS
    )
    return UnreadFolder(
        folder=name_of(folder, root),
        files=tuple(sorted(told, key=lambda one: (-one.bytes, one.suffix))),
        pictures=pictures,
        of_code=of_code,
    )


def _stored_unread(place: str, files: Sequence[str], found: Reading) -> int:
    tensors = shards = 0
    if not found.reads(CacheFolder, place):
        tensors = sum(name.lower().endswith(CACHE_SUFFIXES) for name in files)
    if not found.reads(Shard, place):
        shards = sum(map(is_shard, files))
    return tensors + shards


def _unread_of(
    place: str, files: Sequence[str], spelled: Iterable[str], top: str, found: Reading
) -> Iterator[str]:
    """Give the files of one folder that no reader would read, wherever the folder was named."""
    if not files or any(map(_FOLDERS.fullmatch, os.path.relpath(place, top).split(os.sep))):
        return
    suffixes = {one.lower() for one in spelled}
    imaged = not suffixes.isdisjoint(IMAGE_SUFFIXES)
    cached = found.reads(CacheFolder, place)
    stored = cached and not suffixes.isdisjoint((*CACHE_SUFFIXES, ".bin"))
    packed = not suffixes.isdisjoint(one[one.rfind(".") :] for one in SHARD_SUFFIXES)
    shards = {name.partition(".")[0] for name in files if is_shard(name)} if packed else set()
    beside = _NOTES if shards or imaged or stored else frozenset()
    beside |= (_OF_MODELS if stored else frozenset()) | (_OF_SHARDS if shards else frozenset())
    # Of a hundred thousand files in a folder, mostly all are read or stand beside such.
    silent = beside | _NO_DATA
    odd = {one for one in spelled if one[1:].lower() not in silent and one.lower() not in _READ}
    odd |= {one for one in spelled if one[1:].lower() in _LEFT}
    rows = tuple(one for row in told_by_suffix() for one in row.suffixes)
    captions = found.captions_in(place) if imaged else ""
    for name in sorted(
        one for one in files if "." not in one or (odd and one[one.rfind(".") :] in odd)
    ):
        lower = name.lower()
        last = lower.rpartition(".")[2]
        if lower.endswith((".bin", ".ckpt")):
            is_read = cached and is_for_torch(os.path.join(place, name))
        elif last in _TABLES:  # one of captions, or the index of the shard beside it
            is_read = (name in TABLES and found.reads(Folder, place)) or (
                name.partition(".")[0] in shards
            )
        else:
            is_read = is_shard(name) or lower.endswith((*rows, *CACHE_SUFFIXES))
        is_read = is_read or (captions != "" and lower.endswith(captions))
        is_nothing = f".{last}" in lower and last in silent
        is_nothing = is_nothing or is_left_over(name) or _LOGS.fullmatch(lower) is not None
        hidden = name[0] in ".~" or (is_nothing and not _is_left_of_data(lower))
        if not (is_read or hidden):
            yield name


def _is_left_of_data(name: str) -> bool:
    stem, _, last = name.rpartition(".")
    return last in _LEFT and (is_shard(stem) or is_image(stem))


def _is_note(name: str, suffix: str, size: int, *, beside_code: bool) -> bool:
    """Whether a small file is about what lies around: a list, a licence, some settings."""
    stem, _, last = name.rpartition(".")
    if size >= _SMALL:
        return False
    may_be = last.lower() in _NOTES or suffix[1:] in _PERHAPS
    return may_be and (beside_code or _ABOUT.fullmatch(stem or name) is not None)


def suffix_in(name: str) -> str:
    """Give the suffix by which a file is counted: `.jsonl`, `.jsonl.gz`; empty where none is."""
    stem, dot, last = name.rpartition(".")
    if not (dot and stem and _SUFFIX.fullmatch(last)):
        return ""
    suffix = f".{last.lower()}"
    inner = stem.rpartition(".")[2]
    if last.lower() in _PACKED and inner != stem and _SUFFIX.fullmatch(inner):
        return f".{inner.lower()}{suffix}"
    return suffix


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
