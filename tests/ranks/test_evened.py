"""Sources that let ranks go on which have more batches are found, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.ranks.evened import joined

JOINS = [
    "from torch.distributed.algorithms.join import Join\n\nwith Join([model]):\n    pass\n",
    "import join\n\nwith join.Join(\n    [model],\n    enable=True):\n    pass\n",
    "# as in accelerate\n\nwith accelerator.join_uneven_inputs([model], even_batches=False):\n",
    "\n\nwith self.model.join():\n    pass\n",
]

OTHERS = [
    "from torch.distributed.algorithms.join import Join\n\n# with Join([model]):\n",
    "text = ', '.join([one])\npath = os.path.join([one])\nthread.join()\nwith a(b.join()):\n",
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
