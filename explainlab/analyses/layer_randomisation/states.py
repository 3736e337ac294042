"""Maps of texts on models with random units, compared with those on the model itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from explainlab.analyses.base import Record, method_passes
from explainlab.analyses.layer_randomisation.result import Control, Mode, RandomisationText
from explainlab.analyses.records import Interval
from explainlab.analyses.summary import interval
from explainlab.attribution.explain import attribute_subjects
from explainlab.attribution.method import TextSize
from explainlab.attribution.passes import fix_targets
from explainlab.attribution.records import Attribution
from explainlab.attribution.registry import MethodSpec, get_method
from explainlab.attribution.subject import Subject
from explainlab.errors import ModelError, RequestError
from explainlab.metrics.comparison import spearman
from explainlab.models.anatomy import Unit
from explainlab.models.batching import Batcher
from explainlab.models.classifier import Classifier
from explainlab.models.context import Body, Counted, RunContext, ignore
from explainlab.models.networks.randomised import Draw, Init
from explainlab.request import CompleteRequest, digest

RANDOM_MAPS = 100


def rho(scores: np.ndarray, other: np.ndarray) -> float | None:
    """Return Spearman's rho of two maps float64 [n]; None where all scores of either are equal."""
    value = float(spearman(scores, other[None])[0])
    return None if np.isnan(value) else value


def controls(bodies: Sequence[RandomisationText]) -> list[Control]:
    """Return the controls of every method, signed and absolute, over the texts whose map is not constant."""
    found = [_of_text(body) for body in bodies]
    names = [method.method for method in bodies[0].methods]
    return [
        _control(name, absolute, [own[i, int(absolute)] for own in found])
        for i, name in enumerate(names)
        for absolute in (False, True)
    ]


def _of_text(body: RandomisationText) -> np.ndarray:
    """Return rho with random maps, then with the order, float64 [methods, 2, RANDOM_MAPS + 1]; NaN if constant."""
    content = np.array([not feature.special for feature in body.features])
    n = int(content.sum())
    others = np.random.default_rng(body.text_seed).random((RANDOM_MAPS, n))
    others = np.concatenate([others, -np.arange(n, dtype=float)[None]])
    maps = [np.array(method.scores)[content] for method in body.methods]
    return np.array([[spearman(own, others), spearman(np.abs(own), others)] for own in maps])


def _control(method: str, absolute: bool, texts: Sequence[np.ndarray]) -> Control:
    known = np.array([own for own in texts if not np.isnan(own).any()])
    if not len(known):
        none = Interval(mean=None, low=None, high=None)
        return Control(method=method, absolute=absolute, random=none, order=none)
    means = known[:, :-1].mean(axis=0)
    low, high = np.percentile(means, [5, 95]).tolist()
    random = Interval(mean=float(means.mean()), low=low, high=high)
    return Control(method=method, absolute=absolute, random=random, order=interval(known[:, -1].tolist()))


PHASE = "randomised models"
MODES: tuple[Mode, ...] = ("cascading", "independent")
Units = tuple[str, ...]
"""The names of the units that are random, top first."""


class Compared(Record):
    """A map on a random model beside the model's own: rho of scores and of absolute scores, and the passes it took.

    ``scores`` [n_features] are kept of the first draw. ``broken``: why there is no map; empty where there is one.
    """

    signed: float | None
    absolute: float | None
    forward: int = 0
    backward: int = 0
    scores: list[float] | None = None
    broken: str = ""


@dataclass(frozen=True)
class Plan:
    """The models to draw: ``draws`` times each set of ``units`` that the ``modes`` randomise.

    ``key`` covers everything else that affects a comparison. ``own_target``: each model explains its own prediction.
    """

    units: Sequence[Unit]
    modes: Sequence[Mode]
    init: Init
    draws: int
    own_target: bool
    key: str

    def random(self, mode: Mode, place: int) -> Units:
        """Return the units that are random in ``mode`` down to the one at ``place``."""
        start = 0 if mode == "cascading" else place
        return tuple(unit.name for unit in self.units[start : place + 1])

    @property
    def sets(self) -> list[Units]:
        """All sets of units that are random together, each once; a set inside another comes after it.

        So random weights are drawn once for all sets of the cascade, and let go one unit after another.
        """
        places = range(len(self.units))[::-1]
        return list(dict.fromkeys(self.random(mode, i) for mode in self.modes for i in places))


@dataclass(frozen=True, eq=False)
class Original:
    """The map of a text by a method on the model itself, and the request that it answers."""

    subject: Subject
    method: MethodSpec
    request: CompleteRequest
    key: str
    attribution: Attribution

    @property
    def work(self) -> float:
        """The work that the same map is expected to take."""
        tokens = len(self.subject.encoding)
        return tokens * method_passes(self.method, TextSize(tokens, tokens), self.subject.classifier.model.depth).work

    def compared(self, found: Attribution | str, keep: bool) -> Compared:
        """Compare the map with ``found``, or note the reason why there is none; its scores stay only if ``keep``."""
        if isinstance(found, str):
            return Compared(signed=None, absolute=None, broken=found)
        content = self.subject.units.content
        own, other = self.attribution.scores[content], found.scores[content]
        signed = rho(own, other)
        unsigned = min(own.min(), other.min()) >= 0
        return Compared(
            signed=signed,
            absolute=signed if unsigned else rho(np.abs(own), np.abs(other)),
            forward=found.cost.forward,
            backward=found.cost.backward,
            scores=found.scores.tolist() if keep else None,
        )


Found = dict[Units, Compared]


def compare(originals: Sequence[Original], plan: Plan) -> list[list[Found]]:
    """Return for each of ``originals`` its comparisons under every draw, by the units that are random.

    The subjects share a batcher; the cost of maps is added to them. The context remembers each finished model under a
    note of the text, method and draw. Raises what the weights or the context raise.
    """
    batcher = originals[0].subject.batcher
    context = replace(batcher.context, progress=replace(batcher.context.progress, predicted=ignore))
    models = Counted(context, 0, plan.draws * len(plan.sets), PHASE)
    draws = [_of_draw(originals, plan, number, models, batcher) for number in range(plan.draws)]
    for original, found in zip(originals, zip(*draws, strict=True), strict=True):
        for own in (own for draw in found for own in draw.values()):
            original.subject.forward += own.forward
            original.subject.backward += own.backward
    batcher.finish(PHASE)
    return [list(found) for found in zip(*draws, strict=True)]


def _of_draw(originals: Sequence[Original], plan: Plan, number: int, models: Counted, batcher: Batcher) -> list[Found]:
    """Return the comparisons under one draw; weights are drawn only for missing maps."""
    keys = [digest([own.key, plan.key, number]) for own in originals]
    context = models.context
    notes = context.cache.get_many(set(keys))
    known = [_read(notes.get(key, {}), plan.sets) for key in keys]
    context.progress.skip(sum(own.work * len(found) for own, found in zip(originals, known, strict=True)))
    draw = Draw(originals[0].subject.classifier, plan.init, originals[0].subject.seed, number)
    for units in plan.sets:
        missing = [i for i, found in enumerate(known) if units not in found]
        if missing:
            batcher.check_cancelled()
            of_state = _of_state([originals[i] for i in missing], plan, draw, units, context, batcher)
            for i, found in zip(missing, of_state, strict=True):
                known[i][units] = found
            written = {keys[i]: notes.get(keys[i], {}) | _written(known[i]) for i in missing}
            context.cache.put_many(written, renew=True)
        models.finish(1)
    return known


def _of_state(
    originals: Sequence[Original], plan: Plan, draw: Draw, units: Units, context: RunContext, batcher: Batcher
) -> list[Compared]:
    """Return the comparisons with these ``units`` random; the random model is freed before the next is made."""
    state = draw.randomised([unit for unit in plan.units if unit.name in units])
    own = Batcher(state, context)
    maps = _maps(originals, state, plan.own_target, own)
    batcher.paused += own.paused
    batcher.halvings += own.halvings
    return [original.compared(found, keep=draw.number == 0) for original, found in zip(originals, maps, strict=True)]


def _maps(
    originals: Sequence[Original], state: Classifier, own_target: bool, batcher: Batcher
) -> list[Attribution | str]:
    """Return the map of each of ``originals`` on the classifier ``state``, or the reason why there is none."""
    twins = {own.subject: _twin(own.subject, state, own_target, batcher) for own in originals}
    by_method: dict[str, list[int]] = {}
    for i, own in enumerate(originals):
        by_method.setdefault(own.method.name, []).append(i)
    maps: dict[int, Attribution | str] = {}
    for places in by_method.values():
        asked = [(twins[originals[i].subject], originals[i].request) for i in places]
        maps |= zip(places, _attributions(asked), strict=True)
    return [maps[i] for i in range(len(originals))]


def _twin(subject: Subject, state: Classifier, own_target: bool, batcher: Batcher) -> Subject:
    """Return the text of ``subject`` bound to the classifier ``state``."""
    target = "predicted" if own_target else subject.target.label
    return Subject(state, subject.encoding, target=target, output=subject.output, unit=subject.unit, batcher=batcher)


def _attributions(asked: Sequence[tuple[Subject, CompleteRequest]]) -> list[Attribution | str]:
    """Answer requests of one method; after a failure run each alone and return the problem of a failing one."""
    try:
        fix_targets([twin for twin, _ in asked])
        runs = [
            twin.again(
                output=request.output, seed=request.seed, baseline_data=request.parameters.get("baseline_data", "")
            )
            for twin, request in asked
        ]
        method = get_method(asked[0][1].question)
        return [*attribute_subjects(runs, method, [request for _, request in asked])]
    except (ModelError, RequestError) as error:
        if len(asked) == 1:
            return [error.problem]
        return [own for one in asked for own in _attributions([one])]


def _read(note: Body, sets: Iterable[Units]) -> Found:
    return {units: Compared.model_validate(note[name]) for units in sets if (name := _name(units)) in note}


def _written(found: Found) -> Body:
    return {_name(units): own.model_dump(mode="json") for units, own in found.items()}


def _name(units: Units) -> str:
    return digest(list(units))[:16]
