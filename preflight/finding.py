"""What a check says; public, for plug-ins too."""

from preflight.findings.finding import Finding, Location, Scalar, Scope, Severity, fingerprint

__all__ = ["Finding", "Location", "Scalar", "Scope", "Severity", "fingerprint"]
