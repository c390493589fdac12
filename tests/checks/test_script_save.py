"""What is said of something that a script saves and nobody can have back."""

from __future__ import annotations

from preflight.facts import Frame, SavedState
from preflight.finding import Severity
from preflight.testing import ask

LINE = Frame(file="train.py", line=9, function="main", text="torch.save(state, path)")

# As torch 2.6 and newer say it, in colours.
REFUSED = (
    "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so "
    "you have two options, \x1b[1mdo those steps only if you trust the source\x1b[0m. \n"
    "\tWeightsUnpickler error: Unsupported global: GLOBAL argparse.Namespace was not an allowed "
    "global by default."
)


def saved(**more: str) -> SavedState:
    return SavedState(name="runs/last.pt", writer="torch.save", at=LINE, **more)


def test_what_can_be_had_back_is_left_alone() -> None:
    assert ask("script-save", saved()) == []


def test_what_is_raised_is_told_at_the_line_that_saves() -> None:
    (finding,) = ask("script-save", saved(error="TypeError: cannot pickle 'module' object"))

    assert str(finding.at) == "train.py:9, runs/last.pt"
    assert finding.message == "torch.save raises TypeError: cannot pickle 'module' object"


def test_weights_that_two_names_share_have_a_way_to_be_saved() -> None:
    error = "RuntimeError: \n Some tensors share memory, this will lead to duplicate memory"
    (finding,) = ask("script-save", saved(error=error))

    assert "save_model" in (finding.fix or "")
    assert finding.message.startswith("torch.save raises RuntimeError: Some tensors share memory")


def test_a_file_that_is_not_whole_is_told_once() -> None:
    (finding,) = ask("script-save", saved(damage="ends early", unloadable="EOFError", refused="x"))

    assert finding.message == "leaves runs/last.pt, which cannot be read back: ends early"
    assert finding.severity is Severity.ERROR


def test_what_torch_load_refuses_by_itself_is_a_note() -> None:
    (finding,) = ask("script-save", saved(refused=REFUSED))

    assert finding.severity is Severity.NOTE
    assert finding.message.endswith("by itself: it holds argparse.Namespace")


def test_what_even_a_trusting_load_refuses_is_an_error() -> None:
    (finding,) = ask("script-save", saved(refused=REFUSED, unloadable="AttributeError: no Config"))

    assert finding.severity is Severity.ERROR
    assert finding.message.endswith("torch.load raises AttributeError: no Config")
