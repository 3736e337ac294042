"""Layer randomisation: how much of a map is left when the model's weights are drawn at random, unit by unit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from explainlab import declared
from explainlab.analyses.attributions import (
    attributions_of,
    output_of,
    own_warnings,
    supported,
    text_seed,
)
from explainlab.analyses.base import AnalysisResult, Report, Requirements, method_passes, passes_of
from explainlab.analyses.layer_randomisation.result import (
    MethodFacts,
    Mode,
    OriginalMap,
    RandomisationData,
    RandomisationRow,
    RandomisationText,
    RandomMap,
    Rhos,
    Survival,
    verdict,
)
from explainlab.analyses.layer_randomisation.states import MODES, Found, Original, Plan, compare, controls
from explainlab.analyses.parameters import JoinedMethods, Names, Outputs, Rows, Sample, listed
from explainlab.analyses.records import text_fields
from explainlab.analyses.registry import request_key
from explainlab.analyses.summary import Measure, Number, interval, spelled, table
from explainlab.analyses.text_analysis import TextAnalysis, text_work
from explainlab.analyses.wording import interval_words
from explainlab.attribution.explain import request_for
from explainlab.attribution.method import USUAL_LAYERS, USUAL_TEXT, TextSize
from explainlab.attribution.passes import read_originals
from explainlab.attribution.registry import MethodSpec, parse_spec
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.errors import RequestError
from explainlab.models.anatomy import Unit
from explainlab.models.context import PassCount
from explainlab.models.networks.randomised import Init, require_drawable, units_named
from explainlab.request import digest

THESIS = [
    "gradient",
    "input_x_gradient",
    "integrated_gradients:rule=gauss_legendre:steps=20",
    "attention_average",
    "attention_rollout:residual=false:reading=received",
]
"""The thesis' methods but for LIME and SHAP, which it leaves out here too."""
_ENDS = 2
"""Units beside the blocks: the head and the embeddings."""
_EQUAL = "all scores are equal, there or on the model itself."


class LayerRandomisation(TextAnalysis[RandomisationText, RandomisationData]):
    """Maps of the model beside those of models whose units are random: rank correlations, with two controls.

    Units are randomised from the head down, one after another (cascading) or one alone (independent), ``draws`` times.
    A unit's random weights depend on the request's seed and the draw. Every text has a seed of its own for its methods,
    as in :class:`explainlab.analyses.evaluation.analysis.Evaluation`, which no random model changes.
    """

    class Parameters(declared.Parameters):
        methods: JoinedMethods = Field(
            THESIS,
            description="Methods, with options after colons; several by commas or joined by plus. "
            "Of the default ones those that the model supports.",
        )
        mode: Literal["both", "cascading", "independent"] = Field(
            "both", description="Randomise all units from the head down to one, or one alone, or both."
        )
        init: Init = Field(
            "model", description="Draw weights by the model's own initialisers, or all of them from N(0, 1)."
        )
        draws: int = Field(5, ge=1, le=100, description="How often all weights are drawn.")
        explained: Literal["original", "randomised"] = Field(
            "original", description="Explain the model's predicted class, or each random model's own."
        )
        units: Annotated[Names, BeforeValidator(listed)] = Field(
            [], description="The units to randomise, such as head or block 3; empty: all."
        )
        rows: Rows = 50
        sample: Sample = "first"
        outputs: Outputs = "own"

    id = "layer_randomisation"
    label = "Layer randomisation"
    source = "Adebayo et al. 2018, sections 3 and 4; paper 004, Figures 4.6 and 4.7"
    definition = "Spearman's ρ of φ(f) and φ(f with random weights in some units), over content features"

    def requirements(self, parameters: Parameters) -> Requirements:
        methods = _methods(parameters)
        work = sum(method_passes(own, USUAL_TEXT, USUAL_LAYERS).work for own in methods)
        return Requirements(
            methods=methods,
            gradients=round((1 + _most_models(parameters, USUAL_LAYERS)) * work),
            count_passes=partial(_passes, parameters),
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[RandomisationText]:
        """See :meth:`TextAnalysis.of_texts`."""
        classifier, context = subjects[0].classifier, subjects[0].context
        methods, left_out = supported(_methods(parameters), THESIS, classifier)
        require_drawable(classifier)
        units = units_named(classifier, parameters.units)
        if parameters.explained == "randomised" and not subjects[0].explains_prediction:
            raise RequestError(
                "With explained=randomised each model explains its own prediction, so no class can be chosen.",
                "Leave out the target, or explained=randomised.",
            )
        read_originals(subjects)
        originals = _originals(subjects, methods, parameters)
        plan = self._plan(subjects[0], units, parameters)
        needs = self.requirements(parameters)
        expected = sum(text_work(classifier, needs, len(subject.encoding)) for subject in subjects)
        models = 1 + parameters.draws * len(plan.sets)
        context.progress.skip(expected - models * sum(own.work for own in originals))
        found = compare(originals, plan)
        count = len(methods)
        return [
            _text_body(originals[start : start + count], found[start : start + count], plan, left_out)
            for start in range(0, len(originals), count)
        ]

    def of_rows(
        self, rows: Sequence[Row], bodies: Sequence[RandomisationText], parameters: Parameters
    ) -> RandomisationData:
        """See :meth:`TextAnalysis.of_rows`."""
        first = bodies[0]
        return RandomisationData(
            n=len(bodies),
            left_out=first.left_out,
            units=first.units,
            methods=[MethodFacts(**own.model_dump(exclude={"scores"})) for own in first.methods],
            rows=[_mean([body.rows[i] for body in bodies]) for i in range(len(first.rows))],
            controls=controls(bodies),
            texts=[
                body.texts[0].model_copy(update={"row": row.number, "label": row.label})
                for row, body in zip(rows, bodies, strict=True)
            ],
        )

    def _plan(self, subject: Subject, units: Sequence[Unit], parameters: Parameters) -> Plan:
        facts = [self.id, self.version, parameters.init, parameters.explained, subject.seed]
        return Plan(
            units=units,
            modes=_modes(parameters),
            init=parameters.init,
            draws=parameters.draws,
            own_target=parameters.explained == "randomised",
            key=digest([*facts, str(subject.classifier.dtype)]),
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _methods(parameters: LayerRandomisation.Parameters) -> list[MethodSpec]:
    """Return the methods with all their parameters."""
    return [parse_spec(name) for name in parameters.methods]


def _passes(parameters: LayerRandomisation.Parameters, text: TextSize, depth: int) -> PassCount:
    """Return the passes of all models' maps; the units of a model are its layers, the head and the embeddings."""
    return passes_of(_methods(parameters), text, depth) * (1 + _most_models(parameters, depth))


def _headline(result: AnalysisResult[RandomisationText] | AnalysisResult[RandomisationData]) -> str:
    """Name the methods whose rankings survive random weights, and those that were left out."""
    return " ".join([verdict(result.body), *(f"Left out: {reason}" for reason in result.body.left_out)])


def _lines(result: AnalysisResult[RandomisationText] | AnalysisResult[RandomisationData]) -> list[str]:
    """Return a line a method, mode and unit; before them the controls of every method."""
    body = result.body
    told = [
        {
            "method": own.method,
            "scores": "absolute" if own.absolute else "signed",
            "random maps, 5 to 95%": interval_words(own.random, ".4f"),
            "order of the text": spelled(own.order),
        }
        for own in body.controls
    ]
    rows = [
        {
            "method": row.method,
            "mode": row.mode,
            "random": row.unit,
            "rho": spelled(row.interval),
            "rho of |scores|": spelled(absolute.interval),
            "n": row.n,
            "undefined": row.undefined,
        }
        for row, absolute in zip(body.rows[::2], body.rows[1::2], strict=True)
    ]
    return [table(told), "", table(rows)]


def _numbers(result: AnalysisResult[RandomisationData]) -> list[Number]:
    """Return by mode and method rho with everything random, and rho with one unit random, the mean over units."""
    body = result.body
    labels = {own.method: own.label for own in body.methods}
    found = [
        Number(_measure("all", "with all units random", row.absolute), row.interval, row.n, row.method, label)
        for row in body.rows
        if row.mode == "cascading" and row.unit == body.units[-1] and (label := labels[row.method])
    ]
    if any(row.mode == "independent" for row in body.rows):
        for absolute in (False, True):
            measure = _measure("one", "with one unit random, mean over units", absolute)
            for name, label in labels.items():
                means = _means_over_units(body, name, absolute)
                found.append(Number(measure, interval(means), len(means), name, label))
    return found


def _modes(parameters: LayerRandomisation.Parameters) -> list[Mode]:
    return [mode for mode in MODES if parameters.mode in ("both", mode)]


def _most_models(parameters: LayerRandomisation.Parameters, depth: int) -> int:
    """Count the random models of a model with ``depth`` layers; the two modes share the first one."""
    units, modes = len(parameters.units) or depth + _ENDS, len(_modes(parameters))
    return parameters.draws * (modes * units - (modes - 1))


# One text ------------------------------------------------------------------------------------------------------------


def _originals(
    subjects: Sequence[Subject], methods: Sequence[MethodSpec], parameters: LayerRandomisation.Parameters
) -> list[Original]:
    """Return the model's own maps, ordered by text, then by method."""
    classifier, reader = subjects[0].classifier, subjects[0].context.reader
    chosen = [(own.method, own.parameters.model_dump(mode="json")) for own in methods]
    results = attributions_of(subjects, chosen, outputs=parameters.outputs)
    originals = []
    for subject, attributions in zip(subjects, results, strict=True):
        for method, (name, settings), attribution in zip(methods, chosen, attributions, strict=True):
            output = output_of(subject.output, name, settings, parameters.outputs)
            request = request_for(subject, name, settings, output, text_seed(subject))
            key = request_key(request, classifier.digest, reader)
            originals.append(Original(subject, method, request, key, attribution))
            subject.warnings += [f"{method.label}: {line}" for line in own_warnings(subject, attribution.warnings)]
    return originals


def _text_body(
    originals: Sequence[Original], found: Sequence[Sequence[Found]], plan: Plan, left_out: list[str]
) -> RandomisationText:
    """Build the body of a text from the maps of all methods and their comparisons under every draw."""
    subject, units = originals[0].subject, [unit.name for unit in plan.units]
    places = [(mode, i) for mode in plan.modes for i in range(len(units))]
    rows, maps = [], []
    for original, draws in zip(originals, found, strict=True):
        name = original.method.name
        subject.warnings += _undefined(original, draws)
        for mode, i in places:
            own = [draw[plan.random(mode, i)] for draw in draws]
            for absolute in (False, True):
                values = [one.absolute if absolute else one.signed for one in own]
                rows.append(_survival(name, mode, units[i], absolute, values))
            if own[0].scores is not None:
                maps.append(RandomMap(mode=mode, unit=units[i], method=name, scores=own[0].scores))
    body = RandomisationText(
        **text_fields(subject),
        text_seed=text_seed(subject),
        left_out=left_out,
        units=units,
        methods=[_facts(original) for original in originals],
        rows=rows,
        controls=[],
        texts=[
            RandomisationRow(
                row=1,
                text=subject.encoding.text,
                text_pair=subject.encoding.text_pair,
                label=None,
                values=_values(rows, absolute=False),
                absolute=_values(rows, absolute=True),
            )
        ],
        maps=maps,
    )
    return body.model_copy(update={"controls": controls([body])})


def _facts(original: Original) -> OriginalMap:
    method, attribution = original.method, original.attribution
    scores = attribution.scores.tolist()
    facts = {"method": method.name, "id": method.method, "label": method.label, "signed": attribution.signed}
    return OriginalMap(**facts, scores=scores)


def _undefined(original: Original, draws: Sequence[Found]) -> list[str]:
    """Describe the maps without a rank correlation: failed ones and constant ones."""
    label, found = original.method.label, [own for draw in draws for own in draw.values()]
    broken = [own.broken for own in found if own.broken]
    constant = sum(own.signed is None for own in found) - len(broken)
    warnings = []
    if broken:
        warnings.append(f"{label}: {len(broken)} of {len(found)} random models gave no map, first: {broken[0]}")
    if constant:
        warnings.append(f"{label}: on {constant} of {len(found)} random models there is no rank correlation: {_EQUAL}")
    return warnings


def _values(rows: Sequence[Survival], absolute: bool) -> Rhos:
    values: Rhos = {}
    for row in rows:
        if row.absolute == absolute:
            values.setdefault(row.mode, {}).setdefault(row.unit, {})[row.method] = row.mean
    return values


def _survival(method: str, mode: Mode, unit: str, absolute: bool, draws: Sequence[float | None]) -> Survival:
    """Return the row of one text with its rho of every draw."""
    known = [value for value in draws if value is not None]
    return Survival(
        method=method,
        mode=mode,
        unit=unit,
        absolute=absolute,
        mean=float(np.mean(known)) if known else None,
        low=None,
        high=None,
        draws=list(draws),
        n=int(bool(known)),
        undefined=int(not known),
    )


# A data set ----------------------------------------------------------------------------------------------------------


def _mean(rows: Sequence[Survival]) -> Survival:
    """Average the rows of all texts into one row."""
    means = [row.mean for row in rows if row.mean is not None]
    draws = [[one for one in column if one is not None] for column in zip(*(row.draws for row in rows), strict=True)]
    return rows[0].model_copy(
        update={
            **interval(means).model_dump(),
            "draws": [float(np.mean(column)) if column else None for column in draws],
            "n": len(means),
            "undefined": len(rows) - len(means),
        }
    )


def _measure(key: str, when: str, absolute: bool) -> Measure:
    of = "ρ of |scores|" if absolute else "ρ"
    return Measure(f"{key}_absolute" if absolute else key, f"{of} {when}", higher_is_better=False)


def _means_over_units(body: RandomisationData, method: str, absolute: bool) -> list[float]:
    """Return each text's mean rho over the independently randomised units; texts without a rho are left out."""
    texts = [(text.absolute if absolute else text.values)["independent"].values() for text in body.texts]
    known = [[value for unit in units if (value := unit[method]) is not None] for units in texts]
    return [float(np.mean(values)) for values in known if values]
