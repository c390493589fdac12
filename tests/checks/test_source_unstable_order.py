"""source-unstable-order speaks where the order of a set decides who gets what."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from preflight.findings.finding import Severity
from tests.asking import of_source

pytestmark = pytest.mark.usefixtures("at_hand")

found = partial(of_source, "source-unstable-order")


HEALTHY = {
    "sorted": "x = sorted(set(captions))\n    return x[rank::world]",
    "sorted later": "x = list(set(captions))\n    x.sort()\n    return x[rank::world]",
    "sorted by another name": (
        "x = list(set(captions))\n    x = sorted(x)\n    return x[rank::world]"
    ),
    "membership": "x = set(captions)\n    return [one for one in captions if one in x]",
    "a length": "x = list(set(captions))\n    return len(x)",
    "the only one": "return list(set(captions))[0]",
    "given on": "return list(set(captions))",
    "numbers": "x = list(set(range(9)))\n    return x[:3]",
    "numbers by name": "x = list(set(indices))\n    return x[:3]",
    "a split of a text": "return 'a b'.split(list(set(captions))[0])",
    "only counted": "for i, x in enumerate(set(captions)):\n        print(i, x)",
    "zipped with itself": "x = list(set(captions))\n    return dict(zip(x, map(len, x)))",
    "zipped with what was made of it": (
        "x = list(set(captions))\n    rows = [one.split() for one in x]\n"
        "    return [dict(zip(x, row)) for row in zip(*rows)]"
    ),
    "a few in a message": "x = list(set(captions))\n    print(f'such as {x[:3]}')",
    "a few in a log": "x = list(set(captions))\n    logger.warning('such as %s', ', '.join(x[:3]))",
    "a few in an error": "raise KeyError(list(set(captions))[:3])",
    "a few by a name": "few = list(set(captions))[:3]\n    logging.info('such as %s', few)",
    "what is done of what is waited for": (
        "done, more = wait(captions)\n    x = list(done)[:2]\n    done = set(more)\n"
        "    return x + list(done)[:2]"
    ),
    "a set at times": "x = set(captions)\n    x, _ = order(x)\n    return list(x)[:2]",
    "joined sets that are sorted": (
        "x = sorted(set(captions) - {one for one in captions if one[0] == 'x'})\n"
        "    return x[rank::world]"
    ),
    "numbers of joined sets": "x = list(set(range(9)) - set(captions))\n    return x[:3]",
    "a sum": "x = list(map(len, captions))\n    y = list(x[i] - x[0] for i in x)\n    return y[:2]",
    "a mapping's own order": "x = list(dict.fromkeys(captions).keys())\n    return x[rank::world]",
    "numbers that are added": (
        "x = set()\n    for one in captions:\n        x.add(len(one))\n"
        "    x = list(x)\n    return x[rank::world]"
    ),
    "what nobody knows is added": (
        "x = set()\n    for one in indices:\n        x.add(one)\n    return list(x)[:2]"
    ),
    "added, and sorted": (
        "names = set()\n    for one in captions:\n        names.add(one)\n"
        "    names = list(names)\n    names.sort()\n    return list(names)[rank::world]"
    ),
    "a list of what is handed over": (
        "captions = list(captions)\n    n = len(set(captions))\n    return captions[:n]"
    ),
    "a list first, then a set": (
        "x = captions\n    x = list(x)\n    y = x[rank::world]\n    x = set(y)\n    return y"
    ),
    "sorted, and a list again": (
        "names = set(captions)\n    names = sorted(names)\n    return list(names)[rank::world]"
    ),
    "counted for a message": (
        "x = list(set(captions))\n    for i, one in enumerate(x):\n"
        "        if rank == 0 and i % 100 == 0:\n            print(i)\n        work(one)"
    ),
    "sorted, and counted by rank": (
        "x = sorted(set(captions))\n"
        "    return [one for i, one in enumerate(x) if i % world == rank]"
    ),
    "gone through": "for one in set(captions):\n        work(one)",
    "gone through, and measured": (
        "sizes = {}\n    for one in set(captions):\n        sizes[one] = len(one)\n    return sizes"
    ),
    "numbers by a name, counted by rank": (
        "u = set(indices)\n    for i, one in enumerate(u):\n"
        "        if i % world == rank:\n            work(one)"
    ),
    "numbered once they are sorted": (
        "v = {}\n    for one in sorted(set(captions)):\n        v[one] = len(v)\n    return v"
    ),
    "a comprehension that is sorted": "x = sorted(one for one in set(captions))\n    return x[:2]",
    "a comprehension that is sorted later": (
        "x = [one.lower() for one in set(captions)]\n    x.sort()\n    return x[rank::world]"
    ),
    "a sum of a comprehension": "return sum([len(one) for one in set(captions)])",
    "a set zipped with itself": "u = set(captions)\n    return dict(zip(u, map(len, u)))",
    "made of itself": (
        "x = list(set(captions))\n    x = [one for one in x]\n    x = [one for one in x]\n"
        "    return len(x)"
    ),
    "the first order": "x = list(dict.fromkeys(captions))\n    return x[rank::world]",
}
DAMAGED = {
    "by rank": "x = list(set(captions))\n    return x[rank::world]",
    "cut": "x = list(set(captions))\n    return x[:2]",
    "a tuple": "x = tuple(set(captions))\n    return x[:2]",
    "a star": "x = [*set(captions)]\n    return x[:2]",
    "printed and used": "x = list(set(captions))[:2]\n    print(x)\n    return x",
    "split, then printed": "x = list(set(captions))\n    print(x[:3])\n    return x[rank::world]",
    "at once": "return list(set(captions))[:2]",
    "a comprehension": "return list({one.upper() for one in captions})[:2]",
    "by a name": "seen = set(captions)\n    x = list(seen)\n    return x[:2]",
    "by a name with its type": "x: set[str] = set(captions)\n    return list(x)[:2]",
    "by a name to which more is added": (
        "x = set(captions)\n    x |= set(captions)\n    return list(x)[:2]"
    ),
    "zipped": "x = list(set(captions))\n    return list(zip(x, captions))",
    "numbered": "return {x: i for i, x in enumerate(set(captions))}",
    "numbered by range": "x = list(set(captions))\n    return dict(zip(x, range(9)))",
    "numbered by its length": (
        "x = list(set(captions))\n    n = len(x)\n    return dict(zip(x, list(range(n))))"
    ),
    "zipped with it and others": (
        "x = list(set(captions))\n    y = [*x]\n    return list(zip(x, y, captions))"
    ),
    "counted by rank": (
        "x = list(set(captions))\n    return [one for i, one in enumerate(x) if i % world == rank]"
    ),
    "counted by rank in a loop": (
        "for i, one in enumerate(list(set(captions))):\n"
        "        if i % world != rank:\n            continue\n        work(one)"
    ),
    "by the numbers of a rank": (
        "x = list(set(captions))\n    return [x[i] for i in range(rank, len(x), world)]"
    ),
    "by islice": "return list(islice(list(set(captions)), rank, None, world))",
    "the difference of two": (
        "x = list(set(captions) - set(os.listdir()))\n    n = len(x) // world\n"
        "    return x[rank * n : (rank + 1) * n]"
    ),
    "the difference of two names": (
        "have, want = os.listdir(), set(captions)\n    left = want - set(have)\n"
        "    return list(left)[rank::world]"
    ),
    "the difference of two sets by name": (
        "have = set(os.listdir())\n    want = set(captions)\n    left = want - have\n"
        "    x = list(left)\n    return x[rank::world]"
    ),
    "by a method": "return list(set(captions).difference(os.listdir()))[rank::world]",
    "some keys": "return list(dict.fromkeys(captions).keys() & {'a', 'b'})[rank::world]",
    "added one by one": (
        "names = set()\n    for one in captions:\n        names.add(one['name'])\n"
        "    names = list(names)\n    return names[rank::world]"
    ),
    "added one by one, with its type": (
        "x: set[str] = set()\n    for one in captions:\n        x.add(one.path)\n"
        "    return list(x)[rank::world]"
    ),
    "picked": "x = list(set(captions))\n    return x[rank]",
    "counted by a name": (
        "u = set(captions)\n    for i, one in enumerate(u):\n"
        "        if i % world == rank:\n            work(one)"
    ),
    "counted once it is filled": (
        "names = set()\n    for one in captions:\n        names.add(one)\n"
        "    return [one for i, one in enumerate(names) if i % world == rank]"
    ),
    "a comprehension of it": (
        "x = [one.lower() for one in set(captions)]\n    return x[rank::world]"
    ),
    "a comprehension between": (
        "x = list(set(captions))\n    y = [one.lower() for one in x]\n    return y[rank::world]"
    ),
    "zipped as a set": "return dict(zip(set(captions), range(9)))",
    "zipped by a name": "u = set(captions)\n    return dict(zip(u, range(len(u))))",
    "filled by updates": (
        "words = set()\n    for one in captions:\n        words.update(one.split())\n"
        "    return {one: i for i, one in enumerate(words)}"
    ),
    "a comprehension that is split": (
        "names = {one['name'] for one in captions}\n"
        "    return train_test_split(list(names), test_size=0.1)"
    ),
    "numbered one by one": (
        "v = {}\n    for one in set(captions):\n        v[one] = len(v)\n    return v"
    ),
    "numbered one by one, by a name": (
        "v = {}\n    words = set(captions)\n    for one in words:\n"
        "        if one not in v:\n            v[one] = len(v)\n    return v"
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_what_does_not_depend_on_the_order_is_left_alone(name: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"def f(captions, indices, rank, world):\n    {HEALTHY[name]}\n") == []


@pytest.mark.parametrize("name", DAMAGED)
def test_what_depends_on_it_is_found(name: str, tmp_path: Path) -> None:
    text = f"def f(captions, rank, world):\n    {DAMAGED[name]}\n"

    (one,) = found(tmp_path, text)

    assert "has the order of a set" in one.message


def differs(text: str) -> bool:
    """Whether a script prints something else in processes of several seeds, as ranks have them."""
    said = {
        subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(1, 5)
    }
    return len(said) > 1


@pytest.mark.parametrize("name", ["sorted", "the first order", "by rank", "zipped", "numbered"])
def test_the_verdict_is_that_of_real_processes(name: str, tmp_path: Path) -> None:
    text = f"def f(captions, rank, world):\n    {(HEALTHY | DAMAGED)[name]}\n"
    text += "print(f(['a cat', 'a dog', 'a cow', 'a fox', 'a hen', 'an owl'], 0, 2))\n"

    assert differs(text) == bool(found(tmp_path, text))


def test_of_ranks_it_is_an_error(tmp_path: Path) -> None:
    text = (
        "def f(captions):\n"
        "    with state.split_between_processes(list(set(captions))) as x:\n        pass\n"
    )

    (one,) = found(tmp_path, text)

    assert one.severity is Severity.ERROR
    assert "belong to nobody" in (one.why or "")


CLASS = """
class Files:
    def __init__(self, captions, indices, rank, world):
        self.rank, self.world = rank, world
        {made}

    def mine(self, captions):
        {used}
"""
BY_RANK = "return self.names[self.rank :: self.world]"
INDEX = "return [self.names.index(one) for one in captions]"
COUNTED = "return [one for i, one in enumerate(self.names) if i % self.world == self.rank]"

KEPT = {
    "a list": ("self.names = list(set(captions))", BY_RANK),
    "a set": ("self.names = set(captions)", COUNTED),
    "a list of a set": (
        "self.names = set(captions)",
        "return list(self.names)[self.rank :: self.world]",
    ),
    "a set that is filled": (
        "self.names = set()\n        for one in captions:\n            self.names.add(one)",
        COUNTED,
    ),
    "places in a list": ("self.names = list(set(captions))", INDEX),
    "numbers of a list": (
        "self.names = list(set(captions))",
        "return {one: i for i, one in enumerate(self.names)}",
    ),
}
KEPT_WELL = {
    "sorted at once": ("self.names = sorted(set(captions))", INDEX),
    "sorted then": ("self.names = list(set(captions))\n        self.names.sort()", INDEX),
    "sorted later": (
        "self.names = list(set(captions))",
        f"self.names = sorted(self.names)\n        {INDEX}",
    ),
    "sorted as it is read": (
        "self.names = set(captions)",
        "return sorted(self.names)[self.rank :: self.world]",
    ),
    "numbers": ("self.names = list(set(range(9)))", BY_RANK),
    "numbers by name": ("self.names = list(set(indices))", INDEX),
    "asked only whether it holds one": (
        "self.names = set(captions)",
        "return [one for one in captions if one in self.names]",
    ),
    "a list at times": (
        "self.names = set(captions)",
        f"self.names = captions\n        {BY_RANK}",
    ),
    "of another object": (
        "other.names = set(captions)",
        BY_RANK,
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_an_attribute_keeps_is_found_in_another_method(name: str, tmp_path: Path) -> None:
    made, used = KEPT[name]

    (one,) = found(tmp_path, CLASS.format(made=made, used=used))

    assert "has the order of a set" in one.message


@pytest.mark.parametrize("name", KEPT_WELL)
def test_what_an_attribute_keeps_in_order_is_left_alone(name: str, tmp_path: Path) -> None:
    made, used = KEPT_WELL[name]

    assert found(tmp_path, CLASS.format(made=made, used=used)) == []


@pytest.mark.parametrize("name", [*KEPT, "sorted at once", "sorted as it is read"])
def test_of_what_is_kept_the_verdict_is_that_of_real_processes(name: str, tmp_path: Path) -> None:
    made, used = (KEPT | KEPT_WELL)[name]
    text = CLASS.format(made=made, used=used)
    text += "x = ['a cat', 'a dog', 'a cow', 'a fox', 'a hen', 'an owl']\n"
    text += "print(Files(x, [], 0, 2).mine(x))\n"

    assert differs(text) == bool(found(tmp_path, text))
