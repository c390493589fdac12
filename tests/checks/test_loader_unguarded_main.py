"""loader-unguarded-main speaks where workers import the script, and of what starts work there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from preflight import run
from preflight.findings.finding import Finding, Location, Severity
from preflight.loaders.facts import Loaded
from preflight.objects.facts import Definition
from preflight.settings.job import Job, Launch, StartMethod
from preflight.sources.facts import LoaderCall, SourceFacts, Unguarded
from preflight.targets.targets import Source
from preflight.testing import ask
from tests.read_sources import read_source

ID = "loader-unguarded-main"
SPAWN = Job(
    launch=Launch(start_method="spawn"), origins={"launch.start_method": "preflight.toml:2"}
)
FORK = Job(launch=Launch(start_method="fork"))

HEAD = "import torch\nfrom torch.utils.data import DataLoader\n"
LOADER = "loader = DataLoader(data, batch_size=4, num_workers=4)\n"
LOOP = "for batch in loader:\n    model(batch).backward()\n    optimizer.step()\n"
TUTORIAL = HEAD + LOADER + LOOP


def of_source(
    folder: Path, text: str, job: Job = SPAWN, *, path: str = "train.py", more: str = ""
) -> list[Finding]:
    """Ask the check about a script, or about the folder that holds it."""
    (folder / "train.py").write_text(text, encoding="utf-8")
    (folder / "data.py").write_text(more, encoding="utf-8")
    facts = read_source(Source(path=path), str(folder), {})
    return ask(ID, facts, job)


GUARD = 'if __name__ == "__main__":\n'
INSIDE = "    for batch in loader:\n        model(batch).backward()\n"
MAIN = f"def main():\n{INSIDE}"

HEALTHY = {
    "a guard": HEAD + LOADER + GUARD + INSIDE,
    "a call under a guard": HEAD + LOADER + MAIN + GUARD + "    main()\n",
    "a call that exits, under a guard": (
        HEAD + LOADER + MAIN + GUARD + "    import sys\n    sys.exit(main())\n"
    ),
    "a guard for several names": (
        HEAD + LOADER + MAIN + 'if __name__ in ("__main__", "train"):\n    main()\n'
    ),
    "a guard that has a name": (
        HEAD + LOADER + MAIN + 'is_main = __name__ == "__main__"\nif is_main:\n    main()\n'
    ),
    "a flag that is off": HEAD + LOADER + MAIN + "TRAIN = False\nif TRAIN:\n    main()\n",
    "a guard the other way round": HEAD + LOADER + 'if "__main__" == __name__:\n' + INSIDE,
    "a module that defines": HEAD + LOADER + MAIN,
    "work that is no training": HEAD + LOADER + "print(len(loader))\nmodel = make_model()\n",
    "no loader": "import torch\nfor step in range(10):\n    loss().backward()\n",
    "no workers": TUTORIAL.replace(", num_workers=4", ""),
    "no workers, as said": TUTORIAL.replace("num_workers=4", "num_workers=0"),
    "no workers, by a name": "WORKERS = 0\n" + TUTORIAL.replace("=4)", "=WORKERS)"),
    "no workers where they are spawned": (
        "import os\nworkers = 0 if os.name == 'nt' else 4\n" + TUTORIAL.replace("=4)", "=workers)")
    ),
    "no Python": "for batch in (loader:\n",
    "nothing": "",
}


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("path", ["train.py", "."], ids=["file", "folder"])
def test_healthy_scripts_are_left_alone(
    tmp_path: Path, text: str, method: StartMethod, path: str
) -> None:
    assert of_source(tmp_path, text, Job(launch=Launch(start_method=method)), path=path) == []


OPEN = TUTORIAL.replace("=4)", "=args.n)")
IMPORTED = "from data import make\nloader = make()\n" + LOOP

LEFT: dict[str, tuple[str, dict[str, Any]]] = {
    "a job without workers": (
        TUTORIAL,
        {"job": replace(SPAWN, launch=replace(SPAWN.launch, num_workers=0))},
    ),
    "imports without workers": (IMPORTED, {"more": "def make():\n    return DataLoader(data)\n"}),
}


@pytest.mark.parametrize(("text", "how"), LEFT.values(), ids=LEFT)
def test_it_is_left_alone(tmp_path: Path, text: str, how: dict[str, Any]) -> None:
    assert of_source(tmp_path, text, **how) == []


@pytest.mark.parametrize(
    "flag",
    [
        "go = True\n",
        'go = __name__ == "__main__"\ngo = True\n',
        'go = __name__ == "__main__"\ndef turn():\n    global go\n    go = True\nturn()\n',
        "import os\ngo = os.environ.get('GO')\n",
        "go = False\nfrom settings import go\n",
        "for go in [1]:\n    pass\nclass settings:\n    pass\nsettings.go = False\n",
    ],
    ids=["on", "given twice", "given by a function", "of a variable", "imported", "other"],
)
def test_work_behind_a_flag_that_may_be_on_is_told(tmp_path: Path, flag: str) -> None:
    (finding,) = of_source(tmp_path, f"{HEAD}{LOADER}{MAIN}{flag}if go:\n    main()\n")

    assert "starts work at import" in finding.message


def test_a_tutorials_script_is_an_error_where_workers_are_spawned(tmp_path: Path) -> None:
    (finding,) = of_source(tmp_path, TUTORIAL)

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="train.py", line=4)
    assert finding.message == "starts work at import, outside a main guard: loops over a loader"
    assert finding.also == (Location(file="train.py", line=3),)
    assert finding.why == (
        "The workers of its loader (line 3, num_workers=4) are spawned (preflight.toml:2): each of "
        "them imports train.py, which starts the training again, and stops: RuntimeError, An "
        "attempt has been made to start a new process before the current process has finished its "
        "bootstrapping phase."
    )
    assert finding.fix == 'Put lines 4 to 6 of train.py under `if __name__ == "__main__":`.'
    assert "num_workers=0" in (finding.workaround or "")


FORKS = TUTORIAL.replace("=4)", '=4, multiprocessing_context="fork")')
UNKNOWN = Job(launch=Launch(elsewhere=True))


@pytest.mark.parametrize(
    ("text", "job", "severity"),
    [
        (TUTORIAL, FORK, Severity.NOTE),
        (FORKS, SPAWN, Severity.NOTE),
        (TUTORIAL, UNKNOWN, Severity.WARNING),
        (OPEN, SPAWN, Severity.WARNING),
        (TUTORIAL, SPAWN, Severity.ERROR),
    ],
    ids=["forked", "forked by itself", "another machine", "workers unknown", "spawned"],
)
def test_a_file_that_is_named_and_its_folder_are_told_alike(
    tmp_path: Path, text: str, job: Job, severity: Severity
) -> None:
    (named,) = of_source(tmp_path, text, job)
    (found,) = of_source(tmp_path, text, job, path=".")

    assert found == named
    assert named.severity is severity


def test_it_is_a_note_where_workers_are_forked(tmp_path: Path) -> None:
    """Nothing is imported a second time, and the job runs."""
    (finding,) = of_source(tmp_path, TUTORIAL, FORK)

    assert finding.severity is Severity.NOTE
    assert (finding.why or "").startswith("Here workers are forked (the job's settings), which ")
    assert "Linux from Python 3.14 on" in (finding.why or "")


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_in_a_folder_each_script_is_told_where_workers_are_not_forked(
    tmp_path: Path, method: StartMethod
) -> None:
    job = Job(launch=Launch(start_method=method))
    found = of_source(tmp_path, TUTORIAL, job, path=".", more=TUTORIAL)

    assert [one.at for one in found] == [
        Location(file="data.py", line=4),
        Location(file="train.py", line=4),
    ]
    assert len({one.fingerprint for one in found}) == 2


def test_workers_that_the_source_leaves_open_are_a_warning(tmp_path: Path) -> None:
    (finding,) = of_source(tmp_path, OPEN)

    assert finding.severity is Severity.WARNING
    assert (finding.why or "").startswith(
        "How many workers its loader has (line 3, num_workers=args.n) is not in the source; "
        "--num-workers N says it. Where it has any, they are spawned (preflight.toml:2): "
    )


def test_workers_that_the_settings_tell_are_an_error(tmp_path: Path) -> None:
    job = replace(SPAWN, launch=replace(SPAWN.launch, num_workers=8))
    (finding,) = of_source(tmp_path, OPEN, job)

    assert finding.severity is Severity.ERROR


def test_loaders_that_are_made_elsewhere_are_named_with_their_file(tmp_path: Path) -> None:
    data = "def make():\n    return DataLoader(data, num_workers=2)\n"
    (finding,) = of_source(tmp_path, IMPORTED, more=data)

    assert finding.at == Location(file="train.py", line=3)
    assert finding.also == (Location(file="data.py", line=2),)
    assert "(data.py:2, num_workers=2)" in (finding.why or "")


# --- which start method ---------------------------------------------------------------------------

CALL = LoaderCall(file="train.py", line=3, num_workers="4", has_workers=True)
FOUND = Unguarded(
    file="train.py",
    at="train.py",
    line=4,
    code="for batch in loader: \u2026",
    what="loops over a loader",
    guard='Put lines 4 to 6 of train.py under `if __name__ == "__main__":`.',
    loaders=(CALL,),
)
LINUX = SourceFacts(
    file="train.py",
    files=1,
    unguarded=(FOUND,),
    default_start_method="fork",
    default_start_method_from="the default of Python 3.11 on Linux",
)
PYTHON_3_14 = replace(
    LINUX,
    default_start_method="forkserver",
    default_start_method_from="the default of Python 3.14 on Linux",
)
OWN = FOUND._replace(loaders=(CALL._replace(start_method="spawn"),))
SET = FOUND._replace(start_method="forkserver", start_method_from="train.py:2")


@pytest.mark.parametrize(
    ("facts", "job", "severity", "words"),
    [
        (LINUX, Job(), Severity.NOTE, "forked (the default of Python 3.11 on Linux)"),
        (PYTHON_3_14, Job(), Severity.ERROR, "forkserver (the default of Python 3.14 on Linux)"),
        (LINUX, SPAWN, Severity.ERROR, "spawned (preflight.toml:2)"),
        (PYTHON_3_14, FORK, Severity.NOTE, "forked (the job's settings)"),
        (
            replace(LINUX, unguarded=(SET,)),
            Job(),
            Severity.ERROR,
            "forkserver (set_start_method, train.py:2)",
        ),
        (replace(LINUX, unguarded=(SET,)), FORK, Severity.NOTE, "forked (the job's settings)"),
        (
            replace(LINUX, unguarded=(OWN,)),
            FORK,
            Severity.ERROR,
            "spawned (multiprocessing_context, train.py:3)",
        ),
        (PYTHON_3_14, Job(python="/opt/python"), Severity.WARNING, "is not known here"),
        (PYTHON_3_14, Job(launch=Launch(elsewhere=True)), Severity.WARNING, "is not known here"),
    ],
    ids=[
        "fork by default",
        "forkserver by default",
        "the settings",
        "the settings before the default",
        "the source before the default",
        "the settings before the source",
        "the loader's own before all",
        "another Python",
        "another machine",
    ],
)
def test_the_start_method_of_the_job_decides(
    facts: SourceFacts, job: Job, severity: Severity, words: str
) -> None:
    (finding,) = ask(ID, facts, job)

    assert finding.severity is severity
    assert words in (finding.why or "")


def test_the_loader_with_spawned_workers_is_the_one_that_is_named() -> None:
    own = CALL._replace(line=9, start_method="spawn")
    facts = replace(LINUX, unguarded=(FOUND._replace(loaders=(CALL, own)),))
    (finding,) = ask(ID, facts)

    assert finding.severity is Severity.ERROR
    assert finding.also == (Location(file="train.py", line=9),)


def test_names_of_the_source_are_not_obeyed_by_a_console() -> None:
    odd = FOUND._replace(what="calls x\x1b[2J()", file="a\u202e.py")
    (finding,) = ask(ID, replace(LINUX, unguarded=(odd,)), SPAWN)

    assert "\x1b" not in finding.message
    assert "\u202e" not in (finding.why or "")


# --- in a worker ----------------------------------------------------------------------------------

LOADED = Loaded(
    name="train:loader",
    defined=Definition(file="train.py", line=3),
    num_workers=4,
    start_method="spawn",
    start_method_from="launch.start_method",
    started_work="train.py:4",
)


@pytest.mark.parametrize(
    "loaded",
    [replace(LOADED, started_work=None), replace(LOADED, num_workers=0)],
    ids=["nothing started", "no workers"],
)
def test_a_worker_that_starts_nothing_is_left_alone(loaded: Loaded) -> None:
    assert ask(ID, loaded, SPAWN) == []


def test_a_worker_that_was_seen_to_start_it_confirms_it() -> None:
    (finding,) = ask(ID, LOADED, SPAWN)

    assert finding.severity is Severity.ERROR
    assert finding.at == Location(file="train.py", line=4)
    assert finding.message == "starts the training again in a worker, confirmed by starting one"
    assert (finding.why or "").startswith(
        "The workers of train:loader are spawned (preflight.toml:2): each of them imports the "
    )


def test_what_a_worker_would_do_is_a_note_where_workers_are_forked() -> None:
    forked = replace(LOADED, start_method="fork", start_method_from="the default of Linux")
    (finding,) = ask(ID, forked)

    assert finding.severity is Severity.NOTE
    assert (finding.why or "").startswith("Here workers are forked (the default of Linux), which ")


def test_a_line_without_a_file_is_named_all_the_same() -> None:
    (finding,) = ask(ID, replace(LOADED, started_work="<stdin>:\x1b"))

    assert finding.at == Location(file="train.py", name="<stdin>:\\x1b")


# --- end to end -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["train.py", "."], ids=["named", "in a folder"])
def test_a_source_is_judged_without_torch_and_without_being_run(tmp_path: Path, path: str) -> None:
    (tmp_path / "train.py").write_text(f"open('ran', 'w')\n{TUTORIAL}", encoding="utf-8")
    (tmp_path / "preflight.toml").write_text('[launch]\nstart_method = "spawn"\n', "utf-8")

    report = run(f"source={path}", folder=str(tmp_path), select=[ID])

    assert [str(one.at) for one in report.findings] == ["train.py:5"]
    assert report.verdict == "no-go"
    assert not (tmp_path / "ran").exists()
