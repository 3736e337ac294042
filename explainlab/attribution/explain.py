"""Answers to requests: from a text and a classifier to its attribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any, get_args

import numpy as np
import torch

from explainlab.attribution import passes
from explainlab.attribution.method import Method, Outcome, TextSize, expected_work
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import complete, get_method
from explainlab.attribution.subject import Original, Subject
from explainlab.declared import parse, require_within
from explainlab.errors import ModelError
from explainlab.models.batching import Batcher, Mark
from explainlab.models.classifier import Classifier
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest, Dtype, Output, Request, validated
from explainlab.result import Cost
from explainlab.text.encoding import Encoding

VISIBLE = 1e-5
"""The share of the largest score beyond which a note reports a change by rounding."""
SURE = float(np.finfo(np.float32).eps)
"""The distance from 0 or 1 at which a probability equals them to the last digit of float32."""
STILL = 1e-3
"""The size below which all scores together mean that nothing moves such a probability."""
ROUNDINGS = 4
"""Number of roundings of a term of a score: an observed bound on differences in the scores of several models."""


class NotFinite(ModelError):
    """The error for scores that are not finite, of the text at this ``place`` among the texts of the call."""

    def __init__(self, problem: str, place: int) -> None:
        super().__init__(problem, "Try dtype float32, output logit, or another baseline.")
        self.place = place


def explain(
    classifier: Classifier,
    text: str,
    method: str = "integrated_gradients",
    *,
    text_pair: str | None = None,
    target: str | int = "predicted",
    output: str | None = None,
    unit: str = "token",
    seed: int = 0,
    context: RunContext | None = None,
    **parameters: Any,
) -> Attribution:
    """Attribute the classifier's score for ``text`` to its tokens, words or sentences.

    ``target``: ``predicted``, a class name or its index. ``output``: ``probability`` or ``logit`` (default: the
    method's own: probability, except for methods defined on logits). ``parameters``: those of the method. Raises the
    errors of :mod:`explainlab.errors`, each with a remedy.
    """
    chosen = get_method(method)
    request = validated(
        Request,
        model=classifier.id,
        text=text,
        text_pair=text_pair,
        question=method,
        parameters=parameters,
        target=str(target),
        output=output or chosen.default_output(parameters),
        unit=unit,
        seed=seed,
        dtype=str(classifier.dtype).removeprefix("torch."),
    )
    return answer(classifier, request, context)


def answer(classifier: Classifier, request: Request, context: RunContext | None = None) -> Attribution:
    """Return the attribution for ``request``, whose model is the loaded ``classifier``."""
    return answer_targets(classifier, [complete(request)], context)[0]


def answer_targets(
    classifier: Classifier, requests: Sequence[CompleteRequest], context: RunContext | None = None
) -> list[Attribution]:
    """Return the attributions for ``requests`` that differ only in their target; batched methods run them together."""
    method, context = get_method(requests[0].question), context or RunContext()
    parameters = parse(method, requests[0].parameters)
    method.require(classifier, parameters)
    encoding = classifier.encode(requests[0].single_text, requests[0].text_pair)
    passes = method.passes(parameters, TextSize.of(encoding, requests[0].unit), classifier.model.depth) * len(requests)
    work = expected_work(passes, len(encoding), classifier.architecture)
    context.progress.expect(work, not method.adaptive(parameters))
    return attribute_many(classifier, [encoding] * len(requests), method, requests, context)


def request_for(
    subject: Subject, method_id: str, parameters: Mapping[str, Any], output: Output, seed: int
) -> CompleteRequest:
    """Return the request that an attribution of ``subject`` answers, the same as on the page Explain."""
    return complete(
        Request(
            model=subject.classifier.id,
            text=subject.encoding.text,
            text_pair=subject.encoding.text_pair,
            question=method_id,
            parameters=dict(parameters),
            target="predicted" if subject.explains_prediction else subject.target.label,
            output=output,
            unit=subject.unit,
            seed=seed,
            dtype=dtype_of(subject.classifier) or "float32",
        )
    )


def dtype_of(classifier: Classifier) -> Dtype | None:
    """Return the number format as requests name it; None for other formats, of a library user's model."""
    name = str(classifier.dtype).removeprefix("torch.")
    return name if name in get_args(Dtype) else None  # type: ignore[return-value]


def attribute(
    classifier: Classifier,
    encoding: Encoding,
    method: Method,
    request: CompleteRequest,
    context: RunContext | None = None,
) -> Attribution:
    """Run ``method`` on an ``encoding``, which may be padded; ``request`` must be for both."""
    return attribute_many(classifier, [encoding], method, [request], context)[0]


def attribute_many(
    classifier: Classifier,
    encodings: Sequence[Encoding],
    method: Method,
    requests: Sequence[CompleteRequest],
    context: RunContext | None = None,
) -> list[Attribution]:
    """Run ``method`` on all ``encodings``, together if it can; each has its request.

    Requests have the same parameters. A repeated encoding is the same text. A text's cost is its cost alone; the
    seconds of all are shared in proportion.
    """
    batcher = Batcher(classifier, context or RunContext())
    texts = {id(encoding): Original(classifier, encoding) for encoding in encodings}
    subjects = [
        Subject(
            classifier,
            encoding,
            target=request.target,
            output=request.output,
            unit=request.unit,
            seed=request.seed,
            baseline_data=request.parameters.get("baseline_data", ""),
            batcher=batcher,
            text=texts[id(encoding)],
        )
        for encoding, request in zip(encodings, requests, strict=True)
    ]
    since = batcher.mark()
    passes.read_label_shares(subjects)
    return attribute_subjects(subjects, method, requests, since)


def attribute_subjects(
    subjects: Sequence[Subject], method: Method, requests: Sequence[CompleteRequest], since: Mark | None = None
) -> list[Attribution]:
    """Run ``method`` as :func:`attribute_many` does, for existing subjects; all share a batcher.

    ``since``: the batcher's mark before their first pass (None: now).
    """
    if not subjects:
        return []
    classifier, batcher = subjects[0].classifier, subjects[0].batcher
    since = since or batcher.mark()
    if any(request.parameters != requests[0].parameters for request in requests):
        raise ValueError("Texts are run together with the same parameters only.")
    parameters = parse(method, requests[0].parameters)
    outcomes = outcomes_of(subjects, method, parameters)
    passes.read_originals(subjects)
    now = batcher.mark()
    halved = batcher.warnings if now.halvings > since.halvings else []
    spent = [max(1, subject.forward + subject.backward) for subject in subjects]
    seconds = (now.seconds - since.seconds) / sum(spent)
    return [
        Attribution(
            request=request,
            prediction=subject.prediction,
            target=subject.target,
            features=subject.units.features,
            scores=outcome.scores,
            errors=outcome.errors,
            spread=outcome.spread,
            signed=method.is_signed(parameters),
            completeness=outcome.completeness,
            cost=Cost(subject.forward, subject.backward, seconds * count),
            cut=subject.encoding.cut,
            label_share=subject.label_share,
            logit=subject.logit,
            warnings=(
                *subject.reading_warnings,
                *subject.warnings,
                *halved,
                *outcome.warnings,
                *_sum_warning(outcome, method),
                *_still_warning(outcome, subject),
            ),
            notes=(*subject.notes, *_precision(classifier), *_rounding(outcome, classifier)),
            versions=versions_with(classifier, method=method.version),
        )
        for subject, request, outcome, count in zip(subjects, requests, outcomes, spent, strict=True)
    ]


def outcomes_of(subjects: Sequence[Subject], method: Method, parameters: Any) -> list[Outcome]:
    """Return the outcomes of ``method`` for ``subjects``, which share a batcher, with finite scores.

    Raises :class:`RequestError` for more work than the classifier's limits allow, and :class:`NotFinite`.
    """
    classifier = subjects[0].classifier
    require_within(method, parameters, classifier.limits)
    outcomes = method.attribute_many(subjects, parameters)
    for place, outcome in enumerate(outcomes):
        if not np.isfinite(outcome.scores).all():
            raise NotFinite(f"{method.label} on {classifier.id} gave scores that are not finite numbers.", place)
    return outcomes


@cache
def versions() -> dict[str, str]:
    """Return the versions of the libraries that the numbers depend on."""
    return {name: version(name) for name in ("torch", "transformers", "tokenizers", "numpy", "captum", "scipy")}


def versions_with(classifier: Classifier, **asked: int) -> dict[str, str]:
    """Return :func:`versions_by` with the files and the device of ``classifier``."""
    return versions_by(classifier.digest, str(classifier.device), classifier.rounds_to, **asked)


def versions_by(model: str, device: str, rounds_to: str, **asked: int) -> dict[str, str]:
    """Return :func:`versions`, the versions in ``asked``, and the identity of the ``model`` and its ``device``.

    ``matmul`` is the format to which float32 is rounded in products of matrices; absent without rounding.
    """
    own = {name: str(number) for name, number in asked.items()} | {"model": model, "device": device}
    return {**versions(), **own, **({"matmul": rounds_to} if rounds_to else {})}


def _precision(classifier: Classifier) -> list[str]:
    """Return the note on half precision; for scores that are small differences of large terms, :func:`_rounding` adds
    one.
    """
    if classifier.dtype == torch.float32:
        return []
    return [f"Computed in {_name(classifier)}: the scores may differ from float32's by some per cent."]


def _name(classifier: Classifier) -> str:
    return str(classifier.dtype).removeprefix("torch.")


def _rounding(outcome: Outcome, classifier: Classifier) -> list[str]:
    """Return a note if the rounding of a pass changes a score by more than :data:`VISIBLE` of the largest.

    A term is rounded forward and backward, in each of two runs: :data:`ROUNDINGS` in all, each by the precision of the
    weights' number format.
    """
    largest = float(np.abs(outcome.scores).max(initial=0))
    moved = ROUNDINGS * torch.finfo(classifier.dtype).eps * outcome.rounding_scale
    if moved <= VISIBLE * largest:
        return []
    share = f"about {100 * moved / largest:.1g}% of the largest" if moved < largest else "as much as they are"
    return [
        f"Rounding in {_name(classifier)}: another batch size, padding or processor may move the scores by {share}."
    ]


def _sum_warning(outcome: Outcome, method: Method) -> list[str]:
    """Warn if the scores do not add up to the promise of the method; see :attr:`Outcome.within`."""
    sums, size = outcome.completeness, float(np.abs(outcome.scores).sum())
    failure = sums.failure(outcome.within, size) if sums else ""
    whose = f"{method.label}'" if method.label.endswith("s") else f"{method.label}'s"
    return [f"{whose} scores add up to {failure}. {outcome.remedy}".rstrip()] if failure else []


def _still_warning(outcome: Outcome, subject: Subject) -> list[str]:
    """Warn of a probability that is too near to 0 or 1 to move: its map is of zeros, or of noise."""
    chances, label = subject.prediction.probabilities, subject.target.label
    rest = sum(chance for other, chance in chances.items() if other != label)
    still = float(np.abs(outcome.scores).max(initial=0)) < STILL
    if subject.output != "probability" or min(chances[label], rest) > SURE or not still:
        return []
    digit = 1 if rest < chances[label] else 0
    return [
        f"Nothing moves the probability of “{label}” here: it is {digit} to the last digit. Explain the logit instead."
    ]
