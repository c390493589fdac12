"""What tests of reading files share."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from preflight.file_access.large import Large


@pytest.fixture
def large() -> Iterator[Callable[..., Large]]:
    """Give what opens a file as a large one; all are closed in the end."""
    with contextlib.ExitStack() as opened:

        def open_large(path: Path, tell: Callable[[], object] = lambda: None) -> Large:
            return Large(opened.enter_context(io.FileIO(path)), lambda: (tell(), None)[1])

        yield open_large
