"""What the user's code needs and is not here is no fault of the code, and no GO either."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.findings.finding import Finding
from preflight.findings.report import Broken, Report
from preflight.session.run import UsageError

pytestmark = pytest.mark.usefixtures("copies")

LOADER = "from torch.utils.data import DataLoader\n"
LOADS = "    return DataLoader([1, 2])\n"

CAUGHT = """
    try:
        import no_such_package_at_all
    except ImportError as error:
        raise RuntimeError('no attention') from error"""

UNOPENED = "cannot open shared object file: No such file or directory"

# What is done before a loader is made, and what is named for want of it, with what helps.
NEEDS = {
    "a rank": ('int(os.environ["RANK"])', "it needs RANK, which torchrun sets", "--world-size 2"),
    "a rank that is got": ('int(os.getenv("LOCAL_RANK"))', "it needs LOCAL_RANK", "--world-size 2"),
    "a rank that is asserted": ('assert "RANK" in os.environ', "it needs RANK", "--world-size 2"),
    "a rank that was kept": (
        'rank, size = os.environ.get("RANK"), os.getenv("WORLD_SIZE")\n    int(size)',
        "it needs WORLD_SIZE, which torchrun sets",
        "--world-size 2",
    ),
    "a rank by default": (
        '(lambda rank=os.getenv("LOCAL_RANK"): int(rank))()',
        "it needs LOCAL_RANK",
        "--world-size 2",
    ),
    "the hosts of Slurm": (
        'os.environ.get("SLURM_JOB_NODELIST").split(",")',
        "it needs SLURM_JOB_NODELIST, which srun sets",
        "Set SLURM_JOB_NODELIST here",
    ),
    "a rank, by its own words": (
        'if not os.environ.get("LOCAL_RANK"): raise ValueError("LOCAL_RANK must be set")',
        "it needs LOCAL_RANK",
        "--world-size 2",
    ),
    "a host that nobody knows": (
        '__import__("socket").getaddrinfo("no-such-host.invalid", 80)',
        "it needs the network, which cannot be reached from here",
        "Run preflight where it can be reached",
    ),
    "a page": (
        '__import__("urllib.request").request.urlopen("http://no-such-host.invalid/a.pt")',
        "it needs the network",
        "have what is loaded from there in its cache here first",
    ),
    "arguments": (
        "p = __import__('argparse').ArgumentParser(); p.add_argument('n'); p.parse_args([])",
        "it needs arguments of a command line (the following arguments are required: n)",
        "Name what makes it of plain arguments",
    ),
    "a task of Slurm": (
        'int(os.environ["SLURM_PROCID"])',
        "it needs SLURM_PROCID, which srun sets",
        "Set SLURM_PROCID here as srun sets it",
    ),
    "a rendezvous": (
        'torch.distributed.init_process_group("gloo")',
        "it needs RANK",
        "--world-size 2",
    ),
    "a group that somebody else makes": (
        "torch.distributed.get_rank() or torch.utils.data.DistributedSampler([1])",
        "it needs a process group",
        "--world-size 2",
    ),
    "a launcher, by its own words": (
        'raise SystemExit("start me with torchrun")',
        "it needs a process group",
        "--world-size 2",
    ),
    "NCCL": (
        'raise RuntimeError("Distributed package doesn\'t have NCCL built in")',
        "it needs NCCL",
        "--world-size 2",
    ),
    "a package": ("import no_such_package_at_all", "it needs no_such_package_at_all", "--python"),
    "a library of the system": (
        '__import__("ctypes").CDLL("libno_such_one.so.1")',
        "it needs the shared library libno_such_one.so.1, which is not here",
        "apt-file search libno_such_one.so.1",
    ),
    "a library that a package loads": (
        f"raise ImportError('libGL.so.1: {UNOPENED}')",
        "it needs the shared library libGL.so.1",
        "Install the package of this system that has libGL.so.1",
    ),
    "a library that was looked for in several places": (
        rf"raise RuntimeError('no MPI\n/usr/lib/libmpi.so: {UNOPENED}\nlibmpi.so.12: {UNOPENED}')",
        "it needs the shared library libmpi.so.12",
        "apt-file search libmpi.so.12",
    ),
    "a package by another name": (
        "raise ModuleNotFoundError(\"No module named 'cv2'\", name='cv2')",
        "it needs cv2",
        "Install opencv-python",
    ),
    "a package of another": (
        "raise ModuleNotFoundError(\"No module named 'pkg_resources'\", name='pkg_resources')",
        "it needs pkg_resources",
        "Install 'setuptools<81'",
    ),
    "a part of a package": (
        "import webdataset.no_such_part",
        "it needs another version of webdataset than ",
        "Install",
    ),
    "a name of a package": (
        "from webdataset import NoSuchName",
        "it needs another version of webdataset than ",
        "Install the version of webdataset that this line asks for",
    ),
    "another version": (
        'import webdataset\n    assert webdataset.__version__ == "0.1"  # version check',
        "it needs another version of webdataset than ",
        "Install the version of webdataset that this line asks for",
    ),
    "another version, by a name": (
        (
            "old = tuple(map(int, torch.__version__.split('.')[:1])) < (9,)\n"
            "    if old: raise RuntimeError('too old')"
        ),
        "it needs another version of torch than ",
        "Install the version of torch that this line asks for",
    ),
    "another version, by its metadata": (
        (
            "from importlib.metadata import version as of\n"
            "    if of('pillow') < '99': raise SystemExit('pillow is too old')"
        ),
        "it needs another version of pillow than ",
        "Install the version of pillow that this line asks for",
    ),
    "a package, by its own words": (
        'raise ImportError("please install xformers")',
        "it needs a package",
        "Install what it asks for",
    ),
    "a package that was caught": (
        CAUGHT,
        "it needs no_such_package_at_all",
        "Install no_such_package_at_all",
    ),
}


def look(folder: Path, source: str, word: str = "train:make", **options: object) -> Report:
    (folder / "train.py").write_text(source, encoding="utf-8")
    return preflight.run(word, folder=str(folder), **options)


def broken(report: Report) -> list[Broken]:
    """Give what could not be looked at, each once."""
    return list(dict.fromkeys(one for outcome in report.checks for one in outcome.broken))


HEAD = f"import os, torch, torch.distributed\n{LOADER}"


def body_of(line: str) -> str:
    return f"    {line}\n{LOADS}"


def factory(line: str) -> str:
    return f"{HEAD}def make():\n{body_of(line)}"


def look_at_each(
    folder: Path, bodies: Iterable[str], head: str = HEAD, **options: object
) -> Report:
    """Look at functions of one module, `make_0` and so on, in one run."""
    made = [f"def make_{number}():\n{body}" for number, body in enumerate(bodies)]
    (folder / "train.py").write_text(head + "".join(made), encoding="utf-8")
    words = (f"train:make_{number}" for number in range(len(made)))
    return preflight.run(*words, folder=str(folder), **options)


class Each(NamedTuple):
    """What became of the cases of a table, which are looked at in one run."""

    cases: Mapping[str, object]
    report: Report

    def word(self, name: str) -> str:
        """Give the word of a case."""
        return f"train:make_{[*self.cases].index(name)}"

    def found(self, name: str) -> list[Finding]:
        """Give what was found of a case."""
        return [one for one in self.report.findings if one.at.name == self.word(name)]

    def broken(self, name: str) -> list[Broken]:
        """Give why a case could not be looked at."""
        return [one for one in broken(self.report) if one.at.name == self.word(name)]


@pytest.fixture(scope="module")
def needs(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Each:
    bodies = [body_of(line) for line, *_ in NEEDS.values()]
    select = ["target-unbuildable", "loader-"]
    return Each(NEEDS, look_at_each(tmp_path_factory.mktemp("needs"), bodies, select=select))


@pytest.mark.parametrize("name", NEEDS)
def test_what_is_not_here_is_no_line_to_mend(name: str, needs: Each) -> None:
    _, lack, helps = NEEDS[name]

    assert needs.report.verdict == "cannot-judge"
    assert needs.report.findings == ()
    (one,) = needs.broken(name)
    assert one.error.startswith(lack)
    assert re.search(r"train\.py:\d+$", one.error)
    assert helps in (one.fix or "")
    assert "Mend this line" not in str(needs.report)


@pytest.mark.parametrize(
    "name",
    ["a rank", "a rank that is asserted", "a rendezvous", "a group that somebody else makes"],
)
def test_the_number_of_ranks_helps_as_it_is_said_to(name: str, tmp_path: Path) -> None:
    report = look(tmp_path, factory(NEEDS[name][0]), world_size=2, select=["target-", "loader-"])

    assert report.verdict == "go"


def test_what_is_to_be_typed_keeps_that_the_job_runs_elsewhere(tmp_path: Path) -> None:
    (one,) = broken(look(tmp_path, factory(NEEDS["a rendezvous"][0]), elsewhere=True))

    assert (one.fix or "").endswith("preflight run train:make --world-size 2 --elsewhere")


def test_what_is_to_be_typed_gives_what_the_settings_give(tmp_path: Path) -> None:
    """A word would be made without it."""
    (tmp_path / "preflight.toml").write_text(
        'loader = [{ call = "train:make", kwargs = { size = 3 } }]\n', encoding="utf-8"
    )
    source = f"{HEAD}def make(size):\n{body_of(NEEDS['a rank'][0])}"
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    (one,) = broken(preflight.run(folder=str(tmp_path), select=["target-", "loader-"]))

    assert (one.fix or "").endswith("of two:  preflight run --world-size 2")
    again = preflight.run(folder=str(tmp_path), world_size=2, select=["target-", "loader-"])
    assert again.verdict == "go"


def test_all_that_torchrun_sets_is_set(tmp_path: Path) -> None:
    names = ("LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "ROLE_WORLD_SIZE", "MASTER_PORT")
    report = look(tmp_path, factory(f"[int(os.environ[name]) for name in {names}]"), world_size=2)

    assert broken(report) == []


@pytest.mark.parametrize(
    "line",
    [
        'root = os.environ.get("DATA_ROOT")\n    os.path.join(root, "train")',
        'if "$" in os.path.expandvars("$DATA_ROOT"): raise ValueError("DATA_ROOT is not set")',
    ],
)
def test_a_variable_of_the_jobs_own_is_named_where_it_is_used(line: str, tmp_path: Path) -> None:
    """However it came there: to mend the line would be no help."""
    (finding,) = look(tmp_path, factory(line), select=["target-"]).findings

    assert finding.fix == "Set DATA_ROOT here as it is where the job starts."


def test_a_variable_that_is_set_as_it_is_said_to_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_PROCID", "0")

    report = look(tmp_path, factory(NEEDS["a task of Slurm"][0]), elsewhere=True)

    assert report.verdict == "go"


OWN_IMPORTS = {
    "a module of the job, typed wrong": ("import utlis", "Import utils, if that is meant"),
    "a module of a package of the job": ("import own.absent", "Write the module own.absent"),
    "a module that lies elsewhere": ("import own.deep", "Add src to PYTHONPATH: own.deep lies"),
    "a name of a module of the job": ("from utils import absent", "Define absent in utils, or"),
    "a relative import without a package": ("from . import utils", "Name it as a module of its"),
    "a circle": ("from circle import late", "import late in the function that uses it"),
}


@pytest.fixture(scope="module")
def own_imports(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Each:
    folder = tmp_path_factory.mktemp("imports")
    (folder / "utils.py").write_text("__version__ = '1'\n")
    (folder / "circle.py").write_text("import knot\nlate = 1\n")
    (folder / "knot.py").write_text("from circle import late\n")
    (folder / "own").mkdir()
    (folder / "src" / "own").mkdir(parents=True)
    (folder / "src" / "own" / "deep.py").write_text("")
    bodies = [body_of(line) for line, _ in OWN_IMPORTS.values()]
    return Each(OWN_IMPORTS, look_at_each(folder, bodies))


@pytest.mark.parametrize("name", OWN_IMPORTS)
def test_an_import_that_finds_nothing_is_told_what_to_import(name: str, own_imports: Each) -> None:
    """Or where that should lie: the line itself is seldom what is wrong."""
    _, helps = OWN_IMPORTS[name]

    assert own_imports.report.verdict == "no-go"
    assert own_imports.broken(name) == []
    (finding,) = own_imports.found(name)
    assert finding.check == "target-unbuildable"
    assert helps in (finding.fix or "")
    assert "Mend this line" not in str(own_imports.report)


def test_a_module_of_the_job_that_is_not_on_the_path_is_no_package_to_install(
    tmp_path: Path,
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "common.py").write_text("")

    (one,) = broken(look(tmp_path, factory("import common")))

    assert one.fix == "Add src to PYTHONPATH, as the job has it: common lies there."


OWN_FAULTS = {
    "a constant that is not set": "raise ValueError('MAX_LENGTH is not set')",
    "none that was kept": "rank = {}.get('RANK')\n    int(rank)",
    "a connection, by its own words": "raise ConnectionError('the two do not meet')",
    "a file in a folder called gpu": "open('/no/such/gpu/file.yaml')",
    "a key called cuda": "{}['cuda']",
    "a number that is none": "int('cuda')",
    "a key called RANK": "{}['RANK']",
    "an attribute of torch": "torch.no_such_thing",
    "a test behind one of a version": 'if torch.__version__ > "1":\n        assert not 1',
    "a version of its own": "import utils\n    assert utils.__version__ == '2'",
    "a library of its own that was not built": '__import__("ctypes").CDLL("./build/libown.so")',
}


@pytest.fixture(scope="module")
def own_faults(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Each:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "utils.py").write_text("__version__ = '1'\n")
    (folder / "own").mkdir()
    return Each(OWN_FAULTS, look_at_each(folder, map(body_of, OWN_FAULTS.values())))


@pytest.mark.parametrize("name", OWN_FAULTS)
def test_a_fault_of_the_users_own_stays_one(name: str, own_faults: Each) -> None:
    """Also with the words of a GPU or of a launcher in it."""
    assert own_faults.report.verdict == "no-go"
    assert own_faults.broken(name) == []
    (finding,) = own_faults.found(name)
    assert finding.check == "target-unbuildable"
    assert (finding.fix or "").startswith("Mend this line")


def test_a_module_that_is_not_there_was_typed_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no module trian"):
        look(tmp_path, LOADER, "trian:make")


def test_an_installed_package_that_raises_is_no_fault_of_the_line_that_imports_it(
    tmp_path: Path,
) -> None:
    """Packages that do not fit each other raise all sorts of things while they are imported."""
    site = tmp_path / "env" / "site-packages" / "odd_package"
    site.mkdir(parents=True)
    (site / "__init__.py").write_text("raise AttributeError('module numpy has no bool8')\n")
    source = f"import sys\nsys.path.append({str(site.parent)!r})\nimport odd_package as make\n"

    report = look(tmp_path, source)

    assert report.verdict == "cannot-judge"
    assert broken(report)[0].error.startswith("it needs odd_package, which is absent here or not")


def test_what_was_typed_is_not_offered_again(tmp_path: Path) -> None:
    """And what lacks arguments is named with them, also where it is wrapped."""
    (tmp_path / "wraps.py").write_text(
        "import functools\ndef wraps(f):\n    def g(*a, **k): return f(*a, **k)\n"
        "    g.__name__ = f.__name__\n    return g\n"
    )
    source = f"from wraps import wraps\n{LOADER}@wraps\ndef make_loader(size):\n{LOADS}"

    report = look(tmp_path, source, "train:make_loader")

    page = str(report)
    assert "make_loader\n" not in page.partition("Not judged")[2].partition("Took")[0]
    assert "kwargs = { size = … }" in broken(report)[0].fix


def test_one_cause_is_told_once_for_all_that_is_made_by_one_module(tmp_path: Path) -> None:
    """However many checks wanted to see it, and however many things it would have made."""
    (tmp_path / "train.py").write_text("import no_such_package_at_all\n" + factory("pass"))
    (tmp_path / "preflight.toml").write_text(
        '[[loader]]\nname = "one"\ncall = "train:make"\n[[loader]]\nname = "two"\n'
        'call = "train:make"\n'
    )

    report = preflight.run(folder=str(tmp_path))

    page = " ".join(str(report).split())
    assert page.count("No module named") == 1
    assert page.count("could not look at") == 1
    assert "one and two: it needs no_such_package_at_all" in page
    assert "2 places could not be looked at" in page


NO_GPU = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = ""\nimport torch\n'

GPUS = {
    "moved": "torch.nn.Linear(2, 2).to('cuda')",
    "by method": "torch.nn.Linear(2, 2).cuda()",
    "made there": "torch.ones(2, device='cuda')",
    "asserted": "assert torch.cuda.is_available()",
    "counted": "8 // torch.cuda.device_count()",
    "by its own words": "raise RuntimeError('this trainer requires a GPU')",
    "of any make": "torch.zeros(2).to(torch.accelerator.current_accelerator().type)",
    "of any make, asserted": "assert torch.accelerator.is_available()",
    "as torch says of any make": (
        "raise RuntimeError('Cannot access accelerator device when none is available.')"
    ),
    "as FSDP says": (
        "raise RuntimeError('FSDP needs a non-CPU accelerator device, but no accelerator device')"
    ),
    "told by a command of its driver": "__import__('subprocess').run(['nvidia-smi'])",
    "as its driver says": "raise RuntimeError('Found no NVIDIA driver on your system.')",
}

OF_ANY = [name for name, line in GPUS.items() if "torch.accelerator" in line]


@pytest.fixture(scope="module")
def gpus(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Each:
    import torch

    has = {n: line for n, line in GPUS.items() if hasattr(torch, "accelerator") or n not in OF_ANY}
    bodies = [
        f"    {line}\n" if line.startswith(("assert", "raise")) else f"    return {line}\n"
        for line in has.values()
    ]
    return Each(has, look_at_each(tmp_path_factory.mktemp("gpus"), bodies, NO_GPU))


@pytest.mark.parametrize("name", GPUS)
def test_a_gpu_that_is_not_here_is_this_machines_where_the_job_runs_here(
    name: str, gpus: Each
) -> None:
    if name in OF_ANY:
        pytest.importorskip("torch.accelerator", reason="this torch knows of no accelerators")

    assert gpus.broken(name) == []
    (finding,) = gpus.found(name)
    assert finding.check == "gpu-unusable"
    line = 5 + 2 * [*gpus.cases].index(name)
    assert str(finding.at).startswith(f"train.py:{line}")
    assert gpus.report.verdict_by == {"job": "go", "machine": "no-go"}
    assert "--elsewhere" in (finding.workaround or "")


def test_a_gpu_of_another_machine_leaves_open_what_is_made_there(tmp_path: Path) -> None:
    """Its name is what nothing stands in for."""
    asks = "torch.cuda.get_device_name() and torch.nn.Linear(2, 2)"
    report = look(tmp_path, f"{NO_GPU}def make():\n    return {asks}\n", elsewhere=True)

    assert report.verdict == "cannot-judge"
    assert broken(report)[0].error.startswith("it needs CUDA, which is not here, so it was not")


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
def test_a_file_on_a_disk_of_another_machine_is_no_fault_of_its_line(
    tmp_path: Path, *, elsewhere: bool
) -> None:
    """Where the job runs here, it stops at that line."""
    there = tmp_path.parent / "no-such-disk" / "list.txt"
    text = f"{LOADER}def make():\n    open({str(there)!r})\n{LOADS}"

    report = look(tmp_path, text, elsewhere=elsewhere)

    if elsewhere:
        assert report.verdict == "cannot-judge"
        assert broken(report)[0].error.startswith(f"it needs {there}, which is not here, so it was")
    else:
        assert [one.check for one in report.findings] == ["target-unbuildable"]
        assert str(report.findings[0].at).startswith("train.py:3")


def test_a_factory_that_takes_its_device_is_made_on_the_cpu_as_it_is_said_to(
    tmp_path: Path,
) -> None:
    """The line that is told is put into preflight.toml as it stands."""
    named = "device == 'cuda' and torch.cuda.get_device_name()"
    source = f"{NO_GPU}def make(device='cuda'):\n    {named}\n    return torch.nn.Linear(2, 2)\n"
    report = look(tmp_path, source, elsewhere=True)

    prose, _, line = (broken(report)[0].fix or "").rpartition("  ")
    assert "preflight.toml" in prose
    (tmp_path / "preflight.toml").write_text(line + "\n")

    assert preflight.run(folder=str(tmp_path), elsewhere=True).verdict == "go"
