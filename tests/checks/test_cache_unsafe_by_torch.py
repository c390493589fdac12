"""cache-unsafe goes by the list of the job's own torch, which it reads and does not import."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import preflight
from preflight.caches.job_torch import torch_of
from preflight.findings.finding import Finding
from preflight.formats.torch.weights_only import refused_by
from tests.files import HOUR

pytestmark = pytest.mark.usefixtures("at_hand")

# The list as torch writes it, with what tells one version from another.
UNPICKLER = """
raise SystemExit("this is read, and never imported")

def _tensor_rebuild_functions():
    return {{torch._utils._rebuild_tensor_v2, {functions}}}

def _get_allowed_globals():
    rc = {{"collections.OrderedDict": OrderedDict, "torch.Size": torch.Size}}
    rc["builtins.set"] = set
    for t in torch.storage._new_dtypes():
        rc[str(t)] = t
    for t in [getattr(torch, f"uint{{x}}") for x in range(1, 8)]:
        rc[str(t)] = t
    for f in _tensor_rebuild_functions():
        rc[f"torch._utils.{{f.__name__}}"] = f
    return rc

class Unpickler:
    def load(self):
        if full_path in [{announced}]:
            raise UnpicklingError("``torch.nested`` must be imported")
"""
STORAGE = "def _new_dtypes():\n    return {{torch.half, torch.float8_e5m2, {types}}}\n"
TENSOR = """
from ._dtensor_spec import DTensorSpec as _Spec
from torch.distributed.device_mesh import DeviceMesh
class Own: ...
torch.serialization.add_safe_globals([_Spec, DeviceMesh, Own, torch.distributed.other.Thing])
"""
NJT = "torch.nested._internal.nested_tensor._rebuild_njt"


def write_torch(folder: Path, *, functions: str = "", types: str = "", announced: str = "") -> str:
    (folder / "distributed" / "tensor").mkdir(parents=True)
    told = UNPICKLER.format(functions=functions, announced=announced)
    (folder / "__init__.py").write_text("raise SystemExit('this is never imported')\n")
    (folder / "_weights_only_unpickler.py").write_text(told)
    (folder / "storage.py").write_text(STORAGE.format(types=types))
    (folder / "distributed" / "tensor" / "__init__.py").write_text(TENSOR)
    return str(folder)


def new_torch(folder: Path) -> str:
    return write_torch(folder, types="torch.bcomplex32")


def old_torch(folder: Path) -> str:
    return write_torch(
        folder, functions="torch._utils._rebuild_nested_tensor", announced=f'"{NJT}"'
    )


def test_each_torch_takes_what_is_on_its_own_list(tmp_path: Path) -> None:
    names = ("torch.bcomplex32", "torch._utils._rebuild_nested_tensor", NJT)

    assert refused_by(new_torch(tmp_path / "new"), names) == names[1:]
    assert refused_by(old_torch(tmp_path / "old"), names) == names[:1]


def test_what_is_listed_in_loops_and_by_other_modules_is_taken(tmp_path: Path) -> None:
    taken = (
        *("torch.float16", "torch.float8_e5m2", "torch.uint1", "torch.uint7", "builtins.set"),
        *("torch.FloatStorage", "torch.storage.UntypedStorage", "collections.OrderedDict"),
        "torch.distributed.tensor._dtensor_spec.DTensorSpec",
        "torch.distributed.device_mesh.DeviceMesh",
        "torch.distributed.tensor.Own",
        "torch.distributed.other.Thing",
    )
    refused = ("torch.uint8", "torch.half", "torch.float8_e4m3fn", "x", "range", "os.system")

    assert refused_by(new_torch(tmp_path), (*taken, *refused)) == refused


@pytest.mark.parametrize(
    "text", [None, "", "def _get_allowed_globals(:", "def _get_allowed_globals(): pass", "\0"]
)
def test_without_a_list_that_can_be_read_our_own_stands_for_it(
    text: str | None, tmp_path: Path
) -> None:
    names = ("torch._utils._rebuild_nested_tensor", "torch.bcomplex32")
    if text is not None:
        (tmp_path / "_weights_only_unpickler.py").write_text(text)

    assert refused_by(None, names) == names[1:]
    assert refused_by(str(tmp_path), names) == names[1:]


# --- which torch is the job's ---------------------------------------------------------------------


def test_ours_is_where_python_would_import_it_from() -> None:
    found = torch_of(None)

    assert found.folder == torch.__path__[0]
    assert found.stamp[0] > 0


def environment(base: Path, *, system: Path | None = None) -> str:
    """Make what `python -m venv` makes, as far as it says where packages lie."""
    settings = "" if system is None else f"home = {system}\ninclude-system-site-packages = true\n"
    (base / "bin").mkdir(parents=True)
    (base / "pyvenv.cfg").write_text(settings)
    program = base / "bin" / "python"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    return str(program)


def test_the_torch_of_another_interpreter_is_found_beside_it(tmp_path: Path) -> None:
    python = environment(tmp_path / "venv")
    folder = new_torch(tmp_path / "venv" / "lib" / "python3.13" / "site-packages" / "torch")

    assert torch_of(python).folder == os.path.realpath(folder)


def test_an_environment_may_have_the_torch_of_the_system(tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", system=tmp_path / "usr" / "bin")
    folder = new_torch(tmp_path / "usr" / "lib" / "python3.13" / "site-packages" / "torch")

    assert torch_of(python).folder == os.path.realpath(folder)


def test_of_several_versions_beside_each_other_none_is_guessed(tmp_path: Path) -> None:
    python = environment(tmp_path / "usr")
    for version in ("3.12", "3.13"):
        new_torch(tmp_path / "usr" / "lib" / f"python{version}" / "site-packages" / "torch")

    assert torch_of(python).folder is None
    named = tmp_path / "usr" / "bin" / "python3.12"
    os.rename(python, named)
    assert "python3.12" in (torch_of(str(named)).folder or "")


def test_an_interpreter_that_is_nowhere_has_no_torch(tmp_path: Path) -> None:
    assert torch_of(str(tmp_path / "no" / "python")).folder is None
    assert torch_of("no-such-python").folder is None


# --- a whole run ----------------------------------------------------------------------------------


def write_pickle(path: Path, *names: str) -> None:
    """Write an archive as torch.save does, of a pickle that names these."""
    named = b"".join(b"c%s\n%s\n0" % tuple(one.encode().rsplit(b".", 1)) for one in names)
    pickled = b"\x80\x02" + named + b"N."
    writer = torch._C.PyTorchFileWriter(str(path))
    writer.write_record("data.pkl", pickled, len(pickled))
    writer.write_end_of_file()
    os.utime(path, (path.stat().st_mtime - HOUR,) * 2)


def told(folder: Path, python: str) -> list[str]:
    report = preflight.run(
        "cache=c", folder=str(folder), python=python, select=["cache-unsafe", "cache-damaged"]
    )
    found: tuple[Finding, ...] = report.findings
    return sorted(one.message for one in found)


def test_the_torch_of_the_job_decides_and_another_one_has_the_files_read_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "c").mkdir()
    write_pickle(tmp_path / "c" / "new.pt", "torch.bcomplex32")
    write_pickle(tmp_path / "c" / "old.pt", "torch._utils._rebuild_nested_tensor")
    write_pickle(tmp_path / "c" / "plain.pt", "torch._utils._rebuild_tensor_v2")
    new, old = environment(tmp_path / "new"), environment(tmp_path / "old")
    new_torch(tmp_path / "new" / "lib" / "python3.13" / "site-packages" / "torch")
    old_torch(tmp_path / "old" / "lib" / "python3.12" / "site-packages" / "torch")
    refused = "names {}, which torch.load refuses with weights_only"

    for _ in range(2):  # the second time, the ledger is asked
        assert told(tmp_path, new) == [refused.format("torch._utils._rebuild_nested_tensor")]
        assert told(tmp_path, old) == [refused.format("torch.bcomplex32")]
