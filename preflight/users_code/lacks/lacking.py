"""Tells what was raised for want of what is not here: a GPU, a launcher, a package, a network."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator, Sequence

from preflight.host.environment import LAUNCHER_VARIABLES, launcher_of
from preflight.users_code.facts import ASKED_FOR, Lack
from preflight.users_code.frames import text_of as _text
from preflight.users_code.gpu_here import sees_gpu
from preflight.users_code.in_the_way import is_foreign
from preflight.users_code.lacks.asked_for_gpu import (
    ASKS_FOR_GPU,
    counts_gpus,
    ends_but_for_cuda,
    stands_behind_gpu,
)
from preflight.users_code.lacks.ending_tests import SAID_BY, innermost
from preflight.users_code.lacks.lacking_packages import lacking_package
from preflight.users_code.lacks.refused_arguments import refused_arguments
from preflight.users_code.lacks.unopened_libraries import unopened_library
from preflight.users_code.lacks.unset_variables import unset_variable

# Exceptions that tell of one another; more is nobody's chain.
_LONGEST_CHAIN = 10

_SETS_MORE = ("ACCELERATE_", "TORCHELASTIC_", "PBS_", "LSB_", "FLUX_", "JSM_", "PET_")

_EXPECTED = (
    r"""(?i:environment variable) ["'`]?([A-Z][A-Z0-9_]*)["'`]? (?:expected|(?:is )?not set)"""
)
_NO_GROUP = re.compile(
    r"[Dd]efault process group has not been initialized|process group (?:is|was) not initialized"
    r"|\b(?:torchrun|srun|mpirun|mpiexec|torch\.distributed\.launch|accelerate launch)\b"
)

_NO_GPU = re.compile(
    r"Found no NVIDIA driver|not compiled with CUDA|No CUDA GPUs|CUDA (?:driver|unknown)"
    r"|CUDA error(?!: (?:device-side assert|an illegal))"
    r"|NVIDIA driver on your system|no CUDA-capable|CUDA out of memory|CUDA_HOME|CUDA device"
    r"|[Aa]ccelerator (?:device when none|expected)|[Nn]o accelerator device"
    r"|invalid device ordinal|lib(?:cuda|nvidia)[-\w]*\.so"
    r"|0 active drivers|'CUDA' backend|Device type CUDA is not supported"
    r"|not linked with support for (?:mps|cuda|xpu|hip)|MPS backend (?:is|out)"
    r"|(?:HIP|XPU|ROCm|XLA) (?:driver|error|is not available)|ATen_cuda"
)
# What people write themselves; told only where torch sees no GPU.
_SAYS_GPU = re.compile(r"\b(?:cuda|gpus?|nvidia)\b", re.IGNORECASE)
_SAYS_NONE = re.compile(
    r"\b(?:needs?|needed|requires?|required|only|must|no|not|without|unavailable)\b", re.IGNORECASE
)
_ASKS_WHICH = "accelerator.current_accelerator("
_WITHOUT_CUDA = re.compile(r"'torch\._C' has no attribute '_cuda_|type torch\.cuda\.\w+ not avail")
_TOLD_BY = ("nvidia-smi", "rocm-smi", "nvcc")  # commands that come with a driver, or with CUDA
_COUNTED_BY = (ZeroDivisionError, IndexError)

# Of Python, of requests, httpx and aiohttp, and of the Hugging Face hub.
_UNREACHED = frozenset(
    {
        *("gaierror", "URLError", "ConnectionError", "ConnectError", "ConnectTimeout"),
        *("ClientConnectorError", "LocalEntryNotFoundError", "OfflineModeIsEnabled"),
    }
)
_NO_NETWORK = re.compile(r"(?i)couldn't connect to ['\"]?https?://|check your internet connection")

# What packages that try several addresses gather of each, and raise as one of any type.
_QUOTED_UNREACHED = re.compile(
    r"<urlopen error |NameResolutionError|Max retries exceeded with url|getaddrinfo failed"
    r"|Name or service not known|Temporary failure in name resolution|Network is unreachable"
)

_QUOTED_PATH = re.compile(r"""['"]([^'"\s:]+/[^'"\s/:]+)['"]""")


def lacking(error: BaseException, folders: Sequence[str]) -> Lack | None:
    """Say what an exception was raised for want of; None: nothing that is known.

    `folders` are those in which the user's own modules lie.
    """
    for one in chain(error):
        found = (
            refused_arguments(one)
            or _launch(one)
            or _gpu(one)
            or _network(one)
            or _library(one, folders)
            or lacking_package(one, folders)
        )
        if found is not None:
            return None if found.kind == "network" and _names_none_here(error) else found
    return None


def chain(error: BaseException) -> Iterator[BaseException]:
    """Give an exception and those that it was raised for, or while they were handled."""
    following: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if following is None:
            return
        yield following
        hidden = following.__suppress_context__
        following = following.__cause__ or (None if hidden else following.__context__)


# --- launchers ------------------------------------------------------------------------------------


def _launch(error: BaseException) -> Lack | None:
    text = _text(error)
    expected = re.search(_EXPECTED, text)
    if expected is not None:
        return Lack(kind="group", name=expected[1])
    variable = unset_variable(error, text)
    if variable is not None:
        return Lack(kind="launch" if _is_launchers(variable) else "variable", name=variable)
    if "NCCL" in text and isinstance(error, (RuntimeError, ValueError)):
        return Lack(kind="nccl", name="NCCL")
    if isinstance(error, (*SAID_BY, ImportError)) and _NO_GROUP.search(text):
        return Lack(kind="group", name="a process group")
    return None


def _is_launchers(variable: str) -> bool:
    known = launcher_of(variable) is not None or variable in LAUNCHER_VARIABLES
    return known or variable.startswith(_SETS_MORE)


# --- GPUs -----------------------------------------------------------------------------------------


def _gpu(error: BaseException) -> Lack | None:
    text = _text(error)
    if isinstance(error, (*SAID_BY, ImportError)) and _NO_GPU.search(text):
        return Lack(kind="gpu", name=_what_gpu(text))
    if isinstance(error, (TypeError, AttributeError)) and _WITHOUT_CUDA.search(text):
        return Lack(kind="gpu", name="CUDA")
    if isinstance(error, FileNotFoundError) and error.filename in _TOLD_BY:
        return None if sees_gpu() else Lack(kind="gpu", name=error.filename)
    file, number, line = innermost(error)
    if isinstance(error, AttributeError):
        names_none = "'NoneType'" in text and _ASKS_WHICH in line
        return Lack(kind="gpu", name=ASKED_FOR) if names_none and not sees_gpu() else None
    if getattr(error, "errno", None) is not None or not isinstance(error, SAID_BY + _COUNTED_BY):
        return None
    asked = ASKS_FOR_GPU.search(line) is not None
    if not asked and isinstance(error, _COUNTED_BY):
        asked = counts_gpus(file, number)
    elif not asked:
        asked = _says_no_gpu(text) or stands_behind_gpu(file, number)
    if not asked or sees_gpu():
        return None
    return Lack(kind="gpu", name="CUDA" if ends_but_for_cuda(file, number) else ASKED_FOR)


def _says_no_gpu(text: str) -> bool:
    return bool(_SAYS_GPU.search(text) and _SAYS_NONE.search(text))


def _what_gpu(text: str) -> str:
    if "out of memory" in text:
        return "GPU memory"
    return "MPS" if re.search(r"\bmps\b", text, re.IGNORECASE) else "CUDA"


# --- the network ----------------------------------------------------------------------------------


def _network(error: BaseException) -> Lack | None:
    """Say that nothing could be reached, which a package or Python itself has raised."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not is_foreign(frames[-1].filename):
        return None
    names = {one.__name__ for one in type(error).__mro__}
    unreached = not names.isdisjoint(_UNREACHED) and "HTTPError" not in names
    text = _text(error)
    unreached |= isinstance(error, OSError) and _NO_NETWORK.search(text) is not None
    if unreached or _QUOTED_UNREACHED.search(text):
        return Lack(kind="network", name="the network")
    return None


def _names_none_here(error: BaseException) -> bool:
    """Whether it was looked for on a hub since it is not there in a folder that is here."""
    named = (path for one in chain(error) for path in _QUOTED_PATH.findall(_text(one)))
    return any(os.path.isdir(os.path.dirname(one)) and not os.path.exists(one) for one in named)


# --- libraries of the system ----------------------------------------------------------------------


def _library(error: BaseException, folders: Sequence[str]) -> Lack | None:
    if not isinstance(error, (ImportError, OSError, RuntimeError)):
        return None
    name = unopened_library(_text(error), folders)
    return None if name is None else Lack(kind="library", name=name)
