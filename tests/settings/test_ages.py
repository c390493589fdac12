"""Lengths of time are read and said with their units."""

from __future__ import annotations

import pytest

from preflight.settings.ages import format_age, parse_age


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30d", 2_592_000), ("12h", 43_200), ("1.5m", 90), ("7 s", 7), ("2w", 1_209_600), ("0", 0)],
)
def test_an_age_is_a_number_with_its_unit(text: str, seconds: float) -> None:
    """Only 0 is the same in every unit."""
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "30 days", "1e9d", "nan", "9" * 30 + "d"])
def test_what_is_no_age_is_refused(text: str) -> None:
    """A bare number could be days or seconds."""
    with pytest.raises(ValueError, match="such as 30d, 12h or 0"):
        parse_age(text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "less than a second"),
        (1, "1 second"),
        (119, "1 minute"),
        (11_000, "3 hours"),
        (86_400, "1 day"),
        (400 * 86_400, "400 days"),
    ],
)
def test_an_age_is_said_in_its_largest_unit(seconds: float, said: str) -> None:
    """Nobody wants more digits of what is long ago."""
    assert format_age(seconds) == said
