"""Looks at everything a training run is made of, and says GO or NO-GO before it starts.

import preflight

report = preflight.run("data/{000..009}.tar", "train:make_loader")
report.raise_if_no_go()

preflight.inspect(loader=loader, model=model).raise_if_no_go()
"""

from __future__ import annotations

import os

from preflight.values.version import __version__

TYPE_CHECKING = False  # as `typing` has it, which would take longer than all of this
if TYPE_CHECKING:
    from preflight.findings.report import NoGo, Report
    from preflight.session.inspect import inspect
    from preflight.session.run import run

__all__ = ["NoGo", "Report", "__version__", "inspect", "run"]

# The checks are kept in checks/, beside this folder, and are installed as preflight.checks; in a
# source tree nobody installed, the import system has to be told.
_here = os.path.dirname(os.path.abspath(__file__))
_above = os.path.dirname(_here)
if not os.path.isdir(os.path.join(_here, "checks")) and os.path.isfile(
    os.path.join(_above, "checks", "__init__.py")
):
    __path__.append(_above)

_HOME = {
    "NoGo": "findings.report",
    "Report": "findings.report",
    "inspect": "session.inspect",
    "run": "session.run",
}


def __getattr__(name: str) -> object:
    """Import the public names when they are asked for: `import preflight` itself is instant."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    importlib.import_module("preflight.render")  # a Report is shown as the terminal page
    return getattr(importlib.import_module(f"preflight.{_HOME[name]}"), name)
