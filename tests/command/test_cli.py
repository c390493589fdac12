"""The command line keeps its contract: what is typed, what goes to stdout, what it exits with."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.archives import photo, tarred
from tests.conftest import ROOT, START, Run, on_a_terminal
from tests.files import WHOLE, put


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder with one whole cache file and one that is empty."""
    put(tmp_path, "cache/whole.safetensors", content=WHOLE)
    put(tmp_path, "cache/empty.safetensors")
    return tmp_path / "cache"


@pytest.fixture
def sound(cache: Path) -> Path:
    (cache / "empty.safetensors").unlink()
    return cache


# --- typed wrong: exit 2, stdout empty ------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing/here"], "'nothing/here' is no target"),
        (["cahce"], "did you mean cache?"),
        (["cache/empti.safetensors"], "did you mean cache/empty.safetensors?"),
        (["cahce/empty.safetensors"], "did you mean cache/empty.safetensors?"),
        (["cache=cahce/empty.safetensor"], "did you mean cache/empty.safetensors?"),
        (["train:make"], "there is no module train"),
        (["train.py:make"], "there is no file train.py"),
        (["mod:mke"], "mod has no mke; did you mean make?"),
        (["mod.py:mke"], "mod.py has no mke; did you mean make?"),
        (["mod.py:mak"], "mod.py has no mak; did you mean make?"),
        (["lib/many.py:make"], "lib/many.py has no make; did you mean make_model?"),
        (["dynamic:nope"], "dynamic has no nope"),
        (["*.tar"], "fits no file"),
        (["{0..99999999999}.tar"], "names 100,000,000,000 files"),
        (["data=nothing"], "'nothing' is no target"),
        (["cache=nothing"], "there is no such path"),
        (["loader=7"], "is no module:name"),
        (["mood.py"], "there is no such script"),
        (["mood.py", "--lr", "3"], "did you mean mod.py?"),
        (["-m"], "-m names no module"),
        (["-m", "mood"], "there is no module mood"),
        (["--", "simpletuner", "train"], "there is no such script"),
        (["cache", "--"], "-- names no script"),
        (["script=notes.xyz"], "is no Python script"),
        (["script=mood.py --lr 3"], "did you mean mod.py?"),
        (["script=mod.py 'x"], "is no line of a shell"),
        (["hollow"], "holds no shards, images, cache files or sources"),
        (["notes.xyz"], "cache= reads"),
        (["cache", "--select", "cahce"], "did you mean cache?"),
        (["cache", "--ignore", "nonsense-id"], "there is no check 'nonsense-id'"),
        (["cache", "--vram", "80"], "write it with its unit"),
        (["cache", "--gpus", "-1"], "-1 is less than 0"),
        (["cache", "--format", "yaml"], "'yaml' is not one of"),
        (["cache", "--baseline", "nothing.json"], "cannot be read"),
        (["cache", "--config", "nothing.toml"], "cannot be read"),
        (["cache", "-o", "report.xyz"], "the suffix says no format"),
        (["cache", "-o", "batch.png"], "a report is no picture; preflight run"),
        (["cache", "-o", "my batch.JPEG"], "  --show-batch 'my batch.png'"),
        (["cache", "-o", "sarif=report.json"], "there is no format sarif; there are terminal"),
        (["cache", "-o", "JSON=report.json"], "there is no format JSON"),
        (["cache", "-o", "=report.json"], "there is no format in front of the =; there are"),
        (["cache", "-o", "json="], "no file is named behind the ="),
        (["cache", "--start-method", "thread"], "is not one of"),
        (["cache", "--require", "nonsense"], "there is no check"),
        (["cache", "--nonsense"], "No such option"),
        (["cache", "-o", "no/such/folder.json"], "there is no folder no/such"),
        ([""], "an empty word is no target"),  # no wish to look at everything
        (["cache", "data="], "data= names nothing"),
    ],
)
def test_what_is_typed_wrong_runs_nothing(
    preflight: Run, cache: Path, words: list[str], said: str
) -> None:
    folder = cache.parent
    put(folder, "mod.py", content=b"def make(): pass\n")
    put(folder, "lib/many.py", content=b"def make_training_loader(): pass\nmake_model = 1\n")
    put(folder, "dynamic.py", content=b"globals()['make'] = print\n")
    put(folder, "notes.xyz", content=b"?")
    (folder / "hollow").mkdir()

    done = preflight("run", *words)

    assert done.returncode == 2, done
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (folder / ".preflight").exists()


def test_all_mistakes_in_the_settings_are_told_at_once(preflight: Run, tmp_path: Path) -> None:
    (tmp_path / "preflight.toml").write_text(
        '[launch]\ngpu = 3\nvram = 24\nstart_method = "swpan"\n\n'
        "[[data]]\npath = 4\n\n[lok]\nx = 1\n"
    )
    (tmp_path / "more.toml").write_text(
        '[launch]\nnum_workers = -1\n[data]\npath = "x"\n[[loader]]\nname = "a"\n'
        '[[cache]]\npath = "x"\nof = "pets"\n'
    )

    done = preflight("run")
    more = preflight("run", "--config", "more.toml")

    assert done.returncode == 2
    assert done.stdout == ""
    for said in (
        "preflight.toml:2: launch.gpu: unknown key; did you mean gpus?",
        "preflight.toml:3: launch.vram: '24' is no size",
        "preflight.toml:4: launch.start_method: should be 'fork', 'spawn' or 'forkserver'",
        "preflight.toml:7: data.0.path: should be a valid string",
        "preflight.toml:9: lok: unknown key; did you mean look?",
        "more.toml:2: launch.num_workers: -1 is less than 0",
        "more.toml:3: data: write [[data]], with two brackets",
        "more.toml:5: loader.0.call: is required",
        "more.toml:9: cache.0.of: should be a list, such as ['pets'], not 'pets'",
    ):
        assert said in done.stderr + more.stderr


@pytest.mark.parametrize(("word", "said"), [("run", "Name a target"), ("report", "preflight run")])
def test_an_empty_folder_says_what_to_do(preflight: Run, word: str, said: str) -> None:
    """With nothing named and nothing around there is nothing to judge, and no run to report."""
    done = preflight(word)

    assert done.returncode == 2
    assert said in done.stderr


# --- the verdicts ---------------------------------------------------------------------------------


def test_a_sound_job_is_go_and_exit_0(preflight: Run, sound: Path) -> None:
    done = preflight("run", "cache")

    assert done.returncode == 0, done
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("GO")
    assert lines[-1].startswith("GO")
    assert len(lines) <= 12
    assert done.stderr == ""


def test_a_finding_is_no_go_and_exit_1(preflight: Run, cache: Path) -> None:
    done = preflight("run", "cache")

    assert done.returncode == 1
    lines = done.stdout.strip().splitlines()
    assert lines[0].startswith("NO-GO")
    assert lines[-1].startswith("NO-GO")
    assert "cache/empty.safetensors" in done.stdout


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("cache --fail-on never", {0}),
        ("cache --fail-on note", {1}),
        ("host=here", {3}),
        ("host=here --select gpu", {0, 3}),
        ("host=here --select env", {0}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("cache")
def test_what_was_asked_for_moves_the_gate(preflight: Run, words: str, codes: set[int]) -> None:
    """`never` reports and does not gate; of the host alone nothing is said unless asked for."""
    assert preflight("run", *words.split()).returncode in codes


def test_only_machine_findings_exit_4(preflight: Run, cache: Path) -> None:
    """A scheduler retries elsewhere; with a finding of the job beside it, it does not."""
    (cache / "empty.safetensors").unlink()
    (cache.parent / "host.json").write_text(json.dumps({"nvml": {"state": "no-driver"}}))

    done = preflight("run", "cache", "--gpus", "4096")
    assert done.returncode == 4, done

    (cache / "empty.safetensors").write_bytes(b"")
    assert preflight("run", "cache", "--gpus", "4096").returncode == 1
    assert preflight("run", "cache", "--gpus", "4096", "--elsewhere").returncode == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("s3://bucket/{000..009}.tar", 3, "not read by this version"),
        ("s3://bucket/a.tar --may-skip shard,sample,image,caption", 0, ""),
        ("--require loader-unpicklable", 3, "is required"),
    ],
    ids=["remote", "remote, and may be skipped", "a loader that must be looked at"],
)
@pytest.mark.usefixtures("sound")
def test_what_was_not_looked_at_is_not_passed_over(
    preflight: Run, words: str, code: int, said: str
) -> None:
    done = preflight("run", "cache", *words.split())

    assert done.returncode == code, done
    assert said in done.stdout


def test_a_baseline_accepts_what_it_holds_and_nothing_new(preflight: Run, cache: Path) -> None:
    """The fingerprint of a file's damage stays when another file joins it."""
    preflight("run", "cache", "-o", "old.json")

    assert preflight("run", "cache", "--baseline", "old.json").returncode == 0

    (cache / "new.safetensors").write_bytes(b"")
    done = preflight("run", "cache", "--baseline", "old.json", "--format", "json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert [finding["at"]["file"] for finding in report["findings"]] == ["cache/new.safetensors"]
    assert [one["reason"] for one in report["accepted"]] == ["in the baseline"]


def test_an_ignore_holds_until_its_day(preflight: Run, cache: Path) -> None:
    settings = cache.parent / "preflight.toml"
    entry = '[[ignore]]\ncheck = "cache"\nat = "cache/empty*"\nreason = "known"\nuntil = "{}"\n'

    settings.write_text(entry.format("2999-01-01"))
    assert preflight("run", "cache").returncode == 0

    settings.write_text(entry.format("2001-01-01"))
    assert preflight("run", "cache").returncode == 1


def test_an_ignore_that_holds_no_more_is_told(preflight: Run, cache: Path) -> None:
    settings = cache.parent / "preflight.toml"
    named = '[[cache]]\npath = "cache"\n'
    entry = '[[ignore]]\ncheck = "cache"\nat = "{}*"\nreason = "known"\nuntil = {}\n'

    def told(at: str, until: str, *words: str) -> str:
        settings.write_text(named + entry.format(at, until))
        report = json.loads(preflight("run", *words, "--format", "json").stdout)
        return " ".join(one for one in report["reasons"] if "[[ignore]]" in one)

    assert told("cache/empty", "2999-01-01") == ""
    assert told("cache/gone", "2999-01-01", "cache") == ""  # it may lie where nobody looked
    expired = "preflight.toml:4: [[ignore]] cache at cache/empty* holds no more"
    assert expired in told("cache/empty", "2001-01-01")
    gone = "preflight.toml:4: [[ignore]] cache at cache/gone* matches nothing that was found"
    assert gone in told("cache/gone", "2999-01-01")


def test_entries_of_a_baseline_that_match_nothing_are_counted(preflight: Run, cache: Path) -> None:
    (cache.parent / "preflight.toml").write_text('[[cache]]\npath = "cache"\n')
    preflight("run", "-o", "old.json")

    def told(*words: str) -> list[str]:
        done = preflight("run", *words, "--baseline", "old.json", "--format", "json")
        return [one for one in json.loads(done.stdout)["reasons"] if "baseline" in one]

    assert told() == []
    next(cache.glob("empty*")).unlink()
    gone = ["The baseline old.json has 1 entry; found no longer: 1."]
    assert told() == gone
    assert told("cache") == gone


STALE = """\
[[ignore]]
check = "{}"
at = "{}"
reason = "known"
"""


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with a whole image and one that is cut, beside another such folder."""
    put(tmp_path, "photos/a.png", "other/a.png", content=photo())
    put(tmp_path, "photos/b.png", "other/b.png", content=photo()[:200])
    return tmp_path / "photos"


def stale(preflight: Run, *words: str) -> list[str]:
    """Say what a run over words tells of that which is accepted."""
    report = json.loads(preflight("run", *words, "--elsewhere", "--format", "json").stdout)
    return [one for one in report["reasons"] if "[[ignore]]" in one or "baseline" in one]


@pytest.mark.parametrize(
    ("check", "at", "words"),
    [
        ("image-damaged", "photos/b.png", "other"),
        ("image-damaged", "photos/b.png", "photos/a.png"),
        ("image-damaged", "*.png", "photos"),
        ("image-damaged", "photos*", "photos"),
        ("image-damaged", "photos2/b.png", "photos"),
        ("image-damaged", "photos/b.png", "photos --select caption"),
        ("image", "photos/b.png", "photos --select image-zip"),
        ("image-damaged", "photos/b.png", "photos --sample 1"),
        ("image-damaged", "photos/b.png", "photos --budget 0.000001"),
        ("image-damaged", "photos/b.png", "photos --depth index"),
        ("sample-unpaired", "photos/b.png", "photos"),
        ("cache-damaged", "photos/b.png", "photos"),
    ],
)
def test_an_ignore_of_what_a_word_may_not_have_shown_is_left_alone(
    preflight: Run, photos: Path, check: str, at: str, words: str
) -> None:
    (photos / "b.png").write_bytes(photo())
    (photos.parent / "preflight.toml").write_text(STALE.format(check, at))

    assert stale(preflight, *words.split()) == []


@pytest.mark.parametrize(
    ("check", "at", "words"),
    [
        ("image-damaged", "photos/b.png", "photos"),
        ("image-damaged", "photos/b.png", "photos other"),
        ("image", "photos/b*", "photos"),
        ("image-damaged", "photos/gone.png", "photos --select image-damaged"),
    ],
)
def test_an_ignore_of_what_a_word_has_shown_to_be_sound_is_told(
    preflight: Run, photos: Path, check: str, at: str, words: str
) -> None:
    settings = photos.parent / "preflight.toml"
    settings.write_text(STALE.format(check, "photos/b.png"))
    assert stale(preflight, *words.split()) == []

    (photos / "b.png").write_bytes(photo())
    settings.write_text(STALE.format(check, at))
    (told,) = stale(preflight, *words.split())
    assert told.startswith(f"preflight.toml:2: [[ignore]] {check} at {at} matches nothing")


def test_entries_of_a_baseline_are_counted_where_words_look_at_their_places(
    preflight: Run, photos: Path
) -> None:
    preflight("run", "photos", "other", "--elsewhere", "-o", "old.json")
    (photos / "b.png").write_bytes(photo())
    (photos.parent / "other" / "b.png").unlink()
    before = json.loads((photos.parent / "old.json").read_text())
    number = sum(one["check"] == "image-damaged" for one in before["findings"])
    assert number == 2

    def told(*words: str) -> str:
        return " ".join(stale(preflight, *words, "--baseline", "old.json"))

    for words in (["photos/a.png"], ["photos", "--sample", "1"], ["photos", "--select", "caption"]):
        assert told(*words) == ""
    assert told("photos").endswith("found no longer: 1.")
    assert told("photos", "other").endswith("found no longer: 2.")


def test_entries_about_code_are_counted_where_its_own_words_are_named_again(
    preflight: Run, photos: Path
) -> None:
    """A narrower word may not show what another file makes of this one."""
    source = photos.parent / "code" / "train.py"
    put(
        source.parent,
        "train.py",
        content=b"def f():\n    try:\n        g()\n    finally:\n        return 1\n",
    )
    preflight("run", "source=code", "--elsewhere", "-o", "old.json")
    found = json.loads((photos.parent / "old.json").read_text())["findings"]
    assert [one["check"] for one in found] == ["source-return-in-finally"]

    source.write_text("def f():\n    return 1\n")
    assert stale(preflight, "source=code/train.py", "--baseline", "old.json") == []
    broken = stale(preflight, "source=code", "photos", "--baseline", "old.json")
    assert broken == []  # an error may keep code from coming to what was found
    (told,) = stale(preflight, "source=code", "photos/a.png", "--baseline", "old.json")
    assert told.endswith("found no longer: 1.")


def test_a_part_that_no_selected_check_is_about_is_not_passed_off_as_seen(
    preflight: Run, sound: Path
) -> None:
    done = preflight("run", "cache", "--select", "env")
    assert "not looked at" in done.stdout

    report = json.loads(preflight("run", "cache", "--select", "env", "--format", "json").stdout)
    assert "cache" in report["not_judged"]


def test_a_cache_that_is_held_against_no_data_says_so(preflight: Run, sound: Path) -> None:
    """Where there are data; a folder of checkpoints is made of none."""
    folder = sound.parent
    put(folder, "a.tar", content=tarred({"a.cls": b""}))

    def parts() -> list[str]:
        return list(json.loads(preflight("run", "--format", "json").stdout)["not_judged"])

    assert "cache against data" in parts()
    assert "of = [...]" in preflight("run").stdout
    (sound / "checkpoint-5").mkdir()
    assert "cache against data" not in parts()
    (sound / "checkpoint-5").rmdir()
    put(
        folder,
        "preflight.toml",
        content=b"[[data]]\nname = 'd'\nshards = 'a.tar'\n[[cache]]\npath = 'cache'\nof = ['d']\n",
    )
    assert "cache against data" not in parts()


def test_memory_that_is_asked_for_without_a_gpu_is_no_go(preflight: Run, sound: Path) -> None:
    """It was asked for, so that it is no skip."""
    (sound.parent / "host.json").write_text("{}")

    done = preflight("run", "cache", "host=host.json", "--vram", "40GB")

    assert done.returncode == 4
    assert "this machine has no GPU" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '{"gpus": 2}',
        '{"nvml": []}',
        '{"nvml": {"devices": [5]}}',
        "\x80",
        "[" * 10**5,
    ],
    ids=["empty", "cut", "list", "other keys", "no object", "no device", "bytes", "deep"],
)
def test_a_host_that_is_no_recording_was_typed_wrong(
    preflight: Run, sound: Path, text: str
) -> None:
    """Nothing else is judged then, whatever lies beside it."""
    (sound.parent / "train.json").write_bytes(text.encode("latin-1"))

    done = preflight("run", "cache", "host=train.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert "host=train.json: this file is no recording of a machine (" in done.stderr


@pytest.mark.fresh
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_behind_stdout_is_no_crash(preflight: Run, cache: Path) -> None:
    """One line on stderr; the exit code is the verdict's."""
    with open("/dev/full", "w") as full:
        done = preflight("run", "cache", stdout=full)

    assert done.returncode == 1
    assert done.stderr.strip().splitlines() == [
        "preflight: stdout cannot be written: No space left on device"
    ]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["run cache", "report", "report --schema"])
def test_what_could_not_be_said_is_no_go_ahead(preflight: Run, sound: Path, words: str) -> None:
    preflight("run", "cache")
    with open("/dev/full", "w") as full:
        done = preflight(*words.split(), stdout=full)

    assert done.returncode == 3
    assert "preflight: stdout cannot be written: No space left on device" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(("damaged", "code"), [(False, 3), (True, 1)])
def test_a_file_that_could_not_be_written_is_no_go_ahead(
    preflight: Run, sound: Path, *, damaged: bool, code: int
) -> None:
    """What else was asked for is written all the same."""
    if damaged:
        put(sound.parent, "cache/empty.safetensors")
    done = preflight("run", "cache", "-o", "json=/dev/full", "-o", "saved.json")

    assert done.returncode == code
    assert done.stdout.startswith("NO-GO" if damaged else "GO")
    assert "preflight: /dev/full cannot be written: No space left on device" in done.stderr
    assert json.loads((sound.parent / "saved.json").read_text())["schema"] == 1


@pytest.mark.skipif(os.name == "nt", reason="this is a POSIX shell's business")
def test_a_reader_who_has_seen_enough_changes_nothing(sound: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'("{sys.executable}" -m preflight run cache; echo $? >&2) | head -c 2'],
        cwd=sound.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.stderr.strip()) == ("GO", "0")


def test_the_interpreter_is_named_where_it_may_not_be_the_jobs(
    preflight: Run, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("import torch\nmake = torch.nn.Linear(2, 2)\n")

    assert "VIRTUAL_ENV is /some/env" in (
        preflight("run", "train:make", env={"VIRTUAL_ENV": "/some/env"}).stdout.replace("\n", " ")
    )
    assert "VIRTUAL_ENV" not in preflight("run", "train:make").stdout
    named = preflight("run", "train:make", "--python", sys.executable).stdout
    assert "Your code was run by" in named


# --- formats and files ----------------------------------------------------------------------------


def test_json_goes_to_stdout_and_nothing_else_does(preflight: Run, cache: Path) -> None:
    """UTF-8 whatever the console; the fields of the contract are there."""
    done = preflight("run", "cache", "--format", "json", env={"PYTHONIOENCODING": "cp1252"})

    report = json.loads(done.stdout)
    assert list(report)[:2] == ["schema", "tool"]
    named = (
        "verdict verdict_by complete not_judged started seconds job machine checks findings more"
    )
    assert set(named.split()) <= set(report)
    (finding,) = report["findings"]
    assert finding["check"] == "cache-damaged"
    assert finding["at"] == {"file": "cache/empty.safetensors", "line": None, "name": None}
    assert finding["severity"] == "error"
    (outcome,) = [one for one in report["checks"] if one["id"] == "cache-damaged"]
    assert (outcome["outcome"], outcome["targets"], outcome["found"]) == ("found", 2, 1)
    assert set(report["not_judged"]) == {"data", "loader", "model", "script"}


def test_reports_are_written_to_files_too(preflight: Run, cache: Path) -> None:
    preflight("run", "cache", "-o", "a.json", "-o", "b.md", "-o", "json=c.txt")

    folder = cache.parent
    assert json.loads((folder / "a.json").read_text())["verdict"] == "no-go"
    assert json.loads((folder / "c.txt").read_text())["verdict"] == "no-go"
    assert "NO-GO" in (folder / "b.md").read_text(encoding="utf-8")


def test_the_last_report_is_kept_and_ignored_by_git(preflight: Run, cache: Path) -> None:
    """`preflight report` makes a bug report of it; rank 3 keeps its own."""
    preflight("run", "cache")
    preflight("run", "cache", env={"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3"})
    preflight("run", "cache", env={"RANK": "../../x"})  # no number, and no name of a file

    state = cache.parent / ".preflight"
    assert (state / ".gitignore").read_text() == "*\n"
    assert {path.name for path in state.iterdir()} - {"ledger.sqlite"} == {
        ".gitignore",
        "last.json",
        "last.rank3.json",
    }
    done = preflight("report")
    assert done.returncode == 0
    assert "cache-damaged" in done.stdout
    assert str(cache.parent) not in done.stdout
    assert json.loads(preflight("report", "--format", "json").stdout)["verdict"] == "no-go"


def test_a_state_that_cannot_be_written_changes_no_verdict(preflight: Run, cache: Path) -> None:
    (cache.parent / "state").write_text("a file is in the way")

    done = preflight("run", "cache", "--state", "state")

    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "was not kept" in done.stderr


def test_a_saved_report_is_shown_in_any_format(preflight: Run, cache: Path) -> None:
    preflight("run", "cache", "-o", "saved.json")

    assert preflight("report", "saved.json", "--format", "terminal").stdout.startswith("NO-GO")
    assert json.loads(preflight("report", "--schema").stdout)["$schema"].startswith("https://")
    assert preflight("report", "nothing.json").returncode == 2
    (cache.parent / "other.json").write_text("{}")
    assert preflight("report", "other.json").returncode == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it is empty"),
        (bytes(5000), "it holds no report, only 5,000 blank characters"),
        (b'{"schema": 1, "verdict": "g', "it is a report that breaks off after 27 characters"),
        (b'{"schema": 1, "verdict"', "it is a report that breaks off after 23 characters"),
        (b"\x89PNG", "it is no report: its bytes are no text from byte 0 on"),
        (b'{"schema": 1} {', "it is no report in JSON from line 1, column 15 on"),
        (b'["notes"]', "it is JSON, and no preflight report"),
        (b'{"schema": 2}', "it is a report of schema 2; this version of preflight reads schema 1"),
        (b'{"schema": 1}', "it is a damaged report: something in it is missing, or of"),
    ],
)
def test_a_damaged_report_is_told_with_its_file_and_what_to_do(
    preflight: Run, tmp_path: Path, content: bytes, said: str
) -> None:
    last = tmp_path / ".preflight" / "last.json"
    last.parent.mkdir()
    last.write_bytes(content)

    done = preflight("report")
    named = preflight("report", ".preflight/last.json")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip().startswith(f"Error: {last}: {said}")
    assert done.stderr.strip().endswith("; `preflight run` writes it anew")
    assert f"last.json: {said}" in named.stderr
    assert "`preflight run -o json=FILE` saves one" in named.stderr


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "ascii", "utf-8"])
def test_the_page_can_be_said_on_any_console(preflight: Run, tmp_path: Path, encoding: str) -> None:
    """Names with emoji, Chinese and bytes that are no UTF-8 are escaped, and never crash."""
    folder = tmp_path / "缓存 🐕"
    for name in ("空", "line\nbreak\x1b[31m[bold]x", "caf\udce9"):
        put(folder, f"{name}.safetensors")

    done = preflight("run", folder.name, env={"PYTHONIOENCODING": encoding})

    assert done.returncode == 1, done
    assert "\x1b" not in done.stdout
    assert "caf\\xe9.safetensors" in done.stdout
    assert "line\\nbreak\\x1b[31m[bold]x.safetensors" in done.stdout
    assert "Traceback" not in done.stderr


def test_no_color_unless_a_terminal_or_asked_for(preflight: Run, cache: Path) -> None:
    assert "\x1b[" not in preflight("run", "cache").stdout
    assert "\x1b[" in preflight("run", "cache", "--color", "always").stdout


def test_quiet_is_one_line_and_verbose_names_each_check(preflight: Run, cache: Path) -> None:
    assert len(preflight("run", "cache", "-q").stdout.strip().splitlines()) == 1
    assert "shard-damaged" in preflight("run", "cache", "-v").stdout


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("words", "code"), [("run cache", 1), ("run nothing", 2), ("--version", 0)], ids=str
)
def test_a_closed_stream_changes_no_exit_code(
    cache: Path, stream: str, words: str, code: int
) -> None:
    if os.name == "nt":
        pytest.skip("this is a POSIX shell's business")
    done = subprocess.run(
        ["/bin/sh", "-c", f'"{sys.executable}" -m preflight {words} {stream}'],
        cwd=cache.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )

    assert done.returncode == code, done


def test_a_folder_that_cannot_be_listed_is_no_go_ahead(preflight: Run, sound: Path) -> None:
    """What is in it, nobody knows."""
    if os.name == "nt" or os.geteuid() == 0:
        pytest.skip("root lists everything")
    (sound / "sub").mkdir(mode=0o000)

    assert preflight("run", "cache").returncode == 3


@pytest.mark.parametrize(
    "text",
    [
        "launch = 5\n",
        "[[launch]]\ngpus = 1\n",
        "x = " + "[" * 5000 + "]" * 5000,
        'python = "\\u0000"\n',
        "[launch]\nvram = " + '"' + "9" * 400 + 'GB"\n',
        "[look]\njobs = -3\ntimeout = -1\n",
        '[[ignore]]\ncheck = "cache"\nreason = "x"\nuntil = "garbage"\n',
        "\xff",
        '[job]\nroot = "nowhere"\n',
    ],
    ids=range(9),
)
def test_odd_settings_are_mistakes_and_no_crashes(preflight: Run, cache: Path, text: str) -> None:
    (cache.parent / "preflight.toml").write_text(text, encoding="latin-1")

    done = preflight("run", "cache", "--elsewhere")

    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 5000


@pytest.mark.parametrize(
    "text", ["tool = 5", "[tool]\npreflight = 5", "[[tool.preflight]]", "x = " + "[" * 5000]
)
def test_somebody_elses_project_file_is_left_alone(preflight: Run, sound: Path, text: str) -> None:
    """It is theirs to mend."""
    (sound.parent / "pyproject.toml").write_text(text)

    assert preflight("run", "cache").returncode == 0


def test_pipes_and_deep_files_are_no_reports(preflight: Run, cache: Path) -> None:
    """A pipe would be waited for for ever."""
    folder = cache.parent
    (folder / "deep.json").write_text("[" * 100_000)
    names = ["deep.json"]
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
        names += ["pipe", "/dev/zero"]
    for name in names:
        assert preflight("report", name).returncode == 2
        assert preflight("run", "cache", "--baseline", name).returncode == 2
        assert preflight("run", "cache", "--config", name).returncode == 2


def test_names_that_a_console_would_obey_are_escaped_in_errors_too(
    preflight: Run, tmp_path: Path
) -> None:
    name = "\x1b]0;PWN\x07\x1b[31mred"
    (tmp_path / name).touch()

    for words in (["run", name], ["run", f"{name}x"], ["run", f"cache={name}"], ["explain", name]):
        done = preflight(*words)
        assert done.returncode == 2
        assert "\x1b" not in done.stderr


def test_the_users_own_folder_is_not_hidden_from_git(preflight: Run, cache: Path) -> None:
    """Only a folder that we made ignores itself."""
    preflight("run", "cache", "--state", ".")

    assert (cache.parent / "last.json").exists()
    assert not (cache.parent / ".gitignore").exists()


# --- a hostile folder -----------------------------------------------------------------------------


@pytest.mark.fresh
@pytest.mark.parametrize("words", [["cache"], ["train:make"]], ids=["a cache", "a loader"])
def test_the_users_own_modules_harm_nothing(preflight: Run, sound: Path, words: list[str]) -> None:
    folder = sound.parent
    theirs = ["preflight", "checks", "click", "rich", "psutil"]
    if words == ["cache"]:  # beside a numbers.py, the job itself cannot import torch
        theirs.append("numbers")
    for name in theirs:
        (folder / f"{name}.py").write_text(f"raise RuntimeError('the user has a {name}.py')\n")
    (folder / "train.py").write_text(
        "from torch.utils.data import DataLoader\nmake = DataLoader([1])\n"
    )

    done = preflight("run", *words)

    assert done.returncode == 0, done


@pytest.mark.fresh
def test_a_users_own_preflight_can_be_looked_at(preflight: Run, tmp_path: Path) -> None:
    """`preflight:make` is the user's module, and not ours."""
    (tmp_path / "preflight.py").write_text(
        "from torch.utils.data import DataLoader\ndef make():\n    return DataLoader([1])\n"
    )

    assert preflight("run", "preflight:make").returncode == 0
    assert preflight("run", "preflight.py:make").returncode == 0


def test_a_job_with_chinese_names_and_captions(preflight: Run, tmp_path: Path) -> None:
    pictures = [f"数据/狗 {number}" for number in range(3)]
    put(tmp_path, *(f"{one}.jpg" for one in (*pictures, "数据/没有说明")), content=photo())
    put(tmp_path, *(f"{one}.txt" for one in pictures), content="一只狗的照片".encode())
    (tmp_path / "preflight.toml").write_text(
        '[[data]]\npath = "数据"\ncaptions = "textfile"\n', encoding="utf-8"
    )

    done = preflight("run")

    assert done.returncode == 1, done
    assert "没有说明" in done.stdout


# --- other commands -------------------------------------------------------------------------------


def test_python_m_is_the_same_command(tmp_path: Path) -> None:
    """Also beside a user's own click.py."""
    (tmp_path / "click.py").write_text("raise RuntimeError\n")

    done = subprocess.run(
        [sys.executable, "-m", "preflight", "--version"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("preflight, version ")


def test_checks_are_listed_and_explained(preflight: Run) -> None:
    listed = preflight("checks").stdout
    assert "shard-damaged" in listed
    assert json.loads(preflight("checks", "--format", "json").stdout)

    explained = preflight("explain", "shard-damaged").stdout
    assert "What it finds" in explained
    assert preflight("explain", "shard").stdout.count("What it finds") >= 2
    assert preflight("explain", "shard-damagd").returncode == 2


def test_init_writes_settings_that_run(preflight: Run, sound: Path) -> None:
    """It looks around, reads sources, imports nothing, and takes nothing out of a file."""
    folder = sound.parent
    put(folder, "a.tar", content=tarred({"0.txt": b"a dog"}))
    (folder / "train.py").write_text(
        "open('imported', 'w').close()\nfrom torch.utils.data import DataLoader\n"
        "def make_loader():\n    return DataLoader([1])\n"
        "def make_other(path):\n    return DataLoader([path])\n"
    )

    before = preflight("run").returncode
    assert preflight("init").returncode == 0
    assert not (folder / "imported").exists()
    text = (folder / "preflight.toml").read_text()
    assert '# call = "train:make_loader"' in text
    assert preflight("init").returncode == 2
    assert preflight("init", "--force").returncode == 0
    assert "# of =" in text  # nothing shows that the cache was made of this shard
    assert preflight("run").returncode == before
    assert not (folder / "imported").exists()


def test_init_writes_nothing_in_an_empty_folder(preflight: Run, tmp_path: Path) -> None:
    done = preflight("init")

    assert done.returncode == 2
    assert "there is nothing to name" in done.stderr
    assert list(tmp_path.glob("*.toml")) == []


@pytest.mark.fresh
def test_files_are_looked_at_without_torch(preflight: Run, tmp_path: Path) -> None:
    """Neither here nor in a reader: torch alone would cost more than everything else."""
    (tmp_path / "a.safetensors").write_bytes(WHOLE)
    for name in ("torch.py", "numpy.py"):
        (tmp_path / name).write_text("open('imported', 'w').close()")

    done = preflight("run", "a.safetensors", env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"})

    assert done.returncode == 0, done
    assert not (tmp_path / "imported").exists()


@pytest.mark.fresh
def test_a_crash_of_ours_is_a_report_ready_for_an_issue(preflight: Run, cache: Path) -> None:
    """Exit 3: nothing is said about the job."""
    (cache.parent / "sitecustomize.py").write_text(
        "import preflight.findings.gate\n"
        "def judge(*_, **__): raise ZeroDivisionError('planted')\n"
        "preflight.findings.gate.judge = judge\n"
    )

    done = preflight("run", "cache", env={"PYTHONPATH": f"{ROOT}{os.pathsep}{cache.parent}"})

    assert done.returncode == 3
    assert done.stdout == ""
    assert "planted" in done.stderr
    assert "bug of ours" in done.stderr


def test_shells_complete_ids_and_formats(preflight: Run) -> None:
    words = {"_PREFLIGHT_COMPLETE": "bash_complete", "COMP_CWORD": "3"}

    done = preflight(env={**words, "COMP_WORDS": "preflight run --select shard-damaged,load"})
    assert "shard-damaged,loader-unpicklable" in done.stdout

    done = preflight(env={**words, "COMP_WORDS": "preflight run --format js"})
    assert "json" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="pseudo-terminals are POSIX's")
def test_a_bar_and_the_first_error_are_shown_on_a_terminal_only(cache: Path) -> None:
    code, page, shown = on_a_terminal(cache.parent, "run", "cache")

    assert code == 1
    assert b"looks around" in shown
    assert b"first error: cache-damaged" in shown
    assert "looks around" not in page


Once = Callable[[], "subprocess.CompletedProcess[str]"]
"""Gives what a run came to that several tests look at, and runs it when the first one asks."""

STARTS_PYTHON = ("runpy", "contextlib")
"""Without the real ones, Python itself does not start."""

SHADOWING = ("typing", "dataclasses", "json", *STARTS_PYTHON)


@pytest.fixture(scope="module")
def shadowed(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Run the command where the current folder and PYTHONPATH have files of all these names."""

    @functools.cache
    def run() -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp("shadowed")
        put(folder, "cache/whole.safetensors", content=WHOLE)
        put(folder, *(f"{name}.py" for name in SHADOWING), content=b"speed = 1\n")
        led_to = [f"lib/{name}.py" for name in SHADOWING if name not in STARTS_PYTHON]
        put(folder, *led_to, content=b"speed = 1\n")
        return started(folder, "-c", START, "run", "cache", path=f"lib{os.pathsep}{ROOT}")

    return run


def started(folder: Path, *words: str, path: str) -> subprocess.CompletedProcess[str]:
    """Run a fresh Python in a folder."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("name", SHADOWING)
def test_the_command_uses_what_python_brings_along(shadowed: Once, name: str) -> None:
    """Whatever the current folder and PYTHONPATH have of that name."""
    assert shadowed().returncode == 0, (name, shadowed())


SHADOWING_M = ("typing", "dataclasses", "numbers")


@pytest.fixture(scope="module")
def shadowed_m(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Run the module where the current folder has files of all these names."""

    @functools.cache
    def run() -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp("shadowed")
        put(folder, "cache/whole.safetensors", content=WHOLE)
        put(folder, *(f"{name}.py" for name in SHADOWING_M), content=b"speed = 1\n")
        return started(folder, "-m", "preflight", "run", "cache", path=str(ROOT))

    return run


@pytest.mark.parametrize("name", SHADOWING_M)
def test_python_m_uses_it_too(shadowed_m: Once, name: str) -> None:
    """Which puts the current folder first; what runpy needs, it has imported by then."""
    assert shadowed_m().returncode == 0, (name, shadowed_m())


@pytest.mark.fresh
@pytest.mark.parametrize("raised", ["raise RuntimeError('no')", "raise SystemExit(0)"])
def test_whatever_a_file_raises_that_stands_in_for_a_package_is_told(
    preflight: Run, tmp_path: Path, raised: str
) -> None:
    """It might exit with 0, which is GO."""
    put(tmp_path / "lib", "click.py", content=raised.encode())

    done = preflight("run", env={"PYTHONPATH": f"{tmp_path / 'lib'}{os.pathsep}{ROOT}"})

    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "preflight cannot start: " in done.stderr
    assert "click.py" in done.stderr


@pytest.mark.fresh
@pytest.mark.parametrize("name", ["click.py", "click/__init__.py"])
def test_a_file_that_stands_in_for_a_package_of_ours_is_no_no_go(
    preflight: Run, tmp_path: Path, name: str
) -> None:
    """Python itself exits with 1, which says that the job was looked at and must not start."""
    put(tmp_path / "lib", name, content=b"speed = 1\n")

    done = preflight("run", env={"PYTHONPATH": f"{tmp_path / 'lib'}{os.pathsep}{ROOT}"})

    assert done.returncode == 2
    assert done.stdout == ""
    assert "preflight cannot start: " in done.stderr
    assert name.partition("/")[0] in done.stderr
    assert "Traceback" not in done.stderr
