"""Makes a small broken job, or its healthy twin, in a folder of its own.

The code of both lies beside this file, in broken/ and healthy/; the shards, the pictures and the
cache are made on the spot, and hold the damage that killed writers and careless copies leave.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import random
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from preflight.storage.system_files import Files

_SAMPLES = 8
_SIDE = 128

_RAR = b"Rar!\x1a\x07\x01\x00"

# Bytes of zeros as a lost page of 4,096 leaves them, and where they begin.
_LOST = slice(4096, 8192)


_TYPED_IN = "typed-in"

# In the temporary folder, one of a demo that is not over, and the file in it that says so.
_NEW, _UNFINISHED = "preflight-demo-new-", "unfinished"

_FILES = Files()

# Temporary folders are shared by all users on most systems.
_USER = os.getuid() if hasattr(os, "getuid") else None
_OWN = f"-{_USER}" if _USER is not None else ""


def place() -> str:
    """Give the folder in which the last demo lies."""
    return os.path.join(tempfile.gettempdir(), f"preflight-demo{_OWN}")


@contextlib.contextmanager
def begin(*, healthy: bool, typed_in: str) -> Iterator[str]:
    """Make the job in a temporary folder of its own, and give that.

    Where it is interrupted, nothing of it stays; and what others left that were killed goes.
    """
    _remove_killed()
    folder = tempfile.mkdtemp(prefix=_NEW)
    try:
        with _marked(os.path.join(folder, _UNFINISHED)):
            make(Path(folder), healthy=healthy)
            Path(folder, _TYPED_IN).write_text(os.path.abspath(typed_in), encoding="utf-8")
            yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


@contextlib.contextmanager
def _marked(mark: str) -> Iterator[None]:
    """Have a file lie there that is locked as long as we live, where the system has such locks."""
    with open(f"{mark}-yet", "wb") as file:
        with contextlib.suppress(OSError):
            _FILES.lock("flock", file)
            os.rename(file.name, mark)  # not before it is locked: others look for it by this name
        yield
    for name in (file.name, mark):
        with contextlib.suppress(OSError):
            os.unlink(name)


def _remove_killed() -> None:
    """Remove the folders of this user's demos that were killed: their mark is locked no longer."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if not entry.name.startswith(_NEW) or not entry.is_dir(follow_symlinks=False):
                continue
            with contextlib.suppress(OSError), open(f"{entry.path}/{_UNFINISHED}", "r+b") as file:
                is_own = _USER is None or os.stat(entry.path).st_uid == _USER
                if is_own and _FILES.lock("flock", file):
                    shutil.rmtree(entry.path, ignore_errors=True)


def leave(folder: str) -> str:
    """Put a demo that is over in place of the last one, and give where it lies from now on.

    The user may look around there. Where the last one cannot be replaced, it stays where it is.
    """
    try:
        if os.path.isfile(os.path.join(place(), _TYPED_IN)):
            shutil.rmtree(place())  # a link is refused
        os.rename(folder, place())
    except OSError:
        return folder
    return place()


def typed_in(folder: str) -> str | None:
    """Give the folder of the last demo, if it was typed in this folder."""
    try:
        said = Path(place(), _TYPED_IN).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return place() if said == os.path.abspath(folder) else None


def make(place: Path, *, healthy: bool) -> None:
    """Make the job in a folder; healthy: the twin in which everything is mended."""
    kind = "healthy" if healthy else "broken"
    for path in sorted((Path(__file__).parent / kind).iterdir()):
        if path.suffix in {".py", ".toml"}:
            shutil.copyfile(path, place / path.name)
    (place / "data").mkdir()
    (place / "cache" / "text").mkdir(parents=True)
    for number in range(4):
        content = _shard(number, healthy=healthy)
        (place / "data" / f"shard-{number:03}.tar").write_bytes(content)
    for number, (name, content) in enumerate(_embeddings()):
        damaged = content if healthy else _damaged_embedding(number, content)
        (place / "cache" / "text" / name).write_bytes(damaged)


def _caption(number: int) -> str:
    return f"a photograph of dog number {number}"


def _picture(number: int) -> bytes:
    """Make a JPEG that compresses as a photograph does: shapes, light and grain."""
    from PIL import Image

    dice = random.Random(number)  # noqa: S311  no secret
    shapes = Image.frombytes("RGB", (6, 6), dice.randbytes(108))
    shapes = shapes.resize((_SIDE, _SIDE), Image.Resampling.BICUBIC)
    grain = Image.frombytes("RGB", (_SIDE, _SIDE), dice.randbytes(_SIDE * _SIDE * 3))
    file = io.BytesIO()
    Image.blend(shapes, grain, 0.25).save(file, "JPEG", quality=90)
    return file.getvalue()


def _shard(number: int, *, healthy: bool) -> bytes:
    """Make one shard: the second has damaged samples, the third is no tar, the fourth is cut."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as shard:
        for name, content in _members(number, healthy=healthy):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            shard.addfile(info, io.BytesIO(content))
    whole = file.getvalue()
    if healthy or number < 2:
        return whole
    if number == 2:
        return _RAR + random.Random(number).randbytes(20_000)  # noqa: S311  no secret
    return whole[: len(whole) * 2 // 3]


def _members(number: int, *, healthy: bool) -> Iterator[tuple[str, bytes]]:
    for index in range(_SAMPLES):
        dog = number * _SAMPLES + index
        image, caption = f"dog-{dog:04}.jpg", _caption(dog).encode()
        content = _picture(dog)
        if number == 1 and not healthy:
            if index == 2:
                content = content[: len(content) // 2]
            elif index == 3:
                content = content[: _LOST.start] + bytes(4096) + content[_LOST.stop :]
            elif index == 7:
                image = f"dog-{dog:04}.jpeg"
        yield image, content
        if healthy or number != 1 or index not in {5, 6}:
            yield f"dog-{dog:04}.txt", caption


# --- the cache ------------------------------------------------------------------------------------


def _embeddings() -> Iterator[tuple[str, bytes]]:
    """Make sixteen text embeddings as `torch.save` writes them, without torch."""
    for number in range(16):
        name = hashlib.md5(_caption(number).encode(), usedforsecurity=False).hexdigest()
        dice = random.Random(number)  # noqa: S311  no secret
        yield f"{name}-demo.pt", _torch_archive(dice.randbytes(4 * _WIDTH))


_WIDTH = 4096

# The pickle of a float32 tensor (4096,) in protocol 2; `pickletools.dis` says what stands in it.
_TENSOR = (
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(("
    b"X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    b"M\x00\x10tQK\x00M\x00\x10\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR."
)


def _torch_archive(data: bytes) -> bytes:
    """Write one float32 tensor (4096,) as the zip archive of torch's format 3."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", _TENSOR)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", data)
        archive.writestr("archive/version", "3\n")
    return file.getvalue()


def _damaged_embedding(number: int, content: bytes) -> bytes:
    """Do to three files what a killed writer, a killed writer and a second writer do."""
    if number == 3:
        return b""
    if number == 8:
        return content[:8192]
    if number == 12:
        half = slice(len(content) // 2, len(content) // 2 + 16)
        return content[: half.start] + bytes(b ^ 0xFF for b in content[half]) + content[half.stop :]
    return content
