"""Sources that let ranks go on which have more batches are found, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.sources.work.evened import joined, scripts_of
from preflight.targets.targets import Script, Shard, Source

JOINS = [
    "from torch.distributed.algorithms.join import Join\n\nwith Join([model]):\n    pass\n",
    "import join\n\nwith join.Join(\n    [model],\n    enable=True):\n    pass\n",
    "# as in accelerate\n\nwith accelerator.join_uneven_inputs([model], even_batches=False):\n",
    "\n\nwith self.model.join():\n    pass\n",
    "\n\nwith model.join(divide_by_initial_world_size=False), autocast():\n    pass\n",
    "import join\n\nwith join.Join(joinables):\n    pass\n",
    "from torch.distributed.algorithms import Joinable, Join as J\n\nwith J([model]):\n    pass\n",
    "from torch.distributed.algorithms.join import Join as Even\n\nwith Even(models):\n    pass\n",
    "\n\nwith autocast(), model.join():\n    pass\n",
    "\n\nstack.enter_context(model.join(throw_on_early_termination=True))\n",
]

OTHERS = [
    "from torch.distributed.algorithms.join import Join\n\n# with Join([model]):\n",
    "text = ', '.join([one])\npath = os.path.join([one])\nthread.join()\nwith a(b.join()):\n",
    "\n\nwith Join([model], enable=False):\n    pass\n",
    "from mine import Join as J\n\nwith J([model]):\n    pass\n",
    "from torch.distributed.algorithms import Join as J\n\nwith J([model], enable=False):\n",
    "class Joiner:\n    def Join(self):\n        return self.rows.join()\n",
]


@pytest.mark.parametrize("text", JOINS)
def test_what_joins_ranks_is_found_at_its_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "train.py").write_text(text)

    assert joined((), str(tmp_path)) == "jobs/train.py:3"


@pytest.mark.parametrize("text", OTHERS)
def test_other_joins_are_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(text)

    assert joined((str(tmp_path / "train.py"),), str(tmp_path)) == ""


FILES = {
    "train.py": "import data\nfrom jobs import loop\n",
    "jobs/__init__.py": "",
    "jobs/loop.py": JOINS[0],
    "other.py": "import torch\n",
    "data.py": "",
    "more.py": "",
    "trains.py": "loss.backward()\n",
    "taken.py": "",
    "takes.py": "import taken\n",
}


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("files", "scripts", "is_joined"),
    [
        ((), (), True),
        ((), ("train.py",), True),
        ((), ("other.py",), False),
        ((), ("other.py", "train.py"), True),
        ((), ("jobs",), True),
        # The script that imports what was imported is the one to ask.
        (("data.py",), (), True),
        (("data.py",), ("other.py",), False),
        (("data.py", "trains.py"), (), False),
        (("jobs/loop.py",), ("other.py",), True),
        # Nobody imports it: it may be named in a configuration.
        (("more.py",), (), True),
        (("taken.py",), (), False),
    ],
)
def test_what_no_script_of_the_job_leads_to_joins_no_ranks(
    job: Path, files: tuple[str, ...], scripts: tuple[str, ...], *, is_joined: bool
) -> None:
    own, named = ([str(job / one) for one in each] for each in (files, scripts))

    assert joined(own, str(job), named) == ("jobs/loop.py:3" if is_joined else "")


def test_scripts_are_those_that_the_user_has_named(job: Path) -> None:
    root = str(job)
    targets = [
        Source(path="other.py"),
        Source(path="data.py", implied=True),
        Script(path="train.py", folder=root),
        Script(module="jobs.loop", folder=root),
        Shard(path="a.tar"),
    ]

    found = scripts_of(targets, root)

    assert found == [str(job / one) for one in ("other.py", "train.py", "jobs/loop.py")]
