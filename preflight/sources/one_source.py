"""Looks at one source by itself. Most of a tree hold no word that matters, and are not parsed."""

from __future__ import annotations

import re
from typing import NamedTuple

from preflight.pipelines.facts import RESAMPLED
from preflight.pipelines.image_folder_calls import class_folders_in
from preflight.pipelines.written import may_open
from preflight.sources.batch_loops.handed import handed_on
from preflight.sources.batch_loops.loops import batch_loops, may_loop
from preflight.sources.environment_reads import environment_reads
from preflight.sources.facts import Draws, SourceFile
from preflight.sources.file_names.file_use import files_used_in, may_use_files
from preflight.sources.flaws.find import flaws_in
from preflight.sources.flaws.words import Signs, signs_in
from preflight.sources.loader_calls import draws_in
from preflight.sources.mentions import trains
from preflight.sources.unguarded import unguarded_alone
from preflight.syntax.bodies import bodies
from preflight.syntax.parsing import Parsed, UnparsableError, parse
from preflight.syntax.process_groups import JOINS
from preflight.syntax.source_files import content_of, is_test

# Whoever touches the environment writes one of these, and so does whoever makes a loader.
_ENVIRONMENT = (b"environ", b"getenv", b"putenv", b"dotenv", JOINS.encode())
_LOADERS = (b"DataLoader", b"WebLoader", b"num_workers")
_LOOPS = (b"oader", b"batch")
_SHARDS = (
    b"resampled",
    b"WebDataset",
    b"DataPipeline",
    b"zst",
    *(one.encode() for one in sorted(RESAMPLED)),
)

# With what folders are read of which each is a class.
_CLASSES = (b"ImageFolder", b"ImageDataset", b"create_dataset")

_MAIN = re.compile(rb"^if\s+__name__\s*==\s*[\"']__main__", re.MULTILINE)

# Loops, or calls a function or what runs something, as soon as it is imported; what a parser or a
# logger is told there is said to prepare it.
_ACTS = re.compile(
    rb"^(?:for|while|with)\b|^(?:\w[\w, ]*= *)?\w+\(|^\w[\w.]*\.(?:fit|train|run|launch|Fire)\(",
    re.MULTILINE,
)


class Words(NamedTuple):
    """What a source may hold, by its bytes."""

    environment: bool
    loaders: bool = False
    shards: bool = False
    classes: bool = False
    files: bool = False
    flaws: Signs = Signs()
    loops: bool = False

    @property
    def any(self) -> bool:
        """Whether it has to be parsed."""
        return any((*self[:5], self.loops, *self.flaws))


def speaks_of_environment(content: bytes) -> bool:
    """Say whether a source may read or set a variable of the environment, without parsing it."""
    return any(word in content for word in _ENVIRONMENT)


def words_in(content: bytes, name: str, *, loops: bool = True) -> Words:
    """Say of what a source may speak, without parsing it; of loops over batches where asked."""
    loops = loops and not is_test(name) and any(word in content for word in _LOOPS)
    return Words(
        environment=speaks_of_environment(content),
        loaders=any(word in content for word in _LOADERS),
        shards=any(word in content for word in _SHARDS),
        classes=not is_test(name) and any(word in content for word in _CLASSES),
        files=not is_test(name) and may_use_files(content),
        flaws=Signs() if is_test(name) else signs_in(content),
        loops=loops and may_loop(content),
    )


def look_into(
    path: str, name: str, place: int = 0, *, loops: bool = True, whole: bool = False
) -> SourceFile | None:
    """Look at a file, by itself; None where nothing in it matters, and it can be parsed if asked.

    Of one that says nothing that matters, only `whole` has it parsed.
    """
    bare = SourceFile(file=name)
    try:
        content = content_of(path)
        words = words_in(content, name, loops=loops)
        found = bare = bare._replace(is_script=_is_script(content, name))
        if words.any or whole:
            found = of_parsed(parse(content), name, words)._replace(is_script=bare.is_script)
    except UnparsableError as error:
        told = str(error.line or ""), str(error)
        return bare._replace(place=place, unreadable=told)
    except OSError as error:
        return bare._replace(place=place, unreadable=("", error.strerror or str(error)))
    return None if found == SourceFile(file=name) else found._replace(place=place)


def _is_script(content: bytes, name: str) -> bool | None:
    if is_test(name) or (b"__main__" in content and _MAIN.search(content)):
        return not is_test(name)
    return None if trains(name) and _ACTS.search(content) else False


def of_parsed(parsed: Parsed, name: str, words: Words) -> SourceFile:
    """Say what a parsed file holds."""
    reads = environment_reads(parsed, name) if words.environment else None
    every = bodies(parsed.tree) if words.loops or any(words.flaws) else ()
    loops = tuple(batch_loops(every, name)) if words.loops else ()
    return SourceFile(
        file=name,
        reads=reads.reads if reads else (),
        stores=reads.stores if reads else (),
        loads_dotenv=reads is not None and reads.loads_dotenv,
        unguarded=unguarded_alone(parsed, name) if words.loaders else None,
        draws=draws_in(parsed.tree) if words.shards else Draws(),
        flaws=flaws_in(parsed, every, name, words.flaws),
        loops=loops,
        handed=handed_on(every, name, loops) if words.loops else (),
        class_folders=class_folders_in(parsed, name) if words.classes else (),
        uses=files_used_in(parsed, name) if words.files else (),
        opens=words.shards and may_open(parsed, name),
    )
