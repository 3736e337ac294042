"""The evaluation: methods by metrics on a data set, against a plain loop; requests, storage, refusals and output."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import explainlab
from explainlab import cli
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.base import AnalysisResult
from explainlab.analyses.evaluation.verdict import overview
from explainlab.analyses.figures import figures_of
from explainlab.analyses.parameters import MOST_ROWS
from explainlab.analyses.registry import complete, get_study, read_result
from explainlab.attribution.registry import get_method
from explainlab.attribution.subject import Subject
from explainlab.data import NO_CLASS
from explainlab.errors import DataError, RequestError
from explainlab.metrics.evaluate import Case, evaluate
from explainlab.metrics.registry import parse_metric
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Receivers, RunContext
from explainlab.request import Request
from tests.failures import check_each

TEXTS = [("A funny and warm film, well worth the evening.", 1), ("A dull, lifeless and slow evening.", 0), ("Fine.", 1)]
METRICS = ["comprehensiveness", "sufficiency:k=50", "log_odds:k=40"]


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return explainlab.load_model("embedded:bert-mini-sst2", device="cpu")


@pytest.fixture
def data(tmp_path) -> str:
    return write(tmp_path / "rows.csv", TEXTS)


def write(path, rows) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(path)


def plain_values(classifier: Classifier, text: str, method: str, metric: str, **settings) -> float:
    """Evaluate one map of one text alone, with the opposite sign for a control."""
    subject = Subject(classifier, classifier.encode(text))
    found = explainlab.explain(
        classifier, text, method.removeprefix("reversed:"), seed=text_seed(subject), **settings
    ).scores
    scores = -found if method.startswith("reversed:") else found
    case = Case(subject.encoding, subject.units, subject.original, subject.target.index, scores[None])
    return evaluate([case], [parse_metric(metric)], Batcher(classifier, RunContext()))[0][0][0].value


def test_means_are_those_of_a_plain_loop_and_controls_are_always_there(classifier, data) -> None:
    methods = ["input_x_gradient", "occlusion"]
    body = explainlab.evaluate(classifier, data, methods, METRICS).body
    assert body.n == 3
    controls = ["random", *(f"reversed:{method}" for method in methods)]
    assert [row.method for row in body.rows] == [m for m in [*methods, *controls] for _ in METRICS]
    for row in body.rows:
        assert row.n == (3 if row.metric == "sufficiency" else 2), "less than half of two tokens is none"
        values = [plain_values(classifier, text, row.method, row.asked) for text, _ in TEXTS[: row.n]]
        assert row.mean == pytest.approx(np.mean(values), abs=1e-6)
        assert row.preset == "rpi"
        assert row.low is None or row.low <= row.mean <= row.high


INTENTS = ["book a lovely table", "play some dull music", "set a warm alarm", "bad cold soup"]
LEFT_OUT = "Left out by {}: {}, as {}% of a text is less than one feature: choose a larger share."


def test_a_text_too_short_for_k_is_left_out_and_counted_in_words(classifier, data) -> None:
    result = explainlab.evaluate(classifier, data, ["occlusion"], ["comprehensiveness"])
    row, *_ = result.body.rows
    assert (row.n, row.counted, row.undefined) == (2, 2, 1), "20% of the two tokens of 'Fine.' is no token"
    assert row.mean == pytest.approx(
        np.mean([plain_values(classifier, text, "occlusion", row.asked) for text, _ in TEXTS[:2]]), abs=1e-6
    )
    said, study = LEFT_OUT.format(row.label, "1 of 3 texts", 20), get_study("evaluation")
    assert study.report(result).headline.startswith(f"By {row.label} over 2 texts, ")
    for words in (study.report(result).headline, overview(result.body), study.report(result).lines[-1]):
        assert words.endswith(said)
    assert any(said in chart.notes for chart in figures_of(result).charts.values())


def test_texts_that_are_all_too_short_have_no_mean(classifier, tmp_path) -> None:
    """A fifth of four words is less than one: a mean of zeros would say that the maps find nothing."""

    def check(case: tuple[list[str], str, int, str]) -> None:
        texts, metric, read, said = case
        path = write(tmp_path / "intents.csv", [(text, i % 2) for i, text in enumerate(texts)])
        result = explainlab.evaluate(classifier, path, ["occlusion"], [metric], unit="word")
        row, *_ = result.body.rows
        assert (row.n, row.undefined, row.mean is None) == (read, len(texts) - read, not read)
        words = overview(result.body)
        assert words.endswith(LEFT_OUT.format(row.label, said[:-3], said[-2:]) if said else ".")
        assert ("Left out" in words) == bool(said)
        assert ("no method has a value" in words) == (not read)

    longer = [*INTENTS, "book a lovely table for two of us"]
    check_each(
        check,
        [
            (INTENTS, "comprehensiveness", 0, "4 of 4 texts 20"),
            (INTENTS, "sufficiency", 0, "4 of 4 texts 20"),
            (INTENTS, "log_odds:k=24", 0, "4 of 4 texts 24"),
            (INTENTS, "aopc_sufficiency:bins=1+5+10", 0, "4 of 4 texts 10"),
            (INTENTS, "sufficiency:preset=eraser", 0, "4 of 4 texts 20"),
            (longer, "comprehensiveness", 1, "4 of 5 texts 20"),
            (INTENTS, "comprehensiveness:k=25", 3, "1 of 4 texts 25"),
            (INTENTS, "comprehensiveness:k=34", 4, ""),
            (INTENTS, "aopc_comprehensiveness", 4, ""),
            (INTENTS, "aopc_comprehensiveness:preset=ferret", 4, ""),
            (INTENTS, "comprehensiveness:preset=alti", 4, ""),
        ],
    )


def test_a_single_text_too_short_for_k_says_so(classifier) -> None:
    result = explainlab.study(
        classifier, "evaluation", "bad cold", methods=["occlusion"], metrics=["comprehensiveness"]
    )
    assert get_study("evaluation").report(result).headline == (
        "By Comprehensiveness (RPI) on this text, no method has a value: 20% of a text is less than one feature: "
        "choose a larger share."
    )


def test_texts_in_which_a_method_scores_nothing_are_counted(classifier, data) -> None:
    """A single sample of LIME is the full text, whose slope is 0."""
    silent = "ensemble:members=lime:samples=1"
    result = explainlab.evaluate(classifier, data, [silent, "gradient"], ["comprehensiveness"])
    assert result.body.failed == {silent: 3}
    assert read_result(json.loads(json.dumps(result.to_json()))).body.failed == {silent: 3}


def test_an_ensemble_is_judged_as_any_method(classifier, data) -> None:
    members = "input_x_gradient+lime:samples=20"
    body = explainlab.evaluate(classifier, data, [f"ensemble:members={members}"], ["comprehensiveness"]).body
    values = [plain_values(classifier, text, "ensemble", "comprehensiveness", members=members) for text, _ in TEXTS[:2]]
    assert body.rows[0].mean == pytest.approx(np.mean(values), abs=1e-6)
    assert body.failed == {}


def test_random_maps_of_two_texts_are_not_the_same(classifier, tmp_path) -> None:
    twins = write(tmp_path / "twins.csv", [("a good film", 1), ("a warm book", 1), ("a good film", 1)])
    texts = explainlab.evaluate(classifier, twins, ["random"], ["comprehensiveness:k=50"]).body.texts
    assert texts[0].text_seed == texts[2].text_seed != texts[1].text_seed


def test_settings_reach_their_method_and_equal_settings_are_one_question(classifier, data) -> None:
    asked = {"settings": {"integrated_gradients": {"rule": "midpoint", "steps": 3}}}
    result = explainlab.evaluate(classifier, data, ["integrated_gradients"], ["log_odds:k=40"], **asked)
    assert result.body.cost_by_method["integrated_gradients"].backward == 9
    written = {"integrated_gradients": {"steps": "3", "rule": "midpoint"}}
    again = explainlab.evaluate(classifier, data, ["integrated_gradients"], ["log_odds:k=40"], settings=written)
    assert again.request.parameters == result.request.parameters


def test_two_settings_of_a_method_stand_in_one_table(classifier, data) -> None:
    """Settings by id fill in the options that a spec leaves out; results name methods by their specs."""
    spec = "integrated_gradients:rule=midpoint:steps=3"
    asked = {"settings": {"integrated_gradients": {"rule": "midpoint", "steps": 5, "baseline": "zero"}}}
    methods = ["integrated_gradients", "integrated_gradients:steps=3:rule=midpoint"]
    body = explainlab.evaluate(classifier, data, methods, ["log_odds:k=40"], **asked).body
    assert list(body.cost_by_method) == ["integrated_gradients", spec, "random"]
    assert [body.cost_by_method[name].backward for name in body.cost_by_method] == [15, 9, 0]
    for row in body.rows:
        if "integrated_gradients" in row.method:
            steps = {"rule": "midpoint", "steps": 3 if spec in row.method else 5, "baseline": "zero"}
            name = row.method.removesuffix(":rule=midpoint:steps=3")
            values = [plain_values(classifier, text, name, row.asked, **steps) for text, _ in TEXTS[: row.n]]
            assert row.mean == pytest.approx(np.mean(values), abs=1e-6)


def test_an_id_with_settings_is_the_question_that_it_was(classifier, data) -> None:
    """A stored request has methods as ids, and settings with every parameter."""
    asked = {"methods": ["lime"], "settings": {"lime": {"samples": 30}}, "metrics": ["log_odds"]}
    request = complete(Request(question="evaluation", model=classifier.id, data=data, parameters=asked))
    assert request.parameters["methods"] == ["lime", "random"]
    assert request.parameters["settings"]["lime"]["samples"] == 30
    assert request.parameters["settings"]["lime"].keys() == get_method("lime").Parameters.model_fields.keys()
    assert complete(Request(**request.model_dump())) == request


def test_a_finished_text_is_remembered_whole(classifier, data) -> None:
    context = RunContext()
    asked = {"seed": 3, "context": context}
    first = explainlab.evaluate(classifier, data, ["occlusion"], ["log_odds:k=40"], **asked)
    again = explainlab.evaluate(classifier, data, ["occlusion"], ["log_odds:k=40"], **asked)
    assert again.body == first.body
    assert read_result(first.to_json()) == first


def test_gold_explains_the_label_of_every_row(classifier, tmp_path) -> None:
    wrong = write(tmp_path / "wrong.csv", [(TEXTS[0][0], "negative")])
    by_gold = explainlab.evaluate(classifier, wrong, ["random"], ["log_odds:k=40"], target="gold").body
    by_name = explainlab.evaluate(classifier, wrong, ["random"], ["log_odds:k=40"], target="negative").body
    assert by_gold.texts[0].values == by_name.texts[0].values


def test_a_bad_row_ends_it_with_its_number_or_is_counted(classifier, tmp_path) -> None:
    path = write(tmp_path / "bad.csv", [TEXTS[0], (" ", 1), TEXTS[1]])
    with pytest.raises(DataError, match="2"):
        explainlab.evaluate(classifier, path, ["random"], ["comprehensiveness"])
    result = explainlab.evaluate(classifier, path, ["random"], ["comprehensiveness"], skip_bad=True)
    assert result.body.n == 2
    assert [number for number, _ in result.skipped] == [2]


def test_a_limit_of_no_rows_is_refused_and_none_means_most(classifier, data) -> None:
    for sample in ("random", "first"):
        with pytest.raises((DataError, RequestError), match="1"):
            explainlab.evaluate(classifier, data, ["random"], ["log_odds"], limit=0, sample=sample)
    assert explainlab.evaluate(classifier, data, ["random"], ["log_odds"]).request.parameters["rows"] == MOST_ROWS


def test_columns_and_classes_say_how_the_file_is_read(classifier, tmp_path) -> None:
    path = tmp_path / "named.csv"
    path.write_text("review,mark\na fine film,good\na dull film,bad\n", encoding="utf-8")
    reading = {
        "columns": {"text": "review", "label": "mark"},
        "classes": {"good": "positive", "bad": "negative"},
    }
    result = explainlab.evaluate(classifier, str(path), ["random"], ["log_odds:k=50"], **reading)
    assert [(text.text, text.label) for text in result.body.texts] == [
        ("a fine film", "positive"),
        ("a dull film", "negative"),
    ]


UNLABELLED = [{"text": text} for text, _ in TEXTS]
OF_NO_CLASS = {
    "no column": [None, None, None],
    "names of something else": ["evening", "evening", "word"],
    "numbers of something else": [4, 5, 2],
    "several in a list": [["positive", "negative"], ["positive"] * 2, []],
    "empty cells": ["", None, " "],
    "half of a class": ["positive", "splendid", "nonsense"],
}


@pytest.mark.parametrize("labels", OF_NO_CLASS.values(), ids=OF_NO_CLASS)
def test_no_label_matters_where_the_predicted_class_is_explained(classifier, labels) -> None:
    asked = {"methods": ["gradient"], "metrics": METRICS}
    expected = explainlab.evaluate(classifier, UNLABELLED, **asked)
    records = [{"text": text, "label": label} for (text, _), label in zip(TEXTS, labels, strict=True)]
    found = explainlab.evaluate(classifier, UNLABELLED if labels[0] is None else records, **asked)
    assert (found.body.n, found.body.rows, found.skipped) == (3, expected.body.rows, ())
    known = [label if label == "positive" else "" for label in labels]
    assert [text.label for text in found.body.texts] == known
    by = {part.by for part in found.body.slices}
    assert by == ({"label", "prediction", "length"} if any(known) else {"length"})
    assert all(part.n == 1 for part in found.body.slices if part.by != "length")
    named = sum(bool(str(label or "").strip(" []")) for label in labels) - sum(map(bool, known))
    words = [line for line in found.warnings if NO_CLASS in line]
    assert [line.partition(", as")[0] for line in words] == [f"Rows without a label: {named}"] * bool(named)
    assert list(expected.warnings) == [line for line in found.warnings if line not in words]


@pytest.mark.parametrize(
    "read",
    [{"target": "gold"}, {"classes": {"splendid": "positive"}}, {"columns": {"label": "label"}}],
    ids=lambda read: next(iter(read)),
)
def test_labels_that_the_question_names_must_be_there_and_be_classes(classifier, read) -> None:
    asked = {"methods": ["random"], "metrics": ["log_odds:k=50"], **read}
    with pytest.raises(DataError, match="no column 'label'"):
        explainlab.evaluate(classifier, UNLABELLED, **asked)
    other = [{**record, "label": label} for record, label in zip(UNLABELLED, (1, "dull", 1), strict=True)]
    with pytest.raises(DataError, match=r"Row 2 .*'dull' is not a class"):
        explainlab.evaluate(classifier, other, **asked)
    assert [number for number, _ in explainlab.evaluate(classifier, other, **asked, skip_bad=True).skipped] == [2]


def test_the_command_line_asks_for_labels_only_where_they_are_needed(home, tmp_path, capsys, monkeypatch) -> None:
    path = tmp_path / "unlabelled.csv"
    path.write_text("text\n" + "".join(f'"{text}"\n' for text, _ in TEXTS))
    model = ["--model", "embedded:bert-mini-sst2", "--data", str(path)]
    arguments = ["explainlab", "evaluate", *model, "--methods", "random", "--metrics", "log_odds:k=50"]
    for more, code, told in ([], None, "n = 3"), (["--target", "gold"], 2, "no column 'label'"):
        monkeypatch.setattr("sys.argv", [*arguments, *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert (ended.value.code or None) == code
        assert told in "".join(capsys.readouterr())


def test_warnings_of_methods_reach_the_reader_with_their_names(classifier, tmp_path) -> None:
    text, narrow = TEXTS[0][0], {"kernel_width": 0.01, "samples": 20}
    asked = {"methods": ["occlusion", "lime"], "settings": {"lime": narrow}, "metrics": ["log_odds"]}
    result = explainlab.study(classifier, "evaluation", text, **asked)
    (alone,) = explainlab.explain(classifier, text, "lime", **narrow).warnings
    assert result.warnings == (f"LIME: {alone}",)
    rows = write(tmp_path / "rows.csv", TEXTS[:2])
    warnings = explainlab.evaluate(classifier, rows, **asked).warnings
    assert len(warnings) == 1
    assert "2 of 2" in warnings[0]


@pytest.mark.parametrize(
    ("methods", "metrics", "settings", "told"),
    [
        (["occlusoin"], ["comprehensiveness"], {}, "occlusion"),
        (["occlusion"], ["comprehensivness"], {}, "comprehensiveness"),
        (["occlusion"], ["comprehensiveness:k=101"], {}, "k = "),
        (["occlusion"], ["comprehensiveness", "comprehensiveness:k=20"], {}, "each once"),
        (["occlusion", "occlusion"], ["comprehensiveness"], {}, "each once"),
        (["lime", "lime:samples=200"], ["comprehensiveness"], {}, "each once"),
        (["lime:sample=20"], ["comprehensiveness"], {}, "no parameter"),
        (["reversed:lime"], ["comprehensiveness"], {}, "no method"),
        (["occlusion"], ["comprehensiveness"], {"lime": {}}, "lime is not"),
        (["occlusion"], ["comprehensiveness"], {"occlusion": {"steps": 3}}, "no parameter"),
    ],
)
def test_a_bad_question_is_refused_in_words(classifier, data, methods, metrics, settings, told) -> None:
    with pytest.raises(RequestError, match=told):
        explainlab.evaluate(classifier, data, methods, metrics, settings=settings)


def test_the_command_line_prints_the_contract(home, data, capsys, monkeypatch) -> None:
    arguments = ["evaluate", "--model", "embedded:bert-mini-sst2", "--data", data, "--methods", "input_x_gradient"]
    arguments += ["--metrics", "log_odds,comprehensiveness:k=10:removal=mask,aopc_sufficiency:bins=1+5+10", "--json"]
    monkeypatch.setattr("sys.argv", ["explainlab", *arguments, "--set", "input_x_gradient.reduction=l2"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    printed = json.loads(capsys.readouterr().out)
    assert {"model", "data", "n", "rows", "skipped"} <= printed.keys()
    assert printed["skipped"] == 0
    assert len(printed["rows"]) == 9
    row = printed["rows"][0]
    assert {
        "method",
        "metric",
        "preset",
        "mean",
        "low",
        "high",
        "n",
        "undefined",
        "to_best",
        "told_apart",
    } <= row.keys()
    for metric in ("log_odds", "comprehensiveness:k=10:removal=mask", "aopc_sufficiency:bins=1+5+10"):
        rows = [row for row in printed["rows"] if row["key"] == metric]
        assert [row["to_best"] for row in rows].count(None) == 1, "the best itself"
        assert {row["method"] for row in rows} == {"input_x_gradient", "random", "reversed:input_x_gradient"}
        for row in rows:
            assert row["to_best"] is None or row["to_best"].keys() == {"mean", "low", "high", "p"}
            assert (row["told_apart"] is None) == (row["to_best"] is None)
    (pair,) = printed["agreement"]
    assert (pair["first"], pair["second"]) == ("input_x_gradient", "random")
    assert pair["sign_conflicts"] is None, "with reduction=l2 the scores have no sign"
    assert -1 <= pair["tau"]["mean"] <= 1
    assert [{"metric", "method", "rank"}] * 6 == [rank.keys() for rank in printed["ranks"]]


def test_maps_made_elsewhere_are_judged_beside_ours(classifier, data, tmp_path, capsys) -> None:
    records = []
    for text, _ in TEXTS:
        seed = text_seed(Subject(classifier, classifier.encode(text)))
        records.append(explainlab.explain(classifier, text, "occlusion", seed=seed).to_json())
    path = tmp_path / "other.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    body = explainlab.evaluate(classifier, data, ["occlusion"], METRICS, attributions=[str(path)]).body
    rows = {(row.method, row.asked): row for row in body.rows}
    for metric in {row.asked for row in body.rows}:
        ours, theirs = rows["occlusion", metric], rows["other", metric]
        assert (ours.mean, ours.low, ours.n) == (theirs.mean, theirs.low, theirs.n)
    assert set(body.cost_by_method) == {"occlusion", "random"}
    path.write_text(json.dumps(records[:1]), encoding="utf-8")
    with pytest.raises(RequestError, match=r"other\.json has no attribution of"):
        explainlab.evaluate(classifier, data, ["occlusion"], METRICS, attributions=[str(path)])
    with pytest.raises(RequestError, match="have the same name"):
        explainlab.evaluate(classifier, data, ["occlusion"], METRICS, attributions=[str(path), str(path)])


def test_a_run_shows_the_means_of_the_texts_that_are_finished(classifier, tmp_path) -> None:
    data = write(tmp_path / "rows.csv", [(f"a film of {'good ' * i}parts", i % 2) for i in range(9)])
    shown: list[AnalysisResult] = []
    context = RunContext(progress=Receivers(show=lambda result: shown.append(result())))
    whole = explainlab.evaluate(classifier, data, ["gradient"], METRICS, context=context)
    assert [result.body.n for result in shown] == [4, 9]
    first = shown[0].body
    by_row = {text.row: text for text in whole.body.texts}
    assert all(text == by_row[text.row] for text in first.texts)
    for row in first.rows:
        assert row.mean == pytest.approx(np.mean([text.values[row.method][row.asked] for text in first.texts]))
    assert shown[-1].body == whole.body
