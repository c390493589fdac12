"""The failures that preflight was founded on, met in a script: told as of the bare objects."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from tests.scripts.rehearsing import ROOT, dies_at, run_plainly
from tests.warming import start_copies

pytestmark = pytest.mark.slow

LINE = "import train, torch\nmodel = torch.nn.Linear(1, 1)\n"
GUARD = '\n\nif __name__ == "__main__":\n    main()\n'

SCRIPTS = {
    "loader_unpicklable": (
        f"{LINE}def main():\n    for number, text in train.make_loader():\n"
        f"        model(torch.tensor([float(number)])).sum().backward()\n{GUARD}"
    ),
    "model_uncopyable": (
        "import os, torch, train\nfrom torch import distributed\n"
        "store = 'file://' + os.path.abspath('store')\n"
        "distributed.init_process_group('gloo', store, rank=0, world_size=1)\n"
        "model = train.make_model()\nema = train.EMA(model)\n"
    ),
    "model_half_copied": (
        f"{LINE}import copy\ndecoder = train.make_model()\nema = copy.deepcopy(decoder)\n"
        "loader = torch.utils.data.DataLoader(torch.ones(4, 1))\n"
        "for batch in loader:\n    model(batch).sum().backward()\n"
    ),
    "loader_contract": "import train, torch\ntrain.train(torch.nn.Linear(3, 1))\n",
    "loader_starved": (
        f"{LINE}for batch in train.make_loader():\n    model(torch.ones(1)).sum().backward()\n"
    ),
    "cache_incomplete": (
        "import glob, hashlib, os\nnames = sorted(glob.glob('photos/*.png'))\n"
        "keys = [hashlib.md5(one.encode()).hexdigest() for one in names]\n"
        "print(sum(os.path.exists(f'cache/vae/{one}.npy') for one in keys), 'of', len(keys))\n"
    ),
    "cache_damaged": (
        "import glob, torch\nmodel = torch.nn.Linear(4, 1)\n"
        "for name in sorted(glob.glob('cache/text/*.pt')):\n"
        "    model(torch.load(name)['prompt_embeds'][:, :4]).sum().backward()\n"
    ),
}


def made(folder: Path, case: str, *, mended: bool = False) -> list[str]:
    """Build a case, with a script beside it that trains on it; give the words of the case."""
    path = ROOT / "fixtures" / case / "make.py"
    spec = importlib.util.spec_from_file_location(f"{case}_made", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    words: list[str] = module.make(folder, mended=mended)
    (folder / "run.py").write_text(SCRIPTS[case], encoding="utf-8")
    return words


def told(report: Report, check: str) -> list[tuple[str, str, str]]:
    """Each finding of a check: its place, and what is said of it."""
    return [
        (str(one.at), one.severity.name, one.message)
        for one in report.findings
        if one.check == check
    ]


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start_copies(monkeypatch)


@pytest.mark.parametrize(
    ("case", "check"),
    [
        ("loader_unpicklable", "loader-unpicklable"),
        ("model_uncopyable", "model-uncopyable"),
        ("model_half_copied", "model-half-copied"),
    ],
)
def test_objects_that_a_script_meets_are_told_as_the_bare_ones(
    tmp_path: Path, case: str, check: str
) -> None:
    """Lambdas in a loader for spawned workers, a model with its group, one that is half copied."""
    words = made(tmp_path, case)
    bare = preflight.run(*words, folder=str(tmp_path), select=[check])
    seen = preflight.run("run.py", folder=str(tmp_path), select=[check, "script-"])

    assert told(bare, check)
    assert told(seen, check) == told(bare, check)
    assert [one.check for one in seen.findings if one.check != check] == []


def test_a_cache_that_is_named_is_told_beside_the_script_that_dies_of_it(tmp_path: Path) -> None:
    words = made(tmp_path, "cache_damaged")
    bare = preflight.run(*words, folder=str(tmp_path), select=["cache-damaged"])
    select = ["cache-damaged", "script-stopped"]
    seen = preflight.run(*words, "run.py", folder=str(tmp_path), select=select)
    (stopped,) = told(seen, "script-stopped")

    assert told(seen, "cache-damaged") == told(bare, "cache-damaged")
    line = dies_at(run_plainly(tmp_path / "run.py"), tmp_path / "run.py")
    assert stopped[0] == f"run.py:{line}"


def test_a_batch_that_is_not_what_the_loop_expects_is_told_where_it_dies(tmp_path: Path) -> None:
    made(tmp_path, "loader_contract")
    seen = preflight.run("run.py", folder=str(tmp_path), select=["script-stopped"])
    (stopped,) = told(seen, "script-stopped")

    plain = run_plainly(tmp_path / "run.py")
    assert stopped[0] == f"train.py:{dies_at(plain, tmp_path / 'train.py')}"


def test_a_stream_whose_handler_swallows_all_is_told_with_the_same_counts(tmp_path: Path) -> None:
    """And where it has no end, as soon as no batch comes for long, whatever its handler prints."""
    made(tmp_path, "loader_starved")
    train = tmp_path / "train.py"
    text = train.read_text("utf-8").replace('["caption"]', '["title"]')
    train.write_text(text.replace("warn_and_continue", "ignore_and_continue"), encoding="utf-8")
    options = {"folder": str(tmp_path), "select": ["loader-starved"]}
    bare = preflight.run("train:make_loader", **options)  # type: ignore[arg-type]
    seen = preflight.run("run.py", **options)  # type: ignore[arg-type]

    (_, _, said), (_, _, of_script) = *told(bare, "loader-starved"), *told(seen, "loader-starved")
    assert said == of_script
    assert said.startswith("0 of 60 samples come out; 60 are dropped by ignore_and_continue")
    assert [one.at.line for one in bare.findings] == [one.at.line for one in seen.findings]

    train.write_text(
        "import time\n\ndef says(error):\n    time.sleep(0.01)\n    print(error)\n    return True\n"
        + text.replace("shardshuffle=", "resampled=True, shardshuffle=").replace(
            "wds.warn_and_continue", "says"
        ),
        encoding="utf-8",
    )
    select = ["loader-starved", "script-"]
    endless = preflight.run("run.py", folder=str(tmp_path), select=select, timeout=2)
    assert [(one.check, one.at.line) for one in endless.findings] == [("loader-starved", 16)]
    assert endless.verdict == "no-go"


@pytest.mark.parametrize("mended", [False, True])
def test_a_cache_that_does_not_lead_back_is_told_beside_a_script(
    tmp_path: Path, *, mended: bool
) -> None:
    """What words name is what the settings say of it: the data that a cache was made of, too."""
    made(tmp_path, "cache_incomplete", mended=mended)
    bare = preflight.run(folder=str(tmp_path), select=["cache-"])
    words = ("photos", "data=photos/", "cache/vae", "cache=cache/vae/")
    for data, cache in (words[::2], words[1::2]):
        select = ["cache-", "script-stopped"]
        seen = preflight.run(data, cache, "run.py", folder=str(tmp_path), select=select)
        assert told(seen, "cache-incomplete") == told(bare, "cache-incomplete")
        assert "cache against data" not in seen.not_judged
    assert bool(bare.findings) is not mended
    if not mended:
        assert run_plainly(tmp_path / "run.py").stdout == "0 of 12\n"
