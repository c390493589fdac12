"""Pipelines of webdataset as jobs write them: some that lose samples with errors, and sound ones.

A case is a function that gives a loader; shards of samples lie beside it, in `data`.
"""

# ruff: noqa: D101, D102, BLE001  (jobs are written so)

from __future__ import annotations

import functools
import io
import json
import tarfile
from pathlib import Path

import made_later
import webdataset as wds
from torch.utils.data import DataLoader, IterableDataset

SHARDS = "file:data/{0..3}.tar"
GONE = "file:data/{0..7}.tar"
HERE = Path("data")


def write_shards(number=4, each=100, step=1):
    """Write shards of samples, of which most have a caption in their JSON; number them in steps."""
    HERE.mkdir(exist_ok=True)
    for shard in range(number):
        with tarfile.open(HERE / f"{shard}.tar", "w") as archive:
            for sample in range(0, each * step, step):
                told = {"number": sample, "width": 64}
                if sample % 10:
                    told["caption"] = f"picture {sample}"
                for suffix, content in (("json", json.dumps(told)), ("txt", str(sample))):
                    member = tarfile.TarInfo(f"{shard}-{sample:04}.{suffix}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content.encode()))
    with tarfile.open(HERE / "cut.tar", "w") as archive:
        member = tarfile.TarInfo("a.txt")
        archive.addfile(member)
    (HERE / "cut.tar").write_bytes(b"no archive" * 100)


# --- what is done with samples --------------------------------------------------------------------


def number_of(sample):
    return json.loads(sample["json"])["number"]


def pair_of(number):
    return number, number


def want_title(sample):
    return json.loads(sample["json"])["title"]


def want_caption(sample):
    return json.loads(sample["json"])["caption"]


def want_few(sample):
    if number_of(sample) >= 3:
        raise ValueError(f"sample {number_of(sample)} is too long")
    return number_of(sample)


def want_most(sample):
    if number_of(sample) >= 95:
        raise RuntimeError("no room")
    return number_of(sample)


def none_for_many(sample):
    try:
        return want_few(sample)
    except ValueError:
        return None


def default_for_many(sample):
    try:
        return want_few(sample)
    except ValueError:
        return -1


def is_small(sample):
    return number_of(sample) < 3


def is_readable(sample):
    try:
        return want_few(sample) >= 0
    except ValueError:
        return False


def lenient(source):
    for sample in source:
        try:
            value = want_few(sample)
        except Exception:
            continue
        yield value


def forgiving(source):
    for sample in source:
        try:
            value = want_few(sample)
        except Exception:
            value = 0
        yield value


def small_only(source):
    for sample in source:
        if is_small(sample):
            yield number_of(sample)


def print_only(error):
    print("oh:", error)
    return True


def first_half(sample):
    if number_of(sample) >= 50:
        raise ValueError("the end")
    return number_of(sample)


def want_batch(batch):
    if batch[0] >= 40:
        raise ValueError("a batch too many")
    return batch


class Around(IterableDataset):
    def __init__(self, source, work):
        self.source, self.work = source, work

    def __iter__(self):
        for sample in self.source:
            try:
                value = self.work(sample)
            except Exception:
                continue
            yield value


class Lenient:
    """A stage that is an object, with a handler of its own."""

    def __init__(self, work, handler):
        self.work, self.handler = work, handler

    def __call__(self, source):
        for sample in source:
            try:
                value = self.work(sample)
            except Exception as error:
                if self.handler(error):
                    continue
                break
            yield value


def web(urls=SHARDS, **given):
    return wds.WebDataset(urls, **{"shardshuffle": False, **given})


def loader(dataset, workers=0, **given):
    return DataLoader(dataset, batch_size=None, num_workers=workers, **given)


GOES_ON = wds.ignore_and_continue


def readers(**given):
    return (
        wds.SimpleShardList(SHARDS),
        wds.split_by_worker,
        wds.tarfile_to_samples(**given),
    )


SOUND = {
    "plain": lambda: loader(web().map(number_of)),
    "with_handler": lambda: loader(web(handler=GOES_ON).map(number_of, handler=GOES_ON)),
    "two_workers": lambda: loader(web().map(number_of, handler=GOES_ON), 2),
    "selected": lambda: loader(web().select(is_small).map(number_of, handler=GOES_ON)),
    "own_filter": lambda: loader(wds.DataPipeline(*readers(), small_only)),
    "own_default": lambda: loader(wds.DataPipeline(*readers(), forgiving)),
    "default_in_map": lambda: loader(web().map(default_for_many)),
    "sliver": lambda: loader(
        web().map(number_of).map(functools.partial(_one_in_400, []), handler=GOES_ON)
    ),
    "no_partial": lambda: loader(
        web().map(number_of, handler=GOES_ON).batched(64, partial=False, collation_fn=None)
    ),
    "shuffled": lambda: loader(
        web().shuffle(1000).map(number_of, handler=GOES_ON).batched(16, collation_fn=None)
    ),
    "with_epoch": lambda: loader(
        web(resampled=True).map(number_of, handler=GOES_ON).with_epoch(300)
    ),
    "whole_web_loader": lambda: (
        wds.WebLoader(
            web().map(number_of, handler=GOES_ON).map(pair_of).batched(10),
            batch_size=None,
            num_workers=1,
        )
        .unbatched()
        .shuffle(50)
        .batched(25)
    ),
    "number_around": lambda: loader(Around(web(), number_of)),
}


def _one_in_400(seen, number):
    seen.append(number)
    if len(seen) == 77:
        raise ValueError("one of many")
    return number


BAD = {
    "few": lambda: loader(web().map(want_few, handler=GOES_ON)),
    "few_by_place": lambda: loader(web().compose(wds.map(want_few, GOES_ON))),
    "few_with_warning": lambda: loader(web().map(want_few, handler=wds.warn_and_continue)),
    "few_printed": lambda: loader(web().map(want_few, handler=print_only), 2),
    "few_in_batches": lambda: loader(
        web().map(want_few, handler=GOES_ON).batched(4, collation_fn=None)
    ),
    "few_of_pipeline": lambda: loader(
        wds.DataPipeline(*readers(handler=GOES_ON), wds.map(want_few, handler=GOES_ON)), 2
    ),
    "tenth": lambda: loader(web().map(want_caption, handler=GOES_ON)),
    "twentieth": lambda: loader(web().map(want_most, handler=GOES_ON).shuffle(100)),
    "in_tuple": lambda: loader(
        web().to_tuple("json", "txt").map_tuple(_want_title, str, handler=GOES_ON)
    ),
    "in_dict": lambda: loader(web().map_dict(json=_want_caption, handler=GOES_ON)),
    "own_stage": lambda: loader(wds.DataPipeline(*readers(), lenient)),
    "own_stage_in_workers": lambda: loader(wds.DataPipeline(*readers(), lenient), 2),
    "own_object": lambda: loader(
        wds.DataPipeline(*readers(), Lenient(want_few, wds.warn_and_continue))
    ),
    "none_in_map": lambda: loader(web().map(none_for_many)),
    "swallowing_filter": lambda: loader(web().select(is_readable).map(number_of)),
    "around": lambda: loader(Around(web(), want_few)),
    "around_in_workers": lambda: loader(Around(web(), want_caption), 2),
    "nothing": lambda: loader(web(empty_check=False).map(want_title, handler=GOES_ON)),
    "half": lambda: loader(web().map(first_half, handler=GOES_ON).select(bool)),
    "stops": lambda: loader(web().map(first_half, handler=wds.ignore_and_stop)),
    "batches": lambda: loader(
        web().map(number_of).batched(20, collation_fn=None).map(want_batch, handler=GOES_ON)
    ),
    "web_loader": lambda: (
        wds.WebLoader(
            web().map(want_few, handler=GOES_ON).map(pair_of).batched(4),
            batch_size=None,
            num_workers=1,
        )
        .unbatched()
        .batched(3)
    ),
    "shards": lambda: loader(web(GONE, handler=GOES_ON).map(number_of)),
    "shards_of_pipeline": lambda: loader(
        wds.DataPipeline(
            wds.SimpleShardList([*(f"data/{n}.tar" for n in range(4)), *["data/cut.tar"] * 2]),
            wds.split_by_worker,
            wds.tarfile_to_samples(handler=GOES_ON),
            wds.map(number_of),
        )
    ),
}


SOUND |= made_later.sound(number_of, is_small, want_few)
BAD |= made_later.bad(number_of, want_few, want_caption, want_title, lenient)


def _want_title(text):
    return json.loads(text)["title"]


def _want_caption(text):
    return json.loads(text)["caption"]


def starving():
    return loader(
        web(resampled=True)
        .map(want_title, handler=wds.warn_and_continue)
        .batched(8, collation_fn=None),
        2,
    )


def resampled():
    return loader(
        web(resampled=True)
        .shuffle(300)
        .map(number_of, handler=GOES_ON)
        .batched(16, collation_fn=None),
        2,
    )


def sound():
    return {name: make() for name, make in SOUND.items()}


def bad():
    return {name: make() for name, make in BAD.items()}


def one():
    import os

    return {**SOUND, **BAD}[os.environ["CASE"]]()


def at_once():
    return loader(made_later.AtOnce(want_caption))


def batches():
    return made_later.batches_of(want_caption)


def one_sound():
    return SOUND["with_handler"]()


def one_sent(name):
    """Give a loader whose data set can be sent to a worker."""
    if name != "sent":
        return loader(made_later.late(want_few), 2)
    own = wds.map(want_few, print_only)
    return loader(wds.DataPipeline(*readers(handler=print_only), own, lenient))
