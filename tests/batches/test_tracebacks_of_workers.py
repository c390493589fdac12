"""What workers raise is told as what was raised, and where."""

from __future__ import annotations

import pytest

from preflight.batches.tracebacks import in_worker


def failing(sample: int) -> int:
    raise ValueError(f"bad sample {sample}")


@pytest.mark.parametrize("depth", [1, 2])
def test_what_a_worker_raised_is_read_off_the_error_that_torch_makes_of_it(depth: int) -> None:
    """Also where the data set has a loader with workers of its own."""
    from torch._utils import ExceptionWrapper

    made: BaseException = ValueError()
    try:
        failing(5)
    except ValueError as error:
        made = error
    for _ in range(depth):
        try:
            raise made
        except ValueError:
            wrapped = ExceptionWrapper(where="in DataLoader worker process 0")
        try:
            wrapped.reraise()
        except ValueError as error:
            made = error

    said, calls = in_worker(made)

    assert said == "ValueError: bad sample 5"
    assert calls[-1].name == "failing"


def test_an_error_of_the_script_itself_is_left_as_it_is() -> None:
    assert in_worker(ValueError("Caught nothing")) == ("", ())
