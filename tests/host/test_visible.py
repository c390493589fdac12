"""CUDA_VISIBLE_DEVICES is read as CUDA reads it."""

from __future__ import annotations

import pytest

from preflight.host.facts import Gpu
from preflight.host.visible_gpus import Visible, visible_devices

FOUR = tuple(Gpu(index=index, uuid=f"GPU-{index}a{index}b-77") for index in range(4))

MIG = (
    Gpu(index=0, uuid="MIG-aaaa", instance=0),
    Gpu(index=0, uuid="MIG-bbbb", instance=1),
)


@pytest.mark.parametrize(
    ("setting", "places"),
    [
        (None, (0, 1, 2, 3)),
        ("0,1,2,3", (0, 1, 2, 3)),
        ("2,1", (2, 1)),
        (" 2 , 1 ", (2, 1)),
        ("1,", (1,)),
        ("0,2,-1,1", (0, 2)),
        ("", ()),
        ("-1", ()),
        ("GPU-2a2b-77", (2,)),
        ("GPU-2a,GPU-0a", (2, 0)),
        ("1gpu", (1,)),
    ],
)
def test_what_is_set_is_seen_in_its_order(setting: str | None, places: tuple[int, ...]) -> None:
    assert visible_devices(FOUR, setting, {}) == Visible(places=places)


UNMATCHED = {
    "an index too high ends the list": ("0,4,1", (0,), ("4",)),
    "two indices too high": ("4,5", (), ("4", "5")),
    "Slurm's word for none": ("NoDevFiles", (), ("NoDevFiles",)),
    "a uuid of another machine": ("GPU-ffff,GPU-0a", (), ("GPU-ffff",)),
    "a prefix that fits several": ("GPU-", (), ("GPU-",)),
    "a prefix of the prefix": ("G", (), ("G",)),
    "an index and a uuid cannot be mixed": ("0,GPU-1a", (0,), ("GPU-1a",)),
    "a number beyond all": ("99999999999999999999999", (), ("99999999999999999999999",)),
}


@pytest.mark.parametrize(("setting", "places", "unmatched"), UNMATCHED.values(), ids=UNMATCHED)
def test_the_first_entry_that_names_no_gpu_ends_the_list(
    setting: str, places: tuple[int, ...], unmatched: tuple[str, ...]
) -> None:
    assert visible_devices(FOUR, setting, {}) == Visible(places=places, unmatched=unmatched)


@pytest.mark.parametrize("setting", ["0,1,0", "GPU-0a,GPU-0a0b"])
def test_a_gpu_that_is_named_twice_leaves_none(setting: str) -> None:
    seen = visible_devices(FOUR, setting, {})

    assert seen.places == () and seen.repeated is not None


@pytest.mark.parametrize(
    ("setting", "places"),
    [
        (None, (0,)),
        ("0", (0,)),
        ("MIG-bbbb", (1,)),
        ("MIG-aaaa,MIG-bbbb", (0, 1)),
        ("MIG-GPU-0000/7/0", (0,)),
        ("GPU-0000", (0,)),
    ],
    ids=["unset", "index", "one", "both", "as before driver 470", "its GPU"],
)
def test_where_none_is_named_cuda_takes_the_first_instance(
    setting: str | None, places: tuple[int, ...]
) -> None:
    assert visible_devices(MIG, setting, {0: "GPU-0000"}) == Visible(places=places)


def test_whole_gpus_are_seen_beside_one_instance() -> None:
    assert visible_devices((*MIG, Gpu(index=1)), None, {}).places == (2, 0)


def test_a_lost_gpu_keeps_its_number() -> None:
    lost = (Gpu(index=0, error="GPU is lost"), Gpu(index=1, uuid="GPU-1"))

    assert visible_devices(lost, "1", {}).places == (1,)


def test_a_machine_without_gpus_has_none_to_see() -> None:
    assert visible_devices((), None, {}) == Visible(places=())
    assert visible_devices((), "", {}).places == ()
