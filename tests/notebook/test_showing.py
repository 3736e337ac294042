"""Results in a notebook: static, inert, and on request the page's component."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from explainlab import Attribution, ExplainLabError, evaluate, explain, show, study
from explainlab.models.classifier import Classifier
from tests.conftest import loaded

HOSTILE = "a <script>alert(1)</script> <img src=x onerror=alert(2)> &amp; \u202egood film<br />"
METHODS = ("integrated_gradients", "occlusion", "gradient")


@pytest.fixture(scope="module")
def model() -> Classifier:
    return loaded("embedded:bert-mini-sst2")


class Tags(HTMLParser):
    """The tags of a document, their attributes, and its plain text."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.names: set[str] = set()
        self.text = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_attribution_shows_its_map_and_runs_nothing(model: Classifier) -> None:
    result = explain(model, HOSTILE)
    shown = result._repr_html_()
    read = Tags(shown)
    assert not {"script", "img", "iframe", "link", "object"} & set(read.tags)
    assert not [name for name in read.names if name.startswith("on") or name in ("src", "href")]
    assert not re.search(r"url\(|@import|https?:", shown.replace("http://www.w3.org/2000/svg", ""))
    assert "alert(1)" in read.text
    assert "against " in read.text
    assert "Solid line: for; dotted line: against." in read.text
    assert read.tags.count("style") == 1
    assert show(result).html == shown


def test_its_colours_survive_where_styles_are_taken_away(model: Classifier) -> None:
    """Remove styles as an untrusted notebook does: the elements' inline styles remain, on their white paper."""
    result = explain(model, "a stirring, funny film")
    bare = re.sub(r"<style>.*?</style>", "", result._repr_html_(), flags=re.DOTALL)
    top = int(np.argmax(np.abs(np.where(result.content, result.scores, 0))))
    (style,) = re.findall(rf'style="([^"]*)"\s*title="{result.features[top].text}:', bare)
    assert "background-color: #6fd3a5ff" in style
    assert "text-decoration-style: solid" in style
    assert re.search(r'class="explainlab" style="background-color: #ffffff; color: #101814', bare)


def test_several_stand_side_by_side_on_one_scale(model: Classifier) -> None:
    results = [explain(model, "a stirring, funny film", method) for method in METHODS]
    shown = show(results)
    read = Tags(shown.html)
    assert read.text.count("why positive") == 3
    assert read.text.count("one scale for all maps") == 3
    top = max(float(np.abs(r.scores[r.content]).max()) for r in results[:2])
    assert read.text.count(f"{top:.3f}") >= 4  # both ends of both maps with signs
    assert shown.document.startswith("<!doctype html>")


def test_a_study_shows_its_main_figure_under_its_sentence(model: Classifier) -> None:
    table = evaluate(model, "embedded:sentiment", ["occlusion"], limit=4)
    read = Tags(table._repr_html_())
    assert {"svg", "rect"} <= set(read.tags)
    assert "script" not in read.tags
    assert "Occlusion and Random cannot be distinguished" in read.text, "four texts tell nothing apart"
    assert "Occlusion, reversed" in read.text
    assert table.plot().data
    assert table.plot("agreement").data
    with pytest.raises(ExplainLabError, match="There is no chart 'x'"):
        table.plot("x")


@pytest.mark.parametrize(
    ("question", "parameters", "component"),
    [
        ("activation", {"methods": ["occlusion"]}, "scrubber"),
        ("integration_error", {"steps": [5, 10]}, "morph"),
        ("layer_randomisation", {"methods": ["gradient"], "draws": 1}, "morph"),
    ],
)
def test_the_component_of_a_page(
    question: str, parameters: dict[str, object], component: str, model: Classifier
) -> None:
    result = study(model, question, HOSTILE, **parameters)
    shown = show(result)
    assert Tags(shown.html).tags == ["iframe"]
    assert 'sandbox="allow-scripts allow-downloads"' in shown.html
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', shown.html)[1])  # type: ignore[index]
    assert inner.strip() == shown.document.strip()
    assert f'id="{component}"' in shown.document
    assert "<script>alert(1)" not in shown.document
    still = Tags(show(result, interactive=False).html)
    assert "iframe" not in still.tags
    assert "svg" in still.tags
    assert result._repr_html_() == show(result, interactive=False).html


@pytest.mark.parametrize("nothing", [[], ["a"], 3, "text"])
def test_what_cannot_be_shown_is_told(nothing: object) -> None:
    with pytest.raises(ExplainLabError, match="cannot be shown"):
        show(nothing)  # type: ignore[arg-type]


def test_an_unknown_palette_is_told(model: Classifier) -> None:
    with pytest.raises(ExplainLabError, match="There is no palette 'x'"):
        show(explain(model, "good", "gradient"), palette="x")


def test_a_stored_attribution_of_elsewhere_is_shown(model: Classifier) -> None:
    made = Attribution.from_scores([0.5, -0.5], model, "good film", tokens=["good", "film"], method="<b>mine</b>")
    again = Attribution.from_json(made.to_json())
    assert "<b>" not in again._repr_html_()
    assert "<b>mine</b>: why" in Tags(again._repr_html_()).text
