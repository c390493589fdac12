"""The terminal page: what a tired person reads first, whole, and on any console."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len

from preflight.findings.finding import Aside, Finding, Location, Severity
from preflight.findings.report import Broken, Named, Report, Setting, Skip
from preflight.render import terminal
from preflight.render.verdict import files_by_suffix
from tests.conftest import said_by
from tests.render.jobs import REPORTS, demo, healthy, unjudged, warned
from tests.render.sample import HOSTILE, accept, everything, finding, outcome

ANSI = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


@pytest.mark.parametrize("name", list(REPORTS))
@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("color", [False, True], ids=["plain", "colour"])
def test_the_page_is_as_it_was(
    name: str, width: int, *, color: bool, snapshot: Callable[[str, str], None]
) -> None:
    """A change of the page is seen in review, in the very words that a user will read."""
    ending = "ansi" if color else "txt"
    page = terminal.render(REPORTS[name](), width=width, color=color)

    snapshot(f"{name}-{width}.{ending}", page)


def test_the_page_with_everything_is_as_it_was(
    sample: Report, snapshot: Callable[[str, str], None]
) -> None:
    snapshot("everything-verbose.txt", terminal.render(sample, verbose=1))


@pytest.mark.parametrize("verbose", [0, 1])
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_no_line_is_wider_than_the_page(report: Report, width: int, verbose: int) -> None:
    """Only what cannot be broken may be wider: one path, or one command to copy."""
    for line in terminal.render(report, width=width, verbose=verbose).splitlines():
        assert cell_len(line) <= width or is_one_piece(line), line


def is_one_piece(line: str) -> bool:
    """Whether a line holds, behind its label, a single path or command."""
    text = re.sub(r"^ *(?:(?:fix|or|why|also|Next|Whole list) +)?", "", line)
    return " " not in text or text.startswith(("preflight ", "copy.deepcopy("))


def test_at_two_hundred_columns_lines_stay_readable(report: Report) -> None:
    widest = max(cell_len(line) for line in terminal.render(report, width=200).splitlines())

    assert widest <= 100


def test_the_verdict_is_the_first_line_and_the_last(report: Report) -> None:
    """A long page scrolls the first line away, and a short look sees nothing but the last."""
    lines = terminal.render(report).splitlines()
    verdict = {"go": "GO", "no-go": "NO-GO", "cannot-judge": "CANNOT JUDGE"}[report.verdict]

    for line in (lines[0], lines[-1]):
        assert re.match(rf"{verdict}(?: \(incomplete\))?  \S", line)


@pytest.mark.parametrize("encoding", ["cp1252", "cp932", "cp850", "ascii", "no-such-encoding"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_every_console_can_say_the_page(report: Report, encoding: str, verbose: int) -> None:
    """A page that ends in UnicodeEncodeError tells nothing of the job."""
    page = terminal.render(report, encoding=encoding, verbose=verbose, color=True)

    page.encode("ascii" if encoding == "no-such-encoding" else encoding)


def test_a_console_without_the_mark_gets_two_dots() -> None:
    assert "…" in terminal.render(demo(), encoding="cp1252")
    assert "…" not in terminal.render(demo(), encoding="cp850")
    assert "is read; the.." in terminal.render(demo(), encoding="cp850")


def test_a_page_goes_through_a_pipe_that_is_not_utf_8() -> None:
    """As a redirected session on Windows has it."""
    program = (
        "import sys; from tests.render.sample import everything;"
        "from preflight.render.terminal import render;"
        "sys.stdout.write(render(everything(), encoding=sys.stdout.encoding, verbose=1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONIOENCODING": "cp1252", "PATH": "", "SYSTEMROOT": "C:\\Windows"},
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert b"\\u732b" in done.stdout


def test_nothing_in_a_name_is_obeyed(sample: Report) -> None:
    """Neither escape sequences, nor new lines, nor direction marks, nor rich's markup."""
    page = terminal.render(sample, verbose=1)

    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\u2028" not in page
    assert "[bold]markup[/] :smile:.jpg" in page
    assert "caf\\xe9.jpg" in page
    assert not [line for line in page.splitlines() if line.startswith("GO")]


def test_colour_says_nothing_that_the_words_do_not(report: Report) -> None:
    """Neither do links: without both, the page is the same."""
    page = terminal.render(report, verbose=1)
    colored = terminal.render(report, verbose=1, color=True, links=True)

    assert ANSI.sub("", colored) == page
    assert colored != page


def test_the_verdict_is_set_in_reverse() -> None:
    assert terminal.render(healthy(), color=True).startswith("\x1b[1;7;32mGO\x1b[0m")
    assert terminal.render(demo(), color=True).startswith("\x1b[1;7;31mNO-GO\x1b[0m")
    assert terminal.render(unjudged(), color=True).startswith("\x1b[1;7;33mCANNOT JUDGE\x1b[0m")


def test_places_lead_to_their_files() -> None:
    page = terminal.render(demo(), links=True)

    assert "\x1b]8;;file:///home/ada/demo/train.py\x1b\\train.py:12\x1b]8;;\x1b\\" in page


def test_a_hostile_file_name_does_not_end_its_link_early() -> None:
    bad = finding("shard-damaged", "is cut", file="\x1b\\evil \udce9.tar")
    page = terminal.render(with_findings(bad), links=True)

    assert "file:///data/subject/%1B%5Cevil%20%E9.tar\x1b\\" in page


def test_drawing_twice_gives_the_same(report: Report) -> None:
    def drawn() -> str:
        return terminal.render(report, color=True, links=True, verbose=2)

    assert drawn() == drawn()


def test_quiet_is_the_first_line_and_nothing_else(report: Report) -> None:
    assert terminal.render(report, quiet=True).count("\n") == 1
    assert (
        terminal.render(healthy(), quiet=True) == terminal.render(healthy()).split("\n")[0] + "\n"
    )


def test_a_report_as_text_is_the_plain_page() -> None:
    assert str(demo()) + "\n" == terminal.render(demo())


def test_a_healthy_job_is_a_quiet_page() -> None:
    assert len(terminal.render(healthy()).splitlines()) <= 12


def test_groups_are_told_in_the_order_in_which_the_job_would_meet_them() -> None:
    """Mending from 1 downwards never uncovers an earlier one, however the findings came."""
    shuffled = replace(demo(), findings=tuple(reversed(demo().findings)))
    words = re.findall(r"^  \d  (\w+)", terminal.render(shuffled), re.MULTILINE)

    assert words == ["env", "gpu", "shard", "sample", "image", "cache", "loader", "model"]


def test_what_gates_comes_first_then_warnings_then_notes(sample: Report) -> None:
    page = terminal.render(sample)
    places = [page.index(text) for text in ("4  acme/step-time", "5  caption-long", "6  loader")]

    assert places == sorted(places)


def test_at_most_five_places_of_a_group_are_told_and_the_rest_is_counted(sample: Report) -> None:
    page = terminal.render(sample)

    assert page.count("jpg: stops before its end marker") == 1
    assert page.count("jpg: the same") == 4
    assert "and 817 more, 5 of them in .preflight/last.json" in page


def test_the_places_that_are_told_stand_for_all_sorts() -> None:
    """What differs only in its numbers and names is of one sort; the places keep their order."""
    said = [*[f"is {number:,} zero bytes" for number in range(9000, 9009)], "is an HTML page"]
    found = tuple(
        finding("cache-damaged", message, file=f"cache/{number}.npy")
        for number, message in enumerate(said)
    )
    checks = (outcome("cache-damaged", "damaged", found=1),)

    page = terminal.render(replace(demo(), findings=found, checks=checks))

    told = re.findall(r"cache/(\d)\.npy", page.partition("cache-damaged ")[2])
    assert told == ["0", "1", "2", "3", "9"]


@pytest.mark.parametrize(
    ("many", "said"),
    [
        ("cached files are not what was written", "2 of 3 cached files are not what was written"),
        ("places where captions do not pair", "2 places where captions do not pair"),
    ],
)
def test_a_share_is_told_of_what_was_looked_at_only(many: str, said: str) -> None:
    found = tuple(finding("cache-damaged", "is odd", file=f"cache/{n}.pt") for n in range(2))
    check = outcome("cache-damaged", "damaged", found=2, targets=3, many=many)

    page = terminal.render(replace(demo(), findings=found, checks=(check,)))

    assert f"cache   {said} " in page


def test_a_share_is_told_of_what_lies_in_the_targets_where_each_may_be_found() -> None:
    found = tuple(
        finding("image-damaged", "is odd", file="a.tar", name=f"member {n}.jpg") for n in range(2)
    )
    check = outcome("image-damaged", "damaged", found=2, targets=3, many="images are odd")

    alone, among = (
        terminal.render(replace(demo(), findings=found, checks=(one,)))
        for one in (check, replace(check, among=9))
    )

    assert "image   2 images are odd " in alone
    assert "image   2 of 9 images are odd " in among


def test_where_few_checks_were_asked_for_and_none_looked_it_is_said_why() -> None:
    """Of all checks most have nothing to look at; then it is left to -v."""
    skip = Skip(reason="no cache whose data sets are named (of) was looked at", count=0)
    one = outcome("cache-incomplete", "x", skipped=(skip,))

    few = terminal.render(replace(unjudged(), checks=(one,)))
    many = terminal.render(replace(unjudged(), checks=(one,) * 9))

    assert "cache-incomplete: no cache whose data sets are named (of)" in few
    assert "no cache whose data sets" not in many


def test_verbose_tells_all_places(sample: Report) -> None:
    page = re.sub(r"\s+", " ", terminal.render(sample, verbose=1))

    assert page.count(": stops before its end marker") == 1
    assert page.count(": the same") == len(HOSTILE) - 1
    assert "and 812 more, which were only counted" in page


def test_at_most_eight_groups_are_told_in_full() -> None:
    found = [
        finding(f"image-{letter}", "is odd", file="a.jpg", fix="Mend it.")
        for letter in "abcdefghijk"
    ]
    page = terminal.render(with_findings(*found))

    assert page.count("fix  Mend it.") == 8
    assert "9 to 11: as listed above; -v tells them in full." in page
    assert terminal.render(with_findings(*found), verbose=1).count("fix  Mend it.") == 11


def test_what_was_accepted_is_one_line_and_no_group() -> None:
    """Somebody said so, and the page says that somebody did."""
    old = finding("shard-damaged", "is cut", file="old.tar")
    page = terminal.render(healthy(findings=(old,), accepted=(accept(old, "in March"),)))

    assert "Accepted     1 finding: in March" in page
    assert "old.tar" not in page


def test_a_page_without_go_tells_what_could_not_be_looked_at(sample: Report) -> None:
    """NO-GO does not hide that more may be wrong; one place is told once, whoever asked."""
    page = terminal.render(sample)

    assert "Not looked at, so more may be wrong than is listed:" in page
    assert page.count("permission denied (EACCES)") == 1
    assert "fix  Let this user read it: chmod u+r" in page


def test_cannot_judge_says_that_it_is_no_go() -> None:
    page = terminal.render(unjudged())

    assert "It is no GO: 118,431 latents were not looked at" in page
    assert page.count("access denied (403)") == 1


def test_a_warning_that_gates_says_which_option_made_it() -> None:
    strict = replace(warned(), verdict="no-go", fail_on="warning")

    assert "2 things found, and --fail-on warning stops at them." in terminal.render(strict)


def test_errors_that_are_let_pass_are_still_told() -> None:
    report = replace(demo(), verdict="go", fail_on="never")
    page = terminal.render(report)

    assert page.startswith("GO  with 17 errors, which --fail-on never lets pass.")
    assert "1  env-launch" in page


def test_machine_trouble_is_told_from_the_jobs() -> None:
    bad = finding("gpu-memory", "has 3.1 GB free of 80 GB", name="GPU 3")
    report = with_findings(bad, verdict_by={"job": "go", "machine": "no-go"})

    assert terminal.render(report).startswith("NO-GO  here: 1 thing about this machine")


def test_a_message_is_cut_behind_a_word_and_told_in_full_below() -> None:
    page = terminal.render(demo())

    assert 'int(os.environ["SLURM_LOCALID"]) is read; the…  ' in page
    assert '   int(os.environ["SLURM_LOCALID"]) is read; the variable is not set\n' in page


def test_the_list_says_what_is_wrong_and_not_only_in_which_tensor() -> None:
    name = "['base_model.model.layers.0.self_attn.q_proj.lora_A.weight']"
    bad = replace(
        finding("cache-content", "holds 3 NaN"), at=Location(file="out/adapter.pt", name=name)
    )
    page = terminal.render(with_findings(bad))

    assert re.search(r"^  1  cache   holds 3 NaN +out/adapter.pt$", page, re.MULTILINE)
    assert f"   {name}: holds 3" in page


def test_where_to_begin_is_a_place_also_where_places_have_nothing_in_common() -> None:
    both = (finding("cache-damaged", "is empty", file=name) for name in ("b/x.pt", "a/y.pt"))
    page = terminal.render(with_findings(*both))

    assert "2 places\n" in page
    assert page.endswith("Begin with 1: b/x.pt.\n")


def test_a_command_is_never_broken() -> None:
    """What is to be copied is one piece, also where it is wider than the page."""
    command = "preflight run " + " ".join(f"data/part-{number:03}" for number in range(20))
    bad = finding("env-launch", "is unset", file="a.py", fix=f"Look again:\n{command}")
    page = terminal.render(replace(with_findings(bad), command=command))

    assert sum(line.endswith(command) for line in page.splitlines()) == 2


def test_a_long_path_is_never_broken() -> None:
    path = "/".join(["a-rather-long-folder"] * 8) + "/shard.tar"
    page = terminal.render(with_findings(finding("shard-damaged", "is cut", file=path)))

    assert f"   {path}\n" in page
    assert "…/a-rather-long-folder/shard.tar\n" in page


def test_places_in_wide_characters_stand_at_the_right_edge() -> None:
    bad = finding("image-damaged", "\u58ca\u308c\u3066\u3044\u308b", file="\u732b/\u5199\u771f.jpg")
    line = next(
        line for line in terminal.render(with_findings(bad)).splitlines() if line.startswith("  1")
    )

    assert cell_len(line) == 80


def test_a_name_of_a_megabyte_does_not_fill_the_page() -> None:
    """Nor one of zero-width characters, which measures nothing and costs much."""
    for letter in ("x", "\u0301", "\u732b"):
        bad = finding("image-damaged", "is cut", file="a.tar", name=f"member {letter * 1_000_000}")

        assert len(terminal.render(with_findings(bad), verbose=1)) < 10_000


def test_the_middle_of_an_endless_word_is_left_out() -> None:
    bad = finding("image-damaged", "is cut", file="a.tar", name=f"member {'x' * 1_500}.jpg")
    page = terminal.render(with_findings(bad))

    assert max(map(len, page.splitlines())) < 600
    assert "x.jpg:\n   is cut" in page


def test_no_line_ends_in_spaces(report: Report) -> None:
    """They would be copied along, and wrap on consoles of just this width."""
    for line in terminal.render(report, verbose=1).splitlines():
        assert line == line.rstrip()


def test_an_empty_message_leaves_no_spaces() -> None:
    silent = (finding("env-a", "", file="a.py"), finding("env-a", "", file="b.py", line=3))

    assert " \n" not in terminal.render(with_findings(*silent))


def test_what_gates_keeps_the_order_of_the_job_whatever_its_severity() -> None:
    late = finding("cache-damaged", "is empty", file="a.pt")
    early = finding("env-launch", "is unset", file="a.py", severity=Severity.WARNING)
    page = terminal.render(with_findings(late, early, fail_on="warning"))

    assert page.index("1  env-launch") < page.index("2  cache-damaged")


def test_an_empty_report_is_a_page() -> None:
    page = terminal.render(healthy(checks=(), targets=(), job={}, not_judged=(), last=None))

    assert page.startswith("GO  Nothing found that would stop this job.\n")


def test_a_place_without_file_or_name_is_the_job_itself() -> None:
    page = terminal.render(with_findings(finding("env-launch", "has no launcher")))

    assert "this job" in page


def test_the_package_of_formats_is_light() -> None:
    """Rich is imported when a page is drawn."""
    program = "import preflight.render, preflight.render.terminal; print('rich' in sys.modules)"

    assert said_by(program) == "False"


def with_findings(*found: object, **changes: object) -> Report:
    checks = tuple(outcome(one.check, "thing that is odd", found=1) for one in found)
    job = {"root": Setting(value="/data/subject", origin="default")}
    values = {"verdict": "no-go", "findings": tuple(found), "checks": checks, "job": job}
    return healthy(**(values | {"verdict_by": {"job": "no-go", "machine": "go"}} | changes))


def test_severities_of_one_check_are_numbered_apart() -> None:
    """What gates and what does not are two things to decide on."""
    hard = finding("image-damaged", "is empty", file="a.jpg")
    mild = finding("image-damaged", "has odd bytes", file="b.jpg", severity=Severity.WARNING)
    more = {"image-damaged": {"c.jpg": 5}}
    page = terminal.render(with_findings(mild, hard, more=more))

    assert page.count("and 5 more, which were only counted") == 1
    assert page.index("1  image-damaged") < page.index("Warnings:") < page.index("2  image-damaged")


def test_everything_survives_the_way_through_json(sample: Report) -> None:
    assert terminal.render(Report.from_json(sample.to_json())) == terminal.render(everything())


def test_a_word_that_is_two_things_is_said_once() -> None:
    """A folder of images may be a cache, too; and some of a range may not be there."""
    targets = (
        Named(word="photos", kind="data", text="60 images, 58 captions"),
        Named(word="photos", kind="cache", text="2 files"),
        Named(word="data/{0..3}.tar", kind="data", text="3 shards"),
        Named(word="data/{0..3}.tar", kind="missing", text="1 shard not there"),
    )
    page = terminal.render(with_findings(finding("a", "is odd"), targets=targets), width=100)

    said = "photos (60 images, 58 captions; as cache: 2 files), data/{0..3}.tar (3 shards; 1 shard"
    assert f"{said} not there)." in " ".join(page.split())


def test_a_check_that_found_something_and_broke_counts_for_both() -> None:
    broken = Broken(at=Location(file="b.jpg"), error="is a link that leads nowhere")
    checks = (
        outcome("image-damaged", "odd image", found=1, broken=(broken,)),
        outcome("cache-damaged", "odd cache"),
    )
    page = terminal.render(with_findings(finding("image-damaged", "is empty"), checks=checks))

    said = "2 checks: 1 found something, 1 could not look everywhere, 1 passed."
    assert said in " ".join(page.split())


def test_a_check_that_had_nothing_to_look_at_says_so_without_numbers() -> None:
    none = Skip(reason="no model was looked at", count=0)
    checks = (outcome("a", "b", targets=0, skipped=(none,)),)
    page = terminal.render(healthy(checks=checks), verbose=1)

    assert "  a  skipped  no model was looked at\n" in page


def test_verbose_says_why_a_check_was_skipped_once(report: Report) -> None:
    """The list of checks says it of the first; the foot does not say it again."""
    page = terminal.render(report, verbose=1)

    skips = {one.reason for check in report.checks for one in check.skipped}
    flat = " ".join(page.split())
    assert all(flat.count(reason) == 1 for reason in skips)
    assert "-v here" not in page
    assert "\nSkipped " not in page


def test_what_kept_several_checks_from_looking_is_said_of_the_first() -> None:
    none, dead = Skip(reason="no model was looked at", count=0), Skip(reason="it died", count=1)
    checks = (
        outcome("model-a", "a", targets=0, skipped=(none,)),
        outcome("model-b", "b", targets=0, skipped=(none,)),
        outcome("x-a", "a", skipped=(dead,)),
        replace(outcome("x-b", "b", targets=2), looked_at=1, skipped=(dead,)),
    )
    page = terminal.render(healthy(checks=checks), verbose=1)

    assert "  model-a  skipped  no model was looked at\n" in page
    assert "  model-b  skipped  as model-a\n" in page
    assert "  x-a      skipped  0 of 1 looked at, 1 skipped: it died\n" in page
    assert "  x-b      passed   1 of 2 looked at, 1 skipped as x-a\n" in page


def test_verbose_says_once_which_checks_could_not_look() -> None:
    """Beside each place; neither as a reason of the verdict, nor again for the next place."""
    both = tuple(Broken(at=Location(name=one), error=f"{one} died") for one in ("a", "b"))
    checks = (outcome("model-a", "a", broken=both), outcome("model-b", "b", broken=both))
    reasons = ("model-a and model-b could not look at 2 targets.", "It was cut short.")
    report = replace(unjudged(), checks=checks, reasons=reasons)
    few, many = (terminal.render(report, verbose=verbose) for verbose in (0, 1))

    assert "model-a and model-b could not look at 2 targets." in few
    assert "could not look at 2 targets" not in many
    assert many.count("for  model-a, model-b\n") == many.count("for  the same\n") == 1
    assert "It was cut short." in many


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_skip_that_keeps_it_from_a_go_is_not_said_again(verbose: int) -> None:
    reason = 'no rule fits; say  key = "stem"'
    skip = Skip(reason=reason, count=1)
    one = outcome("cache-incomplete", "x", skipped=(skip,))
    reasons = (f"cache-incomplete: what the settings ask for was not compared: {reason}.",)
    page = terminal.render(replace(unjudged(), checks=(one,), reasons=reasons), verbose=verbose)

    assert " ".join(page.split()).count("no rule fits") == 1
    assert ("skipped, as said above" in " ".join(page.split())) is (verbose == 1)


def test_on_a_narrow_page_the_list_of_checks_has_no_narrow_column(report: Report) -> None:
    """What became of a check stands below its id where there is no room beside it."""
    page = terminal.render(report, width=40, verbose=1)

    listed = page.partition("Checks:\n")[2].partition("\nNot judged")[0]
    assert all(len(line) - len(line.lstrip()) <= 15 for line in listed.splitlines())


def test_on_a_narrow_page_a_command_that_fits_is_not_wider_than_it() -> None:
    page = terminal.render(demo(), width=40)

    commands = page.partition("\nNext\n")[2].splitlines()
    assert any(line.startswith("  preflight explain ") for line in commands)
    assert all(cell_len(line) <= 40 for line in commands)
    assert "\nNext         preflight explain " in terminal.render(demo(), width=80)


QUARANTINE = re.compile("preflight quarantine +moves (.+) aside$", re.MULTILINE)


def test_near_its_end_a_page_says_how_damaged_files_are_moved_aside() -> None:
    """Each once, whatever was found of it; and of a GO with warnings, too."""
    report = demo()
    twice = replace(report, findings=(*report.findings, *report.findings))
    mild = replace(warned(), last=".preflight/last.json", findings=_with_aside(warned(), None))

    assert QUARANTINE.findall(terminal.render(report)) == ["3 damaged files"]
    assert QUARANTINE.findall(terminal.render(twice)) == ["3 damaged files"]
    assert QUARANTINE.findall(terminal.render(mild)) == ["1 damaged file"]


def test_where_nothing_can_be_moved_no_page_says_so() -> None:
    """Files that only belong with others, and reports that nobody has kept."""
    stay = replace(demo(), findings=_with_aside(demo(), "pack the shard again"))

    assert not QUARANTINE.search(terminal.render(stay))
    assert not QUARANTINE.search(terminal.render(replace(demo(), last=None)))


def _with_aside(report: Report, stays: str | None) -> tuple[Finding, ...]:
    aside = (Aside(file="a.pt", stays=stays),)
    return tuple(replace(one, aside=aside) for one in report.findings)


def test_files_without_a_suffix_are_counted_in_words() -> None:
    counts = {".gz": 313, "": 161, ".pem": 44, ".x": 2, ".y": 1}

    assert files_by_suffix([counts]) == "313 .gz, 161 suffixless, 44 .pem and 3 other files"


@pytest.mark.parametrize(
    ("counts", "noun"),
    [
        ({".cr2": 1, ".dng": 1, ".exr": 1, ".x": 1}, "file"),
        ({".cr2": 1, ".dng": 1, ".exr": 1, ".x": 1, ".y": 1}, "files"),
        ({".gz": 12, ".pem": 1}, "file"),
        ({".gz": 12}, "files"),
    ],
)
def test_the_noun_of_files_that_no_reader_reads_is_as_the_last_number(
    counts: dict[str, int], noun: str
) -> None:
    assert files_by_suffix([counts]).split()[-1] == noun
