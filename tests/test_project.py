"""The files that a stranger reads first: README, pictures, cards, citation and templates."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

import explainlab
from explainlab.data import EXAMPLES, TO_LEARN
from explainlab.models.stored.places import embedded_models
from explainlab.settings import ASSETS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.webp"))
CARD = {"license", "language", "metrics"}
"""Fields of every card; its task and the origin of its data have other names for a model than for a data set."""


def front_matter(path: Path) -> dict[str, Any]:
    """Return the fields at the top of a card."""
    return dict(yaml.safe_load(re.match(r"---\n(.*?)\n---\n", path.read_text(encoding="utf-8"), re.DOTALL)[1]))


@pytest.mark.parametrize("model", embedded_models())
def test_an_embedded_model_has_a_card(model: str) -> None:
    card = front_matter(ASSETS / "models" / model.removeprefix("embedded:") / "README.md")
    assert card.keys() >= CARD | {"pipeline_tag", "datasets"}
    assert all(card.values())
    (measured,) = card["model-index"]
    for result in measured["results"]:
        assert 0.5 < result["metrics"][0]["value"] < 1


def test_every_embedded_example_is_on_the_card_of_the_examples() -> None:
    card = front_matter(ASSETS / "examples" / "README.md")
    assert card.keys() >= CARD | {"task_categories", "source_datasets", "annotations_creators"}
    assert all(card.values())
    configs = {config["config_name"]: config["data_files"] for config in card["configs"]}
    assert {f"embedded:{name}" for name in configs} == {*EXAMPLES, *TO_LEARN}
    assert {*configs.values()} == {path.name for path in (ASSETS / "examples").glob("*.csv")}


def test_the_readme_is_one_page_with_pictures_in_words() -> None:
    assert len(README.splitlines()) <= 150
    shown = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", README)
    assert len(shown) == 5
    for words, path in shown:
        assert len(words.split()) >= 10, path
        assert ROOT / path in PICTURES


def test_pictures_are_light_and_the_moving_one_takes_ten_seconds() -> None:
    sizes = {path.stem: path.stat().st_size for path in PICTURES}
    assert sizes.pop("moving") <= 1_000_000
    assert max(sizes.values()) <= 100_000
    assert sum(sizes.values()) <= 3_000_000
    with Image.open(ROOT / "docs" / "pictures" / "moving.webp") as moving:
        seconds = 0.0
        for frame in range(moving.n_frames):
            moving.seek(frame)
            moving.load()
            seconds += moving.info["duration"] / 1000
    assert 9 < seconds < 11


def test_the_citation_has_this_version() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == explainlab.__version__
    assert cited["license"] == "Apache-2.0"


def test_reports_of_faults_ask_for_what_doctor_prints() -> None:
    folder = ROOT / ".github" / "ISSUE_TEMPLATE"
    for name in ("bug", "number"):
        form = yaml.safe_load((folder / f"{name}.yml").read_text(encoding="utf-8"))
        (field,) = [part for part in form["body"] if part["id"] == "doctor"]
        assert "python -m explainlab doctor" in field["attributes"]["label"]
        assert field["validations"]["required"]


def test_the_test_command_names_files_that_are_there() -> None:
    """A missing file would leave a run without tests, as of the oldest packages, which no other run covers."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w/]*(?:\{[\w,]+\})?[\w/.]*", script)
    expanded = subprocess.run(["bash", "-c", f"echo {' '.join(named)}"], capture_output=True, text=True, check=True)
    paths = expanded.stdout.split()
    assert len(paths) > 15
    assert not [path for path in paths if not (ROOT / path).exists()]
