"""Loaders as jobs make them: some that give no batch, each for a reason of its own, and sound ones.

A case is a function; what becomes of it really is what a plain loop over it comes to.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import sys
import threading
import time

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

FOR_EVER = 1_000


class Samples(Dataset):
    """Sixteen samples, for each of which something is done."""

    def __init__(self, do=None):
        self.do = do

    def __len__(self):
        return 16

    def __getitem__(self, index):
        if self.do is not None:
            self.do(index)
        return {"x": torch.zeros(3, 4), "text": f"text {index}", "index": index}


def of(do=None, **given):
    return DataLoader(Samples(do), **{"batch_size": 4, "num_workers": 2, **given})


def wait(_):
    time.sleep(FOR_EVER)


def wait_for_batch(samples):
    time.sleep(FOR_EVER)


def leave(_):
    os._exit(3)


def exit_politely(_):
    sys.exit(4)


def kill_itself(_):
    os.kill(os.getpid(), 9)


def look_up(_):
    return {}["fname"]


def print_much(_):
    print("much of it\n" * 2_000)


def take_a_while(_):
    time.sleep(0.1)


def begin_slowly(_):
    time.sleep(1.5)


def leave_thread(_):
    threading.Thread(target=time.sleep, args=(FOR_EVER,)).start()


def nested(samples):
    return lambda: samples


LOCK = threading.Lock()


def ask_for_lock(_):
    with LOCK:
        pass


def feed():
    raise RuntimeError("the disk is gone")


class Fed(IterableDataset):
    """Numbers, and then what a thread should have fed, which dies."""

    def __init__(self, numbers=0):
        self.numbers = numbers

    def __iter__(self):
        threading.Thread(target=feed, daemon=True).start()
        time.sleep(0.2)
        yield from range(self.numbers)
        yield queue.Queue().get()


class Once(IterableDataset):
    """One sample."""

    def __iter__(self):
        yield torch.zeros(2)


class Nothing(IterableDataset):
    """No sample."""

    def __iter__(self):
        return iter(())


class NoIterator(IterableDataset):
    """What cannot be iterated over."""

    def __iter__(self):
        return None


# --- those that give no batch


def hangs_in_getitem():
    return of(wait)


def hangs_in_collate():
    return of(num_workers=0, collate_fn=wait_for_batch)


def hangs_in_worker_init():
    return of(worker_init_fn=wait)


def waits_for_lock_held_at_fork():
    LOCK.acquire()
    return of(ask_for_lock)


def cannot_send_batches():
    return of(collate_fn=nested)


def loses_its_feeder():
    return DataLoader(Fed(), num_workers=1)


class OwnProcess(IterableDataset):
    """What a process of its own puts into a queue, which ends before it has put anything."""

    def __iter__(self):
        made = multiprocessing.get_context("fork").Queue()
        multiprocessing.get_context("fork").Process(target=leave, args=(0,), daemon=True).start()
        while True:
            yield made.get()


def waits_for_a_process_that_left():
    return DataLoader(OwnProcess(), batch_size=2)


def worker_leaves():
    return of(leave)


def worker_exits():
    return of(exit_politely)


def worker_is_killed():
    return of(kill_itself)


def process_leaves():
    return of(leave, num_workers=0)


def raises_in_worker():
    return of(look_up)


def raises_here():
    return of(look_up, num_workers=0)


def has_no_iterator():
    return DataLoader(NoIterator(), num_workers=1)


def is_empty():
    return DataLoader(Nothing(), num_workers=1)


def drops_all():
    return of(batch_size=64, drop_last=True)


# --- sound ones


def sound():
    return of()


def without_workers():
    return of(num_workers=0)


def persistent():
    return of(persistent_workers=True)


def ends_after_one():
    return DataLoader(Once(), num_workers=1)


def prints():
    return of(print_much)


def takes_a_while():
    return of(take_a_while)


def begins_slowly():
    return of(batch_size=1, worker_init_fn=begin_slowly)


def leaves_threads():
    return of(leave_thread)


def train_and_val():
    return of(look_up, num_workers=0), of()


def sound_and_hanging():
    return of(num_workers=0), of(wait, num_workers=0)


def loses_a_thread_beside():
    return DataLoader(Fed(20), num_workers=1)


def only_samples():
    return Samples()


TAKEN = []


def only_once():
    """Take something that can be had once as long as this process runs."""
    held = os.open("held", os.O_CREAT | os.O_EXCL)
    TAKEN.append(held)
    return of()
