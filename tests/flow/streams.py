"""Iterable data sets as jobs write them: some that drop samples with errors, and sound ones."""

# ruff: noqa: D101, D102, BLE001, N818  (jobs are written so)

from __future__ import annotations

import queue

import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

MANY = 100


class NoCaption(Exception):
    pass


class Stream(IterableDataset):
    """Divides its numbers among the workers; every second one cannot be read."""

    error, bad = OSError, 2

    def mine(self):
        info = get_worker_info()
        return range(MANY) if info is None else range(info.id, MANY, info.num_workers)

    def load(self, number):
        if number % self.bad == self.bad - 1:
            raise self.error(f"number {number} cannot be read")
        return torch.full((3,), float(number))


class Goes(Stream):
    def __iter__(self):
        for number in self.mine():
            try:
                sample = self.load(number)
            except Exception:
                continue
            yield sample


class Nothing(Goes):
    bad = 1


class Rarely(Goes):
    bad = MANY + 1


class InTheTry(Stream):
    bad = 10

    def __iter__(self):
        for number in self.mine():
            try:
                sample = self.load(number)
                yield sample
            except OSError as error:
                print("left out:", error)


class ByAMethod(Stream):
    def __iter__(self):
        return self.samples()

    def samples(self):
        for number in self.mine():
            try:
                sample = self.load(number)
            except:  # noqa: E722
                continue
            else:
                yield sample


class Filters(Stream):
    """What it catches by its own name is left out on purpose."""

    error = NoCaption

    def __iter__(self):
        for number in self.mine():
            try:
                sample = self.load(number)
            except NoCaption:
                continue
            except Exception:
                continue
            yield sample


class Fills(Stream):
    def __iter__(self):
        for number in self.mine():
            try:
                sample = self.load(number)
            except Exception:
                sample = torch.zeros(3)
            yield sample


class FillsInTheClause(Stream):
    def __iter__(self):
        for number in self.mine():
            try:
                yield self.load(number)
            except Exception:
                yield torch.zeros(3)


class TriesAgain(Stream):
    def __iter__(self):
        for number in self.mine():
            for attempt in range(3):
                try:
                    sample = self.load(number + attempt)
                    break
                except Exception:
                    continue
            yield sample


class GivesOnce(Stream):
    def __iter__(self):
        for number in self.mine():
            for attempt in range(3):
                try:
                    yield self.load(number + attempt)
                    break
                except Exception:
                    continue


class Waits(Stream):
    def __iter__(self):
        waiting: queue.Queue[int] = queue.Queue()
        left = [*self.mine()]
        while left or not waiting.empty():
            try:
                number = waiting.get_nowait()
            except Exception:
                waiting.put(left.pop())
                continue
            yield torch.full((3,), float(number))


class Raises(Stream):
    bad = MANY + 1

    def __iter__(self):
        for number in self.mine():
            try:
                sample = self.load(number)
            except Exception as error:
                raise RuntimeError(number) from error
            yield sample


SOUND = (Rarely, Filters, Fills, FillsInTheClause, TriesAgain, GivesOnce, Waits, Raises)
DROPPING = (Goes, Nothing, InTheTry, ByAMethod)


def begin(_):
    torch.manual_seed(0)


def loader(kind, workers=2, **given):
    return DataLoader(kind(), batch_size=4, num_workers=workers, **given)


def sound():
    return {one.__name__: loader(one, 0) for one in SOUND} | {"in_workers": loader(Filters)}


def dropping():
    each = {one.__name__: loader(one, 0) for one in DROPPING}
    return {**each, "in_workers": loader(Goes, worker_init_fn=begin)}
