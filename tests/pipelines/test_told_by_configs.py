"""Addresses that stand in files of settings are known where it is plain what the file says."""

from __future__ import annotations

import gc
import os
import runpy
import sys
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Finding, Severity
from preflight.findings.report import Report
from preflight.pipelines.names.command_line import StartOfScript
from preflight.pipelines.written import written_in_all
from preflight.syntax.parsing import parse_text
from tests.archives import photo, tarred
from tests.files import put

pytestmark = [
    pytest.mark.usefixtures("at_hand"),
    # webdataset leaves shards open, and says a word about some ways to take them.
    pytest.mark.filterwarnings("ignore"),
]

CONFIGS = {
    "a.yaml": "data:\n  shards: d/{0..1}.tar\n  list: [d/0.tar, d/1.tar]\n  root: d\nsize: 4\n",
    "v.yaml": "data:\n  shards: v/0.tar\n",
    "a.json": '{"shards": "d/0.tar", "fields": ["jpg", "json"]}',
    "a.toml": '[data]\nshards = "d/0.tar"\n',
    "more/a.yaml": "shards: d/0.tar\n",
    "more/v.yaml": "shards: v/0.tar\n",
    "put.yaml": "root: v\nshards: ${root}/0.tar\n",
    "base.yaml": "_base_: a.yaml\nshards: v/0.tar\n",
}
HEAD = (
    "import argparse, json, os\nfrom pathlib import Path\nimport yaml\nimport webdataset as wds\n"
)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Shards of images with texts, others of images with records, and files of settings."""
    for folder, ending in (("d", "txt"), ("v", "json")):
        for number in range(2):
            members = {}
            for key in range(4):
                members[f"{number}{key}.jpg"] = photo(width=16, height=16)
                members[f"{number}{key}.{ending}"] = b"17"
            put(tmp_path, f"{folder}/{number}.tar", content=tarred(members))
    for name, text in CONFIGS.items():
        put(tmp_path, name, content=text.encode())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def looked(job: Path, source: str, *words: str) -> Report:
    put(job, "train.py", content=source.encode())
    report = preflight.run(*words, folder=str(job), no_ledger=True, elsewhere=True)
    assert not any(one.broken for one in report.checks)
    return report


def shards_of(job: Path, source: str, *words: str) -> tuple[str, ...]:
    """Write the script, and give the shards that it reads, as far as that is known."""
    put(job, "train.py", content=source.encode())
    (reads,) = written_in_all([("train.py", parse_text(source))], StartOfScript([str(job)], words))
    assert bool(reads.config) == bool(reads.shards)
    return reads.shards


def lost(report: Report) -> list[Finding]:
    return [one for one in report.findings if one.check == "dataset-survival"]


def ended() -> str:
    """Run the script itself, and give what it stops at."""
    try:
        runpy.run_path("train.py", run_name="__main__")
    except ValueError as error:
        return str(error)
    finally:
        gc.collect()
    return ""


def script(body: str, *, before: str = "") -> str:
    lines = "".join(f"    {one}\n" for one in body.splitlines())
    return f'{HEAD}{before}\ndef main():\n{lines}\nif __name__ == "__main__":\n    main()\n'


def reading(load: str, urls: str, fields: str = '"jpg", "json"') -> str:
    return f"{load}\nfor x in wds.WebDataset({urls}, shardshuffle=False).to_tuple({fields}): pass"


WITH = 'with open("{}") as f:\n    cfg = yaml.safe_load(f)'
PLAIN = WITH.format("a.yaml")
OF_V = WITH.format("v.yaml")
OPTION = """parser = argparse.ArgumentParser()
parser.add_argument("-c", "--config", default="a.yaml")
args = parser.parse_args([])
"""
SHARDS = 'cfg["data"]["shards"]'
DATA = """class Data:
    def __init__(self, urls):
        self.data = wds.WebDataset(urls, shardshuffle=False).to_tuple("jpg", "json")

"""

DAMAGED = {
    "a key of a key": script(reading(PLAIN, SHARDS)),
    "in one step": script(
        reading("", 'yaml.safe_load(open("a.yaml", encoding="utf-8"))["data"]["shards"]')
    ),
    "a list": script(reading(PLAIN, 'cfg["data"]["list"]')),
    "a part by its name": script(
        reading(f'{PLAIN}\ndata = cfg["data"]\nurls = data.get("shards", "")', "urls")
    ),
    "a part of an address": script(reading(PLAIN, "os.path.join(cfg['data']['root'], '0.tar')")),
    "by a loader": script(
        reading('cfg = yaml.load(open("a.yaml"), Loader=yaml.SafeLoader)', SHARDS)
    ),
    "of a text": script(reading('cfg = yaml.safe_load(Path("a.yaml").read_text())', SHARDS)),
    "JSON": script(reading('cfg = json.load(open("a.json"))', 'cfg["shards"]', '*cfg["fields"]')),
    "JSON of a text": script(
        reading('cfg = json.loads(Path("a.json").read_text())', 'cfg["shards"]')
    ),
    "handed over": script(
        f'{PLAIN}\nprint(cfg)\nmake(cfg["data"], size=cfg["size"])',
        before="def make(data, size):\n    "
        'for x in wds.WebDataset(data["shards"]).to_tuple("jpg", "json"): pass\n',
    ),
    "a function that reads it": script(
        reading('cfg = load("a.yaml")', SHARDS),
        before="def load(path):\n    with open(path) as f:\n        return yaml.safe_load(f)\n",
    ),
    "at the top": script(
        reading("", 'CFG["data"]["shards"]'),
        before=OF_V.replace("v", "a").replace("cfg =", "CFG ="),
    ),
    "an attribute": script(
        'Data("a.yaml").go()',
        before="class Data:\n    def __init__(self, path):\n"
        "        self.cfg = yaml.safe_load(open(path))\n    def go(self):\n"
        '        self.shards = self.cfg["data"]["shards"]\n'
        '        for x in wds.WebDataset(self.shards).to_tuple("jpg", "json"): pass\n',
    ),
    "attributes of keys": script(
        reading(f"{PLAIN}\ndata = argparse.Namespace(**cfg['data'])", "data.shards")
    ),
    "another key is changed": script(reading(f'{PLAIN}\ncfg["size"] = 8', SHARDS)),
    "other settings are changed": script(
        reading(f'{PLAIN}\nother = yaml.safe_load(open("v.yaml"))\nother.update(a=1)', SHARDS)
    ),
    "an option's default": script(
        reading(f"{OPTION}with open(args.config) as f:\n    cfg = yaml.safe_load(f)", SHARDS)
    ),
    "beside the script": script(
        reading(
            "at = os.path.dirname(os.path.abspath(__file__))\ncfg = yaml.safe_load(open("
            'os.path.join(at, "a.yaml")))',
            SHARDS,
        )
    ),
    "fields of a class": script(
        reading(f"{PLAIN}\ndata = Data(**cfg['data'])", "data.shards"),
        before="from dataclasses import dataclass\n@dataclass\nclass Data:\n"
        '    shards: str = "v/0.tar"\n    list: tuple = ()\n    root: str = ""\n',
    ),
    "one of two functions of a name": script(
        reading("cfg = load()", SHARDS),
        before="def load():\n    return yaml.safe_load(open('a.yaml'))\n\nclass Other:\n"
        "    def load(self, path):\n        return yaml.safe_load(open(path))\n",
    ),
    "a class that another one comes from": script(
        f"{PLAIN}\nfor x in Data({SHARDS}).data: pass",
        before=DATA + "class Other(Data):\n    def __init__(self):\n        self.data = []\n",
    ),
    "a value is handed on": script(
        reading(f'{PLAIN}\nset_size(cfg["size"])', SHARDS),
        before="def set_size(size):\n    return size\n",
    ),
    "OmegaConf": script(
        reading('cfg = OmegaConf.load("a.yaml")', "cfg.data.shards"),
        before="from omegaconf import OmegaConf\n",
    ),
    "OmegaConf of what was read": script(
        reading(
            f"{PLAIN}\ncfg = OmegaConf.create(cfg)\nprint(OmegaConf.to_yaml(cfg))",
            "cfg.data.shards",
        ),
        before="from omegaconf import OmegaConf\n",
    ),
}


@pytest.mark.parametrize("source", DAMAGED.values(), ids=DAMAGED)
def test_shards_that_settings_say_are_known(job: Path, source: str) -> None:
    assert {one[:2] for one in shards_of(job, source)} == {"d/"}
    if "omegaconf" in source:
        pytest.importorskip("omegaconf")
    assert "json" in ended()


HEALTHY = {
    "a key of a key": script(reading(OF_V, SHARDS)),
    "another value": script(reading(f'{PLAIN}\ncfg["data"]["shards"] = "v/0.tar"', SHARDS)),
    "another part": script(reading(f'{PLAIN}\ncfg["data"] = {{"shards": "v/0.tar"}}', SHARDS)),
    "another value by another name": script(
        reading(f'{PLAIN}\ndata = cfg["data"]\ndata["shards"] = "v/0.tar"', SHARDS)
    ),
    "updated": script(reading(f'{PLAIN}\ncfg["data"].update(shards="v/0.tar")', SHARDS)),
    "merged": script(reading(f'{PLAIN}\ncfg = {{**cfg, "data": {{"shards": "v/0.tar"}}}}', SHARDS)),
    "given by names": script(
        reading(f'{PLAIN}\nfor key in ["shards"]:\n    cfg["data"][key] = "v/0.tar"', SHARDS)
    ),
    "given in a function": script(
        reading(f"{PLAIN}\nsettle(cfg)", SHARDS),
        before='def settle(it):\n    it["data"]["shards"] = "v/0.tar"\n',
    ),
    "given by names in a function": script(
        reading(f"{PLAIN}\nsettle(cfg['data'], [('shards', 'v/0.tar')])", SHARDS),
        before="def settle(it, pairs):\n    for key, value in pairs:\n        it[key] = value\n",
    ),
    "given by names in a function that is called twice": script(
        reading(
            f"{PLAIN}\nsettle({{}}, 'a', '')\nsettle(cfg['data'], 'shards', 'v/0.tar')", SHARDS
        ),
        before="def settle(it, key, value):\n    it[key] = value\n",
    ),
    "one of two": script(
        reading(
            'path = "a.yaml" if os.environ.get("SMALL") else "v.yaml"\n'
            "cfg = yaml.safe_load(open(path))",
            SHARDS,
        )
    ),
    "another file behind a test": script(
        reading(
            f'{PLAIN}\nif not os.environ.get("SMALL"):\n    {OF_V.splitlines()[0]}\n'
            f"        cfg = yaml.safe_load(f)",
            SHARDS,
        )
    ),
    "a function that reads several": script(
        reading('load("a.yaml")\ncfg = load("v.yaml")', SHARDS),
        before="def load(path):\n    with open(path) as f:\n        return yaml.safe_load(f)\n",
    ),
    "a function that ends in two places": script(
        reading("cfg = load(True)", SHARDS),
        before="def load(big):\n    if big:\n        return yaml.safe_load(open('v.yaml'))\n"
        "    return yaml.safe_load(open('a.yaml'))\n",
    ),
    "settings that take others in": script(
        reading(
            'cfg = yaml.safe_load(open("base.yaml"))\n'
            'cfg = yaml.safe_load(open(cfg["_base_"])) | cfg',
            'cfg["shards"]',
        )
    ),
    "another file of the same name": script(
        reading(
            'os.chdir("more")\ncfg = yaml.safe_load(open("v.yaml"))\nos.chdir("..")',
            'cfg["shards"]',
        )
    ),
    "a key of no settings": script(
        reading(f'{PLAIN}\ncfg = {{"data": {{"shards": "v/0.tar"}}}}', SHARDS)
    ),
    "a comprehension's own": script(
        f"{PLAIN}\nfor x in [1 for cfg in ({{'data': {{'shards': 'v/0.tar'}}}},) "
        f'for _ in wds.WebDataset({SHARDS}, shardshuffle=False).to_tuple("jpg", "json")]: pass'
    ),
    "a parameter": script(
        f"{PLAIN}\ngo({{'data': {{'shards': 'v/0.tar'}}}})",
        before=f"def go(cfg):\n    {reading('', SHARDS).strip()}\n",
    ),
    "an option that is set": script(
        reading(f'{OPTION}args.config = "v.yaml"\ncfg = yaml.safe_load(open(args.config))', SHARDS)
    ),
    "fields that a class has by itself": script(
        reading(f'{PLAIN}\ndata = Data(**cfg["data"])', "data.shards"),
        before="class Data:\n    shards: str\n    def __init__(self, shards, list, root):\n"
        '        self.shards = "v/0.tar"\n',
    ),
    "a class that another one makes of itself": script(
        f'{PLAIN}\nsmall = os.environ.get("SMALL")\n'
        f"for x in (Data({SHARDS}) if small else Child()).data: pass",
        before=f"{DATA}class Child(Data):\n    def __init__(self):\n"
        '        super().__init__("v/0.tar")\n',
    ),
    "what is put together": script(
        reading('cfg = OmegaConf.load("put.yaml")', "cfg.shards"),
        before="from omegaconf import OmegaConf\n",
    ),
    "merged with words": script(
        reading(
            'cfg = OmegaConf.merge(OmegaConf.load("a.yaml"), OmegaConf.from_dotlist('
            '["data.shards=v/0.tar"]))',
            "cfg.data.shards",
        ),
        before="from omegaconf import OmegaConf\n",
    ),
    "updated by a path of keys": script(
        reading(
            'cfg = OmegaConf.load("a.yaml")\nOmegaConf.update(cfg, "data.shards", "v/0.tar")',
            "cfg.data.shards",
        ),
        before="from omegaconf import OmegaConf\n",
    ),
}


@pytest.mark.parametrize("source", HEALTHY.values(), ids=HEALTHY)
def test_what_may_be_others_is_not_claimed(job: Path, source: str) -> None:
    assert {one[:2] for one in shards_of(job, source)} <= {"v/"}
    if "omegaconf" in source:
        pytest.importorskip("omegaconf")
    assert ended() == ""


ASKED = """parser = argparse.ArgumentParser()
parser.add_argument("config")
parser.add_argument("-s", "--settings", "--of", required=True)
parser.add_argument("--size", type=int, default=4)
args = parser.parse_args()
"""
WORDS = {
    "an option": (["x", "--settings", "a.yaml"], "args.settings", ["d/0.tar", "d/1.tar"]),
    "an option with a sign": (["x", "--settings=v.yaml"], "args.settings", ["v/0.tar"]),
    "a short option": (["x", "--size", "3", "-s", "v.yaml"], "args.settings", ["v/0.tar"]),
    "short for an option": (["x", "--set", "v.yaml"], "args.settings", []),
    "a short one with its value": (["x", "-sv.yaml"], "args.settings", []),
    "no option": (["v.yaml", "-s", "a.yaml"], "args.config", ["v/0.tar"]),
    "no option behind one": (["-s", "a.yaml", "v.yaml"], "args.config", []),
    "nothing": ([], "args.config", []),
}


@pytest.mark.parametrize(("words", "path", "shards"), WORDS.values(), ids=WORDS)
def test_words_of_the_command_line_name_the_file(
    job: Path, words: list[str], path: str, shards: list[str]
) -> None:
    source = script(reading(f"{ASKED}cfg = yaml.safe_load(open({path}))", SHARDS))
    assert list(shards_of(job, source, *words)) == shards


MERGED = """from omegaconf import OmegaConf
import webdataset as wds

class Images:
    def __init__(self, urls, size=3):
        self.data = wds.WebDataset(urls, shardshuffle=False).to_tuple("jpg", "json")

def get_config():
    words = OmegaConf.from_cli()
    config = OmegaConf.load(words.config)
    return OmegaConf.merge(config, words)

def main():
    config = get_config()
    data = config.data
    if config.get("size", 0) > 3:
        images = Images(data.shards, size=config.size)
    else:
        images = Images(data.shards)
    for x in images.data: pass

if __name__ == "__main__":
    main()
"""
OVERRULED = {
    "as the file has it": (["config=a.yaml"], "d/"),
    "of another file": (["config=v.yaml"], "v/"),
    "as a word has it": (["config=a.yaml", "data.shards=v/0.tar"], "v/"),
    "with another word": (["config=a.yaml", "data.root=v", "size=2"], "d/"),
    "with a list": (["config=a.yaml", "data.shards=[v/0.tar]"], ""),
    "by what is put together": (["config=a.yaml", "data.shards=${data.root}/0.tar"], ""),
    "no words": ([], ""),
}


@pytest.mark.parametrize(("words", "known"), OVERRULED.values(), ids=OVERRULED)
def test_words_overrule_the_file_that_they_name(
    job: Path, words: list[str], known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = shards_of(job, MERGED, *words)
    assert {one[:2] for one in shards} == ({known} if known else set())
    if known:
        pytest.importorskip("omegaconf")
        monkeypatch.setattr(sys, "argv", ["train.py", *words])
        assert ("json" in ended()) == (known == "d/")


# --- Hydra


HYDRA = """import hydra
import webdataset as wds

@hydra.main(version_base={version}, config_path="conf", config_name="{name}")
def main(cfg):
    for x in wds.WebDataset(cfg.data.shards).to_tuple("jpg", "json"): pass

if __name__ == "__main__":
    main()
"""
COMPOSED = {
    "conf/plain.yaml": "data:\n  shards: d/0.tar\n",
    "conf/groups.yaml": "defaults:\n  - data: d\n  - optional model: none\n  - _self_\nlr: 1\n",
    "conf/data/d.yaml": "shards: d/0.tar\n",
    "conf/both.yaml": "defaults:\n  - data: d\n  - _self_\ndata:\n  shards: v/0.tar\n",
    "conf/packed.yaml": "defaults:\n  - data: p\n",
    "conf/data/p.yaml": "# @package _global_\nshards: v/0.tar\n",
    "conf/absent.yaml": "defaults:\n  - data: none\ndata:\n  shards: d/0.tar\n",
    "conf/moved.yaml": "data:\n  shards: d/0.tar\nhydra:\n  job:\n    chdir: true\n",
    "conf/logged.yaml": "defaults:\n  - plain\n  - override hydra/job_logging: none\n",
}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("plain", True),
        ("logged", True),
        ("both", False),
        ("packed", False),
        ("absent", False),
        ("moved", False),
        ("groups", True),
    ],
)
def test_what_hydra_composes_is_known_where_one_file_says_it(
    job: Path, name: str, *, known: bool
) -> None:
    for file, text in COMPOSED.items():
        put(job, file, content=text.encode())
    assert bool(shards_of(job, HYDRA.format(version='"1.2"', name=name))) == known
    assert bool(shards_of(job, HYDRA.format(version="None", name=name))) == known
    assert shards_of(job, HYDRA.format(version='"1.1"', name=name)) == ()  # which changes folder
    assert shards_of(job, HYDRA.format(version="None", name=name), "data=v") == ()


@pytest.mark.skipif(sys.platform == "win32", reason="has no pipes with names")
def test_settings_without_an_end_are_not_waited_for(job: Path) -> None:
    put(job, "conf/round.yaml", content=b"defaults:\n  - data: r\ndata: &a\n  data: *a\n")
    put(job, "conf/data/r.yaml", content=b"data: &a\n  data: *a\n")
    put(job, "conf/self.yaml", content=b"defaults:\n  - self\n")
    os.mkfifo(job / "conf/pipe.yaml")
    put(job, "conf/piped.yaml", content=b"defaults:\n  - pipe\n")
    for name in ("round", "self", "pipe", "piped"):
        assert shards_of(job, HYDRA.format(version="None", name=name)) == ()


# --- in a run


def test_what_settings_say_is_held_against_the_shards(job: Path) -> None:
    report = looked(job, script(reading(PLAIN, SHARDS)))
    (found,) = lost(report)
    assert "0 of 8 samples" in found.message
    assert "a.yaml" in found.message
    assert found.severity is Severity.ERROR
    report = looked(job, script(reading(PLAIN, SHARDS, '"jpg", "txt"')))
    assert report.findings == ()
    assert not any("pipeline" in one for one in report.reasons)


def test_shards_that_settings_name_and_that_are_not_there_are_missing(job: Path) -> None:
    put(job, "a.yaml", content=b"data:\n  shards: d/{0..2}.tar\n")
    put(job, "train.py", content=script(reading(PLAIN, SHARDS, '"jpg", "txt"')).encode())
    report = preflight.run("d", "source=train.py", folder=str(job), no_ledger=True)
    (found,) = [one for one in report.findings if one.check == "shard-missing"]
    assert "as a.yaml has it" in found.message
    assert "2.tar" in found.message


def test_settings_that_are_not_understood_are_told_so(job: Path) -> None:
    for text in ("data:\n  shards: ${oc.env:SHARDS}\n", "data: [", "_base_: v.yaml\ndata: {}\n"):
        put(job, "a.yaml", content=text.encode())
        report = looked(job, script(reading(PLAIN, SHARDS)))
        assert lost(report) == []
        assert any("pipeline was not looked at" in one for one in report.reasons)
        assert not report.complete


def test_settings_that_changed_are_read_again(job: Path) -> None:
    put(job, "train.py", content=script(reading(PLAIN, SHARDS)).encode())
    for path in (*job.glob("*.py"), *job.glob("*.yaml"), *job.glob("*/*.tar")):
        os.utime(path, (1e9, 1e9))
    for number, (name, count) in enumerate((("a", 1), ("v", 0), ("a", 1))):
        put(job, "a.yaml", content=CONFIGS[f"{name}.yaml"].encode())
        os.utime(job / "a.yaml", (2e9 - number, 1e9 + number))
        for _ in range(2):
            report = preflight.run(folder=str(job), elsewhere=True)
            assert len(lost(report)) == count


def test_the_script_that_trains_is_followed_and_named(job: Path) -> None:
    """Before another that nobody imports either, and what is imported is not started."""
    data = f"{HEAD}def make(urls):\n    return wds.WebDataset(urls, shardshuffle=False)\n"
    put(job, "train_tools.py", content=data.encode())
    body = (
        reading(PLAIN, SHARDS)
        .replace("wds.WebDataset(", "make(")
        .replace(", shardshuffle=False", "")
    )
    for name in ("sample_images.py", "train_vae.py"):
        text = script(body, before="from train_tools import make\n")
        put(job, name, content=text.replace("a.yaml", "none.yaml").encode())
    report = preflight.run(folder=str(job), no_ledger=True, elsewhere=True)
    (told,) = [one for one in report.reasons if "pipeline was not looked at" in one]
    assert "preflight run train_vae.py meets it" in told
