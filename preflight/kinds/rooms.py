"""Where rooms are registered. Each has a module `kind`, whose `KINDS` are its rows."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from preflight.kinds.kind import Kind
from preflight.values.wire import from_wire

# In the order in which processes are asked about what is in them.
ROOMS = (
    "targets",
    "shards",
    "caches",
    "images",
    "zips",
    "datasets",
    "sources",
    "host",
    "keys",
    "storage",
    "tensors",
    "loaders",
    "models",
    "built",
    "batches",
    "ranks",
    "scripts",
    "launched",
)


@functools.cache
def kinds() -> tuple[Kind, ...]:
    """Give every row of every room."""
    rooms = [importlib.import_module(f"preflight.{room}.kind") for room in ROOMS]
    return tuple(kind for room in rooms for kind in room.KINDS)


def kinds_of(target: type) -> tuple[Kind, ...]:
    """Give the rows that are about targets of a type."""
    return _by_target().get(target, ())


@functools.cache
def _by_target() -> Mapping[type, tuple[Kind, ...]]:
    types = {one.target for one in kinds() if one.target is not None}
    return {target: tuple(one for one in kinds() if one.target is target) for target in types}


def gives(target: type) -> tuple[type, ...]:
    """Give the types of facts that are to be had of a target, by itself or with others."""
    return _gives()[target]


@functools.cache
def _gives() -> Mapping[type, tuple[type, ...]]:
    found: dict[type, dict[type, None]] = {target: {} for target in _by_target()}
    for row in kinds():
        for target in (row.target, *row.made_of):
            if target is not None:
                found[target].update(dict.fromkeys(row.gives()))
    return {target: tuple(facts) for target, facts in found.items()}


def kind_of_facts(facts: type) -> Kind | None:
    """Give the row whose facts are of a type."""
    return _by_facts().get(facts)


@functools.cache
def _by_facts() -> Mapping[type, Kind]:
    return {facts: row for row in kinds() for facts in row.facts}


@functools.cache
def _answers() -> Mapping[str, type]:
    return {one.__name__: one for row in kinds() for one in (*row.facts, *row.answers)}


def facts_of(plain: Mapping[str, Any]) -> Any:
    """Build the facts that a process gave as plain values."""
    own = {key: value for key, value in plain.items() if key != "type"}
    return from_wire(_answers()[plain["type"]], own)


def load(place: str) -> Any:
    """Import what a row names: `preflight.shards.read:look`."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
