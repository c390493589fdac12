"""A model that is trained on as its evaluation has left it is told, and none so on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.rehearsing import line_of, planted, rehearse, run_plainly

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

Change = tuple[str, str]

LAYERS: Change = ("nn.ReLU(), ", "nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), ")
FORGOTTEN: Change = ("    model.train()\n    return", "    return")
SHORT: Change = ("default=20", "default=3")
SAYS: Change = ('accuracy:.3f}")', 'accuracy:.3f}", model.training)')
AHEAD: Change = ("    for epoch in range", "    evaluate(model, held_out)\n    for epoch in range")
EACH: Change = ("        order.manual", "        model.train()\n        order.manual")
MIDWAY: Change = (
    "            optimizer.step()\n",
    "            optimizer.step()\n            evaluate(model, held_out)\n",
)
GONE: Change = (
    '__main__":\n    main()\n',
    '__main__":\n    main()\n    __import__("gc").collect()\n',
)
LEFT = {
    "never set back": (FORGOTTEN,),
    "gone before the script ends": (FORGOTTEN, GONE),
    "left so before the first step": (FORGOTTEN, AHEAD),
    "left so for the rest of an epoch": (FORGOTTEN, EACH, MIDWAY),
}
ON_PURPOSE = {
    "set back behind it": (),
    "set back before each epoch": (FORGOTTEN, EACH),
    "nothing that trains otherwise": (
        FORGOTTEN,
        ("nn.Dropout(0.1), ", ""),
        ("nn.BatchNorm1d", "nn.LayerNorm"),
    ),
    "never set to train": (
        (
            "    model.eval()\n    with",
            "    was = model.training\n    model.eval()\n    with",
        ),
        ("model.train()", "model.train(was)"),
        ("    start = 0\n", "    start = 0\n    model.eval()\n"),
    ),
    "statistics that stay": (EACH, ("        order.m", "        model[1].eval()\n        order.m")),
    "dropout of none": (FORGOTTEN, ("Dropout(0.1)", "Dropout(0.0)"), ("nn.BatchNorm1d(32), ", "")),
    "set back between gradients and step": (
        FORGOTTEN,
        EACH,
        (
            "            optimizer.step()",
            (
                "            evaluate(model, held_out)\n            optimizer.step()\n"
                "            model.train()"
            ),
        ),
    ),
    "its end": (
        FORGOTTEN,
        ("        accuracy = evaluate(model, held_out)\n", "        accuracy = 0.0\n"),
        ('__main__":\n    main()\n', '__main__":\n    evaluate(*main())\n'),
        (
            '        print(f"epoch {epoch}: {accuracy:.3f}")',
            "        print(epoch)\n    return model, held_out",
        ),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_model_that_evaluation_has_left_so_is_told_at_the_line_that_set_it(
    name: str, tmp_path: Path
) -> None:
    path = planted(tmp_path, "plain_resume.py", LAYERS, SHORT, *LEFT[name])
    (found,) = rehearse(path).found

    assert (found.check, found.severity.name) == ("script-eval", "WARNING")
    assert found.at.line == line_of(path, "model.eval()")
    assert found.message.endswith(": 1 BatchNorm1d and 1 Dropout of Sequential")


@pytest.mark.parametrize("name", ON_PURPOSE)
def test_what_is_set_back_or_so_on_purpose_is_left_alone(name: str, tmp_path: Path) -> None:
    path = planted(tmp_path, "plain_resume.py", LAYERS, SHORT, *ON_PURPOSE[name])

    assert rehearse(path).told == []


def test_so_does_the_plain_script(tmp_path: Path) -> None:
    path = planted(tmp_path, "plain_resume.py", LAYERS, SHORT, FORGOTTEN, SAYS)

    assert [one.split()[-1] for one in run_plainly(path).stdout.splitlines()] == ["False"] * 3


def test_a_script_that_trains_in_the_mode_of_an_evaluation_is_made_short(tmp_path: Path) -> None:
    """Its loops over batches were taken for evaluations, of which there may be any number."""
    path = planted(tmp_path, "plain_resume.py", FORGOTTEN, ("default=20", "default=100_000"))
    seen = rehearse(path).rehearsal

    assert any("epochs after the first 2 to 1 batch" in one for one in seen.shortened)
    assert seen.times("evaluation") <= seen.batches / 2


WITHOUT_LOADER = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


@torch.no_grad()
def evaluate():
    model.eval()
    losses = [model(torch.ones(2, 4)).mean().item() for _ in range(3)]
    model.train()
    return losses


for number in range(12):
    if number % 4 == 0:
        print(evaluate(), model.training)
    optimizer.zero_grad()
    model(torch.randn(2, 4)).square().mean().backward()
    optimizer.step()
"""

BACK = "    model.train()\n"
COMPUTES = "    losses = [model(torch.ones(2, 4)).mean().item() for _ in range(3)]\n"


@pytest.mark.parametrize(
    ("leaves_out", "found"),
    [((BACK,), ["script-eval"]), ((), []), ((BACK, COMPUTES, "losses"), [])],
)
def test_without_a_loader_it_is_told_by_what_was_computed_in_that_mode(
    leaves_out: tuple[str, ...], found: list[str], tmp_path: Path
) -> None:
    """Who only sets it so, and computes nothing without gradients, has it train so on purpose."""
    path, text = tmp_path / "train.py", WITHOUT_LOADER
    for one in leaves_out:
        text = text.replace(one, "" if one != "losses" else "None")
    path.write_text(text, encoding="utf-8")
    seen = rehearse(path)

    assert [one.check for one in seen.found if one.severity.name != "NOTE"] == found
    assert {one.at.line for one in seen.found} <= {line_of(path, "model.eval()")}
    is_seen = bool(found) or BACK in text
    assert bool(seen.rehearsal.times("evaluation")) == is_seen
    modes = run_plainly(path).stdout.split()[-1]
    assert modes == str(BACK in text)
