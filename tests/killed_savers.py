"""Kills real savers of checkpoints while they save, and goes on from what they leave.

Run as `python killed_savers.py FOLDER MOMENTS`. Three checkpoints are saved by each saver, and the
fourth is killed at moments spread over its save; printed is whether a job goes on from the newest.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import json
import os
import shutil
import signal
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import distributed, nn

Save = Callable[[str], object]

SIZE = 500
STATE = {str(one): torch.randn(SIZE, SIZE) for one in range(4)}


def plain() -> tuple[str, Save, Save]:
    return "ckpt_{}.pt", lambda path: torch.save(STATE, path), torch.load


def folder() -> tuple[str, Save, Save]:
    def save(path: str) -> None:
        os.mkdir(path)
        open(path + "/train.log", "w").close()
        torch.save(STATE, path + "/model.pt")
        torch.save(STATE, path + "/optimizer.pt")

    def load(path: str) -> None:
        torch.load(path + "/model.pt")
        torch.load(path + "/optimizer.pt")

    return "step_{}", save, load


def safetensors() -> tuple[str, Save, Save]:
    from safetensors.torch import load_file, save_file

    return "model-{}.safetensors", lambda path: save_file(STATE, path), load_file


def parts() -> tuple[str, Save, Save]:
    import torch.distributed.checkpoint as dcp

    state: dict[str, Any] = {"model": STATE}
    return (
        "step-{}",
        lambda path: dcp.save(state, storage_writer=dcp.FileSystemWriter(path), no_dist=True),
        lambda path: dcp.load(
            {"model": dict(STATE)}, storage_reader=dcp.FileSystemReader(path), no_dist=True
        ),
    )


def trained() -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Linear(SIZE, SIZE)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, SIZE)).sum().backward()
    optimizer.step()
    return model, optimizer


def accelerate() -> tuple[str, Save, Save]:
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    accelerator.prepare(*trained())
    return "checkpoint-{}", accelerator.save_state, accelerator.load_state


def transformers() -> tuple[str, Save, Save]:
    """Save as the Trainer does within a step."""
    from transformers import Trainer, TrainingArguments

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(SIZE, SIZE)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"loss": self.linear(x).mean()}

    rows = [{"x": torch.ones(SIZE)} for _ in range(8)]

    def trainer(top: str, steps: int) -> Any:
        arguments = TrainingArguments(
            top, max_steps=steps, save_strategy="no", use_cpu=True, report_to=[], disable_tqdm=True
        )
        return Trainer(Model(), arguments, train_dataset=rows)

    begun = trainer("unused", 1)
    begun.train()

    def save(path: str) -> None:
        begun.args.output_dir = os.path.dirname(path)
        begun.state.global_step = int(path.rpartition("-")[2])
        begun._save_checkpoint(begun.model, trial=None)

    def load(path: str) -> None:
        trainer(os.path.dirname(path), 6).train(resume_from_checkpoint=path)

    return "checkpoint-{}", save, load


def lightning() -> tuple[str, Save, Save]:
    from pytorch_lightning import LightningModule, Trainer

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(SIZE, SIZE)

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            return self.linear(batch).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters())

    rows = torch.utils.data.DataLoader(torch.ones(4, SIZE))  # type: ignore[arg-type]

    def fitted(steps: int, **options: Any) -> Any:
        quiet = {
            "logger": False,
            "enable_checkpointing": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
        }
        trainer = Trainer(accelerator="cpu", max_steps=steps, **quiet)  # type: ignore[arg-type]
        trainer.fit(Module(), rows, **options)
        return trainer

    begun = fitted(1)
    may_say = "weights_only" in inspect.signature(begun.fit).parameters
    whole = {"weights_only": False} if may_say else {}
    return (
        "last-{}.ckpt",
        begun.save_checkpoint,
        lambda path: fitted(3, ckpt_path=path, **whole),
    )


SAVERS = {
    "torch": plain,
    "folder": folder,
    "safetensors": safetensors,
    "parts": parts,
    "accelerate": accelerate,
    "transformers": transformers,
    "lightning": lightning,
}
if torch.__version__ < "2.3":  # its load asks for a group of processes, also with no_dist
    del SAVERS["parts"]


def begun(work: Callable[[], object]) -> int:
    """Have a copy of this process do something, and give its number once it has begun."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        os.write(writing, b"x")
        try:
            work()
        except BaseException:  # noqa: BLE001  whatever a resume raises
            os._exit(1)
        os._exit(0)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return child


def killed(top: str, name: str, save: Save, load: Save, moments: int) -> dict[int, bool]:
    """Kill the fourth save at each moment, and say whether a job goes on from the newest."""
    whole = f"{top}/whole"
    os.makedirs(whole)
    for step in (1, 2, 3):
        save(f"{whole}/{name.format(step)}")
    gc.freeze()  # what nobody touches is copied for none of them
    before = time.monotonic()
    assert os.waitpid(begun(lambda: save(f"{whole}/{name.format(4)}")), 0)[1] == 0
    took = time.monotonic() - before
    said = {}
    known: dict[frozenset[tuple[str, int]], bool] = {}
    for moment in range(moments):
        out = f"{top}/{moment}"
        os.makedirs(out)
        for step in (1, 2, 3):
            one = name.format(step)
            if os.path.isdir(f"{whole}/{one}"):
                shutil.copytree(f"{whole}/{one}", f"{out}/{one}", copy_function=os.link)
            else:
                os.link(f"{whole}/{one}", f"{out}/{one}")
        path = f"{out}/{name.format(4)}"
        child = begun(lambda path=path: save(path))  # type: ignore[misc]
        time.sleep(took * (moment + 0.5) / moments)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        newest = path if os.path.exists(path) else f"{out}/{name.format(3)}"
        left = frozenset(content_of(newest))
        if left not in known:  # many moments leave the same: nothing, or all of it
            known[left] = os.waitpid(begun(lambda newest=newest: load(newest)), 0)[1] == 0  # type: ignore[misc]
        said[moment] = known[left]
    return said


def content_of(top: str) -> Iterator[tuple[str, int]]:
    """Give the checksum of a file, or of each in a folder, by where it lies."""
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
    for path in paths if os.path.isdir(top) else [top]:
        with open(path, "rb") as file:
            yield os.path.relpath(path, os.path.dirname(top)), zlib.crc32(file.read())


def main(top: str, moments: int) -> None:
    """Print of each saver and moment whether a job goes on."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.chdir(top)
    said = {}
    for saver, make in SAVERS.items():
        with contextlib.redirect_stdout(sys.stderr):
            found = killed(f"{top}/{saver}", *make(), moments)
        said |= {f"{saver}/{moment}": goes_on for moment, goes_on in found.items()}
        if distributed.is_initialized():
            distributed.destroy_process_group()
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
