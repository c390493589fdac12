"""All ways by which a script may go on that declares no option for it, the likeliest first."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator, Sequence

from preflight.resuming.in_configs import configs_of, ways_by_config
from preflight.resuming.in_sources import ways_in
from preflight.resuming.moments import ResumeWay
from preflight.resuming.ways import AS_STARTED, may_go_on, way_written

_RUN = re.compile(r"exec\(\s*open\(\s*[\"']([\w./-]+\.py)[\"']")


def ways_read(
    texts: Sequence[str], given: Sequence[str], folders: Sequence[str]
) -> Iterator[ResumeWay]:
    """Give what is read of arguments, of the environment and of configurations; or nothing."""
    texts = [*texts, *_run_as_text(texts, folders)]
    way = way_written(texts)
    if way is not None:
        yield way
    yield from ways_in(texts, given)
    for path in configs_of(texts, given, folders):
        yield from ways_by_config(path, texts)
    if may_go_on(texts):
        yield AS_STARTED


def _run_as_text(texts: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """Give the files that are run without an import: `exec(open("configurator.py").read())`."""
    for name in dict.fromkeys(name for one in texts for name in _RUN.findall(one)):
        paths = (os.path.join(folder, name) for folder in folders)
        path = next(filter(os.path.isfile, paths), None)
        if path is not None:
            yield "".join(linecache.getlines(path))
