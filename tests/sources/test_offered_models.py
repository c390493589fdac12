"""Of several functions that make a model, that is offered which the job uses, or the smallest."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.sources.makers.offers import offers

NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layer = nn.Linear(width, width)
"""


def offered(folder: Path, *functions: str, script: str = "") -> tuple[str, str | None]:
    text = NET + "".join(f"def {one}:\n    return Net()\n" for one in functions)
    (folder / "models.py").write_text(text, "utf-8")
    if script:
        (folder / "train.py").write_text(script, "utf-8")
    return offers(str(folder), ())["model"]


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (("net_7b", "net_small", "net_xl"), "net_small"),
        (("vit_l", "vit_b", "vit_s"), "vit_s"),
        (("gpt_1_3b", "gpt_125m", "gpt_13b"), "gpt_125m"),
        (("net_huge", "net_base"), "net_base"),
        (("NetLarge7B", "netTiny"), "netTiny"),
    ],
)
def test_the_smallest_is_offered(tmp_path: Path, names: tuple[str, ...], best: str) -> None:
    command, said = offered(tmp_path, *(f"{one}()" for one in names))

    assert command == f"preflight run models:{best}"
    assert said is not None
    assert "guess" not in said


def test_that_is_offered_which_the_script_calls(tmp_path: Path) -> None:
    script = "from models import net_7b\nif __name__ == '__main__':\n    net_7b()\n"

    command, said = offered(tmp_path, "net_small()", "net_7b()", script=script)

    assert command == "preflight run models:net_7b"
    assert said is not None
    assert "guess" not in said


def test_of_two_that_nothing_tells_apart_one_is_a_guess(tmp_path: Path) -> None:
    command, said = offered(tmp_path, "red()", "blue()")

    assert command in ("preflight run models:red", "preflight run models:blue")
    assert said is not None
    assert said.endswith(", a guess of several")


@pytest.mark.parametrize(
    "helper",
    ["init_weights_model()", "load_model()", "save_model()", "load_state_net()", "model_hook()"],
)
def test_a_helper_is_never_offered_before_what_makes(tmp_path: Path, helper: str) -> None:
    command, _ = offered(tmp_path, helper, "vision()")

    assert command == "preflight run models:vision"


@pytest.mark.parametrize("maker", ["create_model()", "build_net()", "load_model()"])
def test_a_maker_alone_is_offered(tmp_path: Path, maker: str) -> None:
    command, said = offered(tmp_path, maker)

    assert command == f"preflight run models:{maker[:-2]}"
    assert said is not None
    assert "guess" not in said
