"""Each command of ours that is printed anywhere is one, and so is each of its options."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from preflight.command.cli import preflight as command
from tests.printed import literals, own_options

COMMAND = re.compile(r"\bpreflight (run|report|explain|quarantine|demo|init|checks)\b([^`.;:,?)]*)")


def commands() -> dict[str, str]:
    """Give each command that is printed anywhere, with the file that prints it."""
    found = {}
    for folder in ("checks", "preflight"):
        for file, text in literals(folder, "preflight "):  # all would be parsed by each process
            for verb, rest in COMMAND.findall(text):
                words = re.split(r"  |`| in JSON| tells ", rest)[0].replace("--help", "")
                found[f"{verb} {words.strip()}".strip()] = file
    return found


@pytest.mark.parametrize("line", sorted(commands()))
def test_a_command_that_is_printed_is_one_of_ours(line: str) -> None:
    """What is filled in, and `…`, stands for words of the job's."""
    verb, *words = line.replace("{}", "1").replace("…", "").split()
    words = [one for one in words if "=" in one or re.fullmatch(r"-{0,2}[\w./:-]+", one)]
    if verb == "explain" and not words:
        words = ["shard-damaged"]

    with command.commands[verb].make_context(verb, words, resilient_parsing=False) as made:
        unknown = [one for one in words if one.startswith("--") and one not in own_options()]
        assert (made.command.name, unknown) == (verb, [])


FOREIGN: Mapping[str, str] = {
    "--help": "click's own",
    "--include": "git lfs pull",
    "--long": "zstd",
    "--resume": "an example of a script's",
    "--upgrade": "pip",
    **dict.fromkeys(("--hard-dereference", "--sort", "--sparse"), "tar"),
    **dict.fromkeys(("--shm-size", "--ntasks"), "docker, and Slurm"),
    **dict.fromkeys(("--multi_gpu", "--num_processes"), "accelerate launch"),
    **dict.fromkeys(("--gpu", "--gpu_ids"), "accelerate, in launch scripts: --gpu[_-]ids"),
    **dict.fromkeys(("--nodes", "--ntasks-per-node"), "Slurm, as launch scripts have it"),
    **dict.fromkeys(("--num_gpus", "--num_nodes", "--module"), "deepspeed, in launch scripts"),
}


def test_each_option_that_is_printed_is_there() -> None:
    sentences = (text for folder in ("checks", "preflight") for _, text in literals(folder))
    said = {
        one
        for text in sentences
        if " " in text
        for one in re.findall(r"(?<![\w-])--[a-z][\w-]+[a-z]", text)
    }

    assert said - own_options() == {*FOREIGN}, (said - own_options()) ^ {*FOREIGN}
