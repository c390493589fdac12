"""A failure of the layer's own is told from what Python's own functions refuse."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from preflight.overlay import on_disk
from preflight.overlay.lay_over import laid_over
from preflight.overlay.layer import Layer
from preflight.values.own_files import is_ours


@pytest.fixture
def layer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Layer]:
    """Give the layer over the folder in which the test runs."""
    job = tmp_path / "job"
    (job / "full" / "inner").mkdir(parents=True)
    (job / "a").write_text("one")
    monkeypatch.chdir(job)
    made = Layer(str(tmp_path / "scratch"), always=(str(job),))
    with laid_over(made):
        yield made


def raised(act: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as seen:  # noqa: PT011  whatever it is
        act()
    assert isinstance(seen.value, Exception)
    return seen.value


def is_the_layers(error: Exception) -> bool:
    return is_ours(error, lambda file: file == __file__)


FAULTS = (TypeError("planted"), ValueError("planted"), OSError("planted"), RuntimeError("planted"))


@pytest.mark.parametrize("error", FAULTS, ids=repr)
@pytest.mark.parametrize("name", ["writing", "reading", "own", "hide"])
def test_a_failure_of_the_layer_is_its_own(
    layer: Layer, monkeypatch: pytest.MonkeyPatch, name: str, error: Exception
) -> None:
    text = f"def {name}(*given, **named):\n    raise error\n"
    space = {"error": error}
    exec(compile(text, on_disk.__file__, "exec"), space)
    monkeypatch.setattr(Layer, name, space[name])

    assert is_the_layers(raised(lambda: os.rename("a", "b")))
    assert layer.said("a") == "a"


def test_what_the_system_refuses_the_layer_is_no_failure_of_the_job(layer: Layer) -> None:
    """In a plain run, there is no folder of ours that could be full, or taken away."""
    path = str(layer.above(os.path.abspath("new")))

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device", path)

    refused.__code__ = refused.__code__.replace(co_filename=on_disk.__file__)
    kept, on_disk.copy = on_disk.copy, refused  # type: ignore[assignment]
    try:
        error = raised(lambda: open("a", "a").close())
    finally:
        on_disk.copy = kept

    assert is_the_layers(error)


REFUSED: tuple[Callable[[], object], ...] = (
    lambda: open("absent"),  # noqa: SIM115
    lambda: open("a", "zz"),  # noqa: PLW1501, SIM115
    lambda: open("a", "x"),  # noqa: SIM115
    lambda: open("full", "w"),  # noqa: SIM115
    lambda: open("\0", "w"),  # noqa: SIM115
    lambda: open("\udfff\ud800", "w"),  # noqa: SIM115
    lambda: open(None, "w"),  # type: ignore[call-overload]  # noqa: SIM115
    open,
    lambda: os.open("a", None),  # type: ignore[arg-type]
    lambda: os.open("a", "r"),  # type: ignore[arg-type]
    lambda: os.mkdir("full"),
    lambda: os.mkdir(3.5),  # type: ignore[arg-type]
    lambda: os.mkdir("no/such"),
    lambda: os.remove("full"),
    lambda: os.remove(None),  # type: ignore[arg-type]
    lambda: os.rmdir("full"),
    lambda: os.rmdir("a"),
    lambda: os.rename("a", None),  # type: ignore[arg-type]
    lambda: os.rename(None, "a"),  # type: ignore[arg-type]
    lambda: os.rename("a", "\0"),
    lambda: os.rename("a", "full"),
    lambda: os.rename("absent", "a"),
    lambda: os.replace("full/inner", "a"),
    lambda: os.symlink("a", "\0"),
    lambda: os.symlink(None, "b"),  # type: ignore[arg-type]
    lambda: os.link("a", "\0"),
    lambda: os.link("a", "full"),
    lambda: os.link("absent", "b"),
    lambda: os.listdir("a"),
    lambda: os.scandir(1.5),  # type: ignore[call-overload]
    lambda: os.utime("absent"),
    lambda: shutil.rmtree("absent"),
    lambda: shutil.rmtree(None),  # type: ignore[arg-type]
)


@pytest.mark.skipif(os.name == "nt", reason="there, other errors stand for some of these")
@pytest.mark.usefixtures("layer")
def test_what_a_plain_run_is_refused_as_well_is_the_jobs(tmp_path: Path) -> None:
    under = [raised(one) for one in REFUSED]
    plain = tmp_path / "plain"
    shutil.copytree(".", plain)
    os.chdir(plain)  # over which no layer lies

    assert [one for one in under if is_the_layers(one)] == []
    assert [type(one) for one in under] == [type(raised(one)) for one in REFUSED]


def test_each_function_takes_its_arguments_by_their_names(layer: Layer) -> None:
    os.rename(src="a", dst="b")
    os.replace(src="b", dst="c")
    os.symlink(src="c", dst="d")
    if os.name != "nt":
        os.link(src="c", dst="e")
    os.mkdir(path="new", mode=0o700)
    os.close(os.open(path="f", flags=os.O_CREAT | os.O_WRONLY))
    with open(file="g", mode="w", encoding="utf-8") as file:
        file.write("text")

    assert {"c", "d", "f", "full", "g", "new"} <= set(os.listdir(path="."))
    assert layer.written()


@pytest.mark.usefixtures("layer")
def test_threads_may_remove_and_read_at_the_same_time() -> None:
    names = [f"{number}.txt" for number in range(300)]
    for one in names:
        on_disk.open_file(one, "w", encoding="utf-8").close()
    errors: list[Exception] = []

    def look() -> None:
        try:
            while os.path.exists(names[-1]):
                [os.path.exists(one) for one in ("a", "full", "absent")]
        except Exception as error:  # noqa: BLE001  what a thread raises is lost
            errors.append(error)

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=look) for _ in range(2)]
        for one in threads:
            one.start()
        for name in names:
            os.remove(name)
        for one in threads:
            one.join()
    finally:
        sys.setswitchinterval(switch)

    assert errors == []
