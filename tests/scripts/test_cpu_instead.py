"""What a script asks of a GPU is answered, where `--device cpu` says that the CPU stands in."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

import preflight
from preflight.render.terminal import render
from preflight.scripts.inside import left_for_want
from tests.scripts.rehearsing import installed, line_of, rehearse

pytestmark = pytest.mark.slow

SCRIPT = """
from concurrent.futures import ThreadPoolExecutor
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    assert torch.cuda.is_available()
    if torch.cuda.device_count() < 1:
        raise SystemExit("on a GPU only")
    usual = "cuda" if torch.cuda.is_available() else "cpu"
    assert torch.ones(2, device=usual).device.type == "cpu"
    device = torch.device("cuda", torch.cuda.current_device())
    print(torch.cuda.get_device_name(0), torch.cuda.get_device_properties(device).total_memory)
    print(torch.cuda.get_device_capability(), torch.cuda.is_bf16_supported())
    print(torch.cuda.mem_get_info(), torch.cuda.memory_summary(), torch.cuda.memory_allocated())
    print(torch.cuda.memory_stats()["allocated_bytes.all.peak"], torch.cuda.memory_snapshot())
    with ThreadPoolExecutor(1) as others:
        assert others.submit(lambda: torch.ones(2).to("cuda").sum().item()).result() == 2.0
    torch.cuda.manual_seed_all(0)
    torch.cuda.set_rng_state_all(torch.cuda.get_rng_state_all())
    noise = torch.Generator("cuda").manual_seed(0)
    assert isinstance(torch.default_generator, torch.Generator)
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 4, (64,)))
    loader = DataLoader(
        data,
        batch_size=16,
        generator=torch.Generator(),
        num_workers=1,
        multiprocessing_context="spawn",
        pin_memory=True,
    )
    with torch.cuda.device(0):
        model = nn.Linear(8, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    named = hasattr(torch.amp, "GradScaler")  # from torch 2.3 on
    scaler = torch.amp.GradScaler("cuda") if named else torch.cuda.amp.GradScaler()
    side = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for epoch in range(2):
        for x, y in loader:
            begin.record()
            torch.cuda.nvtx.range_push("step")
            with torch.cuda.stream(side):
                x, y = x.cuda(non_blocking=True), y.to(0)
            torch.cuda.current_stream().wait_stream(side)
            x.record_stream(torch.cuda.current_stream())
            x += torch.empty(8, device="cuda").normal_(generator=noise)
            with torch.amp.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            torch.cuda.nvtx.range_pop()
            end.record()
            torch.cuda.synchronize()
            print(begin.elapsed_time(end))
    torch.save(model.state_dict(), "model.pt")
    to_rank = {"cpu": "cuda:0"}
    for where in ("cuda", "cuda:0", device, to_rank, lambda kept, _: kept.cuda(device=0)):
        state = torch.load("model.pt", map_location=where)
        model.load_state_dict(state)
        assert state["weight"].device.type == "cpu"


if __name__ == "__main__":
    main()
"""


def write(folder: Path, text: str) -> Path:
    (folder / "job").mkdir()
    path = folder / "job" / "train.py"
    path.write_text(text)
    return path


def test_what_is_asked_of_a_gpu_is_answered_and_told(tmp_path: Path) -> None:
    path = write(tmp_path, SCRIPT)

    seen = rehearse(path, device="cpu")

    assert (seen.rehearsal.ended.how, seen.told) == ("returned", [])
    assert (seen.steps.steps, seen.rehearsal.times("save")) == (4, 1)
    assert seen.rehearsal.on_cpu is not None
    assert seen.rehearsal.on_cpu.line == line_of(path, "assert torch.cuda")


def test_tensors_of_safetensors_are_loaded_to_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    text = SCRIPT.replace(
        "    to_rank =",
        """\
    from safetensors.torch import load_file, load_model, save_model
    save_model(model, "model.safetensors")
    model.load_state_dict(load_file("model.safetensors", device="cuda:0"))
    load_model(model, "model.safetensors", device=0)
    to_rank =""",
    )

    seen = rehearse(write(tmp_path, text), device="cpu")

    assert (seen.rehearsal.ended.how, seen.told) == ("returned", [])


def test_a_script_is_resumed_that_loads_its_checkpoint_to_its_gpu(tmp_path: Path) -> None:
    resumes = """
    if os.path.exists("model.pt"):
        model.load_state_dict(torch.load("model.pt", map_location=f"cuda:{0}"))
    optimizer ="""
    text = SCRIPT.replace("\nimport torch\n", "\nimport os\nimport torch\n", 1)
    path = write(tmp_path, text.replace("\n    optimizer =", resumes, 1))

    report = preflight.run(path.name, folder=str(path.parent), device="cpu", no_ledger=True)

    assert [one.check for one in report.findings if one.check.startswith("script-re")] == []
    assert "resumed with the same arguments" in " ".join(render(report).split())


def test_a_fault_behind_it_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, SCRIPT.replace("model(x), y)", "model(x), y.float())"))

    seen = rehearse(path, device="cpu")

    assert seen.told == [f"error script-stopped train.py:{line_of(path, 'cross_entropy')}"]


def test_without_it_the_script_is_not_judged(tmp_path: Path) -> None:
    seen = rehearse(write(tmp_path, SCRIPT))

    assert seen.told == []
    assert seen.rehearsal.ended.raised is not None
    assert seen.rehearsal.ended.raised.lacks is not None
    assert seen.rehearsal.ended.raised.lacks.name == "CUDA"  # for which the CPU can stand in


def test_a_script_that_does_nothing_without_one_is_not_judged_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    guards = {"own_idle": "", "own_training": "if cuda.is_available():\n    main()\n"}
    left = []
    for name, guard in guards.items():
        own = ModuleType(name)
        own.__file__ = str(tmp_path / f"{name}.py")
        (tmp_path / f"{name}.py").write_text(f"def main():\n    train()\n{guard}")
        with monkeypatch.context() as patch, installed((), tmp_path) as watch:
            patch.setitem(sys.modules, name, own)
            left.append(left_for_want(watch))

    idle, wanting = left
    assert idle is None
    assert wanting is not None
    assert wanting.lacks is not None
    assert wanting.frames[-1].line == 3
