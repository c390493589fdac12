"""What a loop comes to once in many steps is come to by steps, where these are quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.scripts.facts import in_words
from preflight.scripts.met.lines.brought_forward import BY_COUNT
from tests.scripts.rehearsing import Seen, dies_at, line_of, rehearse, run_plainly

pytestmark = pytest.mark.slow

SCRIPT = """
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Config:
    save_every = 40

config = {{"train": {{"save_every": 40.0}}}}
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn({samples}, 8), torch.randint(0, 2, ({samples},)))
loader = DataLoader(data, batch_size=4)

def evaluate():
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y).item()
    model.train()

step = 0
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep({seconds})
        {before}
        if {test}:
            evaluate()
            torch.save(model.state_dict(), {path})
        {behind}
print("done")
"""

TESTS = {
    "step % 40 == 0": ("step += 1", ""),
    "step > 0 and step % Config.save_every == 0": ("", "step += 1"),
    "(i + 1) % config['train']['save_every'] == 0": ("", ""),
    "not step % 40 and step": ("step += 1", ""),
    "step % 40 == 0 and int(step)": ("step += 1", ""),
}


BEGINNING = """
import itertools
import time
from datetime import datetime
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = TensorDataset(torch.randn(400, 8), torch.randint(0, 2, (400,)))
loader = DataLoader(data, batch_size=4)

def evaluate():
    model.eval()
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=200):
            loss = nn.functional.cross_entropy(model(x), y).item()
    model.train()

def train(batch):
    x, y = batch
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""

PREFETCHED = (
    BEGINNING
    + """
class Prefetcher:
    def __init__(self, loader):
        self.of, self.batches = loader, iter(loader)
    def next(self):
        try:
            return next(self.batches)
        except StopIteration:
            return None
    def reset(self):
        self.batches = iter(self.of)

batches, step = Prefetcher(loader), 0
for epoch in range(4):
    batches.reset()
    batch = batches.next()
    while batch is not None:
        step += 1
        train(batch)
        if step % 30 == 0:
            evaluate()
        if step % 50 == 0:
            torch.save(model.state_dict(), 'last.pt')
        batch = batches.next()
"""
)

TIMED = (
    BEGINNING
    + """
def save():
    torch.save(model.state_dict(), PATH)

def ready():
    return False

class Saver:
    last = time.perf_counter()
    def after_step(self):
        if time.perf_counter() - self.last > SECONDS:
            save()
            self.last = time.perf_counter()

saver, step, rank, day = Saver(), 0, 0, datetime.now()
last, start = time.time(), time.monotonic()
LOOP
    if "LOOP"[0] == "w": batch = next(iter(loader))
    train(batch)
    step += 1
TEST
"""
)

KEPT = (
    BEGINNING
    + """
batches = itertools.cycle(loader)
for step in range(1, 10_000_000):
    train(next(batches))
    if step % 50 == 0:
        evaluate()
        torch.save(model.state_dict(), "last.pt")
"""
)


def _written(folder: Path, text: str, name: str = "job") -> Path:
    (folder / name).mkdir()
    path = folder / name / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def _by_time(test: str, loop: str, seconds: float, path: str = "'last.pt'") -> str:
    test = "\n".join(f"    {one}" for one in test.format(seconds=seconds).splitlines())
    changes = {"LOOP": loop, "TEST": test, "SECONDS": str(seconds), "PATH": path}
    text = TIMED
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


def rehearsed(folder: Path, test: str, **changes: object) -> tuple[Path, Seen]:
    (folder / "job").mkdir()
    path = folder / "job" / "train.py"
    before, behind = TESTS[test]
    said = {"samples": 400, "seconds": 0, "path": "'last.pt'", **changes}
    path.write_text(SCRIPT.format(test=test, before=before, behind=behind, **said))
    return path, rehearse(path)


@pytest.mark.parametrize("test", [one for one in TESTS if "int" not in one])
def test_a_save_that_comes_once_in_many_steps_is_come_to(test: str, tmp_path: Path) -> None:
    _, seen = rehearsed(tmp_path, test)

    assert seen.told == []
    assert seen.rehearsal.not_reached == ()
    assert 40 <= seen.rehearsal.steps < 50


def test_what_fails_there_is_told_at_the_line_of_the_plain_script(tmp_path: Path) -> None:
    path, seen = rehearsed(tmp_path, "step % 40 == 0", path="f'{step:q}.pt'")
    plain = run_plainly(path)

    assert dies_at(plain, path) == line_of(path, "torch.save")
    assert seen.told == [f"error script-stopped {path.name}:{line_of(path, 'torch.save')}"]


def test_where_steps_take_long_it_comes_at_once(tmp_path: Path) -> None:
    """As if the number in the test were smaller."""
    path, seen = rehearsed(tmp_path, "step % 40 == 0", seconds=0.5)

    assert (seen.told, seen.rehearsal.not_reached) == ([], ())
    assert seen.rehearsal.steps < 10
    said = f"{BY_COUNT} ({path.name}:{line_of(path, 'if step')})"
    assert said in seen.rehearsal.shortened


def test_where_another_thing_is_asked_it_is_said_how_many_steps_are_to_be_taken(
    tmp_path: Path,
) -> None:
    path, seen = rehearsed(tmp_path, "step % 40 == 0 and int(step)", seconds=0.5)

    assert seen.rehearsal.not_reached == ("evaluation", "save")
    said = f"--batches 41 comes to {path.name}:{line_of(path, 'if step')}"
    assert said in str(in_words([seen.rehearsal]))


def test_what_no_epoch_comes_to_is_not_gone_on_for(tmp_path: Path) -> None:
    """`--batches` would not help."""
    _, seen = rehearsed(tmp_path, "(i + 1) % config['train']['save_every'] == 0", samples=100)

    assert seen.rehearsal.not_reached == ("evaluation", "save")
    assert seen.rehearsal.steps < 10
    assert "comes to" not in str(in_words([seen.rehearsal]))


def test_what_is_counted_in_the_loop_around_a_prefetcher_is_come_to(tmp_path: Path) -> None:
    path = _written(tmp_path, PREFETCHED)
    seen = rehearse(path)

    assert (seen.told, seen.rehearsal.not_reached) == ([], ())
    path = _written(tmp_path, PREFETCHED.replace("'last.pt'", "f'{step:q}.pt'"), "broken")
    line = line_of(path, "torch.save")
    assert dies_at(run_plainly(path), path) == line
    assert rehearse(path).told == [f"error script-stopped train.py:{line}"]


def test_pictures_and_an_average_that_evaluates_for_good_are_no_save_and_no_evaluation(
    tmp_path: Path,
) -> None:
    """BasicSR saves those in its evaluation, which comes first, and sets its average so at once."""
    averaged = "import copy; average = copy.deepcopy(model); average.eval()\nbatches, step ="
    pictured = "torch.save(torch.ones(3, 3), 'picture.pt')\n    model.train()"
    text = PREFETCHED.replace("batches, step =", averaged).replace("model.train()", pictured)
    seen = rehearse(_written(tmp_path, text))

    assert (seen.told, seen.rehearsal.not_reached) == ([], ())
    assert seen.rehearsal.times("sample") >= 1


BY_HAND = (
    BEGINNING.replace(
        "for x, y in DataLoader(data, batch_size=200):", "for x, y in [(X, Y)]:"
    ).replace("lr=0.1", "lr=0.1, momentum=0.9")
    + """
import argparse, os
args = argparse.ArgumentParser()
args.add_argument("--every", type=int, default=500)
args.add_argument("--resume")
args = args.parse_args()
X, Y = torch.randn(64, 8), torch.randint(0, 2, (64,))
step = 0
if args.resume:
    saved = torch.load(args.resume)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    step = saved["step"]
while step < 5000:
    at = torch.randint(64, (8,))
    train((X[at], Y[at]))
    step += 1
    time.sleep(0.2)
    if step % args.every == 0:
        evaluate()
        os.makedirs("out", exist_ok=True)
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, "out/last.pt")
"""
)
FAULTS_BY_HAND = {
    "a save into a folder that nobody made": (
        ('os.makedirs("out", exist_ok=True)', "pass"),
        'torch.save(state, "out/last.pt")',
    ),
    "a name that is nowhere": (
        ("evaluate()\n        os.", "evaluates()\n        os."),
        "evaluates()",
    ),
    "an optimizer that is not loaded": (
        ('optimizer.load_state_dict(saved["optimizer"])', "pass"),
        "optimizer = torch.optim",
    ),
}


def test_a_training_without_a_loader_comes_to_its_save_and_goes_on_from_it(tmp_path: Path) -> None:
    path = _written(tmp_path, BY_HAND)
    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    assert (seen.told, seen.rehearsal.not_reached) == ([], ())
    assert seen.rehearsal.times("save") == 1
    assert any(one.startswith(BY_COUNT) for one in seen.rehearsal.shortened)


BY_EPOCHS = (
    BEGINNING
    + """
for epoch in range(100):
    for batch in loader:
        train(batch)
        time.sleep(0.5)
    if (epoch + 1) % 50 == 0:
        evaluate()
        torch.save(model.state_dict(), 'last.pt')
"""
)


@pytest.mark.parametrize(("every", "not_reached"), [(50, ()), (500, ("evaluation", "save"))])
def test_what_comes_once_in_many_epochs_is_come_to_where_there_are_as_many(
    tmp_path: Path, every: int, not_reached: tuple[str, ...]
) -> None:
    path = _written(tmp_path, BY_EPOCHS.replace("% 50", f"% {every}"))
    seen = rehearse(path)

    assert (seen.told, seen.rehearsal.not_reached) == ([], not_reached)


@pytest.mark.parametrize("fault", FAULTS_BY_HAND)
def test_what_fails_in_a_training_without_a_loader_is_told(fault: str, tmp_path: Path) -> None:
    change, line = FAULTS_BY_HAND[fault]
    path = _written(tmp_path, BY_HAND.replace(*change))
    seen = rehearse(path, wants=["SavedState", "Steps", "Resumed"])

    (told,) = seen.told
    assert told.startswith("error script-")
    assert told.endswith(f"{path.name}:{line_of(path, line)}")


BY_TIME = {
    "in the loop": "if time.time() - last > {seconds}:\n    save()",
    "the other way round, on one process of many": (
        "if rank == 0 and {seconds} <= time.monotonic() - start:\n    save()"
    ),
    "by a name": "now = time.time()\nif now - last > {seconds}:\n    save()\n    last = now",
    "in a function": "saver.after_step()",
    "as a date": "if (datetime.now() - day).total_seconds() > {seconds}:\n    save()",
}


@pytest.mark.parametrize("way", BY_TIME)
@pytest.mark.parametrize("loop", ["for batch in loader:", "while step < 3000:"])
def test_what_comes_by_the_clock_is_come_to(way: str, loop: str, tmp_path: Path) -> None:
    path = _written(tmp_path, _by_time(BY_TIME[way], loop, 600))
    assert rehearse(path).rehearsal.times("save") >= 1

    path = _written(tmp_path, _by_time(BY_TIME[way], loop, 600, path="f'{step:q}.pt'"), "broken")
    line = line_of(path, "torch.save")
    assert rehearse(path).told == [f"error script-stopped train.py:{line}"]
    path.write_text(_by_time(BY_TIME[way], loop, 0.01, path="f'{step:q}.pt'"))
    assert dies_at(run_plainly(path), path) == line


@pytest.mark.parametrize(
    "test",
    [
        "if time.time() - last > 600 and step > 100_000:\n    save(q)",
        "if rank == 1 and time.time() - last > 600:\n    save(q)",
        "if time.time() - last > 600:\n    save()\n    raise SystemExit(3)",
        "if last - time.time() > 600:\n    save(q)",
        "if time.time() > last + 600 and ready():\n    save(q)",
    ],
)
def test_what_does_not_come_by_time_alone_is_told_as_not_rehearsed(
    test: str, tmp_path: Path
) -> None:
    path = _written(tmp_path, _by_time(test, "for batch in loader:", 600))
    seen = rehearse(path)

    assert (seen.told, seen.rehearsal.ended.how) == ([], "returned")
    assert "save" in seen.rehearsal.not_reached
    said = f"train.py:{line_of(path, test.splitlines()[0])} ({test.splitlines()[0][:-1]})"
    assert (said in str(in_words([seen.rehearsal]))) == ("last - " not in test)


def test_a_loop_over_batches_that_are_kept_has_an_end(tmp_path: Path) -> None:
    """Also where evaluations take batches meanwhile."""
    path = _written(tmp_path, KEPT)
    seen = rehearse(path)

    assert (seen.told, seen.rehearsal.not_reached) == ([], ())
    assert seen.rehearsal.seconds < 60
    assert "behind" in seen.rehearsal.shortened[-1]
