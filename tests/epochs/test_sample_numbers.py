"""How many samples a batch holds, as far as it tells."""

from __future__ import annotations

import pytest
import torch
from PIL import Image

from preflight.epochs.sample_numbers import columns_of, count

IMAGE = Image.new("RGB", (4, 4))

BATCHES = {
    "tensors": ((torch.zeros(4, 3), torch.zeros(4)), 4),
    "tensors and texts": ([torch.zeros(2, 3), ["a cat", "a dog"]], 2),
    "a dict": ({"x": torch.zeros(5, 3), "names": ["a"] * 5}, 5),
    "pictures": ([IMAGE, IMAGE, IMAGE], 3),
    "samples that nobody put together": ([(IMAGE, "a cat"), (IMAGE, "a dog")], 2),
    "samples of a tensor and a text": ([(torch.zeros(3, 8, 8), "a cat")] * 4, 4),
    "samples of tensors": ([(torch.zeros(3, 8, 8), torch.zeros(3))] * 4, 4),
    "samples as lists": ([[torch.zeros(3, 8, 8), 7]] * 4, 4),
    "samples as dicts": ([{"__key__": "0", "jpg": torch.zeros(3, 8, 8)}] * 4, 4),
    "a list of columns": ([[IMAGE] * 4, ["a cat"] * 4], 4),
    "dicts of columns": (({"x": torch.zeros(4, 3)}, {"y": torch.zeros(4), "n": ["a"] * 4}), 4),
    "dicts of columns of one name": (({"x": torch.zeros(4, 3)}, {"x": torch.zeros(4)}), 4),
    "one tensor": (torch.zeros(4, 3), 4),
    "a tuple of columns": (((torch.zeros(4),) * 4, (torch.ones(4),) * 4), 4),
    "texts": (["a cat", "a dog"], 2),
    "a picture and its caption": ((IMAGE, "a cat"), None),
    "one tensor and its caption": ((torch.zeros(3, 8, 8), "a cat"), None),
    "sequences of several lengths": ([torch.zeros(2, 3), torch.zeros(5, 3)], 2),
}


@pytest.mark.parametrize(("batch", "samples"), BATCHES.values(), ids=BATCHES)
def test_samples_are_counted_where_a_batch_tells(batch: object, samples: int | None) -> None:
    assert count(batch) == samples


TOLD = {
    "samples as dicts of tensors": ([{"x": torch.zeros(3, 8)}] * 4, 4),
    "samples as lists of tensors": ([[torch.zeros(3, 8), torch.zeros(3)]] * 4, 4),
    "tokens": ([[1, 2, 3]] * 4, 4),
    "columns as tuples": ([(torch.zeros(3),) * 4, (torch.ones(3),) * 4], 4),
    "a last one of samples": ([(torch.zeros(3, 8), torch.zeros(3))] * 2, 2),
}


@pytest.mark.parametrize(("batch", "samples"), TOLD.values(), ids=TOLD)
def test_they_are_counted_where_the_size_of_a_full_batch_tells(batch: object, samples: int) -> None:
    assert count(batch, 4) == samples


COLUMNS = {
    "texts and answers": ([("a",) * 4, ("b",) * 4], [("a",) * 3, ("b",) * 3], 3),
    "as torch puts pictures together": (([IMAGE] * 4, [0] * 4), ([IMAGE], [0]), 1),
    "samples that nobody put together": ([("a", "b")] * 4, [("a", "b")] * 3, 3),
    "samples as lists": ([["a", "b"]] * 4, [["a", "b"]] * 3, 3),
    "pictures and the boxes of all": (
        (torch.zeros(4, 3), torch.zeros(9, 6)),
        (torch.zeros(4, 3), torch.zeros(2, 6)),
        None,
    ),
    "pictures and as many boxes": (
        (torch.zeros(4, 3), torch.zeros(4, 6)),
        (torch.zeros(4, 3), torch.zeros(2, 6)),
        None,
    ),
    "sequences of several lengths": (
        [torch.zeros(n) for n in (1, 2, 3, 4)],
        [torch.zeros(n) for n in (5, 6)],
        2,
    ),
    "columns of several heights": ([("a",) * 4, ("b",) * 4], [("a",) * 2, ("b",) * 3], None),
    "another number of columns": ([("a",) * 4, ("b",) * 4], [("a",) * 4] * 3, 4),
    "tensors": ([torch.zeros(4, 3), torch.zeros(4)], [torch.zeros(3, 3), torch.zeros(3)], 3),
}


@pytest.mark.parametrize(("full", "last", "samples"), COLUMNS.values(), ids=COLUMNS)
def test_a_last_batch_is_read_as_the_full_ones_before_it(
    full: object, last: object, samples: int | None
) -> None:
    """Two texts in each of two tuples may be two samples, or two columns."""
    assert count(last, 4, columns_of(full, 4)) == samples
