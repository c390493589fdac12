"""Where a path is read and written, while all that is written goes to a folder of ours."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Collection

from preflight.overlay import on_disk
from preflight.overlay.on_disk import AnyPath
from preflight.overlay.stood import Stood

# Folders of which each file is a door to the system.
_DEVICES = ("/dev", "/proc", "/sys")


def not_laid_over() -> tuple[str, ...]:
    """Name the folders that are written for real: scratch of the system, caches of libraries."""
    home = os.path.expanduser("~")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    named = (os.environ.get(one) for one in ("HF_HOME", "TORCH_HOME", "TRITON_CACHE_DIR"))
    folders = (tempfile.gettempdir(), caches, *(one for one in named if one), *_DEVICES)
    return tuple(os.path.abspath(one) for one in folders)


class Layer:
    """What was written, moved or removed; all else is as it lies below."""

    def __init__(
        self, folder: str, *, always: tuple[str, ...], never: tuple[str, ...] | None = None
    ) -> None:
        self._home = os.path.abspath(folder)
        self._files = os.path.join(self._home, "files")
        self._real = os.path.realpath(self._files)
        self._kept = os.path.join(self._home, "kept")
        self._removed = os.path.join(self._home, "removed.txt")
        self.always = tuple(os.path.abspath(one) for one in always)
        """Folders over which it lies, whatever they lie in."""

        self._never = not_laid_over() if never is None else never
        # Where multiprocessing has its sockets, be the job's folder that of temporary files or not.
        self._sockets = os.path.join(os.path.abspath(tempfile.gettempdir()), "pymp-")
        self._stood = Stood(os.path.join(self._home, "stood"))
        self._keeping: set[str] = set()
        self._standing: set[str] = set()
        self.on_move: Callable[[str, str], None] | None = None
        """Told of what is moved, from where and to where."""

        self.on_read: Callable[[str], None] | None = None
        """Told of each file that is opened to be read."""

        on_disk.make_folders(self._files)
        on_disk.make_folders(self._kept)
        with on_disk.open_file(self._removed, "a+", encoding="utf-8") as file:
            file.seek(0)
            self._hidden = {json.loads(line) for line in file}  # by a process before this one
        self.begun = on_disk.common_byte(os.path.join(self._home, "begun"))
        """Its byte is 0 while no process has written or removed anything."""

    def own(self, path: AnyPath) -> str | None:
        """Give the path that is meant, where the layer lies over it; None of all others."""
        try:
            named = os.fsdecode(path)
        except TypeError:  # a descriptor
            return None
        if not named:  # names nothing, and not the folder where the script is
            return None
        full = os.path.abspath(named)
        if on_disk.is_below(full, self._files):
            full = self._below(full)
        elif on_disk.is_below(full, self._home) or full.startswith(self._sockets):
            return None
        within = [one for one in (*self.always, *self._never) if on_disk.is_below(full, one)]
        return None if within and max(within, key=len) not in self.always else full

    def above(self, own: str) -> str:
        """Give where it lies in the layer."""
        drive, rest = os.path.splitdrive(own)
        return os.path.join(self._files, drive.strip(":\\/") or "_", rest.lstrip("\\/"))

    def _below(self, above: str) -> str:
        drive, _, rest = os.path.relpath(above, self._files).partition(os.sep)
        if os.name == "nt" and drive not in {"_", "."}:
            return f"{drive}:{os.sep}{rest}" if len(drive) == 1 else f"\\\\{drive}\\{rest}"
        return os.sep + rest

    def named(self, path: AnyPath) -> AnyPath:
        """Give a path that the system has given as the script knows it."""
        found = os.fsdecode(path)
        for files in {self._files, self._real}:
            if on_disk.is_below(found, files):
                place = os.path.relpath(found, files)
                return like(path, self._below(os.path.normpath(os.path.join(self._files, place))))
        return path

    @property
    def is_entered(self) -> bool:
        """Whether the process works in a folder of the layer."""
        here = on_disk.getcwd()
        return bool(self.named(here) != here)

    def reading(self, path: AnyPath) -> AnyPath:
        """Give the path where it is to be read."""
        if not self.begun[0]:
            return path
        own = self.own(path)
        if own is None:
            return path
        above = self.above(own)
        if on_disk.exists(above) or self._is_hidden(own):
            return like(path, above)
        named = os.fsdecode(path)
        is_whole = os.path.isabs(named) and not on_disk.is_below(named, self._files)
        return path if is_whole else like(path, own)

    def opening(self, path: AnyPath) -> AnyPath:
        """Give the path at which a file is to be opened and read."""
        if self.on_read is not None and (own := self.own(path)) is not None:
            self.on_read(own)
        return self.reading(path)

    def writing(self, path: AnyPath, *, fresh: bool) -> AnyPath:
        """Give the path where it is to be written; unless `fresh`, with what it holds already.

        Raises:
            PermissionError: below, it could not be written.
        """
        own = self.own(path)
        if own is None:
            return path
        above = self.above(own)
        self._make_parent(own)
        is_below = self._lies_below(own)
        if is_below and not on_disk.is_folder(own) and not on_disk.access(own, os.W_OK):
            raise refusal(errno.EACCES, own)
        if on_disk.exists(above):
            self.keep_aside(own, moved=fresh)
        elif is_below and not fresh:
            on_disk.copy(own, above)
        return like(path, above)

    def _make_parent(self, own: str) -> None:
        parent = os.path.dirname(own)
        if not on_disk.is_folder(self.reading(parent)):
            return  # what is to be done will fail, and say so
        if self._lies_below(parent) and not on_disk.access(parent, os.W_OK):
            raise refusal(errno.EACCES, own)
        self._make_folders(parent)

    def _make_folders(self, own: str) -> None:
        self.begun[0] = True
        on_disk.make_folders(self.above(own))

    def exists(self, own: str) -> bool:
        """Whether it is there, in the layer or below."""
        return on_disk.exists(self.above(own)) or self._lies_below(own)

    def _lies_below(self, own: str) -> bool:
        return on_disk.exists(own) and not self._is_hidden(own)

    def is_folder(self, own: str) -> bool:
        """Whether it is a folder, in the layer or below."""
        return on_disk.is_folder(self.reading(own))

    def names(self, own: str) -> list[str]:
        """List a folder: what was written, and what lies below and was not removed.

        Raises:
            OSError: it cannot be listed.
        """
        above = self.above(own)
        names = dict.fromkeys(on_disk.listdir(above)) if on_disk.is_folder(above) else {}
        if not self._is_hidden(own) and (on_disk.is_folder(own) or not on_disk.is_folder(above)):
            for name in on_disk.listdir(own):
                if os.path.join(own, name) not in self._hidden:
                    names.setdefault(name)
        return list(names)

    def moves(self, own: str, to: str) -> None:
        """Have a file or a folder ready in the layer, so that it can be moved."""
        if own in self._keeping:  # under its new name
            self._keeping.remove(own)
            self._keeping.add(to)
        self.keep_aside(own, moved=False)
        self._bring(own)
        if self.on_move is not None:
            self.on_move(own, to)

    def _bring(self, own: str) -> None:
        if not self.is_folder(own):
            self.writing(own, fresh=False)
            return
        self._make_folders(own)
        for name in self.names(own):
            self._bring(os.path.join(own, name))

    def remove(self, own: str) -> None:
        """Take a file or a folder with all that is in it away: from the layer only."""
        above = self.above(own)
        self.keep_aside(own, moved=True)
        if on_disk.exists(above):
            on_disk.remove(above)
        self.hide(own)

    def hide(self, own: str) -> None:
        """Have what lies below seen no more."""
        if on_disk.exists(own) and own not in self._hidden:
            self._hidden.add(own)
            self.begun[0] = True
            with on_disk.open_file(self._removed, "a", encoding="utf-8") as file:
                file.write(json.dumps(own) + "\n")

    def keep(self, path: str) -> None:
        """Keep a file or a folder as it is now, whatever is written to it later."""
        if (own := self.own(path)) is not None:
            self._keeping.add(own)

    def keep_all(self, when: int) -> None:
        """Keep all that was written by now as it is, and know what is written later."""
        self._standing = set(self.written())
        self._stood.tell(when, self._standing)

    def keep_no_more(self) -> None:
        """Forget what was kept."""
        self._keeping.clear()
        self._standing.clear()
        on_disk.remove(self._kept)
        on_disk.make_folders(self._kept)

    def take_later_away(self, when: int, but: Collection[str]) -> None:
        """Take away what was not there when all was kept at that time, `but` for some."""
        stood = self._stood.at(when)
        if stood is None:
            return
        for above in list(on_disk.files_of(self._files)):
            own = self._below(above)
            if own in stood or any(on_disk.is_below(own, one) for one in but):
                continue
            on_disk.remove(above)
            while not on_disk.listdir(above := os.path.dirname(above)):
                on_disk.remove(above)

    def restore(self) -> None:
        """Put back, of what was kept, what was written over or removed since."""
        for aside in list(on_disk.files_of(self._kept)):
            above = os.path.join(self._files, os.path.relpath(aside, self._kept))
            if on_disk.exists(above):
                on_disk.remove(above)
            on_disk.make_folders(os.path.dirname(above))
            on_disk.rename(aside, above)
        self._keeping.clear()

    def keep_aside(self, own: str, *, moved: bool) -> None:
        """Save what is kept, before something else takes its place or is added to it."""
        if not (self._keeping or self._standing):
            return
        for name in list(on_disk.files_of(self.above(own))):
            aside = os.path.join(self._kept, os.path.relpath(name, self._files))
            if self._is_kept(self._below(name)) and not on_disk.exists(aside):
                on_disk.make_folders(os.path.dirname(aside))
                (on_disk.rename if moved else on_disk.copy)(name, aside)

    def _is_kept(self, own: str) -> bool:
        return own in self._standing or any(on_disk.is_below(own, one) for one in (*self._keeping,))

    def written(self) -> list[str]:
        """Name all files in the layer by the paths that they were written to."""
        return sorted(self._below(one) for one in on_disk.files_of(self._files))

    def holds(self, path: AnyPath) -> bool:
        """Whether it is a file of the layer's own, by the name under which it lies there."""
        return on_disk.is_below(os.path.abspath(os.fsdecode(path)), self._home)

    def said(self, text: str) -> str:
        """Give a text, such as that of an exception, without the folder of the layer."""
        return text.replace(os.path.join(self._files, "_"), "") if os.name != "nt" else text

    def _is_hidden(self, own: str) -> bool:
        # A copy, at once: other threads remove files meanwhile.
        return any(on_disk.is_below(own, one) for one in (*self._hidden,))


def like(path: AnyPath, found: str) -> AnyPath:
    """Give a path as text or as bytes, as another one is."""
    return os.fsencode(found) if isinstance(path, bytes) else found


def refusal(number: int, *paths: AnyPath) -> OSError:
    """Give what Python's own functions raise where the system refuses what they are asked for."""
    first, *second = paths
    error = OSError(number, os.strerror(number), first, *((None, *second) if second else ()))
    error.of_job = True  # type: ignore[attr-defined]
    return error
