"""The contract of analyses, checked on any model."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from explainlab.analyses.base import Analysis, AnalysisResult, Record
from explainlab.analyses.explain.analysis import Explain
from explainlab.analyses.figures import declared_figures
from explainlab.analyses.registry import kind_of
from explainlab.attribution.records import Attribution
from explainlab.declared import ParameterSpec, parse, specs
from explainlab.errors import Cancelled, RequestError
from explainlab.figures.declared import Figures
from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, MemoryCache, RunContext
from explainlab.reader import ANYBODY
from explainlab.request import CompleteRequest, Request
from explainlab.result import Result
from explainlab.testing.exact import exact
from explainlab.testing.observation import Recorder, unchanged, watched

OTHER_TEXT = "Another text."


@dataclass(frozen=True, eq=False)
class AnalysisRun:
    """An analysis on a classifier, of a ``text`` or of the data set ``data`` (the other is None).

    Both are None for a self-contained analysis, whose requests do not name the classifier either.
    """

    analysis: Analysis
    classifier: Classifier
    text: str | None
    data: str | None
    parameters: dict[str, Any]

    def __call__(self, context: RunContext | None = None) -> Result:
        """Return the result, computed in ``context``."""
        return self.analysis.run(self.classifier, self.request(), context or RunContext())

    @cached_property
    def usual(self) -> tuple[Result, Recorder]:
        """A result with its reports of progress, computed once; the model stays as it was."""
        progress = Recorder()
        with unchanged(self.classifier, "a run"):
            return self(progress.context), progress

    def request(self, **fields: Any) -> CompleteRequest:
        """Return the request with other values of ``fields``."""
        source = {"text": self.text, "data": self.data}
        output = self.analysis.requirements(parse(self.analysis, self.parameters)).output
        model = "" if self.text is None and self.data is None else self.classifier.id
        shared = {"model": model, "parameters": self.parameters, "output": output}
        return self.analysis.complete(Request(question=self.analysis.id, **{**shared, **source, **fields}))

    def key(self, model_digest: str = "", **fields: Any) -> str:
        """Return the key of a request with other values of ``fields``, or of another model."""
        return self.analysis.key(self.request(**fields), model_digest or self.classifier.digest, ANYBODY)


Check = Callable[[AnalysisRun], None]


def check_analysis(
    analysis: Analysis, classifier: Classifier, *, text: str | None, data: str | None, **parameters: Any
) -> None:
    """Check that ``analysis`` with these ``parameters`` fulfils the contract on ``classifier``.

    ``text`` and ``data`` (a data set's path or id, with at least two usable rows if the analysis takes that many) are
    its inputs; None: the analysis refuses such a request, as a self-contained one does both. Raises
    :class:`AssertionError` with what is wrong. Choose cheap parameters: it runs about six times.
    """
    _run_check(declares, AnalysisRun(analysis, classifier, text, data, parameters))
    for run, checks in (
        (AnalysisRun(analysis, classifier, text, None, parameters), OF_TEXT),
        (AnalysisRun(analysis, classifier, None, data, parameters), OF_DATA),
    ):
        if run.text is None and run.data is None:
            other = {"data": "embedded:sentiment"} if text is not None else {"text": OTHER_TEXT}
            run, checks = (
                AnalysisRun(analysis, classifier, other.get("text"), other.get("data"), parameters),
                (refuses,),
            )
        for check in checks:
            _run_check(check, run)
    if analysis.self_contained:
        for check in OF_TEXT:
            _run_check(check, AnalysisRun(analysis, classifier, None, None, parameters))


def _run_check(check: Check, run: AnalysisRun) -> None:
    of = "a text" if run.text is not None else "a data set" if run.data is not None else "nothing"
    try:
        check(run)
    except AssertionError as error:
        raise AssertionError(f"{run.analysis.id} of {of}, {check.__name__}: {error}") from error


# The declaration -----------------------------------------------------------------------------------------------------


def declares(run: AnalysisRun) -> None:
    """Check that the declarations are there, and every parameter is described."""
    analysis = run.analysis
    assert re.fullmatch(r"[a-z][a-z0-9_]*", analysis.id), f"the id {analysis.id!r} is no lower-case name"
    for name in ("label", "source", "definition"):
        assert getattr(analysis, name, "").strip(), f"it has no {name}"
    assert type(analysis).__doc__, "its class has no docstring"
    assert analysis.version >= 1, "its version is less than 1"
    silent = [spec.name for spec in specs(analysis.Parameters) if not spec.help]
    assert not silent, f"parameters without a description: {', '.join(silent)}"


def refuses(run: AnalysisRun) -> None:
    """Check that the analysis refuses an unfit request before any pass, with a remedy."""
    with watched(run.classifier) as passes:
        try:
            run()
        except RequestError as error:
            remedy = error.remedy
        else:
            raise AssertionError("it answers although it says that it does not")
    assert passes.calls == 0, "it makes passes before it refuses"
    assert remedy, "the refusal does not say what to do"


# The answers ---------------------------------------------------------------------------------------------------------


def answers(run: AnalysisRun) -> None:
    """Check that a result is typed, plain finite JSON, and the same after a second reading or computation."""
    result, _ = run.usual
    request = run.request()
    assert result.request == request, "the result is of another request"
    if isinstance(result, AnalysisResult):
        assert isinstance(result.body, Record), f"the body is a {type(result.body).__name__}, not a Record"
    else:
        assert isinstance(result, Attribution), f"the result is a {type(result).__name__}"
    record = _plain(result)
    fields = request.to_json(kind_of(request))
    fields["target_asked"] = fields.pop("target")
    lost = [name for name, value in fields.items() if name not in record or record[name] != value]
    assert not lost, f"fields of the request that the JSON does not have: {', '.join(lost)}"
    assert record["versions"], "the result does not say by which versions it was computed"
    back = run.analysis.read(record)
    assert type(back) is type(result), f"it is read as a {type(back).__name__}"
    assert _plain(back) == record, "the result that is read from its JSON has another JSON"
    if isinstance(result, AnalysisResult):
        assert getattr(back, "body", None) == result.body, "the body that is read from its JSON is another"
    _says_the_same(run, result, back)
    assert _answer(run()) == _answer(result), "a second run gives another result"
    try:
        run.analysis.read({name: value for name, value in record.items() if name != "cost"})
    except (KeyError, ValueError):
        return
    raise AssertionError("it reads a record that has no cost")


def _plain(result: Result) -> dict[str, Any]:
    """Return the JSON of a result after a round trip through text."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(result.to_json(), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"its JSON is not plain and finite: {error}") from None
    return plain


def _answer(result: Result) -> dict[str, Any]:
    """Return the JSON of a result without its times."""
    record = _without_seconds(_plain(result))
    assert isinstance(record, dict)
    return record


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_seconds(part) for name, part in value.items() if name != "seconds"}
    return [_without_seconds(part) for part in value] if isinstance(value, list) else value


def _says_the_same(run: AnalysisRun, result: Result, back: Result) -> None:
    """Check that the headline is a sentence with a number, and that all words depend on the record alone."""
    said, again = run.analysis.report(result), run.analysis.report(back)
    headline, lines = said.headline, said.lines
    assert headline.strip(), "it has no headline"
    assert len(headline.splitlines()) == 1, "the headline has several lines"
    assert isinstance(run.analysis, Explain) or headline.endswith("."), f"the headline is no sentence: {headline}"
    assert re.search(r"\d", headline), f"the headline has no number: {headline}"
    assert "".join(lines).strip(), "it prints no lines"
    same = (again.headline, again.lines) == (headline, lines)
    assert same, "the result that is read from its JSON has another headline or other lines"
    if run.data is not None:
        numbers = said.numbers
        names = [(number.measure.key, number.of) for number in numbers]
        assert len(set(names)) == len(names), "two headline numbers have one name"
        assert list(again.numbers) == list(numbers), "what is read from JSON has other headline numbers"


def draws(run: AnalysisRun) -> None:
    """Check that charts have a title, a description, numbers and a figure, or that there is a reason for no chart."""
    if isinstance(run.analysis, Explain):  # drawn by its features and scores
        return
    try:
        figures = declared_figures(run.analysis)
    except (ModuleNotFoundError, AttributeError, StopIteration):
        raise AssertionError("there is no FIGURES in figures.py beside its analysis.py") from None
    result, _ = run.usual
    drawn = figures.draw(result)
    assert drawn.charts or drawn.none, "there is no chart, and nothing says why"
    for name, chart in drawn.charts.items():
        assert chart.title.strip(), f"the chart {name} has no title"
        assert chart.alt.endswith("."), f"the chart {name} is not described in words"
        assert chart.rows, f"the chart {name} has no numbers"
        assert len(list(csv.DictReader(io.StringIO(chart.to_csv())))) == len(chart.rows), f"the CSV of {name} differs"
        chart.to_json()
        assert chart.figure.data, f"the chart {name} is empty"
    for name, shown in drawn.maps.items():
        assert shown.title.strip(), f"the map {name} has no title"
        assert shown.drawn.tokens, f"the map {name} is empty"
    back = figures.draw(run.analysis.read(_plain(result)))
    assert _pictures(back) == _pictures(drawn), "the result that is read from its JSON is drawn differently"


def _pictures(figures: Figures) -> list[Any]:
    charts = [(name, chart.figure.to_json(), chart.rows) for name, chart in figures.charts.items()]
    return [*charts, *figures.maps.items()]


def keys(run: AnalysisRun) -> None:
    """Check that equal requests have equal keys in every spelling, and that each field behind the numbers counts."""
    key, request = run.key(), run.request()
    assert re.fullmatch(r"[0-9a-f]{64}", key), f"the key {key!r} is not 64 hexadecimal digits"
    assert run.key(parameters=request.parameters) == key, "a request written out in full has another key"
    if not run.analysis.self_contained:
        assert run.key(model="elsewhere") == key, "the same model by another name has another key"
    assert run.key("0" * 64) != key, "another model has the same key"
    others: list[dict[str, Any]] = [{"target": run.classifier.labels[0]}, {"seed": 1}, {"unit": "word"}]
    others.append({"output": "logit" if request.output == "probability" else "probability"})
    others += [{"parameters": parameters} for parameters in _other_parameters(run)]
    others += [{"text": OTHER_TEXT}] if run.text is not None else []
    for other in others:
        assert run.key(**other) != key, f"another {next(iter(other))} has the same key: {other}"


def _other_parameters(run: AnalysisRun) -> Iterator[dict[str, Any]]:
    """Yield the parameters with a change in one of them, for each that can change; ``rows`` has no effect on a text."""
    parameters = run.request().parameters
    for spec in specs(run.analysis.Parameters):
        for value in _other_values(spec, parameters[spec.name]):
            if spec.name in ("rows", "sample") and run.text is not None:
                continue
            try:
                other = run.request(parameters={**run.parameters, spec.name: value}).parameters
            except RequestError:  # not with the other parameters
                continue
            if other != parameters:
                yield other
                break


def _other_values(spec: ParameterSpec, value: Any) -> list[Any]:
    if spec.kind == "flag":
        return [not value]
    if spec.kind == "choice":
        return [choice for choice in spec.choices if choice != value]
    if spec.kind in ("integer", "number") and value is not None:
        return [value + 1, value - 1, value / 2]
    return []


# How it runs ---------------------------------------------------------------------------------------------------------


def progress(run: AnalysisRun) -> None:
    """Check that progress reaches its total, and that a cancelled run stops before its next pass without a trace."""
    _, recorder = run.usual
    assert recorder.seen, "no progress is reported"
    assert all(0 <= done <= total and phase for done, total, phase in recorder.seen), "the progress is out of range"
    done, total, _ = recorder.seen[-1]
    assert done == total, f"the progress ends at {done} of {total}"
    assert recorder.checks, "it never asks whether to stop"
    with unchanged(run.classifier, "a cancelled run"), watched(run.classifier) as passes:
        _stopped(run, Recorder(last=1).context)
    assert passes.calls == 0, "a cancelled run makes another pass"


def goes_on(run: AnalysisRun) -> None:
    """Check that a stopped run of a data set continues, and does not repeat stored results (in float64)."""
    with exact(run.classifier) as classifier:
        run = replace(run, classifier=classifier)
        with watched(classifier) as whole:
            expected = run()
        memory = _Interrupted()
        context = RunContext(cache=memory, results=memory)
        with unchanged(classifier, "a stopped run"):
            _stopped(run, context)
        with watched(classifier) as rest:
            result = run(context)
        assert rest.forward < whole.forward, "a run that was stopped begins again"
        assert _alike(_answer(result), _answer(expected)), "a run that was stopped gives another result"
        with watched(classifier) as again:
            result = run(context)
        assert not again.forward or again.forward < rest.forward, "what is stored is run again"
        assert _alike(_answer(result), _answer(expected)), "what is stored gives another result"


def _alike(value: Any, other: Any) -> bool:
    """Return True if two records are equal except for float64 rounding and costs: stored results cost nothing."""
    if isinstance(value, dict) and isinstance(other, dict):
        names = (value.keys() | other.keys()) - {"cost"}
        return all(name in value and name in other and _alike(value[name], other[name]) for name in names)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(_alike(*pair) for pair in zip(value, other, strict=True))
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=1e-7, abs_tol=1e-9)
    return bool(value == other)


def _stopped(run: AnalysisRun, context: RunContext) -> None:
    try:
        run(context)
    except Cancelled:
        return
    raise AssertionError("it keeps nothing, or it does not stop when it is cancelled")


class _Interrupted(MemoryCache):
    """A memory of plain JSON; the first run in it is cancelled as soon as it has kept something."""

    _cancelled = False

    def put_many(self, bodies: Mapping[str, Body], renew: bool = False) -> None:
        super().put_many(json.loads(json.dumps(dict(bodies), allow_nan=False)), renew)
        if not self._cancelled:
            self._cancelled = True
            raise Cancelled


OF_TEXT: tuple[Check, ...] = (answers, draws, keys, progress)
OF_DATA: tuple[Check, ...] = (*OF_TEXT, goes_on)
