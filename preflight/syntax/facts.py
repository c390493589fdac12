"""What is told of Python code beyond the files that read it."""

from __future__ import annotations

from typing import NamedTuple


class ModelCopy(NamedTuple):
    """The call by which a job copies its model as a whole, and what it gives the copy."""

    file: str
    line: int
    code: str
    """The call that stands there, such as `EMA(model)`."""

    of_package: str | None = None
    """What is called, where it is none of the job's own classes and no `deepcopy`."""

    with_memo: bool = False
    """Whether every copy is made with a memo, which says what it shares."""

    of_inner: bool = False
    """Whether every call is given what a wrapper holds: `….module`, `unwrap_model(…)`."""

    averages: bool = False
    """Whether it copies none, and keeps an average of the parameters: where no call copies one."""
