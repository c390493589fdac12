"""Pickles are followed opcode by opcode; nothing that they name is looked for, made or run."""

from __future__ import annotations

import collections
import datetime
import io
import pickle
import pickletools
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from preflight.formats.bytes.damaged import DamagedError
from preflight.formats.torch.pickle_machine import Name, Storage
from preflight.formats.torch.pickles import WalkedPickle, walk, walk_bytes
from preflight.formats.torch.weights_only import refused_by
from tests.contents import damage_by, reader, with_peak


def kind_of(content: bytes) -> str:
    return damage_by(lambda read, size: walk(read, 0, size), content)[0]


class Slotted:
    """Has state of its own, and is made through a function."""

    __slots__ = ("value",)

    def __reduce__(self) -> tuple[object, ...]:
        return (Slotted, (), (None, {"value": 1}), iter([1, 2]), iter([("a", 1)]))


LONG = "long" * 200
THINGS = {
    "nothing": None,
    "numbers": [0, -1, 255, 65_536, 2**40, -(2**70), 2**3000, 1.5, True],
    "texts": ["", "kurz", LONG, "\ud800", "日本語", b"", b"bytes", b"b" * 70_000, bytearray(b"x")],
    "containers": [(), (1,), (1, 2, 3, 4), [[]], {}, {"a": {1: 2}}, {1, 2}, frozenset({3})],
    "shared": [LONG, LONG, (LONG, LONG)],
    "classes": [int, collections.OrderedDict(a=1), datetime.date(2026, 1, 1), Slotted],
    "complex objects": [Slotted(), collections.Counter("abc"), collections.deque([1])],
    "arrays": np.arange(300_000.0),
    "many": list(range(70_000)),
}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("thing", list(THINGS.values()), ids=list(THINGS))
def test_every_pickle_that_python_writes_is_followed_to_its_end(
    thing: object, protocol: int
) -> None:
    """Whatever the protocol, and also where more stands behind it."""
    content = pickle.dumps(thing, protocol)

    assert walk(reader(content), 0, len(content)).end == len(content)
    behind = b"###" + content + b"###"
    assert walk(reader(behind), 3, len(behind)).end == len(behind) - 3


@pytest.mark.parametrize("protocol", [2, 4])
def test_an_optimized_pickle_is_followed(protocol: int) -> None:
    """Its memo has holes in the order that pickle itself never leaves."""
    content = pickletools.optimize(pickle.dumps(THINGS["shared"], protocol))

    assert walk_bytes(content).end == len(content)


def test_a_pickle_with_buffers_outside_of_it_is_followed() -> None:
    """Protocol 5 names them only."""
    content = pickle.dumps(np.arange(1000), protocol=5, buffer_callback=lambda _: None)

    assert walk_bytes(content).end == len(content)


def test_a_pickle_cut_anywhere_is_found() -> None:
    content = pickle.dumps(THINGS["containers"], 4)

    assert {kind_of(content[:size]) for size in range(len(content))} == {"cut"}


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x80\x02\xff.", id="no such opcode"),
        pytest.param(b".", id="the end of nothing"),
        pytest.param(b"\x80\x02R.", id="a call of nothing"),
        pytest.param(b"\x80\x02h\x05.", id="a memory of nothing"),
        pytest.param(b"\x80\x02t.", id="a tuple without a beginning"),
        pytest.param(b"\x80\x02X\x01\0\0\0\xff.", id="text that is no UTF-8"),
    ],
)
def test_a_pickle_that_makes_no_sense_is_found(content: bytes) -> None:
    """It is what is left of one whose bytes were changed."""
    assert kind_of(content) == "structure"
    with pytest.raises(Exception):  # noqa: B017, PT011  whatever pickle says of it
        pickle.loads(content)


def test_the_storages_of_a_tensor_are_named() -> None:
    """By key, kind and elements, as torch writes them into its persistent ids."""
    content = (
        b"\x80\x02]((X\x07\0\0\0storagectorch\nHalfStorage\nX\x01\0\0\x000X\x03\0\0\0cpuM\x00\x01tQ"
        b"(X\x07\0\0\0storagectorch.storage\nUntypedStorage\nX\x01\0\0\x001X\x03\0\0\0cpuK\x07tQe."
    )

    assert walk_bytes(content).storages == (
        Storage("0", "HalfStorage", 256),
        Storage("1", "UntypedStorage", 7),
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_persistent_id_of_somebody_else_is_passed_over(protocol: int) -> None:
    """Any program may name things outside of its pickle in its own way."""

    class Pickler(pickle._Pickler):  # type: ignore[misc]  # the one in Python, which can be changed
        def persistent_id(self, obj: object) -> object:
            return "elsewhere" if obj is Slotted else None

    out = io.BytesIO()
    Pickler(out, protocol).dump([Slotted, Slotted])

    walked = walk_bytes(out.getvalue())
    whole = WalkedPickle(len(out.getvalue()), (), walked.texts)
    assert walked._replace(steps=0, framed=False) == whole


def test_nothing_is_run(tmp_path: Path) -> None:
    """A pickle that writes a file when it is loaded writes none."""
    trace = tmp_path / "was-run"
    content = b"cbuiltins\nopen\n(X%sX\x01\0\0\0wtR." % (
        len(str(trace)).to_bytes(4, "little") + str(trace).encode()
    )

    assert walk_bytes(content).end == len(content)
    assert not trace.exists()
    pickle.loads(content).close()
    assert trace.exists(), "it would have been"


def test_nothing_that_a_pickle_names_is_imported() -> None:
    """Importing alone would run code of whoever wrote the module."""
    walk_bytes(b"\x80\x02cthis_module_is_nowhere\nThing\n.")
    walk_bytes(b"\x80\x04\x8c\x04this\x8c\x01s\x93.")

    assert "this" not in sys.modules


HOSTILE = {
    "a memo of four billion": b"\x80\x02Nr\xff\xff\xff\xff.",
    "a terabyte of bytes": b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"x.",
    "a terabyte of bytearray": b"\x80\x04\x96" + (2**40).to_bytes(8, "little") + b"x.",
    "a long of 2 GB": b"\x80\x02\x8b" + (2**31 - 1).to_bytes(4, "little") + b"x.",
    "a frame without end": b"\x80\x04\x95" + (2**60).to_bytes(8, "little") + b"N.",
    "doubled two thousand times": b"\x80\x02)q\x00" + b"h\x00h\x00\x86q\x00" * 2000 + b"}h\x00Ns.",
    "100,000 marks": b"\x80\x02" + b"(" * 100_000,
    "nested 100,000 deep": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "a number of 60,000 digits": b"I" + b"9" * 60_000 + b"\n.",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_pickle_made_to_exhaust_its_reader_exhausts_nothing(content: bytes) -> None:
    """Loading it would take the machine's memory, or never end."""
    assert with_peak(lambda: kind_of(content))[1] < 20_000_000


def test_a_pickle_that_holds_too_much_is_given_up_and_not_called_damaged() -> None:
    """A stack of millions is legal, only not worth following."""
    content = b"\x80\x02(" + b"N" * 1_500_000 + b"t."

    assert walk_bytes(content).end is None


def test_random_bytes_never_break_the_walk() -> None:
    for seed in range(5000):
        chance = random.Random(seed)
        content = bytearray(pickle.dumps(THINGS["containers"], chance.randrange(6)))
        for _ in range(chance.randrange(1, 9)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        assert kind_of(bytes(content)) in ("none", "cut", "structure"), seed


def test_a_name_is_only_its_text() -> None:
    assert Name("os system").text == "os system"


# --- what it names --------------------------------------------------------------------------------


NAMED = {
    "a global": (b"\x80\x02cposix\nsystem\nX\x02\0\0\0ls\x85R.", ("posix.system",)),
    "from the stack": (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", ("posix.system",)),
    "an instance": (b"(S'ls'\nios\nsystem\n.", ("os.system",)),
    "from texts that are not kept": (b"\x80\x02U\x02osU\x06system\x93.", ("?.?",)),
    "from no text": (b"\x80\x04\x8c\x02osN\x93.", ("os.?",)),
    "a line too long to hold": (b"\x80\x02c" + b"o" * 3_000_000 + b"\ntorch.Size\n.", ("?.?",)),
    "under its name of Python 2": (
        b"\x80\x02c__builtin__\neval\n0c__builtin__\nset\n.",
        ("builtins.eval",),
    ),
    "twice": (b"\x80\x02cos\nsystem\n0cos\nsystem\n.", ("os.system",)),
    "with what a console would obey": (b"\x80\x02ca\x1b[31m\nb\n.", ("a\\x1b[31m.b",)),
    "a state dict's": (b"\x80\x02ccollections\nOrderedDict\n0ctorch\nfloat32\n.", ()),
    "storages'": (b"\x80\x02ctorch.storage\nTypedStorage\n0ctorch\nBFloat16Storage\n.", ()),
    "what a process has registered": (b"\x80\x02\x82\x01\x84\2\0\0\1.", ("copyreg.add_extension",)),
    "a type of a later torch": (
        b"\x80\x02ctorch\nfloat99_e9m9fn\n0ctorch\nload\n.",
        ("torch.load",),
    ),
}


@pytest.mark.parametrize(("content", "names"), NAMED.values(), ids=NAMED)
def test_the_globals_that_torch_would_refuse_are_named(
    content: bytes, names: tuple[str, ...]
) -> None:
    """Each once; what cannot be told is a question mark, and never passes for a known one."""
    assert walk_bytes(content).globals == names


def test_only_the_first_globals_are_named() -> None:
    """A hostile pickle could name millions, of any length."""
    content = (
        b"\x80\x02" + b"".join(b"c%05d%s\nx\n0" % (k, b"y" * 500) for k in range(5000)) + b"N."
    )

    found = walk_bytes(content).globals
    assert len(found) == 20
    assert all(len(name) < 300 for name in found)


def test_a_pickle_given_up_still_says_what_it_named() -> None:
    """It need only be long."""
    content = b"\x80\x02cos\nsystem\n(" + b"N" * 1_500_000 + b"t\x86."

    assert walk_bytes(content)._replace(steps=0) == WalkedPickle(None, globals=("os.system",))


def test_every_global_that_torch_allows_is_known() -> None:
    """By its own list, as far as this version has one; ours is that of PyTorch 2.13."""
    unpickler = pytest.importorskip("torch._weights_only_unpickler")
    allowed = getattr(unpickler, "_get_allowed_globals", dict)()

    for name in allowed:
        module, _, attribute = name.rpartition(".")
        content = b"\x80\x02c%s\n%s\n." % (module.encode(), attribute.encode())
        named = walk_bytes(content).globals
        assert refused_by(torch.__path__[0], named) == (), name
        assert named == () or torch.__version__ >= "2.14", name


def test_a_name_that_is_no_text_makes_no_sense() -> None:
    """Python and torch stop at it, too."""
    content = b"\x80\x02ctorch\nFloat\xf2torage\n."

    with pytest.raises(UnicodeDecodeError):
        pickle.loads(content)
    with pytest.raises(DamagedError, match="makes no sense"):
        walk_bytes(content)
