"""Says what to do about an import of the job's own code that finds nothing."""

from __future__ import annotations

from preflight.users_code.facts import Unfound
from preflight.values.names import shown


def fix_of_import(unfound: Unfound) -> str:
    """Say of an import that finds nothing what it should name, or where that should lie."""
    module, name = shown(unfound.module), shown(unfound.name)
    if not module:
        return "Name it as a module of its package, from the folder that has the package in it."
    if unfound.is_circular:
        return f"Two modules import each other: import {name} in the function that uses it."
    if name:
        return f"Define {name} in {module}, or import a name that it has."
    if unfound.folder:
        return f"Add {shown(unfound.folder)} to PYTHONPATH: {module} lies there."
    if unfound.near:
        return (
            f"Import {shown(unfound.near)}, if that is meant; else add the folder that has "
            f"{module} to PYTHONPATH."
        )
    return f"Write the module {module}, or add the folder that has it to PYTHONPATH."
