"""The README and the manual tell the truth: they leave nothing out, and the code and the commands in them run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from docs.generate import every_command, parts
from explainlab import Attribution
from explainlab.analyses.registry import get_study, studies
from explainlab.app.entries import entries
from explainlab.attribution.registry import methods, parse_spec
from explainlab.cli import main
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.declared import assignments, parse, specs
from explainlab.metrics.registry import metrics, parse_metric
from explainlab.models.stored.places import embedded_models
from explainlab.settings import ROOT, describe_settings
from tests import forked

DOCS = ROOT / "docs"
GENERATED = DOCS / "_generated"
MANUAL = sorted(path for path in DOCS.rglob("*.md") if GENERATED not in path.parents)
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *MANUAL)}
"""The README and the pages of the manual that people write, by their path."""
EXTENDING = "docs/extending.md"


def fenced(language: str, text: str) -> list[str]:
    """Return the blocks of code in a ``language``."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[list[str]]:
    """Return the words of every command line of ours; a backslash goes on in the next line."""
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.strip().startswith("python -m explainlab ")]


# Everything has its place ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """Return the generated parts."""
    return parts()


def sections(text: str) -> dict[str, str]:
    """Return the text below each anchor of a generated part, by the anchor."""
    _, *pieces = re.split(r"^\(([\w-]+)\)=\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def test_every_method_metric_and_study_is_in_the_manual(generated: dict[str, str]) -> None:
    for part, kind, declared in (
        ("methods", "method", methods()),
        ("metrics", "metric", metrics()),
        ("studies", "study", studies()),
    ):
        found = sections(generated[part])
        assert list(found) == [f"{kind}-{name.replace('_', '-')}" for name in declared]
        for text, (name, member) in zip(found.values(), declared.items(), strict=True):
            definition: Any = member.definition
            formula = definition if isinstance(definition, str) else definition(member.Parameters())
            assert f"```text\n{formula}\n```" in text
            assert f"* **Name:** `{name}`\n* **Source:** {member.source[:6]}" in text
            assert kind == "study" or "* **Cost:** " in text
            assert all(f"\n| `{spec.name}` | " in text for spec in specs(member.Parameters))


def test_every_command_and_setting_is_in_the_manual(generated: dict[str, str]) -> None:
    found, known = sections(generated["commands"]), every_command()
    assert list(found) == [f"command-{name.replace(' ', '-')}" for name in known]
    for text, command in zip(found.values(), known.values(), strict=True):
        options = [option.opts[0] for option in command.params if option.param_type_name == "option"]
        assert re.findall(r"^\| `(--[\w-]+)", text, re.MULTILINE) == options
    assert re.findall(r"^\| `(\w+)` ", generated["settings"], re.MULTILINE) == [s["name"] for s in describe_settings()]


def test_every_finding_is_in_the_manual(generated: dict[str, str]) -> None:
    scripts = sorted((ROOT / "findings").glob("*.sh"))
    found = sections(generated["findings"])
    assert list(found) == [f"finding-{path.stem}" for path in scripts]
    for path, text in zip(scripts, found.values(), strict=True):
        assert path.read_text(encoding="utf-8").splitlines()[1].strip("# .")[:20] in text
        assert all(f"* **{fact}:** " in text for fact in ("Versions", "Expected", "Seen", "Shown by"))


def test_each_generated_part_is_on_one_page(generated: dict[str, str]) -> None:
    included = re.findall(r"^```\{include\} _generated/(\w+)\.md$", "\n".join(TEXTS.values()), re.MULTILINE)
    assert sorted(included) == sorted(generated)


def test_the_guide_has_a_page_for_each_page_of_the_app() -> None:
    pages = {entry.url: entry for entry in entries()}
    assert {path.stem for path in (DOCS / "guide").glob("*.md")} == {*pages, "index"}
    index = TEXTS["docs/guide/index.md"]
    for url, entry in pages.items():
        assert TEXTS[f"docs/guide/{url}.md"].startswith(f"# {entry.title}\n\n*{entry.help}*\n\n")
        assert f"| [{entry.title}]({url}.md) | " in index
        assert f"\n{url}\n" in index


def test_the_guide_names_buttons_and_headings_as_the_app_does() -> None:
    product = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "explainlab").rglob("*.py"))
    guide = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "guide").glob("*.md"))
    named = set(re.findall(r"\*\*([^*]+)\*\*", guide))
    assert len(named) > 40
    missing = [name for name in named if not re.search(rf'["*]{re.escape(name)}["*]', product)]
    assert not missing


# Links and names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_links_lead_to_files(name: str) -> None:
    """Sphinx checks the anchors, too."""
    targets = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", re.sub(r"```python.*?```", "", TEXTS[name], flags=re.DOTALL))
    assert not [target for target in targets if not (ROOT / name).parent.joinpath(target).exists()]


def test_named_models_and_files_exist() -> None:
    named = set(re.findall(r"`?(embedded:[\w-]+)", "\n".join(TEXTS.values())))
    assert named - set(EXAMPLES) - set(TO_LEARN) == set(embedded_models())


def test_named_paths_exist() -> None:
    written = re.sub(r"```python.*?```", "", "\n".join(TEXTS.values()), flags=re.DOTALL)  # some name files to be added
    named = re.findall(r"\b(?:explainlab|assets|tests|pages|findings|\.ci)/[\w./-]*\w", written)
    assert "explainlab/app/asgi.py" in named
    missing = [name for name in named if not (ROOT / name).exists()]
    assert not missing


def test_the_commands_to_begin_with_are_named_and_their_files_exist() -> None:
    for name in ("README.md", "docs/start.md"):
        assert "pip install -r requirements.txt && streamlit run app.py\n" in TEXTS[name]
    assert "bash .ci/run\n" in TEXTS["README.md"]
    assert all((ROOT / name).is_file() for name in ("requirements.txt", "app.py", ".ci/run"))


# Code and commands ----------------------------------------------------------------------------------------------------


def code(text: str) -> list[str]:
    """Return the blocks of Python that are no new file: such a block begins with a path."""
    return [block for block in fenced("python", text) if not re.match(r"# [\w/]+\.py\n", block)]


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if code(text)])
def test_the_python_code_runs(name: str, tmp_path: Path) -> None:
    """In a process of its own: there the page on the library takes 140 MB, which a process of pytest would keep."""
    assert forked.answer_of(_attributes, code(TEXTS[name]), tmp_path)


def _attributes(blocks: list[str], folder: Path) -> bool:
    """Run ``blocks`` in a ``folder``, as the page on the library writes a file; tell if one of them explains a text."""
    os.chdir(folder)
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
    return any(isinstance(value, Attribution) for value in names.values())


EXAMPLE_COMMANDS = TEXTS["docs/command-line.md"].partition("## Examples\n")[2].partition("\n## ")[0]
SLOW = {
    "synthetic_roar": "9 s: the page on the library runs the same study",
    "precision": "3 s: passes in half precision are slow on CPUs",
    "masked_distribution": "3 s: masks texts by three baselines",
}
"""Studies whose command lines belong to the second tier, with the reason."""


def _each_command() -> list[ParameterSet]:
    """Return the example command lines, each named by its command or study."""
    every = []
    for words in commands(EXAMPLE_COMMANDS):
        name = words[4] if words[3] == "study" else words[3]
        marks = [pytest.mark.full(SLOW[name])] if name in SLOW else []
        every.append(pytest.param(words, id=name, marks=marks))
    return every


@pytest.mark.parametrize("words", _each_command())
def test_the_example_commands_run(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = words[3:]
    if arguments[0] in ("train", "bench"):  # they take minutes or need a file: only their options are checked
        arguments = [arguments[0], "--help"]
    _main(monkeypatch, arguments)
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if commands(text)])
def test_every_command_line_can_be_read(name: str) -> None:
    """Also where it needs a file or a model that is not here: its options, studies, methods, metrics and parameters."""
    known = every_command()
    for _, _, _, command, *arguments in commands(TEXTS[name]):
        if command not in known:
            command, arguments = f"{command} {arguments[0]}", arguments[1:]
        given = known[command].make_context(command, arguments).params
        if command == "study":
            study = get_study(given["study_id"])
            assigned = assignments(given["assigned"])
            assigned.pop("base", None)
            parse(study, assigned)
        if command == "explain":
            parse(methods()[given["method"]], assignments(given["assigned"]))
        if command == "evaluate":
            for text in given["methods"].split(","):
                parse_spec(text)
            for text in given["metrics"].split(","):
                parse_metric(text)


def test_the_examples_of_a_method_and_an_analysis_run(tmp_path: Path) -> None:
    """In a copy of the project, to which their files are added as they are written; no other file changes."""
    for name in ("explainlab", "pages", "tests"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("app.py", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    before = _contents(tmp_path)
    added = _write_examples(tmp_path)
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


def _write_examples(folder: Path) -> list[Path]:
    """Write every Python block of the page on extending to the file that its first line names."""
    written = []
    for block in fenced("python", TEXTS[EXTENDING]):
        path = folder / block.splitlines()[0].removeprefix("# ")
        assert not path.exists(), path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block, encoding="utf-8")
        written.append(path)
    return written


def _contents(folder: Path) -> dict[Path, bytes]:
    """Return every file that people write."""
    made = {"__pycache__", ".pytest_cache", ".ruff_cache", ".timings"}
    paths = [path for path in folder.rglob("*") if path.is_file() and not made & set(path.parts)]
    return {path: path.read_bytes() for path in paths}


@pytest.mark.full("20 s: Sphinx builds every page")
def test_the_manual_builds_without_a_warning(tmp_path: Path) -> None:
    """A link that leads nowhere is one."""
    options = ["-W", "--keep-going", "--quiet", "--builder", "html", "--doctree-dir", str(tmp_path / "read")]
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "built")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Sundararajan" in (tmp_path / "built" / "methods.html").read_text(encoding="utf-8")


def test_the_map_of_the_house_names_files_that_exist() -> None:
    """A bare name may be in any room."""
    house = "".join((ROOT / path).read_text(encoding="utf-8") for path in ("explainlab/README.md", "docs/internals.md"))
    paths = [path for folder in ("explainlab", "tests") for path in (ROOT / folder).rglob("*.py")]
    paths += ROOT.glob("*.py")
    files = {path.relative_to(ROOT).as_posix() for path in paths}
    named = re.findall(r"`([\w/]+\.py)", house)
    assert len(named) > 40
    assert not [name for name in named if not any(f"/{file}".endswith(f"/{name}") for file in files)]


def _main(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["explainlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
