"""What only some systems have is asked for before it is used: a run on another system goes on.

The code is parsed. A use counts as guarded where a test, a handler or an early return around it
says that its author thought of the other systems.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for folder in ("preflight", "checks")
    for path in (ROOT / folder).rglob("*.py")
    if "demo/broken" not in path.as_posix() and "demo/healthy" not in path.as_posix()
)

MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}

NAMES = {
    "os": (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK RWF_NOWAIT ST_RDONLY WEXITSTATUS WIFEXITED "
        "WIFSIGNALED WNOHANG WTERMSIG chown chroot fchmod fchown fdatasync fork forkpty getegid "
        "geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid "
        "killpg lchown memfd_create mkfifo mknod nice openpty pathconf pidfd_open pipe2 "
        "posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork "
        "sched_getaffinity sched_setaffinity sched_yield sendfile set_blocking setegid seteuid "
        "setgid setpgid setpriority setsid setuid splice statvfs fstatvfs sync sysconf tcgetpgrp "
        "tcsetpgrp ttyname uname wait wait3 wait4 waitid"
    ),
    "signal": (
        "ITIMER_REAL SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGRTMIN "
        "SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU alarm getitimer pause pthread_kill "
        "pthread_sigmask setitimer siginterrupt sigpending sigwait"
    ),
    "faulthandler": "register unregister",
    "select": "epoll kqueue poll",
    "socket": "AF_UNIX recv_fds send_fds",
    "time": "tzset",
}

# Words of a test that asks for the system or for what it has, and what a handler names for it.
ASKS = ("hasattr(", "sys.platform", "os.name", "can_ask(")
CATCHES = ("ImportError", "AttributeError", "Exception")

ELSEWHERE = {
    "preflight/batches/stacks.py:_aborted": "`stacks` returns before it where there is no signal",
    "preflight/loaders/workers/left_alone.py:_end": "ends what multiprocessing starts on POSIX",
    "preflight/processes/child.py:_let_tracker_clean": "there is no such process on Windows",
    "preflight/scripts/surroundings/standard_input.py:_terminal": "for who has `openpty`",
    "preflight/scripts/surroundings/standard_input.py:opened": "its path is one of /proc",
    "preflight/scripts/thread_stacks.py:write_when_asked": "`asking` gives nothing where it lacks",
    "preflight/users_code/fresh/anew.py:copy": "`may_fork` and `CAN_COPY` are for Linux alone",
    "preflight/users_code/fresh/anew.py:poll": "for what `copy` has started",
}
"""Functions that need no guard of their own, and why."""


def used(tree: ast.AST) -> Iterator[tuple[str, bool, str]]:
    """Give what only some systems have, whether it is guarded, and the function it stands in."""
    yield from _below(tree, guarded=False, inside="")


def _below(node: ast.AST, *, guarded: bool, inside: str) -> Iterator[tuple[str, bool, str]]:
    guarded = guarded or _guards(node)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inside = node.name
    name = _name(node)
    if name:
        yield name, guarded, inside
    for field in ("body", "orelse", "finalbody"):
        statements = getattr(node, field, None)
        if isinstance(statements, list):
            left = guarded
            for one in statements:
                yield from _below(one, guarded=left, inside=inside)
                left = left or _leaves(one)
    for key, value in ast.iter_fields(node):
        those = value if isinstance(value, list) else [value]
        if key in ("body", "orelse", "finalbody") and isinstance(value, list):
            continue
        for one in those:
            if isinstance(one, ast.AST):
                yield from _below(one, guarded=guarded, inside=inside)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        known = NAMES.get(node.value.id, "").split()
        return f"{node.value.id}.{node.attr}" if node.attr in known else ""
    if isinstance(node, ast.Import):
        return next((one.name for one in node.names if one.name in MODULES), "")
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        bad = [one.name for one in node.names if one.name in NAMES.get(module, "").split()]
        return module if module in MODULES else next((f"{module}.{one}" for one in bad), "")
    return ""


def _guards(node: ast.AST) -> bool:
    """Whether what stands in it is met only where the system has it, or does no harm."""
    if isinstance(node, (ast.If, ast.IfExp)):
        return _asks(node.test)
    if isinstance(node, ast.BoolOp):
        return _asks(node.values[0])
    if isinstance(node, ast.Try):
        return any(_catches(one.type) for one in node.handlers)
    if isinstance(node, ast.With):
        calls = [one.context_expr for one in node.items]
        return any("suppress" in ast.unparse(one) and _catches(one) for one in calls)
    return False


def _asks(test: ast.expr) -> bool:
    return any(word in ast.unparse(test) for word in ASKS)


def _catches(node: ast.expr | None) -> bool:
    return node is None or any(word in ast.unparse(node) for word in CATCHES)


def _leaves(node: ast.AST) -> bool:
    """Whether what follows is met on a system only that has what was asked for."""
    if isinstance(node, ast.Try):
        ends = [one.body[-1] for one in node.handlers if _catches(one.type)]
    elif isinstance(node, ast.If) and _asks(node.test):
        ends = [node.body[-1]]
    else:
        return False
    return any(isinstance(one, (ast.Return, ast.Raise, ast.Continue)) for one in ends)


def unguarded(code: str) -> list[tuple[str, str]]:
    """Give each use that nothing guards, with the function that it stands in."""
    return [(name, inside) for name, is_guarded, inside in used(ast.parse(code)) if not is_guarded]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_only_some_systems_have_is_asked_for_first(path: Path) -> None:
    file = path.relative_to(ROOT).as_posix()
    found = unguarded(path.read_text("utf-8"))

    assert [one for one in found if f"{file}:{one[1]}" not in ELSEWHERE] == []


def test_each_function_that_is_let_off_uses_something() -> None:
    """Else the reason that is given for it is one for nothing."""
    for place in ELSEWHERE:
        file, _, function = place.partition(":")
        found = {inside for _, inside in unguarded((ROOT / file).read_text("utf-8"))}
        assert function in found, place


@pytest.mark.parametrize(
    "code",
    [
        "import fcntl",
        "def f():\n import fcntl\n",
        "def f():\n return os.getuid()\n",
        "def f():\n if x:\n  os.killpg(1, signal.SIGTERM)\n",
        "try:\n import pwd\nexcept OSError:\n pass\n",
        "with contextlib.suppress(OSError):\n os.mkfifo(path)\n",
        "from resource import getrlimit",
        "from os import fork",
        "def f():\n if hasattr(os, 'a'):\n  pass\n os.fork()\n",
        "flags = os.O_RDONLY | os.O_NOFOLLOW",
    ],
)
def test_a_use_that_nobody_guards_is_seen(code: str) -> None:
    assert unguarded(code)


@pytest.mark.parametrize(
    "code",
    [
        "try:\n import fcntl\nexcept ImportError:\n fcntl = None\n",
        "def f():\n try:\n  import resource\n except ImportError:\n  return\n resource.x()\n",
        "def f():\n if not hasattr(os, 'fork'):\n  return\n os.fork()\n",
        "if hasattr(os, 'killpg'):\n os.killpg(1, 2)\n",
        "own = os.getuid() if hasattr(os, 'getuid') else ''",
        "own = not hasattr(os, 'getuid') or os.getuid()",
        "with contextlib.suppress(OSError, AttributeError):\n os.kill(1, signal.SIGSTOP)\n",
        "kill = getattr(signal, 'SIGKILL', signal.SIGTERM)",
        "import os, signal\nos.kill(1, signal.SIGTERM)\n",
    ],
)
def test_a_use_that_is_guarded_is_left_alone(code: str) -> None:
    assert unguarded(code) == []
