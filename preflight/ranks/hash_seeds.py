"""Asks a split of the user's in fresh interpreters, of which each orders sets in its own way.

Each rank of a job is a process of its own, with a PYTHONHASHSEED of its own, unless that is set
where all inherit it: where a function goes
over a set of strings, or draws at random without a seed, ranks divide lists that differ.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from preflight.findings.our_failures import ElsewhereError
from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.ranks.divide import Splitter
from preflight.settings.split import Steps
from preflight.users_code.fresh.orders import teller, telling_failures
from preflight.values.own_files import running

HASH_SEED = "PYTHONHASHSEED"

MOST = 8
"""Interpreters that are started at most."""


def is_fixed() -> bool:
    """Whether every process has one hash seed: ranks inherit what is set here."""
    return os.environ.get(HASH_SEED, "random") != "random"


def parts_of(splitter: Splitter, count: int, ranks: Iterable[int], world: int) -> list[list[int]]:
    """Give the items of each of these ranks, in no order of the split's: it may shuffle them."""
    return [
        sorted(one for own in splitter.of_rank(count, rank, world, 1) for one in own)
        for rank in ranks
    ]


def by_processes(
    steps: Steps, names: Sequence[str], options: Mapping[str, Any], *, ranks: int, shards: bool
) -> list[list[int]] | None:
    """Give the items of each rank, each in a process of its own; None: all give the same split.

    Raises:
        CannotLookError: such a process has ended without an answer, or gave none in time.
        ElsewhereError: our own code has failed there.
    """
    order = _order(steps, names, options, ranks, shards=shards)
    first, second = _asked([1, 2], order, options["timeout"])
    if first == second:
        return None
    number = max(2, min(ranks, MOST))
    seeds = range(1, number + 1)
    found = _asked(seeds, {**order, "ranks": [*range(ranks)]}, options["timeout"])
    return [found[rank % number][rank] for rank in range(ranks)]


def some_of(ranks: int) -> list[int]:
    """Give ranks of which one shows any list that is in another order."""
    return sorted({0, ranks // 2, ranks - 1})


def _order(
    steps: Steps, names: Sequence[str], options: Mapping[str, Any], ranks: int, *, shards: bool
) -> dict[str, Any]:
    return {
        "steps": steps,
        "names": list(names),
        "options": {key: options[key] for key in ("root", "import_anyway")},
        "ranks": some_of(ranks),
        "world": ranks,
        "shards": shards,
    }


@contextlib.contextmanager
def meanwhile(
    steps: Steps, names: Sequence[str], options: Mapping[str, Any], *, ranks: int, shards: bool
) -> Iterator[Callable[[], list[list[int]]]]:
    """Have another process divide for some ranks; give what waits for its answer, and may raise."""
    order = _order(steps, names, options, ranks, shards=shards)
    with _begun(1, order) as process:
        yield lambda: _answer(process, options["timeout"])


def _asked(seeds: Iterable[int], order: Mapping[str, Any], timeout: float) -> list[list[list[int]]]:
    with contextlib.ExitStack() as stack:
        begun = [stack.enter_context(_begun(seed, order)) for seed in seeds]
        return [_answer(process, timeout) for process in begun]


@contextlib.contextmanager
def _begun(seed: int, order: Mapping[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, which reads all of its order before it imports anything, and end it."""
    process = _started(seed)
    try:
        if process.stdin is not None:
            with contextlib.suppress(OSError), process.stdin as orders:  # it may be gone already
                orders.write(json.dumps(order).encode())
            process.stdin = None  # or else what waits for its answer writes there, too
        yield process
    finally:
        with process, contextlib.suppress(OSError):
            process.kill()


def _answer(process: subprocess.Popen[bytes], timeout: float) -> list[list[int]]:
    try:
        said, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired as error:
        raise CannotLookError(
            f"the split gave no answer within {timeout:g} s in a fresh interpreter"
        ) from error
    if not said:
        raise CannotLookError(
            "the split gives no answer in a fresh interpreter, which ended with "
            f"{process.returncode}"
        )
    return _parts_in(json.loads(said))


def _parts_in(said: Mapping[str, Any]) -> list[list[int]]:
    if "crashed" in said:
        raise ElsewhereError(said["crashed"], said["trace"])
    if "broken" in said:
        raise CannotLookError(f"{said['broken']}, in a fresh interpreter", fix=said["fix"])
    parts: list[list[int]] = said["parts"]
    return parts


def _started(seed: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *running("preflight.ranks.hash_seeds:main")],
        env=dict(os.environ) if is_fixed() else {**os.environ, HASH_SEED: str(seed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def main() -> None:
    """Answer one question, in such an interpreter; what the user's code prints goes to stderr."""
    answer = os.dup(1)
    os.dup2(2, 1)
    with telling_failures(answer):
        order = json.loads(sys.stdin.buffer.read())
        try:
            said: dict[str, Any] = {"parts": _parts(order)}
        except (CannotLookError, MistypedError) as error:
            said = {"broken": str(error), "fix": getattr(error, "fix", None)}
        teller(answer)(**said)
    os._exit(0)  # whatever threads the user's code has left


def _parts(order: Mapping[str, Any]) -> list[list[int]]:
    from preflight.ranks.real_splits import splitter_of

    steps = tuple(map(tuple, order["steps"]))
    splitter, _ = splitter_of(
        steps,
        order["names"],
        order["options"],
        lambda _text: contextlib.nullcontext(),
        shards=order["shards"],
    )
    return parts_of(splitter, len(order["names"]), order["ranks"], order["world"])
