"""What a check is written with; public, for plug-ins too."""

from preflight.findings.check import API, Check, Foreign, check
from preflight.findings.finding import Finding, Location, Scope, Severity
from preflight.settings.job import Job

__all__ = ["API", "Check", "Finding", "Foreign", "Job", "Location", "Scope", "Severity", "check"]
