"""What a loader sends is walked, where it is made is said, and how its workers start."""

# ruff: noqa: D101  the classes stand for a user's

from __future__ import annotations

import bz2
import enum
import functools
import gzip
import io
import multiprocessing
import multiprocessing.pool
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import webdataset
from torch.utils.data import DataLoader, Dataset, Sampler

from preflight.host.start_method import default_start_method
from preflight.kinds.asked import CannotLookError
from preflight.loaders.facts import Sent
from preflight.loaders.refused import kind_of
from preflight.loaders.sent import Known, is_dataset, is_loader, walk_loader
from preflight.loaders.workers.starting import FROM_LAUNCH, FROM_LOADER, configured
from preflight.objects.facts import Definition
from tests.conftest import said_by

HERE = str(Path(__file__).parent)


class Numbers(Dataset[int]):
    def __init__(self, **held: object) -> None:
        self.__dict__.update(held)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index


class Opened(Numbers):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Backwards(Sampler[int]):
    def __init__(self) -> None:
        self.key = lambda n: -n

    def __iter__(self) -> Any:
        return iter([3, 2, 1, 0])

    def __len__(self) -> int:
        return 4


def as_is(batch: object) -> object:
    return batch


def look(loader: object, **settings: Any) -> Sent:
    return walk_loader(loader, Known("train:loader", HERE, **{"start_method": "spawn"} | settings))


def pipeline(*stages: object) -> Any:
    return webdataset.DataPipeline(
        webdataset.SimpleShardList("data/{000..003}.tar"), webdataset.tarfile_to_samples(), *stages
    )


HEALTHY = {
    "a plain loader": lambda: DataLoader(Numbers(), num_workers=1),
    "a loader with functions of a module": lambda: DataLoader(
        Numbers(), num_workers=1, collate_fn=as_is, worker_init_fn=functools.partial(max, 1)
    ),
    "a pipeline of webdataset": lambda: DataLoader(
        pipeline(webdataset.shuffle(10), webdataset.map(as_is), webdataset.to_tuple("json", "txt")),
        num_workers=1,
        batch_size=None,
    ),
    "a fluid pipeline": lambda: webdataset.WebLoader(
        webdataset.WebDataset("data/{000..003}.tar", shardshuffle=False).map(as_is), num_workers=1
    ),
    "a sampler with a lambda": lambda: DataLoader(Numbers(), sampler=Backwards(), num_workers=1),
    "a generator": lambda: DataLoader(
        Numbers(), shuffle=True, generator=torch.Generator(), num_workers=1
    ),
}


@pytest.mark.parametrize("make", HEALTHY.values(), ids=HEALTHY.keys())
def test_a_healthy_loader_is_left_alone(make: Any) -> None:
    """Also where it holds a lambda that stays in the training process."""
    sent = look(make())

    assert (sent.objects, sent.cut) == ((), ())
    assert sent.num_workers > 0


def test_everything_that_cannot_be_sent_is_named_with_its_place() -> None:
    longest = 3
    loader = DataLoader(
        pipeline(webdataset.map(lambda x: x), webdataset.select(lambda x: x != longest)),
        num_workers=1,
        batch_size=None,
        collate_fn=lambda x: x,
    )
    sent = look(loader)

    assert [(one.kind, one.paths, one.captures) for one in sent.objects] == [
        ("lambda", ("dataset.pipeline[2].args[0]",), ()),
        ("lambda", ("dataset.pipeline[3].args[0]",), ("longest",)),
        ("lambda", ("collate_fn",), ()),
    ]
    assert {one.defined.file for one in sent.objects} == {"test_sent.py"}
    assert all("lambda" in (one.defined.line_text or "") for one in sent.objects)


def test_what_is_written_in_c_is_placed_at_the_line_that_keeps_it() -> None:
    (lock,) = look(DataLoader(Opened(), num_workers=1)).objects

    assert (lock.kind, lock.paths) == ("lock", ("dataset.lock",))
    assert lock.defined.line_text == "self.lock = threading.Lock()"
    assert lock.error == "TypeError: cannot pickle '_thread.lock' object"


def closed_file() -> object:
    with open(os.devnull, "rb") as file:
        return file


def local_class() -> object:
    class Inner:
        pass

    return Inner()


def local_function() -> object:
    def inner() -> None:
        pass

    return inner


def renamed() -> object:
    function = eval("lambda: 0")
    function.__name__ = function.__qualname__ = "as_is"
    function.__module__ = __name__
    return function


def decorated() -> Any:
    def around() -> None:
        pass

    around.__qualname__ = "as_is"
    return around


def made_by_name(name: str) -> Any:
    made: dict[str, Any] = {"__name__": __name__}
    exec(f"def {name}(x): return x\nclass Made:\n    def as_is(self): pass", made)
    return made


WRONG = enum.Enum("Wright", "A B")  # its class says that it is called so

KINDS = {
    "lambda": lambda: lambda: 0,
    "local-function": local_function,
    "local-class": local_class,
    "rebound": decorated,
    "unnamed": lambda: made_by_name("made")["made"],
    "module": lambda: sys,
    "generator": lambda: (n for n in "a"),
    "lock": threading.RLock,
    "file": closed_file,
    "handle": lambda: __import__("sqlite3").connect(":memory:"),
    "tensor": lambda: torch.ones(1, requires_grad=True) * 2,
    "other": lambda: type(sys.implementation)(a=memoryview(b"a")).a,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_told_by_the_object(kind: str) -> None:
    """And never by the words of an error, which change with Python."""
    held = KINDS[kind]()
    (one,) = look(DataLoader(Numbers(held=held), num_workers=1)).objects
    if kind == "handle":
        held.close()

    assert one.kind == kind
    assert one.text


NAMES = {
    "a function that was made by exec": (
        lambda: made_by_name("made")["made"],
        f"function made, which {__name__} does not hold",
    ),
    "a class that was made by exec": (
        lambda: made_by_name("made")["Made"],
        f"class Made, which {__name__} does not hold",
    ),
    "a method of a class that was made by exec": (
        lambda: made_by_name("made")["Made"].as_is,
        f"function Made.as_is, which {__name__} does not hold",
    ),
    "an enum that is called otherwise": (
        lambda: WRONG.A,
        f"class Wright, which {__name__} does not hold",
    ),
    "a function under the name of another one": (
        lambda: made_by_name("as_is")["as_is"],
        "function as_is, whose name means something else",
    ),
    "a method that was exchanged": (
        lambda: renamed_to("Numbers.__len__"),
        "function Numbers.__len__, whose name means something else",
    ),
    "a function of a module that is not there": (
        lambda: renamed_to("as_is", module="nowhere.\x1b"),
        "function as_is, which nowhere.\\x1b does not hold",
    ),
    "a function of no module": (
        lambda: renamed_to("made", module=None),
        "function made, which no module holds",
    ),
}


def test_what_is_there_under_its_own_name_is_refused_for_another_reason() -> None:
    assert [kind_of(one) for one in (as_is, Numbers, Numbers.__len__)] == ["other"] * 3


def renamed_to(qualname: str, module: Any = __name__) -> Any:
    def around() -> None:
        pass

    around.__qualname__ = qualname
    around.__name__ = qualname.rpartition(".")[2]
    around.__module__ = module
    return around


@pytest.mark.parametrize(("make", "text"), NAMES.values(), ids=NAMES.keys())
def test_what_is_under_a_name_is_said_as_it_is(make: Any, text: str) -> None:
    (one,) = look(DataLoader(Numbers(held=make()), num_workers=1)).objects

    assert one.text == text


def test_a_lambda_that_took_another_name_is_a_lambda() -> None:
    """What it is called now does not make it reachable."""
    (one,) = look(DataLoader(Numbers(held=renamed()), num_workers=1)).objects

    assert one.kind == "lambda"


def test_without_workers_nothing_is_sent() -> None:
    sent = look(DataLoader(Opened()))

    assert (sent.num_workers, sent.objects) == (0, ())


def test_the_jobs_number_of_workers_comes_first() -> None:
    assert look(DataLoader(Opened()), num_workers=3).num_workers == 3
    assert len(look(DataLoader(Opened()), num_workers=3).objects) == 1
    assert look(DataLoader(Opened(), num_workers=1), num_workers=0).objects == ()


def test_the_factory_is_where_the_loader_comes_from() -> None:
    sent = look(DataLoader(Numbers()), factory=as_is)

    assert sent.defined.qualname == "as_is"
    assert look(DataLoader(Numbers())).defined == Definition()


def test_the_jobs_start_method_comes_first() -> None:
    """It is the launch to judge for; then the loader's own counts."""
    own = DataLoader(Numbers(), num_workers=1, multiprocessing_context="forkserver")
    plain = DataLoader(Numbers(), num_workers=1)

    for loader, launch, expected in (
        (own, None, ("forkserver", FROM_LOADER)),
        (own, "forkserver", ("forkserver", FROM_LOADER)),
        (own, "spawn", ("spawn", FROM_LAUNCH)),
        (plain, "spawn", ("spawn", FROM_LAUNCH)),
    ):
        sent = look(loader, start_method=launch)
        assert (sent.start_method, sent.start_method_from) == expected


def test_settings_go_to_a_copy() -> None:
    """In the order that torch takes them; the user's own loader is as it was."""
    loader = DataLoader(Numbers(), num_workers=2, multiprocessing_context="spawn")

    alone: Any = configured(loader, 0, "forkserver")
    more: Any = configured(DataLoader(Numbers()), 3, "forkserver")

    assert (alone.num_workers, alone.multiprocessing_context) == (0, None)
    assert next(iter(alone)) is not None
    assert (more.num_workers, more.prefetch_factor) == (3, 2)
    assert more.multiprocessing_context.get_start_method() == "forkserver"
    assert (loader.num_workers, loader.multiprocessing_context.get_start_method()) == (2, "spawn")
    assert configured(loader, None, None) is loader


def test_settings_that_torch_does_not_take_are_told() -> None:
    with pytest.raises(CannotLookError, match="does not take the job's settings"):
        configured(DataLoader(Numbers(), num_workers=1), None, "teleport")


SETTLED = """
import multiprocessing
from preflight.loaders.workers.starting import start_method_of
before = start_method_of({}, None, '.')
again = multiprocessing.get_start_method(allow_none=True)
multiprocessing.set_start_method("spawn")
print(before, again, start_method_of({}, None, '.'), sep="|")
"""


def test_asking_for_the_start_method_does_not_settle_it() -> None:
    """A user's own `set_start_method` still works afterwards, and then counts."""
    before, again, after = said_by(SETTLED).strip().split("|")

    assert again == "None"
    by = "a call of multiprocessing.set_start_method, which is not in the sources of the job"
    assert after == str(("spawn", by))
    if sys.platform == "linux":
        assert ("forkserver" if sys.version_info >= (3, 14) else "fork") in before


FIXED_BY_LOCK = f"""
import multiprocessing, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from preflight.loaders.workers.starting import start_method_of
multiprocessing.RLock()
print(multiprocessing.get_start_method(allow_none=True), start_method_of({{}}, None, ".")[1])
"""


def test_a_lock_that_fixes_the_start_method_is_no_call_of_the_users() -> None:
    """As tqdm makes one while it is imported: nobody has said how processes are to start."""
    method, _, by = said_by(FIXED_BY_LOCK).strip().partition(" ")

    assert method == default_start_method()[0]
    assert by == f"{default_start_method()[1]}, which is already fixed in this process"


CALLS = {
    "written out": ('mp.set_start_method("forkserver")', "a call of {}, own.py:3"),
    "by a name": ("mp.set_start_method(HOW)", "most likely the call of {}, own.py:3"),
}


@pytest.mark.skipif(
    "forkserver" not in multiprocessing.get_all_start_methods(), reason="this system has none"
)
@pytest.mark.parametrize("name", CALLS)
def test_a_call_in_the_sources_of_the_job_is_named_by_its_line(name: str, tmp_path: Path) -> None:
    call, expected = CALLS[name]
    text = f'import multiprocessing as mp\nHOW = "forkserver"\n{call}\n'
    (tmp_path / "own.py").write_text(text, encoding="utf-8")
    code = f"import sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}, {str(tmp_path)!r}]\n"
    code += "import own\nfrom preflight.loaders.workers.starting import start_method_of\n"
    code += f"print(start_method_of({{}}, None, {str(tmp_path)!r}))"

    said = said_by(code).strip()

    assert said == str(("forkserver", expected.format("multiprocessing.set_start_method")))


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork"
)
@pytest.mark.parametrize("held", ["Lock", "Queue", "Event"])
def test_a_lock_of_this_process_context_is_no_trouble_elsewhere(held: str) -> None:
    """Where the platform spawns, `multiprocessing.Lock()` makes one that can be sent."""
    thing = getattr(multiprocessing.get_context("fork"), held)()
    spawning = DataLoader(Numbers(held=thing), num_workers=1, multiprocessing_context="spawn")

    if multiprocessing.get_start_method() == "fork":
        assert look(DataLoader(Numbers(held=thing), num_workers=1)).objects == ()
    assert {one.kind for one in look(spawning).objects} == {"forked-lock"}


SPAWNING = f"""
import multiprocessing, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from types import SimpleNamespace
from preflight.loaders.sent import Known, walk_loader

if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    for lock in multiprocessing.Lock(), multiprocessing.get_context("fork").Lock():
        dataset = SimpleNamespace(held=lock)
        loader = SimpleNamespace(dataset=dataset, num_workers=1, collate_fn=None)
        sent = walk_loader(loader, Known("x", ".", start_method="spawn"))
        print([one.kind for one in sent.objects])
"""


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork"
)
def test_a_lock_for_forking_is_told_where_this_process_spawns() -> None:
    """Then somebody asked for it by name, and no other machine makes another one of it."""
    assert said_by(SPAWNING).splitlines() == ["[]", "['forked-lock']"]


OPENED: dict[str, Callable[[str], Any]] = {
    "gzip": lambda path: gzip.GzipFile(path, "wb"),
    "gzip, as text": lambda path: io.TextIOWrapper(gzip.GzipFile(path, "wb")),
    "bz2": lambda path: bz2.BZ2File(path, "wb"),
    "bz2, as text": lambda path: io.TextIOWrapper(bz2.BZ2File(path, "wb")),
    "a plain file": lambda path: io.TextIOWrapper(io.FileIO(path, "w")),
    "bytes in memory, as text": lambda _: io.TextIOWrapper(io.BytesIO()),
}


@pytest.mark.parametrize("opened", list(OPENED.values()), ids=list(OPENED))
def test_an_open_file_is_told_whatever_it_packs(
    opened: Callable[[str], Any], tmp_path: Path
) -> None:
    """Some have a name only as long as nobody asks for it."""
    path = str(tmp_path / "a")
    with opened(path) as file:
        sent = look(DataLoader(Numbers(held=file), num_workers=1))

    assert len(sent.objects) >= 1
    assert {one.text for one in sent.objects} <= {
        f"open file {path}",
        "open file",
        *(f"object of type {name}" for name in ("zlib.Compress", "_bz2.BZ2Compressor")),
    }


def test_a_file_that_was_taken_apart_has_no_name(tmp_path: Path) -> None:
    file = io.TextIOWrapper(io.FileIO(tmp_path / "a", "w"))
    with file.detach():
        sent = look(DataLoader(Numbers(held=file), num_workers=1))

    assert [one.text for one in sent.objects] == ["open file"]


def test_a_pool_is_refused_wherever_it_is_made() -> None:
    """The benefit of the doubt is for locks."""
    pool = multiprocessing.pool.ThreadPool(1)
    try:
        sent = look(DataLoader(Numbers(held=pool), num_workers=1))
    finally:
        pool.terminate()
        pool.join()

    assert sent.objects[0].error.startswith("NotImplementedError: pool objects")


def test_loaders_and_data_sets_are_told_apart() -> None:
    loader = DataLoader(Numbers())
    fluid = webdataset.WebLoader(Numbers())

    assert [is_loader(one) for one in (loader, fluid, Numbers(), pipeline(), [loader], 3)] == [
        True, True, False, False, False, False,
    ]  # fmt: skip
    assert [is_dataset(one) for one in (loader, fluid, Numbers(), pipeline(), [Numbers()], 3)] == [
        False, False, True, True, False, False,
    ]  # fmt: skip
