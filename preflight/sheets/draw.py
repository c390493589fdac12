"""Draws the sheet of a first batch, in the process that drew the batch."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from preflight.sheets.column import Column
from preflight.sheets.facts import Sheet


def take(batch: Any, *, is_batched: bool) -> list[Column] | Sheet:
    """Copy what is shown of a batch, so that the batch can be let go; or say why not."""
    from preflight.sheets.columns import columns_of
    from preflight.sheets.tensor_values import alone

    try:
        with alone():
            return columns_of(batch, is_batched=is_batched)
    except BaseException as error:  # noqa: BLE001  classes of the user's are asked
        return Sheet(reason=f"its batch cannot be copied: {type(error).__name__}")


def draw_sheet(
    name: str,
    taken: list[Column] | Sheet,
    parts: Mapping[str, Any],
    wanted: Mapping[str, Any],
) -> Sheet:
    """Draw what was taken of a batch into the file that is wanted, and say how much it shows.

    Args:
        name: of the loader.
        taken: what `take` gave.
        parts: of the loader, in which a tokenizer is looked for.
        wanted: the `file`, and the `run`, whose sheets stand in it one below the other.
    """
    if isinstance(taken, Sheet):
        return taken
    try:
        return _drawn(name, taken, parts, wanted)
    except ImportError as error:
        missing = "Pillow" if (error.name or "").partition(".")[0] == "PIL" else str(error)
        return Sheet(reason=f"{missing} is not installed for {sys.executable}")
    except OSError as error:
        return Sheet(reason=f"it cannot be written: {error.strerror or error}")
    except BaseException as error:  # noqa: BLE001  a tokenizer of the user's is asked
        return Sheet(reason=f"it cannot be drawn: {type(error).__name__}: {error}")


def _drawn(
    name: str, columns: Sequence[Column], parts: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Sheet:
    from preflight.sheets.file import write
    from preflight.sheets.panel import Panel
    from preflight.sheets.tensor_values import alone
    from preflight.sheets.tokens import decode, tokenizer_of

    with_ids = [one for one in columns if one.ids]
    tokenizer = tokenizer_of(parts) if with_ids else None
    for one in with_ids:
        said = decode(one, tokenizer)
        one.note = ", ".join(filter(None, (one.note, said)))
    with alone():
        panel = Panel(name, columns)
        write(wanted["file"], panel.drawn(), wanted["run"])
    shown = Sheet(samples=panel.samples)
    return shown._replace(of=max([one.total for one in columns], default=shown.samples))
