"""How many samples a batch holds, as far as it tells."""

from __future__ import annotations

import pytest
import torch
from PIL import Image

from preflight.batches.rows import count

IMAGE = Image.new("RGB", (4, 4))

BATCHES = {
    "tensors": ((torch.zeros(4, 3), torch.zeros(4)), 4),
    "tensors and texts": ([torch.zeros(2, 3), ["a cat", "a dog"]], 2),
    "a dict": ({"x": torch.zeros(5, 3), "names": ["a"] * 5}, 5),
    "pictures": ([IMAGE, IMAGE, IMAGE], 3),
    "samples that nobody put together": ([(IMAGE, "a cat"), (IMAGE, "a dog")], 2),
    "texts": (["a cat", "a dog"], 2),
    "a picture and its caption": ((IMAGE, "a cat"), None),
    "one tensor and its caption": ((torch.zeros(3, 8, 8), "a cat"), None),
    "sequences of several lengths": ([torch.zeros(2, 3), torch.zeros(5, 3)], 2),
}


@pytest.mark.parametrize(("batch", "samples"), BATCHES.values(), ids=BATCHES)
def test_samples_are_counted_where_a_batch_tells(batch: object, samples: int | None) -> None:
    assert count(batch) == samples
