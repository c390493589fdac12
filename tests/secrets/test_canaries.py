"""No secret comes out, wherever it stood and whatever is made of the report."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import preflight
from preflight.command.output import crash_report
from preflight.findings.finding import Finding
from preflight.session.progress import Progress
from tests.archives import tarred
from tests.conftest import Run
from tests.files import write

# Put together here, so that no scanner of repositories takes them for lost ones.
CANARIES = {
    "variable": "wandbCanary0" + "1f9c27ab",
    "odd variable": "p@ss w'ord\\Canary\"2" + "&x",
    "late variable": "lateCanary3" + "77aa01",
    "address of a variable": "urlCanary4" + "55bb02",
    "keyword": "keywordCanary5" + "66cc03",
    "nested keyword": "nestedCanary6" + "77dd04",
    "address": "addressCanary7" + "88ee05",
    "signature": "sigCanary8" + "99ff06",
    "header": "headerCanary9" + "00aa07",
    "shape": "hf_" + "shapeCanary10ABCDEFGHIJKLMNOPQRST",
    "literal": "literalCanary11" + "11bb08",
    "function of keys": "functionCanary12" + "22cc09",
}

TRAIN = f"""
import os
from torch.utils.data import DataLoader

def by_value(api_key, auth, **others):
    os.environ["LATE_TOKEN"] = {CANARIES["late variable"]!r}
    said = [os.environ["WANDB_API_KEY"], os.environ["DB_PASSWORD"], os.environ["LATE_TOKEN"]]
    raise RuntimeError(f"401: {{said}} {{' '.join(said)}} {{api_key}} {{auth['pw']}} token=77")

def by_address():
    url = os.environ["DATABASE_URL"]
    raise ConnectionError(f"cannot reach {{url}}, nor {{url.split(':')[2].split('@')[0]}}")

def by_shape():
    raise RuntimeError("no access with " + {CANARIES["shape"]!r})

def by_literal():
    connect(password={CANARIES["literal"]!r})

def connect(password):
    raise RuntimeError(f"wrong: password={{password}}")

def of_environment():
    raise RuntimeError(f"of {{dict(os.environ)}}")

def key(path):
    raise RuntimeError("secret: {CANARIES["function of keys"]}")
"""

SETTINGS = f"""
[[data]]
path = "images"
captions = "none"

[[cache]]
path = "cache"
of = ["images"]
key = "train:key"

[[loader]]
call = "train:by_value"
[loader.kwargs]
api_key = "{CANARIES["keyword"]}"
auth = {{ user = "somebody", pw = "{CANARIES["nested keyword"]}" }}
num_tokens = 77
image_key = "a readable key"

[[loader]]
call = "train:by_address"

[[loader]]
call = "train:by_shape"

[[loader]]
call = "train:by_literal"

[[loader]]
call = "train:of_environment"

[[data]]
shards = "https://ada:{CANARIES["address"]}@host.invalid/0.tar?sig={CANARIES["signature"]}"

[[data]]
shards = "pipe:curl --header 'X-Own: {CANARIES["header"]}' https://host.invalid/1.tar"
"""

ENVIRONMENT = {
    "WANDB_API_KEY": CANARIES["variable"],
    "DB_PASSWORD": CANARIES["odd variable"],
    "DATABASE_URL": f"postgres://ada:{CANARIES['address of a variable']}@host.invalid/db",
    "READABLE_TOKEN": "true",
}

READABLE = ("num_tokens", "image_key", "a readable key", "{stem}")


class Ran(NamedTuple):
    """All that came out of a run, by what it is."""

    said: Mapping[str, str]
    run: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def ran(copies: None, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Run a job that holds all of them once, in every form."""
    import os
    import sys

    from tests.conftest import ROOT, START

    folder = tmp_path_factory.mktemp("job")
    (folder / "train.py").write_text(TRAIN)
    (folder / "preflight.toml").write_text(SETTINGS)
    write(folder / "images" / f"{CANARIES['variable']}.jpg", b"no image")
    write(folder / "cache" / "a.pt", b"no file of torch's")
    members = {f"{CANARIES['variable']}.jpg": b"no", "b.jpg": b"image"}
    write(folder / "own.tar", tarred(members))

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", START, *words],
            cwd=folder,
            # First, since the text of an exception is cut.
            env={**ENVIRONMENT, **os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    run = command("run", "-v", "-o", "out.json", "-o", "out.md")
    said = {"terminal": run.stdout, "stderr": run.stderr}
    for name in ("out.json", "out.md", ".preflight/last.json"):
        said[name] = (folder / name).read_text()
    said["ledger"] = (folder / ".preflight" / "ledger.sqlite").read_bytes().decode("latin-1")
    for form in ("bug", "terminal", "json", "markdown"):
        said[f"report {form}"] = command("report", "--format", form).stdout
    typed = ["own.tar", f"https://ada:{CANARIES['address']}@host.invalid/0.tar"]
    typed += [f"pipe:curl --header 'X-Own: {CANARIES['header']}' https://host.invalid/1.tar"]
    own = command("run", *typed, "--format", "json")
    said |= {"typed": own.stdout, "typed, stderr": own.stderr}
    for name, words in (
        ("typed wrong", [f"data=https:/x:{CANARIES['address']}@y", CANARIES["variable"]]),
        ("a wrong option", ["--gpus", CANARIES["variable"]]),
    ):
        done = command("run", *words)
        assert done.returncode == 2
        assert not done.stdout
        said[name] = done.stderr
    return Ran(said, run)


FORMS = (
    *("terminal", "stderr", "out.json", "out.md", ".preflight/last.json", "ledger"),
    *("report bug", "report terminal", "report json", "report markdown"),
    *("typed", "typed, stderr", "typed wrong", "a wrong option"),
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("source", list(CANARIES))
def test_no_canary_comes_out(ran: Ran, source: str, form: str) -> None:
    canary, text = CANARIES[source], ran.said[form]
    for spelled in (canary, json.dumps(canary)[1:-1], repr(canary)[1:-1], shlex.quote(canary)):
        assert spelled not in text
    assert "Canary" not in text


def test_what_is_no_secret_stays(ran: Ran) -> None:
    """And every place was really reached: each of the five raised, and was asked."""
    text = ran.said["out.json"]

    assert ran.run.returncode == 1
    assert json.loads(text)["verdict"] == "no-go"
    for word in ("by_value", "by_address", "by_shape", "by_literal", "train.py", "token=77"):
        assert word in text
    for readable in ("num_tokens", "a readable key", "somebody", "READABLE_TOKEN"):
        assert readable in text
    assert text.count("<redacted>") > 10
    assert "host.invalid/1.tar" in text


def test_the_report_of_a_call_holds_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does what is told on the way."""
    secret = CANARIES["variable"]
    monkeypatch.setenv("WANDB_API_KEY", secret)
    write(tmp_path / f"{secret}.safetensors", b"damaged")
    told: list[Progress | Finding] = []
    report = preflight.run(str(tmp_path), folder=str(tmp_path), watch=told.append)

    assert report.findings
    assert any(isinstance(one, Finding) for one in told)
    assert secret not in f"{report!r} {report} {report.to_json()} {told}"


def test_a_crash_of_ours_tells_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", CANARIES["odd variable"])
    error = RuntimeError(f"{CANARIES['odd variable']} and token={CANARIES['keyword']}")

    assert "Canary" not in crash_report(error)
    assert "RuntimeError" in crash_report(error)


def test_a_saved_report_of_an_earlier_version_is_looked_through(
    tmp_path: Path, preflight: Run
) -> None:
    (tmp_path / "x.py").write_text("x = 1\n")
    run = preflight("run", "source=x.py", "--format", "json")
    plain = json.loads(run.stdout)
    plain["reasons"] = [f"of {CANARIES['variable']} and DB_PASSWORD={CANARIES['keyword']}"]
    (tmp_path / "old.json").write_text(json.dumps(plain))
    for form in ("terminal", "json", "markdown", "bug"):
        done = preflight(
            "report", "old.json", "--format", form, env={"X_SECRET": CANARIES["variable"]}
        )

        assert done.returncode == 0
        assert "Canary" not in done.stdout
