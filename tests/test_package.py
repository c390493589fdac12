"""What is installed is whole: the wheel works in an empty environment, from any folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from preflight.__main__ import rival_distribution
from preflight.findings import registry

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


def said(*words: str | Path, folder: Path, expect: int = 0, **variables: str) -> str:
    """Run a command away from the checkout, and give what it says on stdout."""
    unwanted = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}  # what is imported twice is compiled once
    environment = {key: value for key, value in os.environ.items() if key not in unwanted}
    done = subprocess.run(
        [os.fspath(word) for word in words],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )
    assert done.returncode == expect, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel, from a copy: two builds in one place are in each other's way."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in ("preflight", "checks"):
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", ".preflight")
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    said(sys.executable, "-m", "build", "--wheel", "--outdir", folder, source, folder=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it into an environment that has everything that it asks for, and nothing else.

    What is installed here lies there as links, where there are such. pip adds nothing to those: it
    would write into the environment in which other tests run.
    """
    folder = tmp_path_factory.mktemp("empty")
    venv.create(folder / "env")
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    if os.name != "nt":
        find = "import sysconfig; print(sysconfig.get_path('purelib'), end='')"
        site = Path(said(programs / "python", "-c", find, folder=folder))
        for one in asked_for(wheel):
            for top in {file.parts[0] for file in one.files or ()} - {"..", "__pycache__"}:
                if not (site / top).exists():
                    (site / top).symlink_to(Path(one.locate_file(top)))
        pip(programs, "install", "--no-deps", "--no-compile", wheel, folder=folder)
        pip(programs, "check", folder=folder)
        return programs
    constraints = folder / "constraints.txt"  # the torch that is here, whatever pip is told to take
    constraints.write_text(f"torch=={distribution('torch').version.partition('+')[0]}\n")
    constrained = {"PIP_CONSTRAINT": os.fspath(constraints)}
    pip(programs, "install", "--no-compile", wheel, folder=folder, **constrained)
    return programs


def asked_for(wheel: Path) -> Iterator[Distribution]:
    info = next(one for one in zipfile.Path(wheel).iterdir() if one.name.endswith(".dist-info"))
    asking: list[tuple[Distribution, str]] = [(PathDistribution(info), "")]
    known: set[tuple[str, str]] = set()
    while asking:
        asks, of_extra = asking.pop()
        for requirement in map(Requirement, asks.requires or ()):
            if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
                continue
            asked = distribution(requirement.name)
            for extra in {"", *requirement.extras}:
                if (requirement.name, extra) not in known:
                    known.add((requirement.name, extra))
                    asking.append((asked, extra))
                    yield asked


def pip(programs: Path, *words: str | Path, folder: Path, **variables: str) -> None:
    """Run our own pip on an environment that has none."""
    ours = (sys.executable, "-m", "pip", "-q", "--python", programs.parent)
    said(*ours, *words, folder=folder, **variables)


def test_the_wheel_holds_every_file(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())

    sources = [
        path.relative_to(ROOT).as_posix()
        for pattern in ("preflight/**/*.py", "preflight/demo/*/*.toml", "preflight/py.typed")
        for path in ROOT.glob(pattern)
    ]
    checks = [f"preflight/checks/{path.name}" for path in ROOT.glob("checks/*.py")]
    assert names >= {*sources, *checks}
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"preflight"}


def test_it_works_in_an_empty_environment(programs: Path, tmp_path: Path) -> None:
    page = said(programs / "preflight", "demo", folder=tmp_path, expect=1)
    assert page.startswith("NO-GO")

    # Each worker imports torch, and draws for seconds from a loader that has no end.
    healthy = said(
        *(programs / "train-preflight", "demo", "--healthy"),
        folder=tmp_path,
        PREFLIGHT_NUM_WORKERS="1",
    )
    assert healthy.startswith("GO")

    listed = said(programs / "preflight", "checks", folder=tmp_path)
    assert [check for check in registry.built_in() if check not in listed] == []

    explained = said(programs / "preflight", "explain", "loader-unpicklable", folder=tmp_path)
    assert "What to do" in explained


def test_a_plug_in_is_found_and_its_id_bears_its_name(programs: Path, tmp_path: Path) -> None:
    """One module with one check; its crash at import would be told, and would stop nothing."""
    plain_wheel(
        tmp_path / "acme_checks-1-py3-none-any.whl",
        {
            "acme_shard.py": (
                "from preflight.check import check\nfrom preflight.facts import ShardFacts\n"
                "from preflight.finding import Location, Severity\n\n"
                "@check(over=ShardFacts, title='shard', severity=Severity.NOTE)\n"
                "def acme_shard(facts, job):\n"
                "    yield acme_shard.found('is seen', at=Location(file=facts.file))\n"
            )
        },
        entry_points="[train_preflight.checks]\nshard = acme_shard\nbroken = not_there\n",
    )
    pip(programs, "install", "--no-deps", *tmp_path.glob("*.whl"), folder=tmp_path)
    try:
        listed = said(programs / "preflight", "checks", folder=tmp_path)
    finally:
        pip(programs, "uninstall", "-y", "acme-checks", folder=tmp_path)

    assert "acme-checks/acme-shard" in listed
    assert "broken" in listed
    assert "ModuleNotFoundError" in listed


def test_another_package_of_the_same_name_is_told(programs: Path, tmp_path: Path) -> None:
    """Two distributions that own preflight/__init__.py overwrite each other's files."""
    stand_in = {"preflight/__init__.py": "", "preflight/other.py": ""}
    plain_wheel(tmp_path / "other_preflight-1-py3-none-any.whl", stand_in)
    pip(programs, "install", "--no-deps", *tmp_path.glob("*.whl"), folder=tmp_path)
    try:
        for words in (["--help"], ["run"], ["demo"], ["checks"]):
            assert said(programs / "preflight", *words, folder=tmp_path, expect=2) == ""
    finally:
        pip(programs, "uninstall", "-y", "other-preflight", folder=tmp_path)


def test_our_own_record_is_no_rival(tmp_path: Path) -> None:
    """Nor is one of a package that only has a module of that name inside."""
    for name, record in (
        ("train_preflight-0.1.0", "preflight/__init__.py,sha256=x,1\n"),
        ("tools-1", "tools/preflight/__init__.py,sha256=x,1\n"),
    ):
        (tmp_path / f"{name}.dist-info").mkdir()
        (tmp_path / f"{name}.dist-info" / "RECORD").write_text(record)

    assert rival_distribution(str(tmp_path)) is None

    (tmp_path / "rival-2.dist-info").mkdir()
    (tmp_path / "rival-2.dist-info" / "RECORD").write_text("a,,\npreflight/__init__.py,,\n")

    assert rival_distribution(str(tmp_path)) == "rival"


def plain_wheel(path: Path, files: dict[str, str], *, entry_points: str = "") -> None:
    name, version = path.name.split("-")[:2]
    info, title = f"{name}-{version}.dist-info", name.replace("_", "-")
    everything = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {title}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry_points:
        everything[f"{info}/entry_points.txt"] = entry_points
    everything[f"{info}/RECORD"] = "".join(f"{one},,\n" for one in (*everything, f"{info}/RECORD"))
    with zipfile.ZipFile(path, "w") as archive:
        for one, text in everything.items():
            archive.writestr(one, text)
