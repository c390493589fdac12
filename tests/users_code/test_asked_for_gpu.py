"""What ends a program behind a test for a GPU is told from what ends it for another reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.users_code.lacks.asked_for_gpu import (
    counts_for_processes,
    counts_gpus,
    ends_but_for_cuda,
    left_without_gpu,
    stands_behind_gpu,
)

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


ASSERTED = {
    "a name": "has = torch.cuda.is_available()\nassert has\n",
    "a number": "gpus = torch.cuda.device_count()\nassert gpus > 0\n",
    "a function": "def has():\n    return torch.cuda.is_available()\nassert has()\n",
}


@pytest.mark.parametrize("name", ASSERTED)
def test_an_assertion_of_what_was_asked_is_for_want_of_a_gpu(name: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(f"{ASSERTED[name]}assert args.data\n")
    last = len(path.read_text().splitlines())

    assert stands_behind_gpu(str(path), last - 1)
    assert not stands_behind_gpu(str(path), last)


def test_what_is_computed_of_the_number_of_gpus_is_told_from_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text("gpus = torch.cuda.device_count()\neach = 64 // gpus\nrest = 64 // steps\n")

    assert counts_gpus(str(path), 2)
    assert not counts_gpus(str(path), 3)


def test_gpus_are_counted_for_processes_where_some_are_started(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    text = "gpus = torch.cuda.device_count()\nranks = 2\nmp.spawn(main, nprocs={})\n"
    path.write_text(text.format("gpus"))
    fixed = tmp_path / "fixed.py"
    fixed.write_text(text.format(4))

    assert counts_for_processes(str(path), 1)
    assert not counts_for_processes(str(path), 2)
    assert not counts_for_processes(str(fixed), 1)


GOES_ON_WITH_ONE = {
    "assert torch.cuda.is_available()": True,
    "assert args.cpu or torch.cuda.is_available(), 'a GPU'": True,
    "assert torch.cuda.device_count() >= 1": True,
    "assert torch.cuda.device_count() >= 2": False,
    "assert torch.cuda.device_count() == args.gpus": False,
    "assert args.data and torch.cuda.is_available()": False,
    "if not torch.cuda.is_available(): sys.exit(1)": True,
    "if args.gpu and not torch.cuda.is_available(): raise ValueError": True,
    "if torch.cuda.device_count() == 0: raise ValueError": True,
    "if torch.cuda.is_available(): raise ValueError('for the CPU only')": False,
    "if torch.cuda.is_available(): move()": False,
    "if not torch.cuda.is_available(): print('slow')": False,
    "if torch.cuda.is_available():\n    move()\nelse:\n    raise SystemExit(1)": True,
    "device = 'cuda' if torch.cuda.is_available() else 'cpu'": False,
}


@pytest.mark.parametrize("text", GOES_ON_WITH_ONE)
def test_a_test_that_ends_the_program_but_for_one_gpu_is_known(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(f"{text}\n")

    assert ends_but_for_cuda(str(path), 1) is GOES_ON_WITH_ONE[text]


LEAVES = {
    "def main():\n    if not torch.cuda.is_available():\n        return\n    train()\n": 2,
    "def main():\n    train()\nif torch.cuda.is_available():\n    main()\n": 3,
    "def main():\n    train()\nif (torch . cuda .\n    is_available ()):\n    main()\n": 3,
    "def dtype():\n    if not torch.cuda.is_available():\n        return 4\n    return 2\n": None,
    "def main():\n    if torch.cuda.is_available():\n        torch.cuda.init()\n": None,
    "def main():\n    if not args.data:\n        return\n    train()\n": None,
}


@pytest.mark.parametrize("text", LEAVES)
def test_a_program_that_does_nothing_without_a_gpu_is_known(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(text)

    assert left_without_gpu(str(path)) == LEAVES[text]
