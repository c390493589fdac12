"""Loaders are found in the source, with as much of their workers as it tells."""

from __future__ import annotations

import pytest

from preflight.sources.loader_calls import LoaderCalls, loader_calls
from preflight.syntax.parsing import parse_text


def calls(text: str) -> LoaderCalls:
    """Look at code as a file would hold it."""
    return loader_calls(parse_text(text), "train.py")


def workers(text: str) -> list[bool | None]:
    """Say of each loader whether it has workers."""
    return [one.has_workers for one in calls(text).loaders]


NO_LOADER = {
    "nothing": "",
    "an import": "from torch.utils.data import DataLoader\n",
    "a class": "class DataLoader:\n    def __init__(self, num_workers=4): ...\n",
    "a type": "def show(loader: DataLoader) -> DataLoader: ...\n",
    "processes of a map": "data = data.map(tokenize, num_workers=4)\n",
    "a pool": "pool = make_pool(num_workers=4)\n",
    "a download": "download(urls, num_workers=4)\n",
    "a loader of something else": "config = yaml_loader(path)\n",
    "what holds a loader": "loader = make_loader()\n",
}


@pytest.mark.parametrize("text", NO_LOADER.values(), ids=NO_LOADER)
def test_what_makes_no_loader_is_left_alone(text: str) -> None:
    assert calls(text).loaders == ()


NONE = {
    "none given": "DataLoader(data, batch_size=4)",
    "a literal": "DataLoader(data, num_workers=0)",
    "by place": "DataLoader(data, 4, True, None, None, 0)",
    "a name": "WORKERS = 0\nDataLoader(data, num_workers=WORKERS)",
    "a name with a type": "WORKERS: int = 0\nDataLoader(data, num_workers=WORKERS)",
    "a default": "def make(num_workers=0):\n    return DataLoader(data, num_workers=num_workers)",
    "an option": (
        'p.add_argument("-j", "--workers", default=0)\nDataLoader(d, num_workers=args.workers)'
    ),
    "options in a dict": 'more = {"num_workers": 0}\nDataLoader(data, **more)',
    "options by dict()": "more = dict(num_workers=0)\nDataLoader(data, **more)",
    "options by key": 'more["num_workers"] = 0\nDataLoader(data, **more)',
    "not where it is spawned": (
        'DataLoader(data, num_workers=0 if sys.platform == "win32" else 4)'
    ),
    "not on Windows": 'n = 0 if os.name == "nt" else 4\nDataLoader(data, num_workers=n)',
    "the least": "DataLoader(data, num_workers=min(0, os.cpu_count()))",
    "a WebLoader": "wds.WebLoader(data, batch_size=None)",
}

SOME = {
    "a literal": "DataLoader(data, num_workers=4)",
    "with its module": "torch.utils.data.DataLoader(data, num_workers=4)",
    "by place": "DataLoader(data, 4, True, None, None, 2)",
    "a name": "WORKERS = 4\nDataLoader(data, num_workers=WORKERS)",
    "two names": "batch, WORKERS = 32, 4\nDataLoader(data, num_workers=WORKERS)",
    "a name of a name": "A = 4\nB = A\nDataLoader(data, num_workers=B)",
    "an attribute": "self.n = 4\nDataLoader(data, num_workers=self.n)",
    "a field": "class C:\n    workers: int = 4\nDataLoader(data, num_workers=cfg.workers)",
    "a key": 'cfg = {"workers": 4}\nDataLoader(data, num_workers=cfg["workers"])',
    "a key with a default": 'DataLoader(data, num_workers=cfg.get("workers", 4))',
    "a variable": 'DataLoader(data, num_workers=int(os.environ.get("WORKERS", "4")))',
    "an option": (
        'p.add_argument("--num-workers", type=int, default=4)\n'
        "DataLoader(data, num_workers=args.num_workers)"
    ),
    "an option of click": (
        '@click.option("--workers", default=4)\ndef main(workers):\n'
        "    DataLoader(data, num_workers=workers)"
    ),
    "handed on": (
        "def make(num_workers):\n    return DataLoader(d, num_workers=num_workers)\n"
        "train = make(num_workers=4)"
    ),
    "all processors": "DataLoader(data, num_workers=os.cpu_count())",
    "most processors": "DataLoader(data, num_workers=min(8, os.cpu_count()))",
    "allowed processors": "DataLoader(data, num_workers=len(os.sched_getaffinity(0)))",
    "at least one": "DataLoader(data, num_workers=max(1, n))",
    "options in a dict": (
        'more = {"num_workers": 1, "pin_memory": True} if cuda else {}\nDataLoader(data, **more)'
    ),
    "in turn": "DataLoader(data, num_workers=4 if big else 2)",
    "a WebLoader": "wds.WebLoader(data, num_workers=4).unbatched()",
    "an own loader": "create_loader(data, num_workers=4)",
    "loaders of fastai": "ImageDataLoaders.from_folder(path)\nDataLoaders(d, num_workers=4)",
    "a data module": "MNISTDataModule(num_workers=4)",
    "a partial": "make = partial(DataLoader, num_workers=4)",
    "a trainer's": 'TrainingArguments("out", dataloader_num_workers=4)',
}

UNTOLD = {
    "a parameter": "def make(n):\n    return DataLoader(data, num_workers=n)",
    "a setting": "DataLoader(data, num_workers=cfg.workers)",
    "both": "n = 0\nif big:\n    n = 4\nDataLoader(data, num_workers=n)",
    "one of both": "DataLoader(data, num_workers=4 if cuda else 0)",
    "options": "DataLoader(data, **options)",
    "arguments": "DataLoader(*arguments)",
    "a partial": "make = partial(DataLoader, data)",
    "computed": "DataLoader(data, num_workers=os.cpu_count() // 2)",
    "a flag": "DataLoader(data, num_workers=True)",
    "nothing": "DataLoader(data, num_workers=None)",
    "itself": "n = n\nDataLoader(data, num_workers=n)",
    "in a circle": "a = b\nb = a\nDataLoader(data, num_workers=a)",
}

WORKERS = {
    "without workers": (NONE, False),
    "with workers": (SOME, True),
    "not told": (UNTOLD, None),
}


@pytest.mark.parametrize(
    ("text", "has_workers"),
    [
        pytest.param(text, has_workers, id=f"{word}: {name}")
        for word, (texts, has_workers) in WORKERS.items()
        for name, text in texts.items()
    ],
)
def test_a_loader_says_of_its_workers_what_the_source_tells(
    text: str,
    has_workers: bool | None,  # noqa: FBT001  a parametrized value
) -> None:
    assert workers(text) == [has_workers]


def test_values_are_followed_without_end_and_without_cost() -> None:
    """Whatever the parser takes."""
    chain = "".join(f"n{number} = n{number + 1}\n" for number in range(2_000))
    web = "".join(f"m{one} = f(m{one + 1}, m{one + 1})\n" * 9 for one in range(200))
    deep = "int(" * 80 + "1" + ")" * 80

    assert workers(f"{chain}{web}DataLoader(d, num_workers=n0)") == [None]
    assert workers(f"{web}DataLoader(d, num_workers=m0)") == [None]
    assert workers(f"DataLoader(d, num_workers={deep})") == [None]


def test_a_loader_says_where_it_is_and_what_is_written_there() -> None:
    (found,) = calls("a = 1\nloader = DataLoader(\n    data, num_workers=args.  workers)\n").loaders

    assert (found.file, found.line, found.num_workers) == ("train.py", 2, "args. workers")


METHODS = {
    "its own": ('DataLoader(d, multiprocessing_context="spawn")', "spawn"),
    "a context": ('DataLoader(d, multiprocessing_context=mp.get_context("fork"))', "fork"),
    "a context of a name": (
        'ctx = mp.get_context("forkserver")\nDataLoader(d, multiprocessing_context=ctx)',
        "forkserver",
    ),
    "a method by keyword": (
        'DataLoader(d, multiprocessing_context=get_context(method="spawn"))',
        "spawn",
    ),
    "a context that nobody gives it": ('q = get_context("spawn").Queue()\nDataLoader(d)', None),
    "one of two contexts": (
        'a = get_context("spawn")\nb = get_context("fork")\nDataLoader(multiprocessing_context=a)',
        None,
    ),
    "a name": ("DataLoader(d, multiprocessing_context=method)", None),
    "none": ("DataLoader(d, multiprocessing_context=None)", None),
    "no such": ('DataLoader(d, multiprocessing_context="thread")', None),
}


@pytest.mark.parametrize(("text", "method"), METHODS.values(), ids=METHODS)
def test_a_loaders_own_start_method_is_read(text: str, method: str | None) -> None:
    (found,) = calls(text).loaders

    assert found.start_method == method


SETS = {
    "at the top": ('mp.set_start_method("spawn", force=True)', ["spawn"]),
    "by keyword": ('set_start_method(method="forkserver")', ["forkserver"]),
    "in a try": (
        'try:\n    mp.set_start_method("spawn")\nexcept RuntimeError:\n    pass',
        ["spawn"],
    ),
    "as the main module": (
        'if __name__ == "__main__":\n    mp.set_start_method("spawn")',
        ["spawn"],
    ),
    "on one platform": ('if sys.platform == "darwin":\n    mp.set_start_method("spawn")', []),
    "on demand": ('if args.spawn:\n    mp.set_start_method("spawn")', []),
    "by a name": ("mp.set_start_method(method)", []),
    "of nothing": ("mp.set_start_method()", []),
}


@pytest.mark.parametrize(("text", "methods"), SETS.values(), ids=SETS)
def test_what_the_source_sets_for_all_is_read(text: str, methods: list[str]) -> None:
    assert [one.method for one in calls(f"{text}\nDataLoader(d)").methods] == methods
