"""Where a script leads to more modules than are read, those count that surely run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from preflight.sources.unguarded import modules_of_import, work_of_import
from preflight.syntax.imports.modules import MOST_MODULES
from preflight.syntax.imports.needed_modules import on_the_way


def imports(*numbers: int, indent: str = "") -> str:
    """Import the modules of these numbers, each by itself."""
    return "".join(f"{indent}import m{number}\n" for number in numbers)


TOO_MANY = {
    "from one file": {0: imports(*range(1, 640))},
    "each from the one before": {number: imports(number + 1) for number in range(640)},
    "each from an earlier one": {
        number: imports(3 * number + 1, 3 * number + 2, 3 * number + 3) for number in range(640)
    },
    "beside those inside functions": {
        number: imports(3 * number + 1)
        + f"def later():\n{imports(3 * number + 2, indent='    ')}"
        + imports(3 * number + 3, number + 1)
        for number in range(640)
    },
}


@pytest.mark.parametrize("files", TOO_MANY.values(), ids=TOO_MANY)
def test_who_follows_imports_reads_the_same_of_too_many_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[int, str]
) -> None:
    parsed: list[str] = []
    parse = ast.parse

    def counted(text: str) -> ast.Module:
        parsed.append(text)
        return parse(text)

    for number in range(640):
        text = f"# {tmp_path} {number}\n{files.get(number, '')}"
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")
    script, root = str(tmp_path / "m0.py"), str(tmp_path)

    with monkeypatch.context() as patched:
        patched.setattr(ast, "parse", counted)
        way = on_the_way(script, root)
        work = work_of_import(script, root, root)
        imported = modules_of_import(script, root, root)

    assert work is None
    assert {*imported} == {*way.modules}
    assert way.lazy == frozenset()
    assert len(way.modules) == len(parsed) == MOST_MODULES


def test_imports_inside_functions_take_no_place_from_others(tmp_path: Path) -> None:
    later = "def later():\n" + imports(*range(400, 640), indent="    ")
    for number in range(640):
        text = later + imports(*range(1, 400)) if number == 0 else ""
        (tmp_path / f"m{number}.py").write_text(text, encoding="utf-8")

    way = on_the_way(str(tmp_path / "m0.py"), str(tmp_path))

    names = [one.file for one in way.modules]
    assert names == [f"m{number}.py" for number in range(MOST_MODULES)]
    assert way.lazy == {f"m{number}.py" for number in range(400, MOST_MODULES)}


def test_what_is_imported_first_and_then_run_as_a_script_is_followed_as_one(tmp_path: Path) -> None:
    texts = {
        "train": "import tool\nimport runpy\nrunpy.run_path('tool.py', run_name='__main__')\n",
        "tool": "if __name__ == '__main__':\n    import lib\n",
        "lib": "",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")

    way = on_the_way(str(tmp_path / "train.py"), str(tmp_path))

    assert [one.file for one in way.modules] == ["train.py", "tool.py", "lib.py"]
    assert way.started == {"train.py", "tool.py"}
