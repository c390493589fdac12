"""What a script's own sources and configurations say of how it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.resuming.every_way import ways_read
from preflight.resuming.in_configs import configs_of, ways_by_config, with_key
from preflight.resuming.in_sources import ways_in
from preflight.resuming.moments import SAVE, Moment, ResumeWay
from preflight.resuming.starts import Start, starts_for
from preflight.resuming.ways import given_with

SAVED = [Moment(what=SAVE, steps=2, path="a/last.pt")]


def started(text: str, *given: str) -> list[Start]:
    return [
        one._replace(is_guess=False, says_so=True)
        for one in starts_for(SAVED, ways_in([text], given), None)
    ]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("state = torch.load(sys.argv[1])", Start(["a/last.pt"])),
        ("path = sys.argv[1]\nmodel.load_checkpoint(path)", Start(["a/last.pt"])),
        (
            "if len(argv) > 1:\n  _, path = argv\n  model.load_checkpoint(path)",
            Start(["a/last.pt"]),
        ),
        ("(resume,) = sys.argv[1:]\ngo_on(resume)", Start(["a/last.pt"])),
        ("def main(resume=None): go_on(resume)\nmain(*sys.argv[1:])", Start(["a/last.pt"])),
        ("def main(a=0): torch.load(a)\nmain(*sys.argv[1:2])", Start(["a/last.pt"])),
        ("if argv[1] == 'resume': go_on()", Start(["resume"])),
        ("add('--warm-from')\ntorch.load(args.warm_from)", Start(["--warm-from", "a/last.pt"])),
        ("add('--last')\np = Path(a.last)\ntorch.load(p)", Start(["--last", "a/last.pt"])),
        ("add('--old')\nt.fit(ckpt_path=a.old)", Start(["--old", "a/last.pt"])),
        (
            "cfg = OmegaConf.from_cli()\nif cfg.get('resume_from'): go_on()",
            Start(["resume_from=a/last.pt"]),
        ),
        ("cfg = OmegaConf.from_cli()\nload(cfg.train.resume)", Start(["train.resume=a/last.pt"])),
        (
            (
                "for one in argv:\n  if one.startswith('--'): k, v = one[2:].split('=')\n"
                "if init_from == 'resume': go_on()"
            ),
            Start(["--init_from=resume"]),
        ),
        (
            "for one in argv:\n  k, v = one[2:].split('=')\nif init_from == 'resume': go_on()",
            Start(["--init_from=resume"]),
        ),
        (
            "@hydra.main(config_path='conf')\ndef main(cfg):\n  if cfg.get('resume'): go_on()",
            Start(["+resume=a/last.pt"]),
        ),
        ("if os.environ.get('RESUME') == 'yes': go_on()", Start([], {"RESUME": "yes"})),
        ("if 'RESUME_FROM' in os.environ: go_on()", Start([], {"RESUME_FROM": "a/last.pt"})),
        ("if bool(int(getenv('RESUME', '0'))): go_on()", Start([], {"RESUME": "1"})),
    ],
)
def test_what_is_read_is_what_it_is_given(text: str, start: Start) -> None:
    assert started(text) == [start]


@pytest.mark.parametrize(
    "text",
    [
        "config = json.load(open(sys.argv[1]))",
        "data = load_dataset(sys.argv[1])",
        "state = torch.load(sys.argv[2])",  # behind one that nobody has named
        "_, config, path = sys.argv\nmodel.load_checkpoint(path)",
        "path, more = others[1:]\nmodel.load_checkpoint(path)",
        "path, *more = sys.argv\nmodel.load_checkpoint(path)",
        "*more, path = sys.argv\nmodel.load_checkpoint(path)",
        "os.environ['RESUME_FROM'] = 'last.pt'",
        "wandb.init(resume=os.environ.get('WANDB_RESUME'))",
        "step = int(os.environ.get('RESUME_STEP', 0))",
        "from_cli().get('lr'); profiler.resume()",
        "if args.resume: torch.load(args.resume)",
        "add('--init-from')\ntorch.load(args.init_from)",
        "add('--vocab')\nload_vocab(args.vocab)",
        "add('--out')\ntorch.save(state, args.out)",
        "torch.load(args.warm_from)",
        "add('--out')\nif exists(args.out): torch.load(args.out)\ntorch.save(state, args.out)",
        "add('--out')\nload_state(join(a.out, 'x'))\ndef save(c): c.save_state(join(c.out, 'x'))",
        "def main(lr=1, resume=None): go_on(resume)\nmain(*sys.argv[1:2])",
        "no python(",
    ],
)
def test_what_is_not_asked_for_a_checkpoint_is_left(text: str) -> None:
    assert ways_in([text], []) == []


def test_what_was_given_already_is_not_given_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESUME", "old.pt")
    texts = ["resume = argv[1]\nos.getenv('RESUME')\nfrom_cli().resume"]

    assert [one.is_given for one in ways_in(texts, ["resume=old.pt"])] == [True] * 3
    assert started(texts[0], "resume=old.pt") == []


def test_a_file_that_is_run_as_a_text_is_one_of_its_own(tmp_path: Path) -> None:
    """As scripts have it that set their own globals from the command line."""
    (tmp_path / "configurator.py").write_text(
        "for arg in sys.argv[1:]:\n    assert arg.startswith('--')\n    arg[2:].split('=')\n",
        encoding="utf-8",
    )
    text = "init_from = 'scratch'\nexec(open('configurator.py').read())\ninit_from == 'resume'\n"

    ways = [*ways_read([text], [], [str(tmp_path)])]

    assert ways[0] == ResumeWay(option="--init_from=resume", takes_path=False, is_guess=True)


CONFIGS = {
    "base.yaml": ("a:\n  resume:\n    b: 1\n  resume_from: ~ # here\n", "resume_from", " # here\n"),
    "base.yml": ("resume: ''\nlr: 1\n", "resume", "lr: 1\n"),
    "base.json": ('{"resume": null, "lr": 1}', "resume", ', "lr": 1}'),
    "base.toml": ("lr = 1\nresume = ''\n", "resume", "\n"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_one_line_of_a_configuration_says_it(name: str, tmp_path: Path) -> None:
    text, key, tail = CONFIGS[name]
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    source = f"train(open('{name}')).resume; resume_from"

    assert configs_of([source], [], [str(tmp_path)]) == [str(path)]
    assert configs_of([], [f"--config={name}"], ["elsewhere", str(tmp_path)]) == [str(path)]
    ways = [*ways_by_config(str(path), [source])]
    assert ways == [ResumeWay(option=key, takes_path=True, is_guess=True, file=str(path))]
    changed = with_key(text, name, key, "a/last.pt")
    assert changed is not None
    assert '"a/last.pt"' in changed
    assert changed.endswith(tail)
    assert len(changed.splitlines()) == len(text.splitlines())


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("resume: runs/last.pt\n", [True]),
        ("resume: false\n", [False]),
        ("wandb:\n  resume: allow\n", []),
        ("resume: true\n", []),
        ("resume_step: 0\n", []),
        ("resume: |\n  text\n", []),
        ("checkpoint_every: 0\n", []),
    ],
)
def test_what_a_configuration_says_already_stays(
    text: str, given: list[bool], tmp_path: Path
) -> None:
    path = tmp_path / "base.yaml"
    path.write_text(text, encoding="utf-8")

    assert [one.is_given for one in ways_by_config(str(path), ["cfg.resume"])] == given
    assert with_key(text, "base.yaml", "other", None) is None


def test_a_key_that_no_source_names_is_left(tmp_path: Path) -> None:
    path = tmp_path / "base.yaml"
    path.write_text("resume: ~\n", encoding="utf-8")

    assert [*ways_by_config(str(path), ["cfg.lr"])] == []
    assert with_key("resume: no\n", "base.yaml", "resume", None) == "resume: true\n"


@pytest.mark.parametrize(
    ("text", "given", "start"),
    [
        (
            "cfg = OmegaConf.from_cli()\nif cfg.get('resume_from'): go_on()",
            "resume_from=null",
            Start(["resume_from=a/last.pt"]),
        ),
        ("(resume,) = sys.argv[1:]\ngo_on(resume)", "none", Start(["a/last.pt"], place=1)),
    ],
)
def test_what_is_given_and_says_no_is_replaced(text: str, given: str, start: Start) -> None:
    assert started(text, given) == [start]
    assert given_with([given], start.words, start.place) == start.words


def test_a_variable_that_says_no_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "if os.environ.get('RESUME') == 'yes': go_on()"
    monkeypatch.setenv("RESUME", "no")
    assert started(text) == [Start([], {"RESUME": "yes"})]
    monkeypatch.setenv("RESUME", "yes")
    assert started(text) == []
