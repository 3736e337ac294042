"""The page of words: every word, method and metric, each at its anchor; and the guide to methods."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from explainlab.app.glossary import TERMS, titles
from explainlab.attribution.registry import methods
from explainlab.metrics.registry import metrics
from tests.pages.scripted import opened, words


def test_everything_stands_at_its_anchor() -> None:
    app = opened("words")
    anchors = [heading.proto.anchor for heading in app.subheader]
    assert anchors == list(dict.fromkeys(anchors))
    assert set(anchors) == set(titles())
    shown = words([*app.markdown, *app.caption, *app.subheader])
    for method in methods().values():
        assert method.plain in shown
        assert method.source in shown
    assert all(metric.plain in shown for metric in metrics().values())
    assert all(term.title in shown for terms in TERMS.values() for term in terms)


def test_the_guide_names_every_method_and_where_to_start() -> None:
    def script() -> None:
        from explainlab.app.glossary import draw_guide

        draw_guide()

    app = AppTest.from_function(script).run()
    assert not app.exception
    rows = [row for table in app.table for row in table.value.to_dict("records")]
    assert len(rows) == len(methods())
    for row, method in zip(rows, methods().values(), strict=True):
        assert f"words#{method.id.replace('_', '-')}" in row["Method"]
        assert ("start here" in row["Method"]) == method.recommended
        assert (row["Adds up"] == "yes") == method.adds_up
