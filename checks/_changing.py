"""Tells samples that are others each time that they are asked for."""

from __future__ import annotations

from collections.abc import Callable

from preflight.facts import Changing, FirstBatches
from preflight.finding import Finding, Severity
from preflight.values.names import shown


def of_changing(found: Callable[..., Finding], facts: FirstBatches, changing: Changing) -> Finding:
    """Say of one sample that it is another one each time, and not by chance."""
    at, dataset = changing.at, shown(changing.dataset)
    return found(
        "gives another sample each time that it is asked for the same one: "
        f"dataset[{shown(changing.sample)}] of {dataset}",
        at=(at if at.file else facts.defined).at(facts.name),
        severity=Severity.WARNING,
        why="No random number makes it so, and no other sample: what the data set keeps of this "
        "one is changed each time, as by `/=` or `sub_` in __getitem__. Each epoch trains on other "
        "data than the one before.",
        fix="Have __getitem__ work on a copy: `x = x / 255` in place of `x /= 255`, or `.clone()`.",
        evidence={"loader": facts.name, "dataset": dataset, "index": changing.sample},
        about=f"{facts.name} changing",
    )
