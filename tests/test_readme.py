"""The README tells the truth: its tables are the program's own, and what it tells to type runs."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from explainlab import Attribution
from explainlab.attribution.registry import methods_table
from explainlab.cli import main
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.models.stored.places import embedded_models
from explainlab.settings import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """What stands under a heading of the second level."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE)[1]


def between(name: str) -> list[str]:
    """The lines between the markers of a generated table."""
    return re.search(rf"<!-- {name}: .*? -->\n(.*?)<!-- /{name} -->", README, re.DOTALL)[1].splitlines()


def commands(title: str) -> list[list[str]]:
    """The words of every command line of a section; a backslash goes on in the next line."""
    code = "\n".join(line[4:] for line in section(title).splitlines() if line.startswith("    "))
    return [shlex.split(line) for line in code.replace("\\\n", " ").splitlines()]


def test_the_table_of_methods_is_the_programs() -> None:
    assert between("methods") == methods_table()


def test_the_table_of_settings_is_the_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _main(monkeypatch, ["settings", "--markdown"])
    assert between("settings") == capsys.readouterr().out.splitlines()


def test_both_commands_are_named_and_their_files_exist() -> None:
    start, test = commands("Two commands")
    assert start == ["pip", "install", "-r", "requirements.txt", "&&", "streamlit", "run", "app.py"]
    assert test == ["bash", ".ci/run"]
    assert all((ROOT / name).is_file() for name in ("requirements.txt", "app.py", ".ci/run"))


def test_the_library_section_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # it writes a file
    blocks = re.findall(r"```python\n(.*?)```", section("The library"), re.DOTALL)
    assert blocks
    for block in blocks:
        names: dict[str, object] = {}
        exec(block, names)
        assert isinstance(names["result"], Attribution)


SLOW = {
    "synthetic_roar": "9 s: the section on the library runs the same study",
    "precision": "3 s: passes in half precision are slow on CPUs",
    "masked_distribution": "3 s: masks texts by three baselines",
}
"""Studies whose command lines belong to the second tier, with the reason."""


def _each_command() -> list[ParameterSet]:
    """The command lines, each named by its command or study."""
    every = []
    for words in commands("The command line"):
        name = words[4] if words[3] == "study" else words[3]
        marks = [pytest.mark.full(SLOW[name])] if name in SLOW else []
        every.append(pytest.param(words, id=name, marks=marks))
    return every


@pytest.mark.parametrize("words", _each_command())
def test_the_command_lines_run(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words[:3] == ["python", "-m", "explainlab"]
    arguments = words[3:]
    if arguments[0] in ("train", "bench"):  # they take minutes or need a file: only their options are checked
        arguments = [arguments[0], "--help"]
    _main(monkeypatch, arguments)
    shown = capsys.readouterr().out
    assert shown
    assert all(word.split("=")[0] in shown for word in words[4:] if arguments[1:] == ["--help"] and word[:2] == "--")


def test_the_examples_of_a_method_and_an_analysis_run(tmp_path: Path) -> None:
    """In a copy of the project, to which their files are added as they are written; no other file changes."""
    for name in ("explainlab", "pages", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    before = _contents(tmp_path)
    added = _write_examples("Adding a method", tmp_path) + _write_examples("Adding an analysis", tmp_path)
    assert before.keys().isdisjoint(added), "an example would replace a file"
    tests = [str(path) for path in added if path.name.startswith("test_")]
    for command in (
        ["ruff", "check", *map(str, added)],
        ["ruff", "format", "--check", *map(str, added)],
        ["pytest", *tests, "tests/newcomer.py"],
    ):
        ran = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    after = _contents(tmp_path)
    assert after.keys() - before.keys() == set(added)
    assert {path: after[path] for path in before} == before


def _write_examples(title: str, folder: Path) -> list[Path]:
    """Write every Python block of a section to the file that its first line names."""
    written = []
    for block in re.findall(r"```python\n(.*?)```", section(title), re.DOTALL):
        path = folder / block.splitlines()[0].removeprefix("# ")
        assert not path.exists(), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
        written.append(path)
    return written


def _contents(folder: Path) -> dict[Path, bytes]:
    """Every file that is not made by a tool."""
    made = {"__pycache__", ".pytest_cache", ".ruff_cache", ".timings"}
    paths = [path for path in folder.rglob("*") if path.is_file() and not made & set(path.parts)]
    return {path: path.read_bytes() for path in paths}


def test_named_models_and_files_exist() -> None:
    named = set(re.findall(r"`?(embedded:[\w-]+)", README))
    assert named - set(EXAMPLES) - set(TO_LEARN) == set(embedded_models())
    for image in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", README):
        assert (ROOT / image).is_file(), image


def test_named_paths_exist() -> None:
    plain = re.sub(r"```python.*?```", "", README, flags=re.DOTALL)
    named = re.findall(r"\b(?:explainlab|assets|tests|pages|\.ci)/[\w./-]*\w", plain)
    assert "explainlab/app/asgi.py" in named
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


def test_the_map_of_the_house_names_files_that_exist() -> None:
    """A bare name may be in any room."""
    house = (ROOT / "explainlab" / "README.md").read_text(encoding="utf-8")
    paths = [path for folder in ("explainlab", "tests") for path in (ROOT / folder).rglob("*.py")]
    paths += ROOT.glob("*.py")
    files = {path.relative_to(ROOT).as_posix() for path in paths}
    named = re.findall(r"`([\w/]+\.py)", house)
    assert len(named) > 50
    assert not [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)]


def _main(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["explainlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
