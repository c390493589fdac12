"""Loaders as users write them, through session, processes and all."""

from __future__ import annotations

import textwrap
from multiprocessing import shared_memory
from pathlib import Path

import pytest

import preflight
from preflight.findings.finding import Severity
from preflight.findings.report import Report

TOP = """
import torch, numpy
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __init__(self, *held):
        self.held = held
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return index
"""


def run(folder: Path, code: str, **more: str) -> Report:
    """Look at `make` in a script whose workers are spawned."""
    (folder / "train.py").write_text(TOP + textwrap.dedent(code), encoding="utf-8")
    for name, text in more.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
    return preflight.run(
        "train:make",
        folder=str(folder),
        select=["loader-unpicklable", "loader-unloadable"],
        start_method="spawn",
    )


def errors(report: Report) -> dict[str | None, str]:
    """Give what stops the loader: the check, by the object's path."""
    assert [one.broken for one in report.checks if one.broken] == []
    return {one.at.name: one.check for one in report.findings if one.severity is Severity.ERROR}


def test_odd_loaders_that_start_are_left_alone(tmp_path: Path) -> None:
    """Each of these was seen to start with real workers."""
    report = run(
        tmp_path,
        """
        import json
        import lib

        plain = json.dumps
        json.dumps = lambda *given, **named: plain(*given, **named).encode()
        lib.KNOWN["numbers"] = 1

        class Tensor(torch.Tensor):
            pass

        class Array(numpy.ndarray):
            @property
            def dtype(self):
                raise AssertionError("asked for its dtype")
            nbytes = flags = shape = dtype

        class Loader(DataLoader):
            @property
            def num_workers(self):
                return 1
            @num_workers.setter
            def num_workers(self, number):
                pass
            def __copy__(self):
                raise AssertionError("copied")

        def make():
            computed = (torch.ones(3, requires_grad=True) * 2).as_subclass(Tensor)
            array = numpy.zeros(1 << 18).view(Array)
            return Loader(Numbers(lib.Registered(), computed, array), num_workers=1)
        """,
        lib="""
        KNOWN = {}
        class Registered:
            def __getstate__(self):
                return {"a": 1}
            def __setstate__(self, state):
                assert KNOWN, "the main module has not been imported"
        """,
    )

    assert errors(report) == {}
    assert report.verdict == "go"


@pytest.mark.usefixtures("at_hand")
def test_odd_loaders_that_do_not_start_are_named(tmp_path: Path) -> None:
    report = run(
        tmp_path,
        """
        import multiprocessing, socket

        class Raises:
            def __getstate__(self):
                return {"a": 1}
            def __setstate__(self, state):
                raise ValueError("never")

        class Array(numpy.ndarray):
            def __setstate__(self, state):
                raise ValueError("never")

        class Meta(type):
            def __eq__(cls, other):
                return True

        class Unhashable(metaclass=Meta):
            pass

        def make():
            closed = socket.socket()
            closed.close()
            held = [
                multiprocessing.get_context("spawn").Condition(), Raises(),
                numpy.zeros(1 << 18).view(Array), closed, Unhashable(),
                [Unhashable()],
            ]
            return DataLoader(Numbers(*held), num_workers=1)
        """,
    )

    assert errors(report) == {
        "dataset.held[1]": "loader-unloadable",
        "dataset.held[2]": "loader-unloadable",
        "dataset.held[3]": "loader-unpicklable",
        "dataset.held[4]": "loader-unpicklable",
        "dataset.held[5][0]": "loader-unpicklable",
    }


@pytest.mark.usefixtures("at_hand")
def test_a_module_that_a_worker_cannot_import_is_told_beside_what_cannot_be_sent(
    tmp_path: Path,
) -> None:
    """No worker comes as far as to be sent anything, and each says so, however often asked."""
    report = run(
        tmp_path,
        """
        import multiprocessing
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise RuntimeError("not here")
        def make():
            return DataLoader(Numbers(), num_workers=1, collate_fn=lambda batch: batch)
        """,
    )

    found = {
        one.check: f"{one.message}; {one.why}"
        for one in report.findings
        if one.severity is Severity.ERROR
    }
    assert found.keys() == {"loader-unpicklable", "loader-unloadable"}
    assert "RuntimeError: not here" in found["loader-unloadable"]


@pytest.mark.usefixtures("at_hand")
def test_shared_memory_that_the_users_code_leaves_is_freed(tmp_path: Path) -> None:
    """As at the end of any process that is not killed."""
    (tmp_path / "name").touch()
    run(
        tmp_path,
        """
        from multiprocessing import shared_memory
        def make():
            memory = shared_memory.SharedMemory(create=True, size=16)
            with open("name", "w") as file:
                file.write(memory.name)
            return DataLoader(Numbers(memory), num_workers=1)
        """,
    )

    name = (tmp_path / "name").read_text(encoding="utf-8")
    assert name
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(name)


@pytest.mark.slow
@pytest.mark.usefixtures("at_hand")
def test_what_computes_while_it_is_loaded_is_judged_by_its_first_batch(tmp_path: Path) -> None:
    """It may only be slow, and is no reason not to draw: no batch is a GO over nothing."""
    code = """
    class Busy(Numbers):
        def __setstate__(self, state):
            while True:
                pass
    def make():
        return DataLoader(Busy(1), num_workers=1)
    """
    (tmp_path / "train.py").write_text(TOP + textwrap.dedent(code), encoding="utf-8")
    checks = ["loader-unloadable", "loader-stuck"]

    report = preflight.run(
        "train:make", folder=str(tmp_path), select=checks, start_method="spawn", timeout=8
    )

    found = {one.check: one for one in report.findings}
    assert found["loader-unloadable"].severity is Severity.WARNING
    assert found["loader-stuck"].severity is Severity.ERROR
    assert "stands in __setstate__" in found["loader-stuck"].message
