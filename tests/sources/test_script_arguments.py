"""What a script does not start without is read off its parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.sources.makers.script_arguments import needed_by
from tests.files import put

SAID = {
    "a place": ('p.add_argument("data", type=str)', ("data",)),
    "a place that may be left out": ('p.add_argument("data", nargs="?", default=".")', ()),
    "several, or none": ('p.add_argument("words", nargs="*")', ()),
    "the rest": ('p.add_argument("words", nargs=argparse.REMAINDER)', ()),
    "at least one": ('p.add_argument("words", nargs="+")', ("words",)),
    "a required option": ('p.add_argument("-d", "--data-dir", required=True)', ("--data-dir",)),
    "an option": ('p.add_argument("--lr", default=1.0)', ()),
    "an option that may be required": ('p.add_argument("--lr", required=not ARGS)', ()),
    "what others say of it": ('p.add_argument("data", **more)', ()),
    "click's": (
        '@click.option("--outdir", metavar="DIR", required=True)\ndef f(): ...',
        ("--outdir",),
    ),
    "click's own default": ('@click.option("--seed", type=int)\ndef f(): ...', ()),
    "a place of click's": ('@click.argument("data")\ndef f(): ...', ("data",)),
    "any number of click's": ('@click.argument("data", nargs=-1)\ndef f(): ...', ()),
    "another option": ('spark.option("key", "value")', ()),
    "no Python": ('p.add_argument("data"', ()),
}


@pytest.mark.parametrize(("line", "needs"), SAID.values(), ids=SAID)
def test_what_a_parser_asks_for_is_named(tmp_path: Path, line: str, needs: tuple[str, ...]) -> None:
    put(tmp_path, "train.py", content=f"import argparse\n\n{line}\n".encode())

    assert needed_by(str(tmp_path / "train.py")) == needs
