"""How a format says that bytes are not whole, where it can only stop: a flaw, raised."""

from __future__ import annotations

from preflight.formats.bytes.flaw import Flaw


class DamagedError(ValueError):
    """These bytes are not what was written."""

    def __init__(
        self, kind: str, text: str, *, offset: int | None = None, member: str | None = None
    ) -> None:
        super().__init__(text)
        self.flaw = Flaw(kind=kind, text=text, offset=offset, member=member)


class TooMuchError(OSError):
    """There is more of it than is looked at, so nothing can be said: no damage, and no pass."""
