"""Which tensors hold a value that is no number: the quick sum against the values themselves."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from preflight.training.finite import not_finite

NUMBERS = st.floats(width=32)
TENSORS = st.lists(st.lists(NUMBERS, min_size=1, max_size=6), max_size=5)


@settings(deadline=None)  # the first example may import what torch puts off
@given(TENSORS)
def test_the_quick_way_says_what_the_values_say(values: list[list[float]]) -> None:
    tensors = [torch.tensor(one, dtype=torch.float32) for one in values]
    exact = [n for n, one in enumerate(tensors) if not torch.isfinite(one).all()]

    assert not_finite(tensors) == exact


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_a_sum_that_is_too_large_is_no_such_value(kind: torch.dtype) -> None:
    largest = torch.full((9,), torch.finfo(kind).max, dtype=kind)

    assert not_finite([largest]) == []
    assert not_finite([largest, torch.tensor([1.0, torch.inf], dtype=kind)]) == [1]


def test_tensors_of_several_types_keep_their_places() -> None:
    bad = torch.tensor([torch.nan])

    assert not_finite([torch.ones(2), bad.half(), torch.ones(1).half(), bad]) == [1, 3]


def test_what_cannot_be_asked_is_left_out() -> None:
    sparse = torch.tensor([torch.nan]).to_sparse()

    assert not_finite([torch.empty(0), torch.ones(2, device="meta"), sparse]) == []
    assert not_finite([torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.bool)]) == []
