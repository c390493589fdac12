"""Looks at a loader in the caller's own process, or at the loaders of what holds some."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.built.making import holders
from preflight.built.making.blame import RaisedError
from preflight.built.making.generators import what_gives
from preflight.findings.finding import Location
from preflight.findings.looks import Failed, Look, Looked
from preflight.kinds.asked import CannotLookError
from preflight.loaders import live
from preflight.loaders import sent as loader
from preflight.loaders.facts import Loaded, Sent
from preflight.settings.job import Job

_AT = Location(name="loader")
_NAME_IT = (
    "Name the function that gives it, which has batches drawn:  preflight run FILE.py:FUNCTION"
)


def look(thing: object, job: Job) -> Iterator[Look]:
    """Look at each loader that there is, as the command line does; what is none says so itself.

    Of a holder that is to be asked for its loaders, what it raises goes up to the caller.
    """
    try:
        found = dict(holders.walk("loader", thing, _loader) or ())
    except CannotLookError as error:
        yield Failed(at=_AT, error=str(error), kinds=(Sent, Loaded), fix=error.fix)
        return
    except RaisedError as raised:
        raise raised.error from None
    what = "" if found else what_gives(thing)
    if what:
        why = f"it is {what}: nothing is seen of them before some are drawn, which is not done here"
        yield Failed(at=_AT, error=why, kinds=(Sent, Loaded), fix=_NAME_IT)
        return
    for name, one in (found or {"loader": thing}).items():
        yield from live.look(one, job, name)
        for reads in loader.reads_of(one, loader.Known(name, job.root)):
            yield Looked(facts=reads)


def _loader(name: str, thing: object) -> list[tuple[str, object]] | None:
    return [(name, thing)] if loader.is_loader(thing) else None
