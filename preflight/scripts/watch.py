"""What the script's own process knows of its rehearsal: what is met is told from here."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from preflight.overlay.layer import Layer
from preflight.scripts.facts import EVALUATION, SETUP, TRAINING, Met
from preflight.scripts.met_so_far import CountedMet, MetSoFar
from preflight.users_code.facts import Frame, Lack
from preflight.users_code.own import OwnFiles
from preflight.values.own_files import PACKAGE
from preflight.values.this_process import this_process
from preflight.values.wire import to_brief

TOLD = "told.jsonl"
"""In the scratch folder: a line of JSON for all that is told."""

MOMENTS = "moments.jsonl"
"""In the scratch folder: saves and steps."""

OF_PROCESS = "process-"
"""What folders in it begin with: in each tells a process that the script has started."""

# As it was before anything stood in its place.
_open = open

# A line at least so often while the script prints, in seconds, so that it is not taken for stuck.
_SIGN = 0.5

# Steps that are told one by one; more are counted, and told now and then.
_FEW = 5


class Stopped(BaseException):
    """Ends the script; `except Exception` does not catch it."""


@dataclass(slots=True, kw_only=True, eq=False)
class Watch:
    """Lives in the script's process, and tells the reader of what is met, as it is met."""

    root: str
    """The job's folder, to which files are named relative."""

    scratch: str
    """A folder of ours, which is removed when all was looked at."""

    folder: str
    """That of the script; what lies in it, in the job's or the current one is the script's own."""

    batches: int
    """That a loader gives in an epoch."""

    epochs: int
    """After so many of a loader, the script is stopped."""

    options: Mapping[str, Any]
    """The job's settings, as readers are told of them."""

    stood_in: bool = False
    """Whether the CPU stands in for a GPU."""

    steps: int = 0
    """How often gradients were computed."""

    given: int = 0
    """Batches that loaders gave."""

    trained_on: int = 0
    """Those of them that were for training."""

    passes: int = 0
    """Over loaders, for training."""

    in_epoch: bool = True
    """Whether the loop over a loader of training goes on, as far as is seen of it."""

    left: bool = False
    """Whether we have left a loop of the script's early, and it has gone on behind that."""

    is_stopped: bool = False
    """Whether we have ended the script."""

    exited_at: set[tuple[CodeType, int]] = field(default_factory=set)
    """The lines, each with its function, that were at work where the script has exited."""

    has_raised: bool = False
    """Whether the script has stopped with an exception."""

    aside: float = 0.0
    """Seconds in which the script waited while we looked at it."""

    on_stop: list[Callable[[], None]] = field(default_factory=list)
    """Called when the script has ended, before its exit handlers."""

    lacks: list[Callable[[BaseException], Lack | None]] = field(default_factory=list)
    """Asked what an exception was raised for want of, in a rehearsal alone."""

    too_early: list[Callable[[BaseException], bool]] = field(default_factory=list)
    """Asked whether an exception may come of steps that the script has not taken, for our doing."""

    shows_us: bool = False
    """Whether tracebacks show our own lines, since these have failed."""

    layer: Layer | None = None
    """Where all goes that the script writes; None: where it says."""

    blamed: dict[int, str] = field(default_factory=dict)
    """Exceptions, by `id`, of which a check tells that looked at what raised them."""

    _at: str = SETUP
    _evaluates: Callable[[], Any] = lambda: None
    """Gives the model that was set to evaluate last, until it is set to train, or is gone."""

    _evaluated: int = -1
    """How many steps there were when it evaluated last."""

    _begun: Frame | None = None
    """The script's own line that has set it so, until an evaluation is told of."""

    _so_far: MetSoFar = field(default_factory=MetSoFar)
    _pid: int = field(default_factory=this_process)
    _said: float = 0.0
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _busy: threading.local = field(default_factory=threading.local)
    own: OwnFiles = field(init=False)
    """The script's own files."""

    def __post_init__(self) -> None:
        """Know the script's own files by their folders."""
        self.own = OwnFiles(self.root, self.folder)

    def over(self) -> None:
        """Tell all that is told at the end of the script, once."""
        while self.on_stop:
            self.on_stop.pop(0)()
        self._tell_counts()

    def _tell_counts(self) -> None:
        self._tell_each(self._so_far.untold())
        self.tell(steps=self.steps)

    # --- what is met

    def wants(self, facts: str) -> bool:
        """Whether a selected check is over facts of this type."""
        return facts in self.options["wants"]

    def met(self, met: Met) -> None:
        """Tell of something that the script did; what one line does again is counted."""
        self._tell_each(self._so_far.add(met))
        self.sign()

    def has_met(self, *kinds: str) -> bool:
        """Whether one of these was met."""
        return self._so_far.has(*kinds)

    def _tell_each(self, every: Sequence[CountedMet]) -> None:
        for one in every:
            self.tell(met=one.place, facts=to_brief(one.met))

    def gave(self, *facts: object, key: str = "") -> None:
        """Tell what was seen of an object; what comes later under the same key takes its place."""
        for one in facts:
            self.tell(gave=key, facts={"type": type(one).__name__, **to_brief(one)})

    def shortened(self, what: str, *, left: bool = False) -> None:
        """Tell in words what was shortened, once each; and where a loop was left for that."""
        self.left |= left
        self.tell(shortened=what, left=self.left)

    def tell(self, **line: Any) -> None:
        """Write one line for the reader; a copy that the script has forked says nothing."""
        if self.is_here:
            self._said = time.monotonic()
            self.write(line)

    def write(self, line: Mapping[str, Any]) -> None:
        """Write one line for the reader, whichever process this is."""
        data = (json.dumps(line) + "\n").encode()
        with self._lock, _open(os.path.join(self.scratch, TOLD), "ab", buffering=0) as file:
            file.write(data)

    def sign(self) -> None:
        """Say that the script goes on, if nothing was said for a while."""
        if time.monotonic() - self._said > _SIGN:
            self._tell_counts()

    def clock(self) -> float:
        """Give the seconds in which the script itself was at work."""
        return time.perf_counter() - self.aside

    @property
    def is_here(self) -> bool:
        """Whether this is the script's own process, and none that it has started."""
        return this_process() == self._pid

    def moves_to(self, scratch: str) -> None:
        """Watch this process, which was forked, and tell of it in a folder of its own."""
        self._pid, self.scratch, self._said = this_process(), scratch, 0.0
        self._so_far, self._lock, self._busy = MetSoFar(), threading.RLock(), threading.local()

    # --- who did it

    def is_own(self, frame: FrameType | None) -> bool:
        """Whether it is of the script's own code."""
        return frame is not None and self.own.has(frame.f_code.co_filename)

    def frames(self) -> Iterator[FrameType]:
        """Give the script's own frames that are at work in this thread, the innermost first."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None:
            if self.is_own(frame):
                yield frame
            frame = frame.f_back

    def caller(self) -> FrameType | None:
        """Give the innermost frame at work that is not ours: who calls what is watched."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        return frame

    def place(self) -> Frame | None:
        """Give the script's own innermost line that is at work in this thread."""
        for frame in self.frames():
            return self.own.frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        return None

    # --- what goes on

    @contextmanager
    def looking(self) -> Iterator[bool]:
        """Say whether this thread is not already within something that is watched."""
        was_busy = getattr(self._busy, "is_so", False)
        free = self.is_here and not was_busy
        self._busy.is_so = was_busy or free
        try:
            yield free
        finally:
            self._busy.is_so = was_busy

    def stepped(self) -> None:
        """Count that gradients were computed."""
        self.steps += 1
        if self._at == SETUP:
            self._at = TRAINING
        if self.steps < _FEW:
            self.tell(steps=self.steps)
        else:
            self.sign()

    def set_mode(
        self, module: Any, *, evaluating: bool, owned: bool = False, at: Frame | None = None
    ) -> None:
        """Note that a model with parameters to train was set to evaluate, or to train.

        What lies between two such lines of the script itself is an evaluation, also without a
        loader; `at` is the first of them. Before the first step it is one of a model that is owned
        by an optimizer by then: others are set so as they are made, or for good.
        """
        if not evaluating and self._begun is not None and self._evaluates() is module:
            self.evaluates(self._begun)
        self._begun = at if evaluating else None
        self._evaluates = weakref.ref(module) if evaluating else lambda: None
        if self._at != SETUP or (owned and self._begun is not None):
            self.goes_on(evaluating=evaluating)

    def evaluates(self, at: Frame | None) -> None:
        """Tell of an evaluation."""
        self._begun = None
        self._evaluated = self.steps
        self.met(Met(what="evaluation", at=at))

    def has_evaluated(self) -> None:
        """Note that an evaluation is over, in whatever mode it leaves its model."""
        self._evaluates = lambda: None
        self.goes_on(evaluating=False)

    @property
    def while_at(self) -> str:
        """Say what the script is at: `setup`, `training` or `evaluation`.

        Who keeps the modes of all modules, as Lightning does, sets them back without a call.
        """
        module = self._evaluates()
        if self._at == EVALUATION and module is not None and module.training:
            return TRAINING
        return self._at

    @property
    def has_just_evaluated(self) -> bool:
        """Whether it evaluates, or has done so since the last step of training."""
        return self.while_at == EVALUATION or self._evaluated == self.steps

    @property
    def in_eval_mode(self) -> bool:
        """Whether a model was set to evaluate, and was not set back or frozen since."""
        module = self._evaluates()
        is_set = module is not None and not module.training
        return is_set and any(one.requires_grad for one in module.parameters())

    def goes_on(self, *, evaluating: bool) -> None:
        """Say whether a batch is for evaluation or for training."""
        self._at = EVALUATION if evaluating else TRAINING

    def stop(self, why: str) -> None:
        """End the script, since enough of it was seen.

        Raises:
            Stopped: always.
        """
        self.is_stopped = True
        is_main = threading.current_thread() is threading.main_thread()
        self.tell(stopping=why, in_background=not is_main, when=time.time())
        raise Stopped(why)
