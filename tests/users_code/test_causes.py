"""What an exception was raised from is told beside it, where it says more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from preflight.users_code.frames import said_by


def raised_from(*errors: Exception) -> Exception:
    """Give the last of them, of which each was raised from the one before it."""
    for before, error in pairwise(errors):
        error.__cause__ = before
    return errors[-1]


def in_a_circle() -> Exception:
    one, other = ValueError("a"), ValueError("a, again")
    one.__cause__, other.__cause__ = other, one
    return one


def while_another_was_handled() -> Exception:
    try:
        try:
            {}["a"]
        except KeyError:
            raise OSError("gone")  # noqa: B904
    except OSError as error:
        return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("gone"), "OSError: gone"),
        (while_another_was_handled(), "OSError: gone"),
        (raised_from(KeyError("a"), OSError("has no 'a'")), "OSError: has no 'a'"),
        (raised_from(ValueError(), OSError("gone")), "OSError: gone"),
        (in_a_circle(), "ValueError: a"),
    ],
)
def test_what_says_no_more_is_left_out(error: Exception, said: str) -> None:
    assert said_by(error) == said


def test_the_first_of_a_chain_is_told() -> None:
    error = raised_from(OSError("a.parquet ends"), RuntimeError("no table"), ValueError("failed"))

    assert said_by(error) == "ValueError: failed (from OSError: a.parquet ends)"


def test_a_secret_of_any_of_their_frames_is_taken_out_of_both() -> None:
    def call(password: str) -> None:
        raise OSError(f"the server refuses {password}")

    def connect(password: str) -> None:
        try:
            call(password)
        except OSError as error:
            raise RuntimeError("no connection") from error

    with pytest.raises(RuntimeError) as caught:
        connect(password="8fK2-zq91-Lm")

    said = said_by(caught.value)
    assert said.startswith("RuntimeError: no connection (from OSError: the server refuses ")
    assert "8fK2" not in said


def test_a_text_that_is_meant_for_a_terminal_is_told_in_one_line_and_without_colours() -> None:
    error = RuntimeError(
        "Error(s) in loading: \n\tsize \x1b[1mmismatch\x1b[0m for a.\r\n\n  Twice  so."
    )

    assert said_by(error) == "RuntimeError: Error(s) in loading: size mismatch for a. Twice  so."
