"""Pipelines are read off sources as they are usually written: names, and one stage to a line."""

from __future__ import annotations

import gc
import runpy
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.pipelines.written import written_in
from preflight.syntax.parsing import parse_text
from tests.archives import photo, tarred
from tests.files import put

pytestmark = [
    pytest.mark.usefixtures("at_hand"),
    # webdataset leaves shards open, and says a word about some ways to take them.
    pytest.mark.filterwarnings("ignore"),
]

HEAD = "import argparse, glob, os\nimport braceexpand\nimport webdataset as wds\n\n"
OPEN = "wds.WebDataset(urls, shardshuffle=False)"


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Shards of images with texts, and others of images with records."""
    for folder, ending in (("d", "txt"), ("v", "json")):
        for number in range(2):
            members = {}
            for key in range(4):
                members[f"{number}{key}.jpg"] = photo(width=16, height=16)
                members[f"{number}{key}.{ending}"] = b"17"
            put(tmp_path, f"{folder}/{number}.tar", content=tarred(members))
    return tmp_path


def function(body: str, *, before: str = "", call: str = "main()") -> str:
    lines = "".join(f"    {one}\n" for one in body.splitlines())
    return f'{HEAD}{before}def main():\n{lines}\nif __name__ == "__main__":\n    {call}\n'


def found_by(folder: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """Write the script, and give what a bare run finds lost."""
    put(folder, "train.py", content=source.encode())
    monkeypatch.chdir(folder)
    report = preflight.run(folder=str(folder), no_ledger=True, elsewhere=True)
    assert not any(one.broken for one in report.checks)
    return [one for one in report.findings if one.check == "dataset-survival"]


def ended() -> str:
    """Run the script itself, and give what it stops at; shards that are left open are closed."""
    try:
        runpy.run_path("train.py", run_name="__main__")
    except ValueError as error:
        return str(error)
    finally:
        gc.collect()
    return ""


GO = "for x in ds: pass"
ARGS = """parser = argparse.ArgumentParser()
parser.add_argument("--shards", default="d/0.tar")
args = parser.parse_args([])
"""
TEXT = 'ds = ds.to_tuple("jpg", "txt")'
RECORD = 'ds = ds.to_tuple("jpg", "json")'

HEALTHY = {
    "a name": f'urls = "d/{{0..1}}.tar"\nds = {OPEN}\n{TEXT}\n{GO}',
    "one of two": f'if os.environ.get("BIG"):\n    urls = "v/0.tar"\nelse:\n    urls = "d/0.tar"\n'
    f"ds = {OPEN}\n{TEXT}\n{GO}",
    "a test over a value": f'urls = "v/0.tar"\nif not os.environ.get("BIG"):\n'
    f'    urls = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}',
    "another one again": f'urls = "v/0.tar"\nurls = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}',
    "a loop over names": f'urls = "v/0.tar"\nfor urls in ("d/0.tar", "d/1.tar"):\n'
    f"    ds = {OPEN}\n    {TEXT}\n    {GO}",
    "given in a loop": f'urls = "v/0.tar"\nfor n in range(2):\n    urls = "d/0.tar"\n'
    f"ds = {OPEN}\n{TEXT}\n{GO}",
    "given behind it in a loop": f'urls, first = "v/0.tar", True\nfor n in range(2):\n'
    f"    ds = {OPEN}\n    if not first:\n        {TEXT}\n        {GO}\n"
    '    urls, first = "d/0.tar", False',
    "two of one name": f'urls = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}\n'
    f'urls = "v/0.tar"\nds = {OPEN}\n{RECORD}\n{GO}',
    "two, one to a branch": 'train = not os.environ.get("EVAL")\nif train:\n'
    f'    urls = "d/0.tar"\n    ds = {OPEN}\n    {TEXT}\nelse:\n    urls = "v/0.tar"\n'
    f"    ds = {OPEN}\n    {RECORD}\n{GO}",
    "one, ended by branches": f'urls = "d/0.tar"\nds = {OPEN}\nif os.environ.get("EVAL"):\n'
    f"    {RECORD}\nelse:\n    {TEXT}\n{GO}",
    "one, ended behind a return": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'if not os.environ.get("EVAL"):\n    return\n{RECORD}\n{GO}',
    "one for a debugger": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'other = ds.to_tuple("jpg", "json")\n{TEXT}\n{GO}',
    "made by a function of the job": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'ds = ds.map(lambda one: {{**one, "json": 1}})\n{RECORD}\n{GO}',
    "made in a loop": f'urls = "d/0.tar"\nds = {OPEN}\nfor name in ("json",):\n'
    f"    ds = ds.map(lambda one: {{**one, name: 1}})\n{RECORD}\n{GO}",
    "renamed on its own line": f'urls = "d/0.tar"\nds = {OPEN}\nds = ds.rename(json="txt")\n'
    f"{RECORD}\n{GO}",
    "handed to a function": "def add(ds):\n    ds.append(wds.map(lambda one: "
    f'{{**one, "json": 1}}))\nurls = "d/0.tar"\nds = {OPEN}\nadd(ds)\n{RECORD}\n{GO}',
    "from a function": "def add(ds):\n    return ds.map(lambda one: "
    f'{{**one, "json": 1}})\nurls = "d/0.tar"\nds = {OPEN}\nds = add(ds)\n{RECORD}\n{GO}',
    "a list that is changed": f'urls = ["v/0.tar"]\nurls[0] = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}',
    "a list by its other name": f'urls = ["v/0.tar"]\nother = urls\nother.clear()\n'
    f'other.append("d/0.tar")\nds = {OPEN}\n{TEXT}\n{GO}',
    "a list that a function changes": "def fill(urls):\n    urls[:] = ['d/0.tar']\n"
    f'urls = ["v/0.tar"]\nfill(urls)\nds = {OPEN}\n{TEXT}\n{GO}',
    "a list that is changed behind a test": f'urls = ["v/0.tar"]\nif not os.environ.get("BIG"):\n'
    f'    urls.pop()\n    urls.append("d/0.tar")\nds = {OPEN}\n{TEXT}\n{GO}',
    "a list that grows": f'urls = []\nfor n in range(2):\n    urls.append(f"d/{{n}}.tar")\n'
    f"ds = {OPEN}\n{TEXT}\n{GO}",
    "an inner function's own": f'urls = "v/0.tar"\ndef inner(urls):\n    ds = {OPEN}\n'
    f'    {TEXT}\n    {GO}\ninner("d/0.tar")',
    "a comprehension's own": 'urls = "v/0.tar"\neach = [wds.WebDataset(urls, shardshuffle=False)'
    '.to_tuple("jpg", "txt") for urls in ("d/0.tar",)]\nfor ds in each:\n    for x in ds: pass',
    "where a try fails": f'urls = "v/0.tar"\ntry:\n    urls = os.environ["NONE"]\n'
    f'except KeyError:\n    urls = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}',
    "in a context": f'with open(os.devnull) as urls:\n    urls = "d/0.tar"\n'
    f"    ds = {OPEN}\n{TEXT}\n{GO}",
    "taken on the way": f'urls = "v/0.tar"\nif (urls := "d/0.tar"):\n    pass\nds = {OPEN}\n'
    f"{TEXT}\n{GO}",
    "composed": f'urls = "d/0.tar"\nds = {OPEN}\nds = ds.compose(wds.map(lambda one: '
    f'{{**one, "json": 1}}))\n{RECORD}\n{GO}',
    "a list of stages that grows": 'stages = [wds.SimpleShardList("d/0.tar"), '
    'wds.tarfile_to_samples()]\nstages.append(wds.map(lambda one: {**one, "json": 1}))\n'
    'stages += [wds.to_tuple("jpg", "json")]\nds = wds.DataPipeline(*stages)\n' + GO,
    "fields that change": f'urls, fields = "d/0.tar", ["jpg", "json"]\nfields[1] = "txt"\n'
    f"ds = {OPEN}.to_tuple(*fields)\n{GO}",
    "what a pattern finds": f'urls = sorted(glob.glob("d/*.tar"))\nds = {OPEN}\n{TEXT}\n{GO}',
    "what patterns find": 'urls = glob.glob("v/*.tar")\nurls.clear()\n'
    f'urls.extend(glob.glob("d/*.tar"))\nds = {OPEN}\n{TEXT}\n{GO}',
    "some of what a pattern finds": 'urls = [one for one in glob.glob("?/*.tar") if "d" in one]\n'
    f"ds = {OPEN}\n{TEXT}\n{GO}",
    "the first of what a pattern finds": f'urls = sorted(glob.glob("?/*.tar"))[:2]\nds = {OPEN}\n'
    f"{TEXT}\n{GO}",
    "others than a pattern finds": 'urls = [one.replace("v", "d") for one in glob.glob("v/*.tar")]'
    f"\nds = {OPEN}\n{TEXT}\n{GO}",
    "numbers that are no numbers of shards": "urls = [f\"{'vd'[n]}/0.tar\" for n in range(1, 2)]\n"
    f"ds = {OPEN}\n{TEXT}\n{GO}",
    "braces": f'urls = list(braceexpand.braceexpand("d/{{0..1}}.tar"))\nds = {OPEN}\n{TEXT}\n{GO}',
    "an option": f"{ARGS}ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an option of others": f'{ARGS.replace("d/", "v/")}args.shards = "d/0.tar"\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an option that is set by its name": f"{ARGS.replace('d/', 'v/')}"
    'setattr(args, "shards", "d/0.tar")\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an option with another default": "parser = argparse.ArgumentParser()\n"
    'parser.add_argument("--shards", default="v/0.tar")\n'
    'parser.set_defaults(shards="d/0.tar")\nargs = parser.parse_args([])\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an option that is read": 'parser = argparse.ArgumentParser()\nparser.add_argument("--shards", '
    'default="v", type=lambda one: "d/0.tar")\n'
    "args = parser.parse_args([])\n"
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an option that is given": "parser = argparse.ArgumentParser()\n"
    'parser.add_argument("--shards", default="v/0.tar")\n'
    'args = parser.parse_args(["--shards", "d/0.tar"])\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "options of two parsers": f"{ARGS}other = argparse.ArgumentParser()\n"
    'other.add_argument("--shards", default="v/0.tar")\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "options that are updated": f'{ARGS.replace("d/", "v/")}vars(args).update(shards="d/0.tar")\n'
    f"ds = wds.WebDataset(args.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "a default that is not taken": f'def make(urls="v/0.tar"):\n    return {OPEN}\n'
    f'ds = make("d/0.tar")\n{TEXT}\n{GO}',
    "a function that is called twice": f"def make(urls, ending):\n    ds = {OPEN}\n"
    f'    return ds.to_tuple("jpg", ending)\nfor ds in (make("d/0.tar", "txt"), '
    f'make("v/0.tar", "json")):\n    {GO}',
    "a function that is handed on": "import functools\n"
    f'def make(urls="v/0.tar"):\n    ds = {OPEN}\n'
    f'    return ds.to_tuple("jpg", "txt")\nds = functools.partial(make, "d/0.tar")()\n{GO}',
    "a function that changes what it is given": f'def make(urls):\n    urls[0] = "d/0.tar"\n'
    f'    return {OPEN}\nds = make(["v/0.tar"])\n{TEXT}\n{GO}',
    "a function that gives it another value": f"def make(urls):\n"
    f'    urls = urls.replace("v", "d")\n    return {OPEN}\nds = make("v/0.tar")\n{TEXT}\n{GO}',
    "words of a function": f'def make(urls="v/0.tar"):\n    return {OPEN}\n'
    f'ds = make(**{{"urls": "d/0.tar"}})\n{TEXT}\n{GO}',
    "a field that is given": "from dataclasses import dataclass\n@dataclass\nclass Config:\n"
    '    shards: str = "v/0.tar"\nconfig = Config("d/0.tar")\n'
    f"ds = wds.WebDataset(config.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "a field that is set": "from dataclasses import dataclass\n@dataclass\nclass Config:\n"
    '    shards: str = "v/0.tar"\nconfig = Config()\nconfig.shards = "d/0.tar"\n'
    f"ds = wds.WebDataset(config.shards, shardshuffle=False)\n{TEXT}\n{GO}",
    "an attribute of several": "class Data:\n"
    "    def __init__(self, urls):\n        self.urls = urls\n"
    "    def each(self, ending):\n        return wds.WebDataset(self.urls, shardshuffle=False)"
    '.to_tuple("jpg", ending)\nfor ds in (Data("d/0.tar").each("txt"), Data("v/0.tar")'
    f'.each("json")):\n    {GO}',
    "a stage that is appended": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'ds.append(wds.map(lambda one: {{**one, "json": 1}}))\n{RECORD}\n{GO}',
    "a stage that only some runs append": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'if not os.environ.get("PLAIN"):\n    ds.append(wds.map(lambda one: {{**one, "json": 1}}))\n'
    f"{RECORD}\n{GO}",
    "stages that only some runs append": 'stages = [wds.SimpleShardList("d/0.tar"), '
    'wds.tarfile_to_samples()]\nif not os.environ.get("PLAIN"):\n'
    '    stages.append(wds.map(lambda one: {**one, "json": 1}))\n'
    'stages.extend([wds.to_tuple("jpg", "json")])\nds = wds.DataPipeline(stages)\n' + GO,
    "one of two ends that is appended": 'stages = [wds.SimpleShardList("d/0.tar"), '
    'wds.tarfile_to_samples()]\nif os.environ.get("RECORDS"):\n'
    '    stages += [wds.to_tuple("jpg", "json")]\nelse:\n'
    '    stages += [wds.to_tuple("jpg", "txt")]\nds = wds.DataPipeline(*stages)\n' + GO,
    "stages that are appended in a loop": 'stages = [wds.SimpleShardList("d/0.tar"), '
    'wds.tarfile_to_samples()]\nfor name in ("json",):\n'
    "    stages.append(wds.map(lambda one: {**one, name: 1}))\n"
    'stages += [wds.to_tuple("jpg", "json")]\nds = wds.DataPipeline(*stages)\n' + GO,
    "a list that is made anew": 'stages = [wds.to_tuple("jpg", "json")]\n'
    'stages = [wds.SimpleShardList("d/0.tar")]\nstages.append(wds.tarfile_to_samples())\n'
    'stages.append(wds.to_tuple("jpg", "txt"))\nds = wds.DataPipeline(*stages)\n' + GO,
    "dropped by a handler": f'urls = "d/0.tar"\nds = {OPEN}\nds = ds.select(len)\n{TEXT}\n{GO}',
}

SHADOWED = {
    "a parameter": f'urls = "v/0.tar"\n\ndef run(urls):\n    ds = {OPEN}\n    {TEXT}\n    {GO}\n\n'
    'run("d/0.tar")\n',
    "a shared name": 'urls = "v/0.tar"\n\ndef choose():\n    global urls\n    urls = "d/0.tar"\n\n'
    f"def run():\n    choose()\n    ds = {OPEN}\n    {TEXT}\n    {GO}\n\nrun()\n",
    "a shared name of the file": 'urls = "v/0.tar"\n\ndef choose():\n    global urls\n'
    f'    urls = "d/0.tar"\n\nchoose()\nds = {OPEN}\n{TEXT}\n{GO}\n',
    "a constant list that changes": 'URLS = ["v/0.tar"]\n\ndef run():\n    URLS[0] = "d/0.tar"\n'
    f"    ds = wds.WebDataset(URLS, shardshuffle=False)\n    {TEXT}\n    {GO}\n\nrun()\n",
}


@pytest.mark.parametrize(
    "source",
    [*map(function, HEALTHY.values()), *(HEAD + one for one in SHADOWED.values())],
    ids=[*HEALTHY, *SHADOWED],
)
def test_a_script_that_runs_to_its_end_is_left_alone(
    job: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = found_by(job, source, monkeypatch)
    assert ended() == ""
    assert [one.message for one in found if one.severity is Severity.ERROR] == []


DAMAGED = {
    "a name": f'urls = "d/{{0..1}}.tar"\n{OPEN.join(("ds = ", ""))}\n{RECORD}\n{GO}',
    "a name, and a chain": f'urls = "d/0.tar"\nds = {OPEN}.to_tuple("jpg", "json")\n{GO}',
    "one stage to a line": 'ds = wds.WebDataset("d/0.tar", shardshuffle=False)\n'
    f'ds = ds.shuffle(3)\nds = ds.decode("pil")\n{RECORD}\n{GO}',
    "by other names": 'urls = "d/0.tar"\nraw = ' + OPEN + '\ndecoded = raw.decode("pil")\n'
    f'ds = decoded.to_tuple("jpg", "json")\n{GO}',
    "joined": f'root = "d"\nurls = os.path.join(root, "0.tar")\nds = {OPEN}\n{RECORD}\n{GO}',
    "of a text": f'root = "d"\nurls = f"{{root}}/0.tar"\nds = {OPEN}\n{RECORD}\n{GO}',
    "a list": f'urls = ["d/0.tar", "d/1.tar"]\nprint(len(urls))\nds = {OPEN}\n{RECORD}\n{GO}',
    "another one again": f'urls = "v/0.tar"\nurls = "d/0.tar"\nds = {OPEN}\n{RECORD}\n{GO}',
    "behind what only looks": f'urls = "d/0.tar"\nds = {OPEN}\nif os.environ.get("LOUD"):\n'
    f"    print(urls)\n{RECORD}\n{GO}",
    "the second of a name": f'urls = "d/0.tar"\nds = {OPEN}\n{TEXT}\n{GO}\n'
    f'urls = "d/1.tar"\nds = {OPEN}\n{RECORD}\n{GO}',
    "in a context": f'with open(os.devnull) as log:\n    urls = "d/0.tar"\n    ds = {OPEN}\n'
    f"{RECORD}\n{GO}",
    "found by a pattern": f'ds = wds.WebDataset(sorted(glob.glob("d/*.tar")), shardshuffle=False)\n'
    f"{RECORD}\n{GO}",
    "found by a joined pattern": 'root = "d"\nurls = glob.glob(os.path.join(root, "*.tar"))\n'
    f"urls.sort()\nds = {OPEN}\n{RECORD}\n{GO}",
    "found in a folder": "from pathlib import Path\n"
    f'urls = [str(one) for one in Path("d").glob("*.tar")]\nds = {OPEN}\n{RECORD}\n{GO}',
    "numbers": f'urls = [f"d/{{n}}.tar" for n in range(2)]\nds = {OPEN}\n{RECORD}\n{GO}',
    "numbers in a text": f'urls = ["d/%d.tar" % n for n in range(2)]\nds = {OPEN}\n{RECORD}\n{GO}',
    "braces": f'urls = list(braceexpand.braceexpand("d/{{0..1}}.tar"))\nds = {OPEN}\n'
    f"{RECORD}\n{GO}",
    "two lists": f'urls = ["d/0.tar"] + [f"d/{{n:01d}}.tar" for n in range(1, 2)]\nds = {OPEN}\n'
    f"{RECORD}\n{GO}",
    "fields by a name": f'urls, fields = "d/0.tar", ("jpg", "json")\n'
    f"ds = {OPEN}.to_tuple(*fields)\n{GO}",
    "fields as a list": f'urls, second = "d/0.tar", "json"\n'
    f'ds = {OPEN}.to_tuple(*["jpg", second])\n{GO}',
    "a list of stages": 'stages = [wds.SimpleShardList("d/0.tar"), wds.tarfile_to_samples(), '
    'wds.to_tuple("jpg", "json")]\nds = wds.DataPipeline(*stages)\n' + GO,
    "composed": f'urls = "d/0.tar"\nds = {OPEN}\nds = ds.compose(wds.to_tuple("jpg", "json"))\n'
    + GO,
    "an option": f"{ARGS}ds = wds.WebDataset(args.shards, shardshuffle=False)\n{RECORD}\n{GO}",
    "options of a function": "def options():\n    parser = argparse.ArgumentParser()\n"
    '    parser.add_argument("-s", "--shards", type=str, default="d/{0..1}.tar")\n'
    "    known, rest = parser.parse_known_args()\n    return known\n"
    "def make(args):\n    return wds.WebDataset(args.shards, shardshuffle=False)"
    f'.to_tuple("jpg", "json")\nargs = options()\nprint(args)\nds = make(args)\n{GO}',
    "a part of the address by an option": "parser = argparse.ArgumentParser()\n"
    'parser.add_argument("--root", default="d")\nargs = parser.parse_args([])\n'
    f'urls = os.path.join(args.root, "0.tar")\nds = {OPEN}\n{RECORD}\n{GO}',
    "a parameter's default": f'def make(urls="d/{{0..1}}.tar"):\n    ds = {OPEN}\n'
    f'    return ds.to_tuple("jpg", "json")\nds = make()\n{GO}',
    "what the only call gives": "def make(pattern, *, ending):\n"
    f'    urls = sorted(glob.glob(pattern))\n    return {OPEN}.to_tuple("jpg", ending)\n'
    f'ds = make("d/*.tar", ending="json")\n{GO}',
    "what the only call of the only call gives": f"def inner(urls):\n    ds = {OPEN}\n"
    '    return ds.to_tuple("jpg", "json")\ndef outer(folder):\n'
    f'    return inner(folder + "/0.tar")\nds = outer("d")\n{GO}',
    "a field of a class": "from dataclasses import dataclass\n@dataclass\nclass Config:\n"
    '    name: str = ""\n    shards: str = "d/{0..1}.tar"\nconfig = Config("a")\n'
    f"ds = wds.WebDataset(config.shards, shardshuffle=False)\n{RECORD}\n{GO}",
    "a field in a field": "from dataclasses import dataclass, field\n@dataclass\nclass Data:\n"
    '    shards: str = "d/0.tar"\n@dataclass\nclass Config:\n'
    "    data: Data = field(default_factory=Data)\ndef make(config: Config):\n"
    "    return wds.WebDataset(config.data.shards, shardshuffle=False)"
    f'.to_tuple("jpg", "json")\nds = make(Config())\n{GO}',
    "an attribute": "class Data:\n    def __init__(self, urls):\n        self.urls = urls\n"
    "    def make(self):\n        return wds.WebDataset(self.urls, shardshuffle=False)"
    f'.to_tuple("jpg", "json")\nds = Data("d/0.tar").make()\n{GO}',
    "stages that are appended": 'stages = [wds.SimpleShardList("d/0.tar")]\n'
    "stages.append(wds.tarfile_to_samples())\nstages.extend([wds.shuffle(3)])\n"
    'stages += [wds.to_tuple("jpg", "json")]\nds = wds.DataPipeline(*stages)\n' + GO,
    "a stage that is appended": f'urls = "d/0.tar"\nds = {OPEN}\n'
    f'ds.append(wds.to_tuple("jpg", "json"))\n{GO}',
    "a list of shards by name": 'shards = wds.SimpleShardList("d/0.tar")\nds = wds.DataPipeline('
    'shards, wds.tarfile_to_samples(), wds.to_tuple("jpg", "json"))\n' + GO,
}


@pytest.mark.parametrize("body", DAMAGED.values(), ids=DAMAGED)
def test_a_script_that_stops_at_its_first_sample_is_stopped(
    job: Path, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (found,) = found_by(job, function(body), monkeypatch)
    assert found.severity is Severity.ERROR
    assert "0 of " in found.message
    assert "json" in ended()


def test_what_two_make_of_one_pipeline_is_known_up_to_where_they_part() -> None:
    text = HEAD + 'a = wds.WebDataset("0.tar").decode()\nb = a.to_tuple("x")\nc = a.to_tuple("y")\n'
    (reads,) = written_in(parse_text(text), "train.py")
    assert reads.shards == ("0.tar",)
    assert [one.kind for one in reads.stages] == ["open", "expand", "group", "decode", "other"]


def test_names_that_stand_for_each_other_are_followed_to_no_end() -> None:
    text = "a = a.decode().WebDataset()\nb = c.decode()\nc = b.shuffle()\nwds.WebDataset(b)\n"
    assert len(written_in(parse_text(text), "train.py")) == 2
    for own in ("sorted(a)", "[*a]", "a + a", "[str(n) for n in a]", "(*a, *a)"):
        text = f"from shards import *\na = {own}\nWebDataset(a).to_tuple(*a)\nDataPipeline(*a)\n"
        assert [one.shards for one in written_in(parse_text(text), "train.py")] == [(), ()]


SHARDS = {
    '[f"{n:06d}.tar" for n in range(8, 11)]': ("000008.tar", "000009.tar", "000010.tar"),
    '["a-%03d.tar" % n for n in range(2)]': ("a-000.tar", "a-001.tar"),
    '["%s.tar" % n for n in range(4, 0, -3)]': ("4.tar", "1.tar"),
    'tuple(f"{N}/{n}.tar" for n in range(1))': ("7/0.tar",),
    '[f"{n:>9999}.tar" for n in range(2)]': (),
    '[f"{n!r:>4}.tar" for n in range(2)]': (),
    '[f"{n}.tar" for n in range(10**9)]': (),
    '[f"{n}.tar" for n in range(0)]': (),
    '[f"{n}.tar" for n in range(4) if n]': (),
    '["%d-%d.tar" % n for n in range(4)]': (),
    '["100%-%d.tar" % n for n in range(4)]': (),
    '[f"{m}{n}.tar" for n in range(4) for m in range(2)]': (),
    'braceexpand("{0..1}.tar")': ("0.tar", "1.tar"),
}


@pytest.mark.parametrize("urls", SHARDS)
def test_names_are_those_that_python_makes_of_it(urls: str) -> None:
    (reads,) = written_in(parse_text(f"N = 7\nx = WebDataset({urls})\n"), "train.py")
    assert reads.shards == SHARDS[urls]


def test_a_pattern_is_no_list_of_shards_that_are_missing(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = function(f'urls = glob.glob("none/*.tar")\nds = {OPEN}\n{RECORD}')
    assert found_by(job, source, monkeypatch) == []
    text = f'import glob\nurls = glob.glob("d/*.tar")\nds = {OPEN}\n'
    (reads,) = written_in(parse_text(text), "train.py")
    assert reads.shards == ("d/*.tar",)
    assert reads.by_pattern


def test_what_is_only_a_default_is_said_to_be_one(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ARGS.replace("[]", "")
    body = f"{options}ds = wds.WebDataset(args.shards, shardshuffle=False)\n"
    (found,) = found_by(job, function(f"{body}{RECORD}"), monkeypatch)
    assert "the default of --shards" in found.message
    absent = function(f"{body}{RECORD}".replace("d/0.tar", "none/0.tar"))
    assert found_by(job, absent, monkeypatch) == []
    opened = preflight.run("source=train.py", folder=str(job), no_ledger=True, elsewhere=True)
    assert [one for one in opened.findings if one.severity is Severity.ERROR] == []


def test_what_another_file_hands_over_is_known(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = f"{HEAD}def make(urls, fields):\n    return {OPEN}.to_tuple(*fields)\n"
    put(job, "data.py", content=data.encode())
    body = f'{ARGS}ds = make(args.shards, ("jpg", FIELD))\n{GO}'
    shared = 'from data import make\nOPEN = "v/0.tar"\nFIELD = "{}"\n'
    assert found_by(job, function(body, before=shared.format("txt")), monkeypatch) == []
    (found,) = found_by(job, function(body, before=shared.format("json")), monkeypatch)
    assert "0 of 4 samples" in found.message
    assert found.at.file == "data.py"
    monkeypatch.syspath_prepend(str(job))
    assert "json" in ended()


UNKNOWN = {
    "of a file": 'urls = open("shards.txt").read().split()',
    "behind a default": f"{ARGS.replace('d/0', 'none/0').replace('[]', '')}urls = args.shards",
}


@pytest.mark.parametrize("urls", UNKNOWN.values(), ids=UNKNOWN)
def test_a_pipeline_that_is_not_understood_is_told_with_a_command(
    job: Path, urls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may drop anything of what lies around, which a GO would cover."""
    put(job, "train.py", content=function(f"{urls}\nds = {OPEN}\n{RECORD}\n{GO}").encode())
    monkeypatch.chdir(job)
    report = preflight.run(folder=str(job), no_ledger=True, elsewhere=True)
    assert not any(one.check == "dataset-survival" for one in report.findings)
    (told,) = [one for one in report.reasons if "pipeline was not looked at" in one]
    line = next(
        n for n, one in enumerate(Path("train.py").read_text().splitlines(), 1) if OPEN in one
    )
    assert f"train.py:{line} reads" in told
    assert "preflight run train.py" in told
    assert not report.complete


OWN_CLASSES = """import webdataset as wds

class Images(wds.DataPipeline):
    def __init__(self, urls):
        super().__init__()
        self.append(wds.SimpleShardList(urls))
        self.append(wds.tarfile_to_samples())

class Pairs(Images):
    pass

class Unused(wds.WebDataset):
    pass

class Round(Around):
    pass

class Around(Round):
    pass

{made}
"""


@pytest.mark.parametrize(("made", "count"), [("data = Pairs('d/0.tar')", 1), ("", 0)])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_pipeline_that_a_class_makes_of_itself_is_told_where_one_is_made(
    job: Path, made: str, count: int, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool
) -> None:
    own = OWN_CLASSES.format(made="" if elsewhere else made)
    put(job, "images.py" if elsewhere else "train.py", content=own.encode())
    if elsewhere:
        put(job, "train.py", content=f"from images import Pairs\n{made}\n".encode())
    monkeypatch.chdir(job)
    report = preflight.run(folder=str(job), no_ledger=True, elsewhere=True)
    assert sum("pipeline was not looked at" in one for one in report.reasons) == count


def test_a_pipeline_that_is_understood_is_not_told_so(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(job)
    for urls in ("d/0.tar", "https://example.org/0.tar"):
        put(job, "train.py", content=function(f'urls = "{urls}"\nds = {OPEN}\n{TEXT}').encode())
        report = preflight.run(folder=str(job), no_ledger=True, elsewhere=True)
        assert not any("pipeline" in one for one in report.reasons)
