"""Workers of a stream that make their samples by the same random numbers are told from others."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from preflight.batches.child.drawing_alike import workers_draw_alike

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("at_hand")]

NUMBER = 32


def divided(worker: int, workers: int) -> Iterator[Any]:
    yield from range(worker, NUMBER, workers)


def by_each(worker: int, workers: int) -> Iterator[Any]:
    rng = random.Random(worker)
    return (one + rng.random() for one in divided(worker, workers))


def by_the_process(worker: int, workers: int) -> Iterator[Any]:
    return (one + random.random() for one in divided(worker, workers))


def taken_in_turn(worker: int, workers: int) -> Iterator[Any]:
    """Give every n-th of what all workers make."""
    rng = random.Random(0)
    return itertools.islice((one + rng.random() for one in range(NUMBER)), worker, None, workers)


def in_one_order(worker: int, workers: int) -> Iterator[Any]:
    """Shuffle alike, divide, and change each by the worker's own numbers."""
    order = random.Random(0).sample(range(NUMBER), NUMBER)
    return (one + random.random() for one in order[worker::workers])


def of_two_sources(worker: int, workers: int) -> Iterator[Any]:
    """Take from one or the other as all workers do, and change each by its own numbers."""
    rng, left = random.Random(0), [*divided(worker, workers)]
    right = [one + 100 for one in left]
    while left and right:
        yield (left if rng.random() < 0.5 else right).pop() + 1e-3 * random.random()


def from_a_buffer(worker: int, workers: int) -> Iterator[Any]:
    rng, held = random.Random(0), list[int]()
    for one in divided(worker, workers):
        held.append(one)
        if len(held) > 5:
            yield held.pop(rng.randrange(len(held)))


def by_zero(worker: int, workers: int) -> Iterator[Any]:
    rng = random.Random(0)
    return (one + rng.random() for one in divided(worker, workers))


def flipped(worker: int, workers: int) -> Iterator[Any]:
    rng = random.Random(0)
    return ({"x": (one + 1) * rng.choice((-1, 1)), "id": one} for one in divided(worker, workers))


def seeded_process(worker: int, workers: int) -> Iterator[Any]:
    random.seed(0)
    yield from by_the_process(worker, workers)


SOUND = [
    *(divided, by_each, by_the_process, taken_in_turn, in_one_order, of_two_sources),
    from_a_buffer,
]


@pytest.mark.parametrize("give", [*SOUND, by_zero, flipped, seeded_process])
def test_random_numbers_that_make_samples_of_two_workers_are_known(
    give: Callable[[int, int], Iterator[Any]],
) -> None:
    """An order, or a choice, that workers have in common makes none."""
    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Any:
            info: Any = get_worker_info()
            return give(info.id, info.num_workers)

    loader: Any = DataLoader(Stream(), num_workers=2)

    assert workers_draw_alike(loader, 60) is (give not in SOUND)


def test_a_loader_without_several_workers_is_not_asked() -> None:
    from torch.utils.data import DataLoader

    loader: Any = DataLoader([1, 2], num_workers=1)  # type: ignore[arg-type]

    assert not workers_draw_alike(loader, 60)
