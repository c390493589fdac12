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


# --- what is no model, and what cannot be imported ------------------------------------------------

TRAINS = """
import torch
def get_batch():
    yield torch.zeros(1)
for batch in get_batch():
    torch.zeros(1, requires_grad=True).sum().backward()
"""


@pytest.mark.parametrize(
    "name", ["get_loss", "ContrastiveLoss", "loss_fn", "Criterion", "make_criterion", "FocalLosses"]
)
def test_what_judges_a_models_output_is_no_model(tmp_path: Path, name: str) -> None:
    loss = f"class {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    (tmp_path / "nets.py").write_text(f"from torch import nn\n{loss}", "utf-8")

    assert "model" not in offers(str(tmp_path), ())


OF_OTHERS = {
    "at its top": "import fasttext\ndef load_fasttext_model(path):\n"
    "    return fasttext.load_model(path)\n",
    "where it is there": "try:\n    import fasttext\nexcept ImportError:\n    fasttext = None\n"
    "def load_model(path='a.bin'):\n    return fasttext.load_model(path)\n",
    "in it": "def get_model():\n    from sklearn.linear_model import LogisticRegression\n"
    "    return LogisticRegression()\n",
    "by a variable": "import xgboost as xgb\ndef build_model(depth=3):\n"
    "    model = xgb.XGBClassifier(max_depth=depth)\n    return model\n",
    "from a file": "import os, joblib\ndef load_quality_model(path='a.joblib'):\n"
    "    return joblib.load(os.path.abspath(path))\n",
    "behind a test": "def make_model(path='a.bin'):\n    import kenlm\n    try:\n"
    "        return kenlm.Model(path)\n    except OSError:\n        return None\n",
    "another framework's": "from tensorflow import keras\ndef create_model():\n"
    "    return keras.Sequential([])\n",
}


@pytest.mark.parametrize("source", OF_OTHERS.values(), ids=OF_OTHERS)
def test_a_model_of_another_library_is_none_of_torch(tmp_path: Path, source: str) -> None:
    (tmp_path / "filters.py").write_text(source, "utf-8")

    assert "model" not in offers(str(tmp_path), ())


OF_TORCH = {
    "beside what measures": "import torch\nfrom sklearn.metrics import f1_score\n"
    "def create_model():\n    return torch.nn.Linear(2, 2)\n",
    "of timm": "import timm\nfrom sklearn.metrics import f1_score\n"
    "def create_model():\n    return timm.create_model('vit')\n",
    "of an own class, by what another library says": f"import joblib\n{NET}\n"
    "def create_model():\n    return Net(**joblib.load('a'))\n",
    "of the job's own module": "import joblib\nfrom nets import Encoder\n"
    "def create_model():\n    sizes = joblib.load('sizes')\n    return Encoder(sizes)\n",
    "of one beside it": "import joblib\nfrom .zoo import Encoder\n"
    "def create_model():\n    return Encoder(joblib.load('sizes'))\n",
    "with another's weights": "import torch, joblib\ndef load_model():\n"
    "    model = torch.nn.Linear(2, 2)\n    model.load_state_dict(joblib.load('a'))\n"
    "    return model\n",
    "of nobody knows whom": "from zoo import make\ndef create_model():\n    return make()\n",
}


@pytest.mark.parametrize("source", OF_TORCH.values(), ids=OF_TORCH)
def test_what_may_be_one_of_torch_is_offered(tmp_path: Path, source: str) -> None:
    (tmp_path / "nets.py").write_text(source, "utf-8")

    assert "nets:" in offers(str(tmp_path), ())["model"][0]


@pytest.mark.parametrize("name", ["Lossless", "GlossNet", "CriterionNet"])
def test_a_name_that_only_begins_so_is_a_model(tmp_path: Path, name: str) -> None:
    net = f"class {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    (tmp_path / "nets.py").write_text(f"from torch import nn\n{net}", "utf-8")

    assert offers(str(tmp_path), ())["model"][0] == f"preflight run nets:{name}"


def test_nothing_is_offered_of_a_file_whose_import_would_train(tmp_path: Path) -> None:
    """It could not be looked at without `--import-anyway`; the file itself is run in short."""
    (tmp_path / "play.py").write_text(TRAINS, "utf-8")

    found = offers(str(tmp_path), ())

    assert "loader" not in found
    assert found["script"] == ("preflight run play.py", "runs it in short")


@pytest.mark.parametrize("trains", [True, False])
def test_what_trains_at_the_top_comes_before_a_usual_name_below(
    tmp_path: Path, *, trains: bool
) -> None:
    """As `launch.py`, which has a Trainer fit, beside `tools/make_training_video.py`."""
    step = "trainer.fit(model)" if trains else "print()"
    (tmp_path / "launch.py").write_text(f"if __name__ == '__main__':\n    {step}\n", "utf-8")
    (tmp_path / "tools").mkdir()
    other = tmp_path / "tools/make_training_video.py"
    other.write_text("if __name__ == '__main__':\n    print()\n", "utf-8")

    command, _ = offers(str(tmp_path), (str(tmp_path),))["script"]

    expected = "launch.py" if trains else "tools/make_training_video.py"
    assert command == f"preflight run {expected}"


@pytest.mark.parametrize("guard", ["if __name__ == '__main__':\n    pass\n", ""])
def test_a_module_that_holds_a_training_step_is_offered_from(tmp_path: Path, guard: str) -> None:
    step = "def step(loss):\n    for one in loss:\n        one.backward()\n"
    (tmp_path / "play.py").write_text(f"def get_batch():\n    yield 1\n{step}{guard}", "utf-8")

    assert offers(str(tmp_path), ())["loader"][0] == "preflight run play:get_batch"


GUARD = "if __name__ == '__main__':\n    print(1)\n"
TRAIN = f"import torch\n{GUARD}    loss.backward()\n"


@pytest.mark.parametrize(
    ("function", "script", "is_offered"),
    [
        ("blob", TRAIN, False),
        ("blob", f"import toy\n{TRAIN}", True),
        ("build_model", TRAIN, True),
    ],
    ids=["a toy of its own", "a module with its own trial", "a usual name"],
)
def test_a_model_of_another_script_is_none_of_this_job(
    tmp_path: Path, function: str, script: str, *, is_offered: bool
) -> None:
    (tmp_path / "toy.py").write_text(f"{NET}def {function}():\n    return Net()\n{GUARD}", "utf-8")
    (tmp_path / "train_net.py").write_text(script, "utf-8")

    assert ("model" in offers(str(tmp_path), ())) is is_offered


@pytest.mark.parametrize("guard", ["", "if __name__ == '__main__':\n    "])
def test_nothing_is_offered_of_a_file_that_trains_as_it_is_imported(
    tmp_path: Path, guard: str
) -> None:
    """Its import is refused, so that what is typed would come to nothing."""
    text = f"import pytorch_lightning as pl\n{NET}\nt = pl.Trainer()\n{guard}t.fit(Net())\n"
    (tmp_path / "job.py").write_text(text, "utf-8")

    found = offers(str(tmp_path), ())

    assert ("model" in found) is bool(guard)
    assert found["script"] == ("preflight run job.py", "runs it in short")
