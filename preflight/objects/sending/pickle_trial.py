"""Pickles what a spawned worker would be sent, by Python's own pickler, and keeps nothing of it."""

from __future__ import annotations

import contextlib
import copyreg
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing import context, reduction
from typing import Any, Protocol, TypeAlias, cast

from preflight.objects.attributes import classes, own_attributes

Roots: TypeAlias = Sequence[tuple[str, object]]
"""What is sent together, each under the name that its paths begin with."""

Refusal: TypeAlias = tuple[str, BaseException]
"""The root that pickle refused, and what it said."""

PROTOCOL = pickle.DEFAULT_PROTOCOL
"""What multiprocessing pickles by: it names none. An object may be refused by one and not by the
other."""

_STREAM = 4 << 30  # bytes of one pickle, without the data of arrays

NOTHING = (int, ())
"""How an object is pickled whose data does not matter: a call that gives something small."""

PythonPickler: Any = vars(pickle)["_Pickler"]
"""The pickler in Python. It is private, and has been there under this name since Python 3.0."""


class InheritedDescriptor:
    """A descriptor that a process inherits while it is started, and only then."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor


class _Process:
    """Stands where multiprocessing keeps the process that is being spawned.

    Its locks, queues and values may be pickled only then, and hand their handles over to it.
    """

    @staticmethod
    def duplicate_for_child(handle: int) -> int:
        if handle < 0:
            raise ValueError("bad value(s) in fds_to_keep")  # as the start of a process has it
        return handle

    DupFd = InheritedDescriptor  # the name that multiprocessing.reduction.DupFd looks for


@contextlib.contextmanager
def spawning() -> Iterator[None]:
    """Let the locks, queues and values of multiprocessing be pickled, as while a worker starts."""
    module: Any = context
    before = module.get_spawning_popen()
    module.set_spawning_popen(_Process())
    try:
        yield
    finally:
        module.set_spawning_popen(before)


DEPTH = 1_000
"""Levels that the walks in Python go down."""


@contextlib.contextmanager
def deep() -> Iterator[None]:
    """Let a pickler in Python go as deep as the one in C at the recursion limit that holds now."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + DEPTH * 6)  # frames for a level: four, and some to spare
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def reducers() -> dict[type, Any]:
    """Give what a starting process pickles in its own way, such as partials and sockets."""
    extra: Mapping[type, Any] = getattr(reduction.ForkingPickler, "_extra_reducers", {})
    return {**copyreg.dispatch_table, **extra}


def is_of_forking(thing: object) -> bool:
    """Whether it is a lock of multiprocessing that only forked processes can share.

    Its semaphore has no name by which another process could open it.
    """
    if sys.platform == "win32" or not issubclass(
        type(thing), classes("multiprocessing.synchronize", "SemLock")
    ):
        return False
    inner: Any = own_attributes(thing).get("_semlock")
    return issubclass(type(inner), classes("_multiprocessing", "SemLock")) and inner.name is None


def refuse_forked_lock(thing: object) -> None:
    """Refuse a lock for forking in the words of later Pythons.

    Python 3.10 sends it, and the process that takes one dies where it uses it (SIGSEGV).

    Raises:
        RuntimeError: it is one.
    """
    if sys.version_info < (3, 12) and is_of_forking(thing):
        raise RuntimeError(
            "A SemLock created in a fork context is being shared with a process in a spawn context."
        )


def bulk(thing: object) -> Any:
    """Leave the data of tensors, arrays and tables where it is.

    Tensors are refused here in the words of torch, whose own reducers would move every storage to
    shared memory.
    """
    refuse_forked_lock(thing)
    torch = cast("Any", sys.modules.get("torch"))
    kind = type(thing)
    if torch is not None and hasattr(torch, "UntypedStorage"):
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if thing.requires_grad and not thing.is_leaf:  # type: ignore[attr-defined]
                raise RuntimeError(
                    "Cowardly refusing to serialize non-leaf tensor which requires_grad"
                )
            if _is_refused_for_meta(torch, thing):
                raise RuntimeError("_share_fd_: only available on CPU")
            return NOTHING
        # Tensors of other classes pickle as those say, and have no sharing of their own.
        if issubclass(kind, (torch.UntypedStorage, torch.storage.TypedStorage)):
            return NOTHING
    numpy = cast("Any", sys.modules.get("numpy"))
    if numpy is not None and issubclass(kind, getattr(numpy, "ndarray", ())):
        own = numpy.ndarray
        usual = all(
            getattr(kind, name) is getattr(own, name)
            for name in ("__reduce_ex__", "__reduce__", "__setstate__")
        )
        if usual and not own.dtype.__get__(thing).hasobject:
            return (id, (kind,)) if kind is not numpy.ndarray else NOTHING
    arrow = cast("Any", sys.modules.get("pyarrow"))
    if arrow is not None and issubclass(kind, getattr(arrow, "Buffer", ())):
        return NOTHING
    return NotImplemented


def _is_refused_for_meta(torch: Any, tensor: Any) -> bool:
    """Whether it is on the device `meta`, and torch is older than 2.3: it would share its data."""
    return tensor.device.type == "meta" and not hasattr(
        torch.multiprocessing.reductions, "rebuild_meta_tensor"
    )


class Enough(Exception):  # noqa: N818  it is no error: the look ends here
    """The stream is longer than anything that is sent to a worker in earnest."""


class Writable(Protocol):
    """Where a stream goes."""

    written: int

    def write(self, part: Any) -> int:
        """Take a part of it."""


class Sink:
    """Takes what a pickler writes and keeps nothing of it."""

    def __init__(self, most: int = _STREAM) -> None:
        self.most = most
        self.written = 0

    def write(self, part: Any) -> int:
        """Count a part of the stream, unless there is too much of it."""
        size = len(part)
        self.written += size
        if self.written > self.most:
            raise Enough
        return size


class _Pickler(pickle.Pickler):
    """Python's own pickler, with the reducers of a process that is being started."""

    def __init__(self, sink: Writable, reduction: Callable[[object], Any]) -> None:
        super().__init__(sink, PROTOCOL)
        self.dispatch_table = reducers()
        self.reduction = reduction

    def reducer_override(self, thing: object) -> Any:
        return self.reduction(thing)


def pickled(roots: Roots, sink: Writable, reduction: Callable[[object], Any]) -> Refusal | None:
    """Write all roots, one pickle each; give the root that is refused, and what was said.

    Raises:
        Enough: the sink takes no more.
    """
    pickler = _Pickler(sink, reduction)
    for name, thing in roots:
        try:
            pickler.dump(thing)
        except (KeyboardInterrupt, Enough):
            raise
        except BaseException as error:  # noqa: BLE001  pickle runs the user's own code
            return name, error
    return None


def refusal(roots: Roots, without: Mapping[int, object]) -> Refusal | None:
    """Pickle for real, but for some objects; give the root that is refused, and what was said.

    None where all is taken, and where nothing is refused in the first 4 GiB of an endless stream.
    """

    def reduction(thing: object) -> Any:
        return NOTHING if id(thing) in without else bulk(thing)

    try:
        sent = [(name, thing) for name, thing in roots if id(thing) not in without]
        return pickled(sent, Sink(), reduction)
    except Enough:
        return None
