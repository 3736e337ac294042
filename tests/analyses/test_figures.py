"""Every study's figures and bundle: there is one of each, its numbers are the study's, and text stays text."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import plotly.io
import pytest

from explainlab import study
from explainlab.analyses.base import AnalysisResult, TrainsModels
from explainlab.analyses.figures import figures_of
from explainlab.analyses.registry import read_result, studies
from explainlab.app.pages.runs.bundle import study_bundle
from explainlab.attribution.registry import methods
from explainlab.errors import RequestError
from explainlab.figures.declared import Figures
from tests.analyses import hostile_study
from tests.analyses.hostile_study import CASES, LABELS, TEXT, Found
from tests.tiers import full

Drawn = Callable[[str, str], Figures]
every_case = pytest.mark.parametrize(
    ("name", "kind"),
    [
        full(name, kind, reason="the study of a text is drawn in the first tier")
        if kind == "data" and (name, "text") in CASES
        else (name, kind)
        for name, kind in CASES
    ],
    ids=lambda part: part,
)
"""Each study of a text, or of a data set where it has no answer about a text; the first tier leaves the others out."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Return ``found(study, kind)``: its result, computed once."""
    directory = tmp_path_factory.mktemp("hostile")
    models, data = hostile_study.models(directory), hostile_study.write_data(directory / "rows.csv")

    def asked(name: str, kind: str) -> AnalysisResult[Any]:
        model = models["gpt2" if name == "intermediate_predictions" else "bert"]
        return hostile_study.answer(model, data, name, kind)

    return cache(asked)


@pytest.fixture(scope="module")
def drawn(found: Found) -> Drawn:
    """Return ``drawn(study, kind)``: the figures of the result that is read from its JSON, drawn once."""
    return cache(lambda name, kind: figures_of(read_result(json.loads(json.dumps(found(name, kind).to_json())))))


class Parsed(HTMLParser):
    """The tags of a document, and the content of its scripts."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text += data


def unzipped(body: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_every_study_is_asked() -> None:
    assert studies().keys() == hostile_study.PARAMETERS.keys()


@every_case
def test_a_study_has_a_chart_that_says_what_it_shows(found: Found, drawn: Drawn, name: str, kind: str) -> None:
    result, figures = found(name, kind), drawn(name, kind)
    assert figures.charts
    assert not figures.none
    for key, chart in figures.charts.items():
        assert key == chart.name
        assert chart.title
        assert chart.alt
        assert chart.rows
        assert any(len(trace.x) for trace in chart.figure.data if trace.x is not None)
        assert len(list(csv.DictReader(io.StringIO(chart.to_csv())))) == len(chart.rows)
    assert bool(figures.maps) == (kind == "text" and name not in ("ablation", "axioms"))
    texts = {TEXT, *(own.text for own in getattr(result.body, "texts", ()) if hasattr(own, "text"))}
    for one in figures.maps.values():
        drawn = "".join(token.before + token.shown for token in one.drawn.tokens if not token.special)
        assert any(drawn.startswith(text[:30]) for text in texts)


@every_case
def test_a_bundle_shows_all_of_it_and_text_stays_text(found: Found, drawn: Drawn, name: str, kind: str) -> None:
    result, figures = found(name, kind), drawn(name, kind)
    files = unzipped(study_bundle(result, f"rows {LABELS[1]}.csv"))
    report = Parsed(files["report.html"])
    assert not {"img", "iframe", "link", "object", "embed", "form", "a"} & {tag for tag, _ in report.tags}
    assert not [
        attributes for _, attributes in report.tags if any(n.startswith(("on", "src", "href")) for n in attributes)
    ]
    payload, script = report.scripts
    shown = json.loads(payload)
    (policy,) = (attributes["content"] for tag, attributes in report.tags if attributes.get("http-equiv"))
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'")
    assert sum(attributes.get("class") == "chart" for _, attributes in report.tags) == len(shown) == len(figures.charts)
    for one, chart in zip(shown, figures.charts.values(), strict=True):
        assert one["data"] == json.loads(chart.figure.to_json())["data"]
        assert chart.title in report.text
    assert {"text": TEXT, "data": f"rows {LABELS[1]}.csv", "nothing": "seed = 0"}[kind] in report.text
    assert ("Explained" in report.text) == (kind != "nothing")
    written = {file.removeprefix("figures/") for file in files if file.startswith("figures/")}
    assert len(written) == 2 * len(figures.charts) + len(figures.maps)
    assert set(figures.files) <= set(files)
    for file in written:
        if file.endswith(".json"):
            assert plotly.io.from_json(files[f"figures/{file}"]).data
            assert f"{file[:-5]}.csv" in written


@every_case
def test_what_plotly_reads_as_html_is_escaped(drawn: Drawn, name: str, kind: str) -> None:
    """Labels, titles and hover texts; data that is no text (``customdata``) is never drawn."""
    for chart in drawn(name, kind).charts.values():
        told = json.loads(chart.figure.to_json())
        del told["layout"]["template"]
        written = re.sub(r'</?extra>|<br>|<span style=\\"font-size: 11px\\">|</span>', "", json.dumps(told))
        assert "<" not in written, written[written.index("<") - 200 : written.index("<") + 100]


def test_a_file_in_another_form_is_not_read(found: Found) -> None:
    record = found("evaluation", "text").to_json()
    for broken in ({"values": 3}, {"values": {"a": {"nothing": "x"}}}, {"scores": {"occlusion": ["x"]}}):
        with pytest.raises(ValueError, match="validation error"):
            read_result({**record, **broken})
    with pytest.raises(RequestError, match="no study 'later'"):
        read_result({**record, "study": "later"})


def test_where_the_change_cancels_the_reason_is_told(found: Found) -> None:
    result = found("integration_error", "text")
    figures = figures_of(read_result({**result.to_json(), "cancels": True}))
    assert not figures.charts
    assert "hardly changes" in figures.none


def test_nothing_that_drives_mistakes_is_told(found: Found) -> None:
    result = found("mistake_drivers", "data")
    figures = figures_of(read_result({**result.to_json(), "words": [], "pairs": []}))
    assert (figures.charts, figures.none) == ({}, "No word speaks for a wrong class.")


# Charts that only bundles have ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "data"])
def test_methods_stand_in_the_order_of_their_values(found: Found, kind: str) -> None:
    result = found("evaluation", kind)
    body = result.body_json()
    charts = [chart for chart in figures_of(result).charts.values() if chart.name.startswith("methods-by-metric-")]
    assert charts
    for chart in charts:
        (dots,) = chart.figure.data
        metric = chart.name.removeprefix("methods-by-metric-")
        values = {}
        labels = {name: method.label for name, method in methods().items()}
        labels |= {f"reversed:{name}": f"{label}, reversed" for name, label in labels.items()}
        for name, label in labels.items():
            if kind == "text" and name in body["values"]:
                values[label] = body["values"][name][metric]
            for row in body.get("rows", ()):
                if (row["method"], row["asked"]) == (name, metric):
                    values[label] = row["mean"]
        assert dict(zip(dots.customdata, dots.x, strict=True)) == values
        assert len(values) == 5, "random is among them, and both methods reversed"
        assert list(dots.x) == sorted(dots.x, reverse=metric.startswith("comprehensiveness"))
        if kind == "data":
            assert dots.error_x.array is not None


def test_a_map_stands_beside_random_ones(found: Found) -> None:
    result = found("trust", "text")
    body = result.body_json()
    (chart,) = figures_of(result).charts.values()
    usual, own = chart.figure.data
    for i, one in enumerate(body["metrics"]):
        assert own.x[i] == one["value"]
        assert usual.x[i] == one["median"]
        assert usual.x[i] - usual.error_x.arrayminus[i] == pytest.approx(one["low"])
        assert usual.x[i] + usual.error_x.array[i] == pytest.approx(one["high"])


def test_every_text_is_a_point_of_the_shares_beaten(found: Found) -> None:
    result = found("trust", "data")
    body = result.body_json()
    (chart,) = figures_of(result).charts.values()
    *boxes, means = chart.figure.data
    for i, (box, one) in enumerate(zip(boxes, body["summary"]["metrics"], strict=True)):
        long_enough = [text for text in body["texts"] if text["metrics"][i]["counted"]]
        assert list(box.x) == [text["metrics"][i]["beaten"] for text in long_enough]
        assert list(box.customdata) == [text["row"] for text in long_enough]
        assert means.x[i] == pytest.approx(sum(box.x) / len(box.x)) == one["beaten"]["mean"]


def test_a_line_goes_through_the_texts_behind_a_value(found: Found) -> None:
    result = found("judged_map", "text")
    body = result.body_json()
    (chart,) = figures_of(result).charts.values()
    for line, one in zip(chart.figure.data, body["metrics"], strict=True):
        assert [(x, y) for x, y in zip(line.x, line.y, strict=True)] == [
            (step["level"], step["probability"]) for step in one["steps"]
        ]
    assert chart.figure.layout.shapes[0].y0 == body["prediction"]["probabilities"][body["target"]["label"]]


def test_shares_of_the_gradient_add_up_to_the_whole(found: Found) -> None:
    result = found("path_gradients", "data")
    body = result.body_json()
    (chart,) = figures_of(result).charts.values()
    for line, steps in zip(chart.figure.data, body["summary"]["share"], strict=True):
        assert sum(line.y) == pytest.approx(1)
        for i, y in enumerate(line.y):
            assert y == pytest.approx(sum(text["shares"][steps][i] for text in body["texts"]) / len(body["texts"]))


def test_settled_texts_are_counted_by_tenths(found: Found) -> None:
    result = found("intermediate_predictions", "data")
    body = result.body_json()
    (chart,) = figures_of(result).charts.values()
    (bars,) = chart.figure.data
    counts = [0] * 10
    for text in body["texts"]:
        place = 0
        while text["settled"] > (place + 1) / 10 + 1e-12:
            place += 1
        counts[place] += 1
    assert list(bars.y) == counts


def test_a_data_set_without_intervals_is_drawn(found: Found, tmp_path) -> None:
    """One text has no interval anywhere."""
    path = tmp_path / "one.csv"
    path.write_text('text,label,rationale\na good film,0,"[[2, 6]]"\n', encoding="utf-8")
    model = hostile_study.models(tmp_path)["bert"]
    names = {name for name, one in studies().items() if not isinstance(one, TrainsModels)}
    for name in sorted(names - {"intermediate_predictions", "judged_map", "masked_distribution"}):
        figures = figures_of(study(model, name, data=str(path), **hostile_study.PARAMETERS[name]))
        assert figures.charts or figures.none in ("No word speaks for a wrong class.",), name
