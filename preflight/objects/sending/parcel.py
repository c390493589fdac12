"""Pickles what a DataLoader sends into a stream each byte of which belongs to one object.

This is the slow way: by the pickler in Python, and without frames. So the byte at which a worker
stopped names the object that it could not load.
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
    Roots,
    Sink,
    Writable,
    deep,
)
from preflight.objects.sending.stand_ins import LeftOut, StandIns


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
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001  pickle runs the user's own code
                return error
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ObjectAtByte:
    """An object below a root, such as the innermost one that a byte of the stream belongs to."""

    thing: object
    root: str
    steps: str = ""
    """The path to it, from the root."""

    holders: tuple[tuple[object, str], ...] = ()
    """The instances on that path, innermost first, each with the attribute that leads on."""


class _Finder(_Slow):
    """Goes the same way again, and notes what it is at when the byte is written."""

    def __init__(self, stand_ins: StandIns) -> None:
        super().__init__(Sink(), stand_ins)
        self.root = ""
        self.wanted: int | None = None
        self.found: ObjectAtByte | None = None

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002, ARG002  as pickle calls it
        begun = self.sink.written
        self.frames.append(PickledObject(thing=obj))
        super().save(obj)
        if self.wanted is not None and begun <= self.wanted < self.sink.written:
            self.found = self.at(len(self.frames) - 1)
            raise Enough
        self.frames.pop()

    def at(self, number: int) -> ObjectAtByte:
        """Describe what one of the frames is of."""
        above, thing = self.frames[:number], self.frames[number].thing
        steps, holders = "".join(steps_to(above, thing)), holders_of(above, thing)
        return ObjectAtByte(thing=thing, root=self.root, steps=steps, holders=holders)


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
        except BaseException:  # noqa: BLE001  pickle runs the user's own code
            return finder.found
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
        return self.at(number)


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
