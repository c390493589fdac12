"""What ends a program behind a test for a GPU is told from what ends it for another reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.users_code.asked_for_gpu import stands_behind_gpu

BEHIND = {
    "asked there": "if not torch.cuda.is_available():\n    sys.exit(1)\n",
    "in one line": "if torch.cuda.device_count() < 2: sys.exit(1)\n",
    "of any make": "if not torch.accelerator.is_available():\n    sys.exit(1)\n",
    "in the other branch": "if cuda.is_available():\n    train()\nelse:\n    sys.exit(1)\n",
    "by a name": "has = torch.cuda.is_available()\nif not has:\n    sys.exit(1)\n",
    "by the device that was chosen": (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "if device == 'cpu':\n    sys.exit(1)\n"
    ),
    "by a function": (
        "def enough(least):\n    here = torch.cuda.is_available()\n"
        "    count = torch.cuda.device_count()\n    return here and count >= least\n"
        "if not enough(2):\n    print('not enough')\n    sys.exit(1)\n"
    ),
}

ELSEWHERE = {
    "behind nothing": "torch.cuda.is_available()\nsys.exit(1)\n",
    "behind another test": (
        "args.device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "if not args.data:\n    sys.exit(1)\n"
    ),
    "behind a further test": (
        "if not torch.cuda.is_available():\n    print('slow')\n"
        "    if not os.path.exists('data'):\n        sys.exit(1)\n"
    ),
    "behind what a function was to do": (
        "def prepare():\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    move(device)\n    return load()\n"
        "if not prepare():\n    sys.exit(1)\n"
    ),
    "in what does not parse": "if not torch.cuda.is_available(:\n    sys.exit(1)\n",
}


def behind(folder: Path, text: str) -> bool:
    path = folder / "train.py"
    path.write_text(text)
    (line,) = [n for n, one in enumerate(text.splitlines(), 1) if "sys.exit" in one]
    return stands_behind_gpu(str(path), line)


@pytest.mark.parametrize("name", BEHIND)
def test_what_stands_behind_a_test_for_a_gpu_is_for_want_of_one(name: str, tmp_path: Path) -> None:
    assert behind(tmp_path, BEHIND[name])


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_stands_elsewhere_is_for_another_reason(name: str, tmp_path: Path) -> None:
    assert not behind(tmp_path, ELSEWHERE[name])


def test_what_goes_wrong_there_by_itself_is_for_another_reason(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("if not torch.cuda.is_available():\n    size = int('small')\n")

    assert not stands_behind_gpu(str(path), 2)


def test_what_has_no_file_is_for_another_reason() -> None:
    assert not stands_behind_gpu("<string>", 1)
