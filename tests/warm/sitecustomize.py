"""Has workers at hand that have imported torch already; Python itself runs this file as it starts.

A spawned worker spends nearly all its time on importing torch, before it is sent anything. Here
that is done once: copies of this process, made before it knows anything of the job, wait until
multiprocessing starts a worker or a fork server, and one of them becomes it. All else is as in a
fresh one: it is a child of whoever starts it, and has its descriptors, environment and folder.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import types
from collections.abc import Sequence

_KINDS = ("multiprocessing.spawn", "multiprocessing.forkserver")
_MOST_DESCRIPTORS = 200
_OUT_OF_THE_WAY = 500

_waiting: list[tuple[int, socket.socket]] = []


def warm_up(number: int) -> None:
    """Import torch, and have so many copies wait."""
    import gc
    from multiprocessing import spawn, util  # noqa: F401  a worker has both

    import torch.utils.data  # noqa: F401  this is what takes so long

    fresh = util.spawnv_passfds

    def start(path: bytes, words: Sequence[str], descriptors: Sequence[int]) -> int:
        code = words[words.index("-c") + 1] if "-c" in words else ""
        is_known = any(kind in code for kind in _KINDS)
        if not is_known or not _waiting or len(descriptors) > _MOST_DESCRIPTORS:
            return fresh(path, words, descriptors)
        return _send(words, [*descriptors])

    gc.collect()
    gc.freeze()  # what is not touched is not copied
    for _ in range(number):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            ours.close()
            gc.unfreeze()
            _wait(theirs)
        theirs.close()
        _waiting.append((pid, ours))
    gc.unfreeze()
    util.spawnv_passfds = start


def end() -> None:
    """Let those go that still wait."""
    while _waiting:
        pid, channel = _waiting.pop()
        channel.close()
        os.waitpid(pid, 0)


def _send(words: Sequence[str], descriptors: list[int]) -> int:
    """Tell one that waits what it is to be."""
    pid, channel = _waiting.pop()
    numbers = [one for one in (0, 1, 2) if _is_open(one)] + descriptors
    told = {
        "words": list(words[words.index("-c") + 1 :]),
        "numbers": numbers,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
    }
    with channel:
        message = json.dumps(told).encode()
        socket.send_fds(channel, [message[:1]], numbers)
        channel.sendall(message[1:])
    return pid


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _wait(channel: socket.socket) -> None:
    """Wait for what to become, and become it."""
    try:
        message, received, _, _ = socket.recv_fds(channel, 1, _MOST_DESCRIPTORS + 3)
        if not message:
            os._exit(0)  # whoever might have asked is gone
        while part := channel.recv(1 << 16):
            message += part
        told = json.loads(message)
        _take_over(dict(zip(told["numbers"], received, strict=True)))
        os.environ.clear()
        os.environ.update(told["environment"])
        os.chdir(told["folder"])
        words = told["words"]
        status = _run(words[0], words[1:])
    except BaseException:  # noqa: BLE001  it is told as an interpreter tells it
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _take_over(descriptors: dict[int, int]) -> None:
    """Have these descriptors under these numbers, and no others."""
    import fcntl

    aside = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, _OUT_OF_THE_WAY)
        for number, descriptor in descriptors.items()
    }
    os.closerange(0, _OUT_OF_THE_WAY)
    for number, descriptor in aside.items():
        os.dup2(descriptor, number)
    os.closerange(_OUT_OF_THE_WAY, _OUT_OF_THE_WAY + len(aside))


def _run(code: str, words: Sequence[str]) -> int:
    """Run code as `python -c` does, and give its exit status."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    sys.argv = ["-c", *words]
    try:
        exec(compile(code, "<string>", "exec"), vars(main))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    return 0


_number = os.environ.pop("WARM_WORKERS", None)
_here = os.path.dirname(os.path.abspath(__file__))
if _number is not None and not sys.flags.no_site:
    os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"].partition(os.pathsep)[2]
    if not os.environ["PYTHONPATH"]:
        del os.environ["PYTHONPATH"]
    sys.path.remove(_here)
    warm_up(int(_number))
