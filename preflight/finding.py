"""What a check says; public, for plug-ins too."""

from preflight.findings.finding import (
    Finding,
    Location,
    Row,
    Scalar,
    Scope,
    Severity,
    fingerprint,
)

__all__ = ["Finding", "Location", "Row", "Scalar", "Scope", "Severity", "fingerprint"]
