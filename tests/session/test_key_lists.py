"""A cache is held against all of its samples, or against none: what was left out is said."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

import preflight
from preflight.findings.report import Outcome, Report
from tests.archives import tarred
from tests.files import WHOLE, put

pytestmark = pytest.mark.usefixtures("at_hand")

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b5500"
    "00000a49444154789c636800000082008177cd72b60000000049454e44ae426082"
)
PARTS = ((".png", PNG), (".txt", b"a dog"))


def cache(folder: Path, stems: list[str]) -> None:
    put(folder, *(f"{stem}.safetensors" for stem in stems), content=WHOLE)


def settings(folder: Path, data: str, *, key: str = "stem", more: str = "") -> None:
    text = f'[[data]]\nname = "d"\n{data}\n{more}\n[[cache]]\npath = "cache"\nof = ["d"]\n'
    (folder / "preflight.toml").write_text(f'{text}key = "{key}"\n', encoding="utf-8")


def asked(report: Report) -> Outcome:
    (outcome,) = [one for one in report.checks if one.id == "cache-incomplete"]
    return outcome


def incomplete(report: Report) -> list[str]:
    return [one.message for one in report.findings if one.check == "cache-incomplete"]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Four shards, of which the cache has all samples."""
    stems = [f"{shard:03}-{number:05}" for shard in range(4) for number in range(3)]
    for shard in range(4):
        own = stems[3 * shard : 3 * shard + 3]
        members = [(f"{stem}{end}", what) for stem in own for end, what in PARTS]
        put(tmp_path, f"data/{shard:03}.tar", content=tarred(members))
    cache(tmp_path / "cache", stems)
    settings(tmp_path, 'shards = "data/{000..003}.tar"')
    return tmp_path


def test_all_shards_are_held_against_their_cache(job: Path) -> None:
    report = preflight.run(folder=str(job))

    assert (report.verdict, asked(report).outcome) == ("go", "passed")


ONE = '[[data]]\npath = "photos"\ncaptions = "none"\n'
ANOTHER = '[[data]]\npath = "others"\ncaptions = "none"\n'


@pytest.mark.parametrize(
    ("data", "key", "is_compared"),
    [
        (ONE, 'key = "stem"', True),
        (ONE, "", False),
        (ONE + ANOTHER, 'key = "stem"', False),
        (ONE + ANOTHER, 'key = "stem"\nof = ["photos"]', True),
    ],
    ids=["one and a key", "one and no key", "two and a key", "two and a name"],
)
def test_a_key_alone_means_the_only_data_set(
    tmp_path: Path, data: str, key: str, *, is_compared: bool
) -> None:
    """Where there are several, or nobody speaks of samples, the page says what is missing."""
    for name in ("photos", "others"):
        put(tmp_path / name, *(f"{number}.png" for number in range(4)), content=PNG)
    cache(tmp_path / "cache", ["0", "1", "2"])
    text = f'{data}[[cache]]\npath = "cache"\n{key}\n'
    (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path))

    said = incomplete(report)
    assert said == (["lacks the entries of 1 of 4 samples: photos/3.png"] if is_compared else [])
    assert ("cache against data" in report.not_judged) == (not is_compared)


def test_checkpoints_are_not_made_of_the_only_data_set(tmp_path: Path) -> None:
    """Whatever is said of a key beside them."""
    put(tmp_path, "photos/3.png", content=PNG)
    cache(tmp_path / "cache", ["0", "1"])
    text = f'{ONE}[[cache]]\npath = "cache"\nkey = "stem"\ncheckpoints = true\n'
    (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path))

    assert not incomplete(report)


@pytest.mark.parametrize("in_settings", [True, False])
def test_of_sampled_shards_no_entry_is_said_to_lead_nowhere(
    job: Path, *, in_settings: bool
) -> None:
    """What the other shards hold, nobody has looked at."""
    if in_settings:
        settings(job, 'shards = "data/{000..003}.tar"', more='sample = "2"')
    report = preflight.run(folder=str(job), sample=None if in_settings else "2")

    assert (report.verdict, asked(report).outcome) == ("go", "skipped")
    assert not report.findings
    said = "1 cache key list was not looked at: outside the sample (--sample 2)."
    assert said in report.reasons


def test_names_in_a_folder_are_compared_whole_beside_a_sample(tmp_path: Path) -> None:
    """A sample is of what has to be opened."""
    put(tmp_path / "photos", *(f"{number}.png" for number in range(20)), content=PNG)
    cache(tmp_path / "cache", [str(number) for number in range(19)])
    settings(tmp_path, 'path = "photos"\ncaptions = "none"')

    report = preflight.run(folder=str(tmp_path), sample="2")

    assert incomplete(report) == ["lacks the entries of 1 of 20 samples: photos/19.png"]


def test_a_budget_that_is_used_up_leaves_keys_out(job: Path) -> None:
    """A function of the user's that takes long is ended, too."""
    source = "import time\n\ndef key(path):\n    time.sleep(200)\n    return path\n"
    (job / "slow.py").write_text(source, encoding="utf-8")
    settings(job, 'shards = "data/{000..003}.tar"', key="slow:key")
    begun = time.monotonic()

    report = preflight.run(folder=str(job), budget=1.0)

    assert time.monotonic() - begun < 60
    assert asked(report).outcome == "skipped"
    assert "1 cache key list was not looked at: the budget of 1 s was used up." in report.reasons
    assert not incomplete(report)


def test_no_budget_at_all_leaves_keys_out_beside_the_shards(job: Path) -> None:
    """A list that was not made is no list without entries."""
    report = preflight.run(folder=str(job), budget=1e-6, jobs=1)

    assert report.verdict != "no-go"
    assert asked(report).outcome == "skipped"
    assert not incomplete(report)


def test_a_cache_that_nobody_looks_at_is_not_said_to_lack_a_comparison(tmp_path: Path) -> None:
    """Where only shards are judged, that is said of the cache as a whole."""
    cache(tmp_path / "cache", ["a"])
    put(tmp_path, "a.tar", content=tarred({"dog.txt": b""}))
    look = partial(preflight.run, "a.tar", "cache", folder=str(tmp_path), elsewhere=True)

    assert look().not_judged == ("loader", "model", "script", "cache against data")
    assert look(select=["shard"]).not_judged == ("cache", "loader", "model", "script")


# --- an empty one, and one that nothing fits


def photos(folder: Path) -> None:
    put(folder / "photos", *(f"{one}.png" for one in range(4)), content=PNG)


def empty(folder: Path) -> None:
    (folder / "cache" / "vae").mkdir(parents=True)
    put(folder / "cache", ".gitkeep")


def test_a_cache_that_is_still_empty_is_a_note_on_the_command_line_too(tmp_path: Path) -> None:
    photos(tmp_path)
    empty(tmp_path)

    for words in (
        ["photos", "cache=cache"],
        ["photos", "cache=cache/vae"],
        ["photos", "cache/vae"],
    ):
        report = preflight.run(*words, folder=str(tmp_path), elsewhere=True)

        assert report.verdict == "go"
        assert incomplete(report) == ["is empty: all entries are still to be made"]


def test_an_empty_cache_of_the_settings_is_the_same_note(tmp_path: Path) -> None:
    photos(tmp_path)
    empty(tmp_path)
    text = '[[data]]\npath = "photos"\n[[cache]]\npath = "cache"\n'
    (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    assert (report.verdict, incomplete(report)) == (
        "go",
        ["is empty: all entries are still to be made"],
    )


def test_an_empty_cache_alone_is_no_go(tmp_path: Path) -> None:
    empty(tmp_path)

    report = preflight.run("cache=cache", folder=str(tmp_path), elsewhere=True)

    assert report.verdict == "cannot-judge"
    assert report.reasons == ("Nothing of this job was looked at.",)


def test_a_folder_of_something_else_is_no_empty_cache(tmp_path: Path) -> None:
    photos(tmp_path)

    with pytest.raises(ValueError, match="cache=photos holds no cached file"):
        preflight.run("cache=photos", folder=str(tmp_path), elsewhere=True)


def test_an_empty_folder_that_nobody_calls_a_cache_is_told_how_to_say_so(tmp_path: Path) -> None:
    (tmp_path / "out" / "vae").mkdir(parents=True)

    with pytest.raises(ValueError, match="; cache=out/vae says that it is still to be filled"):
        preflight.run("out/vae", folder=str(tmp_path), elsewhere=True)


def test_an_empty_folder_that_the_settings_call_a_cache_is_one_as_a_word(tmp_path: Path) -> None:
    photos(tmp_path)
    (tmp_path / "out" / "vae").mkdir(parents=True)
    settings = '[[data]]\nname = "d"\npath = "photos"\n[[cache]]\npath = "out/vae"\nof = ["d"]\n'
    (tmp_path / "preflight.toml").write_text(settings, encoding="utf-8")

    for words in ([], ["photos", "out/vae"], ["photos", "./out/vae/"]):
        report = preflight.run(*words, folder=str(tmp_path), elsewhere=True)

        assert report.verdict == "go"
        (told,) = incomplete(report)
        assert told.startswith("is empty: ")


def test_a_comparison_that_was_asked_for_and_that_no_rule_allows_is_no_go(tmp_path: Path) -> None:
    photos(tmp_path)
    cache(tmp_path / "cache", ["0", "x", "y", "z"])
    text = '[[data]]\nname = "d"\npath = "photos"\ncaptions = "none"\n'
    text += '[[cache]]\npath = "cache"\nof = ["d"]\n'
    (tmp_path / "preflight.toml").write_text(text, encoding="utf-8")

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    (reason,) = report.reasons
    assert report.verdict == "cannot-judge"
    assert "not compared: cache: no rule leads from most samples to an entry; tried" in reason
    assert "tried stem (1 of 4), name, " in reason
    assert reason in str(report).replace("\n", " ")


@pytest.mark.parametrize("spelled", ["./photos", "photos//"])
def test_a_cache_below_the_path_once_more_is_no_go(tmp_path: Path, spelled: str) -> None:
    photos(tmp_path)
    cache(tmp_path / "cache" / "home" / "me" / "photos", [str(one) for one in range(4)])
    settings(tmp_path, f'path = "{spelled}"\ncaptions = "none"')

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    (message,) = incomplete(report)
    assert report.verdict == "no-go"
    below = "all 4 samples below home/me/photos, which is the path of their data set once more"
    assert f"{below}: preflight.toml says {spelled}, " in message


@pytest.mark.parametrize(("key", "notes"), [("stem", 1), ("by-model/{stem}.safetensors", 0)])
def test_entries_in_a_folder_that_the_rule_does_not_name_are_worth_knowing(
    tmp_path: Path, key: str, notes: int
) -> None:
    photos(tmp_path)
    cache(tmp_path / "cache" / "by-model", [str(one) for one in range(4)])
    settings(tmp_path, 'path = "photos"\ncaptions = "none"', key=key)

    report = preflight.run(folder=str(tmp_path), elsewhere=True)

    assert (report.verdict, len(incomplete(report))) == ("go", notes)
