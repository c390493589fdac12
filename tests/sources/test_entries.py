"""Of several scripts in a folder, which one is started is a guess, and is told as one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Report
from preflight.sources.makers.offers import offers, scripts_in

pytestmark = pytest.mark.usefixtures("at_hand")

SCRIPT = """
import os
{imports}

def main():
    {body}


if __name__ == "__main__":
    main()
"""
READS = 'print(int(os.environ["SLURM_LOCALID"]))'


def script(folder: Path, name: str, body: str = "pass", imports: str = "") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(SCRIPT.format(body=body, imports=imports), encoding="utf-8")


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_LOCALID", "SLURM_PROCID", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)


def looked(folder: Path, word: str = "source=.") -> Report:
    return preflight.run(word, folder=str(folder), select=["env-launch"])


def severities(report: Report) -> dict[str, str]:
    return {str(one.at.file): one.severity.name.lower() for one in report.findings}


def said(report: Report) -> str:
    return " ".join(remark for remark in report.reasons if "main guard" in remark)


@pytest.mark.parametrize("others", [[], ["lib.py"]])
def test_of_one_script_that_trains_a_missing_variable_is_an_error(
    tmp_path: Path, others: list[str]
) -> None:
    script(tmp_path, "train.py", READS)
    for one in others:
        (tmp_path / one).write_text("x = 1\n", encoding="utf-8")

    report = looked(tmp_path)

    assert severities(report) == {"train.py": "error"}
    assert not said(report)
    assert severities(looked(tmp_path, "source=train.py")) == {"train.py": "error"}


def test_what_another_script_needs_is_a_note_beside_the_one_that_trains(tmp_path: Path) -> None:
    script(tmp_path, "train.py")
    script(tmp_path, "convert.py", READS)

    report = looked(tmp_path)

    assert severities(report) == {"convert.py": "note"}
    assert said(report).startswith("Of 2 scripts with a main guard, train.py was taken")


def test_the_one_that_trains_is_an_error_whatever_stands_beside_it(tmp_path: Path) -> None:
    script(tmp_path, "tools/sdxl_train.py", READS)
    script(tmp_path, "sample.py")
    script(tmp_path, "convert.py")

    assert severities(looked(tmp_path)) == {"tools/sdxl_train.py": "error"}


@pytest.mark.parametrize("names", [("train.py", "train_lora.py"), ("sample.py", "convert.py")])
def test_of_several_that_may_be_started_nothing_is_an_error(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    script(tmp_path, names[0], READS)
    script(tmp_path, names[1])

    report = looked(tmp_path)

    assert severities(report) == {names[0]: "warning"}
    assert "which is a guess" in (report.findings[0].why or "")
    assert "no error" in said(report)
    word = said(report).rpartition("; ")[2].partition(" ")[0]
    assert word in {f"source={one}" for one in names}
    assert severities(looked(tmp_path, f"source={names[0]}")) == {names[0]: "error"}


def test_what_scripts_share_stays_an_error(tmp_path: Path) -> None:
    """StableCascade: each of its scripts comes to `setup_ddp` of its core."""
    core = f"import os\n\ndef setup():\n    {READS}\n"
    (tmp_path / "core.py").write_text(core, encoding="utf-8")
    for name in ("train_b.py", "train_c.py"):
        script(tmp_path, name, "setup()", "from core import setup")

    assert severities(looked(tmp_path)) == {"core.py": "error"}


@pytest.mark.parametrize(
    ("core", "one", "other", "alone"),
    [
        (f"import os\n\n{READS}\n", ("pass", "import core"), ("pass", ""), {}),
        (
            f"import os\n\ndef setup():\n    {READS}\n",
            ("core.setup()", "import core"),
            ("pass", "import core"),
            {"core.py": "note"},
        ),
    ],
)
def test_what_one_of_several_scripts_comes_to_is_an_error_of_that_one_alone(
    tmp_path: Path, core: str, one: tuple[str, str], other: tuple[str, str], alone: dict[str, str]
) -> None:
    (tmp_path / "core.py").write_text(core, encoding="utf-8")
    script(tmp_path, "train_a.py", *one)
    script(tmp_path, "train_b.py", *other)
    ends = [
        subprocess.run([sys.executable, name], cwd=tmp_path, capture_output=True, check=False)
        for name in ("train_a.py", "train_b.py")
    ]

    report = looked(tmp_path)

    assert [end.returncode for end in ends] == [1, 0]
    assert severities(looked(tmp_path, "source=train_a.py")) == {"core.py": "error"}
    assert severities(looked(tmp_path, "source=train_b.py")) == alone
    assert severities(report) == {"core.py": "warning"}
    assert "where train_a.py is what is started, which is a guess" in (report.findings[0].why or "")
    assert severities(looked(tmp_path)) == {"core.py": "warning"}  # as the ledger has it


def test_a_module_with_a_guard_of_its_own_is_not_said_to_be_started(tmp_path: Path) -> None:
    """What is started may import it: its first lines are come to in either case."""
    text = f"import os\n{READS}\ndef go(): ...\nif __name__ == '__main__':\n    go()\n"
    (tmp_path / "core.py").write_text(text, encoding="utf-8")
    script(tmp_path, "train.py", "core.go()", "import core")

    (finding,) = looked(tmp_path).findings

    assert "where a script that comes here is what is started" in (finding.why or "")


BOOT = f"import os\ndef go(): ...\ndef boot():\n    {READS}\n"


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({"more.py": "from lib import boot\ndef f():\n    boot()\n"}, "warning"),
        (
            {"more.py": "from old import boot\n", "old.py": BOOT, "lib.py": "go = print\n"},
            "warning",
        ),
        ({"train.py": SCRIPT.format(imports="from lib import boot", body="boot()")}, "error"),
        ({"main.py": "from lib import boot\nboot()\n"}, "error"),
    ],
    ids=["a function that it does not call", "a file that it does not import", "it", "no guard"],
)
def test_what_the_one_script_does_not_come_to_is_no_error(
    tmp_path: Path, files: dict[str, str], wanted: str
) -> None:
    """As it is none where that script is named; what trains without a guard is a script, too."""
    script(tmp_path, "train.py", "go()", "from lib import go")
    for name, text in ({"lib.py": BOOT} | files).items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    assert [*severities(looked(tmp_path)).values()] == [wanted]


@pytest.mark.parametrize(
    ("train", "core"),
    [(f"import os\n{READS}\n", "x = 1\n"), ("from core import boot\nboot()\n", BOOT)],
    ids=["itself", "what it imports"],
)
def test_what_trains_without_a_guard_is_what_is_started_beside_scripts_that_do_not(
    tmp_path: Path, train: str, core: str
) -> None:
    (tmp_path / "train.py").write_text(train, encoding="utf-8")
    (tmp_path / "core.py").write_text(core, encoding="utf-8")
    script(tmp_path, "sample.py", 'print(os.environ["SLURM_PROCID"])')
    script(tmp_path, "convert.py")
    end = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, check=False
    )

    report = looked(tmp_path)

    assert end.returncode == 1
    (alone,) = severities(looked(tmp_path, "source=train.py")).items()
    assert alone[1] == "error"
    assert severities(report) == dict((alone, ("sample.py", "note")))
    assert said(report).startswith("Of 3 scripts with a main guard or a name of training, train.py")
    assert severities(looked(tmp_path)) == severities(report)  # as the ledger has it


WORKERS = """
from torch.utils.data import DataLoader
{}
for x in DataLoader(range(8), num_workers=2):
    print(x)
"""


@pytest.mark.parametrize(
    ("head", "core", "other", "severity"),
    [
        (f"import os\n{READS}", "", "", "error"),
        ("from core import boot\nboot()", BOOT, "", "error"),
        (f"import os\n{READS}", "", "import experiment", "warning"),
    ],
    ids=["itself", "what it calls", "imported"],
)
def test_what_starts_workers_without_a_guard_is_started_whatever_its_name(
    tmp_path: Path, head: str, core: str, other: str, severity: str
) -> None:
    (tmp_path / "experiment.py").write_text(WORKERS.format(head))
    (tmp_path / "core.py").write_text(core)
    script(tmp_path, "sample.py")
    script(tmp_path, "convert.py", imports=other)

    (found,) = severities(looked(tmp_path)).items()
    (alone,) = severities(looked(tmp_path, "source=experiment.py")).items()

    assert found == (alone[0], severity)
    assert alone[1] == "error"


@pytest.mark.parametrize(
    "train", ["def train(): ...\n", "import os\nprint(os.sep)\n"], ids=["defines", "imported"]
)
def test_a_module_that_is_called_as_training_is_and_that_others_import_is_not_started(
    tmp_path: Path, train: str
) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack/train.py").write_text(train, encoding="utf-8")
    script(tmp_path, "run.py", READS, "from pack.train import train")
    script(tmp_path, "sample.py")

    report = looked(tmp_path)

    assert severities(report) == {"run.py": "warning"}
    assert "or a name" not in said(report)


@pytest.mark.parametrize("word", ["source=.", "source=train.py"])
def test_a_function_that_a_script_without_a_guard_does_not_call_is_a_note(
    tmp_path: Path, word: str
) -> None:
    (tmp_path / "shared.py").write_text(SHARED)
    (tmp_path / "train.py").write_text("import shared\nprint(shared)\n")

    assert severities(looked(tmp_path, word)) == {"shared.py": "note"}


def test_what_none_of_several_scripts_comes_to_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text(f"import os\n\n{READS}\n", encoding="utf-8")
    for name in ("train_b.py", "train_c.py"):
        script(tmp_path, name)

    report = looked(tmp_path)

    assert severities(report) == {"core.py": "warning"}
    assert "where a script that comes here is what is started" in (report.findings[0].why or "")


def test_a_script_that_another_imports_is_not_started(tmp_path: Path) -> None:
    script(tmp_path, "lib.py", READS)
    script(tmp_path, "go.py", imports="import lib")

    report = looked(tmp_path)

    assert severities(report) == {"lib.py": "note"}
    assert "go.py was taken" in said(report)


def test_tests_with_a_main_guard_are_no_scripts(tmp_path: Path) -> None:
    script(tmp_path, "train.py", READS)
    script(tmp_path, "tests/test_train.py")

    report = looked(tmp_path)

    assert severities(report) == {"train.py": "error"}
    assert not said(report)


SHARED = """
import os


def init_ranks():
    return int(os.environ["SLURM_LOCALID"])
"""


@pytest.mark.parametrize("word", ["source=.", "source=train.py"])
@pytest.mark.parametrize(
    ("shared", "body", "severity"),
    [
        (SHARED, "print()", "note"),
        (SHARED, "shared.init_ranks()", "error"),
        (SHARED, "Thread(target=shared.init_ranks).start()", "error"),
        (SHARED, 'getattr(shared, "init_ranks")()', "error"),
        (SHARED.replace("def ", "@at_start\ndef "), "print()", "error"),
        (SHARED.replace("def ", "@at(\n    1,\n)\ndef "), "print()", "error"),
        (SHARED.replace("def ", "class A(Base):\n  def ").replace("  ret", "   ret"), "1", "error"),
    ],
)
def test_what_stands_in_a_function_that_nothing_speaks_of_is_a_note(
    tmp_path: Path, word: str, shared: str, body: str, severity: str
) -> None:
    (tmp_path / "shared.py").write_text(shared)
    script(tmp_path, "train.py", body, "import shared")

    assert severities(looked(tmp_path, word)) == {"shared.py": severity}


def test_a_module_that_is_named_by_itself_may_be_called_by_anybody(tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text(SHARED)

    assert severities(looked(tmp_path, "source=shared.py")) == {"shared.py": "error"}
    assert severities(looked(tmp_path)) == {"shared.py": "error"}


def test_scripts_below_are_offered_where_none_lies_at_the_top(tmp_path: Path) -> None:
    script(tmp_path, "lib/deep/train_b.py")
    script(tmp_path, "code/train_a.py")
    script(tmp_path, "cli/__main__.py")
    (tmp_path / "code/train_tools.py").write_text("import os\nprint(os.name)\n")

    page = str(preflight.run(folder=str(tmp_path)))

    assert "preflight run code/train_a.py" in page
    *scripts, last = scripts_in(str(tmp_path))
    assert scripts == ["code/train_a.py", "lib/deep/train_b.py"]
    assert last == "cli/__main__.py"


def test_scripts_of_other_names_are_offered_where_they_train(tmp_path: Path) -> None:
    """As those of minGPT are: none is called train, and none lies at the top."""
    trains = "    trainer = Trainer(model)\n    trainer.run()\n"
    for name, text in {
        "projects/adder/adder.py": trains,
        "projects/chat/chat.py": "    loss = model(x)\n    loss.backward()\n",
        "lib/bpe.py": "    print(encode('a'))\n",
        "tests/test_adder.py": trains,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"import torch\nif __name__ == '__main__':\n{text}")

    assert scripts_in(str(tmp_path)) == ["projects/adder/adder.py", "projects/chat/chat.py"]
    assert "preflight run projects/adder/adder.py" in str(preflight.run(folder=str(tmp_path)))


def test_a_script_called_run_is_offered_where_it_stands_at_the_top(tmp_path: Path) -> None:
    """Behind one that says that it trains; what runs tests has another name."""
    script(tmp_path, "run.py")
    script(tmp_path, "run_tests.py")
    assert scripts_in(str(tmp_path)) == ["run.py"]
    script(tmp_path, "train_net.py")
    assert scripts_in(str(tmp_path)) == ["train_net.py", "run.py"]


def test_a_script_is_offered_however_many_modules_come_before_it(tmp_path: Path) -> None:
    """As in OneTrainer, whose `modules/` hold more files than are read for hints."""
    (tmp_path / "modules").mkdir()
    for number in range(510):
        (tmp_path / "modules" / f"m{number}.py").touch()
    for name in ("create_train_files.py", "train_ui.py", "train.py"):
        script(tmp_path, f"scripts/{name}")

    report = preflight.run(folder=str(tmp_path))

    assert "preflight run scripts/train.py" in str(report)
    assert "source=scripts/train.py reads one by itself" in said(report)


def test_of_models_that_nothing_starts_one_with_defaults_is_no_better(tmp_path: Path) -> None:
    model = "class {0}(nn.Module):\n    def __init__(self, size{1}):\n        pass\n\n\n"
    text = "from torch import nn\n\n\n" + model.format("Attend", "=3")
    (tmp_path / "nets.py").write_text(text)
    assert offers(str(tmp_path), [])["model"][0] == "preflight run nets:Attend"
    (tmp_path / "nets.py").write_text(text + model.format("Unet", ""))
    assert "model" not in offers(str(tmp_path), [])


def test_a_script_that_imports_its_own_package_is_offered_as_a_module_of_it(
    tmp_path: Path,
) -> None:
    """Python would put `titan/` on its path, and not what it lies in."""
    script(tmp_path, "titan/train.py", "print(titan.SEED)", "import titan")
    (tmp_path / "titan/__init__.py").write_text("SEED = 1\n")

    page = str(preflight.run(folder=str(tmp_path)))

    assert "preflight run -m titan.train" in page
    assert scripts_in(str(tmp_path)) == ["-m titan.train"]


def test_what_stops_the_job_is_told_beside_the_words_to_type(tmp_path: Path) -> None:
    script(tmp_path, "train.py", READS)

    report = preflight.run(folder=str(tmp_path))

    assert report.verdict == "no-go"
    assert "preflight run train.py" in str(report)


FACTORY = """
import os


def rank(): return int(os.environ["SLURM_LOCALID"])


{more}


def make_loader(): return {made}
"""


@pytest.mark.parametrize(
    ("more", "made", "wanted"),
    [
        ("", "[1]", "note"),
        ("def boot(): return rank()", "[2]", "note"),
        ("class Boot:\n    def __init__(self): self.rank = rank()", "[3]", "note"),
        ("def boot(): return rank()", "[boot]", "error"),
        ("", 'globals()["rank"] and [4]', "error"),
        ("class Boot(dict):\n    def __init__(self): self.rank = rank()", "[5]", "error"),
        ("@at_start\ndef boot(): return rank()", "[6]", "error"),
        ("def main(): rank()\n\nif __name__ == '__main__': main()", "[7]", "error"),
    ],
)
def test_what_neither_a_factory_nor_its_file_comes_to_is_a_note(
    tmp_path: Path, more: str, made: str, wanted: str
) -> None:
    """Also where others of its file do, as long as nobody named these."""
    source = FACTORY.format(more=more, made=made) + "def of_ranks(): return [rank()]\n"
    (tmp_path / "data.py").write_text(source)

    assert severities(looked(tmp_path, "data:make_loader")) == {"data.py": wanted}
    assert severities(looked(tmp_path, "data.py:of_ranks")) == {"data.py": "error"}


@pytest.mark.parametrize(
    "other", ["main_sampling.py", "main_eval.py", "main_export_onnx.py", "train_ui.py"]
)
def test_what_looks_at_a_trained_model_comes_behind_what_trains(tmp_path: Path, other: str) -> None:
    for name in (other, "main_stage1.py"):
        (tmp_path / name).write_text("if __name__ == '__main__':\n    main()\n", "utf-8")
    assert scripts_in(str(tmp_path)) == ["main_stage1.py", other]
