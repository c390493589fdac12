"""What was not reached is told from what is not there."""

from __future__ import annotations

import importlib
import importlib.metadata
import socket
from pathlib import Path
from typing import Any

import pytest

from preflight.users_code.lacks.lacking import lacking
from tests.files import put


def _asked_for(path: str) -> BaseException:
    """Give what a library raises that takes a path which is not there for a name on a hub."""
    try:
        try:
            socket.create_connection(("hub.invalid", 443), timeout=5)
        except OSError as error:
            raise ValueError(f"Can't find 'adapter_config.json' at '{path}'") from error
    except ValueError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("path", "lacks"),
    [("org/adapter", True), ("adapter", True), ("saved/9", False), ("saved/0", True)],
)
def test_a_path_that_is_not_there_beside_others_is_no_want_of_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, *, lacks: bool
) -> None:
    (tmp_path / "saved" / "0").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    found = lacking(_asked_for(path), [str(tmp_path)])

    assert (found is not None and found.kind == "network") is lacks


def test_a_part_that_another_version_of_a_package_has_is_no_package_of_its_own() -> None:
    """As `torch._six` is, which torch has dropped."""
    with pytest.raises(ModuleNotFoundError) as raised:
        importlib.import_module("torch._six")
    lack = lacking(raised.value, ())

    assert lack is not None
    assert (lack.kind, lack.name) == ("package", "torch")
    assert lack.version == importlib.metadata.version("torch")


SAYS = """
def fetch(text):
    raise RuntimeError(text)
"""


@pytest.mark.parametrize("of_package", [True, False])
@pytest.mark.parametrize(
    ("text", "lacks"),
    [
        ("Error downloading a.gz:\nTried https://x/, got:\n<urlopen error [Errno -2] Na>", True),
        ("Tried all mirrors: [Errno 11001] getaddrinfo failed", True),
        ("no mirror: Max retries exceeded with url: /a.gz (Caused by ProxyError())", True),
        ("Error downloading a.gz:\nTried https://x/, got:\nHTTP Error 404: Not Found", False),
        ("File not found or corrupted.", False),
        ("Dataset not found. You can use download=True to download it", False),
    ],
)
def test_a_package_that_gathers_what_each_address_said_wants_a_network(
    tmp_path: Path, text: str, *, lacks: bool, of_package: bool
) -> None:
    """As torchvision does of its mirrors; what the user's own line raises is that line's."""
    place = tmp_path / "site-packages" / "sets" if of_package else tmp_path / "job"
    put(place, "fetch.py", content=SAYS.encode())
    code = compile(SAYS, str(place / "fetch.py"), "exec")
    named: dict[str, Any] = {}
    exec(code, named)

    with pytest.raises(RuntimeError) as raised:
        named["fetch"](text)
    found = lacking(raised.value, [str(tmp_path / "job")])

    assert (found is not None and found.kind == "network") is (lacks and of_package)
