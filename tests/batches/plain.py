"""A plain script that knows nothing of us: it iterates over loaders, and says what became of them.

`python plain.py MODULE:NAME …`, where NAME gives a loader, or a dict or tuple of them. Each is made
and run in a process of its own, several at once, and a line of JSON is printed for each.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import select
import signal
import sys
import time
import warnings
from typing import Any

# Seconds of silence after which one hangs, if it has computed for less than a part of that; and how
# many are run at once, beside those that wait.
SILENCE = 20.0
WORKS = 0.05
SLOTS = 3
WAITS = 1.5

# Batches of an epoch, of which some have no end.
MOST = 60


def loaders(name: str) -> dict[str, Any]:
    module, _, function = name.partition(":")
    made = getattr(importlib.import_module(module), function)()
    if isinstance(made, dict):
        return {f"{name}[{key!r}]": one for key, one in made.items()}
    if isinstance(made, tuple):
        return {f"{name}[{number}]": one for number, one in enumerate(made)}
    return {name: made}


def run(loader: Any, say: Any) -> None:
    """Run it for two epochs, as a training script does that was written for its first batch."""
    from torch.utils.data import DataLoader, Dataset, IterableDataset

    if isinstance(loader, Dataset) and not isinstance(loader, IterableDataset):
        loader = DataLoader(loader, num_workers=1, collate_fn=list)
    first = None
    for _ in range(2):
        say("epoch")
        for batch in itertools.islice(loader, MOST):
            first = batch if first is None else first
            if type(batch) is not type(first):
                raise TypeError("it cannot be taken as the first batch is")
            say("batch")
    say("done")


def start(name: str, key: str) -> tuple[int, int]:
    """Run a loader in a process of its own; give its number, and a pipe of what it says."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child:
        os.close(theirs)
        return child, ours
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)

    def say(what: str) -> None:
        os.write(theirs, f"{what}\n".encode())

    try:
        warnings.simplefilter("ignore")
        run(loaders(name)[key], say)
    except SystemExit:
        os._exit(1)
    except BaseException as error:  # noqa: BLE001  what a script dies of
        dead = "DataLoader worker (pid" in str(error)
        say("died" if dead else f"raised {type(error).__name__}")
    os._exit(0)


def summed(said: str, how: str) -> dict[str, Any]:
    """Say in a word what became of one that ended, or that was given up."""
    lines = said.split()
    epochs = [part.count("batch") for part in said.split("epoch")[1:]]
    if "raised" in lines:
        how = f"raised {lines[-1]}"
    elif "done" in lines:
        how = "ends" if all(epochs) else "empty"
    elif "died" in lines:
        how = "died"
    return {"how": how, "epochs": epochs}


def main(names: list[str]) -> None:
    waiting = [(name, key) for name in names for key in keys(name)]
    running: dict[int, dict[str, Any]] = {}
    while waiting or running:
        now = time.monotonic()
        busy = sum(now - one["last"] < WAITS for one in running.values())
        if waiting and busy < SLOTS:
            name, key = waiting.pop(0)
            child, pipe = start(name, key)
            running[pipe] = {"child": child, "key": key, "said": "", "last": time.monotonic()}
            running[pipe]["spent"] = computed(child)
        for pipe in select.select([*running], [], [], 0.05)[0]:
            part = os.read(pipe, 65_536).decode()
            one = running[pipe]
            one["said"], one["last"] = one["said"] + part, time.monotonic()
            if not part or "done\n" in one["said"] or "raised" in part or "died" in part:
                end(running, pipe, "died")
        for pipe, one in [*running.items()]:
            if time.monotonic() - one["last"] > SILENCE:
                spent = computed(one["child"])
                if spent - one["spent"] < WORKS * SILENCE:
                    end(running, pipe, "hangs")
                one["spent"], one["last"] = spent, time.monotonic()


def computed(session: int) -> float:
    """Give the seconds of a processor that those of a session have used which still run."""
    ticks = 0
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat", encoding="utf-8") as file:
                words = file.read().rpartition(")")[2].split()
            ticks += int(words[11]) + int(words[12]) if int(words[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


def end(running: dict[int, dict[str, Any]], pipe: int, how: str) -> None:
    one = running.pop(pipe)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(one["child"], signal.SIGKILL)
    os.waitpid(one["child"], 0)
    os.close(pipe)
    print(json.dumps({"key": one["key"], **summed(one["said"], how)}), flush=True)


def keys(name: str) -> list[str]:
    """Name what a function gives; a process of its own makes it, to know."""
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        warnings.simplefilter("ignore")
        try:
            os.write(theirs, "\n".join(loaders(name)).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with open(ours, encoding="utf-8") as file:
        said = file.read()
    os.waitpid(child, 0)
    return said.splitlines() or [name]


if __name__ == "__main__":
    for word in sys.argv[1:]:
        importlib.import_module(word.partition(":")[0])
    main(sys.argv[1:])
