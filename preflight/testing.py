"""For tests of checks, also of plug-ins: ask a check about facts, or run a whole case.

from preflight.testing import ask

assert ask("shard-damaged", ShardFacts(...)) == []
"""

from __future__ import annotations

from preflight.findings import registry
from preflight.findings.finding import Finding
from preflight.settings.job import Job


def ask(check_id: str, facts: object, job: Job | None = None) -> list[Finding]:
    """Ask one check about one value of facts, and give all that it says.

    Raises:
        KeyError: there is no such check.
        TypeError: the check is not about facts of this type.
    """
    checks, _ = registry.load()
    one = checks[check_id]
    if not isinstance(facts, one.over):
        kinds = " or ".join(kind.__name__ for kind in one.over)
        raise TypeError(f"{check_id} is about {kinds}, not {type(facts).__name__}")
    return list(one.ask(facts, job or Job()))
