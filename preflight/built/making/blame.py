"""Tells what the user's code raises from what we raise, and says it as facts."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Sequence

from preflight.built.making.copy_stops import copy_stop
from preflight.kinds.asked import CannotLookError, MistypedError
from preflight.objects.stand_in import StoodIn
from preflight.targets.targets import Built
from preflight.users_code.facts import Frame, GroupStoodIn, Lack, MadeOnCpu, Unbuilt
from preflight.users_code.frames import hidden_lines, is_users, said_by, user_frames
from preflight.users_code.importing import group_asked_for
from preflight.users_code.lacks.lacking import chain, lacking
from preflight.users_code.shadowing import Shadow
from preflight.users_code.unfound import unfound
from preflight.values.names import name_of
from preflight.values.own_files import is_our_line
from preflight.values.this_process import full_path, working_folder


class RaisedError(Exception):
    """The user's code raised while a target was made."""

    of_job = True

    def __init__(self, step: str, error: BaseException) -> None:
        super().__init__(step)
        self.step = step
        self.error = error


@contextlib.contextmanager
def blaming(step: str, root: str | None = None) -> Iterator[None]:
    """Whatever the user's code raises, `sys.exit` too, is the user's.

    Where a root is given, we look, and that is what raises in the user's own lines below it.
    """
    try:
        yield
    except (CannotLookError, MistypedError):
        raise
    except BaseException as error:
        if root is None:
            is_ours = is_our_line(error)
        else:
            is_ours = not is_users(traceback.extract_tb(error.__traceback__)[-1].filename, root)
        if is_ours:
            raise
        raise RaisedError(step, error) from error


# Nothing of this is raised because a tensor is on the CPU.
_ON_ANY_DEVICE = (NameError, SyntaxError, ImportError, FileNotFoundError)


def unbuilt(
    built: Built, raised: RaisedError, root: str, factory: object, stood_in: StoodIn
) -> Unbuilt:
    """Say as facts what was raised, and what it was raised for want of."""
    error = raised.error
    folders = (root, working_folder(), sys.path[0] if sys.path else root)
    lacks = lacking(error, folders) or _far_away(error, folders)
    if lacks is None and stood_in.frames is not None and not isinstance(error, _ON_ANY_DEVICE):
        lacks = Lack(kind="stand-in", name="CUDA")
    if lacks is not None and _takes_device(factory):
        lacks = lacks._replace(takes_device=True)
    return Unbuilt(
        name=built.name or built.spec,
        step=raised.step,
        error=said_by(error),
        frames=(
            *hidden_lines(user_frames(traceback.extract_tb(error.__traceback__), root), error),
            *_unparsed(error, root),
        ),
        lacks=lacks,
        unfound=unfound(chain(error), folders) if lacks is None else None,
        copy_stop=copy_stop(error),
    )


def _far_away(error: BaseException, folders: Sequence[str]) -> Lack | None:
    """Name a file that is not there, in no folder of the job: it may lie on another disk."""
    for one in chain(error):
        path = one.filename if isinstance(one, FileNotFoundError) else None
        if isinstance(path, str) and os.path.isabs(path):
            homes = [os.path.join(full_path(folder), "") for folder in folders]
            return None if path.startswith(tuple(homes)) else Lack(kind="file", name=path)
    return None


def unimportable(built: Built, shadow: Shadow, root: str) -> Unbuilt:
    """Say as facts that a file of the job's stands where torch looks for another one."""
    frame = Frame(file=name_of(shadow.file, root), line=1, function="<module>", text="")
    return Unbuilt(
        name=built.name or built.spec,
        step="import",
        error=shadow.error,
        frames=(frame,),
        shadows=shadow.module,
    )


def made_on_cpu(name: str, stood_in: StoodIn, root: str) -> MadeOnCpu:
    """Say where a GPU was asked for first, for which the CPU stood in."""
    frames = user_frames(stood_in.frames or (), root)
    return MadeOnCpu(name=name, at=frames[-1] if frames else None)


def group_stood_in(name: str, root: str) -> Iterator[GroupStoodIn]:
    """Say which process group was asked for that only GPUs have."""
    asked = group_asked_for()
    if asked is not None and "nccl" in asked[0]:
        frames = user_frames(asked[1], root)
        yield GroupStoodIn(name=name, backend="nccl", at=frames[-1] if frames else None)


def _takes_device(factory: object) -> bool:
    try:
        return callable(factory) and "device" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        return False


def _unparsed(error: BaseException, root: str) -> tuple[Frame, ...]:
    """Give the line that is no Python, which is no frame of the traceback."""
    if not isinstance(error, SyntaxError) or not error.filename or not error.lineno:
        return ()
    if not os.path.isfile(error.filename):
        return ()
    file = name_of(error.filename, root)
    text = (error.text or "").strip()
    return (Frame(file=file, line=error.lineno, function="<module>", text=text),)
