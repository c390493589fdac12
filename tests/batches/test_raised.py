"""What is told of an exception that comes while a batch is fetched."""

from __future__ import annotations

import gc
import multiprocessing
import os
import time
import weakref

import pytest

from preflight.batches.child.drawing import Drawable, draw, raised


def leave() -> None:
    os._exit(7)


def stay() -> None:
    time.sleep(100)


class Fetches:
    """As torch's iterator does, of whose workers one has ended."""

    def __init__(self, *does: object) -> None:
        context = multiprocessing.get_context("fork")
        self._workers = [context.Process(target=one) for one in does]
        for one in self._workers:
            one.start()

    def end(self) -> None:
        """Leave none behind."""
        for one in self._workers:
            one.kill()
            one.join()

    def fetch(self, error: Exception) -> None:
        """Raise, as a pipe does."""
        raise error


def told_of(fetches: Fetches, error: Exception) -> dict[str, object]:
    with pytest.raises(type(error)) as caught:
        fetches.fetch(error)
    try:
        return raised(caught.value, os.getcwd(), ())
    finally:
        fetches.end()


@pytest.mark.parametrize("error", [EOFError(), ConnectionResetError(104, "reset")])
def test_a_pipe_that_ends_with_its_worker_is_a_worker_that_died(error: Exception) -> None:
    told = told_of(Fetches(stay, leave), error)

    assert (told["ended"], told["exit_status"], told["worker"]) == ("died", 7, 1)


def test_a_worker_is_known_that_is_heard_of_while_its_iterator_is_not_at_work() -> None:
    """The handler of signals raises wherever the process is: here, as it tells of a batch."""
    fetches = Fetches(stay, leave)
    told: dict[str, object] = {}

    class Iterator:
        _workers = fetches._workers

        def __iter__(self) -> Iterator:
            return self

        def __next__(self) -> list[int]:
            return [1]

    def tell(**said: object) -> None:
        told.update(said)
        if "batch" in said:
            pid = fetches._workers[1].pid
            raise RuntimeError(f"DataLoader worker (pid {pid}) exited unexpectedly")

    class Loader:
        def __iter__(self) -> Iterator:
            return Iterator()

    try:
        draw([Drawable("loader", Loader(), {"defined": None})], tell, root="/", folders=())
    finally:
        fetches.end()

    assert (told["ended"], told["exit_status"], told["worker"]) == ("died", 7, 1)


def test_the_end_of_a_file_is_none_of_a_worker() -> None:
    told = told_of(Fetches(stay), EOFError("the file was cut"))

    assert (told["ended"], told["exit_status"]) == ("raised", None)
    assert told["error"] == "EOFError: the file was cut"


def test_what_the_frames_of_an_error_hold_is_let_go_once_it_was_told() -> None:
    """As torch's do: the collector that found an iterator would wait for its workers, 5 s each."""
    held: list[weakref.ref[Fetches]] = []

    def fetch() -> None:
        iterator, error = Fetches(), KeyError("fname")
        held.append(weakref.ref(iterator))
        raise error

    gc.disable()
    try:
        fetch()
    except KeyError as error:
        told = raised(error, "/", [])
    finally:
        gc.enable()

    assert told["error"] == "KeyError: 'fname'"
    assert held[0]() is None
