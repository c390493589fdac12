"""A process that has imported torch, and of which others are copies; it knows nothing of a job.

A process of Python that runs a user's code spends nearly all its time on importing torch, and one
of preflight's own on importing preflight, which it alone is given. Here that is done once: the
template waits until one is started, and a copy of it becomes that. All else is
as in a fresh one: it is a child of whoever starts it, and has its descriptors, environment, folder
and words; and it has a template of its own, for the workers and fork servers that it starts, as
have the copies that it starts; only a worker has none, nor has one that only reads files.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import inspect
import itertools
import json
import os
import pathlib
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

_KINDS = ("multiprocessing.spawn", "multiprocessing.forkserver")
_MOST_DESCRIPTORS = 200
_OUT_OF_THE_WAY = 500
_FURTHER_OUT = 900
_LENGTH = 8

# clone: whoever is made is a child of our parent. Its number as a call of the system.
_CLONE_PARENT = 0x8000
_CLONE = {"x86_64": 56, "aarch64": 220}

# In /proc/self/stat, from the end of the name: where the environment begins, as others read it.
_ENVIRONMENT_FROM = 47

# madvise: lay what is in memory together in pages of 2 MiB, as the second number says.
_COLLAPSE = 25
_HUGE = 2 << 20

# Of its own environment, what leaves room for that of a copy.
ROOM = {"TORCH_TEMPLATE_ROOM": "." * 60_000}

SEED = {"PYTHONHASHSEED": "2"}
"""Of its own environment, what orders its sets: who says nothing of it may have any order."""

# What an environment says to Python that a copy heeds.
HEEDED = {"PYTHONPATH", "PYTHONFAULTHANDLER", "PYTHONDONTWRITEBYTECODE"}

# What a process of preflight's own runs, as it is started.
_COMMAND = "from preflight.__main__ import start; start()"
_CHILD = "preflight.processes.child.main()"
_ANEW = "importlib.import_module(module), name); sys.path.remove(home); run()"
_SCRIPT = "import preflight.scripts.inside; "
_CREW = "import preflight.storage."

# What a process of preflight's own imports when it is needed.
_LATER = ("psutil", "yaml", "tomllib", "PIL.Image", "rich.cells")

_path: list[str] = []
"""Where a fresh process finds modules, but for its own folder and its environment's."""

_ours: dict[str, types.ModuleType] = {}
"""Modules of preflight, and what these import beside those of torch: no user's process has them."""

_untouched: set[int] = set()
"""Modules of the template that keep no function of the disk: a rehearsal would look for them there.

Looking at whatever a module keeps has all of that copied.
"""


class Template:
    """A template that waits: who asks it gets a child."""

    ours: ClassVar[Template | None] = None
    """That of this process, where it is a copy itself."""

    def __init__(self, channel: socket.socket, pid: int, settings: Mapping[str, str]) -> None:
        self._channel: socket.socket | None = channel
        self._pid = pid
        self._lock = threading.Lock()
        self._settings = settings

    def start(
        self,
        words: Sequence[str],
        numbers: Mapping[int, int],
        *,
        environment: Mapping[str, str] | None = None,
        folder: str | None = None,
        in_session: bool = False,
    ) -> int | None:
        """Start a copy, and give its number; None where only a fresh process will do.

        `numbers` are the descriptors that it has, by their numbers there. Its environment and its
        folder are ours if nothing is said; `in_session`, it leads a session of its own.
        """
        environment = dict(os.environ) if environment is None else dict(environment)
        known = _is_known(words) and settings_of(environment) == self._settings
        if self._channel is None or not known or len(numbers) > _MOST_DESCRIPTORS:
            return None
        told = {
            "words": list(words[1:]),
            "numbers": list(numbers),
            "environment": environment,
            "folder": folder or os.getcwd(),
            "in session": in_session,
        }
        message = json.dumps(told).encode()
        with self._lock:
            length = len(message).to_bytes(_LENGTH, "big")
            socket.send_fds(self._channel, [length], list(numbers.values()))
            self._channel.sendall(message)
            return int.from_bytes(_exactly(self._channel, _LENGTH), "big")

    def end(self) -> None:
        """Let it go; what is started from now on is fresh."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
            os.waitpid(self._pid, 0)


def _is_known(words: Sequence[str]) -> bool:
    """Whether a command is our own Python's, with no options but those that a copy heeds."""
    options = itertools.takewhile(lambda word: word[0] == "-" and word != "-c", words[1:])
    return words[0] == sys.executable and {*options} <= {"-B", "-P"}


def settings_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Give what an environment says to Python as it starts, and that a copy cannot heed."""
    names = {name for name in environment if name.startswith(("PYTHON", "LANG", "LC_"))} - HEEDED
    return dict({(name, environment[name]) for name in names} - SEED.items())


def start_workers_by(template: Template) -> None:
    """Have multiprocessing start what it starts as copies of a template."""
    from multiprocessing import util

    fresh, owner = util.spawnv_passfds, os.getpid()

    def start(path: bytes, words: Sequence[str], descriptors: Sequence[int]) -> int:
        code = words[words.index("-c") + 1] if "-c" in words else ""
        # A copy that this process forks has no template of its own, whose children would be its.
        if owner == os.getpid() and any(kind in code for kind in _KINDS):
            ours = [*filter(_is_open, (0, 1, 2)), *descriptors]
            started = template.start(
                [sys.executable, *map(os.fsdecode, words[1:])], dict(zip(ours, ours, strict=True))
            )
            if started is not None:
                return started
        return fresh(path, words, descriptors)

    util.spawnv_passfds = start


# How Python starts a process, before anything here has taken its place.
_FRESH = subprocess.Popen._execute_child

_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


def starting_by(template: Callable[[], Template], naming: str = "") -> Callable[..., None]:
    """Give a way for `subprocess` to start processes of Python as copies of a template.

    What is no such process, or asks for what a copy cannot have, is started as ever; and so is what
    does not name `naming` in one of its words.
    """
    owner, signature = os.getpid(), inspect.signature(_FRESH)

    def execute(*given: Any, **named: Any) -> None:
        asked = signature.bind(*given, **named).arguments
        numbers = {0: asked["p2cread"], 1: asked["c2pwrite"], 2: asked["errwrite"]}
        numbers = {n: n if at == -1 else at for n, at in numbers.items()}
        pid = None
        plain = isinstance(asked["args"], (list, tuple)) and not asked["shell"]
        words = [os.fspath(word) for word in asked["args"]] if plain else []
        known = any(naming in word for word in words)
        if known and asked["preexec_fn"] is None and owner == os.getpid():
            pid = template().start(
                words,
                numbers | {number: number for number in asked["pass_fds"]},
                environment=asked["env"],
                folder=asked["cwd"] and os.path.abspath(asked["cwd"]),
                in_session=asked["start_new_session"],
            )
        if pid is None:
            return _FRESH(*given, **named)
        popen = asked["self"]
        popen.pid, popen._child_created = pid, True
        popen._close_pipe_fds(*(asked[name] for name in _PIPES))
        return None

    return execute


def _start_by_copies() -> None:
    """Have what preflight starts here be copies, too, but what the user's code starts."""
    ours = Template.ours
    if ours is not None:
        subprocess.Popen._execute_child = starting_by(lambda: ours, "preflight.")


def main(number: int, home: str, also: Sequence[str]) -> None:
    """Import torch, and wait; in a copy, become what was asked for, and return at its end."""
    gc.disable()  # all that is imported stays: the collector would walk over it many times
    import mmap  # noqa: F401  a second one would have another class, and older torch has none
    from multiprocessing import spawn, util  # noqa: F401  a worker has both

    import torch.utils.data  # noqa: F401  this is what takes so long

    if Template.ours is not None:  # a template that begins as a copy of another
        Template.ours.end()
    for name in also:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    if not _ours:
        _path.extend(sys.path)
        _import_ours(home)
    _let_nothing_go()
    _use_huge_pages()
    settings = settings_of(os.environ)
    _end_threads()
    gc.collect()
    gc.enable()
    asked = _serve(socket.socket(fileno=number))
    while not _starts_none(**asked[0]):
        ours, theirs = socket.socketpair()
        template = os.fork()
        if template:
            theirs.close()
            at = fcntl.fcntl(ours.detach(), fcntl.F_DUPFD_CLOEXEC, _FURTHER_OUT)
            Template.ours = Template(socket.socket(fileno=at), template, settings)
            start_workers_by(Template.ours)
            break
        ours.close()
        for descriptor in asked[1]:
            os.close(descriptor)
        os.environ.clear()
        _show({"PREFLIGHT_CHILD": "a template"})  # which preflight takes for no stranger
        asked = _serve(theirs)
    _become(*asked)


def _starts_none(*, words: Sequence[str], environment: Mapping[str, str], **_told: Any) -> bool:
    """Whether a process will start no others that could be copies."""
    return _reads_files(environment) or any(kind in word for kind in _KINDS for word in words)


def _import_ours(home: str) -> None:
    """Import all of the preflight that lies in a folder, and lay it aside."""
    before = {*sys.modules}
    sys.path.insert(0, home)
    for package, top in (("preflight", "preflight"), ("preflight.checks", "checks")):
        for path in sorted(pathlib.Path(home, top).rglob("*.py")):
            parts = path.relative_to(os.path.join(home, top)).with_suffix("").parts
            if parts[0] != "demo" and parts[-1] != "__main__":
                importlib.import_module(".".join((package, *parts)).removesuffix(".__init__"))
    for name in _LATER:
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)
    sys.path.remove(home)
    _ours.update((name, sys.modules.pop(name)) for name in {*sys.modules} - before)
    keeping = {id(place.holder) for place in _ours["preflight.overlay.lay_over"]._places()}
    _untouched.update({id(module) for module in sys.modules.values()} - keeping)


def _let_nothing_go() -> None:
    """Have the end of a copy pass by what was imported: it would copy all of it to let it go."""
    for one in [*weakref.finalize._registry]:  # type: ignore[attr-defined]
        one.atexit = False


def _use_huge_pages() -> None:
    """Have what was imported lie in few large pages, where the system can: it counts them to fork.

    A copy takes a quarter of the time then.
    """
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for begin, end in _writable():
        first, last = -(-begin // _HUGE) * _HUGE, end // _HUGE * _HUGE
        if last > first:
            advise(first, last - first, _COLLAPSE)


def _writable() -> list[tuple[int, int]]:
    """Give where memory of this process lies that it may write to, and no file is behind."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        lines = [line.split() for line in file]
    anonymous = [line for line in lines if line[1] == "rw-p" and line[5:] in ([], ["[heap]"])]
    return [
        (int(begin, 16), int(end, 16)) for begin, end in (line[0].split("-") for line in anonymous)
    ]


def _serve(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Wait for what is asked for; return in the copy that is to be it, and nowhere else."""
    gc.freeze()  # what is not touched is not copied
    number_at = _thread_number()
    while True:
        length, received, _, _ = socket.recv_fds(channel, _LENGTH, _MOST_DESCRIPTORS)
        if not length:
            os._exit(0)  # whoever might have asked is gone
        told = json.loads(_exactly(channel, int.from_bytes(length, "big")))
        copy = _fork_beside(number_at)
        if not copy:
            channel.close()
            if told["in session"]:
                os.setsid()  # before it has a template, which is of its session then
            return told, received
        for descriptor in received:
            os.close(descriptor)
        channel.sendall(copy.to_bytes(_LENGTH, "big"))


def _end_threads() -> None:
    """Have C's libraries end their threads, as they do at each fork; the next use begins others."""
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)


def _fork_beside(number_at: ctypes.c_int) -> int:
    """Fork a child of our parent, who has asked for it, as `os.fork` does a child of ours.

    C's libraries are not told: it is of threads that they would hear, and here are none by now.
    """
    python = ctypes.pythonapi
    python.syscall.argtypes = (ctypes.c_long,) * 6
    python.PyOS_BeforeFork()
    flags = _CLONE_PARENT | signal.SIGCHLD
    if pid := python.syscall(_CLONE[platform.machine()], flags, 0, 0, 0, 0):
        python.PyOS_AfterFork_Parent()
        return int(pid)
    number_at.value = threading.get_native_id()
    python.PyOS_AfterFork_Child()
    return 0


def _thread_number() -> ctypes.c_int:
    """Give where C keeps the number of this thread: somewhere near the begin of what it keeps.

    There are addresses, too, of which a half may be the same number. Whoever writes over that dies
    of it, and C itself writes the one that it means as it forks.
    """
    begin = threading.get_ident()
    kept = (ctypes.c_int * 512).from_address(begin)
    own = threading.get_native_id()
    alike = [at for at, number in enumerate(kept) if number == own]
    if not (child := os.fork()):
        os._exit(next(n for n, at in enumerate(alike) if kept[at] == os.getpid()))
    meant = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return ctypes.c_int.from_address(begin + 4 * alike[meant])


def _exactly(channel: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = channel.recv(length - len(found))
        if not part:
            raise EOFError
        found += part
    return found


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _become(told: Mapping[str, Any], received: Sequence[int]) -> None:
    """Be in all that a fresh process has, and run what it would."""
    _take_over(dict(zip(told["numbers"], received, strict=True)))
    _open_streams()
    environment = told["environment"]
    os.environ.clear()
    os.environ.update(environment)
    _show(environment)
    os.chdir(told["folder"])
    tempfile.tempdir = None  # another environment may say another
    if environment.get("PYTHONFAULTHANDLER"):
        import faulthandler

        faulthandler.enable()
    if environment.get("OMP_NUM_THREADS") == "1":  # torch has read that of the template
        sys.modules["torch"].set_num_threads(1)
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    words = told["words"]
    if _is_ours(words, environment):
        _start_by_copies()
        # Else the user's code is to come.
        alone = _COMMAND in "".join(words) or _reads_files(environment)
        # With a second `multiprocessing.queues`, what we know of its threads would be of the first.
        kept = ("preflight", "multiprocessing", *(["psutil"] if _CHILD in "".join(words) else []))
        sys.modules.update(
            {name: one for name, one in _ours.items() if alone or name.startswith(kept)}
        )
        if _SCRIPT in "".join(words):
            _pass_by_untouched(sys.modules["preflight.overlay.lay_over"])
    flags = []
    while words[0].startswith("-") and words[0] != "-c":
        flags.append(words.pop(0))
    main = types.ModuleType("__main__")
    if words[0] == "-c":
        code = compile(words[1], "<string>", "exec", dont_inherit=True)
        sys.argv, first = ["-c", *words[2:]], ""
    else:
        vars(main)["__file__"] = os.path.abspath(words[0])
        with open(words[0], "rb") as file:
            path = os.path.abspath(words[0])
            code = compile(file.read(), path, "exec", dont_inherit=True)
        sys.argv, first = words, os.path.dirname(os.path.realpath(words[0]))
    more = [one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one]
    begin = [] if "-P" in flags else [first]
    sys.path[:] = [*map(os.path.abspath, more), *_path]
    sys.modules["__main__"] = main
    if any(os.path.isfile(os.path.join(one, "sitecustomize.py")) for one in more):
        importlib.import_module("sitecustomize")
    sys.path[:0] = begin
    try:
        exec(code, vars(main))
        status: object = 0
    except SystemExit as leaving:
        status = leaving.code
    except BaseException:  # noqa: BLE001  it is told as an interpreter tells it
        sys.excepthook(*sys.exc_info())
        status = 1
    _leave(status)


def _pass_by_untouched(places: Any) -> None:
    holders = places._holders
    places._holders = lambda: (one for one in holders() if id(one) not in _untouched)


def _open_streams() -> None:
    """Have streams that know what lies behind them: those of the template led to nothing."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        encoding, errors = getattr(sys, name).encoding, getattr(sys, name).errors
        stream = None
        if _is_open(number):
            mode = "w" if number else "r"
            stream = open(number, mode, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115  it stays
            stream.reconfigure(line_buffering=number == 2 or stream.isatty())
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _is_ours(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Whether a command is of the preflight that was imported here."""
    home = os.path.dirname(os.path.dirname(str(_ours["preflight"].__file__)))
    first = environment.get("PYTHONPATH", "").partition(os.pathsep)[0]
    return home in (*words, first) and any(
        code in word for word in words for code in (_COMMAND, _CHILD, _ANEW, _SCRIPT, _CREW)
    )


def _reads_files(environment: Mapping[str, str]) -> bool:
    """Whether a process of preflight's is of those that run nobody's code, and have one thread."""
    return environment.get("OPENBLAS_NUM_THREADS") == "1" and "PREFLIGHT_CHILD" in environment


def _show(environment: Mapping[str, str]) -> None:
    """Have others see an environment as ours: the system tells what lay there at our start.

    Nothing else is there any more, since all variables were taken out and set anew.
    """
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        numbers = file.read().rpartition(")")[2].split()
    begin, end = map(int, numbers[_ENVIRONMENT_FROM : _ENVIRONMENT_FROM + 2])
    block = b"".join(os.fsencode(f"{name}={value}\0") for name, value in environment.items())
    if len(block) < end - begin:
        ctypes.memmove(begin, block.ljust(end - begin, b"\0"), end - begin)


def _leave(status: object) -> NoReturn:
    """End as an interpreter does, but let nothing go: touching what is shared copies it."""
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status or 0)


def _take_over(descriptors: Mapping[int, int]) -> None:
    """Have these descriptors under these numbers, and no others but that of our template."""
    aside = {
        number: fcntl.fcntl(descriptor, fcntl.F_DUPFD, _OUT_OF_THE_WAY)
        for number, descriptor in descriptors.items()
    }
    os.closerange(0, _OUT_OF_THE_WAY)
    for number, descriptor in aside.items():
        os.dup2(descriptor, number)
    os.closerange(_OUT_OF_THE_WAY, _OUT_OF_THE_WAY + len(aside))
