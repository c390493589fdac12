"""A source whose text shows no sign of a flaw is not parsed; each way of reading a name is one."""

from __future__ import annotations

import pytest

from preflight.sources.flaws.words import signs_in

TRY = "try:\n    size = ask()\nexcept OSError:\n    {}\n"


@pytest.mark.parametrize(
    "line",
    [
        "log(size)",
        'log(f"{size}")',
        'log(fr"{size}")',
        "log(rf'{size:,}')",
        'log("it\'s", size)',
        "size += 1",
        "raise Late(size) from None  # it's late",
    ],
)
def test_a_name_that_a_handler_may_read_is_a_sign(line: str) -> None:
    assert signs_in(TRY.format(line).encode()).unbound


@pytest.mark.parametrize(
    "line",
    ["size = None", 'log("no size")', "from own import size", "pass  # size", 'log(f"size {1}")'],
)
def test_a_name_that_it_binds_or_writes_as_text_is_none(line: str) -> None:
    assert not signs_in(TRY.format(line).encode()).unbound
