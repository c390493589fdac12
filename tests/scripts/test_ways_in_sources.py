"""A script that declares no option to resume is started by what its sources read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from preflight.render.terminal import render
from tests.scripts.test_resume import UNLOADED, Change, rehearse, write
from tests.scripts.test_ways_to_resume import OPTION

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

LAST = "runs/plain/last.pt"


class Way(NamedTuple):
    """How a script asks from where it goes on."""

    asked: str
    """By its source."""

    said: str
    """By the page."""

    words: tuple[str, ...] = ()
    """What the plain script is given to go on."""

    variables: tuple[tuple[str, str], ...] = ()
    file: str = ""
    before: str = ""
    after: str = ""
    """What its configuration holds, and what somebody would write there."""

    loads: str = "resume"


BY_HAND = 'dict(one.split("=", 1) for one in sys.argv[1:])'
READS = 'import yaml\n    resume = yaml.safe_load(open("base.yaml"))["train"]["resume_from"]'

WAYS = {
    "an argument by its place": Way(
        "resume = sys.argv[1] if len(sys.argv) > 1 else None", LAST, (LAST,)
    ),
    "a word by its place": Way(
        'resume = len(sys.argv) > 1 and sys.argv[1] == "resume"',
        "resume",
        ("resume",),
        loads=f'"{LAST}"',
    ),
    "a key and its value": Way(
        f'resume = {BY_HAND}.get("resume")', f"resume={LAST}", (f"resume={LAST}",)
    ),
    "a key that is to be one word": Way(
        'init_from = "scratch"\n    for one in sys.argv[1:]:\n'
        '        assert one.startswith("--init_from")\n'
        '        init_from = one.split("=")[1]\n'
        '    resume = init_from == "resume"',
        "--init_from=resume",
        ("--init_from=resume",),
        loads=f'"{LAST}"',
    ),
    "a variable": Way(
        'resume = os.environ.get("RESUME")', f"RESUME={LAST}", variables=(("RESUME", LAST),)
    ),
    "a variable that is a switch": Way(
        'resume = int(os.getenv("AUTO_RESUME", "0"))',
        "AUTO_RESUME=1",
        variables=(("AUTO_RESUME", "1"),),
        loads=f'"{LAST}"',
    ),
    "a key of YAML": Way(
        READS,
        f"resume_from: {LAST} in base.yaml",
        file="base.yaml",
        before="train:\n  lr: 0.1\n  resume_from:  # a path\nname: x\n",
        after=f"train:\n  lr: 0.1\n  resume_from: {LAST}\nname: x\n",
    ),
    "a switch in JSON": Way(
        'resume = json.load(open("base.json"))["resume"]',
        "resume: true in base.json",
        file="base.json",
        before='{"resume": false, "lr": 0.1}',
        after='{"resume": true, "lr": 0.1}',
        loads=f'"{LAST}"',
    ),
}


def changes_of(way: Way) -> tuple[Change, ...]:
    return (
        (OPTION, ""),
        ("import json\n", "import json\nimport sys\n"),
        ("parser.parse_args()", "parser.parse_args([])"),
        ("    if args.resume:", f"    {way.asked}\n    if resume:"),
        ("torch.load(args.resume)", f"torch.load({way.loads})"),
    )


def plainly(folder: Path, *words: str, **variables: str) -> str:
    """Run it to its end, and give the first line that it prints."""
    done = subprocess.run(
        [sys.executable, "train.py", *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return (done.stdout.splitlines() or [""])[0].partition(":")[0]


@pytest.mark.parametrize("name", WAYS)
def test_what_a_source_reads_is_how_it_goes_on(name: str, tmp_path: Path) -> None:
    """So does the plain script, and without its optimizer it is told."""
    way = WAYS[name]
    if way.file:
        (tmp_path / way.file).write_text(way.before, encoding="utf-8")
    write(tmp_path, "plain_resume.py", *changes_of(way))
    whole = rehearse(tmp_path)
    write(tmp_path, "plain_resume.py", *changes_of(way), UNLOADED)
    without = rehearse(tmp_path)

    said = f"resumed with {way.said}: 2 steps"
    assert (whole.verdict, whole.findings) == ("go", ())
    assert said in " ".join(render(whole, verbose=1).split())
    assert {one.check for one in without.findings} == {"script-resume"}
    if way.file:
        assert (tmp_path / way.file).read_text(encoding="utf-8") == way.before

    write(tmp_path, "plain_resume.py", *changes_of(way), ("default=20", "default=1"))
    begun = plainly(tmp_path)
    write(tmp_path, "plain_resume.py", *changes_of(way), ("default=20", "default=2"))
    if way.file:
        (tmp_path / way.file).write_text(way.after, encoding="utf-8")
    gone_on = plainly(tmp_path, *way.words, **dict(way.variables))
    assert (begun, gone_on) == ("epoch 0", "epoch 1")


FIRST = WAYS["an argument by its place"]
TAKEN = changes_of(FIRST._replace(asked=FIRST.asked.replace("resume", "first"), loads="first"))


def test_weights_to_begin_with_are_no_resume_unless_that_is_said(tmp_path: Path) -> None:
    """What is loaded by an argument of another name may be those of somebody else."""
    named = tuple((old, new.replace("if resume:", "if first:")) for old, new in TAKEN)
    write(tmp_path, "plain_resume.py", *named)
    whole = rehearse(tmp_path)
    write(tmp_path, "plain_resume.py", *named, UNLOADED)
    start = rehearse(tmp_path)
    said = rehearse(tmp_path, resume_with="{checkpoint}")

    assert f"resumed with {LAST}: 2 steps" in " ".join(render(whole, verbose=1).split())
    assert [one.verdict for one in (whole, start, said)] == ["go", "go", "no-go"]
    assert "if it resumes by that: --resume-with '{checkpoint}'" in " ".join(
        render(start, verbose=1).split()
    )


CONSTANT = Way("resume = None", "")


def test_what_only_an_edit_changes_is_told_as_not_rehearsed(tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py", *changes_of(CONSTANT))

    said = " ".join(render(rehearse(tmp_path), verbose=1).split())

    assert "resume not rehearsed: it has no option for it" in said


WARM = (
    (OPTION, '    parser.add_argument("--warm")\n'),
    ("    if args.resume:", "    if args.warm:"),
    ("torch.load(args.resume)", "torch.load(args.warm)"),
)
WEIGHTS = ('        model.load_state_dict(checkpoint["model"])\n', "")


def test_an_option_of_any_name_resumes_where_an_optimizer_goes_on_by_it(tmp_path: Path) -> None:
    write(tmp_path, "plain_resume.py", *WARM)
    whole = rehearse(tmp_path)
    write(tmp_path, "plain_resume.py", *WARM, WEIGHTS)
    without_weights = rehearse(tmp_path)
    write(tmp_path, "plain_resume.py", *WARM, UNLOADED)
    start = rehearse(tmp_path)

    assert f"resumed with --warm {LAST}: 2 steps" in " ".join(render(whole, verbose=1).split())
    assert [one.verdict for one in (whole, without_weights, start)] == ["go", "no-go", "go"]
    assert "if it resumes by that: --resume-with '--warm {checkpoint}'" in " ".join(
        render(start, verbose=1).split()
    )
