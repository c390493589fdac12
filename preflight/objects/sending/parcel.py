"""Pickles what a DataLoader sends into a stream that a worker can load, and keeps none of it.

The fast way is Python's own pickler at multiprocessing's own protocol. The slow way is the one in
Python, without frames: each byte of its stream belongs to one object, so that the byte at which a
worker stopped names the object that it could not load.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from typing import Any

from preflight.objects.sending.pickle_paths import (
    CONTAINERS,
    FramePickler,
    PickledObject,
    holders_of,
    steps_to,
)
from preflight.objects.sending.pickle_trial import (
    PROTOCOL,
    Enough,
    Refusal,
    Roots,
    Sink,
    Writable,
    deep,
    reducers,
)
from preflight.objects.sending.stand_ins import LeftOut, StandIns


class _Fast(pickle.Pickler):
    def __init__(self, sink: Writable, stand_ins: StandIns) -> None:
        super().__init__(sink, PROTOCOL)
        self.dispatch_table = reducers()
        self.stand_ins = stand_ins

    def reducer_override(self, thing: object) -> Any:
        return self.stand_ins.reduction(thing)


def pickled(roots: Roots, sink: Writable, stand_ins: StandIns) -> Refusal | None:
    """Write all roots, one pickle each; give the root that is refused, and what was said.

    Raises:
        Enough: the sink takes no more.
    """
    pickler = _Fast(sink, stand_ins)
    for name, thing in roots:
        try:
            pickler.dump(None if stand_ins.left_out.has(thing) else thing)
        except (KeyboardInterrupt, Enough):
            raise
        except BaseException as error:  # noqa: BLE001  pickle runs the user's own code
            return name, error
    return None


# --- the slow way ---------------------------------------------------------------------------------


class _Slow(FramePickler):
    def __init__(self, sink: Writable, stand_ins: StandIns) -> None:
        super().__init__(sink)
        self.stand_ins = stand_ins

    def reducer_override(self, thing: object) -> Any:
        return self.stand_ins.reduction(thing)

    def write_root(self, thing: object) -> None:
        """Write one root, without frames."""
        self.write(pickle.PROTO + bytes([PROTOCOL]))
        self.save(None if self.stand_ins.left_out.has(thing) else thing)
        self.write(pickle.STOP)


def pickled_slowly(roots: Roots, sink: Writable, stand_ins: StandIns) -> BaseException | None:
    """Write all roots by the pickler in Python, without frames; give what was raised."""
    pickler = _Slow(sink, stand_ins)
    with deep():
        for _, thing in roots:
            try:
                pickler.write_root(thing)
            except (KeyboardInterrupt, Enough):
                raise
            except BaseException as error:  # noqa: BLE001  pickle runs the user's own code
                return error
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectAtByte:
    """The innermost object that a byte of the stream belongs to."""

    thing: object
    root: str
    steps: str
    """The path to it, from the root."""

    holders: tuple[tuple[object, str], ...]
    """The instances on that path, innermost first, each with the attribute that leads on."""

    above: tuple[object, ...]
    """What it is in, the outermost first."""


class _Here(Exception):  # noqa: N818  it is no error: the search ends here
    def __init__(self, found: ObjectAtByte) -> None:
        super().__init__()
        self.found = found


class _Finder(_Slow):
    """Goes the same way again, and notes what it is at when the byte is written."""

    def __init__(self, stand_ins: StandIns) -> None:
        super().__init__(Sink(), stand_ins)
        self.root = ""
        self.wanted: int | None = None

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002, ARG002  as pickle calls it
        begun = self.sink.written
        self.frames.append(PickledObject(thing=obj))
        super().save(obj)
        if self.wanted is not None and begun <= self.wanted < self.sink.written:
            above = self.frames[:-1]
            raise _Here(
                ObjectAtByte(
                    thing=obj,
                    root=self.root,
                    steps="".join(steps_to(above, obj)),
                    holders=holders_of(above, obj),
                    above=tuple(frame.thing for frame in above),
                )
            )
        self.frames.pop()


def find(roots: Roots, place: tuple[int, int], stand_ins: StandIns) -> ObjectAtByte | None:
    """Find the innermost object to which a byte of the slow stream belongs.

    The place is the number of the root, and the byte from its beginning. None where the objects
    give another stream now.
    """
    number, offset = place
    finder = _Finder(stand_ins)
    with deep():
        try:
            for index, (name, thing) in enumerate(roots):
                finder.root = name
                finder.wanted = finder.sink.written + offset if index == number else None
                finder.write_root(thing)
        except KeyboardInterrupt:
            raise
        except _Here as here:
            return here.found
        except BaseException:  # noqa: BLE001  pickle runs the user's own code
            return None
    return None


# --- tensors that are gone when the worker starts -------------------------------------------------


class _Watcher(_Finder):
    """Notes of each tensor who holds it, and holds none of them itself."""

    def __init__(self, stand_ins: StandIns) -> None:
        super().__init__(stand_ins)
        self.seen: list[tuple[Any, ObjectAtByte]] = []

    def reducer_override(self, thing: object) -> Any:
        before = len(self.stand_ins.storages)
        reduction = super().reducer_override(thing)
        if len(self.stand_ins.storages) > before:
            self.seen.append((self.stand_ins.storages[-1], self._holder()))
        return reduction

    def _holder(self) -> ObjectAtByte:
        """Describe the nearest object that is neither a tensor's part nor a container."""
        torch: Any = sys.modules["torch"]
        parts = (torch.Tensor, torch.UntypedStorage, torch.storage.TypedStorage, *CONTAINERS)
        number = len(self.frames) - 1
        while number and issubclass(type(self.frames[number].thing), parts):
            number -= 1
        above, thing = self.frames[:number], self.frames[number].thing
        return ObjectAtByte(
            thing=thing,
            root=self.root,
            steps="".join(steps_to(above, thing)),
            holders=holders_of(above, thing),
            above=(),
        )


def makers_of_fleeting(roots: Roots, left_out: LeftOut) -> list[ObjectAtByte]:
    """Find the objects that make tensors while they are pickled, which are gone afterwards."""
    watcher = _Watcher(StandIns(left_out=left_out))
    with deep():
        for name, thing in roots:
            watcher.root = name
            try:
                watcher.write_root(thing)
            except KeyboardInterrupt:
                raise
            except BaseException:  # noqa: BLE001  pickle runs the user's own code
                break
    seen = watcher.seen
    del watcher  # its memo keeps all that it met
    found = {id(one.thing): one for reference, one in seen if reference.expired()}
    return list(found.values())
