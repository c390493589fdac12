"""The row of the machine."""

from __future__ import annotations

from preflight.host.facts import HostFacts
from preflight.kinds.kind import Kind
from preflight.targets.targets import Host

HOST = Kind(
    name="host",
    noun="machine",
    word="host",
    target=Host,
    facts={HostFacts: "machine"},
    of_job=False,
    machine=True,
    reader="preflight.host.read:look",
    gather="preflight.host.gather:Hosts",
    seconds=lambda _plain, _root, _depth: 0.03,
)

KINDS = (HOST,)
