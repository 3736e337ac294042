"""Attacks on a method's map: small changes of the word embeddings that drive the map away and keep the prediction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np
import torch
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from torch import Tensor

from explainlab import declared
from explainlab.analyses.attack.maps import Maps, Method, require_differentiable
from explainlab.analyses.attack.result import (
    AttackData,
    AttackedText,
    AttackRow,
    AttackText,
    Course,
    Measures,
)
from explainlab.analyses.attack.search import (
    SECOND,
    THESIS_RADIUS,
    Attacked,
    Goal,
    Point,
    Positions,
    Run,
    Search,
    Settings,
    Values,
)
from explainlab.analyses.attack.summaries import (
    MEASURES,
    Objectives,
    changes,
    data_fields,
    lines_of,
    means,
    numbers_of,
    objectives,
    original_of,
)
from explainlab.analyses.attack.verdict import data_verdict, text_verdict
from explainlab.analyses.attributions import text_seed
from explainlab.analyses.base import AnalysisResult, Report, Requirements
from explainlab.analyses.parameters import Rows, Sample
from explainlab.analyses.records import text_fields
from explainlab.analyses.summary import Number
from explainlab.analyses.text_analysis import TextAnalysis
from explainlab.analyses.wording import counted
from explainlab.attribution.batch import Batch
from explainlab.attribution.method import Evaluations
from explainlab.attribution.passes import read_originals
from explainlab.attribution.registry import MethodSpec, complete_method, get_method
from explainlab.attribution.subject import Subject
from explainlab.data import Row
from explainlab.errors import ModelError
from explainlab.metrics.stability import BOUNDLESS, Radii, radius, table_deviation
from explainlab.models.classifier import Classifier
from explainlab.models.context import PassCount

TOLD = (
    "Attacked as the thesis' code does, for comparison only: it follows no second derivatives, so that the gradient "
    "map is not followed at all; it starts at random, moves and ranks special tokens too, holds the logit, and where "
    "constrained takes the last step whatever the model predicts there."
)


class HeldMaps(Maps):
    """Maps of the logit of the class that is predicted at the moved text, with their gradients held still.

    A score follows the moved text only where its embeddings are a factor of the score.
    """

    def backward(self, second: bool) -> int:
        """See :meth:`Maps.backward`; the loss is followed through one pass."""
        return super().backward(second=False) + second

    def _explained(self, batch: Batch, logits: Tensor, at_end: Tensor) -> Tensor:
        return logits.gather(1, at_end.argmax(dim=1, keepdim=True))[:, 0]

    def _derivative(self, explained: Tensor, at: Tensor, second: bool) -> Tensor:
        (gradient,) = torch.autograd.grad(explained, at, retain_graph=second)
        return gradient


class ReferenceSearch(Search):
    """The search of the thesis' code: a random start in [0, 1) at a radius of 2, clamped only inside the model.

    The loss is the mean share of the listed features, if constrained with the squared change of the logit. The code
    adds the explained logit itself to it by mistake where the map is a gradient, or one times the input. Unconstrained,
    the best step with the same class counts; constrained, the last one.
    """

    def attack(self, texts: Sequence[Attacked]) -> None:
        """See :meth:`Search.attack`; all runs of a text start in one direction."""
        for text in texts:
            drawn = np.random.default_rng(text_seed(text.subject)).random(text.moved_by.shape[1:])
            start = torch.from_numpy(drawn * self._movable(text)[:, None]).to(text.moved_by)
            text.moved_by = start * _radii(text.moved_by, [(text, list(range(len(text.runs))))]) / THESIS_RADIUS
        super().attack(texts)

    def _within(self, owners: Sequence[tuple[Attacked, list[int]]], moved_by: Tensor) -> Tensor:
        radii = _radii(moved_by, owners)
        return moved_by.clamp(-radii, radii)

    def _projected(self, moved_by: Tensor, radii: Tensor) -> Tensor:
        return moved_by

    def _lowered(self, losses: Tensor, values: Values) -> Tensor:
        if self._maps.method == "integrated_gradients":
            return losses.sum()
        return losses.sum() + values.logits.amax(dim=-1).sum()

    def _losses(self, owners: Sequence[tuple[Attacked, list[int]]], values: Values) -> Tensor:
        runs = [(text, text.runs[place]) for text, places in owners for place in places]
        classes = torch.tensor([text.subject.prediction.index for text, _ in runs], device=values.logits.device)
        now = values.logits.gather(1, classes[:, None])[:, 0]
        before = now.new_tensor([text.subject.original[text.subject.prediction.index] for text, _ in runs])
        weights = [self._settings.beta if run.goal.objective == "constrained" else 0.0 for _, run in runs]
        means = values.listed / values.listed.new_tensor([len(text.listed) for text, _ in runs])
        return means + now.new_tensor(weights) * (before - now).square()

    def _better(self, text: Attacked, run: Run, point: Point, predicted: int) -> bool:
        if run.goal.objective == "constrained":
            return True
        return predicted == text.subject.prediction.index and (run.failed or point.share < run.best.share)


def _radii(like: Tensor, owners: Sequence[tuple[Attacked, list[int]]]) -> Tensor:
    """Return [B, 1, 1]: the radius of every run."""
    return like.new_tensor([text.runs[place].goal.radius for text, places in owners for place in places])[:, None, None]


RELU = (
    "This model has ReLUs, whose second derivatives are 0, so that the attack does not see what moves the map through "
    "them: choose surrogate=30, which follows softplus instead and measures on the model itself."
)
NO_RELU = "This model has no ReLU: the surrogate changed nothing."
ZERO = "A radius of 0 allows no change: all its changes are 0."
WIDE = (
    "A radius of {written} is {times:.0f} standard deviations of the model's word table ({deviation:.4f}), which holds "
    "almost nothing back."
)
COARSE = "Computed in {dtype}, whose rounding is coarse beside small radii: load the model in float32 to attack it."
BROKEN = (
    "The {objective} attack within {written} met numbers that are not finite after {steps}: its last finite iterates "
    "count."
)


class Attack(TextAnalysis[AttackText, AttackData]):
    """The smallest share of a map to which small changes of the word embeddings can bring its top features.

    The map is differentiated a second time, so its gradients are exact. An iterate is feasible if the predicted class
    is the same and, if ``constrained``, its probability nearly so. The result is the feasible iterate with the lowest
    share.
    """

    class Parameters(declared.Parameters):
        method: Method = Field("gradient", description="The method whose map is attacked.")
        preset: Literal["ours", "reference"] = Field(
            "ours", description="reference: the attack of the thesis' code, by default within 2, for comparison only."
        )
        objective: Objectives = Field(
            "both", description="Whether the probability of the predicted class must stay as well as the class."
        )
        epsilon: Radii = Field(
            ["0.03s", "0.1s", "0.3s", "1s"],
            description="Largest change of each number of an embedding; s: standard deviations of the word table.",
        )
        k: int = Field(15, ge=1, le=100, description="The top features, in per cent of the content features.")
        steps: Evaluations = Field(500, le=10_000, description="Most steps of an attack.")
        learning_rate: float = Field(
            0.1, gt=0, le=10, description="Adam's learning rate at a radius of 2; it scales with the radius."
        )
        beta: float = Field(1.0, ge=0, le=1000, description="Weight of the change of the probability (constrained).")
        nodes: int = Field(10, ge=1, le=300, description="Gauss-Legendre nodes of integrated gradients.")
        positions: Positions = Field(
            "content", description="Embeddings that move: those of the text's tokens, or of special ones too."
        )
        tolerance: float = Field(0.01, ge=0, le=1, description="Most change of the probability (constrained).")
        surrogate: float = Field(
            0.0,
            ge=0,
            le=1000,
            description="Above 0: the beta of softplus, in place of ReLUs for the attack's gradient.",
        )
        rows: Rows = 16
        sample: Sample = "first"

        @model_validator(mode="before")
        @classmethod
        def _of_preset(cls, parameters: Any) -> Any:
            if not isinstance(parameters, dict) or parameters.get("preset") != "reference":
                return parameters
            return {"epsilon": ["2"], "positions": "all", **parameters}

        @model_validator(mode="after")
        def _one_way(self) -> Attack.Parameters:
            if self.surrogate and self.preset == "reference":
                raise PydanticCustomError("surrogate", "A surrogate is for second derivatives: reference follows none")
            return self

    id = "attack"
    label = "Attacks in embedding space"
    source = "Thesis 004, sections 2.3 and 3.5, after Ghorbani et al. 2019 (top-k), with true second derivatives"
    definition = (
        "min over |δ| ≤ ε of Σ_T |aᵢ(x+δ)| / Σ|a(x+δ)| (+ β (p_c(x) - p_c(x+δ))²), T the top k% of the map of x"
    )

    def requirements(self, parameters: Parameters) -> Requirements:
        runs = len(objectives(parameters.objective)) * len(parameters.epsilon)
        gradients = Maps(parameters.method, parameters.nodes).inputs * (1 + runs * (parameters.steps + 1))
        return Requirements(
            methods=_methods(parameters),
            gradients=gradients,
            count_passes=lambda text, depth: PassCount.gradients(gradients, spare=(1 - SECOND) * gradients),
            ends_early=True,  # runs that have settled end
            rounds=parameters.steps,
        )

    def of_texts(self, subjects: Sequence[Subject], parameters: Parameters) -> list[AttackText]:
        """See :meth:`TextAnalysis.of_texts`."""
        classifier = subjects[0].classifier
        (method,) = _methods(parameters)
        get_method(method.method).require(classifier, method.parameters)
        require_differentiable(classifier)
        deviation = table_deviation(classifier)
        goals = [
            Goal(objective, written, radius(written, deviation))
            for objective in objectives(parameters.objective)
            for written in parameters.epsilon
        ]
        read_originals(subjects)
        search = _search(subjects, parameters)
        points, among = search.originals(subjects), [_ranked(subject, parameters) for subject in subjects]
        originals = [
            original_of(subject, _finite(subject, point, parameters), parameters.k, ranked)
            for subject, point, ranked in zip(subjects, points, among, strict=True)
        ]
        attacked = {
            i: Attacked(subject, point, np.array(own.listed), goals, ranked)
            for i, (subject, point, own, ranked) in enumerate(zip(subjects, points, originals, among, strict=True))
            if not own.left_out
        }
        search.attack(list(attacked.values()))
        caveats = [TOLD] if parameters.preset == "reference" else _relu_caveats(search.met_relu, parameters)
        caveats = _caveats(classifier, goals, deviation) + caveats
        bodies = []
        for i, (subject, own) in enumerate(zip(subjects, originals, strict=True)):
            runs = attacked[i].runs if i in attacked else []
            subject.warnings += [*caveats, *_broken(runs)]
            texts = [_text(attacked[i], run) for run in runs]
            bodies.append(
                AttackText(
                    **text_fields(subject),
                    method=parameters.method,
                    label=get_method(parameters.method).label,
                    deviation=deviation,
                    caveats=caveats,
                    original=own,
                    rows=[_mean(goal, texts) for goal in goals],
                    texts=texts,
                    trajectory=[_course(run) for run in runs],
                )
            )
        return bodies

    def of_rows(self, rows: Sequence[Row], bodies: Sequence[AttackText], parameters: Parameters) -> AttackData:
        """See :meth:`TextAnalysis.of_rows`."""
        first, own = bodies[0], data_fields(rows, bodies)
        goals = [Goal(row.objective, row.epsilon, row.radius) for row in first.rows]
        means_of = [_mean(goal, own["texts"]) for goal in goals]
        return AttackData(deviation=first.deviation, caveats=first.caveats, rows=means_of, **own)

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines, _numbers)


def _methods(parameters: Attack.Parameters) -> list[MethodSpec]:
    """Return the method whose map is attacked."""
    own = {"rule": "gauss_legendre", "steps": parameters.nodes}
    return [complete_method(parameters.method, own if parameters.method == "integrated_gradients" else {})]


def _headline(result: AnalysisResult[AttackText] | AnalysisResult[AttackData]) -> str:
    """Say how an attack within a tenth of a standard deviation changed the map and the probability."""
    body = result.body
    return data_verdict(body) if isinstance(body, AttackData) else text_verdict(body)


def _lines(result: AnalysisResult[AttackText] | AnalysisResult[AttackData]) -> list[str]:
    """Return a line for each objective and radius: the measures with their intervals, and the failed attacks."""
    body = result.body
    head = f"{body.label}; 1s is {body.deviation:.4f}, the standard deviation of the word table"
    told = body.caveats if isinstance(body, AttackData) else []  # those of a text are its warnings
    return [head, *lines_of(body, MEASURES, {"objective": "objective", "radius": "epsilon"}), *told]


def _numbers(result: AnalysisResult[AttackData]) -> list[Number]:
    """Return both changes of the map, and that of the probability, for every objective and radius."""
    return numbers_of(result.body, MEASURES, lambda row: f"{row.objective}:{row.epsilon}", lambda row: row.label)


def _settings(parameters: Attack.Parameters) -> Settings:
    return Settings(**{each.name: getattr(parameters, each.name) for each in fields(Settings)})


def _search(subjects: Sequence[Subject], parameters: Attack.Parameters) -> Search:
    way, maps = (ReferenceSearch, HeldMaps) if parameters.preset == "reference" else (Search, Maps)
    return way(subjects, maps(parameters.method, parameters.nodes), _settings(parameters))


def _ranked(subject: Subject, parameters: Attack.Parameters) -> np.ndarray:
    """Return int64: the places of the features over which a map's shares are computed."""
    return np.arange(len(subject.units.features)) if parameters.preset == "reference" else subject.units.content


# One text ------------------------------------------------------------------------------------------------------------


def _finite(subject: Subject, point: Point, parameters: Attack.Parameters) -> np.ndarray:
    """Return the scores of the map; raises :class:`ModelError` if one is not finite."""
    if not np.isfinite(point.scores).all():
        raise ModelError(
            f"{get_method(parameters.method).label} on {subject.classifier.id} gave scores that are not finite.",
            "Try dtype float32, output logit, or another method.",
        )
    return point.scores


def _text(attacked: Attacked, run: Run) -> AttackedText:
    """Return the outcome of an attack on a single text, whose ``row`` is 1."""
    return AttackedText(
        row=1,
        objective=run.goal.objective,
        epsilon=run.goal.written,
        measures=Measures(**changes(attacked.among, attacked.listed, attacked.original, run.best)),
        steps=run.steps,
        stopped=run.ending or "steps",
        best_step=run.best.step,
        failed=run.failed,
        scores=run.best.scores.tolist(),
    )


def _course(run: Run) -> Course:
    kept = run.trajectory
    return Course(
        objective=run.goal.objective,
        epsilon=run.goal.written,
        step=kept.step,
        loss=kept.loss,
        top_k_sum=kept.share,
        probability=kept.probability,
    )


def _caveats(classifier: Classifier, goals: Sequence[Goal], deviation: float) -> list[str]:
    """Return the caveats of the radii, and of a model of less than 32 bits."""
    radii = {goal.written: goal.radius for goal in goals}
    told = [ZERO] if 0.0 in radii.values() else []
    if classifier.dtype.itemsize < 4:
        told.append(COARSE.format(dtype=str(classifier.dtype).removeprefix("torch.")))
    return told + [
        WIDE.format(written=written, times=size / deviation, deviation=deviation)
        for written, size in radii.items()
        if not written.endswith("s") and size > BOUNDLESS * deviation
    ]


def _relu_caveats(met_relu: bool, parameters: Attack.Parameters) -> list[str]:
    if met_relu:
        return [] if parameters.surrogate else [RELU]
    return [NO_RELU] if parameters.surrogate else []


def _broken(runs: Sequence[Run]) -> list[str]:
    return [
        BROKEN.format(objective=run.goal.objective, written=run.goal.written, steps=counted(run.steps, "step"))
        for run in runs
        if run.ending == "not_finite"
    ]


# Over texts ----------------------------------------------------------------------------------------------------------


def _mean(goal: Goal, texts: Sequence[AttackedText]) -> AttackRow:
    """Return the means over the texts attacked with this ``goal``."""
    own = [text for text in texts if (text.objective, text.epsilon) == (goal.objective, goal.written)]
    broken = sum(text.stopped == "not_finite" for text in own)
    facts = means(own, Measures)
    return AttackRow(objective=goal.objective, epsilon=goal.written, radius=goal.radius, not_finite=broken, **facts)
