"""The mean of several methods, after each method's scores are brought to one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
import scipy
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.attribution.explain import attribute_subjects, request_for
from explainlab.attribution.method import Method, Outcome, TextSize
from explainlab.attribution.passes import read_label_shares, read_originals
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MEMBERS, MethodSpec, get_method, parse_members
from explainlab.attribution.subject import Subject
from explainlab.declared import as_validation_error
from explainlab.errors import RequestError
from explainlab.models.batching import HALVED
from explainlab.models.context import PassCount

Normalisation = Literal["abs_sum", "sum", "rank"]

LISTS = {
    "top3": "lime+kernel_shap+integrated_gradients",
    "all": (
        "lime+kernel_shap+integrated_gradients+gradient+input_x_gradient+attention_average"
        "+attention_rollout:residual=false:reading=received"
    ),
}
"""Lists of members by name: the thesis' methods, and the three best in its results."""
LEAST_SUM = 1e-3
"""The least |Σa| / Σ|a| of scores that may be divided by their sum."""


TIE_DIGITS = 6
"""Decimal places of scores, as shares of the largest, that decide ranks; further digits are rounding."""


def _members(written: str) -> str:
    """Return ``written`` in canonical form."""
    if written.strip() in LISTS:
        return written.strip()
    members = as_validation_error(lambda: parse_members(written))
    for member in members:
        if MEMBERS in type(member.parameters).model_fields:
            raise PydanticCustomError("members", "An ensemble cannot be a member of an ensemble")
    word = next((word for word, listed in LISTS.items() if members == parse_members(listed)), "")
    return word or "+".join(member.name for member in members)


class Ensemble(Method):
    """The mean over members of their normalised scores, with its spread; special tokens score 0.

    Every member explains its own output, unless the request's is the logit, and draws from the request's seed. The cost
    is the sum of the members', as equal passes are made again; so it is where the context knows a member's answer.
    """

    class Parameters(declared.Parameters):
        members: Annotated[str, Field(max_length=2_000), AfterValidator(_members)] = Field(
            "top3",
            description=(
                "Methods joined by +, with options after colons: lime+kernel_shap:samples=16n. top3 is LIME, "
                "KernelSHAP and integrated gradients; all adds two gradients and two readings of attention."
            ),
        )
        normalise: Normalisation = Field(
            "abs_sum",
            description="How members get one scale: by the sum of |score|, by the sum of the scores, or by ranks.",
        )

    id: ClassVar = "ensemble"
    label: ClassVar = "Ensemble"
    plain: ClassVar = "Runs several methods and takes the mean of their maps; a band shows where they differ."
    good_for: ClassVar = "One map from many, and seeing on which words the methods do not agree."
    family: ClassVar = "Others"
    source: ClassVar = "Oxford thesis on the interpretability of large language models (paper 004)"
    definition: ClassVar = "φᵢ = mean over members of |aᵢ| / Σ|a|, or aᵢ / Σa, or (n + 1 - rankᵢ) / (n(n + 1)/2)"
    signed: ClassVar = False
    random: ClassVar = True
    deduplicates: ClassVar = True

    @classmethod
    def members(cls, parameters: Parameters) -> list[MethodSpec]:
        return parse_members(LISTS.get(parameters.members, parameters.members))

    @classmethod
    def passes(cls, parameters: Parameters, text: TextSize, depth: int) -> PassCount:
        each = [get_method(member.method).passes(member.parameters, text, depth) for member in cls.members(parameters)]
        return sum(each, PassCount())

    @classmethod
    def adaptive(cls, parameters: Parameters) -> bool:
        return any(get_method(m.method).adaptive(m.parameters) for m in cls.members(parameters))

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.normalise == "sum"

    @classmethod
    def is_random(cls, subject: Subject, parameters: Parameters) -> bool:
        return any(get_method(m.method).is_random(subject, m.parameters) for m in cls.members(parameters))

    def attribute(self, subject: Subject, parameters: Parameters) -> Outcome:
        return self.attribute_many([subject], parameters)[0]

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        members, batcher = self.members(parameters), subjects[0].batcher
        self.require(subjects[0].classifier, parameters)
        columns, spent = [], np.zeros((len(subjects), 2), dtype=np.int64)
        for i, member in enumerate(members):
            with batcher.span(i, i + 1, len(members)):
                columns.append(_run(subjects, member, first=i == 0))
            spent += [(result.cost.forward, result.cost.backward) for result in columns[-1]]
            for subject in subjects:
                subject.recalls()
        for subject, (forward, backward) in zip(subjects, spent.tolist(), strict=True):
            subject.forward, subject.backward = forward, backward
        return [
            _mean(subject, members, results, parameters.normalise)
            for subject, results in zip(subjects, zip(*columns, strict=True), strict=True)
        ]


def _run(subjects: Sequence[Subject], member: MethodSpec, first: bool) -> list[Attribution]:
    """Return the attributions of all texts by ``member``, with all the passes that it makes alone; cached ones are not
    made.

    The member explains its own output, unless the subjects' is the logit. The ``first`` member fixes the targets, and
    the subjects learn its readings of the texts.
    """
    method, settings = get_method(member.method), member.parameters.model_dump(mode="json")
    own = method.default_output(settings)
    requests = [
        request_for(
            subject, method.id, settings, own if subject.output == "probability" else subject.output, subject.seed
        )
        for subject in subjects
    ]
    records = subjects[0].context.answers(requests)
    results = {i: Attribution.from_json(record) for i, record in records.items()}
    read_originals([subjects[i] for i in results])
    missing = [i for i in range(len(subjects)) if i not in results]
    runs = [
        Subject(
            subject.classifier,
            subject.encoding,
            target="predicted" if first and subject.explains_prediction else subject.target.label,
            output=request.output,
            unit=request.unit,
            seed=request.seed,
            baseline_data=settings.get("baseline_data", ""),
            batcher=subject.batcher,
            text=subject.text if first else None,
        )
        for subject, request in ((subjects[i], requests[i]) for i in missing)
    ]
    if not first:
        read_label_shares(runs)
    elif subjects[0].classifier.architecture.is_generative:
        for run in runs:
            run.recalls()
    results |= zip(missing, attribute_subjects(runs, method, [requests[i] for i in missing]), strict=True)
    return [results[i] for i in range(len(subjects))]


def _mean(
    subject: Subject, members: Sequence[MethodSpec], results: Sequence[Attribution], normalise: Normalisation
) -> Outcome:
    """Return the mean and the spread of the members' ``results`` for one text, in words too."""
    content, common = subject.units.content, (*subject.reading_warnings, HALVED)
    scored, labels, warnings = [], [], []
    for member, result in zip(members, results, strict=True):
        own = result.scores[content]
        if own.any():
            scored.append(normalised(own, normalise, member.label))
            labels.append(member.label)
        else:
            warnings.append(f"{member.label} is left out: all its scores are 0.")
        warnings += [f"{member.label}: {warning}" for warning in result.warnings if warning not in common]
    subject.notes.append(f"Mean of {'; '.join(labels)}." if labels else "No member has a score.")
    table = np.stack(scored) if scored else np.zeros((1, len(content)))
    spread, mean = subject.units.spread(table.std(axis=0)), subject.units.spread(table.mean(axis=0))
    return Outcome(mean, spread=spread, warnings=tuple(warnings))


def normalised(scores: np.ndarray, how: Normalisation, label: str = "The method") -> np.ndarray:
    """Return ``scores`` float64 [n] of the content features on the scale of an ensemble; they are not all 0.

    ``rank``: mid-ranks for ties (:data:`TIE_DIGITS`). Raises :class:`RequestError`, with the method's ``label``, where
    ``sum`` would divide by next to nothing. Source: paper 004 (``abs_sum`` by its code, ``sum`` by its footnote).
    """
    if how == "rank":
        ranks = scipy.stats.rankdata(np.round(scores / np.abs(scores).max(), TIE_DIGITS))
        return np.asarray(ranks / ranks.sum())
    size, total = np.abs(scores).sum(), scores.sum()
    if how == "abs_sum":
        return np.asarray(np.abs(scores) / size)
    if abs(total) < LEAST_SUM * size:
        raise RequestError(
            f"The scores of {label} add up to almost 0, so they cannot be divided by their sum.",
            "Normalise by abs_sum or rank, or leave this member out.",
        )
    return np.asarray(scores / total)
