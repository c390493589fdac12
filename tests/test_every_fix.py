"""No code that the checks print goes untried.

It is run here or in a test that is named; what is not run stands in a list, with the reason.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests import fixes_in_brief as brief
from tests.conftest import ROOT
from tests.printed import own_options, printed
from tests.warming import copies

# --- what is run here -----------------------------------------------------------------------------


# In a process of its own, which ends at once: the end of such a group may wait for itself.
_REDUCER = """
import os, sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.idle = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)

    def forward(self, batch):
        return self.used(batch)

status = 0
try:
    model = torch.nn.parallel.DistributedDataParallel(Model(), **eval(f"dict({sys.argv[1]})"))
    for _ in range(3):
        model(torch.ones(4, 2)).sum().backward()
except RuntimeError as error:
    status = 3 if "find_unused_parameters" in str(error) else 1
os._exit(status)
"""


def unused_parameters(code: str) -> None:
    for given, status in {"": 3, code: 0}.items():
        words = [sys.executable, "-c", _REDUCER, given]
        with copies():
            assert subprocess.run(words, check=False, timeout=100).returncode == status


def anomaly(code: str) -> None:
    import torch

    eval(code, {"torch": torch})
    try:
        loss = torch.zeros(1, requires_grad=True).sqrt() * 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(RuntimeError, match="SqrtBackward"):
                loss.sum().backward()
    finally:
        torch.autograd.set_detect_anomaly(False)


def waiting(code: str) -> None:
    """It waits, and comes back."""
    space = {"queue": queue.Queue(), "Event": threading.Event()}
    with contextlib.suppress(queue.Empty):
        assert eval(code.replace("…", "0.01"), space) is False


def _orders(code: str, **variables: str) -> set[str]:
    """Give the orders that a few processes have of one set."""
    text = f"print({code.replace('…', repr([*map(str, range(40))]))})"
    return {
        subprocess.run(
            [sys.executable, "-c", text],
            capture_output=True,
            check=True,
            text=True,
            env={"PYTHONHASHSEED": str(seed), **variables},
        ).stdout
        for seed in (1, 2, 3)
    }


def ordered(code: str) -> None:
    assert len(_orders("list(set(…))")) > 1
    assert len(_orders(code)) == 1


def alike_everywhere(code: str) -> None:
    assert len(_orders("hash(…[0])")) > 1
    text = code.replace("name", "…[0]").replace("zlib", "__import__('zlib')")
    assert len(_orders(text)) == 1


def hash_seed(code: str) -> None:
    name, _, value = code.partition("=")
    assert len(_orders("list(set(…))", **{name: value})) == 1


def by_method(code: str) -> None:
    from torch.utils.data import DataLoader

    if not {*multiprocessing.get_all_start_methods()} & {*re.findall(r"fork\w*", code)}:
        pytest.skip("there is no such way to start here")
    code = code if code.startswith("DataLoader") else f"DataLoader(…, {code})"
    made = code.replace("…", "list(range(4)), num_workers=1")
    assert [len(batch) for batch in eval(made, {"DataLoader": DataLoader})] == [1] * 4


def with_less(code: str) -> None:
    """An argument of a DataLoader, by its name."""
    from torch.utils.data import DataLoader

    how = eval(f"dict({code})")
    more = {"num_workers": 1} if code.startswith(("prefetch", "persistent")) else {}
    if "batch_size" not in how:
        more["batch_size"] = 2
    loader = DataLoader(list(range(5)), **how, **more)  # type: ignore[arg-type,var-annotated]
    assert len(list(loader)) == (2 if how.get("drop_last") else 3)


def of_webdataset(code: str) -> None:
    import webdataset

    shards = [str(ROOT / "absent.tar")]
    if code.startswith("with_epoch"):
        count = code.replace("N", "3").replace("{}", "3")
        data = eval(f"data.{count}", {"data": webdataset.DataPipeline(lambda: iter(range(9)))})
        assert list(data) == [0, 1, 2]
    else:
        data = webdataset.WebDataset(shards, shardshuffle=False, **eval(f"dict({code})"))
        assert type(data.pipeline[0]).__name__ == "ResampledShards"


def plain(code: str) -> None:
    """What it makes is loaded by weights_only."""
    import io
    from collections import UserDict

    import numpy as np
    import torch

    x: Any = {"x": np.float32(2), "d": UserDict(a=1), "l": (1, 2)}.get(code[0])
    stream = io.BytesIO()
    torch.save(eval(code, {"x": x, "tensor": torch.ones(9)[:2]}), stream)
    stream.seek(0)
    torch.load(stream, weights_only=True)


def safe_globals(code: str) -> None:
    import io

    import torch

    if not hasattr(torch.serialization, "safe_globals"):
        pytest.skip("of newer versions of torch")
    stream = io.BytesIO()
    torch.save(Kept(), stream)
    stream.seek(0)
    with torch.serialization.safe_globals([]):
        eval(code.replace("{}", "Kept"), {"torch": torch, "Kept": Kept})
        assert isinstance(torch.load(stream, weights_only=True), Kept)


class Kept:
    """A class of the job's own."""


RUN: Mapping[str, Callable[[str], None]] = {
    "find_unused_parameters=True": unused_parameters,
    "torch.autograd.set_detect_anomaly(True)": anomaly,
    "queue.get(timeout=…)": waiting,
    "Event.wait(…)": waiting,
    "sorted(set(…))": ordered,
    "list(dict.fromkeys(…))": ordered,
    "PYTHONHASHSEED=0": hash_seed,
    'DataLoader(…, multiprocessing_context="fork")': by_method,
    'multiprocessing_context="forkserver"': by_method,
    "drop_last=True": with_less,
    "drop_last=False": with_less,
    "prefetch_factor=1": with_less,
    "persistent_workers=True": with_less,
    "num_workers=0": with_less,
    "num_workers=1": with_less,
    "with_epoch(N)": of_webdataset,
    "with_epoch({})": of_webdataset,
    "resampled=True": of_webdataset,
    "generator=torch": brief.generator,
    "x.item()": plain,
    "dict(x)": plain,
    "list(x)": plain,
    "tensor.clone()": plain,
    "torch.serialization.add_safe_globals([{}])": safe_globals,
    "use_reentrant=False": brief.frozen_inputs,
    "sorted(set(names))": lambda code: ordered(code.replace("names", "…")),
    "zlib.crc32(name.encode())": alike_everywhere,
    "sorted(os.listdir(folder))": brief.listed,
    "random.Random(0)": brief.one_seed,
    "torch.initial_seed()": brief.worker_seed,
    "weights_only=False": brief.trusted,
    "requires_grad_(False)": brief.frozen,
    "enumerate(loader)": brief.counted,
    "partial=True": brief.last_batch,
    "nodesplitter=wds": brief.by_node,
    "Trainer(use_distributed_sampler=False)": brief.undivided,
}

# --- what is run in another test ------------------------------------------------------------------

WRITES = "checks/test_cache_writer.py:test_the_pattern_that_is_printed_writes_an_entry"
COPIES = "models/test_remedies.py:test_the_code_of_every_fix_makes_a_copy"
SHARED = "loaders/test_fixes_of_data.py:test_what_is_opened_in_the_worker_is_shared_no_more"
LMDB = "loaders/test_fixes_of_data.py:test_an_lmdb_without_its_lock_table_may_be_shared"
SENT = "test_fixes_that_are_code.py:test_a_lock_and_a_result_go_to_a_worker_as_it_is_printed"
STARTED = (
    "checks/test_world_size.py:test_what_is_advised_starts_as_many_and_a_number_alone_does_not"
)
DIVIDED = (
    "built/test_undivided.py:test_the_sampler_that_is_advised_divides_and_shuffles_by_the_epoch"
)
ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("sampler=DistributedSampler", "set_epoch(epoch)"), DIVIDED),
    **dict.fromkeys(("--multi_gpu", "--num_processes"), STARTED),
    "functools.partial({}, ...)": "checks/test_loader_unloadable.py:"
    "test_the_advice_names_the_class_and_works",
    'map_location="cpu"': "formats/torch/test_devices.py:"
    "test_a_device_that_a_checksum_covers_is_read_by_map_location",
    **dict.fromkeys(
        ("torch.save(value, f)", "np.save(f, value)", "uuid.uuid4()"),
        WRITES,
    ),
    **dict.fromkeys(
        ("f.flush()", "os.fsync(f.fileno())", "os.replace(tmp, path)", "open(tmp, 'wb')"), WRITES
    ),
    **dict.fromkeys(("copy.deepcopy(model)", "id({})", "id(it)", "vars(one)"), COPIES),
    **dict.fromkeys(('copyreg.pickle(type({}), lambda _: "shared")', "type({})"), COPIES),
    **dict.fromkeys(
        ("optimizer.zero_grad()", "loss.backward()"),
        "training/test_clearing.py:test_what_is_cleared_is_left_alone",
    ),
    "model.train()": "scripts/test_left_in_eval.py:"
    "test_what_is_set_back_or_so_on_purpose_is_left_alone",
    "share_memory_()": "epochs/test_epochs.py:test_neighbours_that_are_sound_are_left_alone",
    "copy.deepcopy({})": "checks/test_source_state_aliased.py:"
    "test_it_is_what_happens_and_the_fix_mends_it",
    "register_forward_hook(self.hook)": "checks/test_model_half_copied.py:"
    "test_what_each_fix_says_makes_a_copy_that_follows_its_own_weights",
    "torch.utils.data.get_worker_info()": SHARED,
    **dict.fromkeys(("lock=False", "readonly=True"), LMDB),
    **dict.fromkeys(('multiprocessing.get_context("spawn")', "tensor.detach()"), SENT),
    'numpy.load(path, mmap_mode="r")': "loaders/test_fixes_of_data.py:"
    "test_a_map_is_opened_in_the_worker_by_the_code_that_is_said",
    'os.makedirs("{}", exist_ok=True)': "checks/test_no_place.py:"
    "test_a_line_that_writes_works_once_its_folder_is_made",
    "md5(caption)": "test_fixes_that_are_code.py:"
    "test_the_key_that_is_printed_for_a_cache_finds_its_entries",
    "--hard-dereference": "test_fixes_that_are_code.py:"
    "test_a_shard_with_links_is_mended_by_the_options_that_are_printed",
    "torch.distributed.get_rank()": "ranks/test_real_ranks.py:"
    "test_split_dataset_by_node_gives_what_is_told_of_tables_and_of_streams",
    "_use_new_zipfile_serialization=False": "formats/torch/test_legacy.py:"
    "test_a_storage_without_a_type_is_one_that_torch_writes_and_cannot_read",
    "--sort": "test_fixes_that_are_code.py:"
    "test_a_shard_of_split_samples_is_mended_by_the_option_that_is_printed",
}

# --- what is not run, and why ---------------------------------------------------------------------

TELLS = "says what the job or a library does, and is nothing to write"
NOT_RUN: Mapping[str, str] = {
    "save_only_model=True": TELLS,
    **dict.fromkeys(("--shm-size", "--ntasks"), "of docker and Slurm, which tests do not have"),
    "COPYFILE_DISABLE=1": "of tar on macOS",
    "allow_empty=True": "of torchvision, which tests do not have",
    "--sparse": "is to be left out of a command",
    "torch.cuda.set_device({})": TELLS,
    **dict.fromkeys(("allow_pickle=False", "allow_pickle=True", "mmap=True"), TELLS),
    **dict.fromkeys(("batch_size={", "drop_last={", "set_crc32_options(False)"), TELLS),
    **dict.fromkeys(("decode()", "hash()", "len()", "detach()", "replicate(…)"), TELLS),
    **dict.fromkeys(("len(loader)", "os.listdir()", "Path.glob()", "--gpu_ids"), TELLS),
    **dict.fromkeys(("open(path, 'wb')", "open(path, 'x')", "state_dict()"), TELLS),
    **dict.fromkeys(("optimizer.state_dict()", "torch.manual_seed(0)"), TELLS),
    **dict.fromkeys(("num_workers={", "prefetch_factor={"), "a number for this machine"),
    "model.enable_input_require_grads()": "of models of transformers; it is one hook of theirs",
    "even_batches=True": "of accelerate, which world-steps is tried on with and without",
    'torch.multiprocessing.set_sharing_strategy("file_system")': "it lasts for a whole process",
}


@pytest.mark.parametrize("code", sorted(RUN))
def test_code_that_is_printed_does_what_it_is_printed_for(code: str) -> None:
    RUN[code](code)


def test_no_code_is_printed_that_is_left_out_in_silence() -> None:
    """Another one is to be run, or to have a reason; what is printed no more leaves the lists."""
    options = {one for one in printed() if one in own_options()}

    assert printed() == {*RUN, *ELSEWHERE, *NOT_RUN, *options}
    assert len(RUN) + len(ELSEWHERE) + len(NOT_RUN) == len({*RUN, *ELSEWHERE, *NOT_RUN})


@pytest.mark.parametrize("place", sorted({*ELSEWHERE.values()}))
def test_the_test_that_is_named_is_there(place: str) -> None:
    file, _, name = place.partition(":")

    assert f"def {name}(" in (ROOT / "tests" / file).read_text(encoding="utf-8")
