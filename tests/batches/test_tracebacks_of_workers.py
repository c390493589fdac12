"""What workers raise is told as what was raised, and where."""

from __future__ import annotations

import traceback

import pytest

from preflight.batches.tracebacks import in_epoch, in_worker
from preflight.users_code.frames import said_by


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

    said = in_worker(made)

    assert said is not None
    assert said.error == "ValueError: bad sample 5"
    assert said.calls[-1].name == "failing"


def test_what_a_spawned_process_raised_is_read_off_as_well() -> None:
    from torch.multiprocessing.spawn import ProcessRaisedException

    try:
        failing(5)
    except ValueError:
        text = traceback.format_exc()
    # As torch words it.
    text = f"\n\n-- Process 1 terminated with the following error:\n{text}"

    said = in_worker(ProcessRaisedException(text, 1, 4711))

    assert said is not None
    assert said.error == "ValueError: bad sample 5"
    assert said.calls[-1].name == "failing"


def test_an_error_of_the_script_itself_is_left_as_it_is() -> None:
    assert in_worker(ValueError("Caught nothing")) is None


def test_a_text_of_several_lines_is_told_alike_with_workers_and_without() -> None:
    from torch._utils import ExceptionWrapper

    long = "sample 9 is not\nwhat it should be:\n\tline 1\n\nline 2"
    made: BaseException = ValueError(long)
    try:
        raise made
    except ValueError:
        wrapped = ExceptionWrapper(where="in DataLoader worker process 0")
    try:
        wrapped.reraise()
    except ValueError as error:
        made = error

    said = in_worker(made)

    assert said is not None
    assert said.error == said_by(ValueError(long))
    assert said.error == "ValueError: sample 9 is not what it should be: line 1 line 2"


def test_what_is_printed_outside_of_an_epoch_is_not_of_it() -> None:
    def marked(number: int, word: str) -> str:
        return f"\n-- preflight: epoch {number} {word} --\n"

    ended = marked(7, "begins") + "mine" + marked(7, "ends") + "behind it"
    stuck = "before" + marked(8, "begins") + "its own" + marked(9, "begins") + "of another one"

    assert in_epoch("before" + ended, 7) == "mine"
    assert in_epoch(stuck, 8) == "its own"
    assert in_epoch("so much that its begin is lost" + marked(7, "ends"), 7) == ""
