"""Ranks meet at the store of their job, also where it goes with the script that had it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import torch.distributed as dist

from preflight.launched.rendezvous import Meeting
from tests.launched.starting import free_port


def meeting(port: int, *, hosts: bool = False) -> Meeting:
    return Meeting("127.0.0.1", port, hosts=hosts, alive=lambda: None)


@pytest.fixture
def launcher() -> Iterator[int]:
    """Keep a store as torchrun does, and give its port."""
    port = free_port()
    store = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    yield port
    del store


def test_rank_0_takes_what_all_others_tell(launcher: int) -> None:
    with ThreadPoolExecutor() as pool:
        others = [pool.submit(meeting(launcher).hand_over, n, b"%d" % n, 20) for n in (1, 2)]
        taken = meeting(launcher).gather([1, 2], 20)

        assert taken == {1: b"1", 2: b"2"}
        assert [one.result() for one in others] == [True, True]


def test_a_rank_that_does_not_come_lacks(launcher: int) -> None:
    with ThreadPoolExecutor() as pool:
        other = pool.submit(meeting(launcher).hand_over, 2, b"told", 20)

        assert meeting(launcher).gather([1, 2], 3) == {2: b"told"}
        assert other.result()


def test_without_rank_0_nothing_is_taken(launcher: int) -> None:
    assert not meeting(launcher).hand_over(1, b"told", 0.5)


def test_where_the_script_kept_the_store_rank_0_opens_another_one() -> None:
    """What was told to the first one is told again."""
    port, came = free_port(), threading.Event()
    of_script = dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False)
    with ThreadPoolExecutor() as pool:
        one = Meeting("127.0.0.1", port, hosts=False, alive=came.set)
        other = pool.submit(one.hand_over, 1, b"told", 30)
        assert came.wait(20)  # it has told the script's
        of_script.wait(["preflight/ranks/seen/1"], timedelta(seconds=20))
        del of_script

        assert meeting(port, hosts=True).gather([1], 30) == {1: b"told"}
        assert other.result()
