"""Asks about the machine, unless the job will run on another one."""

from __future__ import annotations

from collections.abc import Iterator

from preflight.findings.looks import Left, Look
from preflight.host.facts import HostFacts
from preflight.kinds.gather import Gather
from preflight.targets.targets import Host


class Hosts(Gather):
    """The machine, and recordings of others."""

    def add(self, target: Host) -> Iterator[Look]:
        """Leave this machine alone where the job will run elsewhere."""
        if self.run.job.launch.elsewhere:
            yield Left(reason="the job will run on another machine", kinds=(HostFacts,))
        if not (target.implied and self.run.job.launch.elsewhere):
            self.targets.append(target)
