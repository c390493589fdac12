"""Shows every figure beside its bound, and fails the run where one misses it."""

from __future__ import annotations

import sys

import pytest


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Where no benchmark ran, what measures was not imported either.
    measuring = sys.modules.get("tests.benchmarks.measuring")
    if measuring is not None and not all(figure.kept for figure in measuring.FIGURES):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    measuring = sys.modules.get("tests.benchmarks.measuring")
    if measuring is None or not measuring.FIGURES:
        return
    terminalreporter.section("benchmarks")
    terminalreporter.write_line(measuring.row("what", "seen", "bound", "", "how"), bold=True)
    for figure in measuring.FIGURES:
        terminalreporter.write_line(str(figure), red=not figure.kept)
