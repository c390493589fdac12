"""Batches that are not what the loop over them takes them for, held against Python's own loops."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.batches.structure import structure_of
from preflight.facts import FirstBatches, Structure, TakenFor
from preflight.finding import Finding
from preflight.testing import ask
from tests.warming import start_copies


class Pair(NamedTuple):
    """What a collate function may give."""

    image: int
    label: int


def tensor(*shape: int, dtype: str = "float32") -> Structure:
    return Structure(kind="tensor", dtype=dtype, shape=shape)


def row(*parts: Structure, kind: str = "list") -> Structure:
    return Structure(kind=kind, length=len(parts), parts=parts)


def keyed(**parts: Structure) -> Structure:
    return Structure(kind="dict", length=len(parts), keys=tuple(parts), parts=tuple(parts.values()))


def found(*batches: Structure, takes: str = "", **more: bool) -> list[Finding]:
    taken = (TakenFor(takes=takes, file="train.py", line=9, **more),) if takes else ()
    facts = FirstBatches(name="train:make", ended="enough", batches=batches, taken_for=taken)
    return ask("loader-contract", facts)


@pytest.mark.parametrize("batch", [Structure(kind="none"), Structure(kind="int")])
def test_of_what_no_collate_function_may_have_made_none_alone_is_blamed(batch: Structure) -> None:
    """A class around a DataLoader gives None, and one that batches nothing gives an int."""
    (one,) = found(batch, takes="images, labels")
    makers = "what makes the batch, its collate function or an __iter__, give (images, labels)"
    takes_none = batch.kind == "none"

    assert makers in (one.fix or "")
    assert ("Take the batch as it comes" in (one.fix or "")) is not takes_none
    assert ((one.fix or "").endswith("each time, or leave out what is None.")) is takes_none


def begin_of(error: object) -> str:
    """Give what all versions of Python say alike."""
    return str(error).partition("(")[0].strip()


# --- what a loop takes apart ----------------------------------------------------------------------

BATCHES: list[object] = [
    (1, 2),
    [1, 2],
    (1, 2, 3),
    (1,),
    ((1, 2), 3),
    ("ab", "c"),
    ("ab", (1, 2)),
    Pair(1, 2),
    {"a": 1, "b": 2},
    {"ab": 1, "cd": 2},
    {"a": 1},
    {1: 2, 3: 4, 5: 6},
    {},
    [],
    "xy",
    "xyz",
    b"xy",
    7,
    7.5,
    True,
    None,
    ((1, 2), {"a": 1, "b": 2}),
    ([1, 2, 3], None),
    (None, (1, 2)),
]
TARGETS = ["a, b", "(a, b), c", "a, (b, c)", "a, *b", "*a, b", "a, b, *c", "a", "(a,)", "[a, b]"]


@pytest.mark.parametrize("takes", TARGETS)
@pytest.mark.parametrize("batch", BATCHES, ids=repr)
def test_a_verdict_agrees_with_a_plain_loop(batch: object, takes: str) -> None:
    """What Python raises is what is said; where it raises nothing, nothing but keys is."""
    said = [one for one in found(structure_of(batch), takes=takes) if "takes" in one.evidence]
    try:
        exec(f"for {takes} in [batch]: pass", {"batch": batch})
    except (TypeError, ValueError) as error:
        raised = f"{type(error).__name__}: {error}"
    else:
        raised = ""
    assert len(said) == 1 if raised else len(said) <= (takes != "a" and "{" in repr(batch))
    for one in said:
        assert begin_of(one.evidence.get("raises", "")) == begin_of(raised)


@pytest.mark.parametrize(
    ("shape", "takes", "error"),
    [
        ((), "a, b", "TypeError: iteration over a 0-d tensor"),
        ((4, 3), "a, b", "ValueError: too many values to unpack (expected 2)"),
        ((1, 3), "a, b", "ValueError: not enough values to unpack (expected 2, got 1)"),
        ((2,), "(a, b), c", "TypeError: iteration over a 0-d tensor"),
    ],
)
def test_a_tensor_is_taken_apart_by_its_first_dimension(
    shape: tuple[int, ...], takes: str, error: str
) -> None:
    (one,) = found(tensor(*shape), takes=takes)

    assert one.evidence["raises"] == error


@pytest.mark.parametrize("takes", ["a, b", "batch", "a, *b"])
def test_what_a_tensor_gives_is_left_alone(takes: str) -> None:
    assert found(tensor(2, 3), takes=takes) == []


def test_a_dict_that_is_taken_for_a_pair_is_the_worst(tmp_path: Path) -> None:
    """Python raises nothing: the names stand for keys."""
    batch = keyed(image=tensor(4, 3), label=tensor(4, dtype="int64"))
    (one,) = found(batch, takes="images, labels")

    assert (one.severity.name, one.at.file, one.at.line) == ("ERROR", "train.py", 9)
    assert "images is 'image', labels is 'label'" in (one.why or "")
    assert "raises" not in one.evidence
    assert "batch['image'], batch['label']" in (one.fix or "")


def test_a_mapping_of_an_unknown_class_may_give_its_values() -> None:
    batch = keyed(a=tensor(1), b=tensor(1))._replace(type="mine.Batch")

    assert found(batch, takes="a, b") == []


def test_a_loop_behind_a_test_is_a_warning() -> None:
    (one,) = found(structure_of(7), takes="a, b", is_sure=False)

    assert one.severity.name == "WARNING"


@pytest.mark.parametrize(
    ("takes", "error"),
    [
        ('batch["image"]', None),
        ('{"image", "label"}', None),
        ('batch["picture"]', "KeyError: 'picture'"),
        ('batch["image"], batch["text"]', "KeyError: 'text'"),
    ],
)
def test_keys_that_the_settings_name_are_looked_for(takes: str, error: str | None) -> None:
    said = found(keyed(image=tensor(4), label=tensor(4)), takes=takes)

    assert [one.evidence["raises"] for one in said] == ([error] if error else [])


class OfFields:
    """A batch with an attribute."""

    def __init__(self) -> None:
        self.image = 1

    def __repr__(self) -> str:
        """Name the case alike in every process of a test run."""
        return "OfFields()"


OF_WAYS: list[object] = [
    {"image": {"id": 1, "size": (2, 3)}, "label": 4},
    {"image": (5, 6), "label": 4},
    [{"id": 1}, 2],
    (1, [2, 3]),
    OfFields(),
    7,
    None,
]
WAYS = [
    'batch["image"]["id"]',
    'batch["image"]["size"][1], batch["label"]',
    'batch["image"][-1]',
    'batch[0]["id"]',
    "batch[-1]",
    "batch[1][1]",
    "batch.a",
    "batch.image, batch.label",
    "batch.image",
    "first, second = batch",
    'image = batch["image"]',
    'x, y = batch[0], batch["label"]',
    "for step, (a, b) in enumerate(loader)",
    "for step, batch in enumerate(tqdm(loader)):",
    "for a, b in loader:",
]


@pytest.mark.parametrize("takes", WAYS)
@pytest.mark.parametrize("batch", OF_WAYS, ids=repr)
def test_a_line_of_a_loop_agrees_with_the_line(batch: object, takes: str) -> None:
    """Parts of parts, attributes, lines that assign, and loops that count."""
    said = [one for one in found(structure_of(batch), takes=takes) if "takes" in one.evidence]
    space = {"batch": batch, "loader": [batch], "tqdm": iter}
    code = f"{takes.removesuffix(':')}: pass" if takes.startswith("for") else takes
    try:
        exec(code, space)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raised = f"{type(error).__name__}: {error}"
    else:
        raised = ""
    stops = [one for one in said if "raises" in one.evidence]

    assert [begin_of(one.evidence["raises"]) for one in stops] == (
        [begin_of(raised)] * bool(raised)
    )


def test_a_named_tuple_has_its_own_attributes() -> None:
    (one,) = found(structure_of(Pair(1, 2)), takes="batch.image, batch.mask")

    assert "has no attribute 'mask'" in str(one.evidence["raises"])
    assert found(structure_of(Pair(1, 2)), takes="batch.image, batch.label") == []


def test_a_list_has_no_keys() -> None:
    (one,) = found(row(tensor(4, 3), tensor(4)), takes='batch["image"]')

    assert str(one.evidence["raises"]).startswith("TypeError: list indices must be integers")


# --- what differs between batches -----------------------------------------------------------------

PICTURES, LABELS = tensor(4, 3, 8, 8), tensor(4, dtype="int64")
TEXT = Structure(kind="str", length=5)
BOXES = keyed(boxes=tensor(3, 4), labels=tensor(3, dtype="int64"))


@pytest.mark.parametrize(
    ("one", "other", "severity", "words"),
    [
        (row(PICTURES, LABELS), row(PICTURES), "ERROR", "has 1 parts and not 2"),
        (row(PICTURES, LABELS), keyed(x=PICTURES), "ERROR", "is a dict with x, and not a list"),
        (row(PICTURES, LABELS), PICTURES, "ERROR", "is a tensor of float32"),
        (keyed(x=PICTURES, y=LABELS), keyed(x=PICTURES), "WARNING", "lacks y"),
        (keyed(x=PICTURES), keyed(x=PICTURES, y=LABELS), "WARNING", "has y beside them"),
        (tensor(4, 3), tensor(3), "WARNING", "has 1 dimensions and not 2"),
        (row(PICTURES, LABELS), row(PICTURES, tensor(4)), "WARNING", "is of float32 and not of"),
        (row(TEXT, LABELS), row(LABELS, LABELS), "WARNING", "is a tensor of int64"),
        (row(BOXES, BOXES), row(keyed(boxes=tensor(3, 4))), "WARNING", "lacks labels"),
    ],
)
def test_another_structure_in_a_later_batch_is_found(
    one: Structure, other: Structure, severity: str, words: str
) -> None:
    said = found(one, one, other)

    assert [finding.severity.name for finding in said] in ([severity], [severity] * 2)
    assert words in said[0].message
    assert said[0].evidence["batch"] == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (row(PICTURES, LABELS), row(tensor(2, 3, 8, 8), tensor(2, dtype="int64"))),
        (keyed(tokens=tensor(4, 77)), keyed(tokens=tensor(4, 12))),
        (row(TEXT, TEXT), row(Structure(kind="str", length=900))),
        (row(BOXES, BOXES, BOXES), row(BOXES)),
        (row(row(PICTURES, kind="tuple"), row(BOXES)), row(row(PICTURES, kind="tuple"), row())),
        (keyed(mask=Structure(kind="none")), keyed(mask=PICTURES)),
        (keyed(a1=PICTURES), keyed(a2=PICTURES)),
        (row(keyed(a=TEXT), keyed(a=TEXT, b=TEXT)), row(keyed(a=TEXT, b=TEXT), keyed(a=TEXT))),
        (row(TEXT, Structure(kind="none")), row(Structure(kind="none"), TEXT)),
        (row(Structure(kind="int"), LABELS), row(Structure(kind="float"), LABELS)),
    ],
)
def test_what_may_differ_is_left_alone(one: Structure, other: Structure) -> None:
    """The number of samples, the length of texts and sequences, and what is optional."""
    assert found(one, other) == []
    assert found(other, one) == []


def test_a_batch_of_nothing_is_found() -> None:
    nothing = Structure(kind="none")

    (one,) = found(nothing, nothing)
    assert "gives None as each batch" in one.message
    (one,) = found(row(PICTURES, LABELS), nothing)
    assert "gives None as batch 2" in one.message
    (one,) = found(Structure(kind="bool"), row(PICTURES, LABELS))
    assert "gives a bool as batch 1" in one.message


@pytest.mark.parametrize("nothing", [1, 2])
def test_lightning_goes_on_behind_a_batch_of_nothing(nothing: int) -> None:
    """Its loop over training batches does; that over those of a validation does not."""
    batches = [keyed(x=tensor(4)), keyed(x=tensor(4))]
    batches.insert(nothing - 1, Structure(kind="none"))
    facts = FirstBatches(name="train:Data.train_dataloader", ended="enough", batches=(*batches,))

    assert ask("loader-contract", facts) == []
    (one,) = ask("loader-contract", dataclasses.replace(facts, name="train:Data.val_dataloader"))
    assert f"gives None as batch {nothing}" in one.message


def test_a_loop_that_asks_for_nothing_is_left_alone() -> None:
    said = found(row(PICTURES, LABELS), Structure(kind="none"), takes="batch", asks=True)

    assert said == []


# --- step numbers ---------------------------------------------------------------------------------


def counted(numbers: list[int], takes: str = "step, batch", workers: int = 0) -> list[Finding]:
    """Hold pairs of a number and a batch against a loop."""
    taken = (TakenFor(takes=takes, file="train.py", line=9),) if takes else ()
    batches = tuple(structure_of((one, "xy")) for one in numbers)
    facts = FirstBatches(name="train:make", ended="enough", batches=batches, taken_for=taken)
    return ask("loader-contract", dataclasses.replace(facts, num_workers=workers))


@pytest.mark.parametrize(
    ("takes", "loop"),
    [
        ("step, batch", "step, (_, batch)"),
        ("step, (x, y)", "step, (_, (x, y))"),
        ("batch, step", "step, (batch, _)"),
        ("for i, (step, batch) in enumerate(loader):", "step, (_, batch)"),
    ],
)
def test_a_loop_that_counts_by_itself_takes_the_same_batch(takes: str, loop: str) -> None:
    """What is printed is run, and the names are what they were before, but for the number."""
    batch = ("xy", 3) if takes.startswith("batch") else (3, "xy")
    taken = (TakenFor(takes=takes, file="train.py", line=9),)
    batches = tuple(structure_of(batch) for _ in range(3))
    facts = FirstBatches(name="train:make", ended="enough", batches=batches, taken_for=taken)
    (one,) = [one for one in ask("loader-contract", facts) if "numbers" in one.evidence]
    printed = (one.fix or "").removeprefix("Count in the loop: ").removesuffix(".")
    seen: list[tuple[object, ...]] = []
    names = "step, x, y" if "x" in loop else "step, batch"
    exec(f"{printed}: seen.append(({names}))", {"seen": seen, "loader": [batch] * 3})

    assert printed == f"for {loop} in enumerate(loader)"
    assert seen == [(at, *("xy" if "x" in loop else ["xy"])) for at in range(3)]


def test_a_batch_with_a_number_by_key_is_taken_whole() -> None:
    (one,) = keyed_by("global_step", [3, 3, 3])

    assert one.fix == "Count in the loop: for global_step, batch in enumerate(loader)."


def keyed_by(name: str, numbers: list[int]) -> list[Finding]:
    return found(*(structure_of({"x": "text", name: one}) for one in numbers))


@pytest.mark.parametrize(
    ("numbers", "workers"),
    [([3, 3, 3, 3], 0), ([0, 1, 0, 1], 0), ([0, 0, 1, 1], 2), ([0, 0, 0], 4), ([9, 8], 0)],
)
@pytest.mark.parametrize("takes", ["step, batch", "self.global_step, (x, y)"])
def test_a_step_number_that_does_not_grow_is_a_warning(
    numbers: list[int], workers: int, takes: str
) -> None:
    (one,) = [one for one in counted(numbers, takes, workers) if "numbers" in one.evidence]

    assert one.severity.name == "WARNING"
    assert one.message.endswith(", ".join(map(str, numbers)))
    assert ("counts by itself" in (one.why or "")) == (numbers == [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("numbers", "takes", "workers"),
    [
        ([0, 1, 2, 3], "step, batch", 2),
        ([0, 4, 8], "step, batch", 0),
        ([7], "step, batch", 0),
        ([3, 3], "step, batch", 2),
        ([0, 0, 1, 1], "step, batch", 0),
        ([3, 3, 3, 3], "label, image", 0),
        ([3, 3, 3, 3], "size, step", 0),
        ([3, 3, 3, 3], "epoch, batch", 2),
        ([3, 3, 3, 3], "*step, batch", 2),
        ([3, 3, 3, 3], "item", 0),
        ([3, 3, 3, 3], "", 0),
        ([512, 256, 512], "length, tokens", 2),
    ],
)
def test_a_number_that_grows_or_is_no_step_is_left_alone(
    numbers: list[int], takes: str, workers: int
) -> None:
    assert counted(numbers, takes, workers) == []


@pytest.mark.parametrize(
    ("name", "numbers", "number"),
    [
        ("global_step", [3, 3, 3], 1),
        ("global_step", [0, 1, 0, 1], 1),
        ("step", [3, 3, 3], 1),
        ("step", [0, 1, 0, 1], 0),  # a sample's place in its episode
        ("step", [17, 4, 9], 0),
        ("step", [1, 2, 3], 0),
        ("idx", [3, 3, 3], 0),
        ("epoch", [0, 0, 0], 0),
        ("height", [512, 512, 512], 0),
        ("label", [1, 0, 1], 0),
        ("timestep", [500, 3, 500], 0),
    ],
)
def test_a_key_is_a_step_by_its_name_alone(name: str, numbers: list[int], number: int) -> None:
    assert len(keyed_by(name, numbers)) == number


def test_a_value_is_kept_of_few_numbers_only() -> None:
    """Not of labels, of what lies deeper, or of what JSON may not hold."""
    assert structure_of((3, {"step": 4})).parts[0].value == 3
    assert structure_of((3, {"step": 4})).parts[1].parts[0].value is None
    assert {one.value for one in structure_of([*range(40)]).parts} == {None}
    assert structure_of((2**70, True, 0.5)).parts[0].value is None


# --- real loaders ---------------------------------------------------------------------------------

JOB = '''\
"""Loops over loaders, of which some are sound."""

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

CASES = {}


class Items(Dataset):
    def __init__(self, item):
        self.item = item

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return self.item(index)


class Steps(IterableDataset):
    """What SimpleTuner's loop got in place of `(step, batch)`."""

    def __iter__(self):
        yield from range(5)


class Uneven(IterableDataset):
    def __iter__(self):
        for number in range(6):
            yield torch.zeros(3), number
            if number == 1:
                yield torch.zeros(3), number, "more"


def pairs():
    return DataLoader(Items(lambda i: (torch.zeros(3), i)), batch_size=2)


def dicts():
    return DataLoader(Items(lambda i: {"x": torch.zeros(3), "y": i}), batch_size=2)


def numbers():
    return DataLoader(Steps(), batch_size=None)


def uneven():
    return DataLoader(Uneven(), batch_size=None)


def triples():
    return DataLoader(Items(lambda i: (torch.zeros(3), i, str(i))), batch_size=2)


def forgotten():
    return DataLoader(Items(lambda i: i), batch_size=2, collate_fn=print)


class Counted(IterableDataset):
    """Counts in each worker."""

    def __iter__(self):
        for number in range(4):
            yield number, torch.zeros(3)


def counted():
    return DataLoader(Counted(), batch_size=None, num_workers=2)


def both():
    return pairs(), triples()


def case_pairs():
    for x, y in pairs():
        pass


def case_dicts():
    for x, y in dicts():
        assert not isinstance(x, str)


def case_numbers():
    loader = numbers()
    for step, batch in loader:
        pass


def case_uneven():
    for at, (x, y) in enumerate(uneven()):
        pass


def case_triples():
    for batch in triples():
        x, y = batch


def case_forgotten():
    a, b = next(iter(forgotten()))


def case_counted():
    last = -1
    for step, batch in counted():
        assert step > last
        last = step


def run(loader):
    for x, y in loader:
        pass


def case_both():
    first, second = both()
    run(second)


if __name__ == "__main__":
    import sys

    for name, case in [*globals().items()]:
        if name.startswith("case_"):
            try:
                case()
            except Exception as error:
                print(name, f"{type(error).__name__}: {error}", file=sys.stderr)
            else:
                print(name, "fine", file=sys.stderr)
'''

FACTORIES = ("pairs", "dicts", "numbers", "uneven", "triples", "forgotten", "counted", "both")


def test_loops_of_the_sources_meet_their_fate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each verdict is held against the loop as it runs in a plain script."""
    (tmp_path / "job.py").write_text(JOB, "utf-8")
    start_copies(monkeypatch)
    words = [f"job:{one}" for one in FACTORIES]
    report = preflight.run(*words, folder=str(tmp_path), select=["loader-contract"])
    ran = subprocess.run(
        [sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    fates = dict(
        line.removeprefix("case_").split(" ", 1)
        for line in ran.stderr.splitlines()
        if line.startswith("case_")
    )

    said: dict[str, str] = {}
    for one in report.findings:
        name = str(one.evidence["loader"]).removeprefix("job:").partition("[")[0]
        said[name] = str(one.evidence.get("raises", "AssertionError"))
    assert said.keys() == {name for name, fate in fates.items() if fate != "fine"}
    for name, raises in said.items():
        assert begin_of(fates[name]).strip(": ") == begin_of(raises)
    assert len(fates) == len(FACTORIES)
    assert all(one.at.file == "job.py" for one in report.findings)
