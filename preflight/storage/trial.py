"""Has several processes save by the user's own function, into a folder of ours, and one read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from preflight.findings.our_failures import ElsewhereError
from preflight.kinds.asked import Asked, CannotLookError, MistypedError
from preflight.storage.crew import Crew
from preflight.storage.facts import ReadBack, WriterTrial
from preflight.storage.read import MARK
from preflight.storage.scratch import scratch
from preflight.storage.space import entry_sizes, nearest_folder, suffix_in
from preflight.storage.system_files import Files
from preflight.users_code.importing import refuse_unguarded
from preflight.values.code_name import parse_spec
from preflight.values.names import name_of

WRITERS = 3

# Bytes of what is saved: as the entries that are there have it, within these bounds.
_LEAST, _USUAL, _MOST = 1 << 14, 1 << 18, 1 << 22

# Seconds that the race takes; a file has its turn for so long, or for so many saves of one writer.
_RACE, _TURN, _SAVES = 2.0, 0.03, 8
_LONGEST_TURN, _FEWEST_TURNS = 1.0, 4

# How long a writer may be silent behind the end of the race, in seconds, and in saves.
_LATE, _LATE_SAVES = 10.0, 20

Step = Callable[[str], AbstractContextManager[None]]


def look(asked: Asked) -> Iterator[WriterTrial]:
    """Try the writer of the cache that is asked about."""
    yield try_writer(asked.wire, asked.options, asked.alive, asked.step)


def try_writer(
    told: Mapping[str, Any], options: Mapping[str, Any], alive: Callable[[], object], step: Step
) -> WriterTrial:
    """Try a writer beside the cache, on the same file system.

    Raises:
        CannotLookError: its module raises, or would start the training; or it cannot be called.
        MistypedError: the module or the name does not exist.
        OSError: nothing can be written there.
    """
    writer, root, patience = told["writer"], options["root"], float(options["timeout"])
    spec = parse_spec(writer)
    if spec is None:
        raise MistypedError(f"{writer} is no module:name and no file.py:name")
    if not options["import_anyway"]:
        refuse_unguarded(spec, root)
    crew_told = [
        {"writer": writer, "root": root, "number": one, "reads": one == WRITERS, "ranks": WRITERS}
        for one in range(WRITERS + 1)
    ]
    ranks = [
        {"RANK": str(one), "LOCAL_RANK": str(one), "WORLD_SIZE": str(WRITERS)}
        for one in range(WRITERS)
    ]
    with (
        scratch(_place(told["path"]), Files(), MARK) as folder,
        Crew(
            "preflight.storage.trial_process", crew_told, alive, environments=[*ranks, {}]
        ) as crew,
    ):
        trial = _Trial(told, folder, crew, patience)
        with step(f"import {spec.home}"):
            trial.ask("begin", f"importing {spec.home}")
        with step(f"call {writer}"):
            trial.learn()
        return trial.race(root)


def _place(path: str) -> str:
    """Give the folder in which ours is made: beside the cache, which others read at this time."""
    place = nearest_folder(path)
    if place != os.path.realpath(path):
        return place
    above = os.path.dirname(place)
    is_same = os.stat(above).st_dev == os.stat(place).st_dev
    return above if is_same and os.access(above, os.W_OK | os.X_OK) else place


class _Trial:
    """One writer, as far as it was tried."""

    def __init__(self, told: Mapping[str, Any], folder: str, crew: Crew, patience: float) -> None:
        self._told, self._folder, self._crew = told, folder, crew
        self._patience = patience
        sizes = entry_sizes(told["path"])
        size = round(sum(sizes) / len(sizes)) if sizes else _USUAL
        self._size = min(max(size, _LEAST), _MOST)
        self._suffix = suffix_in(told["path"]) or ".pt"
        self._learnt: Mapping[str, Any] = {}
        self._seconds = 0.0
        self._read_by = ""
        self._writers = WRITERS

    def ask(self, order: str, what: str, **more: Any) -> list[dict[str, Any]]:
        """Have an order carried out by all.

        Raises:
            CannotLookError: one says that it cannot, or is silent for too long.
            MistypedError: a module or a name does not exist.
        """
        self._crew.order(order, **more)
        said = []
        for number, one in enumerate(self._crew.answers(self._patience)):
            if one is None:
                status = self._crew.status(number)
                why = "said nothing for" if status is None else f"ended with {status} within"
                raise CannotLookError(f"{what}: a process {why} {self._patience:g} s")
            _ours(one)
            if "mistyped" in one:
                raise MistypedError(one["mistyped"])
            if "broken" in one:
                raise CannotLookError(one["broken"], fix=one.get("fix"))
            said.append(one)
        return said

    def learn(self) -> None:
        """Find out how the function is called, and what tells whole files from others."""
        what = f"calling {self._told['writer']}"
        folder = os.path.join(self._folder, "learn")
        os.mkdir(folder)
        first = self.ask("learn", what, folder=folder, suffix=self._suffix, size=self._size)[0]
        self._learnt = first
        alone = os.path.join(self._folder, "alone-{}", f"entry{self._suffix}")
        said = self.ask("alone", what, how=first["how"], path=alone, size=self._size)
        # The first call has imported what the others find there.
        self._seconds = min(first["seconds"], said[0]["seconds"])
        names = ["0-0", "0-1", *(f"{one}-0" for one in range(1, WRITERS))]
        paths = [self._written(alone.format(one)) for one in names]
        there = [one for one in paths if os.path.lexists(one)]
        if there[:2] != paths[:2]:
            raise CannotLookError(f"{self._told['writer']} does not write each time it is called")
        self._writers = len(there) - 1  # a job may have rank 0 alone write
        try:
            self._read_by = self.ask("verify", what, paths=there)[-1]["read_by"]
        except CannotLookError as error:
            raise CannotLookError(f"{self._told['writer']}: {error}", fix=error.fix) from error

    def _written(self, path: str) -> str:
        """Give the path of the file that the function writes where it is given this one."""
        return os.path.splitext(path)[0] + str(self._learnt["ending"])

    def race(self, root: str) -> WriterTrial:
        """Have all write the same files at the same time, and one read them."""
        each = min(max(_SAVES * self._seconds, _TURN), _LONGEST_TURN)
        seconds = max(_RACE, _FEWEST_TURNS * each)
        path = os.path.join(self._folder, "turn-{}", f"entry{self._suffix}")
        turns = int(seconds / each) + 2
        for number in range(turns):
            os.mkdir(os.path.dirname(path.format(number)))
        begin = time.monotonic()
        ending = self._learnt["ending"]
        until = begin + seconds
        self._crew.order("race", path=path, ending=ending, begin=begin, each=each, until=until)
        late = max(_LATE, _LATE_SAVES * self._seconds)
        *writers, reader = self._crew.answers(seconds + min(late, self._patience))
        for each_said in (*writers, reader):
            _ours(each_said or {})
        hung = sum(one is None and self._crew.status(n) is None for n, one in enumerate(writers))
        ended = [self._crew.status(n) for n, one in enumerate(writers) if one is None]
        died = [one for one in ended if one is not None]
        said = [one for one in writers if one is not None]
        if reader is None:
            raise CannotLookError(f"nobody could read what {self._told['writer']} wrote in time")
        if hung or died:
            self._crew.end(range(WRITERS))
        paths = [one for n in range(turns) if os.path.lexists(one := self._written(path.format(n)))]
        self._crew.order("verify", paths=paths)
        left = self._crew.answer(WRITERS, self._patience) or {}
        _ours(left)
        raised = [one["first"] for one in said if one["raised"]]
        raised += [f"ends its process with {one}" for one in died]
        torn = reader.pop("first") or left.get("first", "")
        value = self._learnt["how"][-1]
        return WriterTrial(
            file=name_of(self._told["path"], root),
            entry=self._told["entry"],
            writer=self._told["writer"],
            called_as=self._learnt["called_as"],
            value=f"{value} of {self._size:,} bytes",
            suffix="." + str(ending).rpartition(".")[2],
            read_by=self._read_by,
            writers=self._writers,
            saves=sum(one["saves"] for one in said),
            reads=ReadBack(**reader),
            first_torn=torn,
            files=len(paths),
            left_damaged=left.get("damaged", 0),
            raised=sum(one["raised"] for one in said) + len(died),
            first_raised=raised[0] if raised else "",
            hung=hung,
        )


def _ours(said: Mapping[str, Any]) -> None:
    """Raise what a process has told of a failure of our own code in it."""
    if "crashed" in said:
        raise ElsewhereError(said["crashed"], said["trace"])
