"""A long error is shortened without what must not be told."""

from __future__ import annotations

import pytest

from checks._first_line import first_line


@pytest.mark.parametrize("before", range(0, 260, 13))
def test_a_secret_that_would_be_cut_in_two_is_taken_out_before(before: int) -> None:
    address = "https://me:cnryurlpwABCDEFGHJKL@h.example/x"
    text = f"OSError: {'word ' * (before // 5)}{address} {'t ' * 200}"

    said = first_line(text)

    assert len(said) < len(text)
    assert not any("cnryurlpwABCDEFGHJKL"[at : at + 4] in said for at in range(17))
