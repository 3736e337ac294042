"""An estimate of the time that a study ``roar``, or a smaller one, takes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from explainlab.analyses.base import AnalysisResult, Report
from explainlab.analyses.roar.asking import GridQuestion, sample_of, setting_of
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.parameters import WHOLE, RoarParameters
from explainlab.analyses.roar.timing import Timing, grid_seconds, timing
from explainlab.analyses.roar_estimate.result import MeasureTime, RoarEstimate, Smaller
from explainlab.analyses.wording import counted, duration, joined, whole_percent
from explainlab.attribution.registry import label_of
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest
from explainlab.result import Cost


class Parameters(RoarParameters):
    """The parameters of the study to estimate, and its time limit."""

    within: float = Field(0.0, ge=0, description="Seconds that the study may take; 0: any time.")


class RoarEstimation(GridQuestion[RoarEstimate]):
    """An estimate from one timed epoch and each measure's time for 64 texts; earlier timings are reused.

    The time is that of a study from scratch: models that are there already take none.
    """

    Parameters = Parameters
    id = "roar_estimate"
    label = "Time of a ROAR study"
    source = "Ours"
    definition = "models · (start + epochs · epoch + test) + Σ over measures of models asked · texts · seconds a text"

    def train(self, request: CompleteRequest, context: RunContext, device: str) -> AnalysisResult[RoarEstimate]:
        """See :meth:`TrainsModels.train`."""
        parameters = self.parameters(request)
        setting = setting_of(request, parameters, context, device)
        context.progress.expect(0.0, exact=False)
        grid, timed, epochs = setting.grid, timing(setting), setting.data.settings.epochs
        training, seconds = grid_seconds(grid, timed, epochs)
        whole = training + sum(seconds.values())
        body = RoarEstimate(
            models=grid.distinct,
            epochs=epochs,
            epoch=timed.epoch,
            training=training,
            importance=sum(seconds.values()),
            measures=[
                MeasureTime(measure=name, label=label_of(name), seconds=own, share=own / whole)
                for name, own in seconds.items()
            ],
            disk_mb=timed.disk(parameters.seeds, grid.distinct if parameters.weights_folder else 0) / 2**20,
            within=parameters.within,
            smaller=_smaller(parameters, timed, epochs),
        )
        return AnalysisResult(
            request=request,
            body=body,
            sample=sample_of(setting, request.seed),
            cost=Cost(0, 0, 0.0),
            versions=self.versions_on(device, request.model),
        )

    def report(self, result: Any) -> Report:
        return Report(result, _headline(result), _lines)


def _headline(result: AnalysisResult[RoarEstimate]) -> str:
    """Say how many models train and how long, which measure takes most of it, and which grids would fit."""
    body = result.body
    whole = body.training + body.importance
    told = [
        f"Training {counted(body.models, 'model')} takes about {duration(body.training)}, asking the measures "
        f"{duration(body.importance)}: {duration(whole)} in all, and {body.disk_mb:,.0f} MB on the disk."
    ]
    dearest = max(body.measures, key=lambda own: own.seconds)
    if dearest.share >= 1 / 4:
        told.append(f"{dearest.label} is {whole_percent(dearest.share)} of it.")
    if body.within and whole > body.within:
        fits = [f"{own.changed} ({duration(own.seconds)})" for own in body.smaller[:3]]
        limit = duration(body.within)
        told.append(f"To end within {limit}: {'; '.join(fits)}." if fits else f"Nothing tried fits into {limit}.")
    return " ".join(told)


def _lines(result: AnalysisResult[RoarEstimate]) -> list[str]:
    """Return the time of each measure, and of smaller grids."""
    body = result.body
    return [
        f"one epoch {body.epoch:.2f} s, at most {counted(body.epochs, 'epoch')} a model",
        *(f"{own.label}: {own.seconds:.1f} s ({whole_percent(own.share)})" for own in body.measures),
        *(f"{own.changed}: {own.seconds:.1f} s" for own in body.smaller),
    ]


def _smaller(parameters: Parameters, timed: Timing, epochs: int) -> list[Smaller]:
    """Return smaller grids with their whole time, the longest first; under a time limit only those within it."""
    found = []
    for changed, own in _changes(parameters):
        training, measures = grid_seconds(Grid(own, 0), timed, epochs)
        seconds = training + sum(measures.values())
        if not parameters.within or seconds <= parameters.within:
            found.append(Smaller(changed=changed, seconds=seconds))
    return sorted(found, key=lambda own: -own.seconds)


def _changes(parameters: Parameters) -> Iterator[tuple[str, RoarParameters]]:
    """Yield smaller grids: without a measure, recursive alone, with fewer seeds, every other ratio, or two of these."""
    single = [*_single(parameters)]
    yield from single
    for first, changed in single:
        for second, both in _single(changed):
            yield joined([first, second]), both


def _single(parameters: RoarParameters) -> Iterator[tuple[str, RoarParameters]]:
    def changed(**update: Any) -> RoarParameters:
        return parameters.model_copy(update=update)

    if len(parameters.measures) > 1:
        for name in parameters.measures:
            left = [other for other in parameters.measures if other != name]
            yield f"without {label_of(name)}", changed(measures=left)
    if parameters.recursive == "both":
        yield "recursive alone", changed(recursive="true")
    if parameters.seeds > 1:
        fewer = 3 if parameters.seeds > 3 else 1
        yield f"with {counted(fewer, 'seed')}", changed(seeds=fewer)
    between = Grid(parameters, 0).between
    if len(between) > 1:
        half = between[1::2]
        steps = {"counts": half} if parameters.counts else {"ratios": [0, *half, WHOLE]}
        yield "with every other ratio", changed(**steps)
