"""Shows every figure beside its bound, and fails the run where one misses it."""

from __future__ import annotations

import sys

import pytest

from tests.benchmarks.bounds import BOUNDS


def figures() -> list:
    """Give what was measured; where no benchmark ran, what measures was not imported either."""
    return getattr(sys.modules.get("tests.benchmarks.measuring"), "FIGURES", [])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if any(not figure.kept for figure in figures()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not figures():
        return
    terminalreporter.section("benchmarks")
    width = max(map(len, BOUNDS))
    for figure in figures():
        terminalreporter.write_line(
            f"{figure.what:{width}}  {figure.seen:>8,.3g}  {BOUNDS[figure.what]:18}  "
            f"{'ok    ' if figure.kept else 'MISSED'}  {figure.how}".rstrip(),
            red=not figure.kept,
        )
