"""A check that fails is a bug of whoever wrote it, and hides nothing that others found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.findings.judge import ask_checks
from preflight.findings.looks import Looked
from preflight.findings.report import Broken
from preflight.session.summary import words
from preflight.settings.job import Job
from preflight.shards.facts import ShardFacts


def broken_by(check_id: str) -> Broken:
    """Have a check of this id fail."""

    def fails(_facts: object, _job: Job) -> Iterator[Finding]:
        raise KeyError("absent")
        yield

    check = replace(registry.built_in()["shard-damaged"], id=check_id, ask=fails)
    look = Looked(facts=ShardFacts(file="a.tar", size=1, damage=(), members=0, samples=0))
    judged = ask_checks({check_id: check}, Job(), [look], tell=lambda _: None, words=words)
    (outcome,) = judged.outcomes
    (broken,) = outcome.broken
    return broken


def test_a_check_of_ours_that_fails_is_a_bug_of_preflight() -> None:
    broken = broken_by("shard-damaged")

    assert broken.error.startswith("the check shard-damaged failed; a bug of preflight: KeyError")
    assert "preflight/findings/judge.py:" in broken.error
    assert (broken.fix or "").endswith("preflight report")


@pytest.mark.parametrize("check_id", ["plugin/shard-damaged"])
def test_a_check_of_a_plug_in_is_not_ours(check_id: str) -> None:
    broken = broken_by(check_id)

    assert broken.error == "the check plugin/shard-damaged failed: KeyError: 'absent'"
    assert broken.fix is None
