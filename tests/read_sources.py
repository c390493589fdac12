"""Reads sources against an environment, as a run does: a script at once, a folder in parts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from unittest import mock

from preflight.findings.looks import Looked
from preflight.kinds.asked import Asked
from preflight.kinds.rooms import load
from preflight.sources.facts import SourceFacts
from preflight.sources.gather import Sources
from preflight.sources.kind import SOURCE
from preflight.sources.read import look
from preflight.targets.targets import Built, Source
from preflight.values.wire import to_brief, to_wire
from tests.questions import run_of


def read_source(source: Source, root: str, environment: Mapping[str, str]) -> SourceFacts:
    """Give all that is seen of a script, or of the sources below a folder."""
    with mock.patch.dict(os.environ, {"PATH": os.environ["PATH"], **environment}, clear=True):
        if os.path.isdir(os.path.join(root, source.path)):
            return _of_folder(source, root)
        (facts,) = look(_asked(to_wire(source), root))
        return facts


def _of_folder(source: Source, root: str) -> SourceFacts:
    # Loops are looked at where there is code that makes batches.
    gather = Sources(SOURCE, run_of(root, source, Built(spec="train:make")))
    assert not list(gather.add(source))
    for asks in (gather.questions, gather.last_questions):
        for question in asks():
            found = load(question.kind.reader)(_asked(question.wire, root))
            told = tuple({"type": type(one).__name__, **to_brief(one)} for one in found)
            assert not list(gather.heard(question, told))
    (seen,) = (one for one in gather.come if isinstance(one, Looked))
    assert isinstance(seen.facts, SourceFacts)
    return seen.facts


def _asked(wire: Mapping[str, object], root: str) -> Asked:
    return Asked(
        wire=wire,
        options={"root": root},
        alive=lambda *_: None,
        step=lambda _: contextlib.nullcontext(),
        opening=lambda _: None,
        some=lambda *_: None,
        memory=0,
    )
