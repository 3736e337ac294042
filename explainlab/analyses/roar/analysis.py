"""ROAR and Recursive ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

from itertools import chain
from typing import Any

from explainlab.analyses.base import AnalysisResult, Pauses, Report
from explainlab.analyses.roar.answer import Answer, keep, recalled
from explainlab.analyses.roar.asking import GridQuestion, require_folder, sample_of, setting_of
from explainlab.analyses.roar.measures import CUT, TOLD
from explainlab.analyses.roar.nodes import SeedRun, Setting
from explainlab.analyses.roar.published import beside_paper
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar.timing import require_affordable
from explainlab.analyses.roar.verdict import METRICS, as_estimate, kind_name, lines, verdict
from explainlab.analyses.summary import Measure, Number, table
from explainlab.analyses.wording import capital
from explainlab.errors import DataError
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Cost


class Roar(GridQuestion[RoarData], Pauses):
    """Models trained again and again, each time with more of the words masked that a measure calls important.

    Every model has a place in a grid: seed, measure, ratio. A recursive model is masked by the measure's scores on the
    model before it, a plain one by its scores on the model of whole texts. Masks are nested. The predictions of
    finished models are kept: a study that was stopped goes on, and a larger one trains only the new models.
    """

    id = "roar"
    label = "ROAR"
    source = "Madsen et al. 2022 (Recursive ROAR), section 3 and Eq. 3; Hooker et al. 2019 (ROAR)"
    definition = "Σᵢ ½ Δrᵢ (Dᵢ + Dᵢ₊₁) / Σᵢ ½ Δrᵢ (Lᵢ + Lᵢ₊₁), D = p(random) - p, L = p(random) - p(all masked)"

    def train(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[RoarData]:
        """See :meth:`TrainsModels.train`."""
        key = self.key(request, self.model_digest(request.model), context.reader)
        return self.of_setting(request, key, setting_of(request, self.parameters(request), context, device))

    def of_setting(self, request: CompleteRequest, key: str, setting: Setting) -> AnalysisResult[RoarData]:
        """Answer ``request``, whose data and grid are those of the ``setting``, in its context.

        Raises :class:`DataError` where a file changes meanwhile: ``key`` is that of the request before they were read;
        :class:`RequestError` for a grid beyond the limits, and where weights cannot be kept.
        """
        parameters, context = self.parameters(request), setting.context
        data, runs = setting.data, [SeedRun(setting, seed) for seed in setting.grid.seeds]
        answer = Answer(setting, parameters, runs)
        told = [TOLD] if any(measure.alpha_weighted for measure in setting.measures.values()) else []
        told += [CUT] if parameters.preset == "reference" and parameters.clip else []

        def result() -> AnalysisResult[RoarData]:
            """Return the result of the models that are finished now."""
            body = answer.body()
            seconds = sum(cost.training + cost.importance for cost in body.costs)
            return AnalysisResult(
                request=request,
                body=body,
                sample=sample_of(setting, request.seed),
                cost=Cost(0, 0, seconds),
                warnings=(*told, *data.warnings),
                versions=self.versions_on(setting.device, request.model),
            )

        def see_others() -> None:
            """Read the nodes that others have finished meanwhile."""
            for run in runs if context.shards.workers > 1 else ():
                run.recall()

        require_affordable(setting)
        if setting.weights is not None:
            require_folder(setting.weights)
        for run in runs:
            run.recall()
        context.progress.expect(sum(run.work for run in runs), not data.settings.patience)
        waiting = [[seed, lane] for seed, run in enumerate(runs) for lane in range(len(run.lanes)) if run.waiting(lane)]
        for seed, lane in chain(context.shards.take(key, waiting), waiting):  # all again: others did some, or lost some
            see_others()
            for _ in runs[seed].run(lane):
                see_others()
                answer.look()
                keep(key, data.labels, answer.nodes(), context)
                context.progress.show(result)
                self._require_unchanged(key, request, context)
        answer.look()
        return result()

    def _require_unchanged(self, key: str, request: CompleteRequest, context: RunContext) -> None:
        """Raise :class:`DataError` where a file of the study, or its base, is no longer that which it began with."""
        if self.key(request, self.model_digest(request.model), context.reader) != key:
            raise DataError(
                "A file of this study has changed since it began.",
                "Put it back to go on with the models that are trained, or ask again with the new one.",
            )

    def partial_result(self, request: CompleteRequest, context: RunContext) -> AnalysisResult[RoarData] | None:
        """Return the models that have ended, with neither texts nor costs."""
        digest = self.known_digest(request.model)
        if digest is None:
            return None
        key = self.key(request, digest, context.reader)
        body = recalled(key, request.model, self.parameters(request), request.seed, context)
        if body is None:
            return None
        return AnalysisResult(request=request, body=body, cost=Cost(0, 0, 0.0), warnings=(), versions={})

    def report(self, result: Any) -> Report:
        return Report(result, verdict(result.body), _lines, _numbers)


def _lines(result: AnalysisResult[RoarData]) -> list[str]:
    """Return tables of performance, faithfulness, sparsity, leaks and costs, and the paper's numbers if it has some."""
    rows = [row._asdict() for row in beside_paper(result)]
    return [*lines(result.body), *(["", "Beside the paper:", *table(rows).splitlines()] if rows else [])]


def _numbers(result: AnalysisResult[RoarData]) -> list[Number]:
    """Return the faithfulness of each measure over the whole area, and the performance on whole texts."""
    body, labels = result.body, {own.name: own.label for own in result.body.measures}
    texts = next(own.texts for own in body.lengths if own.split == "test")
    found = []
    last = max((own.upto for own in body.faithfulness), default=0)
    for own in body.faithfulness:
        if own.upto == last:
            kind = "recursive" if own.recursive else "plain"
            faithful = Measure(f"faithfulness_{kind}", f"Faithfulness by {kind_name(own.recursive)}", True)
            found.append(Number(faithful, as_estimate(own), texts, own.measure, labels[own.measure]))
    whole = Measure("performance", f"{capital(METRICS[body.metric])} of whole texts", higher_is_better=True)
    return [*found, Number(whole, as_estimate(body.performance), texts)]
