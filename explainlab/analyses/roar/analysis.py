"""ROAR and Recursive ROAR: mask what a measure calls important, train again, and see whether the model gets worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explainlab.analyses.base import AnalysisResult, Sampled
from explainlab.analyses.roar.answer import Answer
from explainlab.analyses.roar.data import files_of, grid_data
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.importance import Measure
from explainlab.analyses.roar.nodes import SeedRun, Setting
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.analyses.roar.result import RoarData
from explainlab.analyses.roar.verdict import lines, verdict
from explainlab.analyses.training.making import Making
from explainlab.attribution.explain import versions
from explainlab.attribution.registry import MethodRequest, get_method, member_versions
from explainlab.errors import DataError, RequestError
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.request import CompleteRequest, digest
from explainlab.result import Cost


class Roar(Making):
    """Models trained again and again, each time with more of the words masked that a measure calls important.

    Every model has a place in a grid: seed, measure, ratio. A recursive one is masked by what the measure says of the
    model before it, a plain one by what it says of the model of whole texts. What is masked is nested. Finished models
    are kept as their predictions: a study that was stopped goes on, and a larger one trains only what is new.
    """

    Parameters = RoarParameters
    id = "roar"
    label = "ROAR"
    source = "Madsen et al. 2022 (Recursive ROAR), section 3 and Eq. 3; Hooker et al. 2019 (ROAR)"
    definition = "Σᵢ ½ Δrᵢ (Dᵢ + Dᵢ₊₁) / Σᵢ ½ Δrᵢ (Lᵢ + Lᵢ₊₁), D = p(random) - p, L = p(random) - p(all masked)"
    labelled = True

    def fingerprint(self, parameters: RoarParameters, reader: Reader) -> str:
        """The test and validation data, and the versions of all measures."""
        measures = [
            [own.method, get_method(own.method).version, *member_versions(own, reader)]
            for own in self.method_requests(parameters)
        ]
        try:
            return digest([files_of(parameters, reader), measures, super().fingerprint(parameters, reader)])
        except DataError:  # the run then fails with the reason
            return ""

    def method_requests(self, parameters: RoarParameters) -> list[MethodRequest]:
        """See :meth:`Analysis.method_requests`."""
        return parameters.requests

    def evaluations(self, parameters: RoarParameters) -> int:
        """See :meth:`Analysis.evaluations`; what the measures take of a text is bounded, not the training."""
        return 1

    def answer_alone(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[RoarData]:
        """See :meth:`ModelFree.answer_alone`."""
        if request.data is None:
            raise RequestError("Models are trained on a data set, not on a single text.", "Choose a data set.")
        if context.reader.made is None:
            raise RequestError("There is no folder for models here.", "Ask a service, or the command line.")
        parameters = self.parameters(request)
        context.report(0, 0, "reading the data")
        data = grid_data(request, parameters, context.reader)
        grid = Grid(parameters, request.seed)
        absolute = parameters.signs == "absolute"
        measures = {own.name: Measure(own, absolute) for own in self.method_requests(parameters)}
        setting = Setting(request.model, data, grid, measures, context.reader.made, context, device)
        runs = [SeedRun(setting, seed) for seed in grid.seeds]
        answer = Answer(setting, parameters, runs)
        rows = sum(len(data.splits[name]) for name in ("train", "validation"))

        def result() -> AnalysisResult[RoarData]:
            """The result of the models that are finished now."""
            body = answer.body()
            seconds = sum(cost.training + cost.importance for cost in body.costs)
            return AnalysisResult(
                request=request,
                body=body,
                sample=Sampled(drawn="all", rows=rows, total=rows, seed=request.seed),
                cost=Cost(0, 0, seconds),
                warnings=tuple(_warnings(setting)),
                versions={**versions(), "study": str(self.version), "model": self.model_digest(request.model),
                          "device": device},
            )  # fmt: skip

        for run in runs:
            run.recall()
        context.expect(sum(run.work for run in runs), not data.settings.patience)
        for run in runs:
            for _ in run.run():
                context.show(result)
        return result()

    def read(self, record: Mapping[str, Any]) -> AnalysisResult[RoarData]:
        """See :meth:`Analysis.read`."""
        return self._read(record, RoarData)

    def headline(self, result: AnalysisResult[RoarData]) -> str:
        """What each measure's masks did to the model, beside random ones."""
        return verdict(result.body)

    def lines(self, result: AnalysisResult[RoarData]) -> list[str]:
        """Tables of performance, faithfulness, sparsity, leaks and costs."""
        return lines(result.body)


def _warnings(setting: Setting) -> list[str]:
    """Which texts are too long for the models."""
    cut = {name: split.cut for name, split in setting.data.splits.items() if split.cut}
    most = setting.data.settings.max_tokens
    return [
        f"{number:,} texts of the {name} data are longer than {most} tokens and were cut."
        for name, number in cut.items()
    ]
