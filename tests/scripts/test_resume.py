"""Scripts are run, and run again from what they saved: each fault is told at its own line."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from preflight.render.terminal import render
from tests.warming import start_copies

SCRIPTS = Path(__file__).parents[2] / "fixtures" / "scripts"

Change = tuple[str, str]

UNSAVED = ('            "optimizer": optimizer.state_dict(),\n', "")
UNLOADED = ('        optimizer.load_state_dict(checkpoint["optimizer"])\n', "")


def write(folder: Path, name: str, *changes: Change) -> str:
    text = (SCRIPTS / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "train.py").write_text(text, encoding="utf-8")
    return text


def files_in(folder: Path) -> dict[str, str]:
    """A hash of each file, ours aside."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".preflight" not in path.parts
    }


def rehearse(folder: Path, *words: str, **options: object) -> Report:
    return preflight.run("train.py", *words, folder=str(folder), select=["script-"], **options)  # type: ignore[arg-type]


def told(report: Report, text: str) -> list[tuple[str, str]]:
    """Each finding at the gate: its check, and the text of the line that it names."""
    lines = text.splitlines()
    return [
        (one.check, lines[one.at.line - 1].strip() if one.at.line else "")
        for one in report.findings
        if one.severity.name == "ERROR"
    ]


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start_copies(monkeypatch)


def test_a_script_that_goes_on_is_go_and_leaves_its_folder_as_it_is(tmp_path: Path) -> None:
    """Also what it appends to, and what lies there from a run before."""
    write(tmp_path, "plain_resume.py")
    (tmp_path / "runs" / "plain").mkdir(parents=True)
    (tmp_path / "runs" / "plain" / "log.jsonl").write_text("{}\n")
    (tmp_path / "runs" / "plain" / "last.pt").write_bytes(b"of a run before")
    before = files_in(tmp_path)

    report = rehearse(tmp_path)

    assert report.verdict == "go"
    assert report.findings == ()
    assert files_in(tmp_path) == before
    said = " ".join(render(report, verbose=1).split())
    assert "resumed with --resume runs/plain/last.pt: 2 steps" in said
    assert "also wrote, apart from the job: runs/plain/log.jsonl" in said
    assert "for real" not in said


FAULTS: dict[str, tuple[tuple[Change, ...], str, str]] = {
    "a state that does not pickle": (
        (('"epoch": epoch,\n            "args"', '"epoch": lambda: epoch,\n            "args"'),),
        "script-save",
        'torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
    "a type that weights_only refuses": (
        (
            ('"args": vars(args)', '"args": args'),
            ("load(args.resume)", "load(args.resume, weights_only=True)"),  # as torch has it by now
        ),
        "script-resume",
        "checkpoint = torch.load(args.resume, weights_only=True)",
    ),
    "an optimizer that was never saved": (
        (UNSAVED,),
        "script-resume",
        'optimizer.load_state_dict(checkpoint["optimizer"])',
    ),
    "an optimizer that was neither saved nor loaded": (
        (UNSAVED, UNLOADED),
        "script-resume",
        "optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)",
    ),
    "an epoch that was over and is trained again": (
        (('checkpoint["epoch"] + 1', 'checkpoint["epoch"]'),),
        "script-resume",
        'torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
    "an epoch that is left out": (
        (('checkpoint["epoch"] + 1', 'checkpoint["epoch"] + 2'),),
        "script-resume",
        'torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
    "weights that are not loaded": (
        (('        model.load_state_dict(checkpoint["model"])\n', ""),),
        "script-resume",
        'torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_at_its_own_line(name: str, tmp_path: Path) -> None:
    changes, check, line = FAULTS[name]
    text = write(tmp_path, "plain_resume.py", *changes)
    before = files_in(tmp_path)

    report = rehearse(tmp_path)

    assert report.verdict == "no-go"
    assert told(report, text)[0] == (check, line)
    assert {one for one, _ in told(report, text)} == {check}
    assert files_in(tmp_path) == before


def dies_at(folder: Path, text: str, *words: str) -> str:
    """Run a plain script to its end; give the text of its own innermost line that raised."""
    done = subprocess.run(
        [sys.executable, "train.py", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = [one for one in done.stderr.splitlines() if "train.py" in one and ", line " in one]
    number = int(lines[-1].partition(", line ")[2].partition(",")[0])
    return text.splitlines()[number - 1].strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FAULTS][:3])
def test_the_plain_script_dies_at_the_line_that_is_told(name: str, tmp_path: Path) -> None:
    """Run as it is: to its end, and from what it has saved."""
    changes, check, line = FAULTS[name]
    text = write(tmp_path, "plain_resume.py", *changes)
    words = ["--epochs", "1"]
    if check == "script-resume":
        subprocess.run([sys.executable, "train.py", *words], cwd=tmp_path, check=True)
        words += ["--resume", "runs/plain/last.pt"]

    assert dies_at(tmp_path, text, *words) == line


@pytest.mark.slow
def test_safetensors_that_refuse_tied_weights_are_told_at_the_line_that_saves(
    tmp_path: Path,
) -> None:
    imported = "import save_model", "import save_file"
    called = "save_model(model,", "save_file(model.state_dict(),"
    text = write(tmp_path, "tied_safetensors.py", imported, called)

    report = rehearse(tmp_path)

    line = 'save_file(model.state_dict(), f"weights/epoch-{epoch}.safetensors")'
    assert told(report, text) == [("script-save", line)]


@pytest.mark.slow
def test_a_script_that_does_not_read_its_command_line_is_not_resumed(tmp_path: Path) -> None:
    """As notebooks do: to be started with its option for a resume leaves all as it was."""
    write(tmp_path, "plain_resume.py", (".parse_args()", '.parse_args(["--lr", "0.1"])'))

    report = rehearse(tmp_path)

    assert (report.verdict, report.findings) == ("go", ())
    assert "does not read --resume from its command line" in " ".join(render(report).split())


@pytest.mark.slow
def test_writes_are_real_where_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py")

    report = rehearse(tmp_path, allow_writes=True)

    assert report.verdict == "go"
    assert (tmp_path / "runs" / "plain" / "last.pt").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--resume {checkpoint}", ""),
        ("--restore {checkpoint}", "its arguments do not take --restore runs/plain/last.pt"),
    ],
)
def test_a_resume_that_is_asked_for_and_cannot_be_made_is_no_go(
    tmp_path: Path, words: str, why: str
) -> None:
    write(tmp_path, "plain_resume.py")

    report = rehearse(tmp_path, resume_with=words)

    (outcome,) = (one for one in report.checks if one.id == "script-resume")
    assert report.verdict == ("cannot-judge" if why else "go")
    assert [one.error.rpartition(": ")[2] for one in outcome.broken] == ([why] if why else [])


OF_TWO = """
        torch.save(optimizer.state_dict(), os.path.join(args.output, "optim.pt"))
        print("""

TAKES: dict[str, tuple[str, tuple[Change, ...]]] = {
    # It saves one file there, which is what was guessed from.
    "its folder": (
        "resumed with --resume runs/plain: 2 steps",
        (("load(args.resume)", "load(f'{args.resume}{os.sep}last.pt')"),),
    ),
    "the folder of all runs": (
        "resumed with --resume runs: 2 steps",
        (
            ("import json\n", "import json, pathlib\n"),
            ("load(args.resume)", "load(max(pathlib.Path(args.resume).glob('*/last.pt')))"),
        ),
    ),
    "what its name begins with": (
        "resume not rehearsed: --resume runs/plain/last.pt is not what it takes",
        (("load(args.resume)", "load(f'{args.resume}.rank0')"),),
    ),
    "a file of two": (
        "resumed with --resume runs/plain/last.pt: 2 steps",
        (
            UNSAVED,
            ("        print(", OF_TWO.lstrip("\n")),
            ('["optimizer"]', '["model"] and torch.load(args.resume.replace("last", "optim"))'),
        ),
    ),
}


@pytest.mark.parametrize("typed", [None, "--resume {checkpoint}"])
@pytest.mark.parametrize("name", TAKES)
def test_a_script_that_takes_another_path_than_that_of_its_checkpoint_is_go(
    name: str, typed: str | None, tmp_path: Path
) -> None:
    """It is started with a folder above it, or a file in it, as it takes; else that is said."""
    resumed, changes = TAKES[name]
    write(tmp_path, "plain_resume.py", *changes)

    report = rehearse(tmp_path, resume_with=typed)

    is_open = typed is not None and "not rehearsed" in resumed
    assert (report.verdict, report.findings) == ("cannot-judge" if is_open else "go", ())
    resumed = resumed.removeprefix("resume not rehearsed: ")
    assert resumed in " ".join(render(report, verbose=1).split())


def test_more_batches_help_a_script_that_needs_them(tmp_path: Path) -> None:
    """They are given once, and the page says so."""
    write(
        tmp_path,
        "plain_resume.py",
        (
            "    return sum(right)",
            "    held = sum(right[:4]) / right[3]\n    return held + sum(right)",
        ),
        ("batch_size=64", "batch_size=32"),
    )
    few = rehearse(tmp_path)
    assert few.verdict == "go"
    assert "its second run, with" in " ".join(render(few, verbose=1).split())

    assert rehearse(tmp_path, batches=20).verdict == "go"


BY_EPOCH = (
    ("import json\n", "import glob\nimport json\n"),
    ('"--resume", help="path of', '"--resume", action="store_true", help="of'),
    (
        "load(args.resume)",
        'load(max(glob.glob(os.path.join(args.output, "epoch-*.pt")), key=os.path.getmtime))',
    ),
    ('os.path.join(args.output, "last.pt"))', 'os.path.join(args.output, f"epoch-{epoch}.pt"))'),
    ("default=20", "default=2"),
)
NAMED = (
    *BY_EPOCH[1:2],
    ("load(args.resume)", 'load(open(os.path.join(args.output, "newest")).read())'),
    *BY_EPOCH[3:],
    (
        "        print(",
        """\
        with open(os.path.join(args.output, "newest"), "w") as newest:
            newest.write(os.path.join(args.output, f"epoch-{epoch}.pt"))
        print(""",
    ),
)
# Where ours is the last epoch, and the job's is not.
EACH_SECOND = (
    ("--epochs", "--num_train_epochs"),
    ("args.epochs", "args.num_train_epochs"),
    ("        state = {", "        if epoch % 2 == 0:\n            continue\n        state = {"),
)


@pytest.mark.parametrize("mended", [True, False], ids=["sound", "without its optimizer"])
@pytest.mark.parametrize("changes", [BY_EPOCH, NAMED, EACH_SECOND], ids=["by", "named", "second"])
def test_a_script_goes_on_where_it_would_after_a_crash_behind_its_first_save(
    tmp_path: Path, changes: tuple[Change, ...], *, mended: bool
) -> None:
    """It looks for its newest checkpoint itself, or saves at the last of our epochs."""
    text = write(tmp_path, "plain_resume.py", *changes, *(() if mended else (UNLOADED,)))

    report = rehearse(tmp_path)

    assert "resumed with --resume" in " ".join(render(report, verbose=1).split())
    line = "optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)"
    assert told(report, text)[:1] == ([] if mended else [("script-resume", line)])
    assert report.verdict == ("go" if mended else "no-go")


def test_a_resume_that_is_given_as_none_is_rehearsed(tmp_path: Path) -> None:
    heeds = ("    if args.resume:\n", '    if args.resume not in (None, "none"):\n')
    text = write(tmp_path, "plain_resume.py", heeds, UNLOADED)
    report = rehearse(tmp_path, "--resume", "none")
    first = subprocess.run(
        [sys.executable, "train.py", "--resume", "none", "--epochs", "1"], cwd=tmp_path, check=False
    )

    assert first.returncode == 0
    assert {check for check, _ in told(report, text)} == {"script-resume"}
    assert "with --resume runs/plain/last.pt" in report.findings[0].message


BY_HAND = (
    (
        "    return parser.parse_args()\n",
        """    args = parser.parse_args([])
    for word in sys.argv[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        if name not in vars(args):
            raise KeyError(f"Unknown option: --{name}")
        setattr(args, name, type(getattr(args, name))(value))
    return args
""",
    ),
    ("import os\n", "import os\nimport sys\n"),
)


def test_what_a_script_refuses_that_reads_its_arguments_by_hand_is_no_fault(tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py", *BY_HAND)
    report = rehearse(tmp_path, resume_with="--again={checkpoint}")
    (outcome,) = (one for one in report.checks if one.id == "script-resume")

    assert report.verdict == "cannot-judge"
    assert "its arguments do not take --again=runs/plain/last.pt" in outcome.broken[0].error
