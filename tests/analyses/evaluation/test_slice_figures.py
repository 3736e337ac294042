"""Slices: a row each, their means as in the result, few texts in grey."""

from __future__ import annotations

from explainlab.analyses.evaluation.figures import MOST_CLASSES, slice_means
from explainlab.analyses.evaluation.result import Slice
from explainlab.figures.chart import GREY
from tests.analyses.evaluation.conftest import HOSTILE

C = "comprehensiveness:preset=rpi"


def points(chart):
    return [trace for trace in chart.figure.data if trace.customdata is not None]


def test_every_slice_has_the_means_of_every_method_but_the_reversed(evaluated) -> None:
    body = evaluated.body
    chart = slice_means(body, C)
    means = {
        row.mean
        for each in body.slices
        for row in each.rows
        if row.metric == "comprehensiveness" and not row.method.startswith("reversed:")
    }
    assert {x for trace in points(chart) for x in trace.x} == means
    assert len(chart.figure.layout.yaxis.ticktext) == len(body.slices)


def test_slices_with_few_texts_are_grey(evaluated) -> None:
    body = evaluated.body
    few = [each.model_copy(update={"few": True}) for each in body.slices]
    many = [each.model_copy(update={"few": False}) for each in body.slices]
    grey = slice_means(body.model_copy(update={"slices": few}), C)
    assert {trace.marker.color for trace in points(grey)} == {GREY}
    assert "too few to lean on" in grey.notes[0]
    plain = slice_means(body.model_copy(update={"slices": many}), C)
    assert len({trace.marker.color for trace in points(plain)}) == 4, "random is grey"
    assert plain.notes == ()


def test_many_classes_are_cut_to_the_largest_and_their_names_are_text(evaluated) -> None:
    body = evaluated.body
    rows = body.slices[0].rows
    classes = [Slice(by="label", name=f"{HOSTILE}{i}", n=i, few=True, rows=rows) for i in range(1, MOST_CLASSES + 3)]
    chart = slice_means(body.model_copy(update={"slices": classes}), C)
    labels = chart.figure.layout.yaxis.ticktext
    assert len(labels) == MOST_CLASSES
    assert not any(label[-5:] == "n = 1" for label in labels)
    assert "the table has 2 more" in chart.notes[-1]
    assert "<script" not in str(chart.figure.to_dict())
