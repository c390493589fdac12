"""Machines as the checks are asked about them, without a look at one."""

from __future__ import annotations

from collections.abc import Mapping

from preflight.host.facts import Gpus, HostFacts


def host(gpus: Gpus, environment: Mapping[str, str] | None = None) -> HostFacts:
    """Make a machine of these GPUs on which this is set."""
    return HostFacts(
        system="Linux",
        python="3.11.7",
        cpus=8,
        memory=2**36,
        available=2**35,
        disk_free=2**40,
        gpus=gpus,
        environment=environment or {},
    )
