"""Scripts that start their ranks themselves are rehearsed in these; held against the plain ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import preflight
from tests.scripts.faults import SPAWNED, Change
from tests.scripts.rehearsing import Seen, contents, line_of, planted, rehearse, run_plainly

pytestmark = pytest.mark.slow

SPAWNS = "    mp.spawn(main, args=(args.ranks, args), nprocs=args.ranks)\n"

EACH = """
    ranks = [{made} for rank in range(args.ranks)]
    for one in ranks:
        one.start()
    for one in ranks:
        one.join()
"""
CLASS = """
class Rank(mp.get_context("spawn").Process):
    def __init__(self, rank, args):
        super().__init__()
        self.given = rank, args.ranks, args

    def run(self):
        main(*self.given)


if __name__ == "__main__":
"""
PROCESS = "{}.Process(target=main, args=(rank, args.ranks, args))"
FORKED = (SPAWNS, EACH.format(made=PROCESS.format('mp.get_context("fork")')))

FORMS: dict[str, tuple[Change, ...]] = {
    "by torch": (),
    "forked, by processes": (FORKED,),
    "by a class of processes": (
        (SPAWNS, EACH.format(made="Rank(rank, args)")),
        ('\nif __name__ == "__main__":\n', CLASS),
    ),
}

IN_EVALUATION = ("(self.model(x), y).item())", "(self.model(x), {}['y']).item())")


def rehearsed(folder: Path, *changes: Change, resumes: bool = False) -> tuple[Path, Seen]:
    (folder / "job").mkdir()
    path = planted(folder / "job", SPAWNED, *changes)
    before = contents(path.parent)
    again = ["Resumed"] if resumes else []
    seen = rehearse(path, wants=["SavedState", "Copied", "Sent", "Loaded", "Steps", *again])
    assert contents(path.parent) == before
    return path, seen


@pytest.mark.parametrize("form", FORMS)
def test_ranks_are_watched_cut_short_and_resumed(
    form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What one of them saves is written to no folder of the job's, and found by the script."""
    _, seen = rehearsed(tmp_path, *FORMS[form], resumes=True)
    said = capfd.readouterr().err
    met = seen.rehearsal

    assert seen.told == []
    assert (met.ended.how, met.steps, met.batches, met.times("save")) == ("returned", 6, 14, 4)
    assert (met.times("rank"), met.times("evaluation"), met.not_reached) == (2, 4, ())
    assert seen.steps.steps == 6
    assert said.count("all ranks are done True") == 2
    assert said.count("epoch 0: ") == 1
    assert said.count("epoch 1: ") == 2


@pytest.mark.parametrize(("every", "told"), [(1, 0), (900, 1)])
def test_a_rare_test_is_told_by_ranks_that_do_not_come_behind_it_alone(
    tmp_path: Path, every: int, told: int
) -> None:
    """The script itself, which starts them, saves nothing."""
    is_rare = ("if self.rank == 0:", f"if self.rank == 0 and epoch % {every} == {every - 1}:")
    _, seen = rehearsed(tmp_path, is_rare)

    assert [one.what for one in seen.rehearsal.met].count("seldom") == told
    assert bool(seen.rehearsal.times("save")) is not bool(told)


def test_what_ranks_go_on_from_by_themselves_is_what_they_come_to(tmp_path: Path) -> None:
    """Each of them loads it before it trains; the script itself loads nothing."""
    goes_on = (
        ("        if args.resume:", "        if os.path.exists(args.output):"),
        ("torch.load(args.resume)", "torch.load(args.output)"),
        ('    parser.add_argument("--resume")\n', ""),
        ("optimizer.load_state_dict(saved[", "optimizer.load_state_dict(saved['state']["),
    )
    path, seen = rehearsed(tmp_path, *goes_on, resumes=True)
    line = line_of(path, "saved['state']")
    plain, again = run_plainly(path, "--epochs", "1"), run_plainly(path)

    assert (plain.returncode, again.returncode) == (0, 1)
    assert f'{path.name}", line {line}' in again.stderr
    assert seen.told == [f"error script-resume {path.name}:{line}"]


def test_ranks_that_never_end_are_stopped_together(tmp_path: Path) -> None:
    endless = ("in range(self.first, self.args.epochs):", "in iter(int, 1):")
    _, seen = rehearsed(tmp_path, endless)

    assert seen.told == []
    assert "and not to what stands behind" in seen.rehearsal.shortened[-1]


@pytest.mark.parametrize("exits", [False, True])
def test_a_rank_that_dies_is_told_whatever_the_script_makes_of_it(
    tmp_path: Path, *, exits: bool
) -> None:
    """Plainly, Python prints what it raised; the script may end as if all were well."""
    ends = "    raise SystemExit(any(one.exitcode for one in ranks))\n" if exits else ""
    path, seen = rehearsed(tmp_path, (SPAWNS, FORKED[1] + ends), IN_EVALUATION)
    plain = run_plainly(path)
    lines = re.findall(rf'{path.name}", line (\d+)', plain.stderr)

    assert plain.returncode == exits
    assert seen.told == [f"error script-eval {path.name}:{lines[-1]}"]


HELPER = """
def helps():
    raise ValueError("there is nothing to do")


if __name__ == "__main__":
    mp.get_context("fork").Process(target=helps).start()
"""


def test_a_process_that_does_not_train_may_end_as_it_likes(tmp_path: Path) -> None:
    """Who starts it need not care."""
    _, seen = rehearsed(tmp_path, FORKED, ('\nif __name__ == "__main__":\n', HELPER))

    assert seen.told == []
    assert seen.rehearsal.steps == 6


@pytest.mark.usefixtures("copies")
def test_ranks_that_wait_for_each_other_are_told_by_their_own_lines(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    alone = ("            dist.barrier()\n", "            self.rank or dist.barrier()\n")
    path = planted(tmp_path / "job", SPAWNED, alone)
    report = preflight.run(
        "spawned.py", folder=str(path.parent), select=["script-stuck"], timeout=8
    )
    (found,) = report.findings

    assert (found.check, found.at.line) == ("script-stuck", line_of(path, "or dist.barrier()"))
    lines = {one.line: one.name for one in found.also}
    assert line_of(path, "loss.backward()") in lines
    assert lines[line_of(path, "mp.spawn")] is None


GPUS = (SPAWNS, f"    args.ranks = torch.cuda.device_count()\n{SPAWNS}")


@pytest.mark.usefixtures("copies")
def test_a_process_for_each_gpu_takes_one(tmp_path: Path) -> None:
    """Plainly, none is started where there is none, and the script ends as if all were well."""
    (tmp_path / "job").mkdir()
    path = planted(tmp_path / "job", SPAWNED, GPUS)
    select = ["script-idle", "script-stopped"]
    report = preflight.run(path.name, folder=str(path.parent), select=select)
    (error,) = {one.error for each in report.checks for one in each.broken}
    on_cpu = preflight.run(path.name, folder=str(path.parent), select=select, device="cpu")

    assert (report.verdict, report.findings) == ("cannot-judge", ())
    assert error.startswith("it needs CUDA, which is not here")
    assert error.endswith(f"at {path.name}:{line_of(path, 'mp.spawn')}")
    assert (on_cpu.verdict, on_cpu.findings) == ("go", ())
    assert run_plainly(path).returncode == 0


BESIDE = """
    if "RANK" not in os.environ:
        import socket
        import subprocess

        with socket.socket() as one:
            one.bind(("", 0))
            port = one.getsockname()[1]
        told = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
        os.environ.update(told, RANK="0")
        itself = [sys.executable, "-u", os.path.abspath(sys.argv[0]), *sys.argv[1:]]
        subprocess.Popen(itself, env={**os.environ, "RANK": "1"})
    main()
"""
ITSELF = ('__main__":\n    main()\n', f'__main__":{BESIDE}')
ILL = ("            loss = nn", "            assert rank == 0 or epoch == 0\n            loss = nn")


def test_a_script_that_starts_itself_for_other_ranks_is_watched_in_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As Lightning does; each of them finds what the first one saves."""
    path = planted(tmp_path, "ranks.py", ITSELF)
    before = contents(tmp_path)
    seen = rehearse(path)
    said = capfd.readouterr().err

    assert (seen.told, seen.rehearsal.ended.how) == ([], "returned")
    assert (seen.rehearsal.steps, seen.rehearsal.times("beside")) == (5, 1)
    assert {"trained 0 2", "trained 1 2"} <= {*said.splitlines()}
    assert contents(tmp_path) == before


LATE = (
    "    sys.stderr.write(f",
    "    rank and __import__('time').sleep(1)\n    sys.stderr.write(f",
)


def test_the_last_words_of_one_that_the_script_leaves_at_work_are_heard(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Plainly, it goes on by itself."""
    seen = rehearse(planted(tmp_path, "ranks.py", ITSELF, LATE))

    assert (seen.told, seen.rehearsal.ended.how) == ([], "returned")
    assert "trained 1 2" in capfd.readouterr().err


def test_what_only_another_one_raises_is_told_at_its_line(tmp_path: Path) -> None:
    path = planted(tmp_path, "ranks.py", ITSELF, ILL)
    plain = run_plainly(path)
    (tmp_path / "last.pt").unlink()
    seen = rehearse(path)
    line = line_of(path, "assert rank == 0")

    assert plain.returncode == 1
    assert f'ranks.py", line {line}' in plain.stderr
    assert seen.told == [f"error script-stopped ranks.py:{line}"]


APART = (
    "    loader = DataLoader(data, 4, sampler=DistributedSampler(data, seed=1))\n",
    """    part = torch.utils.data.Subset(data, range({})[rank::ranks])
    sampler = DistributedSampler(part, num_replicas=1, rank=0)
    loader = DataLoader(part, 4, sampler=sampler, drop_last={})
""",
)


def parts(samples: int, *, drops: bool) -> Change:
    return APART[0], APART[1].format(samples, drops)


@pytest.mark.parametrize("form", FORMS)
def test_a_loader_that_is_longer_on_one_rank_is_told(form: str, tmp_path: Path) -> None:
    """Plainly, the other one waits for it."""
    path, seen = rehearsed(tmp_path, *FORMS[form], parts(79, drops=True))
    line = line_of(path, "in self.loader:")

    assert seen.told == [f"error world-unlike {path.name}:{line}"]
    assert seen.found[0].message == (
        "batches of an epoch: 10 batches of 40 samples on rank 0; 9 batches of 39 samples on rank 1"
    )


def test_parts_of_as_many_batches_are_left_alone(tmp_path: Path) -> None:
    """Of 40 and of 39 samples, the last batch may be a short one."""
    _, seen = rehearsed(tmp_path, parts(79, drops=False))

    assert seen.told == []


WITHOUT_GROUP = (
    ("self.model = DistributedDataParallel(model)", "self.model = model"),
    ("self.model.module.state_dict()", "self.model.state_dict()"),
    ('    dist.init_process_group("gloo", rank=rank, world_size=ranks)\n', ""),
    ("            dist.barrier()\n", ""),
    ("    dist.destroy_process_group()\n", ""),
)


def test_processes_that_train_apart_may_have_other_loaders(tmp_path: Path) -> None:
    path, seen = rehearsed(tmp_path, *WITHOUT_GROUP, parts(79, drops=True))
    plain = run_plainly(path)

    assert plain.returncode == 0
    assert seen.told == []
