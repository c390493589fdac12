"""Notes what a script saves, and where training stood then; reads back what it has saved."""

from __future__ import annotations

import errno
import io
import linecache
import os
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from preflight.processes.rank import ranks_in_group
from preflight.resuming.facts import SavedState
from preflight.resuming.moments import (
    BEGIN,
    SAVE,
    STEP,
    Average,
    Moment,
    Moved,
    Owner,
    ResumeWay,
    line_of,
)
from preflight.scripts.facts import Met
from preflight.scripts.failing import guarded
from preflight.scripts.saving.in_memory import InMemory
from preflight.scripts.saving.kept_first import KeptFirst
from preflight.scripts.saving.loading import File, load
from preflight.scripts.saving.states.averages import Averages
from preflight.scripts.saving.states.loaded_into import LoadedInto
from preflight.scripts.saving.states.owners import owner_of
from preflight.scripts.saving.states.read_keys import ReadKeys
from preflight.scripts.saving.states.stated_counts import counts_in, holds_optimizer
from preflight.scripts.saving.states.weight_samples import (
    holds_trained,
    is_sample,
    mark_of,
    moves_nothing,
)
from preflight.scripts.watch import MOMENTS, Watch
from preflight.users_code.facts import Frame
from preflight.users_code.frames import said_by
from preflight.values.names import name_of
from preflight.values.this_process import full_path, working_folder

ALONE, TOGETHER = "alone", "together"
"""How a script goes on: by one process, or by ranks, of which none can be stopped alone."""

OF_LIGHTNING = "Trainer.save_checkpoint"
"""Saves all that a resume takes in one file."""

# Errors of a disk that is full: it is ours that was written to, and not the job's.
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class Log:
    """What is saved and stepped in a script's process."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.given: Any = None
        """The last batch for training."""

        self.files: dict[str, File] = {}
        """By their whole path."""

        self._saved: dict[str, tuple[str, Frame | None]] = {}
        self._in_memory = InMemory()
        self._optimizers: list[tuple[weakref.ref[Any], Frame | None]] = []
        self._begun: weakref.WeakSet[Any] = weakref.WeakSet()
        self._schedules: list[weakref.ref[Any]] = []
        self._averages = Averages()
        self._steps = 0
        self._is_noted = False
        self._first = KeptFirst(watch)
        self.has_way = False
        """Whether it is known by what the script resumes."""

        self.loaded, self.into = ReadKeys(), LoadedInto()
        self.loops: Callable[[], dict[str, int]] = dict
        """Gives how many passes are over of loops that begin anew in each run."""

        self._within = threading.local()
        watch.on_stop += [self.read_back, self._may_go_on]
        if watch.layer is not None:
            watch.layer.on_move = self.moved
            for one in watch.options.get("saves", ()):
                watch.layer.on_read = self.read
                watch.layer.keep(one)

    def made(self, optimizer: Any) -> None:
        """Take in an optimizer that the script has made."""
        self._optimizers.append((weakref.ref(optimizer), self.watch.place()))
        optimizer.register_step_pre_hook(guarded(self.before_step, self.watch))

    def scheduled(self, schedule: Any) -> None:
        """Take in a schedule of learning rates."""
        self._schedules.append(weakref.ref(schedule))

    def before_step(self, optimizer: Any, *_: Any) -> None:
        """Note where the first step begins, and the first one after each save.

        One on no gradients before all training only makes room for a state that is to be loaded, as
        `torch.distributed.checkpoint` has it.
        """
        if not self.watch.steps and moves_nothing(optimizer):
            return
        for one in self._find_written():
            self._may_stop(one)
        if not self._is_noted:
            self._is_noted = True
            for copy in self._first.keep_all():
                self._write(copy)
            owners, seen = self._begins(), self._look()
            self._write(
                Moment(
                    what=STEP,
                    steps=self._steps,
                    batch=mark_of(self.given),
                    owners=owners,
                    averages=seen,
                    unread_counts=self.loaded.unread_counts(),
                    unread_schedules=self.loaded.unread_schedules(),
                )
            )
        elif self._steps == 1 or self._averages.is_open:
            self._look()
        if optimizer not in self._begun:  # it was made since
            self._write(Moment(what=BEGIN, steps=self._steps, owners=self._begins()))
        self._steps += 1

    def _begins(self) -> tuple[Owner, ...]:
        self._begun.update(self._trains())
        return self._owners()

    def _look(self) -> tuple[Average, ...]:
        watch = self.watch
        if not watch.is_here or not (watch.wants("Resumed") or watch.options.get("resuming")):
            return ()
        began = time.perf_counter()
        seen = self._averages.look(self._trains())
        watch.aside += time.perf_counter() - began
        return seen

    def _trains(self) -> list[Any]:
        return [one for ref, _ in self._optimizers if (one := ref()) is not None]

    def _owners(self) -> tuple[Owner, ...]:
        made = ((ref(), at) for ref, at in self._optimizers)
        moving = [one for ref in self._schedules if (one := ref()) is not None]
        return tuple(owner_of(one, at, moving, self.into) for one, at in made if one is not None)

    @contextmanager
    def saving(self) -> Iterator[bool]:
        """Say whether this is a save of the script's own, and not one within another."""
        outermost = not getattr(self._within, "one", False)
        self._within.one = True
        try:
            yield outermost
        finally:
            if outermost:
                self._within.one = False

    def saved(self, path: str, writer: str, state: object) -> None:
        """Note a save that was made."""
        self._find_written()
        own = self.real(path) if path else ""
        self._may_stop(self._note(self._moment(own, writer, state), writer))

    def is_trained(self, state: object) -> bool:
        """Whether what is saved holds parts of what is trained."""
        return self.watch.is_here and holds_trained(state, self._trains())

    def held(self, buffer: io.BytesIO, writer: str, state: object) -> None:
        """Note a save into memory: it may be written to a file later."""
        if (layer := self.watch.layer) is not None:
            self._in_memory.take(buffer, self._moment("", writer, state), layer)

    def _find_written(self) -> list[Moment]:
        """Note the saves into memory that are in files by now."""
        layer = self.watch.layer
        return [
            self._note(one, "torch.save")
            for one in (() if layer is None else self._in_memory.found(layer))
        ]

    def _moment(self, path: str, writer: str, state: object) -> Moment:
        counts, holds = counts_in(state), holds_optimizer(state)
        return Moment(
            what=SAVE,
            steps=self._steps,
            batch=mark_of(self.given),
            owners=self._owners(),
            averages=self._look() if self._steps else (),
            path=path,
            at=self.watch.place(),
            holds_state=holds or writer == OF_LIGHTNING,
            is_folder=bool(path) and os.path.isdir(path),
            in_epoch=self.watch.in_epoch,
            passes=self.watch.passes,
            counts=counts,
            loops=self.loops(),
            is_sample=not holds and is_sample(state, self._trains()),
        )

    def _note(self, moment: Moment, writer: str) -> Moment:
        own, at = moment.path, moment.at
        name = name_of(own, self.watch.root) if own else ""
        self.watch.met(Met(what="sample" if moment.is_sample else "save", at=at, name=name))
        self._write(moment)
        self._is_noted &= moment.is_sample
        if own and moment.steps and not moment.is_sample:
            self._first.keep(moment)
        if own and self.watch.is_here:
            self._saved[own] = (writer, at)
            self._tell(own, writer, at)
        return moment

    def _may_stop(self, moment: Moment) -> None:
        # Weights alone may come before the checkpoint.
        is_one = moment.tells or not (moment.is_sample or self.watch.options.get("saves_tell"))
        is_alone = self.watch.options.get("resuming") == ALONE and ranks_in_group() == 1
        if is_alone and moment.steps and is_one:
            self.watch.stop("it has gone on, and has saved again")

    def _tell(self, path: str, writer: str, at: Frame | None) -> None:
        name = name_of(path, self.watch.root)
        self.watch.gave(SavedState(name=name, writer=writer, at=at), key=f"saved {name}")

    def moved(self, source: str, target: str) -> None:
        """Follow what was saved to where it is moved, as who writes in two steps does."""
        if source in self.files:
            self.files[target] = self.files.pop(source)
        if source in self._saved and self.watch.is_here:
            self._write(Moved(source=source, target=target))
            self._first.moved(source, target)
            writer, at = self._saved[target] = self._saved.pop(source)
            self._tell(target, writer, at)

    def read(self, path: str) -> None:
        """Tell that something is read of what the first run has saved."""
        layer, saves = self.watch.layer, self.watch.options["saves"]
        if self._steps:  # what it tests at its end
            return
        is_saved = any(path == one or path.startswith(f"{one}{os.sep}") for one in saves)
        if is_saved and layer is not None and layer.exists(path):
            layer.on_read = None
            self.watch.met(Met(what="load"))

    def failed(self, path: str, writer: str, error: Exception) -> None:
        """Tell what was raised by a save."""
        if isinstance(error, OSError) and error.errno in _FULL and self.watch.layer is not None:
            self.watch.shortened("a save that the folder for temporary files had no room for")
            error.of_preflight = True  # type: ignore[attr-defined]
            return
        name = name_of(self.real(path), self.watch.root) if path else ""
        inner = self.watch.own.frames(traceback.extract_tb(error.__traceback__))
        told = SavedState(
            name=name,
            writer=writer,
            at=self.watch.place(),
            error=said_by(error),
            raised=inner[-1] if inner else None,
        )
        self.watch.gave(told, key=f"failed {name} {told.at}")
        if self.watch.wants("SavedState"):
            self.watch.blamed[id(error)] = "script-save"

    def real(self, path: str) -> str:
        """Give the path that the script has named, as a whole one."""
        own = None if (layer := self.watch.layer) is None else layer.own(layer.named(path))
        return own or full_path(path)

    def read_back(self) -> None:
        """Load what `torch.save` has written and is still there."""
        self._find_written()
        if self.watch.wants("SavedState") and self.watch.is_here:
            for path, file in self.files.items():
                if os.path.isfile(path):
                    told = load(file, path, name_of(path, self.watch.root))
                    self.watch.gave(told, key=f"saved {told.name}")

    def _write(self, one: Moment | Moved | ResumeWay) -> None:
        if self.watch.is_here:
            with open(os.path.join(self.watch.scratch, MOMENTS), "a", encoding="utf-8") as file:
                file.write(line_of(one))

    def way(self, way: ResumeWay) -> None:
        """Note how the script resumes."""
        self.has_way |= not way.is_guess
        self._write(way)

    def _may_go_on(self) -> None:
        """Note how a script goes on that declares no option: by what it reads, or by itself."""
        if self._first.save is None or self.has_way:
            return
        from preflight.resuming.every_way import ways_read

        own = self.watch.own
        files = (getattr(one, "__file__", None) for one in list(sys.modules.values()))
        texts = ["".join(linecache.getlines(one)) for one in files if one and own.has(one)]
        for way in ways_read(texts, sys.argv[1:], (working_folder(), self.watch.folder)):
            self._write(way)


_logs: dict[int, Log] = {}


def log_of(watch: Watch) -> Log:
    """Give the one log of a process."""
    return _logs.get(id(watch)) or _logs.setdefault(id(watch), Log(watch))
