"""The whole suite on each Python and torch that is spoken for: `make matrix` runs it.

What passed here is what the README and the classifiers may name.
"""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = True

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
TESTS = ("python", "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-m", "not benchmark")


@nox.session(python=PYTHONS)
def usual(session: nox.Session) -> None:
    """Take the torch that developers have, on each Python."""
    session.install("--constraint", "constraints.txt", "--editable", ".[test]")
    session.run(*TESTS, *session.posargs)


@nox.session(python=PYTHONS[-1])
def newest(session: nox.Session) -> None:
    """Take the newest version of every requirement, on the newest Python."""
    session.install("--upgrade", "--editable", ".[test]")
    session.run(*TESTS, *session.posargs)


@nox.session(python=PYTHONS[0], venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Take the lowest version that pyproject.toml promises, on the oldest Python."""
    # The lowest torch was built against numpy 1, and does not know that there is another.
    session.install("--resolution", "lowest-direct", "numpy>=1.26,<2", "--editable", ".[test]")
    session.run(*TESTS, *session.posargs)
