"""Sources are read for what they need of the environment; whoever tested first is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from preflight.sources.facts import EnvironmentRead, SourceFacts
from preflight.targets.targets import Source
from preflight.values.wire import from_wire, to_wire
from tests.files import put
from tests.read_sources import read_source

READS = 'import os\nos.environ["X"]\n'


def look(folder: Path, path: str = ".", **environment: str) -> SourceFacts:
    """Read a file, or the folder."""
    return read_source(Source(path=path), str(folder), environment)


def read(folder: Path, text: str, **environment: str) -> tuple[EnvironmentRead, ...]:
    """Give the reads of one file."""
    (folder / "train.py").write_text(text, "utf-8")
    return look(folder, "train.py", **environment).reads


def bare(folder: Path, text: str) -> list[str]:
    """Give the variables of one file that are read without a guard."""
    return [one.variable for one in read(folder, text) if not one.guarded]


HEALTHY = {
    "a default": 'rank = int(os.environ.get("RANK", 0))',
    "a default by name": 'rank = int(os.getenv("RANK", default="0"))',
    "or": 'rank = int(os.environ.get("RANK") or 0)',
    "no need": 'key = os.environ.get("RANK")',
    "a flag": 'print(bool(os.getenv("RANK")), os.getenv("RANK") is None)',
    "formatted": 'print("%s" % os.getenv("RANK"), f"{os.getenv(\'RANK\')}")',
    "a test": 'if "RANK" in os.environ:\n    rank = int(os.environ["RANK"])',
    "a test that leaves": """
def setup():
    if "RANK" not in os.environ:
        return None
    return int(os.environ["RANK"])
""",
    "a test that exits": """
if os.environ.get("RANK") is None:
    sys.exit("start me with torchrun")
rank = int(os.environ["RANK"])
""",
    "else": 'if "RANK" not in os.environ:\n    rank = 0\nelse:\n    rank = os.environ["RANK"]',
    "another variable of the same launcher": """
if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
    gpu = int(os.environ["LOCAL_RANK"])
elif "SLURM_PROCID" in os.environ:
    gpu = int(os.environ["SLURM_LOCALID"])
""",
    "a flag that was read before": """
ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    local = int(os.environ["LOCAL_RANK"])
""",
    "a conditional expression": 'rank = int(os.environ["RANK"]) if "RANK" in os.environ else 0',
    "and": 'rank = "RANK" in os.environ and int(os.environ["RANK"])',
    "a comprehension": 'r = [os.environ["RANK"] for n in names if "RANK" in os.environ]',
    "try": 'try:\n    rank = int(os.environ["RANK"])\nexcept KeyError:\n    rank = 0',
    "try, for None": """
try:
    rank = int(os.getenv("RANK"))
except (TypeError, ValueError):
    rank = 0
""",
    "try, for all": 'try:\n    rank = os.environ["RANK"]\nexcept:\n    rank = 0',
    "suppress": 'with contextlib.suppress(KeyError):\n    rank = os.environ["RANK"]',
    "set before": 'os.environ["RANK"] = "0"\nrank = os.environ["RANK"]',
    "setdefault": 'os.environ.setdefault("RANK", "0")\nrank = os.environ["RANK"]',
    "update": 'os.environ.update({"RANK": "0"}, X="1")\nrank = os.environ["RANK"]',
    "update by name": 'os.environ.update(RANK="0")\nrank = os.environ["RANK"]',
    "update by dict": 'os.environ.update(dict(RANK="0"))\nrank = os.environ["RANK"]',
    "united": 'os.environ |= {"RANK": "0"}\nrank = os.environ["RANK"]',
    "set in a loop": """
for name in ("MASTER_ADDR", "RANK"):
    os.environ[name] = "1"
rank = os.environ["RANK"]
""",
    "set in a loop over pairs": """
for name, value in [("RANK", "0"), ("WORLD_SIZE", "1")]:
    os.environ.setdefault(name, value)
rank = os.environ["RANK"]
""",
    "set in a loop over a dict": """
DEFAULTS: dict[str, str] = {"RANK": "0", "WORLD_SIZE": "1"}
def setup():
    for name, value in DEFAULTS.items():
        os.environ[name] = value
rank = os.environ["RANK"]
""",
    "set in a loop over names": """
NAMES = ["RANK", "WORLD_SIZE"]
for name, value in zip(NAMES, sys.argv[1:]):
    os.environ[name] = value
rank = os.environ["RANK"]
""",
    "update by a name": """
ones = {"WORLD_SIZE": "1"}
own = {**ones, "RANK": "0"}
os.environ.update(own)
rank = os.environ["RANK"]
""",
    "united with a comprehension": """
os.environ |= {name: "1" for name in ("RANK", "WORLD_SIZE")}
rank = os.environ["RANK"]
""",
    "update of two": 'os.environ.update(dict.fromkeys(["RANK"], "0"))\nrank = os.environ["RANK"]',
    "update by pairs": 'os.environ.update([("RANK", "0")])\nrank = os.environ["RANK"]',
    "set by a name": 'KEY = "RANK"\nos.environ[KEY] = "0"\nrank = os.environ["RANK"]',
    "set from a file": """
for name, value in json.load(open("env.json")).items():
    os.environ[name] = value
key = os.environ["WANDB_API_KEY"]
""",
    "update from a file": 'os.environ.update(json.load(f))\nkey = os.environ["WANDB_API_KEY"]',
    "set in another function": """
def spawn(rank):
    os.environ["RANK"] = str(rank)
    work()
def work():
    return os.environ["RANK"]
""",
    "for one launcher": 'def init_slurm():\n    return os.environ["SLURM_PROCID"]',
    "for one launcher, by class": """
class MPIEnvironment:
    def rank(self):
        return int(os.environ["OMPI_COMM_WORLD_RANK"])
""",
    "for one launcher, by argument": """
if args.launcher == "slurm":
    rank = int(os.environ["SLURM_PROCID"])
""",
    "for one launcher, by match": """
match args.launcher:
    case "slurm":
        rank = int(os.environ["SLURM_PROCID"])
""",
    "dotenv": 'from dotenv import load_dotenv\nload_dotenv()\nkey = os.environ["WANDB_API_KEY"]',
    "a name that is not constant": 'rank = int(os.environ[f"{prefix}_RANK"])',
    "another's environ": 'rank = config.environ["RANK"]',
    "deleted": 'del os.environ["RANK"]',
    "of Windows, on it": """
if sys.platform == "win32":
    suffixes = os.environ["PATHEXT"].split(os.pathsep)
elif platform.system() == "Windows":
    drive = os.environ["systemdrive"]
""",
    "of Windows, by os.name": 'd = os.environ["APPDATA"] if os.name == "nt" else "~"',
    "a dict called env": 'env = {}\nrank = env["RANK"]',
}


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY)
def test_code_that_copes_without_the_variable_is_left_alone(tmp_path: Path, text: str) -> None:
    assert bare(tmp_path, f"import os\n{text}\n") == []


@pytest.mark.parametrize(
    "sets",
    [
        'for name in ("RANKS", "WORLD_SIZE"):\n    os.environ[name] = "1"',
        'for _, name in (("RANK", "X"),):\n    os.environ[name] = "1"',
        'for name in ("RANK",):\n    pass\nfor name in ("X",):\n    os.environ[name] = "1"',
        'os.environ.update({"X": "RANK"})',
        'for name in json.load(f):\n    os.environ[name] = "1"',
        'for name in ("RANK",):\n    env[name] = "1"',
    ],
)
def test_setting_others_does_not_set_it(tmp_path: Path, sets: str) -> None:
    assert len(bare(tmp_path, f'import os\n{sets}\nrank = os.environ["RANK"]\n')) == 1


# By what an absent variable raises.
BARE = {
    "KeyError": {
        "a key": 'r = os.environ["RANK"]',
        "by its own name": 'from os import environ\nr = environ["RANK"]',
        "by another name": 'from os import environ as e\nr = e["RANK"]',
        "os by another name": 'import os as o\nr = o.environ["RANK"]',
        "environ kept": 'env = os.environ\nr = env["RANK"]',
        "as a default": 'def f(r=int(os.environ["RANK"])): pass',
        "in a class": 'class C:\n    r = os.environ["RANK"]',
        "under a test of another thing": 'if debug:\n    r = os.environ["RANK"]',
        "with a handler for another error": (
            'try:\n    r = os.environ["RANK"]\nexcept TypeError:\n    r = 0'
        ),
        "in the handler itself": 'try:\n    import x\nexcept KeyError:\n    r = os.environ["RANK"]',
        "set afterwards": 'r = os.environ["RANK"]\nos.environ["RANK"] = r',
        "set from itself": 'os.environ["RANK"] = os.environ["RANK"] + "0"',
        "defined under a try, called outside": (
            'try:\n    def f():\n        return os.environ["RANK"]\nexcept KeyError:\n    pass'
        ),
        "as somebody's default": 'r = os.environ.get("LOCAL", os.environ["RANK"])',
        "a test for another variable": 'if "DEBUG" in os.environ:\n    r = os.environ["RANK"]',
        "a test of something else": (
            'known = "RANK" in config\nif known:\n    r = os.environ["RANK"]'
        ),
        "compile is not mpi": 'if compile:\n    r = os.environ["RANK"]',
    },
    "TypeError": {
        "int of get": 'r = int(os.environ.get("RANK"))',
        "int of getenv": 'r = int(os.getenv("RANK"))',
        "int with an explicit None": 'r = int(os.getenv("RANK", None))',
        "float": 'r = float(os.getenv("RANK"))',
        "an index into None": 'r = os.getenv("RANK")[0]',
        "a path of None": 'r = os.path.join(os.getenv("RANK"), "x")',
        "a Path of None": 'r = pathlib.Path(os.getenv("RANK"))',
        "None and a text": 'r = os.getenv("RANK") + "/x"',
        "a search in None": 'r = "," in os.getenv("RANK")',
        "getenv by another name": 'from os import getenv as g\nr = int(g("RANK"))',
    },
    "AttributeError": {
        "a method of None": 'r = os.environ.get("RANK").split(",")',
    },
}


@pytest.mark.parametrize(
    ("text", "raises"),
    [
        pytest.param(text, raises, id=name)
        for raises, cases in BARE.items()
        for name, text in cases.items()
    ],
)
def test_code_that_cannot_do_without_it_is_found(tmp_path: Path, text: str, raises: str) -> None:
    reads = [one for one in read(tmp_path, f"import os\n{text}\n") if not one.guarded]

    assert [(one.variable, one.raises) for one in reads] == [("RANK", raises)]


def test_a_read_says_where_and_what_it_is(tmp_path: Path) -> None:
    text = """\
import os
class Trainer:
    def setup(self):
        self.rank = int(
            os.environ["X"]
        )
"""

    (found,) = read(tmp_path, text)

    assert found == EnvironmentRead(
        file="train.py",
        line=5,
        variable="X",
        code='os.environ["X"]',
        line_text='            os.environ["X"]',
        is_set=False,
        guarded=False,
        raises="KeyError",
        inside="setup",
    )


def test_a_test_for_one_secret_does_not_speak_for_another(tmp_path: Path) -> None:
    text = 'import os\nif "HF_TOKEN" in os.environ:\n    key = os.environ["WANDB_API_KEY"]\n'

    assert bare(tmp_path, text) == ["WANDB_API_KEY"]


def test_what_a_lambda_reads_is_not_read_at_once(tmp_path: Path) -> None:
    (found,) = read(tmp_path, 'import os\nrank = lambda: os.environ["RANK"]\n')

    assert found.inside == "lambda"


def test_code_over_several_lines_is_shown_on_one(tmp_path: Path) -> None:
    (found,) = read(tmp_path, 'import os\nr = int(\n    os.getenv("Größe")\n) + 1  # …\n')

    assert found.code == 'int( os.getenv("Größe") )'


def test_a_variable_that_is_set_is_told_so(tmp_path: Path) -> None:
    assert read(tmp_path, READS, X="")[0].is_set
    assert not read(tmp_path, READS)[0].is_set


def test_a_folder_is_read_with_all_below_it_and_without_what_is_not_the_jobs(
    tmp_path: Path,
) -> None:
    own = ("a.py", "inner/b.py", "inner/deeper/c.py", "package/__init__.py", "package/setup.py")
    others = ("venv/lib/d.py", ".git/e.py", "node_modules/f.py", "env/site-packages/g.py")
    put(tmp_path, *own, *others, "setup.py", "conftest.py", "notes.txt", content=READS.encode())
    (tmp_path / "venv" / "pyvenv.cfg").touch()

    facts = look(tmp_path)

    assert [one.file for one in facts.reads] == list(own)
    assert (facts.file, facts.files, facts.is_folder) == (".", 5, True)


def test_a_variable_that_another_file_sets_counts_as_thought_of(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(READS, "utf-8")
    (tmp_path / "b.py").write_text('import os\nos.environ["X"] = "1"\n', "utf-8")

    (found,) = look(tmp_path).reads

    assert found.guarded


def test_a_file_for_one_launcher_is_left_alone_in_a_folder_and_read_when_it_is_named(
    tmp_path: Path,
) -> None:
    (tmp_path / "train_slurm.py").write_text('import os\nos.environ["SLURM_PROCID"]\n', "utf-8")

    (in_folder,) = look(tmp_path).reads
    (named,) = look(tmp_path, "train_slurm.py").reads

    assert (in_folder.guarded, named.guarded) == (True, False)


ENCODED = {
    "byte order mark": b'\xef\xbb\xbfimport os\nos.environ["X"]\n',
    "latin-1": b'# -*- coding: latin-1 -*-\nimport os  # \xe4\nos.environ["X"]\n',
    "of Windows": b'import os\r\nos.environ["X"]\r\n',
    "form feed": b'import os\n\x0c\nos.environ["X"]',
    "invalid escape": b'import os\nos.environ["X"]; "\\d"\n',
}


@pytest.mark.parametrize(
    "text",
    [
        'r = os.environ["APPDATA"]',
        'if sys.platform != "win32":\n    r = os.environ["APPDATA"]',
        'if os.name == "nt":\n    pass\nelse:\n    r = os.environ["APPDATA"]',
    ],
)
def test_what_windows_sets_is_found_where_it_is_read_elsewhere(tmp_path: Path, text: str) -> None:
    assert bare(tmp_path, f"import os, sys\n{text}\n") == ["APPDATA"]


def test_what_windows_does_not_set_is_found_there(tmp_path: Path) -> None:
    text = 'import os\nif os.name == "nt":\n    r = os.environ["MY_TOKEN"]\n'

    assert bare(tmp_path, text) == ["MY_TOKEN"]


@pytest.mark.parametrize("content", ENCODED.values(), ids=ENCODED)
def test_code_of_any_encoding_is_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "train.py").write_bytes(content)

    facts = look(tmp_path, "train.py")

    assert [one.code for one in facts.reads] == ['os.environ["X"]']
    assert facts.reads[0].line_text.strip().startswith("os.environ")


UNPARSABLE = {
    "Python 2": (b'print "hello"\n', "1", "SyntaxError"),
    "half a line": (b"x = 1\ndef f(:\n", "2", "SyntaxError"),
    "UTF-16": (b"\xff\xfe\x00x", "", "encod"),
    "an unknown encoding": (b"# coding: no-such\n", "", "encoding"),
    "a codec that is no encoding": (b"# coding: rot13\n", "", "encoding"),
    "null bytes": (b"x = 1\0\n", None, "null bytes"),
    "open brackets": (b"(" * 100_000, None, ""),
    "signs": (b"x = " + b"-" * 500_000 + b"1\n", None, ""),
    "data": (b"x" * (5 << 20), "", "larger than 4 MiB"),
}


@pytest.mark.parametrize(("content", "line", "reason"), UNPARSABLE.values(), ids=UNPARSABLE)
def test_what_cannot_be_parsed_is_told_and_hides_nothing_else(
    tmp_path: Path, content: bytes, line: str | None, reason: str
) -> None:
    (tmp_path / "a.py").write_bytes(content)
    (tmp_path / "b.py").write_text(READS, "utf-8")

    ((file, at, why),) = look(tmp_path, "a.py").unreadable
    assert file == "a.py"
    assert reason in why
    assert line is None or at == line
    assert [one.file for one in look(tmp_path).reads] == ["b.py"]


def test_deep_code_is_walked_without_recursion(tmp_path: Path) -> None:
    """Whatever the parser takes."""
    text = "import os\n" + "x = " + "1 + " * 900 + 'int(os.environ["X"])\n'

    facts = read(tmp_path, text)

    assert [one.variable for one in facts] == ["X"]


def test_a_file_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        look(tmp_path, "train.py")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_that_may_not_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch(mode=0)

    (unreadable,) = look(tmp_path).passed_over

    assert unreadable[0] == "a.py"


def test_links_that_turn_in_a_circle_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.py").touch()
    try:
        (tmp_path / "inner" / "up").symlink_to(tmp_path, target_is_directory=True)
    except OSError:
        pytest.skip("this system makes no links")

    assert look(tmp_path).files == 1


def test_a_shell_of_an_allocation_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()

    assert look(tmp_path, "a.py", SLURM_JOB_ID="7").in_allocation
    assert not look(tmp_path, "a.py").in_allocation


def test_the_facts_go_to_json_and_back(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(READS, "utf-8")
    (tmp_path / "b.py").write_text("os.environ(", "utf-8")
    text = "for batch in DataLoader(data, num_workers=4):\n    loss.backward()\n"
    (tmp_path / "c.py").write_text(text, "utf-8")
    facts = look(tmp_path)

    assert facts.reads and facts.passed_over and facts.unguarded
    assert from_wire(SourceFacts, json.loads(json.dumps(to_wire(facts)))) == facts


def test_nothing_of_the_source_is_run(tmp_path: Path) -> None:
    read(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')\nimport os\nos.environ['X']\n")

    assert not (tmp_path / "ran").exists()
