"""The report as JSON, schema 1, for other programs: two spaces deep, always in the same order."""

from __future__ import annotations

import json

from preflight.findings.report import Report


def render(report: Report) -> str:
    r"""Give the report as indented JSON in pure ASCII; bytes that are no UTF-8 read `\xe9`."""
    plain = json.loads(report.to_json())
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"
