"""What a script has no option for, or loads in parts, is rehearsed as what it is."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path

import pytest
from torch.distributed import checkpoint as parts

from preflight.render.terminal import render
from preflight.scripts.saving.save_points import _of_parts
from tests.scripts.test_resume import UNLOADED, UNSAVED, Change, rehearse, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("copies")]

OF_DISTRIBUTED = (
    (
        "import DataLoader, TensorDataset\n",
        (
            "import DataLoader, TensorDataset\n"
            "from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict\n"
        ),
    ),
    (
        (
            '        model.load_state_dict(checkpoint["model"])\n'
            '        optimizer.load_state_dict(checkpoint["optimizer"])\n'
        ),
        (
            '        set_state_dict(model, optimizer, model_state_dict=checkpoint["model"],\n'
            '            optim_state_dict=checkpoint["optimizer"])\n'
        ),
    ),
    (
        "        state = {\n",
        "        weights, state = get_state_dict(model, optimizer)\n        state = {\n",
    ),
    (
        '"model": model.state_dict(),\n            "optimizer": optimizer.state_dict()',
        '"model": weights,\n            "optimizer": state',
    ),
)
IN_PARTS = (
    ("import torch\n", "import torch\nfrom torch.distributed import checkpoint as parts\n"),
    (
        "        checkpoint = torch.load(args.resume)\n",
        (
            "        weights, state = get_state_dict(model, optimizer)\n"
            '        checkpoint = {"model": weights, "optimizer": state}\n'
            '        checkpoint["scheduler"] = scheduler.state_dict()\n'
            '        checkpoint["epoch"] = torch.tensor(0)\n'
            "        parts.load(checkpoint, checkpoint_id=args.resume)\n"
        ),
    ),
    ('checkpoint["epoch"] + 1', 'int(checkpoint["epoch"]) + 1'),
    ('"epoch": epoch,\n            "args": vars(args),', '"epoch": torch.tensor(epoch),'),
    (
        """        torch.save(state, os.path.join(args.output, "last.pt.tmp"))
        os.replace(os.path.join(args.output, "last.pt.tmp"), os.path.join(args.output, "last.pt"))
""",
        (
            '        writer = parts.FileSystemWriter(f"{args.output}/{epoch}")\n'
            "        parts.save(state, storage_writer=writer)\n"
        ),
    ),
)
SAVED = {
    "in one file": ((), "last.pt"),
    "in parts": (IN_PARTS, "0"),
}


@pytest.mark.parametrize("how", SAVED)
def test_a_step_that_makes_room_for_a_state_is_none_of_training(how: str, tmp_path: Path) -> None:
    """Before it loads, `torch.distributed.checkpoint` takes one, on gradients that are zero."""
    changes, name = SAVED[how]
    if how == "in parts" and "checkpoint_id" not in inspect.signature(parts.save).parameters:
        pytest.skip("this torch saves in parts for a group of processes alone")
    text = write(tmp_path, "plain_resume.py", *OF_DISTRIBUTED, *changes)
    whole = rehearse(tmp_path)
    loaded = "        start = "
    (tmp_path / "train.py").write_text(
        text.replace(loaded, f"        optimizer.state.clear()\n{loaded}"), encoding="utf-8"
    )
    without = rehearse(tmp_path)

    assert (whole.verdict, whole.findings) == ("go", ())
    assert f"resumed with --resume runs/plain/{name}: 2 steps" in " ".join(
        render(whole, verbose=1).split()
    )
    assert [one.message.partition(",")[0] for one in without.findings] == [
        "goes on with an empty state of AdamW"
    ]


def test_where_parts_are_saved_says_the_call_or_its_writer(tmp_path: Path) -> None:
    writer = parts.FileSystemWriter(str(tmp_path / "1"))

    assert _of_parts((), {"storage_writer": writer}, None) == str(tmp_path / "1")
    assert _of_parts((), {"storage_writer": writer, "checkpoint_id": "runs/0"}, None) == "runs/0"
    assert _of_parts((), {"storage_writer": object()}, None) == ""


SIDE_BY_SIDE = (
    (
        (
            "        checkpoint = torch.load(args.resume)\n"
            '        model.load_state_dict(checkpoint["model"])\n'
        ),
        (
            "        model.load_state_dict(torch.load(args.resume))\n"
            '        checkpoint = torch.load(args.resume.replace("model", "opt"))\n'
        ),
    ),
    ('checkpoint["epoch"] + 1', "int(args.resume[-9:-3]) + 1"),
    (
        """            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "epoch": epoch,
            "args": vars(args),
        }
        torch.save(state, os.path.join(args.output, "last.pt.tmp"))
        os.replace(os.path.join(args.output, "last.pt.tmp"), os.path.join(args.output, "last.pt"))
""",
        """            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
        torch.save(state, f"{args.output}/opt{epoch:06}.pt")
        torch.save(model.state_dict(), f"{args.output}/model{epoch:06}.pt")
""",
    ),
)


def test_a_script_that_takes_no_folder_is_given_the_file_of_its_weights(tmp_path: Path) -> None:
    """It finds what lies beside that by its name."""
    write(tmp_path, "plain_resume.py", *SIDE_BY_SIDE)
    whole = rehearse(tmp_path)
    write(tmp_path, "plain_resume.py", *SIDE_BY_SIDE, UNLOADED)
    without = rehearse(tmp_path)

    assert (whole.verdict, whole.findings) == ("go", ())
    said = " ".join(render(whole, verbose=1).split())
    assert "resumed with --resume runs/plain/model000000.pt: 2 steps" in said
    assert [one.message.partition(",")[0] for one in without.findings] == [
        "goes on with an empty state of AdamW",
        "goes on with a learning rate of 0.01",
    ]


def test_a_checkpoint_among_temporary_files_is_said_to_be_written_for_real(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is laid over the folder that the whole system uses."""
    outside = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(outside))
    where = ('default="runs/plain"', f'default="{outside}/runs"')
    write(tmp_path, "plain_resume.py", *SIDE_BY_SIDE, where)

    report = rehearse(tmp_path)

    assert (outside / "runs" / "model000000.pt").is_file()
    said = " ".join(render(report, verbose=1).split())
    assert f"wrote for real: {outside.as_posix()}/runs/model000000.pt" in said


OPTION = '    parser.add_argument("--resume", help="path of a checkpoint to go on from")\n'
BY_ITSELF = (
    (OPTION, ""),
    ("if args.resume:", 'last = f"{args.output}/last.pt"\n    if os.path.exists(last):'),
    ("torch.load(args.resume)", "torch.load(last)"),
)
ALONE = (
    *(UNSAVED, UNLOADED, ('            "scheduler": scheduler.state_dict(),\n', "")),
    ('        scheduler.load_state_dict(checkpoint["scheduler"])\n', ""),
    ('        start = checkpoint["epoch"] + 1\n', ""),
    ('            "epoch": epoch,\n            "args": vars(args),\n', ""),
)
AT_ITS_END = (
    *BY_ITSELF[:2],
    ("os.path.exists(last)", "None"),
    ("torch.load(args.resume)", "None"),
    ('__main__":\n    main()', '__main__":\n    main()\n    torch.load("runs/plain/last.pt")'),
)


BY_HAND = (
    (OPTION, ""),
    ("import torch\n", "import sys\nimport torch\n"),
    ("parser.parse_args()", "parser.parse_known_args()[0]"),
    ("if args.resume:", 'if "--resume" in sys.argv:'),
    ("torch.load(args.resume)", 'torch.load(sys.argv[sys.argv.index("--resume") + 1])'),
)


@pytest.mark.parametrize("is_read", [True, False])
def test_an_option_that_is_read_by_hand_is_one_where_something_is_loaded_by_it(
    tmp_path: Path,
    is_read: bool,  # noqa: FBT001
) -> None:
    unread = () if is_read else (('if "--resume" in sys.argv:', 'if "--resume" in sys.path:'),)
    write(tmp_path, "plain_resume.py", *BY_HAND, UNLOADED, *unread)
    report = rehearse(tmp_path)

    said = "resumed with --resume runs/plain/last.pt" if is_read else "it has no option for it"
    assert {one.check for one in report.findings} == ({"script-resume"} if is_read else set())
    assert said in " ".join(render(report, verbose=1).split())


@pytest.mark.parametrize(
    ("changes", "told", "said"),
    [
        (BY_ITSELF, set(), "resumed with the same arguments: 2 steps"),
        ((*BY_ITSELF, UNLOADED), {"error"}, "resumed with the same arguments: 2 steps"),
        # Weights alone may be meant for a start.
        ((*BY_ITSELF, *ALONE), {"warning"}, "resumed with the same arguments: 2 steps"),
        (AT_ITS_END, set(), "resume not rehearsed: it has no option for it"),
    ],
    ids=["whole", "without its optimizer", "weights alone", "loads at its end"],
)
def test_a_script_that_goes_on_by_itself_is_started_as_it_was(
    tmp_path: Path, changes: tuple[Change, ...], told: set[str], said: str
) -> None:
    """As a scheduler does that puts it into its queue again."""
    write(tmp_path, "plain_resume.py", *changes)
    report = rehearse(tmp_path)

    assert {one.severity.name.lower() for one in report.findings} == told
    assert {one.check for one in report.findings} <= {"script-resume"}
    assert said in " ".join(render(report, verbose=1).split())
