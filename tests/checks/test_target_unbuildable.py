"""target-unbuildable tells what the user's code raised, at the user's own innermost line."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Location, Severity
from preflight.findings.report import Broken, Report
from preflight.session.run import UsageError
from preflight.testing import ask
from preflight.users_code.facts import Frame, Unbuilt

pytestmark = pytest.mark.usefixtures("at_hand")

LOADER = "from torch.utils.data import DataLoader\n"


def look(folder: Path, source: str, word: str = "train:make") -> Report:
    """Look at something in this source."""
    (folder / "train.py").write_text(source, encoding="utf-8")
    return preflight.run(word, folder=str(folder))


def broken(report: Report) -> list[Broken]:
    return [one for outcome in report.checks for one in outcome.broken]


SOUND = {
    "a function": LOADER + "def make():\n    return DataLoader([1, 2])\n",
    "a loader itself": LOADER + "make = DataLoader([1, 2])\n",
    "a partial": LOADER
    + "import functools\nmake = functools.partial(DataLoader, [1, 2], batch_size=2)\n",
    "a class": LOADER + "class make(DataLoader):\n    def __init__(self): super().__init__([1])\n",
    "a dict with other things in it": LOADER
    + "def make():\n    return {'train': DataLoader([1]), 'steps': 4}\n",
    "a tuple": LOADER + "def make():\n    return DataLoader([1]), None\n",
    "a bare data set": "import torch\ndef make():\n"
    "    return torch.utils.data.TensorDataset(torch.ones(4))\n",
    "a model": "import torch\ndef make():\n    return torch.nn.Linear(2, 2)\n",
    "a model itself, which can be called": "import torch\nmake = torch.nn.Linear(2, 2)\n",
    "an exit that is caught": LOADER + "import sys\ntry:\n    sys.exit()\nexcept SystemExit:\n"
    "    pass\ndef make():\n    return DataLoader([1])\n",
}

RAISING = {
    "an import that raises": ("make = 1 / 0\n", "while it is imported: ZeroDivisionError"),
    "an interrupt": (
        "def make(): raise KeyboardInterrupt\n",
        "when it is called: KeyboardInterrupt",
    ),
    "a module of the job, typed wrong": (
        "import caes_0 as make\n",
        "while it is imported: ModuleNotFoundError",
    ),
    "a name that a module of the job does not have": (
        "def make():\n    from case_1 import absent\n",
        "when it is called: ImportError: cannot import name",
    ),
    "no Python": ("def make(:\n", "while it is imported: SyntaxError"),
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Report]:
    """Look at sources, each a file of its own, in one run for all tests."""

    @functools.cache
    def look_at(*sources: str) -> Report:
        folder = tmp_path_factory.mktemp("seen")
        for number, source in enumerate(sources):
            (folder / f"case_{number}.py").write_text(source, encoding="utf-8")
        words = [f"case_{number}:make" for number in range(len(sources))]
        return preflight.run(*words, folder=str(folder))

    return look_at


@pytest.mark.parametrize("name", SOUND)
def test_what_can_be_made_is_left_alone(name: str, seen: Callable[..., Report]) -> None:
    """Functions, partials and classes are called; all else is taken as it is."""
    report = seen(*SOUND.values())

    file = f"case_{[*SOUND].index(name)}.py"
    assert [finding for finding in report.findings if finding.at.file == file] == []
    assert report.verdict == "go"


def test_the_innermost_line_of_the_users_own_code_is_the_place(tmp_path: Path) -> None:
    """Frames of torch and of ours are left out; the outer ones of the user's are told too."""
    source = LOADER + "def batch():\n    return -1\n\ndef make():\n    return loader(batch())\n\n"
    source += "def loader(size):\n    return DataLoader([1], batch_size=size)\n"

    report = look(tmp_path, source)

    (finding,) = report.findings
    assert finding.at == Location(file="train.py", line=9, name="train:make")
    assert finding.also == (Location(file="train.py", line=6),)
    assert finding.message.startswith("raises when it is called: ValueError: batch_size")
    assert "return DataLoader([1], batch_size=size)" in (finding.why or "")


def test_a_source_that_an_extension_was_compiled_from_is_no_line_of_the_users(
    tmp_path: Path,
) -> None:
    """Cython names it relative to where it was compiled; there is no such file here."""
    compiled = 'exec(compile("def read(path): raise OSError(path)", "pyarrow/error.pxi", "exec"))\n'

    report = look(tmp_path, compiled + "def make():\n    return read('tok')\n")

    (finding,) = report.findings
    assert finding.at == Location(file="train.py", line=3, name="train:make")
    assert finding.also == ()
    assert "`return read('tok')`" in (finding.why or "")


@pytest.mark.parametrize("name", RAISING)
def test_what_is_raised_is_told_with_the_step(name: str, seen: Callable[..., Report]) -> None:
    """One finding; the verdict is NO-GO, since the job runs the same lines."""
    report = seen(*(source for source, _ in RAISING.values()))

    file = f"case_{[*RAISING].index(name)}.py"
    (finding,) = (one for one in report.findings if one.at.file == file)
    assert RAISING[name][1] in finding.message
    assert finding.severity is Severity.ERROR
    assert report.verdict == "no-go"


def test_a_line_that_is_no_python_is_the_place(tmp_path: Path) -> None:
    """And no line of Python's own import system; nobody else tells it again."""
    report = look(tmp_path, "import os\n\ndef make(:\n    pass\n")

    (finding,) = report.findings
    assert finding.at == Location(file="train.py", line=3, name="train:make")
    assert finding.also == ()
    assert broken(report) == []


def test_a_factory_whose_arguments_are_not_known_is_no_fault_of_the_job(tmp_path: Path) -> None:
    """The job gives them; whoever typed the name did not."""
    report = look(tmp_path, LOADER + "def make(root, size=2):\n    return DataLoader([root])\n")

    assert report.verdict == "cannot-judge"
    assert {one.error for one in broken(report)} == {
        "train:make cannot be called with what is known: missing a required argument: 'root'"
    }


WRAPPED = """
import functools
import torch
from torch.utils.data import DataLoader


def kept(made):
    class Kept(made):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    Kept.__name__ = made.__name__
    return Kept


def plain(function):
    def call(*args, **kwargs):
        return function(*args, **kwargs)

    return call
"""


@pytest.mark.parametrize(
    ("source", "table"),
    [
        (
            "@kept\nclass make(torch.nn.Module):\n    def __init__(self, size, *, dim): pass\n",
            "model",
        ),
        ("@plain\ndef make(root):\n    return DataLoader([root])\n", "loader"),
    ],
    ids=["a class", "a function"],
)
def test_arguments_that_a_decorator_hides_are_no_fault_of_the_job(
    tmp_path: Path, source: str, table: str
) -> None:
    """Its own signature takes anything; what is behind it needs what only the job gives."""
    report = look(tmp_path, WRAPPED + source)

    assert report.verdict == "cannot-judge"
    (said,) = {one.error for one in broken(report)}
    assert said.startswith("train:make cannot be called with what is known: missing ")
    assert {(one.fix or "").partition(" =")[0] for one in broken(report)} == {
        f"Give its arguments in preflight.toml:  {table}"
    }


def test_a_call_inside_a_factory_that_lacks_arguments_is_its_fault(tmp_path: Path) -> None:
    """The job makes the same call at its start."""
    source = "def inner(root): pass\n\ndef make():\n    return inner()\n"
    report = look(tmp_path, WRAPPED + source)

    (finding,) = report.findings
    assert "missing 1 required positional argument" in finding.message
    assert report.verdict == "no-go"


def test_an_exception_whose_text_raises_is_told_by_its_type(tmp_path: Path) -> None:
    """Its `__str__` is the user's code too."""
    source = "class Odd(Exception):\n    def __str__(self): raise RuntimeError\n"
    report = look(tmp_path, source + "def make():\n    raise Odd\n")

    (finding,) = report.findings
    assert "Odd" in finding.message


def test_a_part_that_is_not_there_was_typed_wrong(tmp_path: Path) -> None:
    """It is the word that names it, and not the job."""
    with pytest.raises(UsageError, match=r"has no part \['val'\]: KeyError"):
        look(tmp_path, LOADER + "def make():\n    return {}\n", "train:make['val']")


def test_a_note_on_an_exception_is_not_its_text(tmp_path: Path) -> None:
    """Notes come last where Python prints them."""
    source = "def make():\n    error = ValueError('the text')\n    error.__notes__ = ['a note']\n"
    report = look(tmp_path, source + "    raise error\n")

    assert report.findings[0].message.endswith("ValueError: the text")


def test_a_getter_that_exits_is_the_users(tmp_path: Path) -> None:
    """Looking at what was made runs its code."""
    source = (
        "class Odd:\n    def __getattribute__(self, name):\n        raise SystemExit(4)\n\n"
        "def make():\n    return Odd()\n"
    )
    report = look(tmp_path, source)

    assert report.verdict in {"no-go", "cannot-judge"}
    assert all("exit status" not in one.error for one in broken(report))


@pytest.mark.parametrize("name", ["site", "abc", "time", "json", "preflight", "checks", "torch"])
def test_a_file_of_any_name_is_loaded_by_its_path(tmp_path: Path, name: str) -> None:
    """Also where Python has a module of that name built in."""
    source = "import sys\nsys.path.pop(0)\n" + LOADER if name == "torch" else LOADER
    (tmp_path / f"{name}.py").write_text(source + "def make():\n    return DataLoader([1])\n")

    report = preflight.run(f"{name}.py:make", folder=str(tmp_path), select=["target-unbuildable"])

    assert report.findings == ()
    assert broken(report) == []


def test_the_users_own_preflight_is_the_users(tmp_path: Path) -> None:
    """A module beside it means the file of that name, as `python train.py` does."""
    (tmp_path / "preflight.py").write_text("SIZE = 2\n")
    source = LOADER + "import preflight\ndef make():\n    return DataLoader([preflight.SIZE])\n"

    assert look(tmp_path, source).verdict == "go"


def test_a_path_that_was_emptied_harms_nothing(tmp_path: Path) -> None:
    """We import late, and find what we need."""
    source = LOADER + "import sys\ndef make():\n    sys.path.clear()\n    return DataLoader([1])\n"

    assert look(tmp_path, source).verdict == "go"


def test_arguments_from_the_settings_arrive_as_they_are(tmp_path: Path) -> None:
    """Infinities, large numbers, dates, nested tables."""
    (tmp_path / "train.py").write_text(
        LOADER
        + "import datetime\n"
        + "def make(rate, size, day, more):\n"
        + "    assert rate == float('inf') and size == 99999999999999999999\n"
        + "    assert day == datetime.date(1979, 5, 27) and more == {'a': [1, {'b': 2}]}\n"
        + "    return DataLoader([1])\n"
    )
    (tmp_path / "preflight.toml").write_text(
        '[[loader]]\ncall = "train:make"\n'
        "kwargs = { rate = inf, size = 99999999999, day = 1979-05-27, "
        "more = { a = [1, { b = 2 }] } }\n"
    )

    (finding,) = preflight.run(folder=str(tmp_path)).findings
    assert "AssertionError" in finding.message  # the size is another
    text = (tmp_path / "preflight.toml").read_text()
    (tmp_path / "preflight.toml").write_text(text.replace("99999999999,", "9" * 20 + ","))
    assert preflight.run(folder=str(tmp_path)).findings == ()


def test_something_else_is_no_verdict(tmp_path: Path) -> None:
    """It could not be looked at: neither a loader nor a model."""
    report = look(tmp_path, "def make():\n    return 7\n")

    assert report.verdict == "cannot-judge"
    assert {one.error for one in broken(report)} == {
        "it gave an object of type builtins.int, which is neither a loader nor a model"
    }


def test_a_message_with_escapes_in_it_is_shown_escaped() -> None:
    """An exception's text is the user's data."""
    facts = Unbuilt(
        name="train:make",
        step="call",
        error="ValueError: \x1b[31mred\nnext",
        frames=(Frame(file="train.py", line=3, function="make", text="raise x"),),
    )

    (finding,) = ask("target-unbuildable", facts)

    assert "\\x1b[31mred\\nnext" in finding.message


def test_without_a_line_of_the_users_the_name_is_the_place() -> None:
    """A C extension may raise with no frame at all."""
    (finding,) = ask("target-unbuildable", Unbuilt(name="m:f", step="call", error="ValueError"))

    assert finding.at == Location(name="m:f")


def test_another_variable_is_to_be_set_as_the_job_has_it(tmp_path: Path) -> None:
    source = "import os\ndef make():\n    return os.environ['DATA_ROOT_OF_NOBODY']\n"

    (finding,) = unbuilt(look(tmp_path, source))

    assert finding.fix == "Set DATA_ROOT_OF_NOBODY here as it is where the job starts."


def test_a_variable_of_another_machine_is_no_fault_there(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os\ndef make():\n    return os.environ['DATA_ROOT_OF_NOBODY']\n"
    )

    report = preflight.run("train:make", folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "cannot-judge"
    assert {one.fix for one in broken(report)} == {
        "Set DATA_ROOT_OF_NOBODY here as it is where the job starts."
    }


@pytest.mark.parametrize(
    "line",
    [
        'CONFIG["RANK"] + int(os.environ.get("RANK", 0))',
        'int(os.environ.get("PATH"))',
        'CONFIG[os.environ.get("RANK", "absent")]',
    ],
    ids=["a key of its own", "set, and no number", "beside a default"],
)
def test_a_line_that_raises_for_another_reason_is_to_be_mended(tmp_path: Path, line: str) -> None:
    source = f"import os\nCONFIG = {{}}\ndef make():\n    return {line}\n"

    (finding,) = unbuilt(look(tmp_path, source))

    assert (finding.fix or "").startswith("Mend this line")


def unbuilt(report: Report) -> list[Finding]:
    """Take what this check found; env-launch may tell the variable, too."""
    return [one for one in report.findings if one.check == "target-unbuildable"]


HOLDS = """
import collections, copy, threading
import torch
from torch.optim.swa_utils import AveragedModel

class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(2, 2)
        self.parts = [1, collections.OrderedDict(lock=threading.Lock())]

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.decoder = Decoder()
"""

COPIES = {
    "by a class of torch": "def make():\n    return AveragedModel(Net())\n",
    "by itself": "def make():\n    return copy.deepcopy(Net())\n",
}

ADVICE = """
model = Net()
held, model.decoder.parts[1]["lock"] = model.decoder.parts[1]["lock"], None
ema = AveragedModel(model)
model.decoder.parts[1]["lock"] = ema.module.decoder.parts[1]["lock"] = held
assert ema.module.decoder.line is not model.decoder.line
"""


@pytest.mark.parametrize("copies", COPIES.values(), ids=COPIES)
def test_what_stops_a_copy_that_a_factory_makes_is_named(tmp_path: Path, copies: str) -> None:
    report = look(tmp_path, HOLDS + copies)

    (found,) = report.findings
    assert found.check == "target-unbuildable"
    assert "copy.deepcopy stops at decoder.parts[1].lock of the Net. Take it off" in (
        found.fix or ""
    )
    exec(HOLDS + ADVICE, {"__name__": "advice"})


REFUSES = """
import torch
from torch import nn
from torch.distributed._composable import replicate
from torch.nn.utils.parametrizations import weight_norm
from torch.optim.swa_utils import AveragedModel

def group():
    import tempfile
    import torch.distributed as dist
    if not dist.is_initialized():
        place = "file:///" + tempfile.mktemp().replace("\\\\", "/").lstrip("/")
        dist.init_process_group("gloo", init_method=place, rank=0, world_size=1)
    return dist.new_group([0])

def net():
    return nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
"""

REFUSING = {
    "a wrapper": (
        "model = nn.parallel.DistributedDataParallel(net(), process_group=group())",
        "the DistributedDataParallel. Give this line the module in it, its .module.",
        "ema = AveragedModel(model.module)",
    ),
    "a module that replicate() has changed": (
        "group()\n    model = net()\n    replicate(model)",
        "the DDPSequential. Copy before replicate(…).",
        "model = net()\n    ema = AveragedModel(model)\n    replicate(model)",
    ),
    "a result of a computation": (
        "model = net()\n    model.half = model[0].weight / 2",
        "half of the Sequential. Keep its detach() instead.",
        "model.half = model.half.detach()\n    ema = AveragedModel(model)",
    ),
    "a weight that is computed": (
        "model = net()\n    nn.utils.weight_norm(model[1])",
        "1.weight of the Sequential. Use torch.nn.utils.parametrizations.weight_norm.",
        "model = net()\n    weight_norm(model[1])\n    ema = AveragedModel(model)",
    ),
}


@pytest.mark.filterwarnings("ignore")  # torch's, of what it will take away
@pytest.mark.parametrize("kind", REFUSING)
def test_what_refuses_to_be_copied_in_a_factory_is_told_with_what_works(
    tmp_path: Path, kind: str
) -> None:
    """Whatever the error is: each kind has its own. What is told is done, and the copy works."""
    made, told, mended = REFUSING[kind]
    text = f"{REFUSES}\ndef make():\n    {made}\n    return AveragedModel(model)\n"
    plain = [sys.executable, "-W", "ignore", "-c", f"{text}\nmake()"]
    if subprocess.run(plain, check=False, capture_output=True).returncode == 0:
        pytest.skip("this torch copies it")
    report = look(tmp_path, text)

    (found,) = report.findings
    assert f"copy.deepcopy stops at {told}" in (found.fix or "")

    job = f"{REFUSES}\ndef make():\n    {made}\n    {mended}\n    return model, ema\n"
    job += "\nmodel, ema = make()\nassert len(list(ema.parameters())) >= 4\n"
    job += "assert not {*map(id, model.parameters())} & {*map(id, ema.parameters())}\n"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", job], check=False)
    assert done.returncode == 0


def test_an_error_beside_a_copy_is_none_of_it(tmp_path: Path) -> None:
    report = look(
        tmp_path, HOLDS + "def make():\n    copy.deepcopy([1])\n    raise TypeError('no')\n"
    )

    assert [one.fix for one in report.findings if "stops at" in (one.fix or "")] == []
