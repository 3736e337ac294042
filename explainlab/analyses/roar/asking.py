"""The common part of questions about a grid: their data, their measures, and the digests of their inputs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import TypeVar

from explainlab.analyses.base import Record, Requirements, Sampled, TrainsModels
from explainlab.analyses.roar.data import files_of, grid_data
from explainlab.analyses.roar.grid import Grid
from explainlab.analyses.roar.measures import Measure
from explainlab.analyses.roar.nodes import Setting
from explainlab.analyses.roar.parameters import RoarParameters
from explainlab.attribution.methods.paths import IntegratedGradients
from explainlab.errors import RequestError
from explainlab.models.context import RunContext
from explainlab.request import CompleteRequest

D = TypeVar("D", bound=Record)


class GridQuestion(TrainsModels[D]):
    """A question about models that are trained again and again, with more and more words masked."""

    Parameters = RoarParameters

    def requirements(self, parameters: RoarParameters) -> Requirements:
        return Requirements(
            methods=parameters.requests,
            files=files_of(parameters),
            labelled=True,
            gradients=1,  # bounds the work of the measures on a text, not the training
        )


def setting_of(request: CompleteRequest, parameters: RoarParameters, context: RunContext, device: str) -> Setting:
    """Read the data and the grid of ``request``, checked before anything trains; raises as :func:`grid_data`."""
    if request.data is None:
        raise RequestError("Models are trained on a data set, not on a single text.", "Choose a data set.")
    if context.reader.made is None:
        raise RequestError("There is no folder for models here.", "Ask a service, or the command line.")
    weights = Path(parameters.weights_folder) if parameters.weights_folder else None
    context.progress.report(0, 0, "reading the data")
    data, grid = grid_data(request, parameters, context), Grid(parameters, request.seed)
    absolute, reference = parameters.signs == "absolute", parameters.preset == "reference"
    measures = {
        own.name: Measure(own, absolute, reference and own.method == IntegratedGradients.id)
        for own in parameters.requests
    }
    return Setting(request.model, data, grid, measures, context.reader.made, weights, context, device)


def require_folder(folder: Path) -> None:
    """Make the folder in which weights are to stay; raises :class:`RequestError` where nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise RequestError(f"Weights cannot be kept in {str(folder)!r}: {why}.", "Name another folder.") from error


def sample_of(setting: Setting, seed: int) -> Sampled:
    """Describe the sample: all rows for training and validation."""
    rows = sum(len(setting.data.splits[name]) for name in ("train", "validation"))
    return Sampled(drawn="all", rows=rows, total=rows, seed=seed)
