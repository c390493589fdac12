"""The way in which processes start by default depends on the system and on Python."""

from __future__ import annotations

import multiprocessing

import pytest

from preflight.host.start_method import default_start_method


@pytest.mark.parametrize(
    ("system", "version", "method", "reason"),
    [
        ("linux", (3, 10), "fork", "the default of Python 3.10 on Linux"),
        ("linux", (3, 13), "fork", "the default of Python 3.13 on Linux"),
        ("linux", (3, 14), "forkserver", "the default of Python 3.14 on Linux"),
        ("darwin", (3, 11), "spawn", "the default of macOS"),
        ("darwin", (3, 14), "spawn", "the default of macOS"),
        ("win32", (3, 14), "spawn", "the default of Windows"),
    ],
)
def test_each_platform_has_its_own(
    system: str, version: tuple[int, int], method: str, reason: str
) -> None:
    assert default_start_method(system, version) == (method, reason)


def test_it_is_what_python_itself_would_do_here() -> None:
    """The first of the ways that it has is its default."""
    assert default_start_method()[0] == multiprocessing.get_all_start_methods()[0]
