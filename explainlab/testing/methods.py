"""The contract of methods, checked on any model."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from explainlab.attribution.explain import attribute, attribute_many
from explainlab.attribution.method import Method
from explainlab.attribution.records import Attribution
from explainlab.declared import parse
from explainlab.errors import Cancelled, ResourceError, UnsupportedError
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest, Request
from explainlab.testing.exact import assert_equal, exact
from explainlab.testing.observation import Passes, Recorder, unchanged, watched
from explainlab.text.units import group

TEXT = "A funny film. It isn't good!"
PAIR = ("a funny film", "the plot")
TOGETHER = ("good", "It isn't a funny film but a good film and a good plot!", TEXT)
"""Texts of different lengths, in no order: whoever sorts them must undo it, not do it again."""
FEWEST = 2
"""The smallest batch that a method may need: some run a text together with its baseline."""


@dataclass(frozen=True)
class Observed:
    """An attribution with its passes and its reports of progress."""

    result: Attribution
    passes: Passes
    progress: Recorder


@dataclass(frozen=True, eq=False)
class MethodRun:
    """A method on a classifier, with fixed parameters."""

    method: Method
    classifier: Classifier
    parameters: dict[str, Any]

    @cached_property
    def usual(self) -> Observed:
        """The attribution of :data:`TEXT`, which leaves the model as it was."""
        with unchanged(self.classifier, "a run"):
            return self._observed(self.classifier)

    @cached_property
    def exact(self) -> Observed:
        """The same as :attr:`usual`, in float64."""
        with exact(self.classifier) as classifier:
            return self._observed(classifier)

    def _observed(self, classifier: Classifier) -> Observed:
        progress = Recorder()
        with watched(classifier) as passes:
            return Observed(self.on(classifier, context=progress.context), passes, progress)

    def __call__(self, text: str = TEXT, **options: Any) -> Attribution:
        """Return the attribution of ``text``; see :meth:`on`."""
        return self.on(self.classifier, text, **options)

    def on(
        self,
        classifier: Classifier,
        text: str = TEXT,
        *,
        padding: int = 0,
        context: RunContext | None = None,
        **options: Any,
    ) -> Attribution:
        """Return the attribution of ``text`` by another ``classifier``, with ``padding`` more tokens.

        ``options`` are fields of the request.
        """
        request = self.request(classifier, text, **options)
        encoding = classifier.encode(text, request.text_pair)
        encoding = encoding.padded(len(encoding) + padding, classifier.pad_id)
        self.method.require(classifier)
        return attribute(classifier, encoding, self.method, request, context)

    def together(
        self, classifier: Classifier, texts: Sequence[str], context: RunContext | None = None
    ) -> list[Attribution]:
        """Return the attributions of ``texts`` by ``classifier``, in one call."""
        encodings = [classifier.encode(text) for text in texts]
        requests = [self.request(classifier, text) for text in texts]
        return attribute_many(classifier, encodings, self.method, requests, context)

    def request(self, classifier: Classifier, text: str, **options: Any) -> CompleteRequest:
        """Return the request of ``text``; ``options`` are its other fields."""
        parameters = parse(self.method, self.parameters)
        fields = {"output": self.method.default_output(parameters.model_dump(mode="json")), **options}
        return Request(model=classifier.id, text=text, question=self.method.id, **fields).completed(parameters)


Check = Callable[[MethodRun], None]


def check_method(method: Method, classifier: Classifier, **parameters: Any) -> None:
    """Check that ``method`` with these ``parameters`` fulfils the contract on ``classifier``.

    A method that does not support the classifier must refuse it. Raises :class:`AssertionError` with what is wrong.
    Choose parameters that make the method fast: it runs about fifteen times.
    """
    check_method_on_model(method, classifier, **parameters)
    if not method.unsupported(classifier.architecture):
        run = MethodRun(method, classifier, parameters)
        for check in ANYWHERE:
            _run_check(check, run)


def check_method_on_model(method: Method, classifier: Classifier, **parameters: Any) -> None:
    """Run the checks of :func:`check_method` that depend on the model: for every pair of method and model."""
    run = MethodRun(method, classifier, parameters)
    for check in ON_EVERY_MODEL if not method.unsupported(classifier.architecture) else (refuses,):
        _run_check(check, run)


def _run_check(check: Check, run: MethodRun) -> None:
    try:
        check(run)
    except AssertionError as error:
        raise AssertionError(f"{run.method.id} on {run.classifier.id}, {check.__name__}: {error}") from error


# What depends on the method and on the model ---------------------------------------------------------------------


def refuses(run: MethodRun) -> None:
    """Check that a method refuses a model that lacks a needed capability, before any pass, with all reasons."""
    capabilities = run.classifier.architecture.capabilities
    with watched(run.classifier) as passes:
        try:
            run()
        except UnsupportedError as error:
            message = str(error)
        else:
            raise AssertionError("it runs although it says that it cannot")
    assert passes.calls == 0, "it makes passes before it refuses"
    missing = [reason for need in run.method.needs if (reason := capabilities[need])]
    assert all(reason in message for reason in missing), f"the refusal does not name what is missing: {message}"


def answers(run: MethodRun) -> None:
    """Check a finite score for each token, target and sum, the unchanged model, and an equal second run."""
    result = run.usual.result
    _has_its_shape(run, result)
    again = run(seed=0 if run.method.random else 1)
    assert np.array_equal(again.scores, result.scores), "a second run gives other scores"


def _has_its_shape(run: MethodRun, result: Attribution) -> None:
    encoding = run.classifier.encode(TEXT)
    scores = result.scores
    assert scores.shape == (len(encoding),), f"the scores have the shape {scores.shape}, not one for each token"
    assert scores.dtype == np.float64, f"the scores are {scores.dtype}"
    assert np.isfinite(scores).all(), "a score is not finite"
    assert np.abs(scores).max() > 0, "all scores are zero"
    assert result.signed or scores.min() >= 0, "a method without sign has a negative score"
    assert [f.special for f in result.features] == encoding.special.tolist(), "the special tokens are not flagged"
    assert result.target.label == result.prediction.label, "the target is not the predicted class"
    probabilities = run.classifier.predict(encoding).probabilities
    reported = result.prediction.probabilities
    assert all(abs(reported[label] - p) < 1e-5 for label, p in probabilities.items()), "the prediction differs"
    assert result.errors is None or result.errors.shape == scores.shape, "there is not an error for each score"
    promises = result.completeness is not None
    assert promises == run.method.adds_up, "whether its scores promise a sum is not what adds_up declares"
    if result.completeness:
        assert abs(result.completeness.sum - scores.sum()) < 1e-12 * len(scores), (
            "the reported sum is not that of the scores"
        )
        assert np.isfinite(result.completeness.expected), "the expected sum is not finite"


def costs(run: MethodRun) -> None:
    """Check that the cost is the number of texts that passed the model, forward and backward.

    If a method replaces the attention of a lower layer, a pass may have two parts, which count as two. The cached pass
    over a prompt that texts share does not count.
    """
    cost, passes = run.usual.result.cost, run.usual.passes
    apart = passes.forward - cost.forward == 1 and run.classifier.prompt is not None
    made = (passes.forward - apart, passes.backward)
    assert (cost.forward, cost.backward) == made, f"the cost is reported as {cost}, but the passes are {made}"
    assert cost.seconds > 0, "the cost has no seconds"


def batches(run: MethodRun) -> None:
    """Check that neither padding nor batch size changes a score (in float64); smaller batches give a warning."""
    expected, limit = run.exact.result, _smaller(run.exact.passes)
    with exact(run.classifier) as classifier, watched(classifier, limit):
        result = run.on(classifier, padding=3)
        terms = _terms(classifier)
    what = "the scores of the padded text" + " in smaller batches" * bool(limit)
    assert_equal(result.scores, expected.scores, what, terms)
    costs = _passes(result), _passes(expected)
    assert costs[0] == costs[1], f"the cost depends on padding or the size of the batches: {costs}"
    halved = any("Memory ran out" in warning for warning in result.warnings)
    assert halved == bool(limit), "smaller batches give no warning"


def together(run: MethodRun) -> None:
    """Check that texts attributed in one call and alone agree in float64 scores, costs, warnings and targets."""
    progress = Recorder()
    with exact(run.classifier) as classifier:
        alone = [run.exact.result if text == TEXT else run.on(classifier, text) for text in TOGETHER]
        with watched(classifier) as passes:
            batched = run.together(classifier, TOGETHER, progress.context)
        assert len(batched) == len(alone), f"{len(alone)} texts have {len(batched)} attributions"
        terms = _terms(classifier)
        if limit := _smaller(passes):
            with watched(classifier, limit):
                halved = run.together(classifier, TOGETHER)
            for result, expected in zip(halved, batched, strict=True):
                assert_equal(result.scores, expected.scores, "the scores from smaller batches", terms)
    for text, result, expected in zip(TOGETHER, batched, alone, strict=True):
        assert_equal(result.scores, expected.scores, f"the scores of {text!r} among others", terms)
        costs = _passes(result), _passes(expected)
        assert costs[0] == costs[1], f"the cost of {text!r} among others is {costs[0]}, alone {costs[1]}"
        same = (result.request, result.target, result.features) == (
            expected.request,
            expected.target,
            expected.features,
        )
        assert same, f"{text!r} among others has another target or other features"
        assert result.warnings == expected.warnings, f"{text!r} among others has the warnings {result.warnings}"
    _counts_up(run, progress)


def _smaller(passes: Passes) -> int | None:
    """Return a size of batches under which these ``passes`` do not fit; None: no method could make them smaller."""
    return max(FEWEST, passes.widest // 3) if passes.widest > FEWEST else None


def _passes(result: Attribution) -> tuple[int, int]:
    return result.cost.forward, result.cost.backward


def _terms(classifier: Classifier) -> float:
    """Return the size of the largest logit of :data:`TEXT`, but at least 1."""
    logits = classifier.logits(classifier.inputs([classifier.encode(TEXT)]))
    return max(1.0, float(np.abs(classifier.finite(logits)).max()))


def _counts_up(run: MethodRun, context: Recorder) -> None:
    """Check that the progress of several texts reaches its total; a cancelled run stops before its second batch."""
    _in_range(context)
    if context.checks > 1:
        try:
            run.together(run.classifier, TOGETHER, Recorder(last=2).context)
        except Cancelled:
            return
        raise AssertionError("a cancelled run of several texts does not stop")


# What depends on the method alone -------------------------------------------------------------------------------


def stores(run: MethodRun) -> None:
    """Check that a result survives a round trip through JSON."""
    result = run.usual.result
    body = json.loads(json.dumps(result.to_json(), allow_nan=False))
    back = Attribution.from_json(body)
    assert json.loads(json.dumps(back.to_json())) == body, "a round trip through JSON changes the JSON"
    assert np.array_equal(back.scores, result.scores), "a round trip through JSON changes a score"


def units(run: MethodRun) -> None:
    """Check that each word or sentence has a score; methods that score tokens sum them."""
    adds_up = run.method.family in ("Gradients", "Paths", "Attention", "Decomposition")
    tokens = run.usual.result
    for unit in ("word", "sentence"):
        result = run(unit=unit)
        expected = [f.text for f in group(run.classifier.encode(TEXT), unit).features]
        assert [f.text for f in result.features] == expected, f"the features of the unit {unit} are others"
        assert result.scores.shape == (len(expected),), f"there is not a score for each {unit}"
        assert np.isfinite(result.scores).all(), f"the score of a {unit} is not finite"
        # The unit may change which of many attributions is chosen.
        if adds_up and not run.method.chosen_by(run.method.Parameters()):
            total, whole = result.scores.sum(), tokens.scores.sum()
            limit = 1e-9 * float(np.abs(tokens.scores).sum())
            assert abs(total - whole) <= limit, (
                f"the scores of every {unit} add up to {total}, of the tokens to {whole}"
            )


def texts(run: MethodRun) -> None:
    """Check that pairs of texts, a text of a single token and a text that is too long can be explained."""
    assert np.isfinite(run("a").scores).all(), "the score of a text of one token is not finite"
    if not run.classifier.prompt:
        pair = run(PAIR[0], text_pair=PAIR[1])
        assert {f.part for f in pair.features if not f.special} == {0, 1}, "a pair has no scores for both of its texts"
        assert np.isfinite(pair.scores).all(), "a score of a pair is not finite"
    short = replace(run.classifier, max_tokens=len(run.classifier.encode(TEXT)) - 2)
    cut = run.on(short)
    assert cut.cut == 2, f"a text that is two tokens too long is cut by {cut.cut}"
    assert any("the last 2 of the text were cut" in warning for warning in cut.warnings), (
        "there is no warning about the cut"
    )


def targets(run: MethodRun) -> None:
    """Check that every class can be explained, also by its logit."""
    prediction = run.usual.result.prediction
    for label in run.classifier.labels:
        result = run(target=label, output="logit")
        assert result.target.label == label, f"the target {label} is not explained"
        assert result.prediction == prediction, "the prediction depends on the target"
        assert np.isfinite(result.scores).all(), f"a score for {label} is not finite"


def progress(run: MethodRun) -> None:
    """Check that progress reaches its total, and a cancelled run stops before its next batch."""
    _in_range(run.usual.progress)
    if run.usual.progress.checks < 2:
        return
    with unchanged(run.classifier, "a cancelled run"), watched(run.classifier) as passes:
        try:
            run(context=Recorder(last=2).context)
        except Cancelled:
            pass
        else:
            raise AssertionError("a cancelled run does not stop")
    assert passes.calls <= 1, "a cancelled run makes another pass"


def _in_range(context: Recorder) -> None:
    if context.checks:
        assert context.seen, "no progress is told"
        assert context.seen[-1][0] == context.seen[-1][1], "the progress does not reach its total"
        assert all(0 < done <= total and phase for done, total, phase in context.seen), "the progress is out of range"


def memory(run: MethodRun) -> None:
    """Check that the error says so if the smallest batch does not fit, and that the model is unchanged."""
    with unchanged(run.classifier, "a run without memory"), watched(run.classifier, limit=0):
        try:
            run()
        except ResourceError as error:
            message = str(error)
        else:
            raise AssertionError("a run for which there is no memory does not fail")
    assert "does not fit into the memory" in message, f"the error does not name the memory: {message}"


ON_EVERY_MODEL: tuple[Check, ...] = (answers, costs, batches)
ANYWHERE: tuple[Check, ...] = (stores, units, texts, targets, progress, memory, together)
