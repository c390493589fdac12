"""A pattern behaves as a compiled one, and is compiled when it is first matched with."""

from __future__ import annotations

import re
from typing import Any

import pytest

from preflight.patterns import pattern


@pytest.mark.parametrize("text", ["step-12", "STEP-3 and step-4", "", "none"])
@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_a_pattern_matches_as_a_compiled_one(text: str, flags: int) -> None:
    """Whatever method is asked, the first time and later."""
    ours: Any = pattern(r"step-(\d+)", flags)
    compiled = re.compile(r"step-(\d+)", flags)

    for _ in range(2):
        assert ours.findall(text) == compiled.findall(text)
        assert ours.sub("#", text) == compiled.sub("#", text)
        assert bool(ours.fullmatch(text)) == bool(compiled.fullmatch(text))
        assert [one.span() for one in ours.finditer(text)] == [
            one.span() for one in compiled.finditer(text)
        ]
    assert (ours.pattern, ours.flags, ours.groups) == (
        compiled.pattern,
        compiled.flags,
        compiled.groups,
    )


def test_nothing_is_compiled_before_the_first_match(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    real = re.compile

    def noted(*arguments: Any) -> Any:
        compiled.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(re, "compile", noted)
    ours = pattern(r"\d+")

    assert not compiled
    assert [bool(ours.match(text)) for text in ("1", "a", "2")] == [True, False, True]
    assert len(compiled) == 1


def test_what_a_pattern_does_not_have_is_an_error_as_of_a_compiled_one() -> None:
    ours: Any = pattern(r"\d+")

    with pytest.raises(AttributeError):
        ours.nothing  # noqa: B018  to ask is the test
