"""A verdict says what it covers, a GO is earned, and what is typed to look at the rest works."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import preflight
from preflight.findings.gate import exit_code
from preflight.findings.parts import Covered
from preflight.findings.report import Report
from preflight.render import renderer, terminal
from preflight.scaffold.settings import write
from tests.archives import tarred
from tests.files import WHOLE, put
from tests.session.test_key_lists import PARTS

pytestmark = pytest.mark.usefixtures("at_hand")

TRAIN = b"""
import torch
from torch.utils.data import DataLoader


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)


def make_loader():
    return DataLoader([1.0, 2.0])


def make_model():
    return Net()


if __name__ == "__main__":
    for _ in make_loader():
        pass
"""


def shards(folder: Path, number: int = 4, samples: int = 3) -> None:
    for shard in range(number):
        stems = [f"{shard:03}-{one:05}" for one in range(samples)]
        members = [(f"{stem}{end}", what) for stem in stems for end, what in PARTS]
        put(folder, f"{shard:03}.tar", content=tarred(members))


def run(folder: Path, *words: str, **flags: object) -> Report:
    return preflight.run(*words, folder=str(folder), no_ledger=True, **flags)


def part(report: Report, name: str) -> Covered:
    (one,) = [one for one in report.coverage if one.part == name]
    return one


def first_line(report: Report) -> str:
    return terminal.render(report, quiet=True).rstrip("\n")


# --- what is not to be held against a job ---------------------------------------------------------


def test_a_go_says_in_its_first_line_what_it_covers(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    put(tmp_path / "cache", "a.safetensors", "b.safetensors", content=WHOLE)
    put(tmp_path / "more", "a.safetensors", content=WHOLE)

    report = run(tmp_path, "data", "cache", "more")

    said = "GO  for 4 shards (12 samples) and 2 caches. Not looked at: loader, model."
    assert first_line(report) == said
    page = " ".join(terminal.render(report).split())
    assert page.startswith(" ".join(said.split()))
    assert renderer("markdown")(report).startswith("## GO: for 4 shards (12 samples) and 2 caches.")
    assert (report.verdict, report.complete) == ("go", True)


def test_each_part_has_its_state_and_its_counts(tmp_path: Path) -> None:
    shards(tmp_path / "data")

    report = run(tmp_path, "data")

    assert [one.part for one in report.coverage] == [
        *("data", "cache", "checkpoint", "loader", "model", "source", "script")
    ]
    data = part(report, "data")
    assert (data.state, data.looked_at, data.of, data.unread) == ("whole", 4, 4, {})
    assert {one.state for one in report.coverage[1:]} == {"not-named"}


def test_coverage_goes_to_json_and_back(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    report = run(tmp_path, "data")

    plain = json.loads(report.to_json())

    assert plain["coverage"][0] == {
        "part": "data",
        "state": "whole",
        "looked_at": 4,
        "of": 4,
        "seen": "4 shards (12 samples)",
        "unread": {},
        "unread_bytes": 0,
        "if_named": {},
        "if_named_by": None,
        "hint": None,
        "hint_at": None,
    }
    assert Report.from_json(report.to_json()).coverage == report.coverage


def test_a_report_without_coverage_is_still_read_and_drawn(tmp_path: Path) -> None:
    """As versions before have left them."""
    shards(tmp_path / "data")
    plain = json.loads(run(tmp_path, "data").to_json())
    del plain["coverage"], plain["interrupted"]

    assert first_line(Report.from_json(json.dumps(plain))).startswith("GO  Nothing found")


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("source=train.py",), {}),
        (("source=.",), {}),
        ((), {"select": ("env-launch",)}),
    ],
    ids=["a source that was named", "all sources", "selected checks"],
)
def test_what_was_asked_for_and_looked_at_is_enough(
    tmp_path: Path, words: tuple[str, ...], flags: dict[str, object]
) -> None:
    put(tmp_path, "train.py", content=TRAIN)

    assert run(tmp_path, *words, **flags).verdict == "go"


@pytest.mark.parametrize(
    ("look", "data"),
    [
        ({"sample": "1"}, "1 of 4 shards (3 samples)"),
        ({"depth": "index"}, "4 shards (12 samples)"),
    ],
    ids=["sample", "depth"],
)
def test_what_was_left_out_is_told_and_stays_a_go(
    tmp_path: Path, look: dict[str, object], data: str
) -> None:
    """Somebody wanted it so: the exit code is that of a GO, and not of an interrupt."""
    shards(tmp_path / "data")
    put(tmp_path / "cache", "a.safetensors", content=WHOLE)

    report = run(tmp_path, "data", "cache", **look)

    assert (report.complete, report.interrupted) == (False, False)
    assert exit_code(report) == 0
    assert data in first_line(report)
    assert "(incomplete)" not in first_line(report)


def test_images_outside_a_sample_are_counted_in_the_first_line(tmp_path: Path) -> None:
    for number in range(8):
        put(tmp_path / "photos", f"{number}.png", content=PARTS[0][1])

    report = run(tmp_path, "photos", sample="25%")

    assert part(report, "data").state == "part"
    assert "for 2 of 8 images" in first_line(report)


def test_each_word_has_its_share_of_a_sample_as_the_first_line_has_it(tmp_path: Path) -> None:
    """Also where all that is left out of one word was looked at for another."""
    for number in range(8):
        put(tmp_path / "photos", f"{number}.png", content=PARTS[0][1])
    shards(tmp_path / "data")

    report = run(tmp_path, "photos", "data", "data/000.tar", "data/001.tar", sample="25%")

    assert "for 2 of 8 images and " in first_line(report)
    said = {one.word: one.text.split(",")[0] for one in report.targets}
    assert said["photos"] == "2 of 8 images"
    of_words = (said[one] for one in ("data/000.tar", "data/001.tar"))
    assert set(of_words) == {"1 shard"}
    assert said["data"].endswith("of 4 shards")
    assert f"and {said['data']} (" in first_line(report)


# --- what is no GO --------------------------------------------------------------------------------


def test_a_bare_run_that_found_sources_alone_cannot_judge(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "notes.py", content=b"x = 1\n")

    report = run(tmp_path)

    said = "CANNOT JUDGE  Nothing of this job was looked at but 2 source files."
    assert (report.verdict, exit_code(report)) == ("cannot-judge", 3)
    assert first_line(report) == said
    page = terminal.render(report)
    assert "preflight run train:make_loader" in page
    assert len([line for line in page.splitlines() if line.strip()]) <= 7


def test_settings_that_name_nothing_but_the_launch_cannot_judge(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "preflight.toml", content=b"[launch]\nworld_size = 2\n")

    assert run(tmp_path).verdict == "cannot-judge"


def test_sources_without_anything_to_name_say_where_the_words_are(tmp_path: Path) -> None:
    put(tmp_path, "notes.py", content=b"x = 1\n")

    assert "preflight run --help" in terminal.render(run(tmp_path))


def test_a_comparison_that_was_asked_for_and_not_made_cannot_be_judged(tmp_path: Path) -> None:
    """Keys of which nobody knows the rule lead to no sample."""
    shards(tmp_path / "data")
    names = [f"{number:05}-x{number * 7919:06}.safetensors" for number in range(12)]
    put(tmp_path / "cache", *names, content=WHOLE)
    text = '[[data]]\nname = "d"\nshards = "data/{000..003}.tar"\n[[cache]]\npath = "cache"\n'
    put(tmp_path, "preflight.toml", content=text.encode())

    assert run(tmp_path).verdict == "go"

    put(tmp_path, "preflight.toml", content=f'{text}of = ["d"]\n'.encode())
    report = run(tmp_path)

    assert report.verdict == "cannot-judge"
    assert any("no rule leads from most samples" in reason for reason in report.reasons)
    page = " ".join(terminal.render(report).split())
    assert "no rule leads from most samples to an entry" in page
    assert run(tmp_path, may_skip=("cache-incomplete",)).verdict == "go"


def test_a_sample_that_leaves_no_comparison_is_no_comparison_that_failed(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    stems = [f"{shard:03}-{one:05}.safetensors" for shard in range(4) for one in range(3)]
    put(tmp_path / "cache", *stems, content=WHOLE)
    text = '[[data]]\nname = "d"\nshards = "data/{000..003}.tar"\n[[cache]]\npath = "cache"\n'
    put(tmp_path, "preflight.toml", content=f'{text}of = ["d"]\nkey = "stem"\n'.encode())

    report = run(tmp_path, sample="2")

    assert (report.verdict, report.complete) == ("go", False)
    assert "2 of 4 shards" in first_line(report)


def test_a_budget_in_which_nothing_was_looked_at_is_no_go(tmp_path: Path) -> None:
    shards(tmp_path / "data")

    report = run(tmp_path, "data", budget=0.0)

    assert (report.verdict, report.complete) == ("cannot-judge", False)
    page = terminal.render(report)
    assert "4 shards were not looked at: the budget of 0 s was used up." in page
    assert "none found" not in page


# --- what no reader reads -------------------------------------------------------------------------


def test_files_that_no_reader_reads_are_counted_in_the_first_line(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    put(tmp_path / "data", *(f"{one}.jsonl" for one in range(12)), content=b"{}\n" * 500_000)
    put(tmp_path / "data", *(f"{one}.bin" for one in range(3)), content=b"\x01\x02\x03" * 999)

    report = run(tmp_path, "data")

    assert first_line(report) == (
        "GO  for 4 shards (12 samples). Not looked at: cache, loader, model; "
        "12 .jsonl and 3 .bin files that no reader reads."
    )
    data = part(report, "data")
    assert (data.state, dict(data.unread)) == ("part", {".jsonl": 12, ".bin": 3})
    assert data.unread_bytes == 12 * 1_500_000 + 3 * 2_997
    page = " ".join(terminal.render(report).split())
    assert "Not read 12 .jsonl and 3 .bin files (18.0 MB) are not read by this version." in page
    markdown = renderer("markdown")(report).replace("`", "")
    assert "- Not read: 12 .jsonl and 3 .bin files" in markdown


def test_a_folder_of_nothing_but_sources_and_unread_data_is_no_go(tmp_path: Path) -> None:
    """Named as a word, or lying around."""
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "data/train.bin", content=b"\x01\x02\x03" * 999)

    for words in ((), (".",)):
        report = run(tmp_path, *words)

        assert report.verdict == "cannot-judge"
        assert first_line(report).endswith("looked at but 1 source file.")
        assert "none found: 1 .bin file (3.0 kB) is not read" in terminal.render(report)


# --- hints ----------------------------------------------------------------------------------------


def test_a_hint_is_a_command_that_works_when_typed(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=TRAIN)
    report = run(tmp_path)

    hints = {one.part: one.hint for one in report.coverage if one.hint}

    assert hints == {
        "loader": "preflight run train:make_loader",
        "model": "preflight run train:make_model",
        "script": "preflight run train.py",
    }
    for name, hint in hints.items():
        program, command, *words = shlex.split(hint)
        assert (program, command) == ("preflight", "run")
        again = run(tmp_path, *words)
        # The script neither evaluates nor saves, which is said.
        state = "part" if name == "script" else "whole"
        assert (again.verdict, part(again, name).state) == ("go", state)


def test_sources_beside_named_data_are_offered(tmp_path: Path) -> None:
    """Of the current folder, its own files alone: nobody waits for a tree to be read."""
    shards(tmp_path / "data")
    put(tmp_path, "train.py", content=TRAIN)
    put(tmp_path, "far/away/other.py", content=TRAIN)

    report = run(tmp_path, "data")

    assert part(report, "loader").hint == "preflight run train:make_loader"
    assert part(report, "source").hint == "preflight run source=train.py"
    assert run(tmp_path, "source=train.py").verdict == "go"
    assert part(run(tmp_path / "data", "000.tar"), "loader").hint is None


def test_what_is_called_as_a_factory_is_offered_of_a_large_tree(tmp_path: Path) -> None:
    """However many files with classes of models come before it by their names."""
    block = b"import torch.nn as nn\nclass Block(nn.Module):\n    pass\n" + b"# much more\n" * 2_000
    put(tmp_path, *(f"pkg/a_model_{number}.py" for number in range(12)), content=block)
    put(tmp_path, "pkg/z.py", content=TRAIN)

    report = run(tmp_path)

    assert part(report, "model").hint == "preflight run pkg.z:make_model"


@pytest.mark.parametrize("other", ["engine_finetune.py", "a_main.py", "finetune_net.py"])
def test_the_script_that_is_offered_is_one_that_starts_something(
    tmp_path: Path, other: str
) -> None:
    """And of several, one whose name begins with what it does."""
    shards(tmp_path / "data")
    start = b"if __name__ == '__main__':\n    f()\n" if other == "a_main.py" else b""
    put(tmp_path, other, content=b"def f():\n    pass\n" + start)
    put(tmp_path, "train_net.py", content=TRAIN)

    assert part(run(tmp_path, "data"), "source").hint == "preflight run source=train_net.py"


def test_what_is_named_needs_no_hint(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=TRAIN)

    report = run(tmp_path, "train:make_loader")

    assert part(report, "loader").hint is None
    assert part(report, "model").hint == "preflight run train:make_model"
    seen = "1 loader (2 samples in 2 batches, past the end)"
    assert first_line(report) == f"GO  for {seen}. Not looked at: data, cache, model."


def test_what_no_reader_reads_in_a_cache_or_checkpoint_is_told_there(tmp_path: Path) -> None:
    put(tmp_path / "cache", "a.safetensors", content=WHOLE)
    put(tmp_path / "cache", "b.arrow", "c.arrow", content=bytes(2_000))
    put(tmp_path / "out/checkpoint-5", "model.safetensors", content=WHOLE)
    put(tmp_path / "out/checkpoint-5", "weights.gguf", content=b"GGUF" + bytes(96))
    put(tmp_path / "data", "rows.jsonl", content=b"{}\n" * 500_000)

    report = run(tmp_path)

    unread = {one.part: dict(one.unread) for one in report.coverage if one.unread}
    assert unread == {
        "data": {".jsonl": 1},
        "cache": {".arrow": 2},
        "checkpoint": {".gguf": 1},
    }
    assert (part(report, "data").state, part(report, "cache").state) == ("unread", "part")
    page = " ".join(terminal.render(report).split())
    assert "1 .jsonl file (1.5 MB)" in page
    assert "2 .arrow files (4.0 kB) among the cache files" in page
    assert "1 .gguf file (100 bytes) among the checkpoint files" in page


def test_what_lies_below_loose_weights_is_no_part_of_them(tmp_path: Path) -> None:
    """Nor is what lies beside images or shards, with whatever was cached there."""
    put(tmp_path, "last.safetensors", content=WHOLE)
    put(tmp_path, "tokens/train.bin", content=b"\x01\x02\x03" * 999)
    put(tmp_path, "photos/a.png", content=PARTS[0][1])
    put(tmp_path, "photos/a.npz", "photos/b.arrow", content=WHOLE)

    report = run(tmp_path)

    assert dict(part(report, "data").unread) == {".bin": 1, ".arrow": 1}
    assert not part(report, "cache").unread
    assert not part(report, "checkpoint").unread


BATCHES = b"""
import torch


def get_batch(split):
    return torch.ones(2), torch.ones(2)
"""


def test_a_bare_run_says_where_batches_are_made_and_what_they_need(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=BATCHES)
    put(tmp_path, "data/train.bin", content=b"\x01\x02\x03" * 999)

    report = run(tmp_path)

    assert part(report, "loader").hint == "preflight init"
    said = part(report, "loader").hint_at
    assert said == "train.py:5 makes batches, by its name, and needs split"
    page = terminal.render(report)
    assert all(len(line) <= 80 for line in page.splitlines())
    assert said in " ".join(page.split())
    assert len([line for line in page.splitlines() if line.strip()]) <= 7


@pytest.mark.parametrize(
    ("given", "command", "needs"),
    [("", "run models.detector:Detector", ""), (", config", "init", ", and needs config")],
)
def test_a_model_is_offered_from_where_models_lie(
    tmp_path: Path, given: str, command: str, needs: str
) -> None:
    """What stands at the top may be no more than the wrapper of an export."""
    model = (
        "import torch\n\n\nclass {0}(torch.nn.Module):\n    def __init__(self{1}):\n        pass\n"
    )
    put(tmp_path, "export.py", content=model.format("iOSModel", given).encode())
    put(tmp_path, "models/detector.py", content=model.format("Detector", given).encode())
    shards(tmp_path / "data")

    model_part = part(run(tmp_path, "data", "source=."), "model")

    assert model_part.hint == f"preflight {command}"
    assert model_part.hint_at == f"models/detector.py:4 is a model{needs}"


@pytest.mark.parametrize(
    ("script", "line"),
    [("", None), ("Second", 9), ("Model", 4)],
    ids=["of several that nothing starts", "the one that a script makes", "by its second name"],
)
def test_of_several_models_the_one_that_trains_is_offered(
    tmp_path: Path, script: str, line: int | None
) -> None:
    model = "class {0}(torch.nn.Module):\n    def __init__(self, size):\n        pass\n\n\n"
    both = "import torch\n\n\n" + model.format("First") + model.format("Second")
    put(tmp_path, "net.py", content=f"{both}Model = First\n".encode())
    if script:
        lines = f"from net import {script}\nmodel = {script}(3)\nDataLoader(model)\n"
        put(tmp_path, "train.py", content=lines.encode())
    shards(tmp_path / "data")

    said = part(run(tmp_path, "data", "source=."), "model")

    assert said.hint == ("preflight run train.py" if line else None)
    assert said.hint_at == (f"net.py:{line} is a model, and needs size" if line else None)


NEEDY = b"""
import argparse

import torch
from torch.utils.data import DataLoader


def make_loader(size):
    return DataLoader([1.0] * size)


def make_model(config):
    return torch.nn.Linear(2, 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int%s)
    for _ in make_loader(parser.parse_args().size):
        pass
"""


def test_what_needs_arguments_is_offered_by_the_script_that_has_them(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=NEEDY % b", default=2")
    report = run(tmp_path)

    hints = {one.part: one.hint for one in report.coverage if one.hint}

    assert hints == dict.fromkeys(("loader", "model", "script"), "preflight run train.py")
    assert part(report, "loader").hint_at == "train.py:8 makes a DataLoader, and needs size"
    page = terminal.render(report)
    assert page.count("preflight run train.py") == 1
    again = run(tmp_path, "train.py")
    assert (again.verdict, part(again, "loader").state) == ("go", "whole")
    assert part(again, "model").hint is None


def test_no_other_script_is_offered_for_what_the_script_that_was_run_makes(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=NEEDY % b", default=2")
    put(tmp_path, "train_late.py", content=NEEDY % b", default=2")

    report = run(tmp_path, "train_late.py")

    assert part(report, "model").state == "not-named"
    assert {one.part: one.hint for one in report.coverage if one.hint} == {}


def test_a_script_that_does_not_speak_of_it_is_no_way_to_have_it_made(tmp_path: Path) -> None:
    put(tmp_path, "run.py", content=b"if __name__ == '__main__':\n    print(1)\n")
    put(tmp_path, "batches.py", content=BATCHES)

    hints = {one.part: one.hint for one in run(tmp_path).coverage if one.hint}

    assert hints == {"loader": "preflight init", "script": "preflight run run.py"}


def test_a_script_that_needs_arguments_itself_is_offered_with_what_it_needs(tmp_path: Path) -> None:
    put(tmp_path, "train.py", content=NEEDY % b", required=True")
    script = part(run(tmp_path), "script")

    assert script.hint == "preflight run train.py …"
    assert script.hint_at == "runs it in short, and needs --size"
    assert part(run(tmp_path, "train.py", "--size", "2"), "model").hint is None


def test_what_is_to_be_filled_in_is_written_down(tmp_path: Path) -> None:
    """As the hint has it, which is none where settings are there already."""
    put(tmp_path, "batches.py", content=BATCHES)
    put(tmp_path, "data/train.bin", content=b"\x01\x02\x03" * 999)
    assert part(run(tmp_path), "loader").hint == "preflight init"

    write(str(tmp_path), force=False)

    settings = tmp_path.joinpath("preflight.toml").read_text(encoding="utf-8")
    assert "# kwargs.split = ..." in settings
    assert part(run(tmp_path), "loader").hint is None
    lines = settings.replace("# [[loader]]", "[[loader]]").replace("# call", "call")
    lines = lines.replace("# kwargs.split = ...", 'kwargs.split = "train"')
    tmp_path.joinpath("preflight.toml").write_text(lines, encoding="utf-8")
    assert part(run(tmp_path), "loader").state == "whole"


PIPELINE = b"""
import webdataset as wds

wds.WebDataset("data/{000..003}.tar").to_tuple("png", "txt")
"""


def test_what_a_source_seems_to_read_is_no_loader_that_was_looked_at(tmp_path: Path) -> None:
    shards(tmp_path / "data")
    put(tmp_path, "train.py", content=PIPELINE)

    report = run(tmp_path, "source=train.py", "data")

    assert first_line(report) == (
        "GO  for 4 shards (12 samples) and 1 source file. Not looked at: cache, loader, model."
    )
    assert part(report, "loader").state == "not-named"


def test_data_beside_a_loader_that_does_not_read_it_is_looked_at_for_itself(
    tmp_path: Path,
) -> None:
    shards(tmp_path / "data")
    put(tmp_path, "train.py", content=TRAIN)

    assert first_line(run(tmp_path, "data", "train:make_loader")) == (
        "GO  for 4 shards (12 samples) and 1 loader (2 samples in 2 batches, past the end). "
        "Not looked at: cache, model."
    )
    (tmp_path / "data" / "001.tar").write_bytes(b"Rar!")
    assert run(tmp_path, "data", "train:make_loader").verdict == "no-go"
