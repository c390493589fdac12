"""Looks at a model in its own process, for a caller who hands it over."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.looks import Look, Looked
from preflight.kinds.asked import MistypedError
from preflight.models.read import copy_model
from preflight.objects.copying.refusing import is_module
from preflight.settings.job import Job


def look(model: object, job: Job) -> Iterator[Look]:
    """Try a copy of it, without its memory."""
    if not is_module(model):
        raise MistypedError(f"inspect(model=…): {type(model).__qualname__} is no nn.Module")
    found = copy_model(model, name="model", root=job.root, factory=None, sources=())
    yield Looked(facts=found)
