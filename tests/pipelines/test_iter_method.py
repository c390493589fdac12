"""A pipeline that a data set makes in `__iter__` is read off its code and its attributes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import pytest
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset

from preflight.objects.facts import Definition
from preflight.pipelines import iter_method
from preflight.pipelines.facts import Reads
from preflight.pipelines.live import reads
from preflight.pipelines.stage_lines import Lines

KEEP = wds.ignore_and_continue
FIELD = "txt"


class _Base(IterableDataset[Any]):
    def __init__(self, urls: Any, *, shuffle: bool = True) -> None:
        self.urls = urls
        self.shuffle = shuffle


class _AtOnce(_Base):
    def __iter__(self) -> Iterator[Any]:
        drawn = wds.WebDataset(self.urls, resampled=True, handler=KEEP)
        yield from drawn.decode("pil").to_tuple("jpg", FIELD, handler=wds.ignore_and_continue)


class _StepByStep(_Base):
    def _build(self) -> Any:
        shards = "{0..2}.tar"
        made = wds.WebDataset(shards, shardshuffle=False)
        made = made.decode("pil")
        if self.shuffle:
            made = made.shuffle(10)
        return made.to_tuple("jpg", "txt")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._build())


class _OneOfTwo(_Base):
    def __iter__(self) -> Iterator[Any]:
        if self.shuffle:
            yield from wds.WebDataset(self.urls).shuffle(10)
        else:
            yield from wds.WebDataset(self.urls)


class _Numbers(_Base):
    def __iter__(self) -> Iterator[Any]:
        yield from range(len(self.urls))


def told(dataset: _Base) -> Reads | None:
    loader = DataLoader(dataset, batch_size=2)
    return next(iter(reads(loader, "train:make", Definition(), Lines(Definition(), "."))), None)


@pytest.mark.parametrize("urls", ["{0..2}.tar", ["0.tar", "1.tar", "2.tar"]])
def test_shards_and_stages_are_those_that_are_written(urls: Any) -> None:
    found = told(_AtOnce(urls))

    assert found is not None
    assert [one[-5:] for one in found.shards] == ["0.tar", "1.tar", "2.tar"]
    assert found.endless == "resampled"
    kinds = [one.kind for one in found.stages]
    assert kinds == ["open", "expand", "group", "decode", "to_tuple", "other"]
    assert found.stages[4].fields == (("jpg",), ("txt",))
    assert found.stages[4].handler == "goes-on"


def test_a_stage_that_is_put_on_in_one_case_is_one_of_which_nothing_is_known() -> None:
    found = told(_StepByStep(()))

    assert found is not None
    assert len(found.shards) == 3
    kinds = [one.kind for one in found.stages[3:]]
    assert kinds == ["decode", "pass", "other", "to_tuple", "other"]


def test_of_several_pipelines_it_is_said_only_that_there_are_some() -> None:
    found = told(_OneOfTwo("0.tar"))

    assert found is not None
    assert found.shards == ()
    assert [one.kind for one in found.stages] == ["other"]


def test_a_data_set_without_a_pipeline_says_nothing() -> None:
    assert told(_Numbers(["a", "b"])) is None


def test_a_list_of_more_than_anybody_writes_is_not_written_out() -> None:
    """As code, places of samples by the million would fill the memory."""
    node = ast.Name(id="places", ctx=ast.Load(), lineno=1, col_offset=0)

    assert isinstance(iter_method._literal([0, 1], node), ast.List)
    assert iter_method._literal([0] * 100_001, node) is node


def test_other_files_are_asked_for_once_and_only_where_a_line_is() -> None:
    asked: list[str] = []
    lines = Lines(Definition(), ".", lambda: asked.append("") or asked)  # type: ignore[func-returns-value]

    assert asked == []
    assert lines.of("map") == lines.of("batched") == Definition()
    assert asked == [""]
