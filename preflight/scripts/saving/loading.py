"""Loads what `torch.save` has written, with nothing in its tensors."""

from __future__ import annotations

from preflight.users_code.frames import said_by


def loaded(path: str) -> tuple[str, str]:
    """Say what `torch.load` refuses by itself, and what it cannot load at all."""
    import torch

    try:
        torch.load(path, map_location="meta")
    except Exception as error:  # noqa: BLE001  the user's classes are made
        refused = said_by(error)
    else:
        return "", ""
    try:
        torch.load(path, map_location="meta", weights_only=False)
    except Exception as error:  # noqa: BLE001  the user's classes are made
        return refused, said_by(error)
    return refused, ""
