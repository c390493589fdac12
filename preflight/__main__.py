"""`python -m preflight` and the installed script: the same command."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # typing itself may be a file of the job's, until start() has seen to it
if TYPE_CHECKING:
    from typing import NoReturn

_OURS = "train_preflight-"
_MARK = b"preflight/__init__.py,"
_INTERRUPTED = 130

# What reads shards reads images and cached files by the same modules. Each run asks for the machine
# too, which takes 40 ms where nothing of that was imported before.
_READS = "preflight.shards.read, preflight.host.read"

_asked_to_end: list[int] = []
"""Signals that came and ask for it."""


def start() -> None:
    """Run the command line, away from whatever lies in the current folder.

    `python -m` puts the current folder first on the path, and a user's own click.py or numbers.py
    there would be taken for the real one. So would one that PYTHONPATH leads to: what Python brings
    along comes first, for us.
    """
    _open_all_streams()
    try:
        here = os.getcwd()
    except OSError:
        sys.stderr.write("Error: the current folder is gone; change into one that is there.\n")
        sys.exit(2)
    if sys.path and sys.path[0] in {"", here}:
        del sys.path[0]
    sys.path.insert(0, os.path.dirname(os.__file__))
    rival = rival_distribution(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if rival is not None:
        sys.stderr.write(
            f"Error: the distribution {rival} has installed a package preflight over this one; "
            f"uninstall it, then train-preflight, and install train-preflight again.\n"
        )
        sys.exit(2)
    import contextlib

    try:
        if sys.argv[1:2] in (["run"], ["demo"]):
            _end_in_order()
        if sys.argv[1:2] == ["run"]:
            from preflight.processes.orphans import say_ours
            from preflight.processes.spawn import make_ready

            say_ours()
            with contextlib.suppress(OSError):  # told where there is a question to ask
                make_ready(_READS)
        try:
            from preflight.command.cli import main
        # Python itself would exit as NO-GO does; and a file of the job's may raise what it likes.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            _say_what_shadows(error)
            sys.exit(2)
        _leave(main())
    except KeyboardInterrupt:
        _end(_INTERRUPTED)  # a second Ctrl-C, or one before anything was there to catch it


def _end_in_order() -> None:
    """Have a request to end do as Ctrl-C does: what was found is told, and nothing is left behind.

    Launchers end ranks so, and Slurm a job whose time is over.
    """
    import signal

    def end(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)  # another one ends us at once
        _asked_to_end.append(number)
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def _end(code: int) -> NoReturn:
    """End as who has asked for it expects: by the signal, where there was one."""
    if code == _INTERRUPTED and _asked_to_end:
        os.kill(os.getpid(), _asked_to_end[0])
    os._exit(code)


def _say_what_shadows(error: BaseException) -> None:
    """Say what is missing in which file, which may be one of the job's that PYTHONPATH leads to."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised = trace.tb_frame.f_code.co_filename if trace is not None else None
    wanted = getattr(error, "path", None) or getattr(getattr(error, "obj", None), "__file__", None)
    source = wanted or (None if isinstance(error, ImportError) else raised)
    place = f" ({source})" if source and source not in str(error) else ""
    said = str(error) or type(error).__name__
    sys.stderr.write(
        f"Error: preflight cannot start: {said}{place}. Either a package that it needs is not "
        f"installed here, or PYTHONPATH leads to a file of the same name.\n"
    )


def _leave(code: int) -> NoReturn:
    """Exit without taking apart all that was imported, which takes as long as a small shard."""
    import atexit

    atexit._run_exitfuncs()  # noqa: SLF001  there is no other name for it
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        sys.exit(code)  # a pipe that was closed; Python knows what to say of it
    _end(code)


def _open_all_streams() -> None:
    """Put the null device where a stream was closed, before a file of ours takes its number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
        if getattr(sys, name) is None:
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115  stays
            setattr(sys, name, stream)


def rival_distribution(folder: str) -> str | None:
    """Name another distribution that owns `preflight/__init__.py` in this folder, if there is one.

    RECORD lists what a distribution has installed (PEP 376); it is searched as bytes, since the
    standard library's own way takes longer than all the rest of `preflight --help`.
    """
    for entry in os.listdir(folder):
        if not entry.endswith(".dist-info") or entry.startswith(_OURS):
            continue
        try:
            with open(os.path.join(folder, entry, "RECORD"), "rb") as file:
                record = file.read()
        except OSError:
            continue  # installed by a tool that writes none
        if record.startswith(_MARK) or b"\n" + _MARK in record:
            return entry.removesuffix(".dist-info").partition("-")[0]
    return None


if __name__ == "__main__":
    start()
