"""Precision: the effect of half precision on a model's logits, its predictions, and the maps of every method."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from explainlab import declared
from explainlab.analyses.attributions import (
    attributions_of,
    own_warnings,
    supported,
    text_seed,
)
from explainlab.analyses.base import AnalysisResult, Report, Requirements, method_passes
from explainlab.analyses.parameters import JoinedMethods, Outputs, Rows, Sample, listed
from explainlab.analyses.precision.halves import Chosen, InFormat, read_in
from explainlab.analyses.precision.likeness import controls_of, likeness, likeness_by_chance, row_of
from explainlab.analyses.precision.result import (
    Compared,
    FormatFacts,
    HalfMap,
    Held,
    MethodFacts,
    PrecisionData,
    PrecisionRow,
    PrecisionText,
    Read,
    ReadText,
)
from explainlab.analyses.precision.verdict import verdict
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import Measure, Number, interval, spelled, table
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.attribution.method import USUAL_LAYERS, USUAL_TOKENS, TextSize
from explainlab.attribution.passes import read_originals
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method, parse_spec
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.errors import ModelError, RequestError
from explainlab.models.context import PassCount
from explainlab.request import Dtype

USUAL = [
    "gradient",
    "input_x_gradient",
    "integrated_gradients:rule=gauss_legendre:steps=20",
    "kernel_shap",
    "occlusion",
    "attention_rollout",
]
"""Families by turns; integrated gradients have fixed steps, as adaptive ones would follow the rounding."""
HALVES: tuple[Dtype, ...] = ("bfloat16", "float16")
_PHASE = "number formats"


def _formats(names: list[Dtype]) -> list[Dtype]:
    if not names or len(set(names)) < len(names):
        raise PydanticCustomError("dtypes", "Give one or more number formats, each once")
    return names


Formats = Annotated[list[Dtype], Field(max_length=3), BeforeValidator(listed), AfterValidator(_formats)]
"""Number formats as requests name them; ``float32`` is the same model loaded again."""


class Precision(TextAnalysis[PrecisionText, PrecisionData]):
    """Logits, predictions and maps in half precision beside those in float32, with two controls.

    The model is loaded once more in each number format, one after another, and the loaded one stays as it is. In all
    of them methods explain the same class as in float32, and methods that draw have the same draws.
    """

    class Parameters(declared.Parameters):
        methods: JoinedMethods = Field(
            USUAL,
            description="Methods, with options after colons; several by commas or joined by plus. "
            "Of the default ones those that the model supports.",
        )
        dtypes: Formats = Field(
            list(HALVES), description="Number formats that are held against float32: bfloat16, float16."
        )
        rows: Rows = 50
        sample: Sample = "first"
        outputs: Outputs = "own"

    id = "precision"
    label = "Precision"
    source = "Ours; bfloat16 and float16: IEEE 754-2019, Kalamkar et al. 2019"
    definition = "max |z(half) - z|, changed predictions, and of φ(half) and φ: Spearman's ρ, overlap of the top 5"

    def requirements(self, parameters: Parameters) -> Requirements:
        methods = _methods(parameters)
        return Requirements(
            methods=methods,
            gradients=round(_passes(parameters, TextSize(USUAL_TOKENS, USUAL_TOKENS), USUAL_LAYERS).work),
            count_passes=partial(_passes, parameters),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[PrecisionText]:
        """See :meth:`TextAnalysis.of_texts`."""
        classifier, batcher = subjects[0].classifier, subjects[0].batcher
        given = str(classifier.dtype).removeprefix("torch.")
        if given in HALVES:
            raise RequestError(
                f"{classifier.id} is asked for in {given}, with which nothing can be compared.",
                "Ask for it in float32; say what to compare as dtypes.",
            )
        methods, left_out = supported(_methods(parameters), USUAL, classifier)
        chosen = [(own.method, own.parameters.model_dump(mode="json")) for own in methods]
        stages = 2 + len(parameters.dtypes)
        with batcher.span(0, 1, stages):
            read_originals(subjects)
            originals = attributions_of(subjects, chosen, outputs=parameters.outputs)
        with batcher.span(1, 2, stages):
            controls = _controls(subjects, methods, chosen, originals, parameters.outputs)
        formats: list[InFormat] = []
        for place, dtype in enumerate(parameters.dtypes, 2):
            try:
                with batcher.span(place, place + 1, stages):
                    formats.append(read_in(subjects, chosen, dtype, parameters.outputs))
            except ModelError as error:
                if dtype == parameters.dtypes[-1] and not formats:
                    raise
                left_out = [*left_out, f"{dtype}: {error.problem}"]
        batcher.finish(_PHASE)
        return [
            _body(subject, methods, left_out, originals[i], controls[i], [(own, i) for own in formats])
            for i, subject in enumerate(subjects)
        ]

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[PrecisionText], parameters: Parameters) -> PrecisionData:
        """See :meth:`TextAnalysis.of_rows`."""
        first = bodies[0]
        texts = [
            body.texts[0].model_copy(update={"row": row.number, "label": row.label})
            for row, body in zip(rows, bodies, strict=True)
        ]
        formats = [
            FormatFacts(dtype=own.dtype, rounded=any(body.formats[i].rounded for body in bodies))
            for i, own in enumerate(first.formats)
        ]
        return PrecisionData(
            n=len(bodies),
            left_out=first.left_out,
            formats=formats,
            methods=first.methods,
            rows=_rows(texts, formats, first.methods),
            controls=controls_of(texts),
            texts=texts,
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _methods(parameters: Precision.Parameters) -> list[MethodSpec]:
    """Return the methods with all their parameters."""
    return [parse_spec(name) for name in parameters.methods]


def _passes(parameters: Precision.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of every method in every number format, and with other draws where it draws."""
    formats = len(parameters.dtypes)
    methods = _methods(parameters)
    maps = [method_passes(own, text, depth) * (1 + formats + _draws(own)) for own in methods]
    return sum(maps, PassCount(1 + formats))


def _headline(result: AnalysisResult[PrecisionText] | AnalysisResult[PrecisionData]) -> str:
    """Say how each number format changes the maps, and what was left out."""
    return " ".join([verdict(result.body), *(f"Left out: {reason}" for reason in result.body.left_out)])


def _lines(result: AnalysisResult[PrecisionText] | AnalysisResult[PrecisionData]) -> list[str]:
    """Return a line a number format and method; below them a line a control."""
    rows = [
        {
            "dtype": row.dtype,
            "method": row.method,
            "logits": spelled(row.logits),
            "predictions changed": row.predictions_changed,
            "rank correlation": spelled(row.rank_correlation),
            "top 5": spelled(row.top_5),
            "n": row.n,
            "undefined": row.undefined,
            "short": row.short,
            "broken": row.broken,
        }
        for row in result.body.rows
    ]
    controls = [
        {
            "float32 against": "other draws" if own.against == "seed" else "random maps",
            "method": own.method,
            "rank correlation": spelled(own.rank_correlation),
            "top 5": spelled(own.top_5),
            "n": own.n,
        }
        for own in result.body.controls
    ]
    return [table(rows), "", table(controls)]


def _numbers(result: AnalysisResult[PrecisionData]) -> list[Number]:
    """Return by number format its effect on the model, and by method how much of the maps it keeps."""
    body, found = result.body, []
    labels = {own.method: own.label for own in body.methods}
    for own in body.formats:
        rows = [row for row in body.rows if row.dtype == own.dtype]
        read = [(text, each) for text in body.texts for each in text.read if each.dtype == own.dtype]
        known = [(text, each, each.logits) for text, each in read if each.logits is not None]
        if known:
            numbered = [text.row for text, _, _ in known]
            moved = Measure(f"logits:{own.dtype}", f"Change of a logit in {own.dtype}", False, ".2g")
            changes = [change for _, _, change in known]
            found.append(Number(moved, rows[0].logits, len(known), values=changes, rows=numbered))
            changed = Measure(f"changed:{own.dtype}", f"Predictions changed in {own.dtype}", False, ".1%")
            others = [float(each.predicted != text.predicted) for text, each, _ in known]
            found.append(Number(changed, interval(others), len(known), values=others, rows=numbered))
        order = Measure(f"rank_correlation:{own.dtype}", f"ρ of {own.dtype} and float32", True)
        top = Measure(f"top_5:{own.dtype}", f"Top 5 of float32 kept in {own.dtype}", True, ".0%")
        for measure, values in (
            (order, [(row, row.rank_correlation, row.n - row.undefined) for row in rows]),
            (top, [(row, row.top_5, row.n - row.undefined - row.short) for row in rows]),
        ):
            found += [
                Number(measure, value, n, row.method, labels[row.method])
                for row, value, n in values
                if value.mean is not None
            ]
    return found


def _draws(method: MethodSpec) -> bool:
    """Return whether another seed can give another map."""
    return get_method(method.method).random


def _controls(
    subjects: Sequence[Subject],
    methods: Sequence[MethodSpec],
    chosen: Sequence[Chosen],
    originals: Sequence[Sequence[Attribution]],
    outputs: Outputs,
) -> list[list[Held]]:
    """Compare each text's maps with maps of another seed, where a method draws, and with random ones."""
    drawing = [i for i, own in enumerate(methods) if _draws(own)]
    again: list[list[Attribution]] = [[] for _ in subjects]
    if drawing:
        seeds = [(text_seed(subject) + 1) % 2**32 for subject in subjects]
        again = attributions_of(subjects, [chosen[i] for i in drawing], outputs=outputs, seeds=seeds)
    held = []
    for subject, own, others in zip(subjects, originals, again, strict=True):
        seed = text_seed(subject)
        redrawn = [
            Held(against="seed", method=methods[i].name, **likeness(own[i], other).model_dump())
            for i, other in zip(drawing, others, strict=True)
        ]
        random = [
            Held(against="random", method=method.name, **likeness_by_chance(made, seed).model_dump())
            for method, made in zip(methods, own, strict=True)
        ]
        held.append([*redrawn, *random])
    return held


def _body(
    subject: Subject,
    methods: Sequence[MethodSpec],
    left_out: list[str],
    originals: Sequence[Attribution],
    controls: list[Held],
    formats: Sequence[tuple[InFormat, int]],
) -> PrecisionText:
    """Build the body of a text, which has a place in every one of the ``formats``."""
    maps = [
        HalfMap(dtype="float32", method=own.name, scores=made.scores.tolist())
        for own, made in _pairs(methods, originals)
    ]
    compared = []
    for found, place in formats:
        for i, (method, own) in enumerate(_pairs(methods, originals)):
            made = found.maps[place][i]
            if isinstance(made, str):
                compared.append(Compared(dtype=found.dtype, method=method.name, broken=made))
                subject.warnings.append(f"{method.label} in {found.dtype}: {made}")
                continue
            compared.append(Compared(dtype=found.dtype, method=method.name, **likeness(own, made).model_dump()))
            maps.append(HalfMap(dtype=found.dtype, method=method.name, scores=made.scores.tolist()))
    for method, own in _pairs(methods, originals):
        subject.warnings += [f"{method.label}: {line}" for line in own_warnings(subject, own.warnings)]
    text = ReadText(
        row=1,
        text=subject.encoding.text,
        text_pair=subject.encoding.text_pair,
        label=None,
        predicted=subject.prediction.label,
        margin=_margin(subject.original),
        features=len(subject.units.content),
        read=[_read(subject, found, place) for found, place in formats],
        maps=compared,
        controls=controls,
    )
    facts = [FormatFacts(dtype=found.dtype, rounded=found.rounded) for found, _ in formats]
    shown = [_facts(method, own) for method, own in _pairs(methods, originals)]
    return PrecisionText(
        **text_fields(subject),
        left_out=left_out,
        formats=facts,
        methods=shown,
        rows=_rows([text], facts, shown),
        controls=controls_of([text]),
        texts=[text],
        maps=maps,
    )


def _pairs(methods: Sequence[MethodSpec], originals: Sequence[Attribution]) -> list[tuple[MethodSpec, Attribution]]:
    return list(zip(methods, originals, strict=True))


def _facts(method: MethodSpec, own: Attribution) -> MethodFacts:
    return MethodFacts(
        method=method.name, id=method.method, label=method.label, signed=own.signed, draws=_draws(method)
    )


def _read(subject: Subject, found: InFormat, place: int) -> Read:
    logits = found.logits[place]
    if logits is None:
        return Read(dtype=found.dtype, logits=None, predicted=None)
    return Read(
        dtype=found.dtype,
        logits=float(np.abs(logits - subject.original).max()),
        predicted=subject.classifier.labels[int(logits.argmax())],
    )


def _margin(logits: np.ndarray) -> float:
    second, first = np.sort(logits)[-2:]
    return float(first - second)


def _rows(
    texts: Sequence[ReadText], formats: Sequence[FormatFacts], methods: Sequence[MethodFacts]
) -> list[PrecisionRow]:
    return [row_of(texts, own.dtype, method.method) for own in formats for method in methods]
