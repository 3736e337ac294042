"""Files: every hostile text stays text, documents parse, tables hold no formulas, records come back."""

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from explainlab.attribution.records import Attribution
from explainlab.figures.export import ReportMap, report_maps, shared_warnings, to_csv, to_html, to_json, to_svg
from explainlab.figures.heatmap import heatmap, limit
from explainlab.figures.palette import PALETTES
from explainlab.figures.svg import cells, draw_svg

HOSTILE = [
    "<script>alert(1)</script>",
    "<svg><script>alert(2)</script></svg>",
    "<img/src=x/onerror=alert(3)>",
    "&amp;",
    "\"double\"'single'",
    '"onmouseover="alert(4)',
    "<br/>",
    "</style></title><script>",
    "{{7*7}}",
    "שלום",
    "\u202eevil",
    "zero\u200bwidth",
    "👨‍👩‍👧",
    "e\u0301te\u0301",
    "北京很好",
    "nul\x00l\x0b",
]
SVG = "{http://www.w3.org/2000/svg}"


class Document(HTMLParser):
    """The tags, attributes and visible text of an HTML document."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def hostile(attribution):
    """Return an attribution with hostile text in every place that text can come from."""
    result = attribution(
        " ".join(HOSTILE), warnings=(HOSTILE[0],), notes=(HOSTILE[1],), versions={HOSTILE[2]: HOSTILE[0]}
    )
    return with_request(result, model=HOSTILE[1], question=HOSTILE[0], parameters={HOSTILE[0]: HOSTILE[2]})


def with_request(result: Attribution, **fields) -> Attribution:
    return Attribution(**{**vars(result), "request": result.request.model_copy(update=fields)})


def test_svg_holds_the_text_and_no_markup_of_it(hostile):
    root = ElementTree.fromstring(to_svg(hostile))
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg", "title", "rect", "text", "line", "defs", "linearGradient", "stop"
    }  # fmt: skip
    drawn = "".join(e.text for e in root.iter(f"{SVG}text"))
    for word in (
        "<script>alert(1)</script>",
        "&amp;",
        "שלום",
        "👨‍👩‍👧",
        "e\u0301te\u0301",
        "北京很好",
        "null",
    ):
        assert word in drawn


@pytest.mark.parametrize("palette", PALETTES)
def test_svg_tells_scale_target_and_signs(attribution, palette):
    result = attribution("good bad", [0.1, 0.25, -0.5, 0])
    root = ElementTree.fromstring(to_svg(result, palette))
    text = " ".join(root.itertext())
    for expected in ("−0.500", "+0.500", "for positive", "against positive", "probability", "tiny", "Special tokens"):
        assert expected in text
    hues = PALETTES[palette].light
    heat = [e for e in root.iter(f"{SVG}rect") if e.get("fill-opacity")]
    assert [(e.get("fill"), e.get("fill-opacity")) for e in heat] == [
        (hues.positive, "0.500"),
        (hues.negative, "1.000"),
    ]
    assert ["stroke-dasharray" in e.attrib for e in root.iter(f"{SVG}line")] == [False, True]


def test_svg_takes_a_limit_and_unsigned_maps_have_no_sign(attribution):
    root = ElementTree.fromstring(to_svg(attribution("good bad", [0, 1, 2, 0], signed=False), limit=4))
    assert "magnitude only" in " ".join(root.itertext())
    assert [e.get("fill-opacity") for e in root.iter(f"{SVG}rect") if e.get("fill-opacity")] == ["0.250", "0.500"]
    assert not list(root.iter(f"{SVG}line"))


def test_svg_wraps_and_everything_stays_inside(attribution):
    root = ElementTree.fromstring(to_svg(attribution("word " * 60 + "x" * 300 + " 北京" * 80)))
    width, height = float(root.get("width")), float(root.get("height"))
    fitted = [e for e in root.iter(f"{SVG}text") if e.get("textLength")]
    assert len({e.get("y") for e in fitted}) > 6
    for e in fitted:
        assert float(e.get("x")) + float(e.get("textLength")) < width
        assert float(e.get("y")) < height


def test_svg_runs_right_to_left_where_the_text_does(attribution):
    root = ElementTree.fromstring(to_svg(attribution("שלום עולם")))
    at = {e.text: float(e.get("x")) for e in root.iter(f"{SVG}text")}
    assert at["שלום"] > at["עולם"] > float(root.get("width")) / 2


def test_svg_orders_mixed_directions(attribution):
    root = ElementTree.fromstring(to_svg(attribution("see שלום עולם there")))
    at = {e.text: float(e.get("x")) for e in root.iter(f"{SVG}text")}
    assert at["see"] < at["עולם"] < at["שלום"] < at["there"]


def test_svg_shows_the_cut(attribution):
    root = ElementTree.fromstring(to_svg(attribution("read this not this", spans=[(0, 4), (5, 9)], cut=2)))
    written = " ".join(root.itertext())
    assert "not this" not in written
    assert "✂ 2 more tokens were cut" in written
    root = ElementTree.fromstring(to_svg(attribution("not this but this", spans=[(9, 12), (13, 17)], cut=2)))
    assert re.sub(r"\s+", " ", " ".join(root.itertext())).count("✂ but this") == 1


def test_what_the_scores_explain_is_said_in_the_svg(attribution):
    assert "explains the probability of positive" in to_svg(attribution("a b"))


@pytest.mark.parametrize(
    ("text", "expected"), [("a", 1), ("北", 2), ("👨‍👩‍👧", 2), ("e\u0301", 1), ("\u200b", 0), ("☺\ufe0f", 2)]
)
def test_cells(text, expected):
    assert cells(text) == expected


def test_html_holds_the_text_and_no_markup_of_it(hostile):
    facts = {HOSTILE[0]: HOSTILE[2]}
    titles = {"title": HOSTILE[1], "verdict": HOSTILE[2]}
    source = to_html(report_maps([hostile], trust=[HOSTILE[0]]), **titles, facts=facts, snippets=[HOSTILE[0]])
    document = Document(source)
    assert not {"script", "svg", "img", "iframe", "link", "object", "form"} & set(document.tags)
    assert not [name for name, _ in document.attributes if name.startswith("on") or name in ("src", "href")]
    assert "<script" not in source
    assert "url(" not in source
    assert "49" not in document.text.replace("{{7*7}}", "")
    for word in HOSTILE[:9]:
        assert word in document.text


def test_html_tells_everything(attribution):
    result = attribution(
        "good bad", [0, 0.25, -0.5, 0], errors=np.full(4, 0.01), warnings=("Mind this.",), notes=("Row 7.",), cut=2
    )
    maps = report_maps([result, attribution("good bad", signed=False)], "blue_orange", True, ["It can.", "It cannot."])
    source = to_html(maps, "blue_orange", verdict="The answer.", facts={"Row": "7"}, snippets=["code here"])
    text = " ".join(re.sub("<[^>]*>", " ", source).split())
    for expected in (
        "Input × gradient: why positive", "tiny", "Prediction positive (75.0%)", "positive 0.7500 negative 0.2500",
        "probability of positive", "sum +0.500, should be +0.400 (off by 25%)", "1 forward and 1 backward", "torch 2",
        "Mind this.", "Row 7.",
        "2 more tokens were cut: the model never read them", "explains the probability of positive",
        "magnitude only", "−0.500", "one scale for all maps",
        "code here", "66.7%", "Explanation The answer.", "It can.", "It cannot.", "Row 7 ", "Length 4 tokens",
    ):  # fmt: skip
        assert expected in text


def test_html_tells_a_shared_warning_once_above_all_maps(attribution):
    about, own = "The model cannot read this text.", "The sum fails."
    results = [attribution("a b", warnings=(about, own)), attribution("a b", warnings=(about,))]
    text = Document(to_html(report_maps(results))).text
    assert shared_warnings(results) == [about]
    assert (text.count(about), text.count(own)) == (1, 1)
    assert text.index(about) < text.index("why positive") < text.index(own)


def test_html_tells_a_prompt_apart(attribution):
    result = attribution("a b", label_share=0.0068)
    asked = replace(result.features[0], prompt=True, ids=(1, 2, 3))
    text = Document(to_html(report_maps([replace(result, features=(asked, *result.features[1:]))]))).text
    assert "Label words0.7% of the next token" in text
    assert "3 tokens, and 3 of the prompt" in text


def test_html_draws_maps_as_they_are_given(attribution):
    result = attribution("a b", [0, 1, -1, 0])
    source = to_html([ReportMap(result, heatmap(result, scale=4), "Why it is true")])
    assert "+4.00" in source
    assert "Why it is true" in Document(source).text


def test_html_has_the_scores_as_bars_folded_where_there_are_many_maps(attribution):
    result = attribution("good bad", [0, 0.25, -0.5, 0], completeness=None)
    source = to_html(report_maps([result]))
    document = Document(source)
    assert document.tags.count("caption") == 1
    assert "Score for positivebad−0.500good+0.250" in "".join(document.text.split("\n"))
    assert ("style", "--left: 0.0000; --share: 0.6667") in document.attributes
    assert "waterfall" not in source
    assert [to_html(report_maps([result] * n)).count('class="scores" open') for n in (1, 3, 4)] == [1, 3, 0]


def test_html_draws_the_original_text(attribution):
    text = "Good,  bad\nand <br /> ugly."
    assert text in Document(to_html(report_maps([attribution(text)]))).text


def test_csv_comes_back(attribution):
    result = attribution("good bad", [0, 1 / 3, -0.5, 0])
    frame = pd.read_csv(io.StringIO(to_csv(result)), float_precision="round_trip")
    assert frame["score"].tolist() == result.scores.tolist()
    assert frame["text"].tolist() == ["[CLS]", "good", "bad", "[SEP]"]
    assert frame["method"].unique().tolist() == ["input_x_gradient"]
    assert len(pd.read_csv(io.StringIO(to_csv(result, result)))) == 8


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_csv_holds_no_formulas(attribution, cell):
    result = attribution(cell, [0, -0.5, 0], spans=[(0, len(cell))])
    frame = pd.read_csv(io.StringIO(to_csv(result), newline=""), dtype=str, keep_default_na=False)
    assert frame["text"][1] == frame["pieces"][1] == "'" + cell
    assert frame["score"][1] == "-0.5"


def test_json_comes_back(hostile):
    body = json.loads(to_json([hostile, hostile]))
    back = [Attribution.from_json(entry) for entry in body["attributions"]]
    assert [a.to_json() for a in back] == [hostile.to_json()] * 2
    assert limit(back) == limit([hostile])


def test_json_refuses_nan(attribution):
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json([attribution("a", [0, np.nan, 0])])


# The spread of an ensemble -------------------------------------------------------------------------------------------


@pytest.fixture
def ensemble(attribution):
    return attribution(
        "good <b>", [0, 0.5, 0.25, 0], spread=np.array([0, 0.1, 0.25, 0]), signed=False, completeness=None
    )


def test_every_export_shows_the_spread(ensemble, attribution):
    label = "spread over members (a full bar is 0.500)"
    picture, report = to_svg(ensemble), to_html(report_maps([ensemble]))
    for source in (picture, report):
        assert label in " ".join(re.sub("<[^>]*>", " ", source).split())
    assert "good: spread 0.100" in picture
    assert "&lt;b&gt;: spread 0.250" in picture
    styles = [value for name, value in Document(report).attributes if name == "style"]
    assert any(value.endswith("--band: 0.2000") for value in styles)
    assert "rank 1 of 2, spread over members 0.100" in report
    assert "Spread" in Document(report).text
    rows = list(csv.DictReader(io.StringIO(to_csv(ensemble))))
    assert [row["spread"] for row in rows] == ["0.0", "0.1", "0.25", "0.0"]
    assert json.loads(to_json([ensemble]))["attributions"][0]["features"][1]["spread"] == 0.1


def test_no_export_of_another_method_speaks_of_a_spread(attribution):
    result = attribution("good bad")
    assert "spread" not in to_svg(result)
    assert "spread" not in re.sub("<style.*?</style>", "", to_html(report_maps([result])), flags=re.DOTALL).lower()
    assert [row["spread"] for row in csv.DictReader(io.StringIO(to_csv(result)))] == [""] * 4


def test_every_file_marks_the_features_of_highest_score(attribution):
    result = attribution("good bad fine", [9, 0.5, -1, 0.7, 9])
    root = ElementTree.fromstring(draw_svg(heatmap(result, top_k=2)))
    assert [e.text for e in root.iter(f"{SVG}text") if e.get("font-weight") == "700"] == ["good", "fine"]
    assert len([e for e in root.iter(f"{SVG}rect") if e.get("fill") == "none"]) == 2
    assert "the 2 tokens of highest score" in " ".join(root.itertext())
    report = to_html(report_maps([result], top_k=2))
    assert report.count(" framed ") == 2
    assert "place 1 by score" in report
    rows = list(csv.DictReader(io.StringIO(to_csv(result, top_k=2))))
    assert [row["top"] for row in rows] == ["", "2", "", "1", ""]
    assert json.loads(to_json([result], top_k=2))["top"] == [[3, 1]]
    assert "top" not in to_csv(result)
    assert "top" not in json.loads(to_json([result]))
