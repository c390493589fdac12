"""Settings come from four places, each over the one before, and say where they came from."""

from __future__ import annotations

import dataclasses
import functools
import re
from pathlib import Path
from typing import Any

import pytest

from preflight.settings import job as jobs
from preflight.settings.job import Job
from preflight.settings.merge import make_job
from preflight.settings.options import OPTIONS
from preflight.settings.toml_file import SettingsError, line_numbers
from tests.conftest import ROOT, said_by


def made(folder: Path, text: str, **more: Any) -> Job:
    """Read settings with this text in preflight.toml."""
    (folder / "preflight.toml").write_text(text)
    return make_job(folder=str(folder), **{"environ": {}, **more})


def test_flags_lie_over_variables_over_the_file_over_defaults(tmp_path: Path) -> None:
    job = made(
        tmp_path,
        "[launch]\ngpus = 1\nnodes = 2\nworld_size = 3\n",
        environ={"PREFLIGHT_GPUS": "4", "PREFLIGHT_WORLD_SIZE": "5"},
        flags={"world-size": 6, "gpus": None},
    )

    assert (job.launch.nodes, job.launch.gpus, job.launch.world_size) == (2, 4, 6)
    assert job.origins["launch.nodes"] == "preflight.toml:3"
    assert job.origins["launch.gpus"] == "PREFLIGHT_GPUS"
    assert job.origins["launch.world_size"] == "--world-size"
    assert job.origin("launch.nodes") == ("preflight.toml", 3)
    assert job.origin("launch.gpus") == (None, None)


def test_the_nearest_file_upward_is_read_and_its_folder_is_the_jobs(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "preflight.toml").write_text('[job]\nname = "a"\n')
    below = tmp_path / "x" / "y"
    below.mkdir(parents=True)

    job = make_job(folder=str(below), environ={})

    assert job.root == str(tmp_path)
    assert job.name == "a"


def test_a_table_of_pyproject_is_the_same(tmp_path: Path) -> None:
    """With its own lines; one of another tool is passed over."""
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'x'\n\n[tool.preflight.launch]\ngpus = 2\n"
        "[[tool.preflight.data]]\npath = 'photos'\n"
    )

    job = make_job(folder=str(tmp_path), environ={})

    assert job.launch.gpus == 2
    assert job.origins["launch.gpus"] == "pyproject.toml:5"
    assert job.origins["data.0.path"] == "pyproject.toml:7"


def test_only_a_file_costs_pydantic(tmp_path: Path) -> None:
    code = (
        "from preflight.settings.merge import make_job\n"
        "make_job(folder='.', environ={}, flags={'gpus': 2})\n"
        "print('pydantic' in sys.modules)"
    )

    assert said_by(code, folder=tmp_path) == "False"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GPUS", "two"),
        ("VRAM", "80"),
        ("TIMEOUT", "nan"),
        ("JOBS", "-1"),
        ("BATCH_SIZE", "0"),
        ("ELSEWHERE", "perhaps"),
    ],
)
def test_a_variable_that_is_not_valid_is_told(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"PREFLIGHT_{variable}: "):
        make_job(folder=str(tmp_path), environ={f"PREFLIGHT_{variable}": value})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # By letters alone, `path` is as near to `batch`.
        ('[[data]]\npath = "x"\nbatch = 4', r"data\.0\.batch: .*; did you mean batch_size\?"),
        ('[[data]]\npath = "x"\nbatch_size = 0', r"toml:3: data\.0\.batch_size: 0 is less"),
        ("[launch]\nnodes = 0", r"toml:2: launch\.nodes: 0 is less than 1"),
        ("[look]\nbudget = -1", r"toml:2: look\.budget: '-1' is no number of seconds above 0"),
        (
            '[[data]]\nname = "photos"\npath = "p"\n\n[[cache]]\npath = "c"\nof = ["fotos"]',
            r"no \[\[data\]\] is called 'fotos'; known are p, ",
        ),
        (
            '[[cache]]\npath = "c"\nkey = "md5(captoin)"',
            r"toml:3: cache\.0\.key: 'md5\(captoin\)': at character 5 .* mean caption\?",
        ),
    ],
)
def test_what_means_nothing_in_a_file_is_told(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        made(tmp_path, text)


@pytest.mark.parametrize("day", ["2026-01-02", "'2026-01-02'", "2026-01-02T07:32:00Z"])
def test_a_day_is_taken_with_quotes_and_without(tmp_path: Path, day: str) -> None:
    job = made(tmp_path, f"[[ignore]]\ncheck = 'cache'\nreason = 'x'\nuntil = {day}\n")

    assert job.ignore[0].until == "2026-01-02"


@pytest.mark.parametrize("day", ["20990101", "'20990101'", "07:32:00", "true", "[2099]", "''"])
def test_what_is_no_day_is_told_with_one_that_is(tmp_path: Path, day: str) -> None:
    said = r"^preflight.toml:4: ignore\.0\.until: .* is no day; write one such as 2026-01-01$"
    with pytest.raises(SettingsError, match=said):
        made(tmp_path, f"[[ignore]]\ncheck = 'cache'\nreason = 'x'\nuntil = {day}\n")


@pytest.mark.parametrize("key", ["'auto'", "'stem'", "'{md5(caption)}-flux.pt'", "'train:key'"])
def test_a_rule_for_keys_that_means_something_is_taken(tmp_path: Path, key: str) -> None:
    job = made(tmp_path, f"[[cache]]\npath = 'c'\nkey = {key}\n")

    assert job.cache[0].key == key.strip("'")


def test_plug_ins_have_tables_of_their_own(tmp_path: Path) -> None:
    text = "[acme]\nlimit = 3\n"
    assert made(tmp_path, text, plugins=["acme"]).plugins == {"acme": {"limit": 3}}

    with pytest.raises(SettingsError, match="acme: unknown key"):
        made(tmp_path, text)


def test_lines_of_keys() -> None:
    text = "a = 1\n# b = 2\n[launch] # here\n'gpus' = 3\nx.y = 4\n\n[[data]]\npath = ''\n[[data]]\n"

    lines = line_numbers(text)

    assert lines["a"] == 1
    assert "b" not in lines
    assert lines["launch.gpus"] == 4
    assert lines["launch.x.y"] == 5
    assert (lines["data.0"], lines["data.0.path"], lines["data.1"]) == (7, 8, 9)


def test_every_option_has_its_setting() -> None:
    for row in OPTIONS:
        if row.key is not None:
            table, _, key = row.key.rpartition(".")
            holder = getattr(Job(), table) if table else Job()
            assert key in {field.name for field in dataclasses.fields(holder)}


@functools.cache
def attributes() -> set[tuple[str, str]]:
    """Give each attribute that our sources name, with what it is of."""
    paths = (*ROOT.glob("preflight/**/*.py"), *ROOT.glob("checks/*.py"))
    texts = (path.read_text(encoding="utf-8") for path in paths)
    return {pair for text in texts for pair in re.findall(r"\b(\w+)(?=\.(\w+))", text)}


@pytest.mark.parametrize("table", ["launch", "data", "cache", "loader", "model", "look"])
def test_what_is_said_to_be_read_is_read(table: str) -> None:
    """A setting that nothing uses is told as such with -v; one that something uses is not."""
    kinds = {
        "launch": jobs.Launch,
        "data": jobs.DataSettings,
        "cache": jobs.CacheSettings,
        "loader": jobs.Factory,
        "model": jobs.Factory,
        "look": jobs.Look,
    }
    word = {"loader": "factory", "model": "factory"}.get(table, table)
    for field in dataclasses.fields(kinds[table]):
        used = {(word, field.name), ("self", field.name)} & attributes()
        assert used or f"{table}.{field.name}" in jobs.UNREAD, field.name
