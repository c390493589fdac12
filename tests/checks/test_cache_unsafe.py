"""cache-unsafe names what torch.load would refuse, by torch's own list; of tensors, nothing."""

from __future__ import annotations

import argparse
import collections
import datetime
import decimal
import fractions
import gzip
import json
import pathlib
import pickle
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import preflight
from preflight.cached_files.facts import CacheFacts
from preflight.cached_files.read import read_cache
from preflight.findings.finding import Finding, Location, Severity
from preflight.formats.torch import pickle_globals
from preflight.formats.torch.pickle_globals import is_dangerous, refused
from preflight.formats.torch.weights_only import refused_by
from preflight.testing import ask
from tests.conftest import said_by
from tests.contents import HARM, Harm, case
from tests.distributed import in_a_group
from tests.warming import copies

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.usefixtures("at_hand"),
]  # torch warns of what is new or old in it

TORCH = torch.__path__[0]


def findings(path: Path) -> list[Finding]:
    read = read_cache(str(path), str(path.parent), lambda _: None, torch=TORCH)
    return ask("cache-unsafe", read)


def of_names(*names: str, kind: str = "torch zip", file: str = "a.pt") -> list[Finding]:
    return ask("cache-unsafe", CacheFacts(file=file, size=9, format=kind, globals=names))


# --- what is left alone ---------------------------------------------------------------------------


def optimizer() -> dict[str, Any]:
    weight = torch.nn.Parameter(torch.ones(3))
    adam = torch.optim.AdamW([weight], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(adam, 10)
    weight.sum().backward()
    adam.step()
    schedule.step()
    return {"optimizer": adam.state_dict(), "schedule": schedule.state_dict()}


PLAIN: dict[str, Callable[[], Any]] = {
    "a tensor": lambda: torch.ones(3),
    "a view": lambda: torch.ones(30)[::3],
    "a parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "a buffer": lambda: torch.nn.Buffer(torch.ones(3)),
    "a model": lambda: torch.nn.Linear(2, 2).state_dict(),
    "an optimizer": optimizer,
    "a counter": lambda: collections.Counter("ab"),
    "an ordered dict": lambda: collections.OrderedDict(a=1),
    "sizes and types": lambda: [torch.Size([1]), torch.bfloat16, torch.float8_e4m3fn, torch.int4],
    "devices and layouts": lambda: [torch.device("cpu"), torch.strided, torch.sparse_csr],
    "plain values": lambda: [1, 2**70, 1.5, 1j, "a", b"a", bytearray(b"a"), None, True, {1, 2}],
    "nothing": dict,
    "a sparse tensor": lambda: torch.eye(3).to_sparse(),
    "a sparse tensor by rows": lambda: torch.eye(3).to_sparse_csr(),
    "a quantized tensor": lambda: torch.quantize_per_tensor(torch.ones(3), 1.0, 0, torch.qint8),
    "one quantized by channel": lambda: torch.quantize_per_channel(
        torch.ones(3, 2), torch.ones(3), torch.zeros(3), 0, torch.qint8
    ),
    "a nested tensor": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "a ragged tensor": lambda: torch.nested.nested_tensor(
        [torch.ones(2), torch.ones(3)], layout=torch.jagged
    ),
    "a meta tensor": lambda: torch.ones(3, device="meta"),
    "a conjugate": lambda: torch.ones(2, dtype=torch.complex64).conj(),
    "small floats": lambda: [torch.ones(4).to(torch.float8_e5m2), torch.ones(4).bfloat16()],
    "a storage": lambda: torch.ones(3).untyped_storage(),
    "random state": torch.get_rng_state,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "zip": {},
    "legacy": {"_use_new_zipfile_serialization": False},
}


@pytest.mark.parametrize("options", list(OPTIONS.values()), ids=list(OPTIONS))
@pytest.mark.parametrize("thing", list(PLAIN.values()), ids=list(PLAIN))
def test_what_torch_loads_with_weights_only_is_left_alone(
    tmp_path: Path,
    thing: Callable[[], Any],
    options: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And no more: this torch is the judge, since a later one refuses nested tensors."""
    path = tmp_path / "a.pt"
    # Pickle asks all modules for what has none of its own, and these import others then.
    for name in [one for one in sys.modules if one.partition(".")[0] == "transformers"]:
        monkeypatch.delitem(sys.modules, name)
    try:
        torch.save(thing(), path, **options)
    except AttributeError as error:
        pytest.skip(f"this torch has none: {error}")
    refused = False
    try:
        torch.load(path, weights_only=True)
    except pickle.UnpicklingError as error:
        refused = "must be imported" not in str(error)
        if "INTERNAL ASSERT FAILED" in str(error):
            pytest.skip(f"torch cannot load what it has saved: {error}")
    except (AttributeError, RuntimeError) as error:
        pytest.skip(f"torch cannot load what it has saved: {error}")

    assert [one.severity for one in findings(path)] == [Severity.WARNING] * refused


def test_a_distributed_tensor_is_left_alone(tmp_path: Path) -> None:
    """As FSDP leaves them in its state dicts; made in another process, which joins a group."""
    path = tmp_path / "a.pt"
    in_a_group(
        tmp_path,
        "ways = ([Shard(0)], [Replicate()])\n"
        "made = [distribute_tensor(torch.ones(4, 2), mesh, way) for way in ways]\n"
        f"torch.save(made, {str(path)!r})\n"
        f"torch.load({str(path)!r}, weights_only=True)\n",
    )

    assert findings(path) == []


def test_torchscript_and_packages_hold_code_and_are_left_alone(tmp_path: Path) -> None:
    """They are made for it, and have loaders of their own."""
    script = tmp_path / "script.pt"
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.ones(1, 2)), script)
    package = tmp_path / "package.pt"
    with torch.package.PackageExporter(package) as out:
        out.save_source_string("model", "import os\nclass Model: pass\n")
        out.save_pickle("model", "settings.pkl", {"a": 1})

    assert findings(script) == []
    assert findings(package) == []


def test_arrays_of_numbers_are_left_alone(tmp_path: Path) -> None:
    """Also those of texts, of times and of several fields."""
    fields = np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")])
    for array in (np.arange(3), np.array(["a"]), np.array(["2026-01-01"], "M8[D]"), fields):
        np.save(tmp_path / "a.npy", array)
        np.savez(tmp_path / "a.npz", array)

        assert findings(tmp_path / "a.npy") == []
        assert findings(tmp_path / "a.npz") == []


def objects(*things: Any) -> np.ndarray[Any, Any]:
    array = np.empty(len(things), dtype=object)
    for place, thing in enumerate(things):
        array[place] = thing
    return array


HELD: dict[str, Any] = {
    "texts": objects("a dog", "ein Hund", ""),
    "plain values": objects(None, 1, 2**70, 1.5, 1j, b"x", (1,), [True], {3}, {"a": {"b": 1}}),
    "a dict": np.array({"caption": "a dog", "score": np.float32(1), "ids": np.arange(3)}),
    "arrays of many lengths": objects(np.zeros(3), np.ones((2, 2), np.int64), np.array(["a"])),
    "numbers of numpy": objects(
        np.float16(1), np.int64(2), np.datetime64("2026-01-01"), np.str_("a")
    ),
    "masked": objects(np.ma.masked_array([1, 2], [0, 1]), np.ma.masked),
    "types": objects(np.dtype("f4"), np.float32, int, np.dtype([("a", "f4")])),
    "records": objects(np.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])),
    "times": objects(
        datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), datetime.date.min
    ),
    "a path": objects(pathlib.PurePosixPath("a"), pathlib.Path("b")),
    "other values": objects(
        fractions.Fraction(1, 3),
        decimal.Decimal(1),
        uuid.uuid4(),
        collections.defaultdict(list, a=[1]),
        collections.OrderedDict(a=1),
        collections.deque([1]),
        frozenset({1}),
        range(3),
        slice(1),
        Ellipsis,
    ),
    "a field of objects": np.array([("a", 1.0)], dtype=[("name", "O"), ("score", "f4")]),
}


@pytest.mark.parametrize("array", list(HELD.values()), ids=list(HELD))
def test_arrays_of_pythons_own_objects_are_left_alone(tmp_path: Path, array: Any) -> None:
    """Their writer reads them with allow_pickle=True; they name numpy and plain values."""
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "b.npz", numbers=np.arange(9), objects=array)
    np.savez_compressed(tmp_path / "c.npz", objects=array, numbers=np.arange(9))
    for protocol in range(6):
        (tmp_path / f"{protocol}.npy").write_bytes(pickle.dumps(array, protocol=protocol))

    for path in tmp_path.iterdir():
        assert findings(path) == [], path.name


def test_what_numpy_1_wrote_is_left_alone(tmp_path: Path) -> None:
    """Its modules had no underscore."""
    array = objects(np.zeros(3), np.float32(1))
    np.save(tmp_path / "a.npy", array)
    header = (tmp_path / "a.npy").read_bytes().partition(b"\n")[0] + b"\n"
    content = pickle.dumps(array, protocol=2).replace(b"numpy._core", b"numpy.core")
    assert b"numpy.core.multiarray" in content
    (tmp_path / "a.npy").write_bytes(header + content)
    records = pickle.dumps(HELD["records"], protocol=2).replace(b"numpy._core", b"numpy.core")
    (tmp_path / "b.npy").write_bytes(header + records.replace(b"numpy.rec\n", b"numpy\n"))

    assert np.load(tmp_path / "a.npy", allow_pickle=True)[1] == 1
    assert np.load(tmp_path / "b.npy", allow_pickle=True)[0].a[0] == 1
    assert findings(tmp_path / "a.npy") == []
    assert findings(tmp_path / "b.npy") == []


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed], ids=["plain", "packed"])
def test_an_object_inside_an_npz_is_told_by_its_name(tmp_path: Path, write: Any) -> None:
    """A trainer's own class is a warning; what runs a program is an error; each array is walked."""
    path = tmp_path / "a.npz"
    write(path, a=np.arange(9), b=objects("text"), c=objects(argparse.Namespace(a=1)))
    (warning,) = findings(path)
    harmful = objects(re.compile("a"), Harm())
    write(path, a=np.array([("a", harmful)], dtype=[("n", "O"), ("x", "O")]), b=objects("text"))
    (error,) = findings(path)

    assert warning.severity is Severity.WARNING
    assert warning.message == "holds Python objects that are pickled: argparse.Namespace"
    assert error.severity is Severity.ERROR
    assert error.message.startswith(f"names {HARM}, which can run")


def test_a_pickle_that_only_pickle_reads_may_hold_objects(tmp_path: Path) -> None:
    """torch.load takes no such file, whatever it names, and pickle.load refuses nothing."""
    path = tmp_path / "a.pt"
    path.write_bytes(pickle.dumps({"embeds": np.ones(3), "args": argparse.Namespace(a=1)}))

    assert findings(path) == []


@pytest.mark.parametrize(
    "file",
    [
        "out/checkpoint-500/rng_state.pth",
        "out/checkpoint-500/rng_state_12.pth",
        "out/checkpoint-500/training_args.bin",
        "out/global_step9/mp_rank_00_model_states.pt",
        "out/iter_0000500/mp_rank_00/model_optim_rng.pt",
        "out/global_step_9/actor/extra_state_world_size_8_rank_3.pt",
        "out/global_step9/bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
    ],
)
def test_what_a_trainer_writes_for_itself_is_left_alone(file: str) -> None:
    """It is loaded by its writer, which allows what it names."""
    assert of_names("numpy.ndarray", "transformers.TrainingArguments", file=file) == []


def test_what_a_trainer_writes_for_itself_runs_no_program() -> None:
    (finding,) = of_names("posix.system", file="out/checkpoint-500/training_args.bin")

    assert finding.severity is Severity.ERROR


def test_a_name_that_only_begins_like_a_trainers_is_told() -> None:
    assert len(of_names("numpy.ndarray", file="out/rng_state_of_mine.pth")) == 1


def test_the_mended_case_is_left_alone_and_is_what_torch_and_numpy_read(tmp_path: Path) -> None:
    """The files are made without either."""
    folder = tmp_path / case("cache-unsafe").make(tmp_path, mended=True)[0]

    assert [found for path in folder.iterdir() for found in findings(path)] == []
    for path in folder.glob("*.pt"):
        assert torch.load(path, weights_only=True)["prompt_embeds"].shape == (16,)
    assert np.load(folder / "ids.npy").shape == (16,)
    assert np.load(folder / "ids.npz")["ids"].shape == (16,)


# --- what is found --------------------------------------------------------------------------------


def test_the_case_is_found_once_a_file_each_as_grave_as_it_is(tmp_path: Path) -> None:
    """What runs a program is an error; what is only refused is a warning."""
    folder = tmp_path / case("cache-unsafe").make(tmp_path, mended=False)[0]
    found = {path.name: findings(path) for path in folder.iterdir()}

    assert {name: [(one.severity.word, one.message) for one in found[name]] for name in found} == {
        "plain.pt": [],
        "harm.pt": [
            ("error", "names posix.system, which can run whatever the writer of the file wanted")
        ],
        "settings.pt": [
            ("warning", "names argparse.Namespace, which torch.load refuses with weights_only")
        ],
        "ids.npy": [("warning", "holds Python objects that are pickled: trainer.data.Sample")],
        "ids.npz": [("warning", "holds Python objects that are pickled: trainer.data.Sample")],
    }


def test_nothing_that_is_looked_at_is_run(
    tmp_path: Path, preflight: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """Each planted file would leave another behind when it is loaded, and none does."""
    trace, cache = tmp_path / "was-run", tmp_path / "cache"
    cache.mkdir()
    harm = Harm(trace)
    array = objects(harm)
    planted = {"tensor": torch.ones(3), "harm": harm}
    torch.save(planted, cache / "zip.pt")
    torch.save(planted, cache / "legacy.pt", _use_new_zipfile_serialization=False)
    (cache / "raw.pt").write_bytes(pickle.dumps(harm))
    (cache / "array.npy").write_bytes(pickle.dumps(harm))
    np.save(cache / "objects.npy", array)
    np.savez(cache / "plain.npz", a=np.ones(3), b=array)
    np.savez_compressed(cache / "packed.npz", a=np.ones(3), b=array)
    (cache / "packed.pt").write_bytes(gzip.compress((cache / "zip.pt").read_bytes()))

    done = preflight("run", "cache", "--select", "cache", "--deep", "--elsewhere")
    report = json.loads(preflight("run", "cache", "--format", "json", "--elsewhere").stdout)

    assert done.returncode == 1, done.stderr
    told = {one["at"]["file"] for one in report["findings"] if one["check"] == "cache-unsafe"}
    assert told == {f"cache/{path.name}" for path in cache.iterdir()}
    assert not trace.exists()
    torch.load(cache / "zip.pt", weights_only=False)
    assert trace.exists(), "it would have been"


REFUSED: dict[str, Any] = {
    "settings": argparse.Namespace(lr=1),
    "a path": pathlib.PurePosixPath("a"),
    "a frozen set": frozenset([1]),
    "a fraction": fractions.Fraction(1, 3),
    "a number of numpy": np.float32(1),
    "an array of numpy": np.ones(3),
    "a dict with defaults": collections.defaultdict(int, a=1),
    "a slice": slice(1),
}


@pytest.mark.skipif(
    not hasattr(torch.serialization, "safe_globals"), reason="this torch allows nothing for a while"
)
@pytest.mark.parametrize("thing", list(REFUSED.values()), ids=list(REFUSED))
def test_what_torch_refuses_is_a_warning_whose_fix_is_enough_for_torch(
    tmp_path: Path, thing: Any
) -> None:
    """Where it says what to allow, torch loads the file once that is allowed."""
    path = tmp_path / "a.pt"
    torch.save({"tensor": torch.ones(3), "extra": thing}, path)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(path, weights_only=True)

    (found,) = findings(path)

    assert found.severity is Severity.WARNING
    assert "Weights only load failed" in (found.why or "")
    _, marker, call = (found.fix or "").partition("torch.serialization.add_safe_globals(")
    names = call.strip("[])").split(", ") if marker else []

    if not names:
        assert "Save" in (found.fix or "")
        return
    known = {"argparse": argparse, "pathlib": pathlib, "fractions": fractions}
    with torch.serialization.safe_globals([eval(name, dict(known)) for name in names]):
        assert torch.load(path, weights_only=True)["extra"] == thing


def test_a_finding_says_it_all() -> None:
    (found,) = of_names("argparse.Namespace", "pathlib.PosixPath", "builtins.frozenset")

    assert found == Finding(
        check="cache-unsafe",
        severity=Severity.WARNING,
        message="names argparse.Namespace, pathlib.PosixPath and builtins.frozenset, which "
        "torch.load refuses with weights_only",
        at=Location(file="a.pt"),
        why="From PyTorch 2.6 on torch.load stops at it, unless it is told weights_only=False: "
        "Weights only load failed.",
        fix="Save plain tensors, numbers and texts in their place; or, where the file is your own: "
        "torch.serialization.add_safe_globals([argparse.Namespace, pathlib.PosixPath, frozenset])",
        evidence={
            "format": "torch zip",
            "globals": "argparse.Namespace, pathlib.PosixPath, builtins.frozenset",
            "count": 3,
        },
        fingerprint=found.fingerprint,
    )


@pytest.mark.parametrize(
    "name",
    [
        *("posix.system", "os.popen", "nt.system", "subprocess.Popen", "subprocess.check_output"),
        *("builtins.eval", "builtins.exec", "builtins.__import__", "builtins.open", "_io.open"),
        *("shutil.rmtree", "runpy.run_path", "importlib.import_module", "torch.hub.load"),
        *("pickle.loads", "_pickle.loads", "marshal.loads", "types.CodeType", "?.?", "os.?"),
    ],
)
@pytest.mark.parametrize("kind", ["torch zip", "torch legacy", "pickle", "gzip", "npy"])
def test_what_can_run_a_program_is_an_error(name: str, kind: str) -> None:
    """In every format, and whatever harmless names stand in front of it."""
    (found,) = of_names("argparse.Namespace", name, kind=kind)

    assert found.severity is Severity.ERROR
    assert "argparse" not in found.message
    assert "Do not load it" in (found.fix or "")


@pytest.mark.parametrize(
    "name",
    [
        *("os.stat_result", "os.terminal_size", "importlib.machinery.ModuleSpec"),
        *("subprocess.CompletedProcess", "subprocess.CalledProcessError", "functools.partial"),
        *("builtins.getattr", "builtins.slice"),
        *("oslo.system", "train.os.Settings", "mycode.code.run"),
    ],
)
def test_what_only_holds_values_is_no_error(name: str) -> None:
    """With getattr Python itself saves a member of an enumeration, or a bound method."""
    assert [one.severity for one in of_names(name)] == [Severity.WARNING]


def test_what_is_hidden_is_said_to_be() -> None:
    (found,) = of_names("?.?")

    assert found.message.startswith("names something that it hides until it is loaded, which can")


@pytest.mark.parametrize("form", ["zip", "legacy"])
@pytest.mark.parametrize("protocol", range(2, 6))
def test_a_protocol_that_a_safe_loader_cannot_read_is_told(
    tmp_path: Path, protocol: int, form: str
) -> None:
    """torch.load itself says which."""
    path = tmp_path / "a.pt"
    thing = {"a": torch.ones(30), "prompt": "a photo of a dog"}
    torch.save(thing, path, pickle_protocol=protocol, _use_new_zipfile_serialization=form == "zip")
    try:
        torch.load(path, weights_only=True)
        refused = False
    except pickle.UnpicklingError:
        refused = True

    found = findings(path)

    assert bool(found) is refused is (protocol > 3)
    for one in found:
        assert one.severity is Severity.WARNING
        assert one.message == (
            "is written in pickle protocol 4 or 5, which torch.load refuses with weights_only"
        )
        assert one.fix == "Leave out pickle_protocol= where it is saved."


def test_a_protocol_is_told_beside_what_the_pickle_names(tmp_path: Path) -> None:
    torch.save({"a": np.arange(30)}, tmp_path / "a.pt", pickle_protocol=4)

    (found,) = findings(tmp_path / "a.pt")

    assert found.message.startswith("is written in pickle protocol 4 or 5 and names numpy.")
    assert (found.fix or "").endswith("numpy's. Leave out pickle_protocol= where it is saved.")


def test_other_pickles_may_be_of_any_protocol(tmp_path: Path) -> None:
    """pickle.load and numpy.load read them all."""
    for name in ("a.pt", "a.npy"):
        (tmp_path / name).write_bytes(pickle.dumps({"a": "b" * 99}, protocol=5))
    (tmp_path / "b.pt").write_bytes(gzip.compress(pickle.dumps({"a": "b" * 99}, protocol=5)))

    assert [findings(path) for path in tmp_path.iterdir()] == [[], [], []]


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("name", ["a.ckpt", "b.bin"])
def test_a_bare_pickle_that_runs_something_is_found_under_any_name(
    tmp_path: Path, name: str, protocol: int
) -> None:
    """torch.load runs it before it says that the file is none of its own."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / name).write_bytes(pickle.dumps(Harm(), protocol))
    (tmp_path / "cache" / "plain.bin").write_bytes(pickle.dumps({"a": 1}, protocol))

    report = preflight.run("cache=cache", folder=str(tmp_path), elsewhere=True)

    (found,) = report.findings
    assert found.check == "cache-unsafe"
    assert found.message.startswith("names posix.system, which can run")


def test_names_of_python_2_are_given_as_python_has_them() -> None:
    """torch.save writes pickles of protocol 2."""
    assert refused("__builtin__", "eval") == "builtins.eval"
    assert refused("copy_reg", "_reconstructor") == "copyreg._reconstructor"
    assert refused("__builtin__", "unicode") == "builtins.str"
    assert refused("commands", "getoutput") == "subprocess.getoutput"
    assert refused("__builtin__", "set") is None


# --- torch's own list -----------------------------------------------------------------------------

# Everything that torch allows by itself, once all modules that add to its list are imported.
ASK_TORCH = """
import json, warnings
warnings.simplefilter("ignore")
import torch
from torch import _weights_only_unpickler as unpickler
import torch._dynamo, torch.distributed, torch.nested
if torch.__version__ >= "2.6":
    import torch.distributed._serialization, torch.distributed.tensor
more = getattr(unpickler, "_get_user_allowed_globals", dict)()  # since torch 2.4
allowed = {*unpickler._get_allowed_globals(), *more}
names = [f"{module.__name__}.{name}"
         for module in (torch, torch._utils, torch.cuda, torch.sparse, torch.cuda.sparse)
         for name in dir(module)]
print(json.dumps([torch.__version__, sorted(allowed), names]))
"""


@pytest.fixture(scope="module")
def of_torch() -> tuple[str, list[str], list[str]]:
    """Ask torch, in another process: its version, what it allows, and what there is in it."""
    with copies():
        version, allowed, names = json.loads(said_by(ASK_TORCH).splitlines()[-1])
    return version, allowed, names


def is_refused(name: str, by: str | None = TORCH) -> bool:
    return refused_by(by, (name,)) == (name,)


def test_whatever_torch_allows_is_neither_told_nor_dangerous(
    of_torch: tuple[str, list[str], list[str]],
) -> None:
    assert [name for name in of_torch[1] if is_refused(name) or is_dangerous(name)] == []


def test_whatever_is_not_told_torch_allows(of_torch: tuple[str, list[str], list[str]]) -> None:
    """Of all that is on any list, and of all that there is in torch."""
    _, allowed, names = of_torch
    ours = {*pickle_globals._ALLOWED, *names}

    assert sorted({name for name in ours if not is_refused(name)} - set(allowed)) == []


def test_the_list_for_where_there_is_no_torch_is_that_of_one(
    of_torch: tuple[str, list[str], list[str]],
) -> None:
    version, allowed, names = of_torch
    if not version.startswith("2.13."):
        pytest.skip("our list is that of PyTorch 2.13")
    ours = {*pickle_globals._ALLOWED, *(name for name in names if not is_refused(name, None))}

    assert sorted(ours - set(allowed)) == []
    assert [name for name in allowed if is_refused(name, None)] == []


def test_a_crowd_of_harmless_names_hides_no_harmful_one(tmp_path: Path) -> None:
    """Twenty names are told; what can do harm is told beside them."""
    crowd = b"".join(b"cmodule%d\nThing\n0" % number for number in range(40))
    (tmp_path / "a.pt").write_bytes(b"\x80\x02" + crowd + b"cposix\nsystem\n.")

    (found,) = findings(tmp_path / "a.pt")

    assert found.severity is Severity.ERROR
    assert "posix.system" in found.message


@pytest.mark.parametrize(
    "name",
    ["torch.FloapStorage", "torch.cuda.NewStorage", "torch.complex16", "torch.float2_e1m0fn"],
)
def test_a_type_that_torch_lacks_is_not_told_to_be_allowed(name: str) -> None:
    """That would raise an AttributeError, as there is nothing to hand over."""
    with pytest.raises(AttributeError):
        eval(name, {"torch": torch})

    (found,) = of_names("argparse.Namespace", name)

    assert "add_safe_globals" not in (found.fix or "")
    assert (found.fix or "").startswith(f"This torch has no {name}, and")


@pytest.mark.parametrize("name", ["torch.UntypedStorage", "torch.TypedStorage", "torch.Generator"])
def test_a_class_that_torch_has_may_be_allowed(name: str) -> None:
    (found,) = of_names(name)

    _, _, call = (found.fix or "").partition("torch.serialization.add_safe_globals")
    assert all(isinstance(one, type) for one in eval(call, {"torch": torch}))
