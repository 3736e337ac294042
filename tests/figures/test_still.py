"""Still pictures: what Plotly's figures have in them, at the places where their axes put it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import plotly.graph_objects as go
import pytest

from explainlab.figures.chart import Chart, add_cells, layout
from explainlab.figures.still import picture


def drawn(figure: go.Figure) -> ElementTree.Element:
    return ElementTree.fromstring(picture(Chart("name", "Title", "In words.", figure, [])))


def found(root: ElementTree.Element, tag: str) -> list[dict[str, str]]:
    return [dict(element.attrib) for element in root.iter() if element.tag.endswith("}" + tag) or element.tag == tag]


def texts(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter() if element.tag.endswith("tspan")]


def test_points_are_where_their_values_are() -> None:
    figure = go.Figure(layout=layout("x", "y"))
    figure.add_scatter(x=[0, 1, 4], y=[0, 10, None], mode="lines+markers", name="a")
    figure.add_scatter(x=[2], y=[5], mode="markers", name="b")
    root = drawn(figure)
    (zero, one, middle) = [(float(c["cx"]), float(c["cy"])) for c in found(root, "circle")][:3]
    assert middle[1] == pytest.approx((zero[1] + one[1]) / 2, abs=0.1)
    assert middle[0] - zero[0] == pytest.approx(2 * (one[0] - zero[0]), abs=0.1)
    assert zero[1] > one[1]
    assert {"0", "10", "x", "y", "a", "b"} <= set(texts(root))
    assert found(root, "svg")[0]["aria-label"] == "In words."


def test_six_steps_of_a_round_size_have_a_tick_each() -> None:
    figure = go.Figure(layout=layout("", ""))
    figure.add_scatter(x=[0, 6], y=[0, 1], mode="markers")
    figure.update_xaxes(range=[0, 6])
    figure.update_yaxes(showticklabels=False, range=[0, 1])
    assert {"1", "2", "3", "4", "5"} <= set(texts(drawn(figure)))


def test_logarithms_and_reversed_categories() -> None:
    figure = go.Figure(layout=layout("", ""))
    figure.add_scatter(x=[1, 10, 100, 0], y=["a", "b", "c", "a"], mode="markers")
    figure.update_xaxes(type="log")
    figure.update_yaxes(type="category", autorange="reversed")
    a, b, c = [(float(o["cx"]), float(o["cy"])) for o in found(drawn(figure), "circle")]  # 0 has no place
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.1)
    assert a[1] < b[1] < c[1]


def test_bars_boxes_cells_and_lines() -> None:
    figure = go.Figure(layout=layout("", "", barmode="group"))
    figure.add_bar(x=["p", "q"], y=[2, 4], name="one", marker_color="#123456")
    figure.add_bar(x=["p", "q"], y=[1, 3], name="two", marker_color="#654321")
    figure.add_hline(y=3, line_dash="dash")
    root = drawn(figure)
    one = [r for r in found(root, "rect") if r["fill"] == "#123456"]
    two = [r for r in found(root, "rect") if r["fill"] == "#654321"]
    assert float(one[1]["height"]) == pytest.approx(2 * float(one[0]["height"]), rel=0.01)
    assert float(two[0]["x"]) == pytest.approx(float(one[0]["x"]) + float(one[0]["width"]), abs=0.1)
    assert any(line.get("stroke-dasharray") == "6 4" for line in found(root, "line"))

    figure = go.Figure(layout=layout("", ""))
    ink = ((0, "#ffffff"), (1, "#000000"))
    add_cells(figure, ["c1", "c2"], ["r"], [[0.0, 1.0]], [["a\nsmall", "b"]], [["", ""]], ink)
    cells = found(drawn(figure), "rect")
    assert [cell["fill"] for cell in cells] == ["rgba(255,255,255,1.000)", "rgba(0,0,0,1.000)"]

    figure = go.Figure(layout=layout("", ""))
    figure.add_box(x=[1, 2, 3, 4, 5], y=["m"] * 5, orientation="h")
    assert len(found(drawn(figure), "polygon")) == 1


def test_hostile_names_are_text() -> None:
    figure = go.Figure(layout=layout("&lt;script&gt;alert(1)&lt;/script&gt;", "<b>y</b>"))
    figure.add_scatter(x=[1], y=[1], name="&lt;img onerror=x&gt;", mode="markers", showlegend=True)
    figure.update_layout(showlegend=True)
    svg = str(picture(Chart("n", "t", '"><script>', figure, [])))
    assert not re.search(r"<(script|img|b)\b", svg)
    assert "&lt;img onerror=x&gt;" in svg
    assert "<script>alert(1)</script>" in texts(ElementTree.fromstring(svg))
