"""The row of the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from preflight.findings.finding import Severity
from preflight.host.facts import HostFacts
from preflight.kinds.kind import Kind
from preflight.kinds.same import Same
from preflight.targets.targets import Host


def _alike(facts: HostFacts, _root: str) -> Iterator[Same]:
    """Give what is installed on a machine, and its GPUs."""
    yield Same(what="Python", value=facts.python)
    for name, version in facts.packages.items():
        severity = Severity.ERROR if name == "torch" else Severity.WARNING
        yield Same(what=name, value=version, absent="not installed", severity=severity)
    if facts.gpus.driver is not None:
        yield Same(what="the driver of NVIDIA", value=facts.gpus.driver)
    names = Counter(one.name for one in facts.gpus.gpus if one.error is None)
    if names:
        yield Same(what="GPUs", value=", ".join(f"{n} x {name}" for name, n in names.items()))


HOST = Kind(
    name="host",
    noun="machine",
    word="host",
    target=Host,
    facts={HostFacts: "machine"},
    of_job=False,
    alike={HostFacts: _alike},
    machine=True,
    reader="preflight.host.read:look",
    gather="preflight.host.gather:Hosts",
    seconds=lambda _plain, _root, _depth: 0.03,
)

KINDS = (HOST,)
