"""What rows say holds: their readers are there, and no two of them have the same name or facts."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from preflight.kinds.gather import Gather
from preflight.kinds.kind import Kind
from preflight.kinds.rooms import ROOMS, facts_of, gives, kind_of_facts, kinds, kinds_of, load

KINDS = {one.name: one for one in kinds()}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_a_row_names_can_be_imported(kind: Kind) -> None:
    """As late as the first target of the kind is met, by one process or the other."""
    assert issubclass(load(kind.gather), Gather)
    for place in filter(None, (kind.reader, kind.live)):
        assert isinstance(load(place), Callable)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_its_facts_are_frozen_values_that_are_told_by_their_names(kind: Kind) -> None:
    for facts in kind.facts:
        assert is_frozen_dataclass(facts)
        assert kind_of_facts(facts) is kind
    for answer in kind.answers:  # of which facts are made: no check is asked of it
        assert is_frozen_dataclass(answer) or hasattr(answer, "_field_defaults")


def is_frozen_dataclass(facts: Any) -> bool:
    return dataclasses.is_dataclass(facts) and bool(facts.__dataclass_params__.frozen)


def test_no_two_rows_have_one_name() -> None:
    """The ledger and the processes tell them by it."""
    types = [one for kind in kinds() for one in (*kind.facts, *kind.answers)]

    assert max(Counter(one.name for one in kinds()).values()) == 1
    assert max(Counter(one.__name__ for one in types).values()) == 1


def test_every_target_has_a_row_and_gives_what_its_rows_do() -> None:
    for kind in kinds():
        if kind.target is not None:
            assert kind in kinds_of(kind.target)
            assert set(kind.gives()) <= set(gives(kind.target))
        for target in kind.made_of:
            assert set(kind.facts) <= set(gives(target))


def test_every_room_with_rows_is_registered() -> None:
    rooms = {path.parent.name for path in ROOT.glob("preflight/*/kind.py")} - {"kinds"}

    assert rooms == set(ROOMS)


def test_plain_facts_of_no_row_are_refused() -> None:
    with pytest.raises(KeyError):
        facts_of({"type": "Weather", "sunny": True})
