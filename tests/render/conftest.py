"""The reports that every format is tried on, and snapshots that are kept as text beside the tests.

PREFLIGHT_RENEW=1 pytest tests/render

writes the snapshots anew; read their difference before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from preflight.findings.report import Report
from tests.render.jobs import REPORTS
from tests.render.sample import everything

SNAPSHOTS = Path(__file__).parent / "snapshots"

# Read here, since tests run without the environment's PREFLIGHT_ variables.
RENEW = os.environ.get("PREFLIGHT_RENEW") == "1"


@pytest.fixture
def sample() -> Report:
    return everything()


@pytest.fixture(params=list(REPORTS))
def report(request: pytest.FixtureRequest) -> Report:
    made: Report = REPORTS[request.param]()
    return made


@pytest.fixture
def snapshot() -> Callable[[str, str], None]:
    """Compare a text with the one that is kept under this name, byte by byte."""

    def compare(name: str, text: str) -> None:
        path = SNAPSHOTS / name
        if RENEW:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        assert path.read_bytes().decode() == text

    return compare
