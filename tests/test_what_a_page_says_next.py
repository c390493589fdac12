"""The commands that a page ends with are typed as they are printed, and do what they say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from preflight.command.cli import main
from tests.archives import tarred

pytestmark = pytest.mark.usefixtures("at_hand")


def typed(line: str, patch: pytest.MonkeyPatch, said: pytest.CaptureFixture[str]) -> str:
    """Do what a line says; give its exit code, and then what it prints."""
    patch.setattr("sys.argv", shlex.split(line))
    code = main()
    return f"{code}\n{said.readouterr().out}"


def test_each_command_that_a_page_prints_is_typed_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in "abc":
        content = tarred({f"{name}{one}.latent": b"\1" * 9000 for one in range(9)})
        (tmp_path / "data" / f"{name}.tar").write_bytes(content)
    damaged = tmp_path / "data" / "c.tar"
    damaged.write_bytes(damaged.read_bytes()[:50_000])

    def do(line: str) -> str:
        return typed(line, monkeypatch, capfd)

    page = do("preflight run data --elsewhere")
    explain, aside, report, again = re.findall(r"(?m)^(?:Next)? +(preflight .+?)(?:  |$)", page)
    assert (page[0], do(again)[0]) == ("1", "1")
    assert "What it finds" in do(explain)
    assert "data/c.tar" in do(report)

    (move,) = re.findall(r"preflight quarantine --\w+", do(aside))
    assert damaged.exists()
    (back,) = re.findall(r"preflight quarantine --\w+", do(move))
    assert not damaged.exists()
    assert do(again)[0] == "0"
    assert do(back)[0] == "0"
    assert damaged.exists()
    assert do(again)[0] == "1"
