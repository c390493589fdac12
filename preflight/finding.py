"""What a check says; public, for plug-ins too."""

from preflight.findings.finding import (
    Aside,
    Finding,
    Location,
    Row,
    Scalar,
    Scope,
    Severity,
    fingerprint,
)

__all__ = ["Aside", "Finding", "Location", "Row", "Scalar", "Scope", "Severity", "fingerprint"]
